//! The learning rate above which v_2, the weight of the previous symbol, leads after two steps from a
//! constant start.
//!
//! It does not depend on the constant, since every weight is proportional to it.

use induct::theory::{Coupling, Weights};

/// The lead of v_2 over the largest other v_j after two steps with learning rate η, relative to the sum of
/// their magnitudes; negative if v_2 is behind. For t = 1 there is no v_2, and the result is −1.
pub fn lead_of_v2(coupling: &Coupling, eta: f64) -> f64 {
    let mut at = Weights::constant(coupling.states(), coupling.length(), 1.0, 1.0);
    for _ in 0..2 {
        at = at.plus(-eta, &coupling.gradient(&at));
    }
    let others = at.v.iter().enumerate().filter(|(lag, _)| *lag != 1);
    let most = others.map(|(_, &v)| v).fold(f64::NEG_INFINITY, f64::max);
    match at.v.get(1) {
        Some(v_2) => (v_2 - most) / (v_2.abs() + most.abs()),
        None => -1.0,
    }
}

/// The learning rate above which v_2 leads, by bisection to twelve digits; `None` if there is none below 10⁹.
pub fn v2_threshold(coupling: &Coupling) -> Option<f64> {
    let (mut low, mut high) = (1e-12_f64, 1e9_f64);
    if lead_of_v2(coupling, high) <= 0.0 {
        return None;
    }
    while high / low > 1.0 + 1e-12 {
        let middle = (low * high).sqrt();
        if lead_of_v2(coupling, middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
