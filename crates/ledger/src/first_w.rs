//! Appendix A, first step: the gradient of W_k, its leading order and constants.

use std::f64::consts::LN_2;

use induct::theory::{Coupling, Weights};

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::printed::{CHAINS, Chain, wk_case, wk_step_1};
use super::truth::{
    Couplings, LENGTHS, average, by_enumeration, dirichlet, expect, first_drive, gradients, one_if,
    only,
};

/// The constant start.
const C: f64 = 0.02;

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    let mut all = vec![loss_gradient(), joint(), wk()];
    all.extend([(1, 1), (1, 2), (2, 1), (2, 2)].map(|(m, l)| wk_cases(m, l)));
    all.extend([symmetry(couplings), equal_diagonal(couplings)]);
    all.extend([leading_w(couplings, 1), leading_w(couplings, 2)]);
    all.extend([
        constant_diagonal(),
        constant_off_diagonal(),
        positive(),
        ratio(couplings),
    ]);
    all
}

/// −∂L/∂W_k at the constant start for the chains of the grid, by the coupling and over all sequences.
fn w_points(
    printed: impl Fn(Chain, usize, usize, usize) -> f64,
    only_at: Option<(usize, usize)>,
) -> Vec<Point> {
    let mut points = Vec::new();
    for chain in CHAINS {
        for t in [1, 2, 4, 7] {
            let gradients = gradients(chain, &Weights::constant(2, t, C, C));
            for (m, l) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                if only_at.is_some_and(|place| place != (m, l)) {
                    continue;
                }
                let at = chain.at([("t", t), ("m", m), ("l", l)]);
                let truth = gradients.each_ref().map(|g| -g.w_k[2 * (m - 1) + l - 1]);
                points.push(Point::new(&at, printed(chain, t, m, l), truth));
            }
        }
    }
    points
}

fn loss_gradient() -> Entry {
    let printed = |chain: Chain, t: usize, m: usize, l: usize| {
        expect(chain, t + 1, |x| {
            let slope = |p: usize, i: usize| {
                let found = |q: usize| (0..=q).map(|s| one_if(x[s] + 1 == l)).sum::<f64>();
                let sum: f64 = (0..=p).map(|q| one_if(x[q] == i) * found(q)).sum();
                C * one_if(x[p] + 1 == m) * sum
            };
            let each = |p: usize| 0.5 * (slope(p, 0) + slope(p, 1)) - slope(p, x[p + 1]);
            -(0..t).map(each).sum::<f64>() / t as f64
        })
    };
    Claim::new("first-step.loss-gradient").equality(w_points(printed, None))
}

fn joint() -> Entry {
    let printed = |chain: Chain, t: usize, m: usize, l: usize| {
        let mut sum = 0.0;
        for i in [1, 2] {
            for p in 1..=t {
                for q in 1..=p {
                    for s in 1..=q {
                        sum += (chain.p(m, i) - 0.5)
                            * chain.walk(p - q, i, m)
                            * chain.walk(q - s, l, i)
                            * chain.pi(l);
                    }
                }
            }
        }
        C / t as f64 * sum
    };
    Claim::new("first-step.joint").equality(w_points(printed, None))
}

fn wk() -> Entry {
    Claim::new("first-step.wk").equality(w_points(
        |chain, t, m, l| wk_step_1(chain, C, t, m, l),
        None,
    ))
}

fn wk_cases(m: usize, l: usize) -> Entry {
    let printed = |chain, t, m, l| wk_case(chain, C, t, m, l);
    Claim::new(&format!("first-step.w{m}{l}")).equality(w_points(printed, Some((m, l))))
}

/// Averaged gradients at v = 1 by both routes, at lengths short enough to sum over all sequences.
fn averaged(couplings: &Couplings, printed: usize, truth: usize) -> Vec<Point> {
    let short = [2, 3, 7].map(|t| {
        let ones = Weights::constant(2, t, 1.0, 1.0);
        let slow = by_enumeration(&dirichlet(), &ones);
        let fast = first_drive(couplings.dirichlet(t));
        Point::of_length(t, fast.w_k[printed], [fast.w_k[truth], -slow.w_k[truth]])
    });
    short.to_vec()
}

fn symmetry(couplings: &Couplings) -> Entry {
    let one = Coupling::of_prior(&only(CHAINS[0]), 7).expect("one chain");
    let single = first_drive(&one);
    Claim::new("first-step.symmetric")
        .number(
            "W_12 − W_21 of one chain (a = 0.3, b = 0.9, t = 7)",
            single.w_k[1] - single.w_k[2],
        )
        .equality(averaged(couplings, 2, 1))
}

fn equal_diagonal(couplings: &Couplings) -> Entry {
    Claim::new("first-step.equal-diagonal").equality(averaged(couplings, 3, 0))
}

/// (ln 256 − 5)/12 and (7 − 10 ln 2)/6.
pub fn leading_constants() -> [f64; 2] {
    [(8.0 * LN_2 - 5.0) / 12.0, (7.0 - 10.0 * LN_2) / 6.0]
}

