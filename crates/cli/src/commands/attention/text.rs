//! Attention as text: what each head does, and where its last positions look.

use super::Looked;
use super::heads::{Head, Kind, Rows};
use crate::words::fixed;

/// The number of last positions to show.
const LAST: usize = 5;
/// The number of positions to name that one looks at.
const NAMED: usize = 4;
/// Symbols per line.
const LINE: usize = 50;

/// The summary of all heads.
pub fn text(looked: &Looked) -> String {
    let mut text = format!("{}:\n", looked.title());
    let digits: Vec<String> = looked.tokens.iter().map(u8::to_string).collect();
    let separator = if looked.wide_symbols() { " " } else { "" };
    for (line, symbols) in digits.chunks(LINE).enumerate() {
        text += &format!("  {:>5}  {}\n", line * LINE, symbols.join(separator));
    }
    for head in &looked.heads {
        text += &about(head, looked);
    }
    text
}

/// What one head does, over all positions and at each of the last ones.
fn about(head: &Head, looked: &Looked) -> String {
    let Some(rows) = head.shown() else {
        return String::new();
    };
    let mut text = format!("\n{}", head.name());
    let is_share = head.pattern.is_some() && looked.patterns_are_shares;
    let kinds: &[Kind] = match head.pattern {
        Some(_) => &looked.kinds,
        None => {
            text += " (scores; this layer has no pattern)";
            &[]
        }
    };
    text.push('\n');
    text += &format!("  {:>8} {:>6}", "position", "symbol");
    for kind in kinds {
        text += &format!("  {:>14}", kind.measure.name);
    }
    text += "  looks at position (symbol)\n";
    let t = looked.tokens.len();
    for i in t.saturating_sub(LAST)..t {
        text += &format!("  {i:>8} {:>6}", looked.tokens[i]);
        for kind in kinds {
            let share = kind.at(rows.row(i), &looked.tokens[..=i], looked.ngram);
            text += &format!("  {:>14}", cell(share));
        }
        text += &format!("  {}\n", strongest(rows, i, looked, is_share));
    }
    if !kinds.is_empty() {
        text += &format!("  {:<15}", "all positions");
        for kind in kinds {
            text += &format!(
                "  {:>14}",
                cell(kind.score(rows, &looked.tokens, looked.ngram))
            );
        }
        text.push('\n');
    }
    text
}

fn cell(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| fixed(share, 3))
}

/// The positions with the largest numbers of a row, and what is left for the others where it is a share.
fn strongest(rows: &Rows, i: usize, looked: &Looked, is_share: bool) -> String {
    let mut all: Vec<(usize, f64)> = (0..).zip(rows.row(i).iter().map(|&n| n.into())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let seen = |(_, number): &&(usize, f64)| !is_share || *number >= 0.005;
    let named: Vec<&(usize, f64)> = all.iter().take(NAMED).filter(seen).collect();
    let rest = 1.0 - named.iter().map(|(_, share)| share).sum::<f64>();
    let name =
        |(j, number): &&(usize, f64)| format!("{j} ({}) {}", looked.tokens[*j], fixed(*number, 2));
    let mut words: Vec<String> = named.iter().map(name).collect();
    if is_share && rest >= 0.005 {
        words.push(format!("{} elsewhere", fixed(rest, 2)));
    }
    words.join(", ")
}
