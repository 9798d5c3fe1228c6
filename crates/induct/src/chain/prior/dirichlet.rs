//! `dirichlet`: every context's row is an independent Dirichlet draw.

use std::sync::Arc;

use induct_kernels::settings;

use super::spec::PriorSettings;
use super::{Alpha, Draft, Law, Prior, Rows};
use crate::Invalid;
use crate::chain::Generator;

settings! {
    /// Every context's row is an independent Dirichlet draw.
    pub struct Dirichlet {
        /// Concentration: one number, or one per state.
        pub alpha: Alpha = Alpha::default(),
    }
}

impl PriorSettings for Dirichlet {
    fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
        self.alpha.resolve(states).map(|_| ())
    }

    fn prepare(&self, states: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        Ok(Arc::new(IndependentRows(Rows::new(&self.alpha, states)?)))
    }
}

#[derive(Debug)]
struct IndependentRows(Rows);

impl Prior for IndependentRows {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        for context in 0..table.contexts() {
            self.0.draw(rng, table.row_mut(context));
        }
    }

    fn law(&self) -> Law<'_> {
        Law::Dirichlet(&self.0)
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
}
