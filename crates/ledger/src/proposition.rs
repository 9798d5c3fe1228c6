//! Appendix A, the Proposition: a first step on all chains, a second on chains with a = b near one half.

use induct::internal::gauss_legendre;
use induct::theory::{Coupling, Step, Weights, descend};

use super::Entry;
use super::evidence::Point;
use super::first_w::leading_constants;
use super::judge::Claim;
use super::printed::Chain;
use super::truth::{
    Couplings, LENGTHS, by_enumeration, diagonal_drive, dirichlet, first_drive, symmetric,
    v_by_distances, w_by_distances,
};

/// v_init in the checks.
pub const V: f64 = 0.02;

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    vec![
        w_after_first(couplings),
        v_after_first(couplings),
        integral(),
        only_v_matters(couplings),
        w_after_second(),
        w_order(),
        v_rate(couplings),
        v_parts(couplings),
        v_rho(couplings),
        leading_v(),
        moment_of_v1(),
        moments(),
        v_start(couplings),
    ]
}

/// The average over a = b ~ U(½ − ε, ½ + ε), by a different rule than the library's: many short panels.
pub fn mean(epsilon: f64, f: impl Fn(Chain) -> f64) -> f64 {
    let panels = 32;
    let edge = |index: usize| 0.5 - epsilon + 2.0 * epsilon * index as f64 / panels as f64;
    let nodes = (0..panels).flat_map(|index| gauss_legendre(6, edge(index), edge(index + 1)));
    nodes
        .map(|(a, width)| width * f(Chain { a, b: a }))
        .sum::<f64>()
        / (2.0 * epsilon)
}

fn narrow(epsilon: f64, t: usize) -> Coupling {
    Coupling::of_prior(&symmetric(epsilon), t).expect("known for this prior")
}

fn w_after_first(couplings: &Couplings) -> Entry {
    let points = LENGTHS.map(|t| {
        let eta = 1.0 / (t * t) as f64;
        let fast = first_drive(couplings.dirichlet(t)).w_k[0];
        let truth = [fast, couplings.w_by_distances(t)[0]].map(|drive| V * eta * drive);
        Point::of_length(t, V * leading_constants()[0] / 6.0, truth)
    });
    Claim::new("proposition.w-after-first").leading(-1.0, points)
}

fn v_after_first(couplings: &Couplings) -> Entry {
    let w = 0.02;
    let points = LENGTHS.map(|t| {
        let eta = 1.0 / (t * t) as f64;
        let fast = first_drive(couplings.dirichlet(t)).v[0];
        let truth = [fast, couplings.v_by_distances(t, 1)[0]].map(|drive| V + eta * w * drive);
        Point::of_length(t, V, truth)
    });
    Claim::new("proposition.v-after-first").leading(-1.0, points)
}

/// 2ε + ½ ln((½−ε)/(½+ε))
fn printed_integral(epsilon: f64) -> f64 {
    2.0 * epsilon + 0.5 * ((0.5 - epsilon) / (0.5 + epsilon)).ln()
}

const WIDTHS: [f64; 4] = [0.05, 0.2, 0.35, 0.45];

fn integral() -> Entry {
    let points = WIDTHS.map(|epsilon| {
        let integrand = |a: f64| (a - 0.5) / (a - 1.0);
        let rule = gauss_legendre(80, 0.5 - epsilon, 0.5 + epsilon);
        let once: f64 = rule.iter().map(|&(a, width)| width * integrand(a)).sum();
        let panels = 2.0 * epsilon * mean(epsilon, |chain| integrand(chain.a));
        Point::new(&[("ε", epsilon)], printed_integral(epsilon), [once, panels])
    });
    Claim::new("proposition.integral").equality(points)
}

fn only_v_matters(couplings: &Couplings) -> Entry {
    let epsilon = 0.2;
    let [first, _] = two_steps(couplings, SHORT, epsilon, V);
    let at_start = Weights::constant(2, SHORT, V, V);
    let at_first = Weights {
        v: at_start.v.clone(),
        ..first
    };
    let coupling = narrow(epsilon, SHORT);
    let printed = coupling.gradient(&at_start).w_k;
    let truth = [
        coupling.gradient(&at_first).w_k,
        by_enumeration(&symmetric(epsilon), &at_first).w_k,
    ];
    let points = (0..4).map(|entry| {
        let routes = [truth[0][entry], truth[1][entry]];
        Point::new(&[("entry", entry as f64)], printed[entry], routes)
    });
    Claim::new("proposition.only-v-matters").equality(points)
}

