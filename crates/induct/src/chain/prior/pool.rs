//! `pool`: a fixed number of chains, drawn once from another prior and then reused.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::table::TransitionTable;
use super::spec::Settings;
use super::{Draft, Law, Prior, PriorSpec, TaskPrior};
use crate::Custom;
use crate::chain::{Generator, Purpose, address, open_unit};
use crate::{Invalid, Within, require};

/// A fixed number of chains, drawn once from another prior and then reused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Number of chains.
    pub size: usize,
    /// Seed of the draw: part of the prior, so that training and test sets share the chains.
    #[serde(default)]
    pub seed: u64,
    /// Where the chains come from.
    pub of: Box<PriorSpec>,
}

/// The largest pool.
pub const MAX_POOL: usize = 1 << 20;

impl Settings for Pool {
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        require(
            (1..=MAX_POOL).contains(&self.size),
            "size",
            self.size,
            &format!("a number of chains from 1 to {MAX_POOL}"),
        )?;
        let of = self.of.settings().check(states, ngram);
        of.within("of")
    }

    fn prepare(&self, states: usize, ngram: usize) -> Result<Arc<dyn Prior>, Invalid> {
        let source = TaskPrior::prepare(&self.of, states, ngram).within("of")?;
        let address = address(Purpose::Pool, self.seed, 0);
        let tables = source.draw_many(self.size, address);
        let tables = tables.map_err(Invalid::from).at("of")?;
        Ok(Arc::new(TablePool { tables }))
    }

    fn pooled(&self) -> f64 {
        self.size.min(MAX_POOL) as f64 + self.of.settings().pooled()
    }

    fn check_code(&self) -> Result<(), Invalid> {
        let of = self.of.settings().check_code();
        of.within("of")
    }

    fn customs_mut(&mut self) -> Vec<&mut Custom<dyn Prior>> {
        self.of.customs_mut()
    }
}

/// Tables that already exist, at least one, all equally likely.
#[derive(Debug)]
pub(super) struct TablePool {
    pub tables: Vec<TransitionTable>,
}

impl Prior for TablePool {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let chosen = (open_unit(rng) * self.tables.len() as f64) as usize;
        table.copy_from(&self.tables[chosen.min(self.tables.len() - 1)]);
    }

    fn law(&self) -> Law<'_> {
        Law::Pool(&self.tables)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{draws, prior};
    use super::*;

    #[test]
    fn a_pool_is_drawn_once_and_used_evenly() {
        let prior = prior("'pool', size = 4, seed = 9, of = 'dirichlet'", 2, 2);
        let mut uses: Vec<(TransitionTable, usize)> = Vec::new();
        for table in draws(&prior, 4_000) {
            match uses.iter_mut().find(|(known, _)| *known == table) {
                Some((_, count)) => *count += 1,
                None => uses.push((table, 1)),
            }
        }
        assert_eq!(uses.len(), 4);
        for (_, count) in uses {
            assert!((count as f64 - 1000.0).abs() < 4.0 * 750_f64.sqrt());
        }
    }
}
