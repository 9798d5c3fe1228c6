//! Appendix A, first step: the gradient of W_k, its leading order and constants.

use std::f64::consts::LN_2;

use induct::theory::{Coupling, Weights};

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::printed::{CHAINS, Chain, wk_case, wk_step_1};
use super::truth::{
    Couplings, GRADIENT, LENGTHS, average, by_enumeration, dirichlet, expect, first_drive,
    gradients, one_if, only,
};

const SECTION: &str = "Appendix A, first step";
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
    Claim::new(
        "first-step.loss-gradient",
        (SECTION, "eq. loss_grad_wk and the elements of the gradient"),
        "In the linear region, the loss depends only on the mean of the logits minus the correct one.",
        "∇_(W_k) E[L|P] = 1/t Σ_(p=1)^t [1/k Σ_(i=1)^k E[∇ f_(p,i)] − E[∇ f_(p,x_(p+1))]]",
        GRADIENT,
    )
    .equality(w_points(printed, None))
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
    Claim::new(
        "first-step.joint",
        (SECTION, "eq. gd_W_1"),
        "The gradient of W_k as a triple sum over powers of P, from the Markov property and the stationary \
         start.",
        "−∇_(W_k) E[L|P] = c/t Σ_(i=1)^k (P_mi − 1/k) Σ_(p=1)^t Σ_(t′=1)^p Σ_(s=1)^(t′) (P^(p−t′))_im \
         (P^(t′−s))_li π_l",
        GRADIENT,
    )
    .equality(w_points(printed, None))
}

fn wk() -> Entry {
    Claim::new(
        "first-step.wk",
        (SECTION, "eq. Wk_step1"),
        "The gradient of W_k with the four sums inserted.",
        "−∇_(W_k) E[L|P] = (c π_l (P_m1 − 1/2))/(t (λ−1)^2) [(β_1m β_l1 − β_2m β_l2)/(λ−1) (I) + (β_1m γ_l1 \
         − β_2m γ_l2)/(λ−1)^2 (II) + (β_l1 γ_1m − β_l2 γ_2m)/(λ−1) (III) + (γ_1m γ_l1 − γ_2m γ_l2) (IV)]",
        GRADIENT,
    )
    .equality(w_points(|chain, t, m, l| wk_step_1(chain, C, t, m, l), None))
}

fn wk_cases(m: usize, l: usize) -> Entry {
    let (id, at, formula) = match (m, l) {
        (1, 1) => (
            "first-step.w11",
            "eq. Wk_11",
            "((b−1)(a−1/2))/(λ−1)^3 [((a−1)(a−b))/(λ−1) (I) + (2(a−1)(b−1))/(λ−1)^2 (II) + \
             (2(a−1)(b−1))/(λ−1) (III) + (b−1)(b−a) (IV)]",
        ),
        (1, 2) => (
            "first-step.w12",
            "eq. Wk_12",
            "((a−1)(a−1/2))/(λ−1)^3 [((1−b)(a−b))/(λ−1) (I) + (2(a−1)(b−1))/(λ−1)^2 (II) − (2(b−1)^2)/(λ−1) \
             (III) + (b−1)(b−a) (IV)]",
        ),
        (2, 1) => (
            "first-step.w21",
            "case m, l = 2, 1",
            "((b−1)(1/2−b))/(λ−1)^3 [((1−a)(a−b))/(λ−1) (I) − (2(a−1)(b−1))/(λ−1)^2 (II) + (2(a−1)^2)/(λ−1) \
             (III) + (a−1)(b−a) (IV)]",
        ),
        _ => (
            "first-step.w22",
            "case m, l = 2, 2",
            "((a−1)(1/2−b))/(λ−1)^3 [((b−1)(a−b))/(λ−1) (I) − (2(a−1)(b−1))/(λ−1)^2 (II) − \
             (2(a−1)(b−1))/(λ−1) (III) + (a−1)(b−a) (IV)]",
        ),
    };
    let printed = |chain, t, m, l| wk_case(chain, C, t, m, l);
    Claim::new(
        id,
        (SECTION, at),
        "One entry of W_k after the first step, for one chain: the coefficient of η c/t.",
        formula,
        GRADIENT,
    )
    .equality(w_points(printed, Some((m, l))))
}

/// Averaged gradients at v = 1 by both routes, at lengths short enough to sum over all sequences.
fn averaged(couplings: &Couplings, printed: usize, truth: usize) -> Vec<Point> {
    let short = [2, 3, 7].map(|t| {
        let ones = Weights::constant(2, t, 1.0, 1.0);
        let slow = by_enumeration(&dirichlet(), &ones);
        let fast = first_drive(couplings.dirichlet(t));
        Point::new(
            &[("t", t as f64)],
            fast.w_k[printed],
            [fast.w_k[truth], -slow.w_k[truth]],
        )
    });
    short.to_vec()
}

