//! What a plot of runs shows: panels of curves, before they become a picture or text.

mod error;
mod measures;

use induct::measure::{Column, KL_TRUTH, Of, Scope};
use induct::probe::History;
use induct::recipe::Recipe;
use induct_figure::{Colour, Family, Figure, Panel, Plot, Region, Sentence, plain};

use crate::curves::{self, Group, colour, steps_axis, values_axis};
use crate::{regions_of_run, strategy_colours};

pub use error::PlotError;
pub use measures::{Selection, chosen};

/// What a run has recorded, and of what.
#[derive(Clone, Copy, Debug)]
pub struct RunCurves<'a> {
    /// Its records so far.
    pub history: &'a History,
    /// Its recipe.
    pub recipe: &'a Recipe,
}

/// Runs of one recipe with different seeds.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// What tells them apart from other runs of the same plot, such as `train.batch = 12`.
    pub label: String,
    /// The runs; at least one.
    pub runs: Vec<RunCurves<'a>>,
}

/// Curves over training in one frame.
#[derive(Clone, Debug)]
pub struct Curves {
    /// The name of a measure or column.
    pub title: String,
    /// What it is.
    pub meaning: String,
    /// One per column, or one per group of runs.
    pub lines: Vec<(Group, Colour)>,
    /// KL(truth ‖ strategy), where that is what the curves show of the model.
    pub levels: Vec<(String, f64)>,
    /// The phases of a single run.
    pub regions: Vec<Region>,
    /// What the colours of many columns stand for.
    pub family: Option<Family>,
}

/// The most panels of a figure.
const MOST: usize = 24;

/// The panels for the measures that were asked for. Runs of one recipe have one panel per measure, with its
/// columns as lines; otherwise every column has a panel, with the recipes as lines. `levels` are the losses
/// of strategies, by name, if all runs share a task.
///
/// # Errors
///
/// [`PlotError::TooMany`] if runs of several recipes would have more panels than can be read.
pub fn panels(
    groups: &[Runs],
    chosen: &[Selection],
    levels: &[(String, f64)],
) -> Result<Vec<Curves>, PlotError> {
    let panels: Vec<Curves> = match groups {
        [only] => {
            let panel = |chosen| of_one(only, chosen, levels);
            chosen.iter().map(panel).collect()
        }
        _ => {
            let each = |chosen: &Selection| {
                let panel = |column| of_several(groups, &chosen.meaning, column, levels);
                chosen.columns.iter().map(panel).collect::<Vec<_>>()
            };
            chosen.iter().flat_map(each).collect()
        }
    };
    match panels.len() > MOST {
        true => Err(PlotError::TooMany {
            columns: panels.len(),
            most: MOST,
            first: panels[0].title.clone(),
        }),
        false => Ok(panels),
    }
}

fn of_one(group: &Runs, chosen: &Selection, levels: &[(String, f64)]) -> Curves {
    let columns = &chosen.columns;
    let colours: Vec<Colour> = match (chosen.scope, columns.len()) {
        (Scope::Strategy, _) => strategy_colours(&columns.iter().map(name).collect::<Vec<_>>()),
        (_, 1) => vec![Colour::Ink],
        (Scope::Lag | Scope::Position, count) => (0..count).map(|at| colour(at, count)).collect(),
        (_, count) => Colour::PALETTE.into_iter().cycle().take(count).collect(),
    };
    let levels = levels_of(&columns[0], levels);
    // A title is enough for a single line.
    let alone = columns.len() == 1 && levels.is_empty();
    let line = |(column, colour): (&Column, Colour)| {
        let label = if alone { String::new() } else { name(column) };
        (curves_of(group, column, label), colour)
    };
    let many = matches!(chosen.scope, Scope::Lag | Scope::Position) && columns.len() > 1;
    Curves {
        title: chosen.name.clone(),
        meaning: chosen.meaning.clone(),
        lines: columns.iter().zip(colours).map(line).collect(),
        levels,
        regions: match group.runs[..] {
            [run] => regions_of_run(run.history, &run.recipe.task.ladder()),
            _ => Vec::new(),
        },
        family: many.then(|| Family {
            low: name(&columns[0]),
            high: columns.last().map(name).unwrap_or_default(),
        }),
    }
}

