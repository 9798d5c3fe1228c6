//! `induct sweep plot`: phase diagrams, and families of curves.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use induct_figure::{Figure, plain};
use induct_pictures::curves::Group;
use induct_pictures::groups::by_size;
use induct_pictures::sweeps::{KeyAxis, Map, Member, curves_over_steps, family, phase_diagram};
use induct_store::Storage;
use induct_studies::{ERROR, Measurement, Sample};
use induct_sweep::{Column, Sweep, SweepResults};
use serde_json::json;

use super::{gather, results};
use crate::commands::note;
use crate::failure::Failure;
use crate::options::Json;
use crate::out_file::OutFile;
use crate::words::count;

/// Draw a sweep: a phase diagram over two keys, or a measure over one key or over the steps, a curve per value of another
#[derive(Args)]
pub struct Arguments {
    /// Folder of the sweep, which may still be at work
    sweep: PathBuf,
    /// Horizontal axis: a key that varies, or `step` for curves over training; the first key if not given
    #[arg(long, value_name = "KEY|step")]
    x: Option<String>,
    /// Vertical axis: a second key, for a phase diagram; or a measure, for curves
    #[arg(long, value_name = "KEY|MEASURE")]
    y: Option<String>,
    /// What colours show: a measure in a phase diagram, a key that varies for curves. A measure is a column of the
    /// gathered table: onset.STRATEGY, final.COLUMN (or COLUMN alone), steps
    #[arg(long, visible_alias = "color", value_name = "MEASURE|KEY")]
    colour: Option<String>,
    /// Only runs with this value of a key, such as train.batch=64; may be repeated
    #[arg(long = "where", value_name = "KEY=VALUE")]
    only: Vec<String>,
    /// File to write: .svg or .png; plot.svg in the sweep's folder if not given
    #[arg(long, value_name = "FILE", value_parser = OutFile::picture)]
    out: Option<OutFile>,
    /// Width in pixels; PNGs have twice as many
    #[arg(long, value_name = "PIXELS", default_value_t = 900, value_parser = crate::commands::numbers::whole_within(300..=4000))]
    width: u64,
    #[command(flatten)]
    json: Json,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let mut gathered = sweep.gather(false)?;
    gather::remark(&sweep, &gathered);
    filter(&sweep, &mut gathered, &arguments.only)?;
    if gathered.runs.is_empty() {
        let why = match arguments.only.as_slice() {
            [] => "has no result to draw yet",
            _ => "has no result with all that --where asks for",
        };
        return Err(Failure::usage(format!(
            "{} {why}",
            arguments.sweep.display()
        )));
    }
    let figure = draw(&sweep, &gathered, arguments)?;
    let width = arguments.width as u32;
    let out = match &arguments.out {
        Some(out) => {
            out.write_figure(&figure, width)?;
            out.path().to_owned()
        }
        None => {
            let name = "plot.svg";
            Storage::on_disk(sweep.path()).write(name, figure.svg(width).as_bytes())?;
            sweep.path().join(name)
        }
    };
    let runs = gathered.runs.len();
    let value = json!({ "out": out.to_string_lossy(), "runs": runs, "missing": gathered.missing });
    let text = format!("{} in {}\n", count(runs, "run"), out.display());
    arguments.json.print(&value, &text)
}

