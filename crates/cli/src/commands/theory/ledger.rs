//! `induct theory` without a subcommand: the ledger as a table, as JSON, or as a chapter.

use std::path::PathBuf;

use clap::Args;
use induct_ledger::{Entry, Kind, Verdict, counts, ledger};
use serde::Serialize;

use crate::chapter_folder;
use crate::commands::note;
use crate::failure::Failure;
use crate::options::Json;
use crate::report::object;

/// Options of the ledger.
#[derive(Args)]
pub struct LedgerArguments {
    /// Only entries whose name starts with this, such as second-step or proposition.v
    #[arg(long, value_name = "PREFIX")]
    only: Option<String>,
    /// Write the ledger into this folder, as JSON and as a chapter with formulas and figures (theory.html)
    #[arg(long, value_name = "DIR", conflicts_with = "only")]
    out: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

/// The entries, and how many have each verdict. A number that is infinite or NaN is null in JSON.
#[derive(Serialize)]
struct Ledger<'a> {
    #[serde(serialize_with = "object")]
    counts: Vec<(&'static str, usize)>,
    entries: &'a [Entry],
}

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
            return Err(Failure::usage(format!(
                "--only {prefix}: no entry's name starts with this; the groups are {}",
                groups.join(", ")
            )));
        }
    }
    let report = Ledger {
        counts: counts(entries.iter()),
        entries: &entries,
    };
    if let Some(out) = &arguments.out {
        let ledger = serde_json::to_value(&report).expect("plain data");
        chapter_folder::write(out, &entries, ledger)?;
        note(&format!("wrote {}", out.join("theory.html").display()));
    }
    arguments.json.print(&report, &report.text())
}

fn groups(entries: &[Entry]) -> Vec<&'static str> {
    let mut groups: Vec<&str> = Vec::new();
    for entry in entries {
        if !groups.contains(&entry.group()) {
            groups.push(entry.group());
        }
    }
    groups
}

impl Ledger<'_> {
    fn text(&self) -> String {
        let ids = self.entries.iter().map(|entry| entry.id.len());
        let width = ids.max().unwrap_or(0);
        let mut text = String::from(
            "Deviations are relative to the largest exact value on the grid. A statement shows the least\n\
             margin by which it holds (negative: it fails). A leading order shows the deviation at the\n\
             longest sequences.\n",
        );
        for entries in self
            .entries
            .chunk_by(|a, b| a.place.section == b.place.section)
        {
            text += &format!("\n{}\n", entries[0].place.section);
            for entry in entries {
                let (verdict, deviation) = (entry.verdict.name(), deviation(entry));
                let line = format!(
                    "  {:<width$}  {verdict:<25}  {deviation:>16}  {}",
                    entry.id, entry.place.at
                );
                text += line.trim_end();
                text.push('\n');
                if let Some(detail) = detail(&entry.verdict) {
                    text += &format!("  {:<width$}  {detail}\n", "");
                }
            }
        }
        let counts = self
            .counts
            .iter()
            .map(|(name, count)| format!("{count} {name}"));
        let counts: Vec<String> = counts.collect();
        text + &format!("\n{} entries: {}\n", self.entries.len(), counts.join(", "))
    }
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
