//! What heads attend to, as recorded by the forward pass.

use induct::measure::KL_TRUTH;
use induct_figure::{Arcs, Axis, Figure, Heatmap, Panel};

use super::curves;
use super::task::example;
use crate::figure::{Drawn, Slider};
use crate::results::{Results, Trained};
use crate::run::Run;

/// The number of tokens whose scores are shown.
const SCORED: usize = 40;

/// Attention of both layers on one sequence.
struct Attention {
    /// Before the softmax, [layer][t, t]; NaN above the diagonal.
    scores: [Vec<f64>; 2],
    /// After the softmax, [layer][t, t]; NaN above the diagonal.
    pattern: [Vec<f64>; 2],
}

/// Runs the model with the given weights on one sequence and reads the first head of its first two layers.
fn attention(trained: &Trained, params: &[f32], symbols: &[usize]) -> Attention {
    let tokens: Vec<u8> = symbols.iter().map(|&symbol| symbol as u8).collect();
    let seen = trained
        .model
        .run(params, &tokens)
        .expect("weights and symbols fit the model");
    let t = symbols.len();
    let first_head = |layer: usize, name: &str| -> Vec<f64> {
        let array = seen.get(&format!("layers.{layer}.{name}"));
        let rows = array.expect("two layers").row(&[0]).iter().enumerate();
        // A position has no scores for later tokens.
        let shown = |(at, &value): (usize, &f32)| match at % t <= at / t {
            true => f64::from(value),
            false => f64::NAN,
        };
        rows.map(shown).collect()
    };
    let scores = [0, 1].map(|layer| first_head(layer, "attn_scores"));
    let pattern = [0, 1].map(|layer| first_head(layer, "attn_pattern"));
    Attention { scores, pattern }
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

fn picture(title: String, symbols: &[usize], attention: &Attention, every_pair: bool) -> Arcs {
    let t = symbols.len();
    Arcs {
        title,
        symbols: symbols.to_vec(),
        above_label: "layer 1, all tokens".into(),
        above: attention.pattern[0].clone(),
        below_label: "layer 2, last token".into(),
        below: attention.pattern[1][(t - 1) * t..].to_vec(),
        every_pair,
    }
}

pub(super) fn arcs(results: &Results) -> Drawn {
    let main = results.of("main");
    let symbols = example(main).symbols;
    let Some(run) = main.sound().find(|run| !run.snapshots().is_empty()) else {
        return Drawn::new(Figure::default(), "No run with snapshots completed.");
    };
    let thousands = |step: u64| main.thousands(step as f64);
    let panel = |(index, meaning): (usize, &str)| {
        let (step, params) = &run.snapshots()[index];
        let title = match step {
            0 => "At the start".into(),
            _ => format!("{:.0} thousand sequences, {meaning}", thousands(*step)),
        };
        Panel::Arcs(picture(
            title,
            &symbols,
            &attention(main, params, &symbols),
            false,
        ))
    };
    let figure = Figure {
        description: "Attention of both layers on one sequence at four moments of training.".into(),
        panels: moments(run).into_iter().map(panel).collect(),
        columns: 2,
    };
    let by_symbol = previous_token_by_symbol(main, run.params().unwrap_or_default());
    let reading = format!(
        "Arcs above the symbols: what each token attends to in layer 1; below: what the last one attends to \
         in layer 2. Stronger arcs mean more attention. At first, attention is uniform. At the end, the last \
         token attends to those that followed its own symbol, and layer 1 identifies them: a token puts {} \
         of its attention on the one before it if that is a 0, and {} if it is a 1. With two symbols, it is \
         enough to know whether one of them came before.",
        curves::percent(by_symbol[0]),
        curves::percent(by_symbol[1])
    );
    Drawn {
        slider: Some(slider(main, run, &symbols)),
        ..Drawn::new(figure, reading)
    }
}

/// Layer 1's mean attention to the previous token, by the symbol of that token, over the whole example.
fn previous_token_by_symbol(trained: &Trained, params: &[f32]) -> Vec<f64> {
    let symbols = example(trained).whole;
    let (t, attention) = (symbols.len(), attention(trained, params, &symbols));
    let mean = |symbol: usize| {
        let after = (1..t).filter(|i| symbols[i - 1] == symbol);
        let masses: Vec<f64> = after.map(|i| attention.pattern[0][i * t + i - 1]).collect();
        masses.iter().sum::<f64>() / masses.len() as f64
    };
    (0..trained.model.states()).map(mean).collect()
}

fn slider(main: &Trained, run: &Run, symbols: &[usize]) -> Slider {
    let t = symbols.len();
    let frames: Vec<Attention> = run
        .snapshots()
        .iter()
        .map(|(_, params)| attention(main, params, symbols))
        .collect();
    let byte = |weight: f64| (255.0 * weight).round() as u8;
    let weights = |attention: &Attention| {
        let above = (0..t).flat_map(|i| (0..=i).map(move |j| i * t + j));
        let above = above.map(|at| byte(attention.pattern[0][at]));
        let below = attention.pattern[1][(t - 1) * t..].iter().map(|w| byte(*w));
        above.chain(below).collect()
    };
    let label = |(step, _): &(u64, Vec<f32>)| {
        let loss = run.column(&KL_TRUTH)[run.record_at(*step as f64)];
        format!(
            "{:.1} thousand sequences, loss {loss:.3} nats",
            main.thousands(*step as f64)
        )
    };
    let first = frames.len() - 1;
    Slider {
        figure: Figure {
            description:
                "Attention of both layers on one sequence, at the step chosen by the slider.".into(),
            panels: vec![Panel::Arcs(picture(
                String::new(),
                symbols,
                &frames[first],
                true,
            ))],
            columns: 1,
        },
        labels: run.snapshots().iter().map(label).collect(),
        weights: frames.iter().map(weights).collect(),
        first,
    }
}

pub(super) fn scores(results: &Results) -> Drawn {
    let main = results.of("main");
    let Some(run) = main.sound().find(|run| !run.snapshots().is_empty()) else {
        return Drawn::new(Figure::default(), "No run with snapshots completed.");
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
        for (attention, step, meaning) in &shown {
            let values = above_row_means(&attention.scores[layer], symbols.len());
            let largest = quantile(&values, 0.93);
            panels.push(Panel::Heatmap(Heatmap {
                title: format!(
                    "Layer {}, {meaning} ({:.0} thousand)",
                    layer + 1,
                    main.thousands(*step as f64)
                ),
                x: Axis::linear("attended to"),
                y: Axis::linear("attending"),
                columns: symbols.len(),
                values,
                value_label: "A minus its row's mean".into(),
                range: Some((-largest, largest)),
                signed: true,
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
    Drawn::new(
        figure,
        "Scores A before the softmax at the beginning of one test sequence, minus the mean of their row, to \
         which the softmax is invariant. The colour scale saturates at the largest 7 %. Rows are tokens that \
         attend, columns are tokens attended to. At the end, layer 1 prefers one symbol everywhere except \
         one step back, and layer 2 has stripes, since tokens that followed a symbol attract the rows with \
         that symbol.",
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
