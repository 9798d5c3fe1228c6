//! `symmetric`: two states that stay put with the same probability.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::spec::{Settings, two_states};
use super::{Draft, Law, Prior};
use crate::chain::{Generator, open_interval};
use crate::{Invalid, require};

/// Two states that stay put with the same probability a ~ U(½−ε, ½+ε).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symmetric {
    /// Half the width of the interval, above 0 and at most ½.
    pub epsilon: f64,
}

impl Settings for Symmetric {
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
    use super::super::checks::{assert_mean, draws, prior};

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
}
