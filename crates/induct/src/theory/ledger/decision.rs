//! Appendix A, the Proposition: does the model that two steps leave behind decide as bigrams do?

use super::Entry;
use super::judge::{Claim, Point};
use super::proposition::two_steps;
use super::truth::{Couplings, symmetric};
use crate::chain::{Address, Prior, Purpose, Sampler, TokenBlock};
use crate::model::{MinimalSpec, Model, ModelSpec};
use crate::theory::coupling::Weights;

const SEQUENCES: usize = 2000;
const V: f64 = 0.02;

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    vec![reaches_bigrams(couplings)]
}

/// How often a predictor ranks the two next symbols as the chain does, at the last of t positions.
struct Shares {
    /// The minimal model, by its own code.
    model: f64,
    /// The same, by the double sum.
    by_sum: f64,
    /// Counting transitions.
    bigrams: f64,
}

fn shares(prior: &Prior, weights: &Weights, seed: u64) -> Shares {
    let t = weights.length();
    let spec = ModelSpec::Minimal(MinimalSpec::default());
    let model = Model::new(&spec, 2, t).expect("a minimal model");
    // Decisions do not change when both layers are scaled, and f32 is spared numbers near its smallest.
    let grow = |values: &[f64]| {
        let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        values.iter().map(|v| v / largest).collect::<Vec<f64>>()
    };
    let (w_k, v) = (grow(&weights.w_k), grow(&weights.v));
    let params: Vec<f32> = w_k.iter().chain(&v).map(|&w| w as f32).collect();
    let (prepared, mut work) = (model.prepare(&params), model.work());
    let mut sampler = Sampler::new(prior);
    let address = Address {
        purpose: Purpose::Fresh,
        seed,
        step: 0,
    };
    let mut x = vec![0; t];
    let mut right = [0.0; 3];
    for index in 0..SEQUENCES {
        let table = sampler.sequence(prior, address, index as u64, &mut x);
        let row = table.row(x[t - 1] as usize);
        let wanted = row[1] - row[0];
        model.forward_last(
            &prepared,
            TokenBlock::from_sequences(&[&x]).rows(),
            &mut work,
        );
        let by_model = f64::from(work.logits()[1].0[0]) - f64::from(work.logits()[0].0[0]);
        let decisions = [by_model, by_sum(&w_k, &v, &x), by_counts(&x)];
        for (right, decision) in right.iter_mut().zip(decisions) {
            *right += match decision * wanted {
                agrees if agrees > 0.0 => 1.0,
                0.0 => 0.5,
                _ => 0.0,
            };
        }
    }
    let [model, by_sum, bigrams] = right.map(|count| count / SEQUENCES as f64);
    Shares {
        model,
        by_sum,
        bigrams,
    }
}

/// f_2 − f_1 at the last position, in f64.
fn by_sum(w_k: &[f64], v: &[f64], x: &[u8]) -> f64 {
    let row = &w_k[2 * x[x.len() - 1] as usize..][..2];
    let mut difference = 0.0;
    for (q, &symbol) in x.iter().enumerate() {
        let weights = x[..=q].iter().rev().zip(v);
        let sum: f64 = weights.map(|(&found, v)| v * row[found as usize]).sum();
        difference += if symbol == 1 { sum } else { -sum };
    }
    difference
}

/// How much more often symbol 1 followed the last symbol than symbol 0 did.
fn by_counts(x: &[u8]) -> f64 {
    let last = x[x.len() - 1];
    let pairs = x.windows(2).filter(|pair| pair[0] == last);
    pairs
        .map(|pair| if pair[1] == 1 { 1.0 } else { -1.0 })
        .sum()
}

/// How far behind bigrams still counts as having reached them.
const REACHED: f64 = 0.02;

fn reaches_bigrams(couplings: &Couplings) -> Entry {
    let mut points = Vec::new();
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for epsilon in [0.1, 0.2, 0.4] {
        for w_init in [V, 0.0] {
            let name = |who: &str| format!("{who}, ε = {epsilon}, w_init = {w_init}");
            let (mut model, mut bigrams) = (Vec::new(), Vec::new());
            for t in [32, 128, 256] {
                let [_, weights] = two_steps(couplings, t, epsilon, w_init);
                let found = shares(&symmetric(epsilon), &weights, 7);
                let at = [("ε", epsilon), ("w_init", w_init), ("t", t as f64)];
                let margin = found.model - found.bigrams + REACHED;
                points.push(Point::new(&at, margin, [found.model, found.by_sum]));
                model.push((t as f64, found.model));
                bigrams.push((t as f64, found.bigrams));
            }
            lines.push((name("two steps"), model));
            lines.push((name("bigrams"), bigrams));
        }
    }
    let mut claim = Claim::new(
        "proposition.reaches-bigrams",
        ("Section 3.2 and Appendix A, Proposition", "“two steps of gradient descent … reach the bigrams solution”"),
        "After the two steps (η₁ = 1/t², η₂ = 1/t, v_init = 0.02) the model ranks the next symbols as the chain does as often as counting \
         transitions does, to 2 points in 100, on chains with a = b ~ U(½−ε, ½+ε). With w_init = v_init it does no better than chance, \
         since the constant part of W_k gives every lag the same weight; with w_init = 0 it comes nearer as t grows.",
        "f(e)_(p,i) ∝ Σ_(t′=1)^p 1{x_t′ = i} 1{x_p = x_(t′−1)}",
        ["the model's own code", "the double sum in f64"],
    )
    .tolerance(0.01);
    for (name, points) in lines {
        let last = points[points.len() - 1];
        claim = claim
            .number(format!("right, {name}, t = {}", last.0), last.1)
            .line(name, "t", points);
    }
    claim.statement(points)
}
