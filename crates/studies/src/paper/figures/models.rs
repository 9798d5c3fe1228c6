//! Losses and similarities of models: two, three and more states, trigrams, other distributions, one layer.

use induct::internal::median;
use induct::measure::{
    INDUCTION, KL_TRUTH, ODD_EVEN, PREVIOUS_TOKEN, TEST_KL_TRUTH, positional_profile,
};
use induct::probe::IN_DISTRIBUTION;
use induct_figure::{Axis, Colour, Figure, Mark, Note, Panel, Plot, Series};

use crate::claim::words;
use crate::curves::{self, COUNTS_AND_CURRENT, LEVELS};
use crate::figure::Illustration;
use crate::results::{Results, TrainedExperiment};
use crate::run::Run;

/// The lags of a positional profile to show. Lag 1, which the solution needs, would dwarf all others.
const LAGS: std::ops::RangeInclusive<usize> = 2..=14;
/// The first of the lags whose median weight is the unit. In a transformer, lag 3 can dwarf those after it.
const FAR: usize = 4;

/// Transformer above, minimal model below: loss, positions in layer 1, similarity.
pub(super) fn beside(
    results: &Results,
    transformer: &str,
    minimal: &str,
    k: usize,
) -> Illustration {
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
    let closed =
        |trained: &TrainedExperiment| curves::percent(trained.gap_closed("unigram", "bigram"));
    Illustration::new(
        figure,
        format!(
            "Left: loss at the last position, with the losses of strategies. Middle: how position alone \
             weighs lags in layer 1 when a tenth of the run's second drop is complete (B, marked on the left \
             for the first seed); points are medians over runs, and single runs may leave the frame. Odd lags, \
             median over runs: {}; {}. Right: \
             distance to each strategy, with the background in the colour of the nearest one. At the end, \
             the transformer has closed {} of the gap between unigram and bigram, the minimal model {}. In the \
             released code, the minimal model sees the future, because the result of its causal mask is \
             dropped, and chains of fewer than five states start uniformly. {}",
            Profile::of(above).in_words("transformer"),
            Profile::of(below).in_words("minimal model"),
            closed(above),
            closed(below),
            curves::legend(&[above, below])
        ),
    )
}

fn row(trained: &TrainedExperiment, name: &str) -> Vec<Panel> {
    let moments = trained.completed().next().map(curves::moments);
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
    /// Of every run with snapshots and a second drop: from lag 2 on, in units of the median of far lags.
    runs: Vec<Vec<f64>>,
    /// The medians over these runs.
    middle: Vec<f64>,
    /// How far odd lags stand above their even neighbours: the median over runs with a second drop.
    odd_over_even: f64,
    /// The number of runs.
    observed: usize,
    /// The number of them without a second drop.
    without_drop: usize,
}

impl Profile {
    fn of(trained: &TrainedExperiment) -> Self {
        let falling = |run: &Run| Some(run.fall_from("unigram")?.start);
        let weights = |run: &Run| {
            // The final weights alone say nothing of the drop.
            let snapshots = Some(run.snapshots()).filter(|s| s.len() > 1)?;
            let (_, params) = snapshots.get(run.snapshot_at(falling(run)?))?;
            let profile = positional_profile(&trained.model, params)?;
            let shown = profile.get(LAGS)?;
            let unit = median(&shown[FAR - LAGS.start()..]);
            let shown: Vec<f64> = shown.iter().map(|weight| weight / unit).collect();
            shown.iter().all(|w| w.is_finite()).then_some(shown)
        };
        let runs: Vec<Vec<f64>> = trained.completed().filter_map(weights).collect();
        let at = |index: usize| median(&runs.iter().map(|run| run[index]).collect::<Vec<_>>());
        let lags = if runs.is_empty() { 0 } else { LAGS.count() };
        Self {
            middle: (0..lags).map(at).collect(),
            runs,
            odd_over_even: trained.median(|run| {
                let at = run.record_at(falling(run)?);
                run.column(&ODD_EVEN).get(at).copied()
            }),
            observed: trained.completed().count(),
            without_drop: trained
                .completed()
                .filter(|run| falling(run).is_none())
                .count(),
        }
    }

