//! `induct theory` without a subcommand: the ledger as a table, as JSON, or as a chapter.

use std::path::PathBuf;

use clap::Args;
use induct_studies::paper::ledger::{Entry, Kind, Verdict, counts, ledger};
use serde_json::{Map, Value, json};

use crate::chapter_folder;
use crate::commands::{note, print, print_json};
use crate::failure::Failure;

/// Options of the ledger.
#[derive(Args)]
pub struct LedgerArguments {
    /// Only entries whose name starts with this, such as second-step or proposition.v
    #[arg(long, value_name = "PREFIX")]
    only: Option<String>,
    /// Write the ledger into this folder, as JSON and as a chapter with formulas and figures (theory.html)
    #[arg(long, value_name = "DIR", conflicts_with = "only")]
    out: Option<PathBuf>,
    /// Print {"counts": {"correct": n, …}, "entries": [{"id", "place", "verdict", "evidence", …}, …]}
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &LedgerArguments) -> Result<(), Failure> {
    if let Some(out) = &arguments.out {
        // Refuse before the work rather than after it.
        chapter_folder::check(out)?;
    }
    note("checking the paper's formulas against exact computation, which takes a few seconds");
    let mut entries = ledger();
    if let Some(prefix) = &arguments.only {
        let groups = groups(&entries);
        entries.retain(|entry| entry.id.starts_with(prefix.as_str()));
        if entries.is_empty() {
            return Err(Failure::mistake(format!(
                "--only {prefix}: no entry's name starts with this; the groups are {}",
                groups.join(", ")
            )));
        }
    }
    if let Some(out) = &arguments.out {
        chapter_folder::write(out, &entries, as_json(&entries))?;
        note(&format!("wrote {}", out.join("theory.html").display()));
    }
    if arguments.json {
        return print_json(&as_json(&entries));
    }
    print(&as_table(&entries))
}

/// The groups that names start with, in order.
fn groups(entries: &[Entry]) -> Vec<&'static str> {
    let mut groups: Vec<&str> = Vec::new();
    for entry in entries {
        if !groups.contains(&entry.group()) {
            groups.push(entry.group());
        }
    }
    groups
}

/// The whole ledger. A number that is infinite or NaN is null.
fn as_json(entries: &[Entry]) -> Value {
    let counts: Map<String, Value> = counts(entries.iter())
        .into_iter()
        .map(|(name, count)| (name.to_owned(), json!(count)))
        .collect();
    json!({ "counts": counts, "entries": entries })
}

/// The ledger by section, and how many entries have each verdict.
fn as_table(entries: &[Entry]) -> String {
    let width = entries
        .iter()
        .map(|entry| entry.id.len())
        .max()
        .unwrap_or(0);
    let mut text = String::from(
        "Deviations are relative to the largest exact value on the grid. A statement shows the least\n\
         margin by which it holds (negative: it fails). A leading order shows the deviation at the\n\
         longest sequences.\n",
    );
    let mut section = "";
    for entry in entries {
        if entry.place.section != section {
            section = entry.place.section;
            text += &format!("\n{section}\n");
        }
        let line = format!(
            "  {:<width$}  {:<25}  {:>16}  {}",
            entry.id,
            entry.verdict.name(),
            deviation(entry),
            entry.place.at
        );
        text += line.trim_end();
        text.push('\n');
        if let Some(detail) = detail(&entry.verdict) {
            text += &format!("  {:<width$}  {detail}\n", "");
        }
    }
    let counts = counts(entries.iter())
        .into_iter()
        .map(|(name, count)| format!("{count} {name}"));
    let counts: Vec<String> = counts.collect();
    text + &format!("\n{} entries: {}\n", entries.len(), counts.join(", "))
}

/// The largest deviation, in the form that fits this kind of claim.
fn deviation(entry: &Entry) -> String {
    let off = entry.evidence.printed_off;
    match entry.evidence.kind {
        _ if !off.is_finite() => "not a number".to_owned(),
        Kind::Statement => format!("margin {off:+.1e}"),
        Kind::Equality | Kind::LeadingOrder => format!("{off:.1e}"),
    }
}

/// What a verdict adds to its name.
fn detail(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Misprint { change } => Some(format!("change {change}")),
        Verdict::CorrectUnderCondition { condition } => Some(format!("if {condition}")),
        Verdict::CorrectToLeadingOrder { remainder } => {
            Some(format!("remainder of order {remainder:.2}"))
        }
        Verdict::Correct | Verdict::DoesNotFollow | Verdict::Open => None,
    }
}
