//! The paper's construction: a transformer whose weights are set, not trained.

use induct::probe::TestSet;
use induct::train::Recipe;

use super::{Limit, Part};
use crate::results::fresh_set;
use crate::statistics::Measured;

/// Disjoint sets of sequences in place of seeds; one more is used to choose the output map.
const SETS: u64 = 20;
const SEQUENCES: u64 = 256;

/// The scales tried for the output map, in tenths: logits are multiples of the averages.
const SCALES: std::ops::RangeInclusive<u32> = 1..=80;

/// Measures of the construction, for two and three states.
pub(super) fn parts() -> Vec<Part> {
    [2, 3].into_iter().flat_map(parts_with).collect()
}

fn parts_with(states: usize) -> Vec<Part> {
    let spare = Set::draw(states, SETS);
    let tenths = SCALES.map(|tenth| 0.1 * f64::from(tenth));
    let by_loss = tenths.map(|scale| (spare.loss(scale), scale));
    let (_, scale) = by_loss
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("the range is not empty");
    let (mut to_bigram, mut to_bayes, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..SETS {
        let set = Set::draw(states, number);
        let [uniform, unigram, bigram, bayes] = set.levels();
        let loss = set.loss(scale);
        to_bigram.push((unigram - loss) / (unigram - bigram));
        to_bayes.push((uniform - loss) / (uniform - bayes));
        counts.push(set.apart_from_counts());
    }
    let what = format!("k = {states}, {SETS} sets of {SEQUENCES} sequences instead of seeds");
    let scaled = format!("{what}; logits are {scale:.1} times the averages");
    let part = |what: &str, measure: &str, values: &[f64], limit: Limit| {
        Part::new(what, measure, Measured::mean(values), limit)
    };
    vec![
        part(
            &what,
            "mean total variation distance between the averages of its second layer and the frequencies of \
             symbols after the current one",
            &counts,
            Limit::AtMost(0.05),
        ),
        part(
            &scaled,
            "fraction of the gap between the unigram and the bigram strategy's loss that it closes",
            &to_bigram,
            Limit::AtLeast(0.9),
        ),
        part(
            &scaled,
            "fraction of the gap between the loss of uniform predictions and of exact Bayes that it closes",
            &to_bayes,
            Limit::AtLeast(0.95),
        ),
    ]
}

/// The construction whose logits are `scale` times the averages of the second layer.
fn recipe(states: usize, scale: f64) -> Recipe {
    let set = [
        format!("task.states={states}"),
        format!("model.width={}", 3 * states),
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
    fn draw(states: usize, number: u64) -> Self {
        // Numbers beyond those that runs and the exam use.
        let test = fresh_set(&recipe(states, 1.0), 10 + number, SEQUENCES, true);
        Self {
            states,
            test: test.expect("a valid recipe"),
        }
    }

    /// KL(truth ‖ ·) of uniform, unigram, bigram and Bayes.
    fn levels(&self) -> [f64; 4] {
        let levels = self.test.truth_divergences();
        [1, 2, 3, 4].map(|at| levels[at].last.estimate().mean)
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
