//! The operations that models are made of. Each file holds one: its formula, and its forward and backward
//! over lanes.
//!
//! Activations of the fast path are [`Lane`](crate::lanes::Lane)s, [positions, features]; parameters are plain f32,
//! shared by all lanes. Gradients of parameters are kept by lane and summed once per block, or summed over lanes
//! on the way where that is faster.

pub mod activation;
pub mod attention;
pub mod convolution;
pub mod dropout;
pub mod layer_norm;
pub mod linear;
pub mod scan;
pub mod short_convolution;
