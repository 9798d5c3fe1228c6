//! Appendix A, first step: powers of P, the stationary distribution, and the sums (A) to (D).

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::printed::{CHAINS, Chain, term_1, term_2, term_3, term_4};
use super::truth::{Couplings, expect, one_if};

pub fn entries(_: &Couplings) -> Vec<Entry> {
    vec![
        powers_by_eigenvectors(),
        powers_by_entries(),
        stationary(),
        eigenvalue(),
        split(),
        sum_a(),
        sum_b(),
        sum_c(),
        sum_d(),
    ]
}

/// (P^n)_ij: by multiplication, and as the share of sequences from i that end in j.
fn walks(point: impl Fn(Chain, usize, usize, usize) -> f64) -> Vec<Point> {
    let mut points = Vec::new();
    for chain in CHAINS {
        for n in [0, 1, 2, 5, 9] {
            for (i, j) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                let at = chain.at([("n", n), ("i", i), ("j", j)]);
                let both = |x: &[usize]| one_if(x[0] + 1 == i && x[n] + 1 == j);
                let counted = expect(chain, n + 1, both) / chain.pi(i);
                let truth = [chain.walk(n, i, j), counted];
                points.push(Point::new(&at, point(chain, n, i, j), truth));
            }
        }
    }
    points
}

fn powers_by_eigenvectors() -> Entry {
    let product = |chain: Chain, n: usize, i: usize, j: usize| {
        let (a, b) = (chain.a, chain.b);
        let left = [[1.0, (1.0 - a) / (b - 1.0)], [1.0, 1.0]];
        let values = [1.0, (a + b - 1.0).powi(n as i32)];
        let right = [[b - 1.0, a - 1.0], [1.0 - b, b - 1.0]];
        let sum: f64 = (0..2)
            .map(|e| left[i - 1][e] * values[e] * right[e][j - 1])
            .sum();
        sum / (a + b - 2.0)
    };
    Claim::new("chain.powers-by-eigenvectors").equality(walks(product))
}

fn powers_by_entries() -> Entry {
    let entry = |chain: Chain, n: usize, i: usize, j: usize| {
        let lam = chain.lambda();
        (chain.beta(i, j) * lam.powi(n as i32) + chain.gamma(i, j)) / (lam - 1.0)
    };
    Claim::new("chain.powers-by-entries").equality(walks(entry))
}

/// Points for π_1 and π_2 of every chain of the grid.
fn components(point: impl Fn(Chain, usize) -> Point) -> Vec<Point> {
    let each = |chain: Chain| [point(chain, 1), point(chain, 2)];
    CHAINS.into_iter().flat_map(each).collect()
}

fn stationary() -> Entry {
    let points = components(|chain, i| {
        let balanced = chain.p(3 - i, i) / (chain.p(1, 2) + chain.p(2, 1));
        let at = chain.at([("i", i)]);
        Point::new(&at, chain.pi(i), [balanced, chain.walk(4000, 1, i)])
    });
    Claim::new("chain.stationary").equality(points)
}

fn eigenvalue() -> Entry {
    // π P = μ π: each component with the printed μ and with μ = 1.
    let points = components(|chain, i| {
        let after = chain.pi(1) * chain.p(1, i) + chain.pi(2) * chain.p(2, i);
        let counted = expect(chain, 2, |x| one_if(x[1] + 1 == i));
        let at = chain.at([("i", i)]);
        Point::new(&at, chain.lambda() * chain.pi(i), [after, counted]).corrected(chain.pi(i))
    });
    Claim::new("chain.eigenvalue").equality(points)
}

/// Σ over s ≤ t′ ≤ p ≤ t of π_l (P^{p−t′})_im (P^{t′−s})_li, split into β and γ.
fn split() -> Entry {
    let mut points = Vec::new();
    for chain in CHAINS {
        let lam = chain.lambda();
        for t in [1, 3, 6] {
            for (i, m, l) in [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 1, 2), (2, 2, 2)] {
                let (mut printed, mut multiplied) = (0.0, 0.0);
                for p in 1..=t {
                    for q in 1..=p {
                        for s in 1..=q {
                            let power = |n: usize| lam.powi(n as i32);
                            printed += chain.pi(l) / (lam - 1.0).powi(2)
                                * (chain.beta(i, m) * chain.beta(l, i) * power(p - s)
                                    + chain.beta(i, m) * chain.gamma(l, i) * power(p - q)
                                    + chain.beta(l, i) * chain.gamma(i, m) * power(q - s)
                                    + chain.gamma(i, m) * chain.gamma(l, i));
                            multiplied +=
                                chain.pi(l) * chain.walk(p - q, i, m) * chain.walk(q - s, l, i);
                        }
                    }
                }
                let counted = expect(chain, t, |x| {
                    let is = |place: usize, symbol: usize| one_if(x[place - 1] + 1 == symbol);
                    let mut sum = 0.0;
                    for p in 1..=t {
                        for q in 1..=p {
                            sum += (1..=q).map(|s| is(s, l) * is(q, i) * is(p, m)).sum::<f64>();
                        }
                    }
                    sum
                });
                let at = chain.at([("t", t), ("i", i), ("m", m), ("l", l)]);
                points.push(Point::new(&at, printed, [multiplied, counted]));
            }
        }
    }
    Claim::new("first-step.split").equality(points)
}

