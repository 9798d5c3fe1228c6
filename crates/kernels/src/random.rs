//! Random numbers by address.
//!
//! Every random choice in Induct comes from a ChaCha8 stream whose key is the address of what is being drawn:
//! (purpose, seed, step), with one stream number per sequence. So drawing needs no shared state: any sequence
//! of any step can be drawn on its own, on any thread, on any machine.

use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// The generator behind every draw.
pub type Generator = ChaCha8Rng;

/// What a stream is used for. Streams of different purposes share nothing, even with equal seeds.
///
/// The numbers are tags in keys. They affect every result, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Initial parameters of a model.
    Init = 1,
    /// Sequences to train on.
    Train = 2,
    /// The fixed test sets that a run is measured on.
    Test = 3,
    /// A test set drawn after training, never seen by a run.
    Fresh = 4,
    /// The chains of a `pool` prior.
    Pool = 5,
    /// Draws inside a Monte Carlo computation, such as posterior particles.
    Particles = 6,
    /// The keys of a training sequence's dropout masks.
    Dropout = 7,
}

/// The address of one batch of random draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What the draws are for.
    pub purpose: Purpose,
    /// The user's seed.
    pub seed: u64,
    /// Which batch: a training step, or a test set's number.
    pub step: u64,
}

impl Address {
    /// The generator of item `index` (a sequence, usually) of this batch.
    pub fn generator(&self, index: u64) -> Generator {
        let mut key = [0_u8; 32];
        key[..8].copy_from_slice(b"induct/1");
        key[8..16].copy_from_slice(&(self.purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&self.seed.to_le_bytes());
        key[24..].copy_from_slice(&self.step.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(index);
        generator
    }
}

/// A uniform number in the open interval (0, 1), on a grid of 2⁻⁵³.
pub fn open_unit(rng: &mut Generator) -> f64 {
    const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
    ((rng.next_u64() >> 11) as f64 + 0.5) * SCALE
}

/// A uniform number in the open interval (low, high).
pub fn open_interval(rng: &mut Generator, low: f64, high: f64) -> f64 {
    low + (high - low) * open_unit(rng)
}
