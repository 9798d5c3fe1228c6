//! `induct sweep plot`: phase diagrams, and families of curves.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use induct_figure::{Figure, plain};
use induct_pictures::curves::Group;
use induct_pictures::groups::by_size;
use induct_pictures::sweeps::{KeyAxis, Map, Member, curves_over_steps, family, phase_diagram};
use induct_studies::{ERROR, Measurement, Sample};
use induct_sweep::{Column, Gathered, Sweep};
use serde_json::json;

use super::{gather, note, print, print_json, results};
use crate::failure::Failure;
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
    /// Print {"out": FILE, "runs": n, "missing": n}
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let kind = Kind::new(&sweep, arguments)?;
    let mut gathered = sweep.gather(false)?;
    gather::remark(&sweep, &gathered);
    filter(&sweep, &mut gathered, &arguments.only)?;
    if gathered.runs.is_empty() {
        let why = match arguments.only.as_slice() {
            [] => "has no result to draw yet",
            _ => "has no result with all that --where asks for",
        };
        return Err(Failure::mistake(format!(
            "{} {why}",
            arguments.sweep.display()
        )));
    }
    kind.say_what_is_pooled(&sweep, &gathered);
    let figure = kind.figure(&sweep, &gathered)?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => OutFile::picture(&sweep.path().join("plot.svg").to_string_lossy())
            .map_err(Failure::mistake)?,
    };
    out.write_figure(&figure, arguments.width as u32)?;
    let (out, runs) = (out.path(), gathered.runs.len());
    match arguments.json {
        true => print_json(
            &json!({ "out": out.to_string_lossy(), "runs": runs, "missing": gathered.missing }),
        ),
        false => print(&format!("{} in {}\n", count(runs, "run"), out.display())),
    }
}

/// A figure that was asked for.
enum Kind {
    /// Whatever shows the sweep best.
    Summary,
    /// A measure over two keys.
    Diagram {
        x: String,
        y: String,
        measure: String,
    },
    /// A measure over a key, a curve per value of another.
    Family {
        x: String,
        measure: String,
        by: Option<String>,
    },
    /// A measure over training, a curve per value of a key.
    Training { measure: String, by: Option<String> },
}

impl Kind {
    fn new(sweep: &Sweep, arguments: &Arguments) -> Result<Self, Failure> {
        let keys = sweep.plan.keys();
        let is_key = |name: &str| keys.iter().any(|key| key == name);
        let key = |option: &str, name: &str| match is_key(name) {
            true => Ok(name.to_owned()),
            false => Err(Failure::mistake(format!(
                "--{option} {name}: no such key varies; {}",
                match keys.is_empty() {
                    true => "none does".to_owned(),
                    false => format!("{} do", keys.join(", ")),
                }
            ))),
        };
        let last = || {
            let strategies = &sweep.plan.kept.strategies;
            strategies
                .last()
                .map_or("final.kl_truth".to_owned(), |name| format!("onset.{name}"))
        };
        let measure = |option: &str, name: Option<&String>| match name {
            None => Ok(last()),
            Some(name) if is_key(name) => Err(Failure::mistake(format!(
                "--{option} {name}: a phase diagram is coloured by a measure; for a curve per value of {name}, \
                 name a measure with --y"
            ))),
            Some(name) => find_measure(sweep, name)
                .ok_or_else(|| Failure::mistake(format!("--{option} {name}: {}", known(sweep)))),
        };
        let (x, y, colour) = (&arguments.x, &arguments.y, &arguments.colour);
        let kind = match (x.as_deref(), y.as_deref()) {
            (None, None) if colour.is_none() => Kind::Summary,
            (Some("step"), y) => {
                let measure = y
                    .unwrap_or("kl_truth")
                    .trim_start_matches("curve.")
                    .to_owned();
                if !sweep.plan.kept.curves.contains(&measure) {
                    return Err(Failure::mistake(format!(
                        "--y {measure}: no curve of it was kept; {}",
                        match sweep.plan.kept.curves.as_slice() {
                            [] =>
                                "none was: name curves in the study, or with --curve when planning"
                                    .to_owned(),
                            kept => format!("those kept are {}", kept.join(", ")),
                        }
                    )));
                }
                let by = colour
                    .as_ref()
                    .map(|name| key("colour", name))
                    .transpose()?;
                Kind::Training { measure, by }
            }
            (x, y) => {
                let x = match (x, keys.first()) {
                    (Some(x), _) => key("x", x)?,
                    (None, Some(first)) => first.clone(),
                    (None, None) => {
                        return Err(Failure::mistake(
                            "no key varies; use --x step for curves over training",
                        ));
                    }
                };
                let second = keys.iter().find(|key| **key != x);
                match (y, second) {
                    (Some(y), _) if y == x => {
                        return Err(Failure::mistake(format!(
                            "--y {y}: it is the horizontal axis already; name another key, or a measure"
                        )));
                    }
                    (Some(y), _) if is_key(y) => Kind::Diagram {
                        x,
                        y: y.to_owned(),
                        measure: measure("colour", colour.as_ref())?,
                    },
                    (None, Some(second)) => Kind::Diagram {
                        x,
                        y: second.clone(),
                        measure: measure("colour", colour.as_ref())?,
                    },
                    (y, _) => Kind::Family {
                        x,
                        measure: measure("y", y.map(str::to_owned).as_ref())?,
                        by: colour
                            .as_ref()
                            .map(|name| key("colour", name))
                            .transpose()?,
                    },
                }
            }
        };
        Ok(kind)
    }