const AVERAGED: [&str; 2] = ["recursion over t, exact rule", "all sequences"];

fn symmetry(couplings: &Couplings) -> Entry {
    let one = Coupling::of_prior(&only(CHAINS[0]), 7).expect("one chain");
    let single = first_drive(&one);
    Claim::new(
        "first-step.symmetric",
        (SECTION, "after the four cases"),
        "The average over chains makes W_k symmetric, since it is invariant under exchange of the symbols.",
        "W_21^((1)) = W_12^((1))",
        AVERAGED,
    )
    .number("W_12 − W_21 of one chain (a = 0.3, b = 0.9, t = 7)", single.w_k[1] - single.w_k[2])
    .equality(averaged(couplings, 2, 1))
}

fn equal_diagonal(couplings: &Couplings) -> Entry {
    Claim::new(
        "first-step.equal-diagonal",
        (SECTION, "after the four cases"),
        "The average over chains makes the diagonal of W_k constant.",
        "W_11^((1)) = W_22^((1))",
        AVERAGED,
    )
    .equality(averaged(couplings, 3, 0))
}

/// (ln 256 − 5)/12 and (7 − 10 ln 2)/6.
pub fn leading_constants() -> [f64; 2] {
    [(8.0 * LN_2 - 5.0) / 12.0, (7.0 - 10.0 * LN_2) / 6.0]
}

pub const ASYMPTOTIC: [&str; 2] = [
    "recursion over t, exact rule",
    "eigenvalue and distances, rules on panels",
];

fn leading_w(couplings: &Couplings, column: usize) -> Entry {
    let constant = leading_constants()[column - 1];
    let points = LENGTHS.map(|t| {
        let n = t as f64;
        let fast = first_drive(couplings.dirichlet(t)).w_k[column - 1];
        let slow = couplings.w_by_distances(t)[column - 1];
        Point::new(
            &[("t", n)],
            constant * (n + 1.0) * (n + 2.0) / 6.0,
            [fast, slow],
        )
    });
    let (id, formula) = match column {
        1 => (
            "first-step.leading-diagonal",
            "W_11^((1)) = c + c η B ((t+1)(t+2))/6 + O(t), B = (ln 256 − 5)/12",
        ),
        _ => (
            "first-step.leading-off-diagonal",
            "W_12^((1)) = c + c η A ((t+1)(t+2))/6 + O(t), A = (7 − 10 ln 2)/6",
        ),
    };
    Claim::new(
        id,
        (SECTION, "eq. Wk_1st_step, and the Lemma"),
        "The leading order of W_k after the first step, with its constant inserted (change divided by c η).",
        formula,
        ASYMPTOTIC,
    )
    .leading(1.0, points)
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
    Claim::new(
        "first-step.constant-diagonal",
        (SECTION, "the calculation after eq. Wk_1st_step"),
        "The constant of the diagonal, B, in its three forms.",
        "E[(π_1 π_1)/(λ−1) (b−a) (P_11 − 1/2)] = (ln 256 − 5)/12 ≈ 0.045",
        INTEGRALS,
    )
    .number("B", printed)
    .equality(points)
}

pub const INTEGRALS: [&str; 2] = ["exact rule in s and w", "rules on panels in a and b"];

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
    Claim::new(
        "first-step.constant-off-diagonal",
        (SECTION, "the calculation after eq. Wk_1st_step"),
        "The constant off the diagonal, A, in its three forms.",
        "E[(π_1 π_2)/(λ−1) (b−a) (P_11 − 1/2)] = (7 − 10 ln 2)/6 ≈ 0.011",
        INTEGRALS,
    )
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
    Claim::new(
        "first-step.positive",
        ("Section 3.2 and Appendix A, Lemma", "“A, B, D > 0”"),
        "The constants of the Lemma are positive.",
        "A, B, D > 0",
        INTEGRALS,
    )
    .statement(points)
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
        Point::new(&[("t", t as f64)], near(truth[0]), truth).inside(t >= high)
    });
    let [diagonal, off_diagonal] = leading_constants();
    let curve = (2..=10).map(|power| 1 << power).map(|t| (t as f64, at(t)));
    Claim::new(
        "first-step.ratio",
        (
            "Section 3.2, Lemma, and Appendix A",
            "“B ≈ 4A (diagonal bias)”",
        ),
        "The diagonal of W_k grows four times as much as the other entries (here: within 5 %).",
        "B ≈ 4 A",
        ASYMPTOTIC,
    )
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
