//! `dirichlet`: every context's row is an independent Dirichlet draw.

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

impl Settings for Dirichlet {
    fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
        self.alpha.resolve(states).map(|_| ())
    }

    fn prepare(&self, states: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        let rows = Rows::new(&self.alpha, states)?;
        Ok(Arc::new(Independent { rows }))
    }
}

#[derive(Debug)]
struct Independent {
    rows: Rows,
}

impl Prior for Independent {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        for context in 0..table.contexts() {
            self.rows.draw(rng, table.row_mut(context));
        }
    }

    fn law(&self) -> Law<'_> {
        Law::Dirichlet(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{assert_mean, draws};
    use super::*;

    #[test]
    fn dirichlet_rows_have_the_moments_of_the_dirichlet() {
        for alpha in [
            vec![1.0, 1.0, 1.0],
            vec![0.05, 0.2, 0.1],
            vec![2.0, 0.5, 7.5],
        ] {
            let total: f64 = alpha.iter().sum();
            let spec = Dirichlet {
                alpha: Alpha::Vector(alpha.clone()),
            };
            let tables = draws(spec, 3, 2, 8_000);
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
}