/// The figure that the options ask for.
fn draw(sweep: &Sweep, gathered: &SweepResults, arguments: &Arguments) -> Result<Figure, Failure> {
    let keys = sweep.plan.keys();
    let y = arguments.y.as_deref();
    let colour = arguments.colour.as_deref();
    let by_colour = || colour.map(|name| key(sweep, "colour", name)).transpose();
    let x = match (arguments.x.as_deref(), keys.first()) {
        (None, _) if y.is_none() && colour.is_none() => {
            return results::summary_figure(sweep, gathered).ok_or_else(|| {
                Failure::usage(
                    "no curve was kept, and no key with numbers varies; name a measure with --y, or keep curves (--curve)",
                )
            });
        }
        (Some("step"), _) => {
            let (measure, by) = (curve_name(sweep, y)?, by_colour()?);
            note_pooled(sweep, gathered, &[by]);
            return Ok(training(gathered, measure, by));
        }
        (Some(x), _) => key(sweep, "x", x)?,
        (None, Some(first)) => first,
        (None, None) => {
            let why = "no key varies; use --x step for curves over training";
            return Err(Failure::usage(why));
        }
    };
    let up = match y {
        Some(y) if y == x => {
            return Err(Failure::usage(format!(
                "--y {y}: it is the horizontal axis already; name another key, or a measure"
            )));
        }
        Some(y) => Some(y).filter(|y| is_key(sweep, y)),
        None => keys.iter().map(String::as_str).find(|key| *key != x),
    };
    if let Some(up) = up {
        let measure = measure(sweep, "colour", colour)?;
        note_pooled(sweep, gathered, &[Some(x), Some(up)]);
        return Ok(diagram(gathered, x, up, &[measure]));
    }
    let (measure, by) = (measure(sweep, "y", y)?, by_colour()?);
    note_pooled(sweep, gathered, &[Some(x), by]);
    family_of(gathered, x, &measure, by)
}

fn is_key(sweep: &Sweep, name: &str) -> bool {
    sweep.plan.keys().iter().any(|key| key == name)
}

/// Refuses a name that is not a key that varies.
fn key<'a>(sweep: &Sweep, option: &str, name: &'a str) -> Result<&'a str, Failure> {
    if is_key(sweep, name) {
        return Ok(name);
    }
    Err(Failure::usage(format!(
        "--{option} {name}: no such key varies; {}",
        match sweep.plan.keys() {
            [] => "none does".to_owned(),
            keys => format!("{} do", keys.join(", ")),
        }
    )))
}

/// The column of the gathered table that an option names; the onset of the last phase if it is not given.
fn measure(sweep: &Sweep, option: &str, name: Option<&str>) -> Result<String, Failure> {
    let kept = &sweep.plan.kept;
    let mut onsets = kept.strategies.iter().map(|name| format!("onset.{name}"));
    let last = kept.last.iter().map(|column| format!("final.{column}"));
    let Some(name) = name else {
        let latest = onsets.next_back();
        return Ok(latest.unwrap_or("final.kl_truth".to_owned()));
    };
    let known: Vec<String> = onsets.chain(["steps".to_owned()]).chain(last).collect();
    let meant = |own: &&String| *own == name || own.strip_prefix("final.") == Some(name);
    if is_key(sweep, name) {
        return Err(Failure::usage(format!(
            "--{option} {name}: a phase diagram is coloured by a measure; for a curve per value of {name}, \
             name a measure with --y"
        )));
    }
    known.iter().find(meant).cloned().ok_or_else(|| {
        Failure::usage(format!(
            "--{option} {name}: neither a key that varies ({}) nor a measure that was kept ({})",
            sweep.plan.keys().join(", "),
            known.join(", ")
        ))
    })
}

/// The measure whose curves --y names.
fn curve_name<'a>(sweep: &Sweep, y: Option<&'a str>) -> Result<&'a str, Failure> {
    let measure = y.unwrap_or("kl_truth").trim_start_matches("curve.");
    let kept = &sweep.plan.kept.curves;
    if kept.iter().any(|own| own == measure) {
        return Ok(measure);
    }
    let advice = match kept.as_slice() {
        [] => "none was: name curves in the study, or with --curve when planning".to_owned(),
        kept => format!("those kept are {}", kept.join(", ")),
    };
    Err(Failure::usage(format!(
        "--y {measure}: no curve of it was kept; {advice}"
    )))
}

