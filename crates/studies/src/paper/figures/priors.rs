//! Interpolated priors, and the minimal model's weights in the middle of its drop.

use induct::measure::KL_TRUTH;
use induct_figure::{
    Axis, Colour, Family, Figure, Mark, Matrix, Note, Panel, Plot, Sentence, Series, Value,
};
use induct_pictures::strategy_colours;

use crate::curves::{self, SEEN};
use crate::figure::Illustration;
use crate::paper::INTERPOLATED;
use crate::results::{Results, TrainedExperiment};
use crate::run::Run;
use crate::statistics::{ERROR, Measurement};

/// The number of weights v to show.
const SHOWN: usize = 20;

pub(super) fn priors(results: &Results) -> Illustration {
    let minimal = results.of("minimal");
    let by_p: Vec<(f64, &TrainedExperiment)> = INTERPOLATED
        .into_iter()
        .map(|p| (p, results.of(&format!("interpolated-{p:.1}"))))
        .collect();
    let onsets: Vec<(f64, &TrainedExperiment, Measurement)> = by_p
        .iter()
        .map(|&(p, trained)| {
            (
                p,
                trained,
                curves::time_of(trained, |run| run.onset("bigram")),
            )
        })
        .collect();
    let stays: Vec<(f64, &TrainedExperiment, Measurement)> = by_p
        .iter()
        .map(|&(p, trained)| (p, trained, stay(trained)))
        .collect();
    let mut panels = vec![
        curves_by_p(&by_p),
        points_by_p("When bigrams become nearest", SEEN, "bigram", &onsets),
        points_by_p(
            "How long unigrams are nearest",
            "thousands of sequences",
            "unigram",
            &stays,
        ),
    ];
    panels.extend(weights(minimal));
    let figure = Figure {
        description: "Top: loss on the original chains of models trained on eleven interpolated priors, when \
                      their transitions occur, and how long they stay at unigrams. Bottom: W_k and v of the \
                      minimal model in the middle of its drop."
            .into(),
        panels,
        columns: 3,
    };
    let onset = |at: usize| curves::onset_in_words(by_p[at].1, "bigram");
    let all: Vec<&TrainedExperiment> = by_p.iter().map(|(_, trained)| *trained).collect();
    let seeds = all.iter().map(|t| t.completed().count()).max().unwrap_or(0);
    Illustration::new(
        figure,
        format!(
            "Top: models trained on chains from the interpolated prior at p, measured on the original \
             chains; medians over {seeds} seeds at most, with 95 % intervals from six seeds on. By the \
             definition in appendix B, the two rows of a chain are nearly equal at p = 0, where unigrams say \
             everything, and mirror each other at p = 1, where they say nothing; the paper's caption has the \
             two ends the other way round. Bigrams become the nearest strategy {} at p = 0.5 and {} at p = \
             1.{} Bottom: W<sub>k</sub> and v of the minimal model (k = 2, first seed) in the middle of its \
             drop.",
            onset(5),
            onset(10),
            without(&onsets)
        ),
    )
}

/// The number of steps at which unigrams are the nearest strategy, over runs.
fn stay(trained: &TrainedExperiment) -> Measurement {
    let stays = trained.numbers(|run| Some(run.steps_at("unigram")));
    Measurement::of(&stays, f64::INFINITY, ERROR)
}

/// Which values of p have runs without a transition.
fn without(onsets: &[(f64, &TrainedExperiment, Measurement)]) -> String {
    let missing = onsets.iter().filter(|(_, _, onset)| onset.missing > 0);
    let missing: Vec<String> = missing
        .map(|(p, _, onset)| format!("{} of {} at p = {p}", onset.missing, onset.seeds))
        .collect();
    match missing.is_empty() {
        true => String::new(),
        false => format!(
            " They never do in {}; numbers at the top count these runs.",
            missing.join(", ")
        ),
    }
}

fn curves_by_p(by_p: &[(f64, &TrainedExperiment)]) -> Panel {
    let title = "a) Trained at p, measured on the original chains";
    let line = |&(p, trained): &(f64, &TrainedExperiment)| {
        let loss = |run: &Run| run.column(&KL_TRUTH);
        curves::median_line(format!("p = {p:.1}"), Colour::ramp(p), trained, loss)
    };
    curves::panel(by_p[0].1, title, || {
        let series: Vec<Series> = by_p.iter().map(line).collect();
        let levels = curves::levels_on(by_p[0].1, "in_distribution", &["unigram", "bigram"]);
        Plot {
            family: Some(Family {
                low: "p = 0: unigrams say everything".into(),
                high: "p = 1: nothing".into(),
            }),
            ..curves::losses(series, levels)
        }
    })
}

/// Medians with their intervals by p. A number at the top counts the runs without the event.
fn points_by_p(
    title: &str,
    y: &str,
    strategy: &str,
    measured: &[(f64, &TrainedExperiment, Measurement)],
) -> Panel {
    let points: Vec<Value> = measured
        .iter()
        .filter_map(|(p, trained, at)| curves::point(*p, at, |step| trained.thousands(step)))
        .collect();
    if points.is_empty() {
        return Panel::Sentence(Sentence {
            title: title.into(),
            text: "No run has a transition.".into(),
        });
    }
    let ends = points.iter().flat_map(|v| v.interval.into_iter().flatten());
    let ends = ends.chain(points.iter().map(|v| v.y));
    let top = ends.filter(|y| y.is_finite()).fold(0.0, f64::max);
    let missing = measured.iter().filter(|(_, _, at)| at.missing > 0);
    let notes: Vec<Note> = missing
        .map(|(p, _, at)| Note {
            x: *p,
            y: 1.12 * top,
            text: format!("{}/{}", at.missing, at.seeds),
            dot: false,
        })
        .collect();
    let never = match notes.is_empty() {
        true => String::new(),
        false => " (on top: runs that never do)".into(),
    };
    Panel::Plot(Plot {
        title: format!("{title}{never}"),
        x: Axis::linear("p").range(-0.05, 1.05),
        y: Axis::linear(y).range(0.0, 1.2 * top.max(1e-9)),
        series: vec![Series::new(
            "",
            strategy_colours(&[strategy])[0],
            Mark::Points,
            points,
        )],
        notes,
        ..Plot::default()
    })
}

/// W_k and v in the middle of the drop.
fn weights(minimal: &TrainedExperiment) -> Vec<Panel> {
    let Some(run) = minimal.completed().find(|run| !run.snapshots().is_empty()) else {
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
        aspect: 0.45,
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
