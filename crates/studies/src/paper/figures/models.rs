//! Losses and similarities of models: two, three and more states, trigrams, other distributions, one layer,
//! learning rates.

use induct::measure::{Column, KL_TRUTH, TEST_KL_TRUTH, positional_profile};
use induct::probe::IN_DISTRIBUTION;
use induct_figure::{Axis, Colour, Figure, Mark, Panel, Plot, Series};

use super::curves::{self, LOSS, SEEN};
use crate::figure::Drawn;
use crate::paper::experiments::ONE_LAYER;
use crate::results::{Results, Trained};
use crate::strategy_colours::strategy_colours;

/// The number of lags of a positional profile to show.
const SHOWN_LAGS: usize = 21;

/// Transformer above, minimal model below: loss, positional profile at three moments, similarity.
pub(super) fn beside(results: &Results, transformer: &str, minimal: &str, k: usize) -> Drawn {
    let (above, below) = (results.of(transformer), results.of(minimal));
    let mut panels = row(above, "Transformer", "attention by position alone");
    panels.extend(row(below, "Minimal model", "weight v"));
    let figure = Figure {
        description: format!(
            "Test loss, positional profile and similarity to strategies over training with {k} states, for \
             the transformer and the minimal model."
        ),
        panels,
        columns: 3,
    };
    let ends = |trained: &Trained| {
        let closed = trained.gap_closed("unigram", "bigram");
        format!("{:.0} %", 100.0 * closed)
    };
    Drawn::new(
        figure,
        format!(
            "Left: loss at the last position, mean and 95 % interval over seeds, with the losses of \
             strategies; middle: the effect of position alone in the first layer of the first seed, at the \
             moments marked on the left; right: distance to each strategy, with the background in the colour \
             of the nearest one. At the end, the transformer has closed {} of the gap between unigram and \
             bigram, the minimal model {}.",
            ends(above),
            ends(below)
        ),
    )
}

fn row(trained: &Trained, name: &str, weight: &str) -> Vec<Panel> {
    let Some(run) = trained.sound().next() else {
        return vec![Panel::Plot(curves::loss(
            trained,
            &format!("{name}: diverged"),
            "",
            &[],
        ))];
    };
    let moments = curves::moments(run);
    let mut loss = curves::loss(
        trained,
        &format!("{name}: loss"),
        "model",
        &["unigram", "bigram"],
    );
    loss.moments = curves::marks(trained, &moments);
    // The plateau and the end have the colours of the strategies that the model is near to.
    let near = strategy_colours(&["unigram", "bigram"]);
    let colours = [near[0], Colour::Vermilion, near[1]];
    // Each in units of its largest weight: at the end all weights but one are tiny.
    let profile = |(at, colour): (&curves::At, Colour)| {
        let weights = run.snapshots().get(run.snapshot_at(at.step));
        let profile = weights.and_then(|(_, params)| positional_profile(&trained.model, params));
        let profile = profile.unwrap_or_default();
        let largest = profile.iter().copied().fold(f64::MIN, f64::max);
        let points = profile.iter().take(SHOWN_LAGS).enumerate();
        let points = points.map(|(lag, weight)| (lag as f64, weight / largest));
        Series::new(
            format!("{} {}", at.name, at.meaning),
            colour,
            Mark::Line,
            points,
        )
    };
    let profiles = Plot {
        title: format!("{name}: positions in layer 1"),
        x: Axis::linear("tokens back"),
        y: Axis::linear(format!("{weight}, in units of the largest")),
        series: moments.iter().zip(colours).map(profile).collect(),
        ..Plot::default()
    };
    let similarity = curves::similarity(trained, &format!("{name}: similarity"));
    vec![
        Panel::Plot(loss),
        Panel::Plot(profiles),
        Panel::Plot(similarity),
    ]
}

pub(super) fn trigrams(results: &Results) -> Drawn {
    let (three, one) = (results.of("trigram"), results.of("trigram-one-head"));
    let strategies = ["uniform", "unigram", "bigram", "trigram"];
    let figure = Figure {
        description:
            "Loss and similarity to strategies over training on trigrams, with three heads per layer and \
             with one."
                .into(),
        panels: vec![
            Panel::Plot(curves::loss(
                three,
                "Three heads per layer: loss",
                "model",
                &strategies,
            )),
            Panel::Plot(curves::similarity(
                three,
                "Three heads per layer: similarity",
            )),
            Panel::Plot(curves::loss(
                one,
                "One head per layer: loss",
                "model",
                &strategies,
            )),
            Panel::Plot(curves::similarity(one, "One head per layer: similarity")),
        ],
        columns: 2,
    };
    let closed = |trained: &Trained| 100.0 * trained.gap_closed("bigram", "trigram");
    Drawn::new(
        figure,
        format!(
            "With three heads per layer, the model moves from one strategy to the next and ends having \
             closed {:.0} % of the gap between bigram and trigram. With one head it closes {:.0} % of that \
             gap.",
            closed(three),
            closed(one)
        ),
    )
}

