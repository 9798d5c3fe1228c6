//! `induct compare`: where two runs differ.

mod text;

use std::path::PathBuf;

use clap::Args;
use induct::run::Differences;
use induct_pictures::groups::{RunGroup, labelled};
use induct_pictures::panels::{self, Runs};
use serde_json::{Value, json};

use super::{Threads, plot, print, print_json};
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::recorded::Recorded;

/// Compare two runs: keys of their recipes, phases, drops, last records, and when their records part
#[derive(Args)]
pub struct Arguments {
    /// Folder of the first run, a
    a: PathBuf,
    /// Folder of the second run, b
    b: PathBuf,
    /// Write a picture of both (.svg, .png)
    #[arg(long, value_name = "FILE", value_parser = OutFile::picture)]
    out: Option<OutFile>,
    /// Print {"identical": …, "keys": […], "phases": […], "drops": […], "final": […], "parting": […], …}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (a, b) = (Recorded::open(&arguments.a)?, Recorded::open(&arguments.b)?);
    let [first, second] = [&a, &b].map(|run| run.summary(&arguments.threads));
    let (first, second) = (first?, second?);
    let found = Differences::of(a.compared(&first), b.compared(&second));
    let (name_a, name_b) = (a.path(), b.path());
    if let Some(out) = &arguments.out {
        let mut groups = labelled(vec![vec![a], vec![b]]);
        // Recipes that differ in seeds only have one label; the folders tell them apart.
        if groups[0].label == groups[1].label {
            groups
                .iter_mut()
                .for_each(|group| group.label = group.runs[0].path());
        }
        let curves: Vec<Runs> = groups.iter().map(RunGroup::curves).collect();
        let chosen = panels::chosen(&curves, &[])?;
        let levels = plot::shared_levels(&groups, &arguments.threads)?;
        let panels = panels::panels(&curves, &chosen, &levels)?;
        plot::write(out, &panels::figure(&panels))?;
    }
    if arguments.json {
        return print_json(&in_json(&name_a, &name_b, &found));
    }
    let mut shown = format!("a: {name_a}\nb: {name_b}\n");
    shown += &match found.is_empty() {
        true => {
            "\nThe runs are identical: the same recipe, and the same records to the last bit.\n"
                .into()
        }
        false => text::text(&found),
    };
    if let Some(out) = &arguments.out {
        shown += &format!("\n{} is written\n", out.path().display());
    }
    print(&shown)
}

fn in_json(a: &str, b: &str, found: &Differences) -> Value {
    let mut shown = json!({ "a": a, "b": b });
    let found = serde_json::to_value(found).expect("plain data");
    if let (Value::Object(shown), Value::Object(found)) = (&mut shown, found) {
        shown.extend(found);
    }
    shown
}
