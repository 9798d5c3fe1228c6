//! Appendix A, second step: the gradient of v once W_k favours its diagonal, term by term.

use induct::theory::{Coupling, Step, Weights, descend};

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::printed::{CHAINS, Chain, diagonal_v1, diagonal_vj};
use super::truth::{
    Couplings, by_enumeration, diagonal_drive, dirichlet, expect, gradients, on_chains, one_if,
    only,
};

/// c′ and ρ in the checks: W_k = c′ 11ᵀ + (ρ − c′) I.
const OFF: f64 = 0.3;
const ON: f64 = 0.8;

pub fn entries(_: &Couplings) -> Vec<Entry> {
    vec![
        logit(),
        logit_v1(),
        logit_vj(),
        target_general(),
        target_v1(),
        target_vj(),
        scale_of_first(),
        v1_sum(),
        v1_closed(),
        vj_start(),
        vj_closed(),
    ]
}

/// ∂f_{p,i}/∂v_j for one sequence (x is 0-based; p, i and j are the paper's).
fn slope(x: &[usize], p: usize, i: usize, j: usize) -> f64 {
    let weight = |q: usize| if x[q - j] == x[p - 1] { ON } else { OFF };
    (j..=p).map(|q| one_if(x[q - 1] + 1 == i) * weight(q)).sum()
}

/// Cases to check: (p, j, i).
const PLACES: [(usize, usize, usize); 6] = [
    (1, 1, 1),
    (4, 1, 2),
    (5, 2, 1),
    (6, 3, 2),
    (6, 6, 1),
    (7, 4, 2),
];

fn place(chain: Chain, (p, j, i): (usize, usize, usize)) -> Vec<(&'static str, f64)> {
    chain.at([("p", p), ("j", j), ("i", i)])
}

/// E[∂f_{p,i}/∂v_j] by powers of P.
fn logit_by_powers(chain: Chain, (p, j, i): (usize, usize, usize)) -> f64 {
    let mut sum = OFF * chain.pi(i) * (p + 1 - j) as f64;
    for q in j..=p {
        for l in [1, 2] {
            sum += (ON - OFF) * chain.pi(l) * chain.walk(j - 1, l, i) * chain.walk(p - q, i, l);
        }
    }
    sum
}

fn logit() -> Entry {
    let points = on_chains(PLACES, |chain, (p, j, i)| {
        let together = |q: usize| {
            expect(chain, p, |x| {
                one_if(x[q - 1] + 1 == i && x[q - j] == x[p - 1])
            })
        };
        let printed = OFF * chain.pi(i) * (p + 1 - j) as f64
            + (ON - OFF) * (j..=p).map(together).sum::<f64>();
        let counted = expect(chain, p, |x| slope(x, p, i, j));
        let truth = [counted, logit_by_powers(chain, (p, j, i))];
        Point::new(&place(chain, (p, j, i)), printed, truth)
    });
    Claim::new("second-step.logit").equality(points)
}

fn logit_v1() -> Entry {
    let points = on_chains([(1, 1), (4, 2), (7, 1)], |chain, (p, i)| {
        let lam = chain.lambda();
        let n = p as f64;
        let closed = OFF * chain.pi(i) * n
            + (ON - OFF) * chain.pi(i) / (lam - 1.0)
                * (n * chain.gamma(i, i)
                    + chain.beta(i, i) * (lam.powi(p as i32) - 1.0) / (lam - 1.0));
        let counted = expect(chain, p, |x| slope(x, p, i, 1));
        let truth = [counted, logit_by_powers(chain, (p, 1, i))];
        Point::new(&place(chain, (p, 1, i)), closed, truth)
    });
    Claim::new("second-step.logit-v1").equality(points)
}

/// The bracket that the derivatives of a logit and of the correct logit by v_j share.
fn bracket(chain: Chain, p: usize, j: usize, i: usize, l: usize) -> f64 {
    let (lam, left) = (chain.lambda(), (p + 1 - j) as f64);
    let power = |n: usize| lam.powi(n as i32);
    chain.beta(i, l) * chain.beta(l, i) * (power(p) - power(j - 1)) / (lam - 1.0)
        + chain.beta(i, l) * chain.gamma(l, i) * (power(p + 1 - j) - 1.0) / (lam - 1.0)
        + left
            * (chain.gamma(i, l) * chain.beta(l, i) * power(j - 1)
                + chain.gamma(i, l) * chain.gamma(l, i))
}

