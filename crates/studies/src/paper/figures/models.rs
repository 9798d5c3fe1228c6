//! Losses and similarities of models: two, three and more states, trigrams, other distributions, one layer.

use induct::measure::{
    Column, INDUCTION, KL_TRUTH, PREVIOUS_TOKEN, TEST_KL_TRUTH, positional_profile,
};
use induct::probe::{IN_DISTRIBUTION, median};
use induct_figure::{Axis, Colour, Figure, Mark, Panel, Plot, Series};

use super::curves::{self, COUNTS_AND_CURRENT, LEVELS, SEEN};
use crate::figure::Drawn;
use crate::paper::experiments::ONE_LAYER;
use crate::results::{Results, Trained};
use crate::run::Run;

/// The lags of a positional profile to show. Lag 1, which the solution needs, would dwarf all others.
const LAGS: std::ops::RangeInclusive<usize> = 2..=14;
/// The lags whose mean weight is the unit.
const UNIT: std::ops::RangeInclusive<usize> = 2..=10;

/// Transformer above, minimal model below: loss, positions in layer 1, similarity.
pub(super) fn beside(results: &Results, transformer: &str, minimal: &str, k: usize) -> Drawn {
    let (above, below) = (results.of(transformer), results.of(minimal));
    let mut panels = row(above, "Transformer");
    panels.extend(row(below, "Minimal model"));
    let figure = Figure {
        description: format!(
            "Test loss, positions in layer 1 and similarity to strategies over training with {k} states, \
             for the transformer and the minimal model."
        ),
        panels,
        columns: 3,
    };
    let closed = |trained: &Trained| curves::percent(trained.gap_closed("unigram", "bigram"));
    Drawn::new(
        figure,
        format!(
            "Left: loss at the last position, with the losses of strategies. Middle: how position alone \
             weighs lags 2 and more in layer 1 when a tenth of the second drop is complete (B for the first \
             seed), in units of their mean, for odd and even lags: {}; {}. Right: distance to each strategy, \
             with the background in the colour of the nearest one. At the end, the transformer has closed {} \
             of the gap between unigram and bigram, the minimal model {}. {}",
            Profile::of(above).in_words("transformer"),
            Profile::of(below).in_words("minimal model"),
            closed(above),
            closed(below),
            curves::legend(&[above, below])
        ),
    )
}

fn row(trained: &Trained, name: &str) -> Vec<Panel> {
    let moments = trained.sound().next().map(curves::moments);
    let moments = moments.map(|moments| curves::marks(trained, &moments));
    vec![
        curves::panel(trained, &format!("{name}: loss"), || Plot {
            moments: moments.unwrap_or_default(),
            ..curves::loss(trained, "model", &["unigram", COUNTS_AND_CURRENT, "bigram"])
        }),
        curves::panel(trained, &format!("{name}: positions in layer 1"), || {
            Profile::of(trained).plot()
        }),
        curves::panel(trained, &format!("{name}: similarity"), || {
            curves::similarity(trained)
        }),
    ]
}

/// The weights that position alone gives to lags as the second drop begins.
struct Profile {
    /// Of every run with snapshots and a second drop, from lag 2 on, in units of the mean weight.
    runs: Vec<Vec<f64>>,
    /// The medians over these runs.
    middle: Vec<f64>,
    /// The number of runs with snapshots during training.
    observed: usize,
}

impl Profile {
    fn of(trained: &Trained) -> Self {
        let observed = trained.sound().filter(|run| run.snapshots().len() > 1);
        let observed: Vec<&Run> = observed.collect();
        let weights = |run: &&Run| {
            let fall = run.fall_from("unigram")?;
            let (_, params) = run.snapshots().get(run.snapshot_at(fall.start))?;
            let profile = positional_profile(&trained.model, params)?;
            let window = profile.get(UNIT)?;
            let unit = window.iter().sum::<f64>() / window.len() as f64;
            let shown = profile.into_iter().take(LAGS.end() + 1);
            let shown: Vec<f64> = shown.skip(*LAGS.start()).map(|w| w / unit).collect();
            shown.iter().all(|w| w.is_finite()).then_some(shown)
        };
        let runs: Vec<Vec<f64>> = observed.iter().filter_map(weights).collect();
        let count = runs.iter().map(Vec::len).min().unwrap_or(0);
        let at = |index: usize| median(&runs.iter().map(|run| run[index]).collect::<Vec<_>>());
        Self {
            middle: (0..count).map(at).collect(),
            runs,
            observed: observed.len(),
        }
    }

