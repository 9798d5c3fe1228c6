//! `doubly-stochastic`: uniform over tables whose columns sum to one as well. How they are drawn is in `birkhoff`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::stream::Generator;
use super::birkhoff;
use super::spec::Settings;
use super::{Draft, Law, Prior};
use crate::invalid::Invalid;

/// Uniform over tables whose columns sum to one as well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoublyStochastic {}

impl Settings for DoublyStochastic {
    fn check(&self, _: usize, _: usize) -> Result<(), Invalid> {
        Ok(())
    }

    fn prepare(&self, _: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        Ok(Arc::new(self.clone()))
    }
}

impl Prior for DoublyStochastic {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let states = table.states();
        birkhoff::draw(rng, states, table.first_rows_mut(states));
        table.repeat_first_rows(states);
    }

    fn law(&self) -> Law<'_> {
        Law::DoublyStochastic
    }
}
