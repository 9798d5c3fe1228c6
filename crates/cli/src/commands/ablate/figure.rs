//! What parts are worth, as pictures.

use induct_figure::{Axis, Colour, Figure, Grid, Mark, Panel, Plot, Scale, Series, Value};
use induct_pictures::{curves, regions_of_run};

use super::measure::{MATTERS, Part, Worths, by_worth};
use crate::recorded::RecordedRun;

/// How many of the most important parts have a colour and a name; all others are thin and grey.
const NAMED: usize = 5;

const WORTH: &str = "worth: how much higher KL(truth ‖ model) is without it, nats";

/// A curve per part over the snapshots of a run, with its phases behind them.
pub fn over_training(worths: &Worths, run: &RecordedRun) -> Figure {
    let curves = distinct(&by_worth(&worths.parts));
    let matter = curves.iter().take(NAMED);
    let matter = matter
        .take_while(|(part, _)| part.largest() >= MATTERS)
        .count();
    let (important, rest) = curves.split_at(matter);
    let rest = rest.iter().map(|(part, _)| {
        let label = "other parts".to_owned();
        curve(part, &worths.steps, label, (Colour::Grey, Mark::Thin))
    });
    let named = important.iter().enumerate().map(|(at, (part, label))| {
        let colour = curves::colour(at, matter);
        curve(part, &worths.steps, label.clone(), (colour, Mark::Line))
    });
    let last = worths.steps.last().map_or(0.0, |&step| step as f64);
    let mut x = Axis::linear("training steps");
    if last > 0.0 {
        x = x.range(0.0, last);
    }
    Figure {
        description: "What each part of the model is worth over training.".into(),
        panels: vec![Panel::Plot(Plot {
            x,
            y: Axis::linear(WORTH),
            regions: regions_of_run(&run.history, &run.folder.recipe().task.ladder()),
            series: rest.chain(named).collect(),
            names_above: true,
            aspect: 0.45,
            ..Plot::default()
        })],
        columns: 1,
    }
}

/// One part per curve, with the names of all that have it: where a head reads only the embedding's values,
/// the two are worth the same at every step.
fn distinct<'a>(parts: &[&'a Part]) -> Vec<(&'a Part, String)> {
    let mut curves: Vec<(&Part, String)> = Vec::new();
    for part in parts {
        match curves.iter_mut().find(|(other, _)| other.is_worth_as(part)) {
            Some((_, names)) => *names += &format!(" = {}", part.part),
            None => curves.push((part, part.part.clone())),
        }
    }
    curves
}

fn curve(part: &Part, steps: &[u64], label: String, (colour, mark): (Colour, Mark)) -> Series {
    let known = steps.iter().zip(&part.worth).zip(&part.se);
    let value = |((&step, &mean), &se): ((&u64, &Option<f64>), &Option<f64>)| {
        Some(Value::give_or_take(step as f64, mean?, se?))
    };
    Series {
        label,
        colour,
        mark,
        values: known.filter_map(value).collect(),
    }
}

/// Sources by readers: what each path is worth, and each source as everything reads it.
pub fn sources_and_readers(worths: &Worths) -> Figure {
    let mut sources: Vec<String> = Vec::new();
    let mut readers = vec![EVERYTHING.to_owned()];
    let mut cells = Vec::new();
    for part in &worths.parts {
        let row = place(&mut sources, part.source.clone());
        let column = place(&mut readers, reader(part));
        let worth = part.worth.last().copied().flatten();
        cells.push((row, column, worth.unwrap_or(f64::NAN)));
    }
    let mut values = vec![f64::NAN; sources.len() * readers.len()];
    for &(row, column, worth) in &cells {
        values[row * readers.len() + column] = worth;
        // What only the logits read is listed once, and is that path as well.
        if cells.iter().filter(|(other, ..)| *other == row).count() == 1 {
            values[(row + 1) * readers.len() - 1] = worth;
        }
    }
    Figure {
        description: "What each path between parts of the model is worth.".into(),
        panels: vec![Panel::Grid(Grid {
            title: String::new(),
            x_label: "read by".into(),
            y_label: "what is written by".into(),
            columns: readers,
            rows: sources,
            values,
            value_label: WORTH.into(),
            scale: Scale::Linear,
        })],
        columns: 1,
    }
}

/// The place of a name in a list, at the end if it is new.
fn place(names: &mut Vec<String>, name: String) -> usize {
    names
        .iter()
        .position(|other| *other == name)
        .unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
}

/// The column of a source as all its readers see it.
const EVERYTHING: &str = "everything";

fn reader(part: &Part) -> String {
    part.reader.clone().unwrap_or(EVERYTHING.to_owned())
}
