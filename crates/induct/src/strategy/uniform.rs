//! Every symbol equally likely: the prediction of an observer who knows nothing.

use std::sync::Arc;

use super::Strategy;
use super::registry::Entry;

/// Gives every symbol the same probability.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    states: usize,
}

pub(super) static ENTRY: Entry = Entry {
    ladder: true,
    ..Entry::new("uniform", |_, prior| {
        Ok(Arc::new(Uniform::new(prior.states())))
    })
};

impl Uniform {
    /// The uniform strategy over `states` symbols.
    pub fn new(states: usize) -> Self {
        Self { states }
    }
}

impl Strategy for Uniform {
    fn name(&self) -> String {
        ENTRY.name.to_owned()
    }

    fn states(&self) -> usize {
        self.states
    }

    fn predict_next(&self, _: &[u8], out: &mut [f64]) {
        out.fill(1.0 / self.states as f64);
    }
}