/// A printed chain of equalities for Σ_p Σ_t′ Σ_s of a power of λ, one function per line, compared with the
/// triple loop and with the number of times that each power occurs.
fn lines(
    exponent: impl Fn(usize, usize, usize) -> usize,
    times: impl Fn(f64, f64) -> f64,
    printed: &[fn(f64, usize) -> f64],
) -> Vec<Point> {
    let mut points = Vec::new();
    for lam in [-0.9, -0.3, 0.15, 0.5, 0.8] {
        for t in [1, 2, 5, 12, 30] {
            let mut looped = 0.0;
            for p in 1..=t {
                for q in 1..=p {
                    looped += (1..=q)
                        .map(|s| f64::powi(lam, exponent(p, q, s) as i32))
                        .sum::<f64>();
                }
            }
            let grouped = |n: usize| times((t - n) as f64, n as f64) * lam.powi(n as i32);
            let counted = (0..t).map(grouped).sum();
            for (line, form) in printed.iter().enumerate() {
                let at = [("λ", lam), ("t", t as f64), ("line", line as f64 + 1.0)];
                points.push(Point::new(&at, form(lam, t), [looped, counted]));
            }
        }
    }
    points
}

/// The sum over p of a printed summand.
fn over_p(t: usize, f: impl Fn(f64) -> f64) -> f64 {
    (1..=t).map(|p| f(p as f64)).sum()
}

fn sum_a() -> Entry {
    // The summands of the third line, summed over t′ as well, then the form after each further sum.
    let forms: [fn(f64, usize) -> f64; 4] = [
        |l, t| {
            over_p(t, |p| {
                over_p(p as usize, |q| {
                    (to_the(l, p - 1.0) - to_the(l, p - q - 1.0)) / (1.0 - 1.0 / l)
                })
            })
        },
        |l, t| {
            let down = 1.0 - 1.0 / l;
            over_p(t, |p| {
                p * to_the(l, p - 1.0) - (to_the(l, p - 2.0) - to_the(l, -2.0)) / down
            }) / down
        },
        |l, t| {
            let (n, down) = (t as f64, 1.0 - 1.0 / l);
            ((1.0 - (n + 1.0) * to_the(l, n) + n * to_the(l, n + 1.0)) / (1.0 - l).powi(2)
                - (1.0 / l - to_the(l, n - 1.0)) / (down * (1.0 - l))
                + n * to_the(l, -2.0) / down)
                / down
        },
        |l, t| term_1(l, t) / (l - 1.0),
    ];
    Claim::new("first-step.sum-a").equality(lines(
        |p, _, s| p - s,
        |left, n| left * (n + 1.0),
        &forms,
    ))
}

fn sum_b() -> Entry {
    let forms: [fn(f64, usize) -> f64; 5] = [
        |l, t| over_p(t, |p| over_p(p as usize, |q| q * to_the(l, p - q))),
        |l, t| {
            let bracket = |p: f64| 1.0 - (p + 1.0) * to_the(l, -p) + p * to_the(l, -p - 1.0);
            over_p(t, |p| {
                to_the(l, p - 1.0) * bracket(p) / (1.0 - 1.0 / l).powi(2)
            })
        },
        |l, t| {
            let summand = |p: f64| to_the(l, p - 1.0) - (p + 1.0) / l + p * to_the(l, -2.0);
            over_p(t, |p| summand(p) / (1.0 - 1.0 / l).powi(2))
        },
        |l, t| {
            let n = t as f64;
            ((1.0 - to_the(l, n)) / (1.0 - l) - n * (n + 3.0) / 2.0 / l
                + n * (n + 1.0) / 2.0 * to_the(l, -2.0))
                / (1.0 - 1.0 / l).powi(2)
        },
        |l, t| term_2(l, t) / (l - 1.0).powi(2),
    ];
    Claim::new("first-step.sum-b").equality(lines(
        |p, q, _| p - q,
        |left, _| left * (left + 1.0) / 2.0,
        &forms,
    ))
}

fn sum_c() -> Entry {
    let forms: [fn(f64, usize) -> f64; 4] = [
        |l, t| {
            over_p(t, |p| {
                over_p(p as usize, |q| {
                    (to_the(l, q - 1.0) - 1.0 / l) / (1.0 - 1.0 / l)
                })
            })
        },
        |l, t| over_p(t, |p| (1.0 - to_the(l, p)) / (1.0 - l) - p / l) / (1.0 - 1.0 / l),
        |l, t| {
            let n = t as f64;
            (n / (1.0 - l) - (l - to_the(l, n + 1.0)) / (1.0 - l).powi(2) - n * (n + 1.0) / 2.0 / l)
                / (1.0 - 1.0 / l)
        },
        |l, t| term_3(l, t) / (l - 1.0),
    ];
    Claim::new("first-step.sum-c").equality(lines(
        |_, q, s| q - s,
        |left, _| left * (left + 1.0) / 2.0,
        &forms,
    ))
}

fn sum_d() -> Entry {
    let counted = |left: f64, n: f64| {
        if n == 0.0 {
            left * (left + 1.0) * (left + 2.0) / 6.0
        } else {
            0.0
        }
    };
    Claim::new("first-step.sum-d").equality(lines(|_, _, _| 0, counted, &[|_, t| term_4(t)]))
}

/// λ to an integer power given as a float, for bases of either sign.
fn to_the(base: f64, exponent: f64) -> f64 {
    base.powi(exponent as i32)
}