fn w_after_second() -> Entry {
    let epsilon = 0.2;
    let points = LENGTHS.map(|t| {
        let fast = first_drive(&narrow(epsilon, t)).w_k[0];
        let slow = mean(epsilon, |chain| w_by_distances(chain, t, 1, 1));
        let printed = printed_integral(epsilon) * t as f64;
        Point::new(&[("t", t as f64), ("ε", epsilon)], printed, [fast, slow])
            .corrected(-printed / (16.0 * epsilon))
    });
    Claim::new("proposition.w-after-second").leading(0.0, points)
}

/// The power of ε with which `f` grows for small ε.
pub fn power_of_width(f: impl Fn(f64) -> f64) -> f64 {
    (f(0.06) / f(0.03)).log2()
}

/// The allowed difference between a measured power and the asymptotic one.
pub const POWER_TOLERANCE: f64 = 0.05;

fn w_order() -> Entry {
    let t = 128;
    let fast = power_of_width(|epsilon| first_drive(&narrow(epsilon, t)).w_k[0]);
    let slow = power_of_width(|epsilon| mean(epsilon, |chain| w_by_distances(chain, t, 1, 1)));
    Claim::new("proposition.w-order")
        .tolerance(POWER_TOLERANCE)
        .equality([Point::of_length(t, 1.0, [fast, slow]).corrected(2.0)])
}

/// The weights after each of the two steps with η₁ = 1/t² and η₂ = 1/t; the second step's decay erases both
/// layers.
pub fn two_steps(couplings: &Couplings, t: usize, epsilon: f64, w_init: f64) -> [Weights; 2] {
    let (first, second) = (couplings.dirichlet(t), narrow(epsilon, t));
    let steps = [
        Step::new(first, 1.0 / (t * t) as f64),
        Step {
            decay_w: 1.0,
            decay_v: 1.0,
            ..Step::new(&second, 1.0 / t as f64)
        },
    ];
    let start = Weights::constant(2, t, w_init, V);
    let mut path = descend(&start, &steps).expect("valid steps");
    let last = path.pop().expect("two steps");
    [path.pop().expect("two steps"), last]
}

/// Both steps by sums over all sequences, for short lengths.
fn two_steps_enumerated(t: usize, epsilon: f64, w_init: f64) -> [Weights; 2] {
    let start = Weights::constant(2, t, w_init, V);
    let first = start.plus(-1.0 / (t * t) as f64, &by_enumeration(&dirichlet(), &start));
    let zero = Weights::constant(2, t, 0.0, 0.0);
    let second = zero.plus(
        -1.0 / t as f64,
        &by_enumeration(&symmetric(epsilon), &first),
    );
    [first, second]
}

const SHORT: usize = 7;
/// v_j after both steps at t = 7, for every j, with a printed and a corrected form.
fn v_points(couplings: &Couplings, forms: impl Fn(&Weights, usize) -> [f64; 2]) -> Vec<Point> {
    let mut points = Vec::new();
    for (epsilon, w_init) in [(0.2, 0.02), (0.4, 0.01)] {
        let [first, second] = two_steps(couplings, SHORT, epsilon, w_init);
        let [_, slow] = two_steps_enumerated(SHORT, epsilon, w_init);
        // The gradient of the second step, for a constant and for a diagonal W_k.
        let coupling = narrow(epsilon, SHORT);
        let (plain, diagonal) = (first_drive(&coupling).v, diagonal_drive(&coupling));
        for j in 1..=SHORT {
            let w = [first.w_k[0], first.w_k[1], plain[j - 1], diagonal[j - 1]];
            let local = Weights {
                w_k: w.to_vec(),
                v: vec![w_init],
            };
            let [printed, corrected] = forms(&local, SHORT);
            let at = [("ε", epsilon), ("w_init", w_init), ("j", j as f64)];
            let truth = [second.v[j - 1], slow.v[j - 1]].map(|v| v / V);
            points.push(Point::new(&at, printed / V, truth).corrected(corrected / V));
        }
    }
    points
}

fn v_rate(couplings: &Couplings) -> Entry {
    let forms = |local: &Weights, t: usize| {
        let [on, off, plain, diagonal] = [0, 1, 2, 3].map(|e| local.w_k[e]);
        let drive = off * plain + (on - off) * diagonal;
        [drive, drive / t as f64]
    };
    Claim::new("proposition.v-rate").equality(v_points(couplings, forms))
}

fn v_parts(couplings: &Couplings) -> Entry {
    let forms = |local: &Weights, t: usize| {
        let [on, off, plain, diagonal] = [0, 1, 2, 3].map(|e| local.w_k[e]);
        let (eta, a) = (1.0 / t as f64, off - local.v[0]);
        [
            eta * (a * plain + 3.0 * a * diagonal),
            eta * (off * plain + (on - off) * diagonal),
        ]
    };
    Claim::new("proposition.v-parts").equality(v_points(couplings, forms))
}

