//! Interpolated priors, and the minimal model's weights in the middle of its drop.

use induct::measure::KL_TRUTH;
use induct_figure::{Axis, Colour, Family, Figure, Mark, Matrix, Panel, Plot, Series};

use super::curves::{self, LOSS, SEEN};
use crate::figure::Drawn;
use crate::paper::experiments::{INTERPOLATED, INTERPOLATED_NAMES};
use crate::results::{Results, Trained};
use crate::run::Run;
use crate::strategy_colours::strategy_colours;

/// All interpolated priors, and the minimal model.
pub(super) const NEEDS: [&str; INTERPOLATED_NAMES.len() + 1] = {
    let mut needs = ["minimal"; INTERPOLATED_NAMES.len() + 1];
    let (priors, _) = needs.split_at_mut(INTERPOLATED_NAMES.len());
    priors.copy_from_slice(&INTERPOLATED_NAMES);
    needs
};

/// The number of weights v to show.
const SHOWN: usize = 20;

pub(super) fn priors(results: &Results) -> Drawn {
    let minimal = results.of("minimal");
    let mut panels = vec![curves_by_p(results), onsets_by_p(results)];
    panels.extend(weights(minimal));
    let figure = Figure {
        description: "Top left: loss on the original chains of models trained on eleven interpolated priors; \
                      top right: when their transitions occur. Bottom: W_k and v of the minimal model in the \
                      middle of its drop.".into(),
        panels,
        columns: 2,
    };
    let onset = |p: f64| {
        let trained = results.of(INTERPOLATED_NAMES[(10.0 * p).round() as usize]);
        let onset = trained.median(|run| run.onset("bigram"));
        match onset.is_finite() {
            true => format!("after {:.0} thousand sequences", trained.thousands(onset)),
            false => "never".to_owned(),
        }
    };
    Drawn::new(
        figure,
        format!(
            "Top: models trained on chains from the interpolated prior at p, measured on the original \
             chains. By the definition in appendix B, the two rows of a chain are nearly equal at p = 0, \
             where unigrams say everything, and mirror each other at p = 1, where they say nothing; the \
             paper's caption has the two ends the other way round. Bigrams become the nearest strategy {} at \
             p = 0.5 and {} at p = 1. Bottom: the minimal model (k = 2) in the middle of its drop, with \
             W<sub>k</sub> already diagonal and even v<sub>j</sub> (odd lags) above odd ones.",
            onset(0.5),
            onset(1.0)
        ),
    )
}

fn curves_by_p(results: &Results) -> Panel {
    let series = INTERPOLATED.map(|p| {
        let trained = results.of(INTERPOLATED_NAMES[(10.0 * p).round() as usize]);
        let points = curves::middle(trained, &KL_TRUTH);
        Series::new(format!("p = {p:.1}"), Colour::ramp(p), Mark::Line, points)
    });
    Panel::Plot(Plot {
        title: "a) Trained at p, measured on the original chains".into(),
        x: Axis::linear(SEEN),
        y: Axis::linear(LOSS),
        levels: curves::levels(
            results.of(INTERPOLATED_NAMES[0]),
            "in_distribution",
            &["unigram", "bigram"],
        ),
        series: series.into(),
        family: Some(Family {
            low: "p = 0: unigrams say everything".into(),
            high: "p = 1: nothing".into(),
        }),
        ..Plot::default()
    })
}

fn onsets_by_p(results: &Results) -> Panel {
    let points = INTERPOLATED.iter().filter_map(|&p| {
        let trained = results.of(INTERPOLATED_NAMES[(10.0 * p).round() as usize]);
        let onset = trained.median(|run| run.onset("bigram"));
        onset.is_finite().then(|| (p, trained.thousands(onset)))
    });
    Panel::Plot(Plot {
        title: "When bigrams become nearest, if they do for all seeds".into(),
        x: Axis::linear("p").range(0.0, 1.0),
        y: Axis::linear(SEEN),
        series: vec![Series::new(
            "",
            strategy_colours(&["bigram"])[0],
            Mark::Points,
            points.collect::<Vec<_>>(),
        )],
        ..Plot::default()
    })
}

/// W_k and v in the middle of the drop.
fn weights(minimal: &Trained) -> Vec<Panel> {
    let Some(run) = minimal.sound().find(|run| !run.snapshots().is_empty()) else {
        return Vec::new();
    };
    let (step, params) = &run.snapshots()[middle_of_drop(run)];
    let layout = minimal.model.layout();
    let tensor = |name: &str| -> Vec<f64> {
        let range = layout.tensor(name).map(|tensor| tensor.range.clone());
        params[range.unwrap_or(0..0)]
            .iter()
            .map(|&w| f64::from(w))
            .collect()
    };
    let names: Vec<String> = (0..minimal.model.states())
        .map(|symbol| symbol.to_string())
        .collect();
    let matrix = Matrix {
        title: format!(
            "b) W_k after {:.0} thousand sequences",
            minimal.thousands(*step as f64)
        ),
        row_label: "current symbol".into(),
        column_label: "matched symbol".into(),
        rows: names.clone(),
        columns: names,
        values: tensor("W_k"),
        ..Matrix::default()
    };
    let v = tensor("v");
    let bar = |parity: usize, label: &str, colour: Colour| {
        let chosen = (1..=SHOWN.min(v.len())).filter(move |j| j % 2 == parity);
        let points = chosen.map(|j| (j as f64, v[j - 1]));
        Series::new(label, colour, Mark::Bars, points.collect::<Vec<_>>())
    };
    let positions = Plot {
        title: "v at the same step".into(),
        x: Axis::linear("j (lag j − 1)"),
        y: Axis::linear("weight v_j"),
        series: vec![
            bar(0, "even j: odd lags", Colour::Vermilion),
            bar(1, "odd j: even lags", Colour::Blue),
        ],
        ..Plot::default()
    };
    vec![Panel::Matrix(matrix), Panel::Plot(positions)]
}

/// The snapshot closest to the middle of the fall to bigrams.
fn middle_of_drop(run: &Run) -> usize {
    let fall = run.fall_from("unigram").or(run.fall_from("uniform"));
    run.snapshot_at(fall.map_or(0.0, |fall| fall.half_way()))
}