pub(super) fn more_states(results: &Results) -> Drawn {
    let (five, eight) = (results.of("five-states"), results.of("eight-states"));
    let strategies = ["uniform", "unigram", "bigram"];
    let figure = Figure {
        description: "Loss and similarity to strategies over training with five and eight states."
            .into(),
        panels: vec![
            Panel::Plot(curves::loss(five, "k = 5: loss", "model", &strategies)),
            Panel::Plot(curves::similarity(five, "k = 5: similarity")),
            Panel::Plot(curves::loss(eight, "k = 8: loss", "model", &strategies)),
            Panel::Plot(curves::similarity(eight, "k = 8: similarity")),
        ],
        columns: 2,
    };
    let closed = |trained: &Trained| 100.0 * trained.gap_closed("unigram", "bigram");
    Drawn::new(
        figure,
        format!(
            "With more states, the loss still has its plateau and its drop; unigrams say less about the next \
             symbol there, so the first two levels are closer together. At the end, the model has closed \
             {:.0} % (k = 5) and {:.0} % (k = 8) of the gap between unigram and bigram.",
            closed(five),
            closed(eight)
        ),
    )
}

pub(super) fn elsewhere(results: &Results) -> Drawn {
    let sets = [
        (IN_DISTRIBUTION, "in distribution"),
        ("iid", "independent symbols"),
        ("doubly_stochastic", "doubly stochastic"),
    ];
    let mut panels = Vec::new();
    for (id, name) in [("main", "Transformer"), ("minimal", "Minimal model")] {
        let trained = results.of(id);
        for (set, words) in sets {
            let levels = curves::levels(trained, set, &["uniform", "unigram", "bigram"]);
            let column = match set {
                IN_DISTRIBUTION => Column::from(&KL_TRUTH),
                _ => TEST_KL_TRUTH.of_test(set),
            };
            let series = vec![curves::line("model", Colour::Ink, trained, column)];
            panels.push(Panel::Plot(Plot {
                title: format!("{name}: {words}"),
                x: Axis::linear(SEEN),
                y: curves::from_zero(LOSS, &series, &levels),
                levels,
                series,
                ..Plot::default()
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
        "On independent symbols, counting symbols is optimal; on doubly stochastic chains it is useless. \
         Together they show what the model counts. While the model is at unigrams, its loss is low on the \
         former and still near that of the uniform strategy on the latter; when it turns to bigrams, it \
         improves on the latter.",
    )
}

pub(super) fn one_layer(results: &Results) -> Drawn {
    let two = results.of("main");
    let panel = |(id, about): &(&str, &'static str)| {
        let one = results.of(id);
        let mut plot = curves::loss(
            one,
            &capital(about),
            "one layer",
            &["uniform", "unigram", "bigram"],
        );
        plot.series.push(curves::line(
            "two layers",
            Colour::Vermilion,
            two,
            &KL_TRUTH,
        ));
        Panel::Plot(plot)
    };
    let figure = Figure {
        description:
            "Loss of one-layer transformers over training, for eight times as many steps as two layers need."
                .into(),
        panels: ONE_LAYER.iter().map(panel).collect(),
        columns: 2,
    };
    let losses = ONE_LAYER.map(|(id, _)| results.of(id).median(|run| Some(run.exam()?.loss)));
    let (low, high) = losses.iter().fold((f64::MAX, f64::MIN), |(low, high), &l| {
        (low.min(l), high.max(l))
    });
    let unigram = results.of("main").level("unigram");
    Drawn::new(
        figure,
        format!(
            "One layer has no drop, whatever its positions and with or without an MLP; two layers do, in an \
             eighth of the steps. On fresh sequences the one-layer models end between {low:.4} and {high:.4} \
             nats; the unigram strategy is at {unigram:.4}. They are slightly below it, since position lets \
             them trust recent symbols more."
        ),
    )
}

pub(super) fn rates(results: &Results) -> Drawn {
    let series = [
        ("printed", "3·10^{−5}, the paper's text", Colour::Vermilion),
        ("rate-3e-4", "3·10^{−4}", Colour::Green),
        ("main", "10^{−3}, ours", Colour::Blue),
    ]
    .map(|(id, label, colour)| curves::line(label, colour, results.of(id), &KL_TRUTH));
    let figure = Figure {
        description: "Loss over training at three learning rates.".into(),
        panels: vec![Panel::Plot(Plot {
            title: "The main setting at three learning rates".into(),
            x: Axis::log(SEEN).range(1.0, 2000.0),
            y: Axis::linear(LOSS),
            levels: curves::levels(
                results.of("main"),
                "in_distribution",
                &["uniform", "unigram", "bigram"],
            ),
            series: series.into(),
            aspect: 0.45,
            ..Plot::default()
        })],
        columns: 1,
    };
    let printed = results.of("printed");
    let steps = printed.experiment.recipe.train.steps;
    let nearest = printed
        .runs
        .first()
        .and_then(|run| run.order().pop())
        .unwrap_or_default();
    Drawn::new(
        figure,
        format!(
            "The learning rate in the paper's text is too small for its own figures: after {steps} steps \
             ({:.0} thousand sequences), the model is still nearest to the {nearest} strategy. The released \
             code trains at 5·10<sup>−4</sup>, with layer norm and dropout, which the text does not mention; \
             we use 10<sup>−3</sup> without them.",
            printed.thousands(steps as f64)
        ),
    )
}

/// Capitalises the first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
