//! The transformer whose weights are set by hand.

use induct::probe::TestSet;
use induct::train::Recipe;

use super::{Limit, Part};
use crate::results::fresh_set;
use crate::statistics::Measured;

/// Disjoint sets of sequences, which stand in for seeds; one more is there to choose the output map on.
const SETS: u64 = 20;
const SEQUENCES: u64 = 256;

/// Multiples of the averages that are tried as logits.
const SCALES: std::ops::RangeInclusive<u32> = 1..=80;

/// What the hand-made weights come to, for two and three states.
pub(super) fn parts() -> Vec<Part> {
    [2, 3].into_iter().flat_map(parts_with).collect()
}

fn parts_with(states: usize) -> Vec<Part> {
    let spare = Set::draw(states, SETS);
    let tenths = SCALES.map(|tenth| 0.1 * f64::from(tenth));
    let by_loss = tenths.map(|scale| (spare.loss(scale), scale));
    let (_, scale) = by_loss
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("there are scales");
    let (mut to_bigram, mut to_bayes, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..SETS {
        let set = Set::draw(states, number);
        let [uniform, unigram, bigram, bayes] = set.levels();
        let loss = set.loss(scale);
        to_bigram.push((unigram - loss) / (unigram - bigram));
        to_bayes.push((uniform - loss) / (uniform - bayes));
        counts.push(set.apart_from_counts());
    }
    let what = format!("k = {states}, {SETS} sets of {SEQUENCES} sequences in place of seeds");
    let scaled = format!("{what}; logits are {scale:.1} times the averages");
    let part = |what: &str, measure: &str, values: &[f64], limit: Limit| {
        Part::new(what, measure, Measured::mean(values), limit)
    };
    vec![
        part(
            &what,
            "distance between what its second layer averages and the frequencies of symbols after the current one (total variation, mean)",
            &counts,
            Limit::AtMost(0.05),
        ),
        part(
            &scaled,
            "how much of the way from the unigram to the bigram strategy's loss it comes",
            &to_bigram,
            Limit::AtLeast(0.9),
        ),
        part(
            &scaled,
            "how much of the way from uniform to exact Bayes it comes",
            &to_bayes,
            Limit::AtLeast(0.95),
        ),
    ]
}

/// The hand-made weights whose logits are `scale` times the averages of the second layer.
fn recipe(states: usize, scale: f64) -> Recipe {
    let set = [
        format!("task.states={states}"),
        format!("model.width={}", 3 * states),
        format!("model.start={{kind=\"bigram\", sharpness=100.0, output_scale={scale:.1}}}"),
    ];
    Recipe::from_toml("train.steps = 0", &set).expect("a sound recipe")
}

/// Sequences of one set, with what strategies say.
struct Set {
    states: usize,
    test: TestSet,
}

impl Set {
    fn draw(states: usize, number: u64) -> Self {
        // Numbers beyond those of runs and of the exam.
        let test = fresh_set(&recipe(states, 1.0), 10 + number, SEQUENCES, true);
        Self {
            states,
            test: test.expect("a sound recipe"),
        }
    }

    /// KL(truth ‖ ·) of uniform, unigram, bigram and Bayes.
    fn levels(&self) -> [f64; 4] {
        let levels = self.test.truth_divergences();
        [1, 2, 3, 4].map(|at| levels[at].last.estimate().mean)
    }

    /// KL(truth ‖ hand-made weights).
    fn loss(&self, scale: f64) -> f64 {
        let recipe = recipe(self.states, scale);
        let model = recipe.model().expect("a sound recipe");
        let divergences = self.test.divergences(&model, &model.start(0));
        divergences.expect("its own weights")[0]
            .last
            .estimate()
            .mean
    }

    /// Mean total variation between what the second layer averages, read from logits that are just that, and the frequencies of
    /// symbols after earlier occurrences of the last one, over sequences that have any.
    fn apart_from_counts(&self) -> f64 {
        let recipe = recipe(self.states, 1.0);
        let (length, k) = (recipe.task.length, self.states);
        let model = recipe.model().expect("a sound recipe");
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
                // The read-out adds the same number to every logit.
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
