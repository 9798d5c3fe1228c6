//! Rotary positions (Su et al., 2021): queries and keys are turned by angles that grow with the position, so that
//! their product depends on the lag alone. Numbers c and c + d_head/2 of a head form a plane, as in GPT-NeoX and
//! Llama.

use super::Scheme;

const BASE: f64 = 10_000.0;

pub const ROTARY: Scheme = Scheme {
    angle: Some(|position, plane, planes| {
        position as f64 * libm::pow(BASE, -(plane as f64) / planes as f64)
    }),
    ..Scheme::NONE
};
