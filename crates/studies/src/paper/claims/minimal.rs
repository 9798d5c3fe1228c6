//! Claims about the minimal model, and about what it says of the transformer.

use induct::digest;
use induct::measure::{
    DIAGONAL_DOMINANCE, KL_TRUTH, MATCHING_GAP, POSITIONAL_PROFILE, PREVIOUS_TOKEN, TEST_KL_TRUTH,
};
use induct::probe::median;
use induct::train::{FromSpec, Recipe, Trainer};
use rayon::prelude::*;

use super::{
    MINIMAL, MINIMAL_THREE, MINIMAL_TWO, PHASES, PRINTED, RECOMMENDED, RELEASED_MINIMAL, Runs,
    SIGNAL, TWO_STATES, nothing,
};
use crate::claim::{Claim, Limit, Part, Role};
use crate::paper::STUDY;
use crate::results::{Results, Trained, fresh_set};
use crate::run::Run;
use crate::statistics::{Sample, correlation};

/// The minimal model beside the transformer.
const BESIDE_TWO: Runs = &[
    (PRINTED, &["minimal", "printed"]),
    (RECOMMENDED, &["minimal", "main"]),
];
const BESIDE_THREE: Runs = &[
    (PRINTED, &["minimal-three-states", "printed-three-states"]),
    (RECOMMENDED, &["minimal-three-states", "three-states"]),
];

/// The first steps of the minimal model.
const START: Runs = &[
    (PRINTED, &["minimal-start"]),
    (RECOMMENDED, &["minimal-start"]),
];

