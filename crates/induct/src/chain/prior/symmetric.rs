//! `symmetric`: two states that stay put with the same probability.

use std::sync::Arc;

use induct_kernels::settings;

use super::spec::{PriorSettings, two_states};
use super::{Draft, Law, Prior};
use crate::chain::{Generator, open_interval};
use crate::{Invalid, require};

settings! {
    /// Two states that stay put with the same probability a ~ U(½−ε, ½+ε).
    pub struct Symmetric {
        /// Half the width of the interval, above 0 and at most ½; it has to be set.
        pub epsilon: f64,
    }
}

impl PriorSettings for Symmetric {
    fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
        two_states("symmetric", states)?;
        require(
            self.epsilon > 0.0 && self.epsilon <= 0.5,
            "epsilon",
            self.epsilon,
            "a number above 0, at most 0.5",
        )
    }

    fn prepare(&self, _: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        Ok(Arc::new(self.clone()))
    }
}

impl Prior for Symmetric {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let a = open_interval(rng, 0.5 - self.epsilon, 0.5 + self.epsilon);
        table
            .first_rows_mut(2)
            .copy_from_slice(&[a, 1.0 - a, 1.0 - a, a]);
        table.repeat_first_rows(2);
    }

    fn law(&self) -> Law<'_> {
        Law::Symmetric {
            epsilon: self.epsilon,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{assert_mean, draws, prior, refusal};

    #[test]
    fn symmetric_chains_stay_put_with_one_probability() {
        let tables = draws(&prior("'symmetric', epsilon = 0.2", 2, 2), 8_000);
        for table in &tables {
            let a = table.row(0)[0];
            assert!(0.3 < a && a < 0.7);
            assert_eq!(table.row(1), [1.0 - a, a]);
        }
        assert_mean(&tables, 0.5, |table| table.row(0)[0]);
        assert_mean(&tables, 0.04 / 3.0, |table| (table.row(0)[0] - 0.5).powi(2));
    }

    #[test]
    fn other_widths_are_refused() {
        for epsilon in ["0", "0.6", "nan"] {
            let refused = refusal(&format!("'symmetric', epsilon = {epsilon}"), [2, 2]);
            assert!(refused.contains("above 0, at most 0.5"), "{refused}");
        }
        assert!(refusal("'symmetric', epsilon = 0.1", [3, 2]).contains("2 states"));
    }
}
