//! What changes with sequence length: the ratio of the diagonal, and the learning rate above which v_2 leads.

use induct::theory::{Coupling, Weights};
use induct_figure::{Axis, Colour, Mark, Note, Panel, Plot, Series, Value};
use rayon::prelude::*;

use super::steps::{ETA, LENGTH};
use super::{ChapterFigure, entry};
use induct_ledger::{Entry, v2_threshold};

pub fn ratio(entries: &[Entry], lengths: &[(f64, Coupling)]) -> ChapterFigure {
    let points = lengths.iter().map(|(t, coupling)| {
        let gradient = coupling.gradient(&Weights::constant(2, coupling.length(), 1.0, 1.0));
        (*t, gradient.w_k[0] / gradient.w_k[1])
    });
    let points: Vec<(f64, f64)> = points.collect();
    let limit = entry(entries, "first-step.ratio").number("limit, B/A");
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    let ends = [points[0].1, points[points.len() - 1].1];
    let series = vec![
        Series::new(
            "within 5 % of 4",
            Colour::Green,
            Mark::Band,
            [first, last].map(|x| Value::give_or_take(x, 4.0, 0.2)),
        ),
        Series::new(
            "limit B/A",
            Colour::Muted,
            Mark::Dashed,
            [first, last].map(|x| (x, limit)),
        ),
        Series::new("exact", Colour::Blue, Mark::Line, points),
    ];
    let plot = Plot {
        title: "“B ≈ 4A” against sequence length".into(),
        x: Axis::log("t"),
        y: Axis::log("growth of W_k in the first step: diagonal over off-diagonal")
            .range(3.0, 30.0),
        series,
        aspect: 0.5,
        ..Plot::default()
    };
    ChapterFigure::new(
        "ratio",
        "first-step",
        format!(
            "The growth of the diagonal of W<sub>k</sub> relative to the other entries: {:.2} at t = \
             {first}, {:.3} at t = {last}, {limit:.3} in the limit.",
            ends[0], ends[1]
        ),
        format!(
            "The ratio of diagonal to off-diagonal growth of W_k against t, and its limit {limit:.3}."
        ),
        vec![Panel::Plot(plot)],
    )
}

pub fn threshold(entries: &[Entry], lengths: &[(f64, Coupling)]) -> ChapterFigure {
    let found: Vec<(f64, f64)> = lengths
        .par_iter()
        .filter_map(|(t, coupling)| Some((*t, v2_threshold(coupling)?)))
        .collect();
    let dominant = entry(entries, "second-step.dominant");
    let limit = dominant.number("24 D/((B−A)(K₂−K₁)), its limit");
    let over = |f: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        found.iter().map(|&(t, _)| (t, f(t))).collect()
    };
    let series = vec![
        Series::new("", Colour::Green, Mark::Above, found.clone()),
        Series::new(
            format!("{limit:.0}/t^3"),
            Colour::Muted,
            Mark::Dashed,
            over(&|t| limit / t.powi(3)),
        ),
        Series::new(
            "1/t^2",
            Colour::Vermilion,
            Mark::Dashed,
            over(&|t| t.powi(-2)),
        ),
        Series::new("threshold η*", Colour::Blue, Mark::Line, found.clone()),
    ];
    let plot = Plot {
        title: "The learning rate above which v_2 leads after two steps".into(),
        x: Axis::log("t"),
        y: Axis::log("learning rate η of both steps"),
        series,
        notes: vec![
            Note {
                x: LENGTH as f64,
                y: ETA,
                text: "the paper’s figures".into(),
                dot: true,
            },
            Note {
                x: 60.0,
                y: 3.0,
                text: "v_2 leads".into(),
                dot: false,
            },
        ],
        aspect: 0.55,
        ..Plot::default()
    };
    ChapterFigure::new(
        "threshold",
        "second-step",
        format!(
            "Above the line, v<sub>2</sub> is the largest weight after two steps from a constant start; \
             below it, v<sub>1</sub> still is. There is no such learning rate for t below {}. The learning \
             rate 1/t², which the Proposition uses for its first step, stays below the line up to t ≈ \
             {limit:.0}.",
            dominant.number("shortest t with a threshold")
        ),
        format!(
            "The learning rate above which v_2 leads after two steps, against t; it tends to {limit:.0} \
             over t cubed."
        ),
        vec![Panel::Plot(plot)],
    )
}