fn of_several(groups: &[Runs], meaning: &str, column: &Column, levels: &[(String, f64)]) -> Curves {
    let line = |(at, group): (usize, &Runs)| {
        let curves = curves_of(group, column, group.label.clone());
        (curves, colour(at, groups.len()))
    };
    Curves {
        title: column.to_string(),
        meaning: meaning.to_owned(),
        lines: groups.iter().enumerate().map(line).collect(),
        levels: levels_of(column, levels),
        regions: Vec::new(),
        family: None,
    }
}

/// The name of a column among those of its measure.
fn name(column: &Column) -> String {
    match &column.of {
        Of::Run => "model".to_owned(),
        Of::Strategy(name) | Of::Test(name) | Of::Group(name) => name.clone(),
        Of::Head { layer, head } => format!("layers.{layer}.heads.{head}"),
        Of::Layer(layer) => format!("layers.{layer}"),
        Of::Place(place) => place.to_string(),
    }
}

/// A column of all runs of a group. Runs without it have no curve.
fn curves_of(group: &Runs, column: &Column, label: String) -> Group {
    let recorded = group.runs.iter().filter_map(|run| {
        let values = run.history.column(column.clone())?;
        let steps = run.history.steps().into_iter().map(|step| step as f64);
        Some(steps.zip(values).collect())
    });
    Group {
        label,
        seeds: recorded.collect(),
    }
}

fn levels_of(column: &Column, levels: &[(String, f64)]) -> Vec<(String, f64)> {
    match *column == Column::from(&KL_TRUTH) {
        true => levels.to_vec(),
        false => Vec::new(),
    }
}

/// The picture of all panels. Lines that the first panel names are not named again.
pub fn figure(panels: &[Curves]) -> Figure {
    let names: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
    let panel = |panel: &Curves| {
        let named = || panels[0].drawn().map(|(line, _)| &line.label);
        let is_first = std::ptr::eq(panel, &panels[0]);
        let is_named = |(line, _): (&Group, _)| named().any(|label| *label == line.label);
        let known = panel.drawn().all(is_named);
        panel.panel(known && !is_first)
    };
    Figure {
        description: format!("{} over training steps.", names.join(", ")),
        panels: panels.iter().map(panel).collect(),
        columns: panels.len().clamp(1, 2),
    }
}

impl Curves {
    /// The lines that have anything to draw.
    pub fn drawn(&self) -> impl Iterator<Item = (&Group, Colour)> {
        let drawn = self.lines.iter().filter(|(line, _)| line.is_drawn());
        drawn.map(|(line, colour)| (line, *colour))
    }

    /// The panel, or a sentence if there is nothing to draw. Names can be left out where another panel of the
    /// same figure shows them.
    pub fn panel(&self, without_names: bool) -> Panel {
        let title = plain(&self.title);
        let drawn: Vec<(&Group, Colour)> = self.drawn().collect();
        if drawn.is_empty() {
            return Panel::Sentence(Sentence {
                title,
                text: "No value is recorded.".into(),
            });
        }
        let lines = drawn.iter().map(|(line, _)| *line);
        Panel::Plot(Plot {
            title,
            x: steps_axis(lines.clone()),
            y: values_axis(&plain(&self.meaning), lines, &self.levels),
            regions: self.regions.clone(),
            family: self.family.clone(),
            without_names,
            // Recipes tend to end at the same value, where chance would order their names.
            names_above: drawn.iter().any(|(line, _)| line.label.contains(' ')),
            ..curves::plot(&drawn, &self.levels)
        })
    }
}

#[cfg(test)]
mod tests;