fn v_rho(couplings: &Couplings) -> Entry {
    let forms = |local: &Weights, t: usize| {
        let [on, off, plain, diagonal] = [0, 1, 2, 3].map(|e| local.w_k[e]);
        let eta = 1.0 / t as f64;
        let with = |rho: f64| eta * (off * rho * plain + (on - off) * diagonal);
        [with(on), with(1.0)]
    };
    Claim::new("proposition.v-rho").equality(v_points(couplings, forms))
}

fn leading_v() -> Entry {
    let (epsilon, j) = (0.2, 2);
    let constant = mean(epsilon, |q| 2.0 * (q.a - 0.5) / 4.0 * (2.0 * q.a - 1.0));
    let points = LENGTHS.map(|t| {
        let left = (t + 1 - j) as f64;
        let fast = diagonal_drive(&narrow(epsilon, t))[j - 1];
        let slow = mean(epsilon, |chain| v_by_distances(chain, t, j)[1]);
        let printed = left * (left + 1.0) / 2.0 / t as f64 * constant;
        Point::new(&[("t", t as f64), ("ε", epsilon)], printed, [fast, slow])
    });
    Claim::new("proposition.leading-v").leading(0.0, points)
}

/// E[(a−½)(2a−1)^{j−1}] over a ~ U(½−ε, ½+ε): a Gauss rule, and the moments of λ.
fn moment(epsilon: f64, j: usize) -> [f64; 2] {
    let rule = gauss_legendre(40, 0.5 - epsilon, 0.5 + epsilon);
    let each = |&(a, width): &(f64, f64)| width * (a - 0.5) * (2.0 * a - 1.0).powi(j as i32 - 1);
    let by_rule = rule.iter().map(each).sum::<f64>() / (2.0 * epsilon);
    let by_moments = match j % 2 {
        0 => (2.0 * epsilon).powi(j as i32) / (2.0 * (j as f64 + 1.0)),
        _ => 0.0,
    };
    [by_rule, by_moments]
}

fn moment_of_v1() -> Entry {
    let points = WIDTHS.map(|epsilon| Point::new(&[("ε", epsilon)], 0.0, moment(epsilon, 1)));
    Claim::new("proposition.moment-of-v1")
        .unit(1.0)
        .equality(points)
}

fn moments() -> Entry {
    let mut points = Vec::new();
    for epsilon in WIDTHS {
        for j in 2..=9_usize {
            // The three printed lines agree with each other; this is the last.
            let printed = match j % 2 {
                0 => 4.0_f64.powi(j as i32 / 2) / (j as f64 + 1.0) * epsilon.powi(j as i32 + 1),
                _ => 0.0,
            };
            let point = Point::new(
                &[("ε", epsilon), ("j", j as f64)],
                printed,
                moment(epsilon, j),
            );
            points.push(point.corrected(printed / (2.0 * epsilon)));
        }
    }
    Claim::new("proposition.moments").equality(points)
}

fn v_start(couplings: &Couplings) -> Entry {
    let (epsilon, j, w) = (0.2_f64, 2, 0.0);
    let [diagonal, off_diagonal] = leading_constants();
    // v_init (B − A)/6 from the first step, E λ²/4 from the second, and (t−1)/(2t) → ½.
    let limit = V * (diagonal - off_diagonal) / 6.0 * (2.0 * epsilon).powi(2) / 12.0 / 2.0;
    let points = [64, 128, 256, 512].map(|t| {
        let fast = two_steps(couplings, t, epsilon, w)[1].v[j - 1];
        let [first, _] = two_steps(couplings, t, epsilon, w);
        let (on, off) = (first.w_k[0], first.w_k[1]);
        let by = |route: usize| mean(epsilon, |chain| v_by_distances(chain, t, j)[route]);
        let slow = (off * by(0) + (on - off) * by(1)) / t as f64;
        Point::new(&[("t", t as f64), ("ε", epsilon)], V + limit, [fast, slow]).corrected(limit)
    });
    Claim::new("proposition.v-start").leading(-1.0, points)
}

/// What the diagonal of the first step's W_k adds to v_j in the second step, by the given route.
pub fn diagonal_part(epsilon: f64, t: usize, j: usize, route: usize) -> f64 {
    match route {
        0 => diagonal_drive(&narrow(epsilon, t))[j - 1],
        _ => mean(epsilon, |chain| v_by_distances(chain, t, j)[1]),
    }
}
