//! The operations models are made of. Each file holds one: its formula, the fast forward and backward over
//! lanes, and the naive f64 twin of both. Whole models are compared with their twins in `tests/models.rs`.
//!
//! Activations of the fast path are [`Lane`](super::Lane)s, [positions, features]; parameters are plain f32,
//! shared by all lanes; gradients of parameters are kept by lane and summed once a block.

pub mod attention;
pub(crate) mod convolution;
pub mod gelu;
pub mod layer_norm;
pub mod linear;