fn leading_w(couplings: &Couplings, column: usize) -> Entry {
    let constant = leading_constants()[column - 1];
    let points = LENGTHS.map(|t| {
        let n = t as f64;
        let fast = first_drive(couplings.dirichlet(t)).w_k[column - 1];
        let slow = couplings.w_by_distances(t)[column - 1];
        Point::of_length(t, constant * (n + 1.0) * (n + 2.0) / 6.0, [fast, slow])
    });
    let id = match column {
        1 => "first-step.leading-diagonal",
        _ => "first-step.leading-off-diagonal",
    };
    Claim::new(id).leading(1.0, points)
}

fn constant_diagonal() -> Entry {
    let [printed, _] = leading_constants();
    let of = |f: fn(Chain) -> f64| average(12, f);
    let forms: [fn(Chain) -> f64; 3] = [
        |q| q.pi(1).powi(2) / (q.lambda() - 1.0) * (q.b - q.a) * (q.p(1, 1) - 0.5),
        |q| q.pi(2).powi(2) / (q.lambda() - 1.0) * (q.b - q.a) * (q.p(2, 1) - 0.5),
        |q| (q.b - 1.0).powi(2) * (q.b - q.a) * (q.a - 0.5) / (q.a + q.b - 2.0).powi(3),
    ];
    let points = (1..)
        .zip(forms)
        .map(|(form, f)| Point::new(&[("form", f64::from(form))], printed, of(f)));
    Claim::new("first-step.constant-diagonal")
        .number("B", printed)
        .equality(points)
}

fn constant_off_diagonal() -> Entry {
    let [_, printed] = leading_constants();
    let forms: [fn(Chain) -> f64; 3] = [
        |q| q.pi(1) * q.pi(2) / (q.lambda() - 1.0) * (q.b - q.a) * (q.p(1, 1) - 0.5),
        |q| q.pi(1) * q.pi(2) / (q.lambda() - 1.0) * (q.b - q.a) * (q.p(2, 1) - 0.5),
        |q| (q.b - 1.0) * (q.a - 1.0) * (q.b - q.a) * (q.a - 0.5) / (q.a + q.b - 2.0).powi(3),
    ];
    let points = (1..)
        .zip(forms)
        .map(|(form, f)| Point::new(&[("form", f64::from(form))], printed, average(12, f)));
    Claim::new("first-step.constant-off-diagonal")
        .number("A", printed)
        .equality(points)
}

fn positive() -> Entry {
    let integrands: [fn(Chain) -> f64; 3] = [
        |q| (q.b - 1.0) * (q.a - 1.0) * (q.b - q.a) * (q.a - 0.5) / (q.a + q.b - 2.0).powi(3),
        |q| (q.b - 1.0).powi(2) * (q.b - q.a) * (q.a - 0.5) / (q.a + q.b - 2.0).powi(3),
        |q| ((q.a - 1.0).powi(2) + (q.b - 1.0).powi(2)) / (q.lambda() - 1.0).powi(2) - 0.5,
    ];
    let points = (1..).zip(integrands).map(|(which, f)| {
        let value = average(12, f);
        Point::new(&[("constant", f64::from(which))], value[0], value)
    });
    Claim::new("first-step.positive").statement(points)
}

/// How close to 4 counts as "≈ 4".
const NEAR: f64 = 0.05;

fn ratio(couplings: &Couplings) -> Entry {
    let ratio = |w: &[f64]| w[0] / w[1];
    let at = |t: usize| ratio(&first_drive(couplings.dirichlet(t)).w_k[..2]);
    let near = |ratio: f64| NEAR - (ratio / 4.0 - 1.0).abs();
    // The ratio falls with t: find the first length at which it is close enough.
    let fresh = |t: usize| {
        let coupling = Coupling::of_prior(&dirichlet(), t).expect("known");
        ratio(&first_drive(&coupling).w_k[..2])
    };
    let (mut low, mut high) = (4, 1024);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if near(fresh(middle)) > 0.0 {
            high = middle
        } else {
            low = middle
        }
    }
    let points = [4, 8, 16, 32].into_iter().chain(LENGTHS).map(|t| {
        let truth = [at(t), ratio(&couplings.w_by_distances(t))];
        Point::of_length(t, near(truth[0]), truth).inside(t >= high)
    });
    let [diagonal, off_diagonal] = leading_constants();
    let curve = (2..=10).map(|power| 1 << power).map(|t| (t as f64, at(t)));
    Claim::new("first-step.ratio")
        .condition(format!(
            "t ≥ {high}: the ratio falls with t towards B/A = {:.3}, and is {:.2} at t = 100",
            diagonal / off_diagonal,
            at(100)
        ))
        .line("diagonal over off-diagonal", "t", curve.collect())
        .number("limit, B/A", diagonal / off_diagonal)
        .number("at t = 100", at(100))
        .number("first t within 5 % of 4", high as f64)
        .statement(points)
}
