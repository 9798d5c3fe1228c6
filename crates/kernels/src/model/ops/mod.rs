//! The operations that models are made of. Each file holds one: its formula, and its forward and backward
//! over lanes.
//!
//! Activations of the fast path are [`Lane`](crate::lanes::Lane)s, [positions, features]; parameters are plain f32,
//! shared by all lanes. Gradients of parameters are kept by lane and summed once per block, or summed over lanes
//! on the way where that is faster.

/// Calls `$tile::<FUSED, n>` along `0..$count`, with tiles of four and, for the remainder, 2 and 1.
macro_rules! along {
    ($count:expr, |$start:ident| $tile:ident::<$($flag:tt),*>($($argument:expr),* $(,)?)) => {{
        let mut $start = 0;
        while $start + 4 <= $count {
            $tile::<$($flag,)* 4>($($argument),*);
            $start += 4;
        }
        if $start + 2 <= $count {
            $tile::<$($flag,)* 2>($($argument),*);
            $start += 2;
        }
        if $start < $count {
            $tile::<$($flag,)* 1>($($argument),*);
        }
    }};
}

pub mod activation;
pub mod attention;
pub mod convolution;
pub mod dropout;
pub mod layer_norm;
pub mod linear;
pub mod scan;
pub mod short_convolution;
