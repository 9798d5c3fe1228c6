//! `iid`: one Dirichlet draw, shared by all rows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::spec::Settings;
use super::{Alpha, Draft, Law, Prior, Rows};
use crate::Invalid;
use crate::chain::Generator;

/// One Dirichlet draw, shared by all rows: symbols are independent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iid {
    /// Concentration.
    #[serde(default)]
    pub alpha: Alpha,
}

impl Settings for Iid {
    fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
        self.alpha.resolve(states).map(|_| ())
    }

    fn prepare(&self, states: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        let rows = Rows::new(&self.alpha, states)?;
        Ok(Arc::new(Shared { rows }))
    }
}

#[derive(Debug)]
struct Shared {
    rows: Rows,
}

impl Prior for Shared {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        self.rows.draw(rng, table.row_mut(0));
        table.repeat_first_rows(1);
    }

    fn law(&self) -> Law<'_> {
        Law::Iid(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::draws;
    use super::*;

    #[test]
    fn iid_rows_are_equal() {
        for ngram in [2, 3] {
            for table in draws(Iid::default(), 3, ngram, 20) {
                let first = table.row(0).to_vec();
                assert!(table.rows().all(|row| row == first));
            }
        }
    }
}
