//! A comparison of two runs as text: a table per subject, with the second value's difference from the first.

use crate::words::{count, fixed};
use induct::run::{Differences, Pair, Parting};

/// The number of columns to name that part at one step.
const NAMED: usize = 6;

/// The whole comparison.
pub fn text(found: &Differences) -> String {
    let mut text = keys(found);
    text += &table("Phases, first step", &found.onsets, 0);
    text += &table("Drops, step halfway", &found.midpoints, 0);
    text += &table("Drops, steps from 10 % to 90 %", &found.widths, 0);
    text += &table("Strategies, KL(truth ‖ strategy) in nats", &found.levels, 5);
    text += &table("Last record", &found.last, 5);
    text + &records(found)
}

fn keys(found: &Differences) -> String {
    if found.keys.is_empty() {
        return "\nRecipe: the same\n".to_owned();
    }
    let mut text = String::from("\nRecipe\n");
    let value = |value: &Option<String>| value.clone().unwrap_or("unset".into());
    for key in &found.keys {
        text += &format!(
            "  {}: {} -> {}\n",
            key.key,
            value(&key.old),
            value(&key.new)
        );
    }
    text
}

/// The values that differ, and how many do not.
fn table(title: &str, pairs: &[Pair], digits: usize) -> String {
    let differing: Vec<&Pair> = pairs.iter().filter(|pair| !pair.is_equal()).collect();
    let equal = pairs.len() - differing.len();
    if pairs.is_empty() {
        return String::new();
    }
    if differing.is_empty() {
        return format!("\n{title}: the same\n");
    }
    let names = differing.iter().map(|pair| pair.name.chars().count());
    let width = names.max().unwrap_or(0);
    let mut text = format!(
        "\n{title}\n  {:<width$} {:>11} {:>11} {:>12}\n",
        "", "a", "b", "b - a"
    );
    let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| fixed(value, digits));
    for pair in differing {
        let difference = match cell(pair.difference) {
            text if pair.difference.is_some_and(|d| d > 0.0) => format!("+{text}"),
            text => text,
        };
        let (name, a, b) = (&pair.name, cell(pair.a), cell(pair.b));
        text += &format!("  {name:<width$} {a:>11} {b:>11} {difference:>12}\n");
    }
    match equal {
        0 => text,
        _ => format!("{text}  {equal} more: the same\n"),
    }
}

/// When the records part.
fn records(found: &Differences) -> String {
    let other = match found.same_records {
        true => "",
        false => "; they do not record the same columns at the same steps",
    };
    if found.parting.is_empty() {
        return format!("\nRecords: the same wherever both have them{other}\n");
    }
    let mut text = format!("\nRecords: the first at which a column differs{other}\n");
    let steps = found.parting.chunk_by(|a: &Parting, b| a.step == b.step);
    for parting in steps {
        let names = parting.iter().take(NAMED).map(|p| p.column.as_str());
        let names: Vec<&str> = names.collect();
        let more = match parting.len().saturating_sub(NAMED) {
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
