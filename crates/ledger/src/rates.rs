//! The learning rates of the two steps, according to the appendix and to the text.

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::proposition::{POWER_TOLERANCE, diagonal_part};
use super::truth::{Couplings, first_drive};

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    vec![rates_of_appendix(couplings), rates_of_text(couplings)]
}

/// The powers of t in the gradients that drive the two steps: of W_k over all chains, and of v on chains with
/// a = b (at W_k = I).
fn gradient_powers(couplings: &Couplings) -> [[f64; 2]; 2] {
    let order = |f: &dyn Fn(usize) -> f64| (f(512) / f(256)).log2();
    let epsilon = 0.2;
    [
        [
            order(&|t| first_drive(couplings.dirichlet(t)).w_k[0]),
            order(&|t| couplings.w_by_distances(t)[0]),
        ],
        [0, 1].map(|route| order(&|t| diagonal_part(epsilon, t, 2, route))),
    ]
}

fn rates_of_appendix(couplings: &Couplings) -> Entry {
    let [first, second] = gradient_powers(couplings);
    let points = vec![
        Point::new(&[("step", 1.0)], -2.0, first.map(|power| -power)),
        Point::new(&[("step", 2.0)], -1.0, second.map(|power| -power)),
    ];
    Claim::new("proposition.rates")
        .tolerance(POWER_TOLERANCE)
        .equality(points)
}

fn rates_of_text(couplings: &Couplings) -> Entry {
    let [first, second] = gradient_powers(couplings);
    let apart = [0, 1].map(|route| second[route] - first[route]);
    Claim::new("text.rates")
        .tolerance(POWER_TOLERANCE)
        .number("power of t in η₁/η₂", apart[0])
        .statement([Point::new(&[], apart[0], apart).corrected(-apart[0])])
}
