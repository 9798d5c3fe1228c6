//! The minimal model, and what it says of the transformer.

use induct::internal::{digest, median};
use induct::measure::{
    DIAGONAL_DOMINANCE, KL_TRUTH, MATCHING_GAP, POSITIONAL_PROFILE, PREVIOUS_TOKEN, TEST_KL_TRUTH,
};
use induct::recipe::{FromSpec, Recipe};
use induct::train::Trainer;
use rayon::prelude::*;

use crate::paper::STUDY;
use crate::results::{Results, fresh_set};
use crate::run::Run;
use crate::statistics::{
    Sample, Statistic, correlation, experiments, number, of_seeds, ratio, share, untrained,
};

pub(super) const STATISTICS: &[Statistic] = &[
    share("ends at bigrams", |run| {
        run.order().last().is_some_and(|last| last == "bigram")
    }),
    experiments("time at unigrams beside the transformer", |of| {
        of_seeds(of, |runs| {
            let seen = |at: usize| of[at].thousands(runs[at].steps_at("unigram"));
            // A transformer that is never at unigrams cannot be compared with.
            (seen(1) > 0.0).then(|| seen(0) / seen(1))
        })
    }),
    number("quick first drop", |run| {
        let (uniform, unigram) = (run.level("uniform"), run.level("unigram"));
        let level = unigram + 0.1 * (uniform - unigram);
        Some(run.first(&KL_TRUTH, |loss| loss <= level)? / run.onset("bigram")?)
    }),
    number("excess on independent symbols", |run| {
        let uniform = run.level_on("iid", "uniform");
        let unigram = run.level_on("iid", "unigram");
        Some((in_unigram_phase(run, "iid")? - unigram) / (uniform - unigram))
    }),
    number("gain on doubly stochastic chains", |run| {
        let uniform = run.level_on("doubly_stochastic", "uniform");
        Some(1.0 - in_unigram_phase(run, "doubly_stochastic")? / uniform)
    }),
    share("layer 2 first, minimal model", |run| {
        let diagonal = run.first(&DIAGONAL_DOMINANCE, |d| d >= 0.5);
        let leading = profiles(run).iter().position(|profile| leads(profile, 1));
        let leading = leading.map(|record| run.steps()[record]);
        diagonal
            .zip(leading)
            .is_some_and(|(diagonal, leading)| diagonal < leading)
    }),
    share("layer 2 first, transformer", |run| {
        let previous = half_way(run, &run.over_heads(&PREVIOUS_TOKEN, 0));
        let matching = half_way(run, &run.column(&MATCHING_GAP));
        previous
            .zip(matching)
            .is_some_and(|(previous, matching)| matching < previous)
    }),
    number("even lags follow moments", |run| {
        let last = profiles(run).pop()?;
        let moments: Vec<f64> = (0..=10).map(|lag| moment(lag + 1)).collect();
        correlation(
            &above_neighbours(last.get(..=10)?),
            &above_neighbours(&moments),
        )
    }),
    experiments("nearest to unigrams against the full rate", |of| {
        ratio(of, |run| {
            run.distance("unigram").into_iter().reduce(f64::min)
        })
    }),
    experiments("time at unigrams against the full rate", |of| {
        ratio(of, |run| Some(run.steps_at("unigram")))
    }),
    untrained(
        "agreement after two steps",
        &[|| two_steps(|outcome| outcome.agreement)],
    ),
    untrained(
        "second-largest after two steps",
        &[|| two_steps(|outcome| outcome.second_largest)],
    ),
];

/// How far a linear model comes.
pub(super) fn linear_model(results: &Results) -> String {
    let closed = |id: &str| results.of(id).gap_closed("unigram", "bigram");
    let (two, three) = (closed("minimal"), closed("minimal-three-states"));
    match two.is_finite() && three.is_finite() {
        false => String::new(),
        true => format!(
            "In the paper's form the minimal model is linear: its logits are counts, which no \
                     softmax turns into frequencies. It closes {two:.2} of the gap to bigrams with two \
                     states, and {three:.2} with three."
        ),
    }
}

/// The median loss on a test set in the unigram phase.
fn in_unigram_phase(run: &Run, test: &str) -> Option<f64> {
    let phase = run.phase("unigram")?;
    let column = TEST_KL_TRUTH.of_test(test);
    Some(median(&run.between(
        column,
        phase.onset as f64,
        phase.end as f64,
    )))
}

/// Whether a lag has more weight than every other lag.
fn leads(profile: &[f64], lag: usize) -> bool {
    let mut others = profile
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != lag);
    profile
        .get(lag)
        .is_some_and(|&own| others.all(|(_, &weight)| weight < own))
}

/// The step at which values have covered half the distance from the first to the last of them.
fn half_way(run: &Run, values: &[f64]) -> Option<f64> {
    let (first, last) = (values.first()?, values.last()?);
    let at = values
        .iter()
        .position(|value| (value - first) * (last - first) >= 0.5 * (last - first).powi(2))?;
    Some(run.steps()[at])
}

/// The positional profile at every record, `[t]` each.
fn profiles(run: &Run) -> Vec<Vec<f64>> {
    let recording = run.recording();
    let columns = recording.history.columns().iter();
    let lags: Vec<usize> = columns
        .enumerate()
        .filter(|(_, column)| column.is_of(&POSITIONAL_PROFILE))
        .map(|(index, _)| index)
        .collect();
    let profile = |row: &[f64]| lags.iter().map(|&index| row[index]).collect();
    recording.history.rows().map(profile).collect()
}