    /// Says which keys vary without being shown.
    fn say_what_is_pooled(&self, sweep: &Sweep, gathered: &Gathered) {
        let shown: Vec<&String> = match self {
            Kind::Summary => return,
            Kind::Diagram { x, y, .. } => vec![x, y],
            Kind::Family { x, by, .. } => [x].into_iter().chain(by).collect(),
            Kind::Training { by, .. } => by.iter().collect(),
        };
        let varies = |key: &&String| axis(gathered, key).0.len() > 1;
        let pooled: Vec<&str> = (sweep.plan.keys().iter())
            .filter(|key| !shown.contains(key))
            .filter(varies)
            .map(String::as_str)
            .collect();
        if !pooled.is_empty() {
            note(&format!(
                "runs with different values of {} are taken together; --where fixes a key",
                pooled.join(", ")
            ));
        }
    }

    fn figure(&self, sweep: &Sweep, gathered: &Gathered) -> Result<Figure, Failure> {
        match self {
            Kind::Summary => results::summary_figure(sweep, gathered).ok_or_else(|| {
                Failure::mistake(
                    "no curve was kept, and no key with numbers varies; name a measure with --y, or keep curves (--curve)",
                )
            }),
            Kind::Diagram { x, y, measure } => {
                Ok(diagram(gathered, x, y, std::slice::from_ref(measure)))
            }
            Kind::Family { x, measure, by } => family_of(gathered, x, measure, by.as_deref()),
            Kind::Training { measure, by } => Ok(training(gathered, measure, by.as_deref())),
        }
    }
}

/// The column of the gathered table that a name means.
fn find_measure(sweep: &Sweep, name: &str) -> Option<String> {
    let kept = &sweep.plan.kept;
    let mut known = kept
        .strategies
        .iter()
        .map(|strategy| format!("onset.{strategy}"));
    if name == "steps" || known.any(|own| own == name) {
        return Some(name.to_owned());
    }
    let column = name.strip_prefix("final.").unwrap_or(name);
    kept.last
        .iter()
        .any(|own| own == column)
        .then(|| format!("final.{column}"))
}

fn known(sweep: &Sweep) -> String {
    let kept = &sweep.plan.kept;
    let onsets = kept
        .strategies
        .iter()
        .map(|strategy| format!("onset.{strategy}"));
    let finals = kept.last.iter().cloned();
    let all: Vec<String> = onsets.chain(["steps".to_owned()]).chain(finals).collect();
    let keys = sweep.plan.keys();
    format!(
        "neither a key that varies ({}) nor a measure that was kept ({})",
        keys.join(", "),
        all.join(", ")
    )
}

/// Keeps the runs that have given values.
fn filter(sweep: &Sweep, gathered: &mut Gathered, only: &[String]) -> Result<(), Failure> {
    let mut keep = vec![true; gathered.runs.len()];
    for text in only {
        let refuse = |why: String| Failure::mistake(format!("--where {text}: {why}"));
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| refuse("expected KEY=VALUE".into()))?;
        let column = gathered
            .table
            .column(key)
            .filter(|_| sweep.plan.keys().iter().any(|own| own == key));
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

/// The values of a key, in order, and the index of each run's.
fn axis(gathered: &Gathered, key: &str) -> (Vec<String>, Vec<usize>) {
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
pub fn diagram(gathered: &Gathered, x: &str, y: &str, measures: &[String]) -> Figure {
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

/// What a measure is, and its unit.
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
    gathered: &Gathered,
    x: &str,
    measure: &str,
    by: Option<&str>,
) -> Result<Figure, Failure> {
    let (values, at_x) = axis(gathered, x);
    let positions: Vec<f64> = values.iter().filter_map(|value| number(value)).collect();
    if positions.len() != values.len() {
        return Err(Failure::mistake(format!(
            "--x {x}: its values are not numbers, and curves need numbers; use a phase diagram (--y with a second key)"
        )));
    }
    let (labels, at_by) = match by {
        Some(by) => axis(gathered, by),
        None => (vec![String::new()], vec![0; gathered.runs.len()]),
    };
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

/// A run's curve of a measure over training.
pub fn curve(gathered: &Gathered, measure: &str, row: usize) -> Option<Vec<(f64, f64)>> {
    let column = |name: &str| match gathered.table.column(name) {
        Some(Column::Curve(curves)) => curves[row].as_ref(),
        _ => None,
    };
    let (steps, values) = (column("curve.step")?, column(&format!("curve.{measure}"))?);
    let point =
        |(step, value): (&Option<f64>, &Option<f64>)| Some(((*step)?, value.unwrap_or(f64::NAN)));
    Some(steps.iter().zip(values).filter_map(point).collect())
}

fn training(gathered: &Gathered, measure: &str, by: Option<&str>) -> Figure {
    let (labels, at) = match by {
        Some(by) => axis(gathered, by),
        None => (vec![String::new()], vec![0; gathered.runs.len()]),
    };
    let group = |(index, label): (usize, &String)| {
        let rows = (0..gathered.runs.len()).filter(|&row| at[row] == index);
        let seeds: Vec<_> = rows
            .filter_map(|row| curve(gathered, measure, row))
            .collect();
        Group {
            label: match by {
                Some(by) => format!("{by} = {label}"),
                None => count(seeds.len(), "run"),
            },
            seeds,
        }
    };
    let groups: Vec<Group> = labels.iter().enumerate().map(group).collect();
    match measure {
        "kl_truth" => curves_over_steps("KL(truth ‖ model), nats", &groups, &[]),
        other => curves_over_steps(&plain(other), &groups, &[]),
    }
}
