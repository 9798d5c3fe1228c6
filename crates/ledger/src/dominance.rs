//! Appendix A, second step: leading orders and constants, odd and even lags, and whether v_2 becomes
//! dominant.

use std::f64::consts::LN_2;

use induct::theory::Coupling;

use super::Entry;
use super::evidence::Point;
use super::first_v::constant_d;
use super::first_w::leading_constants;
use super::judge::Claim;
use super::printed::Chain;
use super::truth::{Couplings, LENGTHS, average, diagonal_drive, dirichlet, first_drive};
use super::v2_threshold::{lead_of_v2, v2_threshold};

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    let pattern = Pattern::new();
    vec![
        leading_v1(couplings),
        leading_vj(couplings, 2),
        leading_vj(couplings, 3),
        leading_constant_part(couplings),
        same_start(couplings),
        constant_v1(),
        constant_v2(),
        larger(),
        odd_is_negative(&pattern),
        even_falls(&pattern),
        dominant(couplings),
        even_over_odd(couplings),
        geometric(&pattern),
    ]
}

/// What the diagonal adds to v_j in leading order, divided by (t−j+1)(t−j+2)/(2t), for j ≥ 2.
fn constant_of(j: usize) -> f64 {
    average(20 + j, |q| {
        let (a, b, down) = (q.a, q.b, q.lambda() - 1.0);
        let both = (b - 1.0) * (a - 0.5) + (a - 1.0) * (b - 0.5);
        let apart = (b - 1.0).powi(2) * (a - 0.5) - (a - 1.0).powi(2) * (b - 0.5);
        2.0 * (a - 1.0) * (b - 1.0) * both / down.powi(3) * q.lambda().powi(j as i32 - 1)
            + (b - a) * apart / down.powi(3)
    })[0]
}

/// What the diagonal adds to v_j, by both routes.
fn drives(couplings: &Couplings, t: usize, j: usize) -> [f64; 2] {
    [
        diagonal_drive(couplings.dirichlet(t))[j - 1],
        couplings.v_by_distances(t, j)[1],
    ]
}

fn leading_v1(couplings: &Couplings) -> Entry {
    let constant = (1.0 - LN_2) / 3.0;
    let points = LENGTHS.map(|t| {
        let printed = constant * (t as f64 + 1.0) / 2.0;
        Point::of_length(t, printed, drives(couplings, t, 1))
    });
    Claim::new("second-step.leading-v1").leading(0.0, points)
}

fn leading_vj(couplings: &Couplings, j: usize) -> Entry {
    let constant = constant_of(j);
    let points = LENGTHS.map(|t| {
        let left = (t + 1 - j) as f64;
        let printed = constant * left * (left + 1.0) / 2.0 / t as f64;
        Point::new(
            &[("t", t as f64), ("j", j as f64)],
            printed,
            drives(couplings, t, j),
        )
    });
    Claim::new(&format!("second-step.leading-v{j}")).leading(0.0, points)
}

/// (t−j+1)(t−j+2)/(2t) D: the leading order of what a constant W_k adds to v_j, divided by η (c + c′).
fn constant_part(t: usize, j: usize) -> f64 {
    let left = (t + 1 - j) as f64;
    constant_d() * left * (left + 1.0) / 2.0 / t as f64
}

fn leading_constant_part(couplings: &Couplings) -> Entry {
    let points = LENGTHS.map(|t| {
        let truth = [
            first_drive(couplings.dirichlet(t)).v[0],
            couplings.v_by_distances(t, 1)[0],
        ];
        Point::of_length(t, constant_part(t, 1), truth)
    });
    Claim::new("second-step.leading-constant-part").leading(0.0, points)
}

fn same_start(couplings: &Couplings) -> Entry {
    let points = LENGTHS.map(|t| {
        let fast = first_drive(couplings.dirichlet(t)).v;
        let truth = [fast[1], couplings.v_by_distances(t, 2)[0]];
        Point::of_length(t, fast[0], truth)
    });
    let gap = |t: usize| {
        let v = &first_drive(couplings.dirichlet(t)).v;
        v[0] - v[1]
    };
    Claim::new("second-step.same-start")
        .number("lead of v_1 over v_2 at t = 512, over η (c + c′)", gap(512))
        .number("D", constant_d())
        .leading(0.0, points)
}