    /// The first lag to show, and the range of weights: that of the medians, with some air. Starts at the far
    /// lags if the nearest would leave no room for their pattern.
    fn window(&self) -> (usize, Option<(f64, f64)>) {
        let range = |from: usize| {
            let values = self.middle.iter().skip(from - LAGS.start());
            values.fold((f64::MAX, f64::MIN), |(low, high), &w| {
                (low.min(w), high.max(w))
            })
        };
        let size = |(low, high): (f64, f64)| high - low;
        let nearest = *LAGS.start();
        let first = match size(range(nearest)) > 2.0 * size(range(FAR)) {
            true => FAR,
            false => nearest,
        };
        let (low, high) = range(first);
        // Single runs scatter around the medians.
        let air = if self.runs.len() > 1 { 0.5 } else { 0.15 } * (high - low);
        (first, (low < high).then_some((low - air, high + air)))
    }

    fn plot(&self) -> Plot {
        let (first, range) = self.window();
        let by_lag = |weights: &[f64]| -> Vec<(f64, f64)> {
            let lags = LAGS.zip(weights.iter().copied());
            let shown = lags.filter(|(lag, _)| *lag >= first);
            shown.map(|(lag, weight)| (lag as f64, weight)).collect()
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
        let (odd, even) = (Colour::Vermilion, Colour::Blue);
        series.push(Series::new("", Colour::Muted, Mark::Thin, middle.clone()));
        series.push(Series::new("odd lags", odd, Mark::Points, parity(true)));
        series.push(Series::new("even lags", even, Mark::Points, parity(false)));
        let y = Axis::linear("weight at B, relative to the median of lags 4 to 14");
        let hidden = LAGS.zip(&self.middle).filter(|(lag, _)| *lag < first);
        let hidden: Vec<String> = hidden
            .map(|(lag, weight)| format!("lag {lag}: {weight:.2}"))
            .collect();
        let note = range.filter(|_| !hidden.is_empty()).map(|(_, high)| Note {
            x: 0.5 * (first + LAGS.end()) as f64,
            y: high,
            text: format!("not shown: {}", hidden.join(", ")),
            dot: false,
        });
        Plot {
            x: Axis::linear("tokens back"),
            y: match range {
                Some((low, high)) => y.range(low, high),
                None => y,
            },
            notes: note.into_iter().collect(),
            series,
            ..Plot::default()
        }
    }

    /// How far odd lags stand above their even neighbours.
    fn in_words(&self, name: &str) -> String {
        if !self.odd_over_even.is_finite() {
            return format!("nothing to compare in the {name}");
        }
        let side = |share: f64| match share >= 0.0 {
            true => format!("{:.1} % above", 100.0 * share),
            false => format!("{:.1} % below", -100.0 * share),
        };
        let mut words = format!(
            "in the {name}, those from 3 to 9 lie {} their even neighbours",
            side(self.odd_over_even)
        );
        let lags: Vec<(usize, f64)> = LAGS.zip(self.middle.iter().copied()).collect();
        let far = lags
            .windows(3)
            .filter(|three| three[1].0 % 2 == 1 && three[0].0 >= FAR);
        let far: Vec<f64> = far
            .map(|three| three[1].1 - 0.5 * (three[0].1 + three[2].1))
            .collect();
        if !far.is_empty() {
            let mean = far.iter().sum::<f64>() / far.len() as f64;
            words += &format!(", those from 5 to 13 {}", side(mean));
        }
        if self.without_drop > 0 {
            words += &format!(
                " ({} of {} runs have no second drop)",
                self.without_drop, self.observed
            );
        }
        words
    }
}

pub(super) fn trigrams(results: &Results) -> Illustration {
    let (three, one) = (results.of("trigram"), results.of("trigram-one-head"));
    let strategies = ["uniform", "unigram", "bigram", "trigram"];
    let row = |trained: &TrainedExperiment, name: &str| {
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
    let closed =
        |trained: &TrainedExperiment| curves::percent(trained.gap_closed("bigram", "trigram"));
    let in_order = |trained: &TrainedExperiment| {
        let in_order = trained.completed().filter(|run| run.order() == strategies);
        let (count, runs) = (in_order.count(), trained.runs.len());
        format!("{count} of {runs} runs")
    };
    Illustration::new(
        figure,
        format!(
            "The nearest strategy is uniform, unigram, bigram and trigram in turn in {} with three heads per \
             layer, and in {} with one. On fresh sequences, the final models have closed {} of the gap \
             between bigram and trigram with three heads, and {} with one. {}",
            in_order(three),
            in_order(one),
            closed(three),
            closed(one),
            curves::legend(&[three, one])
        ),
    )
}

pub(super) fn more_states(results: &Results) -> Illustration {
    let rows = [("five-states", 5), ("eight-states", 8)];
    let rows = rows.map(|(id, k)| (results.of(id), k));
    let row = |&(trained, k): &(&TrainedExperiment, u32)| {
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
    let in_words = |(trained, k): (&TrainedExperiment, u32)| {
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
    Illustration::new(
        figure,
        format!(
            "With more states, unigrams say less about the next symbol, and the nearest strategy (right) can \
             mislead: a model may be nearest to uniform predictions long after its heads have formed. The \
             attention of the heads (middle: mean over positions, the best head of a layer) shows when that \
             is. On fresh sequences, {}; {}. {}",
            in_words(five),
            in_words(eight),
            curves::legend(&[five.0, eight.0])
        ),
    )
}

/// The scores of the heads of the circuit over training.
fn heads(trained: &TrainedExperiment) -> Plot {
    let scores = [
        (
            "layer 1: previous token",
            Colour::Vermilion,
            &PREVIOUS_TOKEN,
            0,
        ),
        ("layer 2: induction", Colour::Green, &INDUCTION, 1),
    ];
    let series = scores.map(|(label, colour, measure, layer)| {
        curves::over_heads(label, colour, trained, measure, layer)
    });
    curves::attention(series.concat())
}

pub(super) fn elsewhere(results: &Results) -> Illustration {
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
            panels.push(curves::panel(trained, &format!("{name}: {words}"), || {
                let strategies = ["uniform", "unigram", "bigram"];
                if set == IN_DISTRIBUTION {
                    return curves::loss(trained, "model", &strategies);
                }
                let column = TEST_KL_TRUTH.of_test(set);
                let series = curves::column("model", Colour::Ink, trained, column);
                curves::losses(series, curves::levels_on(trained, set, &strategies))
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
    Illustration::new(
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

pub(super) fn one_layer(results: &Results) -> Illustration {
    let two = results.of("main");
    let ids = words("one-layer-{relative,absolute}{,-mlp}");
    let ones: Vec<&TrainedExperiment> = ids.iter().map(|id| results.of(id)).collect();
    let untrained = ones.iter().filter(|one| one.runs.is_empty()).count();
    // Without the panels of those that were not trained, unless none was.
    let shown = ones
        .iter()
        .filter(|one| !one.runs.is_empty() || untrained == ones.len());
    let panel = |one: &&TrainedExperiment| {
        curves::panel(one, &capital(one.experiment.about), || {
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
        panels: shown.map(panel).collect(),
        columns: 2,
    };
    let losses = ones
        .iter()
        .map(|one| one.median(|run| Some(run.exam()?.loss)));
    let known = losses.filter(|loss| loss.is_finite());
    let (low, high) = known.fold((f64::MAX, f64::MIN), |(low, high), l| {
        (low.min(l), high.max(l))
    });
    let reach = |trained: &TrainedExperiment| {
        let reach = trained
            .completed()
            .filter(|run| run.onset("bigram").is_some());
        (reach.count(), trained.runs.len())
    };
    let (one, of_one) = ones
        .iter()
        .map(|one| reach(one))
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let (both, of_both) = reach(two);
    let mut reading = format!(
        "Bigrams become the nearest strategy in {one} of {of_one} runs with one layer, and in {both} of \
         {of_both} with two."
    );
    if low <= high {
        let steps = |trained: &TrainedExperiment| trained.experiment.recipe.train.steps;
        let ends = match low < high {
            true => format!("end between {low:.4} and {high:.4} nats (medians over seeds)"),
            false => format!("end at {low:.4} nats"),
        };
        reading += &format!(
            " The rate and the batch are the same; one layer trains for {} steps, two layers for {}. On \
             fresh sequences one-layer models {ends}; {}.",
            steps(ones[0]),
            steps(two),
            reached(two, ones[0])
        );
    }
    if untrained > 0 {
        reading += &format!(
            " {untrained} of the {} one-layer models are trained by <code>--full</code> only.",
            ones.len()
        );
    }
    reading += " ";
    let mut all = vec![two];
    all.extend(ones);
    reading += &curves::legend(&all);
    Illustration::new(figure, reading)
}

/// The losses of strategies that one layer might follow, in words.
fn reached(two: &TrainedExperiment, one: &TrainedExperiment) -> String {
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
