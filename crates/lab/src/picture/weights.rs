//! Weights as small pictures: what position adds to attention, and what symbols look for.

use induct::model::Kind;
use induct::model::circuits::{copying_scores, matching_scores, positional_scores};
use induct_figure::{Axis, Colour, Figure, Mark, Matrix, Panel, Plot, Series};

use super::head_in_words;
use crate::problem::Problem;
use crate::shelf::{LabRun, Moment};

/// The most lags to show.
const LAGS: usize = 40;
/// The least score that the axis reaches.
const LEAST_SCORE: f64 = 0.05;
/// The most matrices to show.
const MATRICES: usize = 6;
/// The most states whose matrices can be read.
const STATES: usize = 8;

/// What position alone adds to the scores of the first layer, by lag; v of the minimal model.
pub fn profile(run: &LabRun, moment: &Moment) -> Result<Figure, Problem> {
    let (_, weights) = run.snapshot(moment.step)?;
    let model = run.recipe.model()?;
    let panels = match model.kind() {
        Kind::Minimal(_) => {
            let v = model.layout().in_group("v").next();
            let v = v.map_or(&[][..], |tensor| &weights[tensor.range.clone()]);
            let line = line("v", Colour::Ink, v.iter().copied().map(f64::from));
            vec![by_lag("weight v of each lag".into(), vec![line])]
        }
        Kind::Transformer(_) => {
            let heads = positional_scores(&model, weights).unwrap_or_default();
            let several = heads.len() > 1;
            let panel = |(head, scores): (usize, &induct::model::Matrix)| {
                let colours = Colour::PALETTE.into_iter().cycle();
                let lines = (0..scores.rows).zip(colours).map(|(symbol, colour)| {
                    let values = scores.row(symbol).iter().copied();
                    line(&format!("symbol {symbol}"), colour, values)
                });
                let head = head_in_words(0, head, several);
                by_lag(format!("{head}: score of each lag"), lines.collect())
            };
            heads.iter().enumerate().take(MATRICES).map(panel).collect()
        }
    };
    Ok(match panels.is_empty() {
        true => sentence("This model has no relative positions."),
        false => Figure {
            description: "What position adds to attention in the first layer, by lag.".into(),
            columns: panels.len().min(2),
            panels,
        },
    })
}

fn line(label: &str, colour: Colour, values: impl Iterator<Item = f64>) -> Series {
    let points = values.enumerate().take(LAGS);
    let points = points.map(|(lag, value)| (lag as f64, value));
    Series::new(label, colour, Mark::Line, points)
}

fn by_lag(label: String, series: Vec<Series>) -> Panel {
    // What is nearly nothing should look like nothing.
    let values = series.iter().flat_map(|series| &series.values);
    let largest = values
        .map(|value| value.y.abs())
        .fold(LEAST_SCORE, f64::max);
    Panel::Plot(Plot {
        x: Axis::linear("lag: how many symbols back"),
        y: Axis::linear(label).range(-1.08 * largest, 1.08 * largest),
        without_names: series.len() == 1,
        series,
        aspect: 0.5,
        ..Plot::default()
    })
}

/// What the second layer looks for, by symbols, and what heads add to the logits; W_k of the minimal model.
pub fn matrices(run: &LabRun, moment: &Moment) -> Result<Figure, Problem> {
    let (_, weights) = run.snapshot(moment.step)?;
    let model = run.recipe.model()?;
    if model.states() > STATES {
        return Ok(sentence(
            "There are too many states for matrices that can be read.",
        ));
    }
    let minimal = matches!(model.kind(), Kind::Minimal(_));
    let matching = matching_scores(&model, weights).unwrap_or_default();
    let mut panels: Vec<Panel> = Vec::new();
    for (index, scores) in matching.iter().enumerate() {
        let title = match (minimal, matching.len()) {
            (true, _) => "W_k".to_owned(),
            (false, 1) => "layer 2 looks for".to_owned(),
            (false, _) => format!("layer 2 looks for, pair {}", index + 1),
        };
        let labels = ["at this symbol", "positions that follow"];
        panels.push(matrix(title, labels, scores));
    }
    for (layer, heads) in copying_scores(&model, weights).iter().enumerate() {
        for (head, scores) in heads.iter().enumerate() {
            let head = head_in_words(layer, head, run.has_several_heads());
            let title = format!("{head} copies");
            panels.push(matrix(title, ["symbol attended to", "logit of"], scores));
        }
    }
    panels.truncate(MATRICES);
    Ok(match panels.is_empty() {
        true => sentence("No fixed matrix describes what this model looks for."),
        false => Figure {
            description: "What symbols look for, and what heads add to the logits.".into(),
            columns: panels.len().min(3),
            panels,
        },
    })
}

fn matrix(
    title: String,
    [row_label, column_label]: [&str; 2],
    of: &induct::model::Matrix,
) -> Panel {
    let symbols = |count| (0..count).map(|symbol: usize| symbol.to_string()).collect();
    Panel::Matrix(Matrix {
        title,
        row_label: row_label.into(),
        column_label: column_label.into(),
        rows: symbols(of.rows),
        columns: symbols(of.cols),
        values: of.data.clone(),
        signed: true,
        ..Matrix::default()
    })
}

fn sentence(text: &str) -> Figure {
    // A figure without panels shows its description.
    Figure {
        description: text.to_owned(),
        ..Figure::default()
    }
}
