//! Appendix A, the Corollary for a = b: chains without a unigram signal.
//!
//! Here (P^n)_ii = (1 + λ^n)/2, and λ is uniform on (−1, 1), so E λ^n = 1/(n+1) for even n and 0 for odd n.
//! Inserted into the coupling, this gives finite sums, which serve as the second route:
//!
//! ```text
//! −∂L/∂W_11 = 1/(8t) Σ_{n<t, n odd} (t−n)(t−n+1)/(n+2)       −∂L/∂W_12 = 0        (at v = 1)
//! −∂L/∂v_j = 1/(2t) Σ_{n≤N, n even ≥ 2} (N−n+1)/(n+1),  N = t−j+1                 (at W_k = 11ᵀ)
//! ```

use induct::internal::Classes;
use induct::theory::{Coupling, Weights};

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::printed::{Chain, term_2, term_3};
use super::truth::{
    Couplings, LENGTHS, by_enumeration, first_drive, gradients, only, symmetric, v_by_distances,
    w_by_distances,
};

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    vec![
        no_unigrams(),
        w11(),
        w12(),
        leading_w11(),
        infinite(couplings),
        off_diagonal(couplings),
        v_line(),
        v(couplings),
        no_preference(couplings),
    ]
}

const STAYS: [f64; 5] = [0.05, 0.3, 0.5, 0.7, 0.95];

fn even(a: f64) -> Chain {
    Chain { a, b: a }
}

fn no_unigrams() -> Entry {
    let classes = Classes::new(&symmetric(0.5), 64).expect("a known prior");
    let unigrams = classes.cross_entropy(|class| class.symbols.map(|count| count as f64 + 1.0));
    let points = STAYS.map(|a| {
        let chain = even(a);
        Point::new(&[("a", a)], 0.5, [chain.pi(1), chain.walk(4001, 2, 1)])
    });
    Claim::new("corollary.no-unigrams")
        .number(
            "loss of the unigram strategy at t = 64, a = b ~ U(0, 1)",
            unigrams,
        )
        .number("loss of a uniform guess, ln 2", std::f64::consts::LN_2)
        .equality(points)
}

/// −∂L/∂W_k of chains with a = b at v = c 1, compared with a printed form.
fn chain_points(entry: usize, printed: impl Fn(f64, usize) -> f64) -> Vec<Point> {
    let (c, mut points) = (0.02, Vec::new());
    for a in STAYS.into_iter().filter(|&a| a != 0.5) {
        for t in [1, 3, 7] {
            let gradients = gradients(even(a), &Weights::constant(2, t, c, c));
            let truth = gradients.map(|g| -g.w_k[entry]);
            points.push(Point::new(
                &[("a", a), ("t", t as f64)],
                c / t as f64 * printed(a, t),
                truth,
            ));
        }
    }
    points
}

/// The printed bracket, with the given sign of (III).
fn printed_w(a: f64, t: usize, sign: f64) -> f64 {
    let (lam, twice) = (2.0 * a - 1.0, 2.0 * a - 2.0);
    let square = 2.0 * (a - 1.0).powi(2);
    (a - 1.0) * (a - 0.5) / twice.powi(3)
        * (square / twice.powi(2) * term_2(lam, t) + sign * square / twice * term_3(lam, t))
}

fn w11() -> Entry {
    Claim::new("corollary.w11").equality(chain_points(0, |a, t| printed_w(a, t, 1.0)))
}

fn w12() -> Entry {
    let w11 = chain_points(0, |_, _| 0.0);
    let w11_size = w11
        .iter()
        .map(|point| point.truth[0].abs())
        .fold(0.0, f64::max);
    Claim::new("corollary.w12")
        .unit(w11_size)
        .equality(chain_points(1, |a, t| printed_w(a, t, -1.0)))
}

fn leading_w11() -> Entry {
    let a = 0.7;
    let points = LENGTHS.map(|t| {
        let coupling = Coupling::of_prior(&only(even(a)), t).expect("one chain");
        let truth = [
            first_drive(&coupling).w_k[0],
            w_by_distances(even(a), t, 1, 1),
        ];
        Point::new(
            &[("t", t as f64), ("a", a)],
            -(a - 0.5) / (8.0 * (a - 1.0)) * t as f64,
            truth,
        )
    });
    Claim::new("corollary.leading-w11").leading(0.0, points)
}

