//! Appendix A, the Proposition: whether two steps lead to a bigram predictor, judged by its weights and by
//! its decisions.

use induct::theory::Weights;

use super::Entry;
use super::decisions::{Decisions, decisions};
use super::evidence::Point;
use super::judge::Claim;
use super::proposition::{POWER_TOLERANCE, V, diagonal_part, mean, power_of_width, two_steps};
use super::truth::{Couplings, dirichlet, symmetric, v_by_distances, w_by_distances};

const SEQUENCES: usize = 2000;
pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    vec![
        v_order(),
        coefficient(couplings),
        remainder(couplings),
        reaches_bigrams(couplings),
    ]
}

fn v_order() -> Entry {
    let t = 512;
    let points = [2, 4].map(|j| {
        let truth = [0, 1].map(|route| {
            power_of_width(|epsilon| {
                // The part that remains as t → ∞: subtract an odd neighbour, which is O(1/t).
                let [here, next] = [j, j + 1].map(|j| diagonal_part(epsilon, t, j, route));
                here - next
            })
        });
        Point::new(&[("j", j as f64)], j as f64 + 1.0, truth).corrected(j as f64)
    });
    Claim::new("proposition.v-order")
        .tolerance(POWER_TOLERANCE)
        .equality(points)
}

/// The weights after both steps by the second route: W_11 and v.
fn second_by_distances(
    couplings: &Couplings,
    t: usize,
    epsilon: f64,
    w_init: f64,
) -> (f64, Vec<f64>) {
    let [first, _] = two_steps(couplings, t, epsilon, w_init);
    let (on, off) = (first.w_k[0], first.w_k[1]);
    let w_11 = mean(epsilon, |chain| w_by_distances(chain, t, 1, 1)) * V / t as f64;
    let v = (1..=t).map(|j| {
        let by = |route: usize| mean(epsilon, |chain| v_by_distances(chain, t, j)[route]);
        (off * by(0) + (on - off) * by(1)) / t as f64
    });
    (w_11, v.collect())
}

const LONG: usize = 64;

fn coefficient(couplings: &Couplings) -> Entry {
    let fast = power_of_width(|epsilon| {
        let [_, second] = two_steps(couplings, LONG, epsilon, 0.0);
        second.w_k[0] * (second.v[1] - second.v[2])
    });
    let slow = power_of_width(|epsilon| {
        let (w_11, v) = second_by_distances(couplings, LONG, epsilon, 0.0);
        w_11 * (v[1] - v[2])
    });
    Claim::new("proposition.coefficient")
        .tolerance(POWER_TOLERANCE)
        .equality([Point::new(&[("t", LONG as f64)], 4.0, [fast, slow])])
}

fn remainder(couplings: &Couplings) -> Entry {
    let rest = |v: &[f64]| v.iter().sum::<f64>() - v[1];
    let points = [0.0, 0.02].map(|w_init| {
        let fast = power_of_width(|epsilon| {
            let [_, second] = two_steps(couplings, LONG, epsilon, w_init);
            second.w_k[0] * rest(&second.v)
        });
        let slow = power_of_width(|epsilon| {
            let (w_11, v) = second_by_distances(couplings, LONG, epsilon, w_init);
            w_11 * rest(&v)
        });
        Point::new(&[("w_init", w_init), ("t", LONG as f64)], 6.0, [fast, slow])
    });
    let share = |t: usize, w_init: f64| {
        let [_, second] = two_steps(couplings, t, 0.2, w_init);
        rest(&second.v) / second.v[1]
    };
    let line = |w_init: f64| {
        [32, 64, 128, 256, 512]
            .map(|t| (t as f64, share(t, w_init)))
            .to_vec()
    };
    Claim::new("proposition.remainder")
        .tolerance(POWER_TOLERANCE)
        .line(
            "all other lags over v_2, ε = 0.2, w_init = 0",
            "t",
            line(0.0),
        )
        .line(
            "all other lags over v_2, ε = 0.2, w_init = v_init",
            "t",
            line(V),
        )
        .number(
            "all other lags over v_2 at t = 512, ε = 0.2, w_init = 0",
            share(512, 0.0),
        )
        .number("the same with w_init = v_init", share(512, V))
        .equality(points)
}

/// How far behind bigrams the model may be and still count as having reached them.
const REACHED: f64 = 0.02;

/// Starts of the two steps: w_init, and whether the second step's decay spares v.
const STARTS: [(f64, bool, &str); 3] = [
    (V, false, "w_init = v_init"),
    (0.0, false, "w_init = 0"),
    (0.0, true, "w_init = 0, v not decayed"),
];

/// The weights after both steps.
fn after(couplings: &Couplings, t: usize, epsilon: f64, w_init: f64, spare_v: bool) -> Weights {
    let [first, mut second] = two_steps(couplings, t, epsilon, w_init);
    if spare_v {
        let kept = second.v.iter().zip(&first.v).map(|(new, old)| new + old);
        second.v = kept.collect();
    }
    second
}

fn reaches_bigrams(couplings: &Couplings) -> Entry {
    let decide = |prior: &_, weights: &_| -> Decisions { decisions(prior, weights, SEQUENCES, 7) };
    let (mut points, mut lines, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for epsilon in [0.1, 0.2, 0.4] {
        let mut counting = Vec::new();
        for (start, (w_init, spare_v, name)) in (1..).zip(STARTS) {
            let mut line = Vec::new();
            for t in [32, 128, 256] {
                let weights = after(couplings, t, epsilon, w_init, spare_v);
                let found = decide(&symmetric(epsilon), &weights);
                let at = [("ε", epsilon), ("start", f64::from(start)), ("t", t as f64)];
                let margin = found.model.mean - found.bigrams.mean + REACHED;
                points.push(Point::new(&at, margin, [found.model.mean, found.by_sum]));
                line.push((t as f64, found.model.mean));
                if start == 1 {
                    counting.push((t as f64, found.bigrams.mean));
                }
            }
            numbers.push((
                format!("right at t = 256, ε = {epsilon}, {name}"),
                line[2].1,
            ));
            lines.push((format!("two steps, ε = {epsilon}, {name}"), "t", line));
        }
        numbers.push((
            format!("right at t = 256, ε = {epsilon}, bigrams"),
            counting[2].1,
        ));
        lines.push((format!("bigrams, ε = {epsilon}"), "t", counting));
    }
    let (t, epsilon) = (128, 0.2);
    let by_start = [0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0].map(|ratio| {
        let weights = after(couplings, t, epsilon, ratio * V, false);
        (ratio, decide(&symmetric(epsilon), &weights).model.mean)
    });
    lines.push((
        format!("two steps, ε = {epsilon}, t = {t}"),
        "w_init / v_init",
        by_start.to_vec(),
    ));
    for (w_init, spare_v, name) in STARTS {
        let found = decide(&dirichlet(), &after(couplings, t, epsilon, w_init, spare_v));
        numbers.push((
            format!("right on a, b ~ U(0, 1) at t = {t}, ε = {epsilon}, {name}"),
            found.model.mean,
        ));
        numbers.push((format!("the same, bigrams ({name})"), found.bigrams.mean));
    }
    let mut claim = Claim::new("proposition.reaches-bigrams").tolerance(0.01);
    for (name, x, points) in lines {
        claim = claim.line(name, x, points);
    }
    for (name, value) in numbers {
        claim = claim.number(name, value);
    }
    claim.statement(points)
}