/// The minimal model with a slow second layer, and without.
const SLOW: Runs = &[
    (
        PRINTED,
        &["minimal-slow-second-layer", "minimal-uniform-start"],
    ),
    (
        RECOMMENDED,
        &["minimal-slow-second-layer", "minimal-uniform-start"],
    ),
];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C8",
        title: "The minimal model learns bigrams and hardly stops at unigrams",
        statement: "Like the transformer, the minimal model converges to the bigram strategy, but it spends \
                    much less time at unigrams, if any.",
        question: MINIMAL,
        figure: 12,
        not_run: &[RELEASED_MINIMAL],
        parts: &[
            ends_at_bigrams("k = 2", MINIMAL_TWO),
            ends_at_bigrams("k = 3", MINIMAL_THREE),
            Part {
                place: "section 3.1, first paragraph: all the models converge near the optimum; figure 12, below",
                ..near_bigram("k = 2", MINIMAL_TWO)
            },
            near_bigram("k = 3", MINIMAL_THREE),
            hardly_stops("k = 2", BESIDE_TWO),
            hardly_stops("k = 3", BESIDE_THREE),
        ],
        remark: |results| {
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
        },
    },
    Claim {
        id: "C9",
        title: "The loss quickly drops to the unigram level",
        statement: "In distribution, the loss of both models quickly drops to the level of the unigram \
                    strategy; other distributions tell what is counted.",
        question: PHASES,
        figure: 11,
        not_run: &[RELEASED_MINIMAL],
        parts: &[
            quick_drop("transformer, k = 2", TWO_STATES),
            quick_drop("minimal model, k = 2", MINIMAL_TWO),
            Part {
                role: Role::Probe,
                on: "transformer, independent symbols",
                place: "what does the model count in the unigram phase?",
                measure: "loss in excess of the unigram strategy's, relative to the uniform strategy's \
                          excess, in the unigram phase (median)",
                limit: Limit::AtMost(0.1),
                why: "kept from the first round",
                runs: TWO_STATES,
                sample: |results, runs| {
                    results.of(runs[0]).numbers(|run| {
                        let uniform = run.level_on("iid", "uniform");
                        let unigram = run.level_on("iid", "unigram");
                        Some((in_unigram_phase(run, "iid")? - unigram) / (uniform - unigram))
                    })
                },
            },
            Part {
                role: Role::Probe,
                on: "transformer, doubly stochastic chains",
                place: "what does the model count in the unigram phase?",
                measure: "improvement over the uniform strategy's loss, relative to that loss, in the \
                          unigram phase (median)",
                limit: Limit::AtMost(0.05),
                why: "kept from the first round",
                runs: TWO_STATES,
                sample: |results, runs| {
                    results.of(runs[0]).numbers(|run| {
                        let uniform = run.level_on("doubly_stochastic", "uniform");
                        Some(1.0 - in_unigram_phase(run, "doubly_stochastic")? / uniform)
                    })
                },
            },
        ],
        remark: |_| {
            "The release's own sets of doubly stochastic chains and of independent symbols are plain Dirichlet \
             chains in effect, since an attribute hides the methods that should draw them; ours are what the \
             caption says."
                .into()
        },
    },
    Claim {
        id: "C11",
        title: "The second layer is learned first",
        statement: "The second layer learns to match equal symbols before the first layer learns to attend \
                    to the previous token.",
        question: MINIMAL,
        figure: 4,
        not_run: &[RELEASED_MINIMAL],
        parts: &[
            Part {
                role: Role::Core,
                on: "minimal model, k = 2",
                place: "section 3.2, 2nd layer is learnt first; lemma",
                measure: "share of runs in which W_k is diagonal (three times as large on the diagonal as \
                          off it) at an earlier step than that at which v_2 becomes the largest weight",
                limit: Limit::AtLeast(0.5),
                why: "most runs, as for the order of phases (C2)",
                runs: START,
                sample: |results, runs| {
                    results.of(runs[0]).hits(|run| {
                        let diagonal = run.first(&DIAGONAL_DOMINANCE, |d| d >= 0.5);
                        let leading = profiles(run).iter().position(|profile| leads(profile, 1));
                        let leading = leading.map(|record| run.steps()[record]);
                        diagonal
                            .zip(leading)
                            .is_some_and(|(diagonal, leading)| diagonal < leading)
                    })
                },
            },
            Part {
                role: Role::Probe,
                on: "transformer, k = 2",
                place: "section 3.2: the evidence is not so clear in the latter case",
                measure: "share of runs in which the second layer's preference for equal symbols is half-way \
                          to its final value before the first layer's attention to the previous token is",
                limit: Limit::AtLeast(0.5),
                why: "as for the minimal model",
                runs: &[(PRINTED, &["printed"]), (RECOMMENDED, &["main"])],
                sample: |results, runs| {
                    results.of(runs[0]).hits(|run| {
                        let previous = half_way(run, &run.over_heads(&PREVIOUS_TOKEN, 0));
                        let matching = half_way(run, &run.column(&MATCHING_GAP));
                        previous
                            .zip(matching)
                            .is_some_and(|(previous, matching)| matching < previous)
                    })
                },
            },
        ],
        remark: nothing,
    },
    Claim {
        id: "C19",
        title: "The even/odd pattern follows the moments of the eigenvalue",
        statement: "Early in training, the minimal model's weights rise and fall with the lag as the moments \
                    of the transition matrix's second eigenvalue do.",
        question: MINIMAL,
        figure: 4,
        not_run: &[RELEASED_MINIMAL],
        parts: &[Part {
            role: Role::Core,
            on: "minimal model, k = 2",
            place: "section 3.2, even/odd pattern: closely related to the moments of the eigenvalue (there after \
                    two steps; here after 60, when the noise of single batches has averaged out)",
            measure: "correlation over lags 2 to 9 between how far v stands above the mean of its two \
                      neighbours and how far the moment of order lag + 1 of the second eigenvalue does, after \
                      60 steps",
            limit: Limit::AtLeast(0.9),
            why: "closely related: four fifths of the variance explained",
            runs: START,
            sample: |results, runs| {
                results.of(runs[0]).numbers(|run| {
                    let last = profiles(run).pop()?;
                    let moments: Vec<f64> = (0..=10).map(|lag| moment(lag + 1)).collect();
                    correlation(
                        &above_neighbours(last.get(..=10)?),
                        &above_neighbours(&moments),
                    )
                })
            },
        }],
        remark: nothing,
    },
    Claim {
        id: "C20",
        title: "Small second-layer gradients bias towards unigrams",
        statement: "If the second layer hardly moves, the first is drawn to the unigram solution: the model \
                    stays at unigrams for longer.",
        question: SIGNAL,
        figure: 4,
        not_run: &[RELEASED_MINIMAL],
        parts: &[
            Part {
                role: Role::Core,
                on: "minimal model, k = 2, W_k at a tenth of the learning rate",
                place: "section 3.2, passing by unigrams: biases it towards a simpler solution",
                measure: "smallest KL(unigram ‖ model) during training, over that of the run with the same seed \
                          and the full rate",
                limit: Limit::AtMost(1.0),
                why: "biased towards unigrams: nearer to them than at the full rate",
                runs: SLOW,
                sample: |results, runs| {
                    slow_over_full(results, runs, |run| {
                        run.distance("unigram")
                            .into_iter()
                            .fold(f64::INFINITY, f64::min)
                    })
                },
            },
            Part {
                role: Role::Core,
                on: "minimal model, k = 2, W_k at a tenth of the learning rate",
                place: "section 3.2, passing by unigrams: slows down v",
                measure: "steps at which unigrams are the nearest strategy, over those of the run with the same \
                          seed and the full rate",
                limit: Limit::AtLeast(1.0),
                why: "slower: more steps than at the full rate of W_k, with the rate of v unchanged",
                runs: SLOW,
                sample: |results, runs| {
                    slow_over_full(results, runs, |run| run.steps_at("unigram"))
                },
            },
        ],
        remark: nothing,
    },
    Claim {
        id: "C22",
        title: "Two steps with a curriculum reach bigrams",
        statement: "One gradient step on the original chains, then one on chains without unigram signal with \
                    full weight decay, bring the minimal model to the bigram solution; with cross-entropy as \
                    with the margin loss of the proof.",
        question: MINIMAL,
        figure: 7,
        not_run: &[],
        parts: &[
            Part {
                role: Role::Core,
                on: "minimal model, k = 2, 20 pairs of batches instead of seeds",
                place: "section 3.2 and appendix A, proposition on two steps, there for the margin loss",
                measure: "share of fresh sequences on which the model prefers the symbol that the bigram \
                          strategy prefers, after two steps of cross-entropy",
                limit: Limit::AtLeast(0.9),
                why: "the proof is for the margin loss, long sequences, exact gradients and chains near a = b = \
                      1/2; nine sequences of ten allow for t = 100, sampled gradients and all of a = b",
                runs: &[],
                sample: |_, _| two_steps(|outcome| outcome.agreement),
            },
            Part {
                role: Role::Core,
                on: "minimal model, k = 2, 20 pairs of batches instead of seeds",
                place: "section 3.2 and appendix A, proposition on two steps, there for the margin loss",
                measure: "largest other weight of v in units of v_2, after two steps of cross-entropy",
                limit: Limit::AtMost(1.0),
                why: "dominant means larger than any other, as the lemma puts it",
                runs: &[],
                sample: |_, _| two_steps(|outcome| outcome.second_largest),
            },
        ],
        remark: |_| {
            "The ledger of formulas comes to the same result for the margin loss and exact gradients: v_2 is the \
             largest weight, but others of even index remain, and the final predictor is not that of bigrams \
             (`proposition.reaches-bigrams` in `induct theory`)."
                .into()
        },
    },
];