/// E[λ^order] of a chain with two states and uniform rows: λ = a + b − 1 has a triangular density on (−1, 1).
fn moment(order: u32) -> f64 {
    match order % 2 {
        0 => 2.0 / f64::from((order + 1) * (order + 2)),
        _ => 0.0,
    }
}

/// How far the inner values from the third on stand above the mean of their two neighbours.
fn above_neighbours(values: &[f64]) -> Vec<f64> {
    let inner = values.windows(3).skip(1);
    inner.map(|w| w[1] - 0.5 * (w[0] + w[2])).collect()
}

/// The minimal model after the two steps.
struct Outcome {
    /// The share of sequences on which it prefers the bigram strategy's symbol.
    agreement: f64,
    /// The largest weight of v besides v_2, in units of v_2; infinite if v_2 is not positive.
    second_largest: f64,
}

/// Pairs of batches in place of seeds.
const PAIRS: u64 = 20;

/// Sequences in each of the two batches: many, since the proof is about exact gradients.
const BATCH: usize = 16_384;

/// Fresh sequences on which predictions are compared.
const COMPARED: u64 = 2048;

fn two_steps(measure: impl Fn(&Outcome) -> f64 + Sync) -> Sample {
    let pair = |pair: u64| two_steps_of(pair).map(|outcome| measure(&outcome));
    Sample::Numbers((0..PAIRS).into_par_iter().map(pair).collect())
}

/// One step on the original chains, one on doubly stochastic ones (a = b), from the start of the paper's
/// experiments: W_k zero, v constant. The rates are of the proof's order, 1/t² and 1/t; with full weight
/// decay, what remains after the second step is its update alone.
fn two_steps_of(pair: u64) -> Option<Outcome> {
    // Like the seeds of runs, these were not used before.
    let seed = STUDY.first_seed + pair;
    let recipe = |rate: f64, prior: &str| {
        let set = [
            "model.kind=minimal".into(),
            "model.start={kind=\"constant\", w=0.0, v=0.01}".into(),
            format!("train.optimizer={{kind=\"sgd\", lr={rate:e}}}"),
            format!("train.curriculum=[{{from=0, prior={{kind=\"{prior}\"}}}}]"),
            "train.steps=1".into(),
            format!("train.batch={BATCH}"),
            format!("seeds={{data={seed}, eval={seed}}}"),
        ];
        Recipe::from_toml("", &set).expect("a valid recipe")
    };
    let length = Recipe::default().task.length as f64;
    let first = recipe(length.powi(-2), "dirichlet");
    let model = first.model().expect("a valid recipe");
    let mut trainer = Trainer::new(&first).ok()?;
    trainer.advance().ok()?;
    let after_first = trainer.params().to_vec();
    let mut second = recipe(length.recip(), "doubly-stochastic");
    second.seeds.data += PAIRS;
    second.from = Some(FromSpec {
        run: "the first step".into(),
        step: 1,
        weights: digest::weights(&after_first),
    });
    let mut trainer = Trainer::with_snapshots(&second, &|_| Ok(after_first.clone())).ok()?;
    trainer.advance().ok()?;
    let after_second = trainer.params();
    let decayed = after_second
        .iter()
        .zip(&after_first)
        .map(|(after, before)| after - before);
    let params: Vec<f32> = decayed.collect();
    let v = &params[model.layout().tensor("v")?.range.clone()];
    let others = v.iter().enumerate().filter(|(lag, _)| *lag != 1);
    let largest = others.map(|(_, &weight)| weight).fold(0.0, f32::max);
    let second_largest = match v[1] > 0.0 {
        true => f64::from(largest / v[1]),
        false => f64::INFINITY,
    };
    let set = fresh_set(&first, 200, COMPARED, &[]).ok()?;
    let prior = first.prior().ok()?;
    let bigram = induct::strategy::named("bigram", &prior).ok()?;
    let evaluator = model.evaluator(&params).ok()?;
    let length = first.task.length;
    let agrees = |tokens: Vec<u8>| -> Option<bool> {
        let context = &tokens[..length];
        let ours = evaluator.next_distribution(context).ok()?;
        let theirs = bigram.next_distribution(context).ok()?;
        Some((ours[0] > ours[1]) == (theirs[0] > theirs[1]))
    };
    let agreed: Option<Vec<bool>> = set.sequences().map(agrees).collect();
    let agreed = agreed?;
    Some(Outcome {
        agreement: agreed.iter().filter(|&&same| same).count() as f64 / agreed.len() as f64,
        second_largest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_a_triangular_density() {
        // The integral of λ^order (1 − |λ|) over (−1, 1), by the midpoint rule.
        let integral = |order: u32| {
            let points = (0..20_000).map(|i| (f64::from(i) + 0.5) / 10_000.0 - 1.0);
            points
                .map(|x| x.powi(order as i32) * (1.0 - x.abs()))
                .sum::<f64>()
                / 10_000.0
        };
        for order in 1..=11 {
            assert!((moment(order) - integral(order)).abs() < 1e-6, "{order}");
        }
    }

    #[test]
    fn two_steps_leave_weights() {
        let outcome = two_steps_of(0).unwrap();
        assert!((0.5..=1.0).contains(&outcome.agreement));
        assert!(outcome.second_largest > 0.0);
    }
}