/// Says which keys vary without being shown.
fn note_pooled(sweep: &Sweep, gathered: &SweepResults, shown: &[Option<&str>]) {
    let keys = sweep.plan.keys().iter().map(String::as_str);
    let pooled: Vec<&str> = keys
        .filter(|key| !shown.contains(&Some(key)) && axis(gathered, key).0.len() > 1)
        .collect();
    if !pooled.is_empty() {
        note(&format!(
            "runs with different values of {} are taken together; --where fixes a key",
            pooled.join(", ")
        ));
    }
}

/// Keeps the runs that have given values.
fn filter(sweep: &Sweep, gathered: &mut SweepResults, only: &[String]) -> Result<(), Failure> {
    let mut keep = vec![true; gathered.runs.len()];
    for text in only {
        let refuse = |why: String| Failure::usage(format!("--where {text}: {why}"));
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| refuse("expected KEY=VALUE".into()))?;
        let column = gathered.table.column(key).filter(|_| is_key(sweep, key));
        let column = column.ok_or_else(|| {
            refuse(format!(
                "no such key varies; {} do",
                sweep.plan.keys().join(", ")
            ))
        })?;
        let same = |shown: &str| {
            shown == value
                || by_size(shown, value).is_eq()
                || number(shown) == number(value) && number(value).is_some()
        };
        let mut any = false;
        for (row, keep) in keep.iter_mut().enumerate() {
            let is = same(&column.shown(row));
            any |= is;
            *keep &= is;
        }
        if !any {
            return Err(refuse("no run has this value".into()));
        }
    }
    if keep.iter().all(|&keep| keep) {
        return Ok(());
    }
    let rows: Vec<usize> = (0..keep.len()).filter(|&row| keep[row]).collect();
    gathered.table = gathered.table.rows(&rows);
    gathered.runs = rows.iter().map(|&row| gathered.runs[row]).collect();
    Ok(())
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// The values of a key, in order, and the index of each run's. Of no key, all runs have the same.
fn axis(gathered: &SweepResults, key: &str) -> (Vec<String>, Vec<usize>) {
    let column = gathered.table.column(key);
    let shown: Vec<String> = match column {
        Some(column) => (0..column.len()).map(|row| column.shown(row)).collect(),
        None => vec![String::new(); gathered.runs.len()],
    };
    let mut values = shown.clone();
    values.sort_by(|a, b| by_size(a, b));
    values.dedup();
    let places: HashMap<&String, usize> = values
        .iter()
        .enumerate()
        .map(|(at, value)| (value, at))
        .collect();
    let of_runs = shown.iter().map(|value| places[value]).collect();
    (values.clone(), of_runs)
}

/// Medians of measures over two keys: over seeds, and over any further keys. A run without a value counts as the worst.
pub fn diagram(gathered: &SweepResults, x: &str, y: &str, measures: &[String]) -> Figure {
    let ((across, at_x), (up, at_y)) = (axis(gathered, x), axis(gathered, y));
    let map = |measure: &String| {
        let mut cells = vec![Vec::new(); across.len() * up.len()];
        let column = gathered.table.column(measure);
        for row in 0..gathered.runs.len() {
            cells[at_y[row] * across.len() + at_x[row]]
                .push(column.and_then(|column| column.number(row)));
        }
        let median = |values: Vec<Option<f64>>| {
            let effect = Measurement::of(&Sample::Numbers(values), f64::INFINITY, ERROR).effect;
            effect.is_finite().then_some(effect)
        };
        let cells: Vec<Option<f64>> = cells.into_iter().map(median).collect();
        let (title, unit) = words(measure);
        Map {
            title,
            unit,
            cells: cells.chunks(across.len()).map(<[_]>::to_vec).collect(),
        }
    };
    let maps: Vec<Map> = measures.iter().map(map).collect();
    let key_axis = |key: &str, values: Vec<String>| KeyAxis {
        key: key.to_owned(),
        values,
    };
    let axes = (key_axis(x, across.clone()), key_axis(y, up.clone()));
    phase_diagram(&axes.0, &axes.1, &maps)
}