const fn ends_at_bigrams(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.2, first paragraph: converges to the bigrams solution",
        measure: "share of the minimal model's runs that end nearest to the bigram strategy",
        limit: Limit::AtLeast(0.5),
        why: "most runs, as for the order of phases (C2)",
        runs,
        sample: |results, runs| {
            let ends = |run: &Run| run.order().last().is_some_and(|last| last == "bigram");
            results.of(runs[0]).hits(ends)
        },
    }
}

const fn near_bigram(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.1, first paragraph: all the models converge near the optimum; figure 3, below",
        measure: "fraction of the gap between the unigram and the bigram strategy's loss that the final \
                  model closed, on fresh sequences",
        limit: Limit::AtLeast(0.75),
        why: "near means the same as in C1",
        runs,
        sample: |results, runs| {
            results
                .of(runs[0])
                .numbers(|run| run.exam()?.gap_closed("unigram", "bigram"))
        },
    }
}

const fn hardly_stops(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.2, first paragraph: significantly less time, if any",
        measure: "sequences seen while unigrams are the nearest strategy, over those of the transformer with \
                  the same seed",
        limit: Limit::AtMost(0.5),
        why: "kept from the first round: half the time or less",
        runs,
        sample: |results, runs| {
            let [minimal, transformer] = [0, 1].map(|at| results.of(runs[at]));
            let ratio = |(small, large): (&Run, &Run)| {
                let seen =
                    |trained: &Trained, run: &Run| trained.thousands(run.steps_at("unigram"));
                let [small_seen, large_seen] = [seen(minimal, small), seen(transformer, large)];
                // A transformer that is never at unigrams cannot be compared with.
                let comparable = small.is_sound() && large.is_sound() && large_seen > 0.0;
                comparable.then(|| small_seen / large_seen)
            };
            Sample::Numbers(
                minimal
                    .runs
                    .iter()
                    .zip(&transformer.runs)
                    .map(ratio)
                    .collect(),
            )
        },
    }
}

const fn quick_drop(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "appendix C, caption of figure 11: quickly drops to the level of the unigram algorithm",
        measure: "step at which the loss has first made nine tenths of the way from the uniform to the unigram \
                  level, over the step at which bigrams become nearest",
        limit: Limit::AtMost(0.25),
        why: "quickly: within the first quarter of the time to the second drop",
        runs,
        sample: |results, runs| {
            results.of(runs[0]).numbers(|run| {
                let (uniform, unigram) = (run.level("uniform"), run.level("unigram"));
                let level = unigram + 0.1 * (uniform - unigram);
                Some(run.first(&KL_TRUTH, |loss| loss <= level)? / run.onset("bigram")?)
            })
        },
    }
}

/// A quantity of a run with a slow second layer, over that of the run with the same seed and the full rate.
fn slow_over_full(results: &Results, runs: &[&str], of: impl Fn(&Run) -> f64) -> Sample {
    let [slow, full] = [0, 1].map(|at| results.of(runs[at]));
    let ratio = |(slow, full): (&Run, &Run)| {
        let (above, below) = (of(slow), of(full));
        (slow.is_sound() && full.is_sound() && below > 0.0).then(|| above / below)
    };
    Sample::Numbers(slow.runs.iter().zip(&full.runs).map(ratio).collect())
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
