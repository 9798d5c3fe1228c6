//! Appendix A: the model, the margin, the population loss, and the gradient of a logit at the start.

use induct::internal::{Degree, WeightedChain, chains};
use induct::model::{Matrix, MinimalSpec, Model, ModelSpec, reference};
use induct::theory::{Coupling, Step, Weights, descend, enumerate, margin_needed};

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::printed::{CHAINS, Chain};
use super::truth::{Couplings, dirichlet, expect, on_chains, one_if, only};

/// The constant start.
const C: f64 = 0.02;

pub fn entries(_: &Couplings) -> Vec<Entry> {
    vec![
        model(),
        margin(),
        total_expectation(),
        update(),
        logit_gradient(),
    ]
}

/// The sum form of the logits, compared with the matrix form.
fn model() -> Entry {
    let (t, mut points) = (6, Vec::new());
    let weights = Weights {
        w_k: vec![0.3, -1.2, 0.7, 2.0],
        v: vec![0.5, 1.5, -0.4, 0.2, 0.9, -1.1],
    };
    let spec = ModelSpec::Minimal(MinimalSpec::default());
    let model = Model::new(&spec, 2, t).expect("a minimal model");
    let params: Vec<f64> = weights.w_k.iter().chain(&weights.v).copied().collect();
    for bits in 0..1_usize << t {
        let x: Vec<u8> = (0..t).map(|place| (bits >> place & 1) as u8).collect();
        let e = Matrix::from_fn(t, 2, |p, i| one_if(x[p] as usize == i));
        let m = Matrix::from_fn(t, t, |i, j| if j <= i { weights.v[i - j] } else { 0.0 });
        let w_k = Matrix::from_slice(2, 2, &weights.w_k);
        let scores = e.times(&w_k).times(&m.times(&e).transposed());
        let masked = Matrix::from_fn(t, t, |i, j| if j <= i { scores[(i, j)] } else { 0.0 });
        let [products, reference] = [masked.times(&e), reference::logits(&model, &params, &x)];
        for p in [0, 3, 5] {
            for i in 0..2 {
                let mut printed = 0.0;
                for q in (0..=p).filter(|&q| x[q] as usize == i) {
                    for s in 0..=q {
                        printed +=
                            weights.v[q - s] * weights.w_k[2 * x[p] as usize + x[s] as usize];
                    }
                }
                let at = [
                    ("sequence", bits as f64),
                    ("p", p as f64 + 1.0),
                    ("i", i as f64 + 1.0),
                ];
                points.push(Point::new(
                    &at,
                    printed,
                    [products[(p, i)], reference[(p, i)]],
                ));
            }
        }
    }
    Claim::new("model.sum-form").equality(points)
}

fn margin() -> Entry {
    let points = [1, 2, 5, 9].map(|t| {
        let start = Weights::constant(2, t, C, C);
        let all = enumerate(&only(CHAINS[0]), &start, 1.0).expect("short sequences");
        let n = t as f64;
        let truth = [all.margin_needed, margin_needed(&start).necessary];
        Point::of_length(t, C * C * n * (n + 1.0) / 2.0, truth)
    });
    Claim::new("first-step.margin").equality(points)
}

fn total_expectation() -> Entry {
    let points = [1, 4, 7].map(|t| {
        let start = Weights::constant(2, t, C, C);
        let margin = 1.0;
        let nodes = chains(
            &dirichlet(),
            Degree {
                transitions: t,
                shares: t + 1,
            },
        )
        .expect("known");
        let of_chain = |node: &WeightedChain| {
            let chain = Chain {
                a: node.rows[0],
                b: node.rows[3],
            };
            let loss = enumerate(&only(chain), &start, margin)
                .expect("short sequences")
                .loss;
            node.weight * loss
        };
        let printed = nodes.iter().map(of_chain).sum();
        let coupling = Coupling::of_prior(&dirichlet(), t).expect("known");
        let at_once = enumerate(&dirichlet(), &start, margin)
            .expect("short sequences")
            .loss;
        Point::of_length(t, printed, [coupling.loss(&start, margin), at_once])
    });
    Claim::new("loss.total-expectation").equality(points)
}

/// One step on the population loss, compared with the average of the steps on individual chains.
fn update() -> Entry {
    let (eta, margin, mut points) = (0.03, 1.0, Vec::new());
    for t in [1, 4, 7] {
        let start = Weights::constant(2, t, C, C);
        let degree = Degree {
            transitions: t,
            shares: t + 1,
        };
        let nodes = chains(&dirichlet(), degree).expect("known");
        let coupling = Coupling::of_prior(&dirichlet(), t).expect("known");
        let stepped = descend(&start, &[Step::new(&coupling, eta)]).expect("a small step");
        for entry in 0..4 {
            let of_chain = |node: &WeightedChain| {
                let chain = Chain {
                    a: node.rows[0],
                    b: node.rows[3],
                };
                let all = enumerate(&only(chain), &start, margin).expect("short sequences");
                node.weight * all.gradient.w_k[entry]
            };
            let printed = C - eta * nodes.iter().map(of_chain).sum::<f64>();
            // The loss is linear in W_k, so its slope is a difference of losses.
            let loss = |raised: f64| {
                let mut weights = start.clone();
                weights.w_k[entry] += raised;
                let all = enumerate(&dirichlet(), &weights, margin).expect("short sequences");
                all.loss
            };
            let by_losses = C - eta * (loss(C) - loss(-C)) / (2.0 * C);
            let at = [
                ("t", t as f64),
                ("m", (entry / 2 + 1) as f64),
                ("l", (entry % 2 + 1) as f64),
            ];
            points.push(Point::new(&at, printed, [stepped[0].w_k[entry], by_losses]));
        }
    }
    Claim::new("first-step.update").equality(points)
}

fn logit_gradient() -> Entry {
    let points = on_chains(
        [(1, 1, 1, 1), (3, 2, 1, 2), (5, 1, 2, 1), (6, 2, 2, 2)],
        |chain, (p, i, m, l)| {
            let mut by_powers = 0.0;
            for q in 1..=p {
                for s in 1..=q {
                    by_powers +=
                        C * chain.pi(l) * chain.walk(q - s, l, i) * chain.walk(p - q, i, m);
                }
            }
            let counted = expect(chain, p, |x| {
                let is = |place: usize, symbol: usize| one_if(x[place - 1] + 1 == symbol);
                let inner = |q: usize| (1..=q).map(|s| is(p, m) * is(s, l)).sum::<f64>();
                C * (1..=p).map(|q| is(q, i) * inner(q)).sum::<f64>()
            });
            // f is linear in W_k, so its derivative is a difference of logits.
            let logit = |x: &[usize], raised: f64| -> f64 {
                let weight = |s: usize| C + raised * one_if(x[p - 1] + 1 == m && x[s - 1] + 1 == l);
                let inner = |q: usize| (1..=q).map(|s| C * weight(s)).sum::<f64>();
                (1..=p).map(|q| one_if(x[q - 1] + 1 == i) * inner(q)).sum()
            };
            let raised = expect(chain, p, |x| logit(x, 1.0) - logit(x, 0.0));
            let at = chain.at([("p", p), ("i", i)]);
            Point::new(&at, by_powers, [counted, raised])
        },
    );
    Claim::new("first-step.logit-gradient").equality(points)
}
