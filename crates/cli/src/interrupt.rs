//! Ctrl-C and SIGTERM: training stops after its step and writes a checkpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, INTERRUPTED};

/// Whether the user has asked for an end.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on the signals are taken note of. A second one ends the process at once.
    pub fn watch() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset.
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| Failure::failed(format!("cannot watch for Ctrl-C: {error}")))?;
        }
        Ok(Self(asked))
    }

    /// Whether a signal has come.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
