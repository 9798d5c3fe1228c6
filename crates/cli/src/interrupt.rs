//! Ctrl-C and SIGTERM: training finishes the current step, writes a checkpoint and stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, INTERRUPTED};

/// Whether the user has asked to stop.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches for the signals from now on. A second signal ends the process at once.
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

    /// Whether a signal has arrived.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
