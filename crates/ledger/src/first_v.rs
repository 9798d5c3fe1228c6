//! Appendix A, first step: the gradient of v, its leading order and constant.

use std::f64::consts::LN_2;

use induct::theory::Weights;

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::printed::{CHAINS, Chain, v_step_1};
use super::truth::{
    Couplings, LENGTHS, average, averages_by_distances, expect, first_drive, gradients, on_chains,
    one_if,
};

/// The constant start.
const C: f64 = 0.02;

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    vec![
        v_logit(),
        v_target(),
        v_index(),
        v(),
        leading_v(couplings),
        constant_v(),
        v_falls(couplings),
    ]
}

/// ∂f_{p,i}/∂v_j at W_k = c 11ᵀ for one sequence; `i` may depend on the sequence.
fn v_slope(x: &[usize], p: usize, i: usize, j: usize) -> f64 {
    (j..=p).map(|q| C * one_if(x[q - 1] == i)).sum()
}

fn v_logit() -> Entry {
    let points = on_chains(
        [(1, 1, 1), (4, 1, 2), (6, 3, 1), (6, 6, 2), (3, 5, 1)],
        |chain, (p, j, i)| {
            let left = (p + 1_usize).saturating_sub(j) as f64;
            let counted = expect(chain, p, |x| v_slope(x, p, i - 1, j));
            let walk = |q: usize| {
                chain.pi(1) * chain.walk(q - 1, 1, i) + chain.pi(2) * chain.walk(q - 1, 2, i)
            };
            let walked = C * (j..=p).map(walk).sum::<f64>();
            let at = chain.at([("p", p), ("j", j)]);
            Point::new(&at, C * chain.pi(i) * left, [counted, walked])
        },
    );
    Claim::new("first-step.v-logit").equality(points)
}

fn v_target() -> Entry {
    let points = on_chains([(1, 1), (4, 1), (6, 3), (6, 6)], |chain, (p, j)| {
        let (a, b, lam) = (chain.a, chain.b, chain.lambda());
        let left = (p + 1 - j) as f64;
        let closed = C
            * (2.0 * (a - 1.0) * (b - 1.0) / (lam - 1.0).powi(2)
                * (lam.powi((p + 1 - j) as i32) - 1.0)
                / (1.0 - 1.0 / lam)
                + ((a - 1.0).powi(2) + (b - 1.0).powi(2)) / (lam - 1.0).powi(2) * left);
        let counted = expect(chain, p + 1, |x| v_slope(x, p, x[p], j));
        let walk = |q: usize| -> f64 {
            [1, 2]
                .map(|i| chain.pi(i) * chain.walk(p + 1 - q, i, i))
                .iter()
                .sum()
        };
        let walked = C * (j..=p).map(walk).sum::<f64>();
        let at = chain.at([("p", p), ("j", j)]);
        Point::new(&at, closed, [counted, walked])
    });
    Claim::new("first-step.v-target").equality(points)
}

/// −∂L/∂v_j at the constant start for the chains of the grid.
fn v_points(
    printed: impl Fn(Chain, usize, usize) -> f64,
    corrected: Option<&dyn Fn(Chain, usize, usize) -> f64>,
) -> Vec<Point> {
    let mut points = Vec::new();
    for chain in CHAINS {
        for t in [1, 2, 4, 7] {
            let gradients = gradients(chain, &Weights::constant(2, t, C, C));
            for j in 1..=t {
                let at = chain.at([("t", t), ("j", j)]);
                let truth = gradients.each_ref().map(|g| -g.v[j - 1]);
                let mut point = Point::new(&at, printed(chain, t, j), truth);
                point.corrected = corrected.map(|form| form(chain, t, j));
                points.push(point);
            }
        }
    }
    points
}

fn v_index() -> Entry {
    // 1/t Σ_p (E ∂f_{p,x_{p+1}} − 1/k Σ_i E ∂f_{p,·}), with the i-th symbol of the sequence or the symbol i.
    let update = |chain: Chain, t: usize, j: usize, by_place: bool| {
        expect(chain, t + 1, |x| {
            let each = |p: usize| {
                let mean: f64 = (0..2)
                    .map(|i| v_slope(x, p, if by_place { x[i] } else { i }, j))
                    .sum();
                v_slope(x, p, x[p], j) - 0.5 * mean
            };
            (1..=t).map(each).sum::<f64>() / t as f64
        })
    };
    let corrected = |chain, t, j| update(chain, t, j, false);
    Claim::new("first-step.v-index").equality(v_points(
        |chain, t, j| update(chain, t, j, true),
        Some(&corrected),
    ))
}

fn v() -> Entry {
    Claim::new("first-step.v").equality(v_points(|chain, t, j| v_step_1(chain, C, t, j), None))
}

/// D = E[((a−1)² + (b−1)²)/(λ−1)²] − ½
pub fn constant_d() -> f64 {
    1.5 - 2.0 * LN_2
}

fn leading_v(couplings: &Couplings) -> Entry {
    let points = LENGTHS.map(|t| {
        let n = t as f64;
        let truth = [
            first_drive(couplings.dirichlet(t)).v[1],
            couplings.v_by_distances(t, 2)[0],
        ];
        Point::of_length(t, constant_d() * (n - 1.0) / 2.0, truth)
    });
    Claim::new("first-step.leading-v").leading(0.0, points)
}

fn constant_v() -> Entry {
    let truth = average(12, |q| {
        ((q.a - 1.0).powi(2) + (q.b - 1.0).powi(2)) / (q.lambda() - 1.0).powi(2)
    });
    Claim::new("first-step.constant-v")
        .number("D", constant_d())
        .equality([Point::new(&[], 2.0 - 2.0 * LN_2, truth)])
}

fn v_falls(couplings: &Couplings) -> Entry {
    let mut points = Vec::new();
    for t in [4, 8, 16] {
        let js: Vec<usize> = (1..=t).collect();
        let slow = averages_by_distances(t, &js);
        let fast = first_drive(couplings.dirichlet(t)).v;
        for j in 1..t {
            let falls = |v: &dyn Fn(usize) -> f64| v(j) - v(j + 1);
            let truth = [falls(&|j| fast[j - 1]), falls(&|j| slow[2 * j])];
            points.push(Point::new(
                &[("t", t as f64), ("j", j as f64)],
                truth[0],
                truth,
            ));
        }
    }
    let hundred = first_drive(couplings.dirichlet(100)).v;
    let profile = (1..).map(f64::from).zip(hundred.iter().copied()).collect();
    Claim::new("first-step.v-falls")
        .line("change of v_j over c η, t = 100", "j", profile)
        .statement(points)
}