/// E[((b−1)²(a−½) + (a−1)²(b−½))/(λ−1)²]
fn v1_integrand(q: Chain) -> f64 {
    let (a, b) = (q.a, q.b);
    ((b - 1.0).powi(2) * (a - 0.5) + (a - 1.0).powi(2) * (b - 0.5)) / (q.lambda() - 1.0).powi(2)
}

fn constant_v1() -> Entry {
    Claim::new("second-step.constant-v1").equality([Point::new(
        &[],
        (1.0 - LN_2) / 3.0,
        average(12, v1_integrand),
    )])
}

/// The two terms of the constant for j = 2.
fn v2_integrand(q: Chain) -> f64 {
    let (a, b, down) = (q.a, q.b, (q.a + q.b - 2.0).powi(3));
    4.0 * (a - 1.0) * (b - 1.0).powi(2) * (a - 0.5) / down * (a + b - 1.0)
        + 2.0 * (b - a) * (b - 1.0).powi(2) * (a - 0.5) / down
}

/// The constant for j = 2 as printed, and with the sign of its second term flipped.
fn v2_values() -> [f64; 2] {
    let first = (7.0 - 10.0 * LN_2) / 2.0;
    [
        first + (5.0 - 8.0 * LN_2) / 6.0,
        first + (8.0 * LN_2 - 5.0) / 6.0,
    ]
}

fn constant_v2() -> Entry {
    let [printed, corrected] = v2_values();
    Claim::new("second-step.constant-v2").equality([Point::new(
        &[],
        printed,
        average(13, v2_integrand),
    )
    .corrected(corrected)])
}

fn larger() -> Entry {
    let [printed, corrected] = v2_values();
    let v1 = average(12, v1_integrand);
    Claim::new("second-step.larger")
        .number("constant of v_1", v1[0])
        .number("constant of v_2", corrected)
        .statement([Point::new(&[], printed - v1[0], v1).corrected(corrected - v1[0])])
}

/// E[(a−1)(b−1)²(a−½)/(a+b−2)³ λ^{j−1}] for j = 1, 2, …, by both rules.
struct Pattern {
    terms: Vec<[f64; 2]>,
}

impl Pattern {
    fn new() -> Self {
        let term = |j: i32| {
            average(80, |q: Chain| {
                let down = (q.a + q.b - 2.0).powi(3);
                (q.a - 1.0) * (q.b - 1.0).powi(2) * (q.a - 0.5) / down * q.lambda().powi(j - 1)
            })
        };
        Self {
            terms: (1..=64).map(term).collect(),
        }
    }

    fn at(&self, j: usize) -> [f64; 2] {
        self.terms[j - 1]
    }
}

fn odd_is_negative(pattern: &Pattern) -> Entry {
    let points = (1..=63).step_by(2).map(|j| {
        let truth = pattern.at(j);
        Point::new(&[("j", j as f64)], -truth[0], truth).inside(j >= 3)
    });
    let line = (1..=64).map(|j| (j as f64, pattern.at(j)[0])).collect();
    Claim::new("second-step.odd-negative")
        .line("moment against j", "j", line)
        .number("at j = 1", pattern.at(1)[0])
        .number("at j = 3", pattern.at(3)[0])
        .statement(points)
}

fn even_falls(pattern: &Pattern) -> Entry {
    let points = (2..=62).step_by(2).map(|j| {
        let (here, next) = (pattern.at(j), pattern.at(j + 2));
        let truth = [here[0] - next[0], here[1] - next[1]];
        Point::new(&[("j", j as f64)], truth[0], truth)
    });
    Claim::new("second-step.even-falls").statement(points)
}

/// The relative difference of v_2 and v_1 after two steps, from the numbers of one of the routes.
fn gap(drive: [f64; 2], plain: [f64; 2], diagonal: [f64; 2], eta: f64) -> f64 {
    let v = |j: usize| {
        let (off, on) = (1.0 + eta * drive[1], 1.0 + eta * drive[0]);
        1.0 + eta * plain[j] + eta * (off * plain[j] + (on - off) * diagonal[j])
    };
    (v(1) - v(0)) / (v(1) + v(0))
}

