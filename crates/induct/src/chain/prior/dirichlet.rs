//! `dirichlet`: every context's row is an independent Dirichlet draw. `iid`: one draw, shared by all rows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::spec::Settings;
use super::{Alpha, Draft, Law, Prior, Rows};
use crate::Invalid;
use crate::chain::Generator;

/// Every context's row is an independent Dirichlet draw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dirichlet {
    /// Concentration.
    #[serde(default)]
    pub alpha: Alpha,
}

/// One Dirichlet draw, shared by all rows: symbols are independent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iid {
    /// Concentration.
    #[serde(default)]
    pub alpha: Alpha,
}

macro_rules! settings {
    ($kind:ident, $shared:literal) => {
        impl Settings for $kind {
            fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
                self.alpha.resolve(states).map(|_| ())
            }

            fn prepare(&self, states: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
                let rows = Rows::new(&self.alpha, states)?;
                let shared = $shared;
                Ok(Arc::new(DirichletRows { rows, shared }))
            }
        }
    };
}

settings!(Dirichlet, false);
settings!(Iid, true);

#[derive(Debug)]
struct DirichletRows {
    rows: Rows,
    /// Whether all contexts have the same row.
    shared: bool,
}

impl Prior for DirichletRows {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let drawn = if self.shared { 1 } else { table.contexts() };
        for context in 0..drawn {
            self.rows.draw(rng, table.row_mut(context));
        }
        table.repeat_first_rows(drawn);
    }

    fn law(&self) -> Law<'_> {
        match self.shared {
            true => Law::Iid(&self.rows),
            false => Law::Dirichlet(&self.rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{assert_mean, draws, prior};

    #[test]
    fn dirichlet_rows_have_the_moments_of_the_dirichlet() {
        for alpha in [
            vec![1.0, 1.0, 1.0],
            vec![0.05, 0.2, 0.1],
            vec![2.0, 0.5, 7.5],
        ] {
            let total: f64 = alpha.iter().sum();
            let prior = prior(&format!("'dirichlet', alpha = {alpha:?}"), 3, 2);
            let tables = draws(&prior, 8_000);
            for symbol in 0..3 {
                let share = alpha[symbol] / total;
                assert_mean(&tables, share, |table| table.row(1)[symbol]);
                let second = share * (alpha[symbol] + 1.0) / (total + 1.0);
                assert_mean(&tables, second, |table| table.row(2)[symbol].powi(2));
            }
            // Rows are independent.
            let product = (alpha[0] / total).powi(2);
            assert_mean(&tables, product, |table| table.row(0)[0] * table.row(1)[0]);
        }
    }

    #[test]
    fn iid_rows_are_equal() {
        for ngram in [2, 3] {
            for table in draws(&prior("'iid'", 3, ngram), 20) {
                let first = table.row(0).to_vec();
                assert!(table.rows().all(|row| row == first));
            }
        }
    }
}