fn logit_vj() -> Entry {
    let points = on_chains(
        PLACES.into_iter().filter(|&(_, j, _)| j >= 2),
        |chain, (p, j, i)| {
            let sum: f64 = [1, 2]
                .map(|l| chain.pi(l) * bracket(chain, p, j, i, l))
                .iter()
                .sum();
            let right = OFF * chain.pi(i) * (p + 1 - j) as f64
                + (ON - OFF) / (chain.lambda() - 1.0).powi(2) * sum;
            let by_powers = logit_by_powers(chain, (p, j, i));
            // The right side is correct; on the left is the derivative by v_1, or by v_j.
            let left = |j| expect(chain, p, |x| slope(x, p, i, j));
            let point = Point::new(&place(chain, (p, j, i)), left(1), [right, by_powers]);
            point.corrected(left(j))
        },
    );
    Claim::new("second-step.logit-vj").equality(points)
}

/// Σ_{t′=j}^p Pr[x_t′ = x_{p+1}, x_{t′−j+1} = x_p]: counted, and by powers of P.
fn target(chain: Chain, p: usize, j: usize) -> [f64; 2] {
    let counted = expect(chain, p + 1, |x| {
        (j..=p)
            .map(|q| one_if(x[q - 1] == x[p] && x[q - j] == x[p - 1]))
            .sum()
    });
    let mut walked = 0.0;
    for q in j..=p {
        for (i, l) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            walked +=
                chain.p(l, i) * chain.pi(l) * chain.walk(j - 1, l, i) * chain.walk(p - q, i, l);
        }
    }
    [counted, walked]
}

fn target_general() -> Entry {
    let points = on_chains([(1, 1), (5, 1), (6, 2), (7, 4)], |chain, (p, j)| {
        let same = |q: usize| -> f64 {
            [1, 2]
                .map(|i| chain.pi(i) * chain.walk(p + 1 - q, i, i))
                .iter()
                .sum()
        };
        let [together, by_powers] = target(chain, p, j);
        let plain: f64 = (j..=p).map(same).sum();
        let counted = expect(chain, p + 1, |x| slope(x, p, x[p] + 1, j));
        let again = expect(chain, p + 1, |x| {
            (j..=p).map(|q| one_if(x[q - 1] == x[p])).sum()
        });
        let at = chain.at([("p", p), ("j", j)]);
        let printed = OFF * plain + (ON - OFF) * by_powers;
        Point::new(&at, printed, [counted, OFF * again + (ON - OFF) * together])
    });
    Claim::new("second-step.target").equality(points)
}

fn target_v1() -> Entry {
    let points = on_chains([1, 3, 7], |chain, p| {
        let lam = chain.lambda();
        let each = |i: usize| {
            let sum = chain.beta(i, i) * (lam.powi(p as i32) - 1.0) / (lam - 1.0)
                + chain.gamma(i, i) * p as f64;
            chain.pi(i) * chain.p(i, i) / (lam - 1.0) * sum
        };
        let at = chain.at([("p", p)]);
        Point::new(&at, each(1) + each(2), target(chain, p, 1))
    });
    Claim::new("second-step.target-v1").equality(points)
}

fn target_vj() -> Entry {
    let points = on_chains([(2, 2), (5, 2), (6, 3), (7, 4), (6, 6)], |chain, (p, j)| {
        let mut sum = 0.0;
        for (i, l) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            sum += chain.pi(l) * chain.p(l, i) * bracket(chain, p, j, i, l);
        }
        let at = chain.at([("p", p), ("j", j)]);
        let printed = sum / (chain.lambda() - 1.0).powi(2);
        Point::new(&at, printed, target(chain, p, j))
    });
    Claim::new("second-step.target-vj").equality(points)
}

