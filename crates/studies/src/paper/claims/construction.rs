//! The paper's construction: a transformer whose weights are set, not trained.

use induct::probe::TestSet;
use induct::recipe::Recipe;
use rayon::prelude::*;

use crate::paper::STUDY;
use crate::results::fresh_set;
use crate::statistics::Sample;

/// Disjoint sets of sequences in place of seeds; one more is used to choose the output map.
const SETS: u64 = 20;
const SEQUENCES: u64 = 1024;

/// The scales tried for the output map, in tenths: logits are multiples of the averages.
const SCALES: std::ops::RangeInclusive<u32> = 1..=80;

/// A measure of each set.
fn over_sets(states: usize, strategies: &[&str], measure: impl Fn(&Set) -> f64 + Sync) -> Sample {
    let of_set = |number| Some(measure(&Set::draw(states, number, strategies)));
    Sample::Numbers((0..SETS).into_par_iter().map(of_set).collect())
}

/// The mean total variation distance between the averages of the second layer and the frequencies of symbols
/// after earlier occurrences of the last one.
pub(super) fn apart_from_counts(states: usize) -> Sample {
    over_sets(states, &[], Set::apart_from_counts)
}

/// The fraction of the gap between two strategies' losses that it closes, with the best output map.
pub(super) fn gap_closed(states: usize, from: &str, to: &str) -> Sample {
    let scale = best_scale(states);
    let further: &[&str] = if to == "bayes" { &["bayes"] } else { &[] };
    over_sets(states, further, |set| {
        let (from, to) = (set.level(from), set.level(to));
        (from - set.loss(scale)) / (from - to)
    })
}

/// The scale of the output map with the smallest loss, on a set of its own.
fn best_scale(states: usize) -> f64 {
    let spare = Set::draw(states, SETS, &[]);
    let tenths = SCALES.map(|tenth| 0.1 * f64::from(tenth));
    let by_loss = tenths.map(|scale| (spare.loss(scale), scale));
    let (_, scale) = by_loss
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("the range is not empty");
    scale
}

/// The construction whose logits are `scale` times the averages of the second layer.
fn recipe(states: usize, scale: f64) -> Recipe {
    let set = [
        format!("task.states={states}"),
        format!("model.width={}", 3 * states),
        // Like the seeds of runs, this was not used before.
        format!("seeds.eval={}", STUDY.first_seed),
        format!("model.start={{kind=\"bigram\", sharpness=100.0, output_scale={scale:.1}}}"),
    ];
    Recipe::from_toml("train.steps = 0", &set).expect("a valid recipe")
}

/// The sequences of one set, with the predictions of strategies.
struct Set {
    states: usize,
    test: TestSet,
}

impl Set {
    fn draw(states: usize, number: u64, strategies: &[&str]) -> Self {
        // Numbers beyond those that runs and exams use, or that the first round used.
        let test = fresh_set(&recipe(states, 1.0), 100 + number, SEQUENCES, strategies);
        Self {
            states,
            test: test.expect("a valid recipe"),
        }
    }

    /// KL(truth ‖ strategy); NaN for one that was not asked.
    fn level(&self, strategy: &str) -> f64 {
        let mut levels = self
            .test
            .references()
            .iter()
            .zip(self.test.truth_divergences());
        let found = levels.find(|(of, _)| of.name == strategy);
        found.map_or(f64::NAN, |(_, kl)| kl.last.estimate().mean)
    }

    /// KL(truth ‖ construction).
    fn loss(&self, scale: f64) -> f64 {
        let recipe = recipe(self.states, scale);
        let model = recipe.model().expect("a valid recipe");
        let divergences = self.test.divergences(&model, &model.start(0));
        divergences.expect("its own weights")[0]
            .last
            .estimate()
            .mean
    }

    /// The mean total variation distance between the averages of the second layer, which the logits show
    /// directly at scale 1, and the frequencies of symbols after earlier occurrences of the last one, over
    /// sequences with such occurrences.
    fn apart_from_counts(&self) -> f64 {
        let recipe = recipe(self.states, 1.0);
        let (length, k) = (recipe.task.length, self.states);
        let model = recipe.model().expect("a valid recipe");
        let constructed = model.evaluator(&model.start(0)).expect("its own weights");
        let (mut sum, mut sequences) = (0.0, 0.0);
        let drawn: Vec<Vec<u8>> = self.test.sequences().collect();
        let inputs: Vec<&[u8]> = drawn.iter().map(|tokens| &tokens[..length]).collect();
        let all_logits = constructed
            .last_logits(&inputs)
            .expect("sequences of the task");
        for (index, symbols) in inputs.iter().enumerate() {
            let logits = all_logits.row(&[index]);
            let mut counts = vec![0.0; k];
            for pair in symbols.windows(2) {
                if pair[0] == symbols[length - 1] {
                    counts[usize::from(pair[1])] += 1.0;
                }
            }
            let total: f64 = counts.iter().sum();
            if total > 0.0 {
                // The output map adds the same number to every logit.
                let shift = (1.0 - logits.iter().map(|&f| f64::from(f)).sum::<f64>()) / k as f64;
                let apart = counts
                    .iter()
                    .zip(logits)
                    .map(|(count, logit)| (count / total - f64::from(*logit) - shift).abs());
                sum += 0.5 * apart.sum::<f64>();
                sequences += 1.0;
            }
        }
        sum / sequences
    }
}
