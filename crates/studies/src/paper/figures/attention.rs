//! What heads attend to, as recorded by the forward pass.

use induct::measure::KL_TRUTH;
use induct::model::Kind;
use induct_figure::{Arcs, Axis, Figure, Heatmap, Panel};
use induct_pictures::attention::{ATTENDING, Attention, Head};

use super::task::example;
use crate::curves;
use crate::figure::{Illustration, Slider};
use crate::paper::claims::by_symbol;
use crate::results::{Results, TrainedExperiment};
use crate::run::Run;

/// The number of tokens whose scores are shown.
const SCORED: usize = 40;
/// The share of scores that the colour scale of a layer can tell apart.
const UNSATURATED: f64 = 0.97;

/// Runs the model with the given weights on one sequence.
fn attention(trained: &TrainedExperiment, params: &[f32], symbols: &[usize]) -> Attention {
    let tokens: Vec<u8> = symbols.iter().map(|&symbol| symbol as u8).collect();
    let ngram = trained.experiment.recipe.task.ngram;
    let seen = Attention::of(&trained.model, params, &tokens, ngram);
    seen.expect("weights and symbols fit the model")
}

/// The first heads of the first two layers.
fn first_heads(seen: &Attention) -> [&Head; 2] {
    [0, 1].map(|layer| seen.head(layer, 0).expect("two layers"))
}

/// Arcs of the first heads of the first two layers.
fn two_layers(trained: &TrainedExperiment, params: &[f32], symbols: &[usize]) -> Arcs {
    let seen = attention(trained, params, symbols);
    let arcs = seen.two_layers(first_heads(&seen));
    arcs.expect("layers of a transformer have patterns")
}

/// Moments of a run: the index of a snapshot and a description.
fn moments(run: &Run) -> Vec<(usize, &'static str)> {
    let end = run.steps().last().copied().unwrap_or(0.0);
    let (plateau, middle) = match run.fall_from("unigram") {
        Some(fall) => (fall.on_plateau(), fall.half_way()),
        None => (end / 3.0, 2.0 * end / 3.0),
    };
    let moments = [
        (0.0, "at the start"),
        (plateau, "on the plateau"),
        (middle, "in the second drop"),
        (end, "at the end"),
    ];
    moments
        .map(|(step, meaning)| (run.snapshot_at(step), meaning))
        .into()
}

/// The first run that was observed during training. None if the experiment was changed to a model without two
/// layers of attention.
fn observed(trained: &TrainedExperiment) -> Option<&Run> {
    let Kind::Transformer(shape) = trained.model.kind() else {
        return None;
    };
    if shape.layer_count() < 2 {
        return None;
    }
    trained.completed().find(|run| run.snapshots().len() > 1)
}

pub(super) fn arcs(results: &Results) -> Illustration {
    let three = results.of("three-states");
    let symbols = example(three).symbols;
    let Some(run) = observed(three) else {
        return nothing_observed();
    };
    let thousands = |step: u64| three.thousands(step as f64);
    let panel = |(index, meaning): (usize, &str)| {
        let (step, params) = &run.snapshots()[index];
        let title = match step {
            0 => "At the start".into(),
            _ => format!("{:.0} thousand sequences, {meaning}", thousands(*step)),
        };
        Panel::Arcs(Arcs {
            title,
            ..two_layers(three, params, &symbols)
        })
    };
    let figure = Figure {
        description: "Attention of both layers on one sequence at four moments of training.".into(),
        panels: moments(run).into_iter().map(panel).collect(),
        columns: 2,
    };
    let mut reading = format!(
        "One sequence of three symbols, one run. Arcs above the symbols: what the last {ATTENDING} tokens \
         attend to in layer 1; below: what the last one attends to in layer 2. Stronger arcs mean more \
         attention, and an arc has the colour of the symbol it ends at. At first, attention is spread \
         evenly. At the end, the last token attends to those that followed its own symbol, and layer 1 \
         identifies them."
    );
    if let Some(shares) = by_symbol(three, run) {
        let shares: Vec<String> = shares.iter().map(|share| curves::percent(*share)).collect();
        let symbols: Vec<String> = (0..shares.len()).map(|symbol| symbol.to_string()).collect();
        reading += &format!(
            " A token of the final model puts {} of its layer 1 attention on the one before it if that is a \
             {}, over fresh sequences.",
            listed(&shares, "and"),
            listed(&symbols, "or")
        );
    }
    Illustration {
        slider: Some(slider(three, run, &symbols)),
        ..Illustration::new(figure, reading)
    }
}

/// What is shown if no run was observed during training.
fn nothing_observed() -> Illustration {
    let sentence = "No run was observed during training.";
    let figure = Figure {
        description: sentence.into(),
        ..Figure::default()
    };
    Illustration::new(figure, sentence)
}

