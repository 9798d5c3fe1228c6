//! What the layers do.

use induct::internal::EXAM_SET;
use induct::measure::{INDUCTION, ODD_EVEN};
use induct::model::circuits::positional_scores;
use induct::model::{InputError, Model};

use super::construction;
use crate::results::{Results, TrainedExperiment, fresh_set};
use crate::run::Run;
use crate::statistics::{Statistic, number, untrained, with_model};

/// Sequences over which attention is averaged.
const OBSERVED: u64 = 32;

pub(super) const STATISTICS: &[Statistic] = &[
    with_model("layer 1 looks back at every symbol", |trained, run| {
        by_symbol(trained, run)?.into_iter().reduce(f64::min)
    }),
    number("odd over even lags", |run| {
        // A run may skip unigrams.
        let fall = run.fall_from("unigram").or(run.fall_from("uniform"))?;
        let scores = run.column(&ODD_EVEN);
        scores.get(run.record_at(fall.start)).copied()
    }),
    untrained(
        "construction apart from counts",
        &[
            || construction::apart_from_counts(2),
            || construction::apart_from_counts(3),
        ],
    ),
    untrained(
        "construction's gap to Bayes",
        &[
            || construction::gap_closed(2, "uniform", "bayes"),
            || construction::gap_closed(3, "uniform", "bayes"),
        ],
    ),
    untrained(
        "construction's gap to bigrams",
        &[
            || construction::gap_closed(2, "unigram", "bigram"),
            || construction::gap_closed(3, "unigram", "bigram"),
        ],
    ),
    with_model("time alike until the transition", |trained, run| {
        time_alike(trained, run, 1.3)
    }),
    with_model("time alike", |trained, run| {
        time_alike(trained, run, f64::INFINITY)
    }),
    with_model("profiles apart at the end", |trained, run| {
        largest_distance(&trained.model, run.params()?)
    }),
    with_model("layer 2's own change", |trained, run| {
        let [then, end] = as_the_drop_begins(run)?;
        let mut set_back = end.to_vec();
        for name in ["layers.1.W_Q", "layers.1.W_K", "layers.1.v"] {
            let range = trained.model.layout().tensor(name)?.range.clone();
            set_back[range.clone()].copy_from_slice(&then[range]);
        }
        let second_layer = attention_apart(trained, run, &set_back, end)?;
        Some(second_layer / attention_apart(trained, run, then, end)?)
    }),
    with_model("attention as the drop begins", |trained, run| {
        let [then, end] = as_the_drop_begins(run)?;
        attention_apart(trained, run, then, end)
    }),
    with_model("layer 1 looks back", |trained, run| {
        let mut attention = by_symbol(trained, run)?;
        attention.sort_by(f64::total_cmp);
        attention.get(1).copied()
    }),
    number("layer 2 looks at followers", |run| {
        run.best_head(&INDUCTION, 1)
    }),
];

/// How many symbols layer 1 marks.
pub(super) fn marked_symbols(results: &Results) -> String {
    let modes = |id: &str| {
        let trained = results.of(id);
        let all = trained.completed().filter_map(|run| {
            let least = by_symbol(trained, run)?.into_iter().reduce(f64::min)?;
            Some(least >= 0.5)
        });
        let all: Vec<bool> = all.collect();
        (all.iter().filter(|&&marked| marked).count(), all.len())
    };
    let ((two, of_two), (three, of_three)) = (modes("main"), modes("three-states"));
    match of_two * of_three {
        0 => String::new(),
        _ => format!(
            "To tell which of k symbols came before, it is enough to mark k − 1 of them, and runs \
                     differ in whether they mark all: {two} of {of_two} do with two states, {three} of \
                     {of_three} with three. Both modes reach the same loss, so the measure asks for k − 1."
        ),
    }
}

/// Layer 1's mean attention to the previous token in a run's final model, by the symbol of that token, over
/// sequences of the run's exam; the head that attends to it most.
pub(in crate::paper) fn by_symbol(trained: &TrainedExperiment, run: &Run) -> Option<Vec<f64>> {
    let set = fresh_set(&run.recording().recipe, EXAM_SET, OBSERVED, &[]).ok()?;
    let length = trained.model.length();
    let sequences: Vec<Vec<u8>> = set.sequences().map(|s| s[..length].to_vec()).collect();
    previous_token_by_symbol(&trained.model, run.params()?, &sequences).ok()
}

