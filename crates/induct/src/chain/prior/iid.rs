//! `iid`: one Dirichlet draw, shared by all rows.

use std::sync::Arc;

use induct_kernels::settings;

use super::spec::PriorSettings;
use super::{Alpha, Draft, Law, Prior, Rows};
use crate::Invalid;
use crate::chain::Generator;

settings! {
    /// One Dirichlet draw, shared by all rows: symbols are independent.
    pub struct Iid {
        /// Concentration: one number, or one per state.
        pub alpha: Alpha = Alpha::default(),
    }
}

impl PriorSettings for Iid {
    fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
        self.alpha.resolve(states).map(|_| ())
    }

    fn prepare(&self, states: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        Ok(Arc::new(SharedRow(Rows::new(&self.alpha, states)?)))
    }
}

#[derive(Debug)]
struct SharedRow(Rows);

impl Prior for SharedRow {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        self.0.draw(rng, table.row_mut(0));
        table.repeat_first_rows(1);
    }

    fn law(&self) -> Law<'_> {
        Law::Iid(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{draws, prior};

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
