//! `dirichlet`: every context's row is an independent Dirichlet draw.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::stream::Generator;
use super::spec::Settings;
use super::{Alpha, Draft, Law, Prior, Rows};
use crate::invalid::Invalid;

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
