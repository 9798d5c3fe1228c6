//! What heads attend to, read from the forward that recorded it.

use induct::chain::TokenBlock;
use induct::probe::KL_TRUTH;
use induct_figure::{Arcs, Axis, Figure, Heatmap, Panel};

use super::Drawn;
use super::task::example;
use crate::results::{Results, Trained};
use crate::run::Run;

/// Attention of both layers on one sequence.
struct Attention {
    /// Before the softmax, [layer][t, t], NaN above the diagonal.
    scores: [Vec<f64>; 2],
    /// After it.
    pattern: [Vec<f64>; 2],
}

/// Runs the model with some weights on one sequence, and looks at the first head of its first two layers.
fn attention(trained: &Trained, params: &[f32], symbols: &[usize]) -> Attention {
    let tokens: Vec<u8> = symbols.iter().map(|&symbol| symbol as u8).collect();
    let block = TokenBlock::from_sequences(&[&tokens]);
    let (model, t) = (&trained.model, symbols.len());
    let prepared = model.prepare(params);
    let mut work = model.work();
    let empty = || [vec![f64::NAN; t * t], vec![f64::NAN; t * t]];
    let (mut scores, mut pattern) = (empty(), empty());
    model.forward(&prepared, block.rows(), &mut work);
    model.show_attention(&prepared, block.rows(), &work, &mut |row| {
        if row.head > 0 || row.layer > 1 {
            return;
        }
        let start = row.position * t;
        for j in 0..=row.position {
            scores[row.layer][start + j] = f64::from(row.attn_scores[j].0[0]);
            pattern[row.layer][start + j] = f64::from(row.attn_pattern[j].0[0]);
        }
    });
    Attention { scores, pattern }
}

/// Moments of a run, as indices of its snapshots, with what they are.
fn moments(run: &Run) -> Vec<(usize, &'static str)> {
    let end = run.steps().last().copied().unwrap_or(0.0);
    let fall = run.fall_from("unigram");
    let (plateau, middle) = match fall {
        Some(fall) => (
            0.5 * (fall.onset + fall.start),
            0.5 * (fall.start + fall.end),
        ),
        None => (end / 3.0, 2.0 * end / 3.0),
    };
    let nearest = |step: f64| {
        let distance = |index: &usize| (run.snapshots[*index].0 as f64 - step).abs();
        let all = 0..run.snapshots.len();
        all.min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .unwrap_or(0)
    };
    vec![
        (nearest(0.0), "at the start"),
        (nearest(plateau), "on the plateau"),
        (nearest(middle), "in the second drop"),
        (nearest(end), "at the end"),
    ]
}

/// Frames for a page that lets its reader move through training: the weights of all arcs of the figure's panel, one frame a snapshot.
pub struct Slider {
    /// The picture whose arcs the frames are for.
    pub figure: Figure,
    /// What each frame is called.
    pub labels: Vec<String>,
    /// Each arc's weight in 255ths, in the order in which the picture draws them; [frames][arcs].
    pub weights: Vec<Vec<u8>>,
    /// The frame to begin with.
    pub first: usize,
}

fn picture(title: String, symbols: &[usize], attention: &Attention, every_pair: bool) -> Arcs {
    let t = symbols.len();
    Arcs {
        title,
        symbols: symbols.to_vec(),
        above_label: "layer 1, every token".into(),
        above: attention.pattern[0].clone(),
        below_label: "layer 2, the last token".into(),
        below: attention.pattern[1][(t - 1) * t..].to_vec(),
        every_pair,
    }
}

pub(super) fn arcs(results: &Results) -> Drawn {
    let main = results.of("main");
    let symbols = example(main).symbols;
    let Some(run) = main.sound().find(|run| !run.snapshots.is_empty()) else {
        return Drawn::new(Figure::default(), "No run with snapshots came to its end.");
    };
    let thousands = |step: u64| main.thousands(step as f64);
    let panel = |(index, meaning): (usize, &str)| {
        let (step, params) = &run.snapshots[index];
        let title = format!("{:.0} thousand sequences, {meaning}", thousands(*step));
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
    let reading = "Arcs above the symbols: where each token looks in layer 1; below: where the last one looks in layer 2; the stronger, the more attention. \
                   At first all is even; at the end tokens look at the one before them, and the last token at those that followed its own symbol.";
    Drawn {
        slider: Some(slider(main, run, &symbols)),
        ..Drawn::new(figure, reading)
    }
}

fn slider(main: &Trained, run: &Run, symbols: &[usize]) -> Slider {
    let t = symbols.len();
    let frames: Vec<Attention> = run
        .snapshots
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
        let loss = run.column(KL_TRUTH)[run.record_at(*step as f64)];
        format!(
            "{:.1} thousand sequences, loss {loss:.3} nats",
            main.thousands(*step as f64)
        )
    };
    let first = frames.len() - 1;
    Slider {
        figure: Figure {
            description:
                "Attention of both layers on one sequence, at the moment that the slider chooses."
                    .into(),
            panels: vec![Panel::Arcs(picture(
                String::new(),
                symbols,
                &frames[first],
                true,
            ))],
            columns: 1,
        },
        labels: run.snapshots.iter().map(label).collect(),
        weights: frames.iter().map(weights).collect(),
        first,
    }
}

pub(super) fn scores(results: &Results) -> Drawn {
    let main = results.of("main");
    let Some(run) = main.sound().find(|run| !run.snapshots.is_empty()) else {
        return Drawn::new(Figure::default(), "No run with snapshots came to its end.");
    };
    let symbols = example(main).whole;
    let chosen = &moments(run)[1..];
    let shown: Vec<(Attention, u64, &str)> = chosen
        .iter()
        .map(|&(index, meaning)| {
            let (step, params) = &run.snapshots[index];
            (attention(main, params, &symbols), *step, meaning)
        })
        .collect();
    let mut panels = Vec::new();
    for layer in 0..2 {
        for (attention, step, meaning) in &shown {
            panels.push(Panel::Heatmap(Heatmap {
                title: format!(
                    "Layer {}, {meaning} ({:.0} thousand)",
                    layer + 1,
                    main.thousands(*step as f64)
                ),
                x: Axis::linear("attended to"),
                y: Axis::linear("attending"),
                columns: symbols.len(),
                values: attention.scores[layer].clone(),
                value_label: "score A".into(),
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
        "Scores before the softmax, on one sequence of the test set: a row is a token that attends, a column one that is attended to. \
         At the end layer 1 has its diagonal one step back, and layer 2 stripes: columns after one symbol attract the rows with that symbol.",
    )
}
