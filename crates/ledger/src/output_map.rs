//! Section 2.3, the footnote: a linear map from the construction's frequencies to logits.

use induct::internal::{Class, Classes};
use induct::model::{Model, ModelSpec, TransformerSpec, TransformerStart};
use induct::probe::Moments;

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::strategies::bigram;
use super::truth::{Couplings, dirichlet, drawn, square_panels};

/// Length of the sequences, as in the paper's experiments.
const T: usize = 100;
/// The number of sampled sequences.
const SEQUENCES: usize = 4096;

pub fn entries(_: &Couplings) -> Vec<Entry> {
    vec![footnote()]
}

/// The construction's averages at the last position: the frequencies of transitions from the last symbol,
/// including one extra x_1 → x_1, or the frequencies of symbols if there are none.
fn frequencies(class: &Class) -> [f64; 2] {
    let mut counts = class.transitions[class.last];
    counts[class.last] += usize::from(class.first == class.last);
    if counts == [0, 0] {
        counts = class.symbols;
    }
    let total = (counts[0] + counts[1]) as f64;
    counts.map(|count| count as f64 / total)
}

/// The expected loss of softmax(a x).
fn loss(classes: &Classes, a: f64) -> f64 {
    classes.cross_entropy(|class| frequencies(class).map(|x| (a * x).exp()))
}

/// The factor with the smallest loss, by golden-section search.
fn best(classes: &Classes) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    while high - low > 1e-6 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if loss(classes, left) < loss(classes, right) {
            high = right;
        } else {
            low = left;
        }
    }
    0.5 * (low + high)
}

/// The expected entropy of the next symbol given the chain.
fn oracle() -> f64 {
    let entropy = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
    square_panels()
        .map(|(chain, weight)| {
            weight * (chain.pi(1) * entropy(chain.a) + chain.pi(2) * entropy(chain.b))
        })
        .sum()
}

/// KL(truth ‖ model) at the last position, sampled with the actual transformer, and its standard error.
fn sampled(a: f64) -> (f64, f64) {
    let spec = TransformerSpec {
        width: 6,
        start: TransformerStart::Bigram {
            sharpness: 100.0,
            output_scale: a,
        },
        ..TransformerSpec::default()
    };
    let model = Model::new(&ModelSpec::Transformer(spec), 2, T).expect("the construction fits");
    let constructed = model.evaluator(&model.start(0)).expect("its own weights");
    let drawn = drawn(&dirichlet(), 1, T, SEQUENCES);
    let sequences: Vec<&[u8]> = drawn.iter().map(|(x, _)| x.as_slice()).collect();
    let all_logits = constructed.last_logits(&sequences);
    let all_logits = all_logits.expect("sequences fit the model");
    let divergence = |(index, (_, truth)): (usize, &(Vec<u8>, [f64; 2]))| {
        let logits = [0, 1].map(|i| f64::from(all_logits[[index, i]]));
        let total = logits[0].exp() + logits[1].exp();
        let terms = truth.iter().zip(logits);
        terms.map(|(p, f)| p * (p.ln() - f + total.ln())).sum()
    };
    let divergences = drawn.iter().enumerate().map(divergence);
    let estimate = divergences.collect::<Moments>().estimate();
    (estimate.mean, estimate.se)
}

fn footnote() -> Entry {
    let classes = Classes::new(&dirichlet(), T).expect("a known prior");
    let (a, oracle, bayes) = (best(&classes), oracle(), classes.bayes());
    let at_best = loss(&classes, a);
    let unigram = classes.cross_entropy(|class| class.symbols.map(|count| count as f64 + 1.0));
    let left = (at_best - bayes) / (unigram - bayes);
    let (mean, se) = sampled(a);
    let curve = (2..=16)
        .map(|step| f64::from(step) / 4.0)
        .map(|a| (a, loss(&classes, a) - oracle));
    let truth = [at_best - oracle, mean];
    Claim::new("construction.footnote")
        // The second route is a sample: four of its standard errors.
        .tolerance(4.0 * se / truth[0])
        .line("KL(truth ‖ softmax(a x))", "a", curve.collect())
        .number("best a", a)
        .number("KL(truth ‖ model) at the best a", at_best - oracle)
        .number("KL(truth ‖ Bayes)", bayes - oracle)
        .number(
            "KL(truth ‖ bigrams)",
            classes.cross_entropy(bigram) - oracle,
        )
        .number("KL(truth ‖ unigrams)", unigram - oracle)
        .number(
            "fraction of the gap between unigrams and Bayes that is left",
            left,
        )
        .statement([Point::new(&[("t", T as f64)], 0.1 - left, truth)])
}
