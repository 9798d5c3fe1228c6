//! Claims about what the layers do.

use induct::measure::{INDUCTION, ODD_EVEN};
use induct::model::circuits::positional_scores;
use induct::model::{InputError, Model};
use induct::probe::EXAM_SET;

use super::{
    BOTH, KEPT, LEARNED, MECHANISM, MINIMAL_THREE, MINIMAL_TWO, RELEASED_MINIMAL, THREE_STATES,
    TWO_STATES, construction,
};
use crate::claim::Limit::{AtLeast, AtMost};
use crate::claim::{Claim, Part};
use crate::results::{Trained, fresh_set};
use crate::run::Run;
use crate::statistics::Statistic;

const ATTENDS: &str = "attends to means more than to everything else together; what the authors' own code trains \
                       reaches 0.6 to 0.7 in layer 1, and would have failed the first round's 0.8";
const CIRCUIT: &str = "caption of figure 2; section 3.1, mechanistic evidence";
const SETS: &str = "k = {2,3}, 20 sets of sequences instead of seeds";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C5",
        title: "Layer 1 looks back by one, layer 2 at what followed",
        statement: "At the end of training the first layer attends to the previous token, and the second to \
                    the tokens that followed the current symbol.",
        question: MECHANISM,
        figure: 2,
        core: &[
            Part {
                on: "k = {2,3}, layer 1",
                place: CIRCUIT,
                statistic: LOOKS_BACK,
                limit: AtLeast(0.5),
                why: ATTENDS,
                runs: BOTH,
            },
            Part {
                on: "k = {2,3}, layer 2",
                place: CIRCUIT,
                statistic: LOOKS_AT_FOLLOWERS,
                limit: AtLeast(0.5),
                why: ATTENDS,
                runs: BOTH,
            },
        ],
        probes: &[
            Part {
                on: "k = {2,3}, layer 1",
                place: "how sharply?",
                statistic: LOOKS_BACK,
                limit: AtLeast(0.8),
                why: KEPT,
                runs: BOTH,
            },
            Part {
                on: "k = {2,3}, layer 2",
                place: "how sharply?",
                statistic: LOOKS_AT_FOLLOWERS,
                limit: AtLeast(0.8),
                why: KEPT,
                runs: BOTH,
            },
            Part {
                on: "k = {2,3}, layer 1",
                place: "does it mark all symbols?",
                statistic: Statistic::model(
                    "mean attention to the previous token, at the end, for the symbol with the least of it",
                    |trained, run| by_symbol(trained, run)?.into_iter().reduce(f64::min),
                ),
                limit: AtLeast(0.5),
                why: "as for the core part",
                runs: BOTH,
            },
        ],
        remark: |results| {
            let modes = |id: &str| {
                let trained = results.of(id);
                let all = trained.sound().filter_map(|run| {
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
        },
        ..Claim::BARE
    },
    Claim {
        id: "C10",
        title: "Odd lags outweigh even ones before the second drop",
        statement: "On the way to the solution, the first layer prefers to look back by an odd number of \
                    tokens, in the minimal model and in the transformer.",
        question: MECHANISM,
        figure: 4,
        not_run: &[RELEASED_MINIMAL],
        core: &[Part {
            on: "{transformer,minimal model}, k = {2,3}",
            place: "introduction, last finding; section 3.2, even/odd pattern; figures 3, 4b and 12",
            statistic: Statistic::number(
                "weight of lags 3, 5, 7 and 9 above the mean of their even neighbours, relative to the mean \
                 weight of lags 2 to 10, when a tenth of the second drop is complete",
                |run| {
                    // A run may skip unigrams.
                    let fall = run.fall_from("unigram").or(run.fall_from("uniform"))?;
                    let scores = run.column(&ODD_EVEN);
                    scores.get(run.record_at(fall.start)).copied()
                },
            ),
            limit: AtLeast(0.0),
            why: "the paper claims the sign, not a size; kept from the first round",
            runs: &[TWO_STATES, THREE_STATES, MINIMAL_TWO, MINIMAL_THREE],
        }],
        ..Claim::BARE
    },
    Claim {
        id: "C15",
        title: "The hand-made transformer counts bigrams",
        statement: "Two layers with weights set by hand compute bigram frequencies; with the footnote's \
                    output map, their loss is close to that of exact Bayes.",
        question: LEARNED,
        figure: 11,
        core: &[
            Part {
                on: SETS,
                place: "section 2.3, proposition",
                statistic: Statistic::untrained(
                    "mean total variation distance between the averages of its second layer and the \
                     frequencies of symbols after the current one",
                    &[
                        || construction::apart_from_counts(2),
                        || construction::apart_from_counts(3),
                    ],
                ),
                limit: AtMost(0.05),
                why: "kept from the first round: one extra count among a few dozen",
                runs: &[],
            },
            Part {
                on: SETS,
                place: "section 2.3, footnote to the proposition: close to Bayes optimal loss",
                statistic: Statistic::untrained(
                    "fraction of the gap between the loss of uniform predictions and of exact Bayes that it \
                     closes",
                    &[
                        || construction::gap_closed(2, "uniform", "bayes"),
                        || construction::gap_closed(3, "uniform", "bayes"),
                    ],
                ),
                limit: AtLeast(0.8),
                why: "close means the same as in C16",
                runs: &[],
            },
        ],
        probes: &[Part {
            on: SETS,
            place: "how near does it come by the measure of C1?",
            statistic: Statistic::untrained(
                "fraction of the gap between the unigram and the bigram strategy's loss that it closes",
                &[
                    || construction::gap_closed(2, "unigram", "bigram"),
                    || construction::gap_closed(3, "unigram", "bigram"),
                ],
            ),
            limit: AtLeast(0.9),
            why: KEPT,
            runs: &[],
        }],
        remark: |_| {
            "The output map was chosen on a separate set of sequences. The averages equal the frequencies up \
             to rounding, except that the first symbol is counted one extra time if it is also the last one."
                .into()
        },
        ..Claim::BARE
    },
    Claim {
        id: "C18",
        title: "Position acts alike on all symbols during most of training",
        statement: "In the first layer, the attention that position alone gives to each lag is similar \
                    whatever the symbol, during most of training.",
        question: MECHANISM,
        figure: 12,
        core: &[
            Part {
                on: "k = 2",
                place: "section 3.2, even/odd pattern: during most of training",
                statistic: Statistic::model(
                    "share of training, up to 1.3 times the step at which bigrams become nearest, in which \
                     the positional profiles of any two symbols are within a total variation distance of \
                     0.25",
                    |trained, run| time_alike(trained, run, 1.3),
                ),
                limit: AtLeast(0.5),
                why: "most of training is more than half of it; the release trains for 2,000 steps, 1.3 times \
                      its median transition (docs/released); similar is taken as sharing three quarters of the \
                      mass",
                runs: &[TWO_STATES],
            },
            Part {
                on: "k = 3",
                place: "section 3.2, even/odd pattern: during most of training",
                statistic: Statistic::model(
                    "share of training in which the positional profiles of any two symbols are within a total \
                     variation distance of 0.25",
                    |trained, run| time_alike(trained, run, f64::INFINITY),
                ),
                limit: AtLeast(0.5),
                why: "most of training is more than half of it; similar is taken as sharing three quarters of \
                      the mass",
                runs: &[THREE_STATES],
            },
        ],
        probes: &[Part {
            on: "k = {2,3}",
            place: "is it still so at the end?",
            statistic: Statistic::model(
                "largest total variation distance between the positional profiles of two symbols, at the end",
                |trained, run| largest_distance(&trained.model, run.params()?),
            ),
            limit: AtMost(0.25),
            why: "similar means the same as for the core part",
            runs: BOTH,
        }],
        ..Claim::BARE
    },
    Claim {
        id: "C23",
        title: "Layer 2 is nearly final while its attention still changes",
        statement: "When the second drop begins, the second layer's weights already resemble the final ones, \
                    while its attention still differs, since the first layer does.",
        question: MECHANISM,
        figure: 2,
        core: &[
            Part {
                on: "k = {2,3}",
                place: "section 3.1, mechanistic evidence (a conditional remark): mostly the same as at the end",
                statistic: Statistic::model(
                    "how far the second layer's attention is from the final one if, in the final model, only \
                     that layer's query, key and position weights are set back to when a tenth of the second \
                     drop was complete, over how far it was then",
                    |trained, run| {
                        let [then, end] = as_the_drop_begins(run)?;
                        let mut set_back = end.to_vec();
                        for name in ["layers.1.W_Q", "layers.1.W_K", "layers.1.v"] {
                            let range = trained.model.layout().tensor(name)?.range.clone();
                            set_back[range.clone()].copy_from_slice(&then[range]);
                        }
                        let second_layer = attention_apart(trained, run, &set_back, end)?;
                        Some(second_layer / attention_apart(trained, run, then, end)?)
                    },
                ),
                limit: AtMost(0.5),
                why: "at least half of the change of the attention is then the first layer's doing",
                runs: BOTH,
            },
            Part {
                on: "k = {2,3}",
                place: "section 3.1, mechanistic evidence (a conditional remark): could differ dramatically",
                statistic: Statistic::model(
                    "mean total variation distance between the last token's attention in the second layer \
                     when a tenth of the second drop is complete and at the end",
                    |trained, run| {
                        let [then, end] = as_the_drop_begins(run)?;
                        attention_apart(trained, run, then, end)
                    },
                ),
                limit: AtLeast(0.25),
                why: "dissimilar means the opposite of similar in C18",
                runs: BOTH,
            },
        ],
        ..Claim::BARE
    },
];

const LOOKS_BACK: Statistic = Statistic::model(
    "mean attention to the previous token, at the end, by the symbol of that token: the least of the k − 1 \
     largest",
    |trained, run| {
        let mut attention = by_symbol(trained, run)?;
        attention.sort_by(f64::total_cmp);
        attention.get(1).copied()
    },
);

const LOOKS_AT_FOLLOWERS: Statistic = Statistic::number(
    "mean attention to tokens that followed the current symbol, at the end",
    |run| run.best_head(&INDUCTION, 1),
);

/// Sequences over which attention is averaged.
const OBSERVED: u64 = 32;

/// Layer 1's mean attention to the previous token in a run's final model, by the symbol of that token, over
/// sequences of the run's exam; the head that attends to it most.
pub(in crate::paper) fn by_symbol(trained: &Trained, run: &Run) -> Option<Vec<f64>> {
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
fn time_alike(trained: &Trained, run: &Run, multiple: f64) -> Option<f64> {
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
fn attention_apart(trained: &Trained, run: &Run, some: &[f32], others: &[f32]) -> Option<f64> {
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
