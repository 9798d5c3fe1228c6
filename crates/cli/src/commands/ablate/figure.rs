//! What parts are worth, as pictures.

use induct::probe::Estimate;
use induct_figure::{Axis, Colour, Figure, Grid, Mark, Panel, Plot, Scale, Series, Value};
use induct_pictures::{curves, regions_of_run};

use super::measure::{MATTERS, Measured, Part};
use crate::recorded::Recorded;

/// How many of the most important parts have a colour and a name; all others are thin and grey.
const NAMED: usize = 5;

const WORTH: &str = "worth: how much higher KL(truth ‖ model) is without it, nats";

/// A curve per part over the snapshots of a run, with its phases behind them.
pub fn over_training(measured: &Measured, run: &Recorded) -> Figure {
    let curves = distinct(&measured.by_worth());
    let matter = curves.iter().take(NAMED);
    let matter = matter
        .take_while(|(part, _)| part.largest() >= MATTERS)
        .count();
    let (important, rest) = curves.split_at(matter);
    let rest = rest.iter().map(|(part, _)| {
        let label = "other parts".to_owned();
        curve(part, &measured.steps, label, (Colour::Grey, Mark::Thin))
    });
    let named = important.iter().enumerate().map(|(at, (part, label))| {
        let colour = curves::colour(at, matter);
        curve(part, &measured.steps, label.clone(), (colour, Mark::Line))
    });
    let last = measured.steps.last().map_or(0.0, |&step| step as f64);
    let mut x = Axis::linear("training steps");
    if last > 0.0 {
        x = x.range(0.0, last);
    }
    Figure {
        description: "What each part of the model is worth over training.".into(),
        panels: vec![Panel::Plot(Plot {
            x,
            y: Axis::linear(WORTH),
            regions: regions_of_run(&run.history, run.folder.recipe().task.ngram),
            series: rest.chain(named).collect(),
            names_above: true,
            aspect: 0.45,
            ..Plot::default()
        })],
        columns: 1,
    }
}

/// One part per curve, with the names of all that have it: where a head reads only the embedding's values, the two
/// are worth the same at every step.
fn distinct<'a>(parts: &[&'a Part]) -> Vec<(&'a Part, String)> {
    let mut curves: Vec<(&Part, String)> = Vec::new();
    for part in parts {
        match curves.iter_mut().find(|(other, _)| other.is_worth_as(part)) {
            Some((_, names)) => *names += &format!(" = {}", part.name()),
            None => curves.push((part, part.name())),
        }
    }
    curves
}

fn curve(part: &Part, steps: &[u64], label: String, (colour, mark): (Colour, Mark)) -> Series {
    let known = steps.iter().zip(&part.worth);
    let value = |(&step, worth): (&u64, &Option<Estimate>)| {
        let worth = worth.as_ref()?;
        Some(Value::give_or_take(step as f64, worth.mean, worth.se))
    };
    Series {
        label,
        colour,
        mark,
        values: known.filter_map(value).collect(),
    }
}

/// Sources by readers: what each path is worth, and each source as everything reads it.
pub fn sources_and_readers(measured: &Measured) -> Figure {
    let mut sources: Vec<String> = Vec::new();
    let mut readers = vec![EVERYTHING.to_owned()];
    for part in &measured.parts {
        for (all, name) in [
            (&mut sources, part.source.to_string()),
            (&mut readers, reader(part)),
        ] {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    let mut values = vec![f64::NAN; sources.len() * readers.len()];
    for part in &measured.parts {
        let row = sources
            .iter()
            .position(|name| *name == part.source.to_string());
        let column = readers.iter().position(|name| *name == reader(part));
        if let (Some(row), Some(column), Some(Some(worth))) = (row, column, part.worth.last()) {
            values[row * readers.len() + column] = worth.mean;
            // What only the logits read is listed once, and is that path as well.
            let own = measured
                .parts
                .iter()
                .filter(|other| other.source == part.source);
            if own.count() == 1 {
                values[(row + 1) * readers.len() - 1] = worth.mean;
            }
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

/// The column of a source as all its readers see it.
const EVERYTHING: &str = "everything";

fn reader(part: &Part) -> String {
    part.reader
        .map_or(EVERYTHING.to_owned(), |reader| reader.to_string())
}
