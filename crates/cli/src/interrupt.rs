//! Ctrl-C and SIGTERM: training finishes the current step, writes a checkpoint and stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
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

    /// Watches for SIGUSR1, by which a scheduler gives notice that the time is nearly up.
    pub fn watch_notice() -> Result<Self, Failure> {
        let given = Arc::new(AtomicBool::new(false));
        flag::register(SIGUSR1, Arc::clone(&given))
            .map_err(|error| Failure::failed(format!("cannot watch for notice: {error}")))?;
        Ok(Self(given))
    }

    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
