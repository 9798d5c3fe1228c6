//! Whether v_2, the weight of the previous symbol, comes to lead after two steps from a constant start.
//!
//! The answer does not depend on the constant: every weight is proportional to it.

use induct::theory::{Coupling, Weights};

/// By how much v_2 is above every other v_j after two steps of learning rate η (negative: below the largest), over the sum of
/// their sizes. For t = 1 there is no v_2: minus one.
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

/// The learning rate from which on v_2 leads, if there is one below 10⁹: found by bisection to twelve digits.
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