/// W_k = off 11ᵀ + (on − off) I, v = 0.
fn leaning(t: usize, off: f64, on: f64) -> Weights {
    Weights {
        w_k: vec![on, off, off, on],
        v: vec![0.0; t],
    }
}

fn scale_of_first() -> Entry {
    // c in the first step, where ∂L⁰/∂v is taken at W_k = c 11ᵀ.
    const C: f64 = 0.02;
    let mut points = Vec::new();
    for chain in CHAINS {
        let t = 6;
        let coupling = Coupling::of_prior(&only(chain), t).expect("one chain");
        let gradients = gradients(chain, &leaning(t, OFF, ON));
        let first = coupling.gradient(&Weights::constant(2, t, C, C)).v;
        let diagonal = diagonal_drive(&coupling);
        for j in 1..=t {
            let with = |scale: f64| -scale * first[j - 1] + (ON - OFF) * diagonal[j - 1];
            let at = chain.at([("t", t), ("j", j)]);
            let truth = gradients.each_ref().map(|g| -g.v[j - 1]);
            let point = Point::new(&at, with(OFF), truth);
            points.push(point.corrected(with(OFF / C)));
        }
    }
    Claim::new("second-step.scale-of-first").equality(points)
}

/// −∂L/∂v_j at W_k = I for the chains of the grid, by recursion and over all sequences.
fn diagonal_points(
    js: impl Fn(usize) -> std::ops::RangeInclusive<usize>,
    forms: impl Fn(Chain, usize, usize) -> [f64; 2],
) -> Vec<Point> {
    let mut points = Vec::new();
    for chain in CHAINS {
        for t in [2, 4, 7] {
            let gradients = gradients(chain, &leaning(t, 0.0, 1.0));
            for j in js(t) {
                let [printed, corrected] = forms(chain, t, j);
                let at = chain.at([("t", t), ("j", j)]);
                let truth = gradients.each_ref().map(|g| -g.v[j - 1]);
                let point = Point::new(&at, printed, truth);
                points.push(point.corrected(corrected));
            }
        }
    }
    points
}

fn v1_sum() -> Entry {
    let sum = |chain: Chain, t: usize, _: usize| {
        let lam = chain.lambda();
        let mut sum = 0.0;
        for p in 1..=t {
            for i in [1, 2] {
                sum += (chain.p(i, i) - 0.5) * chain.pi(i) / (lam - 1.0)
                    * (chain.beta(i, i) * (lam.powi(p as i32) - 1.0) / (lam - 1.0)
                        + chain.gamma(i, i) * p as f64);
            }
        }
        [sum / t as f64; 2]
    };
    Claim::new("second-step.v1-sum").equality(diagonal_points(|_| 1..=1, sum))
}

fn v1_closed() -> Entry {
    let forms = |chain, t, _| [false, true].map(|mended| diagonal_v1(chain, t, mended) / t as f64);
    Claim::new("second-step.v1-closed").equality(diagonal_points(|_| 1..=1, forms))
}

fn vj_closed() -> Entry {
    let forms =
        |chain, t, j| [false, true].map(|mended| diagonal_vj(chain, t, j, mended) / t as f64);
    Claim::new("second-step.vj-closed").equality(diagonal_points(|t| 2..=t, forms))
}

fn vj_start() -> Entry {
    let (t, c, eta) = (7, 0.02, 0.5);
    let start = Weights::constant(2, t, c, c);
    let coupling = Coupling::of_prior(&dirichlet(), t).expect("known");
    let path = descend(&start, &[Step::new(&coupling, eta); 2]).expect("valid steps");
    let first = start.plus(-eta, &by_enumeration(&dirichlet(), &start));
    let second = first.plus(-eta, &by_enumeration(&dirichlet(), &first));
    let points = (2..=t).map(|j| {
        let change = path[1].v[j - 1] - path[0].v[j - 1];
        Point::new(
            &[("t", t as f64), ("j", j as f64)],
            path[0].v[0] + change,
            [path[1].v[j - 1], second.v[j - 1]],
        )
        .corrected(path[0].v[j - 1] + change)
    });
    Claim::new("second-step.vj-start").equality(points)
}
