//! The constants of the leading orders, by exact quadrature.

use induct::theory::{Degree, chains};

use super::prior;

/// The coefficients of the highest power of t in the first two steps from a constant start, over a, b ~ U(0,
/// 1).
///
/// Each is an integral over the unit square of a polynomial times a fraction that is homogeneous in 1 − a and
/// 1 − b. The rule that averages couplings is exact for these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeadingConstants {
    /// B: first step, diagonal of W_k, with (t+1)(t+2)/6. (ln 256 − 5)/12 = 0.0454.
    pub diagonal: f64,
    /// A: first step, off the diagonal, with (t+1)(t+2)/6. (7 − 10 ln 2)/6 = 0.0114.
    pub off_diagonal: f64,
    /// D: v_j at a constant W_k, with (t−j+1)(t−j+2)/(2t). 3/2 − ln 4 = 0.1137.
    pub constant_v: f64,
    /// K₁: what the diagonal of W_k adds to v_1, with (t+1)/2. (1 − ln 2)/3 = 0.1023.
    pub diagonal_v1: f64,
    /// K₂: what it adds to v_2, with (t−1)/2. (7 − 10 ln 2)/2 + (8 ln 2 − 5)/6 = 0.1251.
    pub diagonal_v2: f64,
}

impl LeadingConstants {
    /// By the exact rule, to rounding.
    pub fn new() -> Self {
        let degree = Degree {
            transitions: 8,
            shares: 8,
        };
        let nodes = chains(&prior(), degree).expect("known for this prior");
        // x = 1 − a and y = 1 − b; λ − 1 = −(x + y).
        let mean = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            let each = nodes.iter().map(|node| {
                let (x, y) = (node.rows[1], node.rows[2]);
                node.weight * f(x, y)
            });
            each.sum()
        };
        let plus = |x: f64, y: f64| (x + y).powi(3);
        let diagonal = mean(&|x, y| -y * y * (x - y) * (0.5 - x) / plus(x, y));
        Self {
            diagonal,
            off_diagonal: mean(&|x, y| -x * y * (x - y) * (0.5 - x) / plus(x, y)),
            constant_v: mean(&|x, y| (x * x + y * y) / (x + y).powi(2)) - 0.5,
            diagonal_v1: mean(&|x, y| (y * y * (0.5 - x) + x * x * (0.5 - y)) / (x + y).powi(2)),
            diagonal_v2: mean(&|x, y| 4.0 * x * y * y * (0.5 - x) * (1.0 - x - y) / plus(x, y))
                + 2.0 * diagonal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::LN_2;

    #[test]
    fn constants_have_their_closed_forms() {
        let found = LeadingConstants::new();
        for (value, closed) in [
            (found.diagonal, (8.0 * LN_2 - 5.0) / 12.0),
            (found.off_diagonal, (7.0 - 10.0 * LN_2) / 6.0),
            (found.constant_v, 1.5 - 2.0 * LN_2),
            (found.diagonal_v1, (1.0 - LN_2) / 3.0),
            (
                found.diagonal_v2,
                (7.0 - 10.0 * LN_2) / 2.0 + (8.0 * LN_2 - 5.0) / 6.0,
            ),
        ] {
            assert!((value - closed).abs() < 1e-15, "{value} {closed}");
        }
    }
}