fn dominant(couplings: &Couplings) -> Entry {
    let (mut points, mut thresholds) = (Vec::new(), Vec::new());
    for t in [4, 8, 16, 32].into_iter().chain(LENGTHS) {
        let coupling = couplings.dirichlet(t);
        let from = v2_threshold(coupling);
        thresholds.extend(from.map(|eta| (t as f64, eta)));
        for factor in [0.1, 0.9, 1.1, 10.0] {
            let eta = factor * from.unwrap_or(1.0);
            let (first, diagonal) = (first_drive(coupling), diagonal_drive(coupling));
            let fast = gap(
                [first.w_k[0], first.w_k[1]],
                [first.v[0], first.v[1]],
                [diagonal[0], diagonal[1]],
                eta,
            );
            let [v1, v2] = [1, 2].map(|j| couplings.v_by_distances(t, j));
            let slow = gap(
                couplings.w_by_distances(t),
                [v1[0], v2[0]],
                [v1[1], v2[1]],
                eta,
            );
            let at = [("t", t as f64), ("η", eta)];
            let inside = from.is_some_and(|from| eta > from);
            points.push(Point::new(&at, lead_of_v2(coupling, eta), [fast, slow]).inside(inside));
        }
    }
    let fresh = |t: usize| Coupling::of_prior(&dirichlet(), t).expect("known");
    let shortest = (2..=16)
        .find(|&t| v2_threshold(&fresh(t)).is_some())
        .unwrap_or(0);
    let hundred = v2_threshold(couplings.dirichlet(100)).unwrap_or(f64::NAN);
    let [diagonal, off_diagonal] = leading_constants();
    let limit =
        24.0 * constant_d() / ((diagonal - off_diagonal) * (v2_values()[1] - (1.0 - LN_2) / 3.0));
    let scaled = thresholds
        .last()
        .map_or(f64::NAN, |&(t, eta)| eta * t.powi(3));
    Claim::new("second-step.dominant")
    .condition(format!(
        "t ≥ {shortest} and η > η*(t), which falls like {limit:.0}/t³ and is {hundred:.5} at t = 100"
    ))
    .line("threshold η*", "t", thresholds)
    .number("shortest t with a threshold", shortest as f64)
    .number("η* at t = 100", hundred)
    .number("η* t³ at t = 512", scaled)
    .number("24 D/((B−A)(K₂−K₁)), its limit", limit)
    .number("t above which η = 1/t², as in the Proposition's first step, is enough", limit)
    .statement(points)
}

fn even_over_odd(couplings: &Couplings) -> Entry {
    let t = 100;
    let fast = diagonal_drive(couplings.dirichlet(t));
    let js: Vec<usize> = (1..=31).collect();
    let slow = super::truth::averages_by_distances(t, &js);
    let peak = |v: &dyn Fn(usize) -> f64, j: usize| v(j) - v(j - 1).max(v(j + 1));
    let last = (1..=49)
        .map(|half| 2 * half)
        .take_while(|&j| peak(&|j| fast[j - 1], j) > 0.0)
        .last()
        .unwrap_or(0);
    let points = (1..=15).map(|half| {
        let j = 2 * half;
        let truth = [peak(&|j| fast[j - 1], j), peak(&|j| slow[2 * j + 1], j)];
        Point::new(&[("t", t as f64), ("j", j as f64)], truth[0], truth).inside(j <= last)
    });
    let profile = (1..).map(f64::from).zip(fast.iter().copied()).collect();
    Claim::new("second-step.even-over-odd")
    .condition(format!(
        "j ≤ {last} at t = 100: beyond that, the fall of (t−j+1)(t−j+2) from one lag to the next outweighs \
         the moments of λ"
    ))
    .line("diagonal contribution to v_j, t = 100", "j", profile)
    .statement(points)
}

/// How close all ratios of successive terms must be to the first for the series to count as geometric.
const SAME_RATIO: f64 = 0.05;

fn geometric(pattern: &Pattern) -> Entry {
    let ratio = |j: usize| [0, 1].map(|route| pattern.at(j + 2)[route] / pattern.at(j)[route]);
    let first = ratio(2);
    let points = (2..=62).step_by(2).map(|j| {
        let here = ratio(j);
        Point::new(
            &[("j", j as f64)],
            SAME_RATIO - (here[0] - first[0]).abs(),
            here,
        )
    });
    let order = (pattern.at(64)[0] / pattern.at(32)[0]).log2();
    let of_odd = (pattern.at(63)[0] / pattern.at(31)[0]).ln() / (63.0_f64 / 31.0).ln();
    let ratios = (2..=62)
        .step_by(2)
        .map(|j| (j as f64, ratio(j)[0]))
        .collect();
    Claim::new("second-step.geometric")
        .line("ratio of successive even terms", "j", ratios)
        .number("power of j along even j", order)
        .number("power of j along odd j", of_odd)
        .number("first ratio", first[0])
        .number("last ratio", ratio(62)[0])
        .statement(points)
}
