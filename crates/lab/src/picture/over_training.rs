//! Curves over training.

use induct_figure::{Figure, Moment, Panel};
use induct_pictures::panels::{self, RunCurves, Runs};

use super::{Group, head_in_words};
use crate::problem::Problem;
use crate::shelf::{LabRun, Shelf};

/// The share of the axis from which on a phase has room for its name. A name that does not fit would move
/// into the legend, and back as the phase grows.
const NAMED: f64 = 0.2;

/// Curves of groups of runs: the picture that `induct plot` draws of them. While runs go on (`live`, with
/// steps to mark), the axes reach to their end and the transition is marked, so that nothing moves but the
/// curves.
pub fn curves(
    shelf: &Shelf,
    groups: &[Group],
    measures: &[String],
    live: Option<&Vec<(u64, String)>>,
) -> Result<Figure, Problem> {
    let mut all: Vec<&LabRun> = Vec::new();
    let mut runs: Vec<Runs> = Vec::new();
    for group in groups.iter().filter(|group| !group.runs.is_empty()) {
        let of_group: Result<Vec<_>, _> = group.runs.iter().map(|&run| shelf.get(run)).collect();
        let of_group = of_group?;
        runs.push(Runs {
            label: group.label.clone(),
            runs: of_group.iter().map(|run| curves_of(run)).collect(),
        });
        all.extend(of_group);
    }
    let Some(first) = all.first() else {
        return Err(Problem::new("there is no run to draw"));
    };
    // The strategies' losses belong to the task.
    let same_task = all.iter().all(|run| run.recipe.task == first.recipe.task);
    let levels = if same_task { &first.levels[..] } else { &[] };
    let chosen = panels::chosen(&runs, measures).map_err(Problem::new)?;
    let panels = panels::panels(&runs, &chosen, levels).map_err(Problem::new)?;
    let mut figure = panels::figure(&panels);
    if let Some(marks) = live {
        let last = all.iter().map(|run| run.recipe.train.steps).max();
        let last = last.unwrap_or(0) as f64;
        let several = first.has_several_heads();
        let transition = match all.as_slice() {
            [only] => only.transition(),
            _ => None,
        };
        let transition = match transition {
            Some((step, strategy)) => mark(&(step, format!("{strategy} from step {step}"))),
            None => unmarked(),
        };
        for (panel, curves) in figure.panels.iter_mut().zip(&panels) {
            if let Panel::Plot(plot) = panel {
                if let Some((title, label)) = in_words(&curves.title) {
                    plot.title = title;
                    plot.y.label = label.to_owned();
                }
                for series in &mut plot.series {
                    series.label = layer_words(&series.label, several);
                }
                for region in &mut plot.regions {
                    if region.to - region.from < NAMED * last {
                        region.label.clear();
                    }
                }
                if last > 0.0 {
                    plot.x.range = Some((0.0, last));
                }
                let marks = marks.iter().map(mark);
                plot.moments = marks.chain([transition.clone()]).collect();
            }
        }
    }
    Ok(figure)
}

fn curves_of(run: &LabRun) -> RunCurves<'_> {
    RunCurves {
        history: &run.history,
        recipe: &run.recipe,
    }
}

/// A moment before all others: it is not drawn, and keeps the line free in which its name would stand.
fn unmarked() -> Moment {
    Moment {
        x: -1e12,
        label: String::new(),
    }
}

fn mark((step, label): &(u64, String)) -> Moment {
    Moment {
        x: *step as f64,
        label: label.clone(),
    }
}

/// What a measure is called on the page, where its name would only be a column's: a title and the label of
/// its axis.
fn in_words(measure: &str) -> Option<(String, &'static str)> {
    const DISTANCE: &str = "KL(strategy ‖ model), nats";
    let (title, label) = match measure {
        "kl_truth" => ("Loss", "KL(truth ‖ model), nats"),
        "kl_strategy" => ("Distance to each strategy", DISTANCE),
        "previous_token" => ("Looks at the previous symbol", "share of attention"),
        "induction" => (
            "Looks at what followed the same symbol",
            "share of attention",
        ),
        "matching_gap" => (
            "Layer 2 prefers the same symbol",
            "its score minus that of another one",
        ),
        "odd_even" => (
            "Odd lags stand out",
            "lags 3, 5, 7, 9 above their even neighbours, relative to the mean weight",
        ),
        _ => {
            let strategy = measure.strip_prefix("kl_")?;
            return Some((format!("Distance to {strategy}"), DISTANCE));
        }
    };
    Some((title.to_owned(), label))
}

/// The name of a line: a head is called as on the rest of the page.
fn layer_words(label: &str, several: bool) -> String {
    let numbers = label
        .strip_prefix("layers.")
        .and_then(|rest| rest.split_once(".heads."));
    let parsed = numbers.and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
    match parsed {
        Some((layer, head)) => head_in_words(layer, head, several),
        None => label.to_owned(),
    }
}