    fn plot(&self) -> Plot {
        let by_lag = |weights: &[f64]| -> Vec<(f64, f64)> {
            let weights = weights.iter().copied();
            LAGS.map(|lag| lag as f64).zip(weights).collect()
        };
        let mut series = Vec::new();
        if self.runs.len() > 1 {
            let shown = self.runs.iter().take(curves::SHOWN);
            series.extend(
                shown.map(|run| Series::new("single run", Colour::Muted, Mark::Faint, by_lag(run))),
            );
        }
        let middle = by_lag(&self.middle);
        let parity = |odd: bool| {
            let points = middle.iter().copied();
            points.filter(move |(lag, _)| (lag % 2.0 == 1.0) == odd)
        };
        let (vermilion, blue) = (Colour::Vermilion, Colour::Blue);
        series.push(Series::new("", Colour::Muted, Mark::Thin, middle.clone()));
        series.push(Series::new(
            "odd lags",
            vermilion,
            Mark::Points,
            parity(true),
        ));
        series.push(Series::new("even lags", blue, Mark::Points, parity(false)));
        Plot {
            x: Axis::linear("tokens back"),
            y: Axis::linear("weight as the second drop begins, in units of the mean"),
            series,
            ..Plot::default()
        }
    }

    /// How far odd lags stand above their even neighbours.
    fn in_words(&self, name: &str) -> String {
        let lags: Vec<(usize, f64)> = LAGS.zip(self.middle.iter().copied()).collect();
        let above = lags.windows(3).filter(|three| three[1].0 % 2 == 1);
        let above = above.map(|three| three[1].1 - 0.5 * (three[0].1 + three[2].1));
        let above: Vec<f64> = above.collect();
        match (above.is_empty(), self.observed) {
            (_, 0) => format!("the {name} was not observed during training"),
            (true, runs) => format!("in none of {runs} runs does the {name} have a second drop"),
            (false, observed) => {
                let mean = above.iter().sum::<f64>() / above.len() as f64;
                let side = if mean >= 0.0 { "above" } else { "below" };
                let missing = match observed - self.runs.len() {
                    0 => String::new(),
                    missing => format!(" ({missing} of {observed} runs have no second drop)"),
                };
                format!(
                    "in the {name}, odd lags lie {:.1} % {side} their even neighbours on average{missing}",
                    100.0 * mean.abs()
                )
            }
        }
    }
}

pub(super) fn trigrams(results: &Results) -> Drawn {
    let (three, one) = (results.of("trigram"), results.of("trigram-one-head"));
    let strategies = ["uniform", "unigram", "bigram", "trigram"];
    let row = |trained: &Trained, name: &str| {
        [
            curves::panel(trained, &format!("{name}: loss"), || {
                curves::loss(trained, "model", &strategies)
            }),
            curves::panel(trained, &format!("{name}: similarity"), || {
                curves::similarity(trained)
            }),
        ]
    };
    let mut panels = row(three, "Three heads per layer").to_vec();
    panels.extend(row(one, "One head per layer"));
    let figure = Figure {
        description:
            "Loss and similarity to strategies over training on trigrams, with three heads per layer and \
             with one."
                .into(),
        panels,
        columns: 2,
    };
    let closed = |trained: &Trained| curves::percent(trained.gap_closed("bigram", "trigram"));
    Drawn::new(
        figure,
        format!(
            "With three heads per layer, the model moves from one strategy to the next and ends having \
             closed {} of the gap between bigram and trigram. With one head it closes {} of that gap. {}",
            closed(three),
            closed(one),
            curves::legend(&[three, one])
        ),
    )
}

pub(super) fn more_states(results: &Results) -> Drawn {
    let rows = [("five-states", 5), ("eight-states", 8)];
    let rows = rows.map(|(id, k)| (results.of(id), k));
    let row = |&(trained, k): &(&Trained, u32)| {
        [
            curves::panel(trained, &format!("k = {k}: loss"), || {
                curves::loss(trained, "model", &["uniform", "unigram", "bigram"])
            }),
            curves::panel(trained, &format!("k = {k}: heads"), || heads(trained)),
            curves::panel(trained, &format!("k = {k}: similarity"), || {
                curves::similarity(trained)
            }),
        ]
    };
    let figure = Figure {
        description:
            "Loss, head scores and similarity to strategies over training with five and eight \
                      states."
                .into(),
        panels: rows.iter().flat_map(row).collect(),
        columns: 3,
    };
    let in_words = |(trained, k): (&Trained, u32)| {
        let closed = curves::percent(trained.gap_closed("unigram", "bigram"));
        let score = |measure, layer| {
            let score = trained.median(|run| run.best_head(measure, layer));
            curves::percent(score)
        };
        format!(
            "with k = {k}, the final model has closed {closed} of the gap between unigram and bigram; its \
             first layer puts {} of its attention on the previous token, its second {} on tokens that \
             followed the current symbol",
            score(&PREVIOUS_TOKEN, 0),
            score(&INDUCTION, 1)
        )
    };
    let [five, eight] = rows;
    Drawn::new(
        figure,
        format!(
            "With more states, unigrams say less about the next symbol, so the first two levels are closer \
             together and the nearest strategy (right) says less. The attention of the heads (middle, mean \
             over positions, the best head of a layer) shows when the circuit forms: {}; {}. {}",
            in_words(five),
            in_words(eight),
            curves::legend(&[five.0, eight.0])
        ),
    )
}