/// Layer 1's mean attention to the previous token, by the symbol of that token, over some sequences; the head
/// that attends to it most. NaN for a symbol that never comes before another.
fn previous_token_by_symbol(
    model: &Model,
    params: &[f32],
    sequences: &[Vec<u8>],
) -> Result<Vec<f64>, InputError> {
    let k = model.states();
    let mut heads: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for tokens in sequences {
        let seen = model.run(params, tokens)?;
        let pattern = seen
            .get("layers.0.attn_pattern")
            .expect("a transformer has layers");
        let t = tokens.len();
        heads.resize(pattern.shape()[0], (vec![0.0; k], vec![0.0; k]));
        for (head, (sums, counts)) in heads.iter_mut().enumerate() {
            let rows = pattern.row(&[head]);
            for at in 1..t {
                let symbol = usize::from(tokens[at - 1]);
                sums[symbol] += f64::from(rows[at * t + at - 1]);
                counts[symbol] += 1.0;
            }
        }
    }
    let means = heads.into_iter().map(|(sums, counts)| {
        let mean = |(sum, count): (f64, f64)| sum / count;
        sums.into_iter().zip(counts).map(mean).collect::<Vec<f64>>()
    });
    let total = |means: &Vec<f64>| means.iter().sum::<f64>();
    Ok(means
        .max_by(|a, b| total(a).total_cmp(&total(b)))
        .unwrap_or_default())
}

/// The share of training in which the positional profiles of any two symbols are similar, up to some multiple
/// of the step at which bigrams become nearest.
fn time_alike(trained: &TrainedExperiment, run: &Run, multiple: f64) -> Option<f64> {
    let end = multiple * run.onset("bigram")?;
    let counted = run
        .snapshots()
        .iter()
        .take_while(|(step, _)| *step as f64 <= end);
    let apart = counted.filter_map(|(_, params)| largest_distance(&trained.model, params));
    let apart: Vec<f64> = apart.collect();
    let similar = apart.iter().filter(|&&distance| distance <= 0.25).count();
    (!apart.is_empty()).then(|| similar as f64 / apart.len() as f64)
}

/// The first layer's positional profile of every symbol, for the first head: the softmax over lags of what
/// position alone adds to the scores. None without relative positions.
fn profiles_by_symbol(model: &Model, params: &[f32]) -> Option<Vec<Vec<f64>>> {
    let scores = positional_scores(model, params)?.into_iter().next()?;
    let softmax = |row: &[f64]| {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = row.iter().map(|score| (score - largest).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    };
    Some(
        (0..scores.rows)
            .map(|symbol| softmax(scores.row(symbol)))
            .collect(),
    )
}

/// The largest total variation distance between the positional profiles of two symbols.
fn largest_distance(model: &Model, params: &[f32]) -> Option<f64> {
    let profiles = profiles_by_symbol(model, params)?;
    let pairs = profiles
        .iter()
        .flat_map(|a| profiles.iter().map(move |b| (a, b)));
    Some(
        pairs
            .map(|(a, b)| total_variation(a, b))
            .fold(0.0, f64::max),
    )
}

fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    0.5 * a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>()
}

/// The mean total variation distance between the last token's attention in the second layer with some weights
/// and with others, over sequences of the run's exam.
fn attention_apart(
    trained: &TrainedExperiment,
    run: &Run,
    some: &[f32],
    others: &[f32],
) -> Option<f64> {
    let set = fresh_set(&run.recording().recipe, EXAM_SET, OBSERVED, &[]).ok()?;
    let length = trained.model.length();
    let mut sum = 0.0;
    for tokens in set.sequences() {
        let last = |params: &[f32]| -> Option<Vec<f64>> {
            let seen = trained.model.run(params, &tokens[..length]).ok()?;
            let pattern = seen.get("layers.1.attn_pattern").ok()?;
            let row = pattern.row(&[0, length - 1]);
            Some(row.iter().map(|&weight| f64::from(weight)).collect())
        };
        sum += total_variation(&last(some)?, &last(others)?);
    }
    Some(sum / OBSERVED as f64)
}

/// The weights when a tenth of the second drop is complete, and at the end.
fn as_the_drop_begins(run: &Run) -> Option<[&[f32]; 2]> {
    let fall = run.fall_from("unigram")?;
    let (_, then) = run.snapshots().get(run.snapshot_at(fall.start))?;
    Some([then, run.params()?])
}
