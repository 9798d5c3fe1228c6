//! `symmetric`: two states that stay put with the same probability.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::stream::{Generator, open_interval};
use super::spec::{Settings, two_states};
use super::{Draft, Law, Prior};
use crate::invalid::{Invalid, require};

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