/// The scores of the heads of the circuit over training.
fn heads(trained: &Trained) -> Plot {
    let seen = |step: f64| trained.thousands(step);
    let scores = [
        (
            "layer 1: previous token",
            Colour::Vermilion,
            &PREVIOUS_TOKEN,
            0,
        ),
        ("layer 2: induction", Colour::Green, &INDUCTION, 1),
    ];
    let series = scores
        .into_iter()
        .flat_map(|(label, colour, measure, layer)| {
            curves::lines(label, colour, trained, seen, |run| {
                run.over_heads(measure, layer)
            })
        });
    Plot {
        x: Axis::linear(SEEN),
        y: Axis::linear("share of attention").range(0.0, 1.0),
        series: series.collect(),
        names_above: true,
        ..Plot::default()
    }
}

pub(super) fn elsewhere(results: &Results) -> Drawn {
    let sets = [
        (IN_DISTRIBUTION, "in distribution"),
        ("iid", "independent symbols"),
        ("doubly_stochastic", "doubly stochastic"),
    ];
    let models = [("main", "Transformer"), ("minimal", "Minimal model")];
    let models = models.map(|(id, name)| (results.of(id), name));
    let mut panels = Vec::new();
    for (trained, name) in models {
        for (set, words) in sets {
            let column = match set {
                IN_DISTRIBUTION => Column::from(&KL_TRUTH),
                _ => TEST_KL_TRUTH.of_test(set),
            };
            panels.push(curves::panel(trained, &format!("{name}: {words}"), || {
                curves::loss_on(trained, set, column, &["uniform", "unigram", "bigram"])
            }));
        }
    }
    let figure = Figure {
        description:
            "Loss of the transformer and the minimal model over training: in distribution, on independent \
             symbols, and on doubly stochastic chains."
                .into(),
        panels,
        columns: 3,
    };
    Drawn::new(
        figure,
        format!(
            "On independent symbols, counting symbols is optimal; on doubly stochastic chains it is useless. \
             Together they show what the model counts. While the model is at unigrams, its loss is low on \
             the former and still near that of the uniform strategy on the latter; when it turns to bigrams, \
             it improves on the latter. The released code's own two sets of these names are plain Dirichlet \
             chains in effect, because an attribute of the base class hides the methods that would draw \
             them; ours are what their names say. {}",
            curves::legend(&models.map(|(trained, _)| trained))
        ),
    )
}

pub(super) fn one_layer(results: &Results) -> Drawn {
    let two = results.of("main");
    let panel = |(id, about): &(&str, &'static str)| {
        let one = results.of(id);
        curves::panel(one, &capital(about), || {
            let mut plot = curves::loss(one, "one layer", &LEVELS);
            plot.series
                .extend(curves::column("two layers", Colour::Pink, two, &KL_TRUTH));
            plot
        })
    };
    let figure = Figure {
        description:
            "Loss of one-layer transformers over training, at the rate and batch of two layers but for \
             longer."
                .into(),
        panels: ONE_LAYER.iter().map(panel).collect(),
        columns: 2,
    };
    let ones = ONE_LAYER.map(|(id, _)| results.of(id));
    let losses = ones.map(|one| one.median(|run| Some(run.exam()?.loss)));
    let known = losses.into_iter().filter(|loss| loss.is_finite());
    let (low, high) = known.fold((f64::MAX, f64::MIN), |(low, high), l| {
        (low.min(l), high.max(l))
    });
    let mut reading = String::from(
        "One layer has no second drop, whatever its positions and with or without an MLP; two layers do.",
    );
    if low <= high {
        let steps = |trained: &Trained| trained.experiment.recipe.train.steps;
        reading += &format!(
            " The rate and the batch are the same; one layer trains for {} steps, two layers for {}. On \
             fresh sequences the one-layer models end between {low:.4} and {high:.4} nats; {}.",
            steps(ones[0]),
            steps(two),
            reached(two, ones[0])
        );
    }
    reading += " ";
    let mut all = vec![two];
    all.extend(ones);
    reading += &curves::legend(&all);
    Drawn::new(figure, reading)
}

/// The losses of strategies that one layer might follow, in words.
fn reached(two: &Trained, one: &Trained) -> String {
    let level = |strategy: &str| match one.level(strategy) {
        level if level.is_finite() => level,
        _ => two.level(strategy),
    };
    let unigram = format!("the unigram strategy is at {:.4}", level("unigram"));
    match level(COUNTS_AND_CURRENT) {
        best if best.is_finite() => format!(
            "{unigram}, and the best predictor from the counts of symbols and the current symbol at {best:.4}"
        ),
        _ => unigram,
    }
}

/// Capitalises the first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
