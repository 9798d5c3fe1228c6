//! The truth: the predictions of an observer who knows the chain.

use std::sync::Arc;

use super::registry::Entry;
use super::{Seen, Strategy};

/// Knows the chain that wrote the sequence.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    states: usize,
}

pub(super) static ENTRY: Entry = Entry {
    needs_chain: true,
    ..Entry::new("oracle", "knows the chain itself", |_, prior| {
        Ok(Arc::new(Oracle::new(prior.states())))
    })
};

impl Oracle {
    /// The oracle over `states` symbols.
    pub fn new(states: usize) -> Self {
        Self { states }
    }
}

impl Strategy for Oracle {
    fn name(&self) -> String {
        ENTRY.name.to_owned()
    }

    fn states(&self) -> usize {
        self.states
    }

    fn needs_chain(&self) -> bool {
        true
    }

    /// # Panics
    ///
    /// If the chain is not given.
    fn predict_next(&self, seen: Seen<'_>, out: &mut [f64]) {
        let chain = seen.chain.expect("the oracle must be given the chain");
        chain.next_distribution(seen.tokens, out);
    }
}