/// Words with commas, and a conjunction before the last.
fn listed(words: &[String], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

fn slider(trained: &TrainedExperiment, run: &Run, symbols: &[usize]) -> Slider {
    let t = symbols.len();
    let frames: Vec<Arcs> = run
        .snapshots()
        .iter()
        .map(|(_, params)| two_layers(trained, params, symbols))
        .collect();
    let byte = |weight: f64| (255.0 * weight).round() as u8;
    let weights = |arcs: &Arcs| {
        let above = (arcs.above_from..t).flat_map(|i| (0..=i).map(move |j| i * t + j));
        let above = above.map(|at| byte(arcs.above[at]));
        let below = arcs.below.iter().map(|weight| byte(*weight));
        above.chain(below).collect()
    };
    let label = |(step, _): &(u64, Vec<f32>)| {
        let loss = run.column(&KL_TRUTH)[run.record_at(*step as f64)];
        format!(
            "{:.1} thousand sequences, loss {loss:.3} nats",
            trained.thousands(*step as f64)
        )
    };
    let first = frames.len() - 1;
    Slider {
        figure: Figure {
            description:
                "Attention of both layers on one sequence, at the step chosen by the slider.".into(),
            panels: vec![Panel::Arcs(Arcs {
                every_pair: true,
                ..frames[first].clone()
            })],
            columns: 1,
        },
        labels: run.snapshots().iter().map(label).collect(),
        weights: frames.iter().map(weights).collect(),
        first,
    }
}

pub(super) fn scores(results: &Results) -> Illustration {
    let main = results.of("main");
    let Some(run) = observed(main) else {
        return nothing_observed();
    };
    let mut symbols = example(main).whole;
    symbols.truncate(SCORED);
    let chosen = &moments(run)[1..];
    let shown: Vec<(Attention, u64, &str)> = chosen
        .iter()
        .map(|&(index, meaning)| {
            let (step, params) = &run.snapshots()[index];
            (attention(main, params, &symbols), *step, meaning)
        })
        .collect();
    let mut panels = Vec::new();
    for layer in 0..2 {
        let scores = |seen: &Attention| {
            let scores = first_heads(seen)[layer].scores.as_ref();
            scores.expect("layers have scores").up_to_diagonal()
        };
        let values: Vec<Vec<f64>> = shown
            .iter()
            .map(|(seen, _, _)| above_row_means(&scores(seen), symbols.len()))
            .collect();
        // One scale for the layer, so that its panels can be compared.
        let largest = quantile(&values.concat(), UNSATURATED);
        for (index, ((_, step, meaning), values)) in shown.iter().zip(values).enumerate() {
            panels.push(Panel::Heatmap(Heatmap {
                title: format!(
                    "Layer {}, {meaning} ({:.0} thousand)",
                    layer + 1,
                    main.thousands(*step as f64)
                ),
                x: Axis::linear("token attended to"),
                y: Axis::linear("attending token"),
                columns: symbols.len(),
                values,
                value_label: "A minus its row's mean".into(),
                range: Some((-largest, largest)),
                signed: true,
                without_bar: index > 0,
                ..Heatmap::default()
            }));
        }
    }
    let figure = Figure {
        description:
            "Attention scores of both layers on one sequence at three moments of training.".into(),
        panels,
        columns: 3,
    };
    Illustration::new(
        figure,
        format!(
            "Scores A before the softmax at the beginning of one test sequence of one run, minus the mean of \
             their row, to which the softmax is invariant. Rows are tokens that attend, columns are tokens \
             attended to. Each layer has one colour scale, given with its first panel, which saturates at \
             the largest {:.0} % of its scores. At the end, layer 1 prefers one symbol everywhere except one \
             step back, and layer 2 has stripes, since tokens that followed a symbol attract the rows with \
             that symbol.",
            100.0 * (1.0 - UNSATURATED)
        ),
    )
}

/// Scores minus the mean of their row; both [t, t].
fn above_row_means(scores: &[f64], t: usize) -> Vec<f64> {
    let row = |row: &[f64]| {
        let there = row.iter().filter(|score| !score.is_nan());
        let mean = there.clone().sum::<f64>() / there.count() as f64;
        row.iter().map(|score| score - mean).collect::<Vec<_>>()
    };
    scores.chunks_exact(t).flat_map(row).collect()
}

/// The magnitude that the given share of the numbers does not exceed.
fn quantile(values: &[f64], share: f64) -> f64 {
    let there = values.iter().filter(|value| !value.is_nan());
    let mut sizes: Vec<f64> = there.map(|value| value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = (share * sizes.len() as f64) as usize;
    sizes
        .get(at.min(sizes.len().saturating_sub(1)))
        .copied()
        .unwrap_or(1.0)
}
