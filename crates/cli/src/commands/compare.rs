//! `induct compare`: where two runs differ.

use std::path::PathBuf;

use clap::Args;
use induct::run::{Differences, Pair, Parting};
use induct_pictures::groups::{RunGroup, labelled};
use induct_pictures::panels::{self, Runs};
use serde::Serialize;

use super::plot;
use crate::failure::Failure;
use crate::options::{Output, Threads};
use crate::recorded::RecordedRun;
use crate::table::Table;
use crate::words::{count, fixed};

/// Compare two runs: keys of their recipes, phases, drops, last records, and when their records part
#[derive(Args)]
pub struct Arguments {
    /// Folder of the first run, a
    a: PathBuf,
    /// Folder of the second run, b
    b: PathBuf,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    threads: Threads,
}

#[derive(Serialize)]
struct Comparison {
    a: String,
    b: String,
    #[serde(flatten)]
    found: Differences,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (a, b) = (
        RecordedRun::open(&arguments.a)?,
        RecordedRun::open(&arguments.b)?,
    );
    let [first, second] = [&a, &b].map(|run| run.summary(&arguments.threads));
    let (first, second) = (first?, second?);
    let report = Comparison {
        found: Differences::of(a.compared(&first), b.compared(&second)),
        a: a.path(),
        b: b.path(),
    };
    arguments.output.print(&report, &report.text(), || {
        let mut groups = labelled(vec![vec![a], vec![b]]);
        // Recipes that differ in seeds only have one label; the folders tell them apart.
        if groups[0].label == groups[1].label {
            for group in &mut groups {
                group.label = group.runs[0].path();
            }
        }
        let curves: Vec<Runs> = groups.iter().map(RunGroup::curves).collect();
        let chosen = panels::chosen(&curves, &[])?;
        let levels = plot::shared_levels(&groups, &arguments.threads)?;
        let panels = panels::panels(&curves, &chosen, &levels)?;
        Ok(plot::sized(panels::figure(&panels)))
    })
}

impl Comparison {
    fn text(&self) -> String {
        let found = &self.found;
        let mut text = format!("a: {}\nb: {}\n", self.a, self.b);
        if found.identical {
            return text
                + "\nThe runs are identical: the same recipe, and the same records to the last bit.\n";
        }
        text += &keys(found);
        text += &table("Phases, first step", &found.onsets, 0);
        text += &table("Drops, step halfway", &found.drops.midpoint, 0);
        text += &table("Drops, steps from 10 % to 90 %", &found.drops.width, 0);
        text += &table("Strategies, KL(truth ‖ strategy) in nats", &found.levels, 5);
        text += &table("Last record", &found.last, 5);
        text + &records(found)
    }
}

fn keys(found: &Differences) -> String {
    if found.keys.is_empty() {
        return "\nRecipe: the same\n".to_owned();
    }
    let mut text = String::from("\nRecipe\n");
    for key in &found.keys {
        let [old, new] = [&key.old, &key.new].map(|value| value.as_deref().unwrap_or("unset"));
        text += &format!("  {}: {old} -> {new}\n", key.key);
    }
    text
}

/// The values that differ, and how many do not.
fn table(title: &str, pairs: &[Pair], digits: usize) -> String {
    let differing: Vec<&Pair> = pairs.iter().filter(|pair| !pair.is_equal()).collect();
    if pairs.is_empty() {
        return String::new();
    }
    if differing.is_empty() {
        return format!("\n{title}: the same\n");
    }
    let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| fixed(value, digits));
    let mut table = Table::new(["", "a", "b", "b - a"]);
    for pair in &differing {
        let sign = if pair.difference.is_some_and(|d| d > 0.0) {
            "+"
        } else {
            ""
        };
        let difference = format!("{sign}{}", cell(pair.difference));
        table.row([pair.name.clone(), cell(pair.a), cell(pair.b), difference]);
    }
    let text = format!("\n{title}\n{}", table.text("  "));
    match pairs.len() - differing.len() {
        0 => text,
        equal => format!("{text}  {equal} more: the same\n"),
    }
}

/// The number of columns to name that part at one step.
const NAMED: usize = 6;

fn records(found: &Differences) -> String {
    let other = match found.same_records {
        true => "",
        false => "; they do not record the same columns at the same steps",
    };
    if found.parting.is_empty() {
        return format!("\nRecords: the same wherever both have them{other}\n");
    }
    let mut text = format!("\nRecords: the first at which a column differs{other}\n");
    for parting in found.parting.chunk_by(|a: &Parting, b| a.step == b.step) {
        let names: Vec<&str> = parting
            .iter()
            .take(NAMED)
            .map(|p| p.column.as_str())
            .collect();
        let more = match parting.len() - names.len() {
            0 => String::new(),
            more => format!(" and {}", count(more, "more column")),
        };
        text += &format!(
            "  step {:>6}: {}{more}\n",
            parting[0].step,
            names.join(", ")
        );
    }
    text
}