fn infinite(couplings: &Couplings) -> Entry {
    let sum = |t: usize| -> f64 {
        let each = |n: usize| ((t - n) * (t - n + 1)) as f64 / (n + 2) as f64;
        (1..t).step_by(2).map(each).sum::<f64>() / (8 * t) as f64
    };
    let drive = |t: usize| first_drive(couplings.diagonal(t)).w_k[0];
    let points = [2, 3, 7, 12].map(|t| {
        let slow = by_enumeration(&symmetric(0.5), &Weights::constant(2, t, 1.0, 1.0));
        Point::of_length(t, f64::INFINITY, [drive(t), -slow.w_k[0]]).corrected(sum(t))
    });
    let growth = (drive(1024) / 1024.0 - drive(512) / 512.0) / std::f64::consts::LN_2;
    let curve = (2..=10)
        .map(|power| 1 << power)
        .map(|t| (t as f64, drive(t) / t as f64));
    Claim::new("corollary.infinite")
        .line("change of W_11 over c η t", "t", curve.collect())
        .number(
            "growth of W_11/t with ln t, measured (1/16 = 0.0625)",
            growth,
        )
        .equality(points)
}

fn off_diagonal(couplings: &Couplings) -> Entry {
    let w11_size = first_drive(couplings.diagonal(12)).w_k[0];
    let points = [2, 3, 7, 12].map(|t| {
        let slow = by_enumeration(&symmetric(0.5), &Weights::constant(2, t, 1.0, 1.0));
        let fast = first_drive(couplings.diagonal(t)).w_k[1];
        Point::of_length(t, 0.0, [fast, -slow.w_k[1]])
    });
    Claim::new("corollary.off-diagonal")
        .unit(w11_size)
        .equality(points)
}

fn v_line() -> Entry {
    let a = 0.7_f64;
    let form = |factor: f64| -2.0 * factor * (a - 1.0).powi(2) / (2.0 * a - 2.0).powi(3);
    let points = LENGTHS.map(|t| {
        let coupling = Coupling::of_prior(&only(even(a)), t).expect("one chain");
        let truth = [
            first_drive(&coupling).v[0],
            v_by_distances(even(a), t, 1)[0],
        ];
        Point::new(&[("t", t as f64), ("a", a)], form(2.0 * a - 2.0), truth)
            .corrected(form(2.0 * a - 1.0))
    });
    Claim::new("corollary.v-line").leading(-1.0, points)
}

/// The finite sum for −∂L/∂v_j.
fn v_sum(t: usize, j: usize) -> f64 {
    let count = t + 1 - j;
    let each = |n: usize| (count - n + 1) as f64 / (n + 1) as f64;
    (2..=count).step_by(2).map(each).sum::<f64>() / (2 * t) as f64
}

fn v(couplings: &Couplings) -> Entry {
    let points = LENGTHS.map(|t| {
        let fast = first_drive(couplings.diagonal(t)).v[0];
        Point::new(&[("t", t as f64), ("j", 1.0)], -0.5, [fast, v_sum(t, 1)])
    });
    let first = |t: usize| first_drive(couplings.diagonal(t)).v[0];
    let curve = (2..=10)
        .map(|power| 1 << power)
        .map(|t| (t as f64, first(t)));
    Claim::new("corollary.v")
        .line("change of v_1 over c η", "t", curve.collect())
        .number("change of v_1 over c η at t = 512", first(512))
        .number(
            "growth of v_1 with ln t, measured (1/4)",
            (first(1024) - first(512)) / std::f64::consts::LN_2,
        )
        .leading(-1.0, points)
}

fn no_preference(couplings: &Couplings) -> Entry {
    let lead = |v: &[f64]| v[0] - v[v.len() / 2];
    let with_sum = |t: usize| v_sum(t, 1) - v_sum(t, t / 2 + 1);
    let orders = |t: usize| {
        let order = |f: &dyn Fn(usize) -> f64| (f(2 * t) / f(t)).log2();
        let fast = |t: usize| lead(&first_drive(couplings.diagonal(t)).v);
        let plain = |t: usize| lead(&first_drive(couplings.dirichlet(t)).v);
        [order(&fast), order(&with_sum), order(&plain)]
    };
    let points = [64, 128, 256, 512].map(|t| {
        let [even, summed, plain] = orders(t);
        Point::of_length(t, 0.5 * plain - even, [even, summed])
    });
    Claim::new("corollary.no-preference")
        .number("power of t, a = b, from t = 512 to 1024", orders(512)[0])
        .number("power of t, default setting", orders(512)[2])
        .statement(points)
}