fn words(measure: &str) -> (String, String) {
    if let Some(strategy) = measure.strip_prefix("onset.") {
        return (format!("Onset of the {strategy} phase"), "steps".into());
    }
    match measure {
        "final.kl_truth" => ("Final loss".into(), "KL(truth ‖ model), nats".into()),
        "steps" => ("Steps done".into(), "steps".into()),
        other => {
            let name = other.strip_prefix("final.").unwrap_or(other);
            (format!("{name} at the end"), name.to_owned())
        }
    }
}

/// A measure over a key: each seed, their median and its interval, a curve per value of another key.
pub fn family_of(
    gathered: &SweepResults,
    x: &str,
    measure: &str,
    by: Option<&str>,
) -> Result<Figure, Failure> {
    let (values, at_x) = axis(gathered, x);
    let positions: Vec<f64> = values.iter().filter_map(|value| number(value)).collect();
    if positions.len() != values.len() {
        return Err(Failure::usage(format!(
            "--x {x}: its values are not numbers, and curves need numbers; use a phase diagram (--y with a second key)"
        )));
    }
    let (labels, at_by) = axis(gathered, by.unwrap_or_default());
    let column = gathered.table.column(measure);
    let mut samples = vec![vec![Vec::new(); positions.len()]; labels.len()];
    for row in 0..gathered.runs.len() {
        samples[at_by[row]][at_x[row]].push(column.and_then(|column: &Column| column.number(row)));
    }
    let member = |(label, samples): (&String, Vec<Vec<Option<f64>>>)| {
        let dots = positions.iter().zip(&samples);
        let dots = dots.flat_map(|(&x, sample)| sample.iter().flatten().map(move |&y| (x, y)));
        let medians = positions
            .iter()
            .zip(&samples)
            .filter(|(_, sample)| !sample.is_empty());
        let medians = medians.map(|(&x, sample)| {
            let measured = Measurement::of(&Sample::Numbers(sample.clone()), f64::INFINITY, ERROR);
            (x, measured.effect, measured.interval)
        });
        Member {
            label: match by {
                Some(by) => format!("{by} = {label}"),
                None => "median over seeds".into(),
            },
            dots: dots.collect(),
            medians: medians.collect(),
        }
    };
    let members: Vec<Member> = labels.iter().zip(samples).map(member).collect();
    let (title, unit) = words(measure);
    let label = match title.contains(&unit) {
        true => title,
        false => format!("{title}, {unit}"),
    };
    Ok(family(x, &label, &members))
}

fn curve(gathered: &SweepResults, measure: &str, row: usize) -> Option<Vec<(f64, f64)>> {
    let column = |name: &str| match gathered.table.column(name) {
        Some(Column::Curve(curves)) => curves[row].as_ref(),
        _ => None,
    };
    let (steps, values) = (column("curve.step")?, column(&format!("curve.{measure}"))?);
    let point =
        |(step, value): (&Option<f64>, &Option<f64>)| Some(((*step)?, value.unwrap_or(f64::NAN)));
    Some(steps.iter().zip(values).filter_map(point).collect())
}

/// Curves of a measure over training, by the values of a key.
pub fn groups(gathered: &SweepResults, measure: &str, by: Option<&str>) -> Vec<Group> {
    let (labels, at) = axis(gathered, by.unwrap_or_default());
    let group = |(index, label): (usize, &String)| {
        let rows = (0..gathered.runs.len()).filter(|&row| at[row] == index);
        let curves = rows.filter_map(|row| curve(gathered, measure, row));
        let seeds: Vec<_> = curves.collect();
        Group {
            label: match by {
                Some(by) => format!("{by} = {label}"),
                None => count(seeds.len(), "run"),
            },
            seeds,
        }
    };
    labels.iter().enumerate().map(group).collect()
}

fn training(gathered: &SweepResults, measure: &str, by: Option<&str>) -> Figure {
    let groups = groups(gathered, measure, by);
    match measure {
        "kl_truth" => curves_over_steps("KL(truth ‖ model), nats", &groups, &[]),
        other => curves_over_steps(&plain(other), &groups, &[]),
    }
}
