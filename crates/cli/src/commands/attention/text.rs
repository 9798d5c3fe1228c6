//! Attention as text: what each head does, and where its last positions look.

use induct_pictures::attention::{Attention, Head, Kind, Rows};

use super::HeadReport;
use crate::words::fixed;

const LAST: usize = 5;
/// The number of positions to name that one looks at.
const NAMED: usize = 4;
const LINE: usize = 50;
/// With more states than this, symbols need spaces between them.
const WIDE: usize = 10;

impl HeadReport<'_> {
    pub fn text(&self) -> String {
        let attention = self.attention;
        let mut text = format!("{}:\n", attention.title);
        let digits: Vec<String> = attention.tokens.iter().map(u8::to_string).collect();
        let separator = if attention.states > WIDE { " " } else { "" };
        for (line, symbols) in digits.chunks(LINE).enumerate() {
            text += &format!("  {:>5}  {}\n", line * LINE, symbols.join(separator));
        }
        for head in &attention.heads {
            text += &about(head, attention);
        }
        text
    }
}

/// What one head does, over all positions and at each of the last ones.
fn about(head: &Head, attention: &Attention) -> String {
    let Some(rows) = head.shown() else {
        return String::new();
    };
    let mut text = format!("\n{}", head.name());
    let is_share = head.pattern.is_some() && attention.patterns_are_shares;
    let kinds: &[Kind] = match head.pattern {
        Some(_) => &attention.kinds,
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
    let t = attention.tokens.len();
    for i in t.saturating_sub(LAST)..t {
        text += &format!("  {i:>8} {:>6}", attention.tokens[i]);
        for kind in kinds {
            let share = kind.at(rows.row(i), &attention.tokens[..=i], attention.ngram);
            text += &format!("  {:>14}", cell(share));
        }
        text += &format!("  {}\n", strongest(rows, i, attention, is_share));
    }
    if !kinds.is_empty() {
        text += &format!("  {:<15}", "all positions");
        for kind in kinds {
            text += &format!(
                "  {:>14}",
                cell(kind.score(rows, &attention.tokens, attention.ngram))
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
fn strongest(rows: &Rows, i: usize, attention: &Attention, is_share: bool) -> String {
    let mut all: Vec<(usize, f64)> = (0..).zip(rows.row(i).iter().map(|&n| n.into())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let seen = |(_, number): &&(usize, f64)| !is_share || *number >= 0.005;
    let named: Vec<&(usize, f64)> = all.iter().take(NAMED).filter(seen).collect();
    let rest = 1.0 - named.iter().map(|(_, share)| share).sum::<f64>();
    let name = |(j, number): &&(usize, f64)| {
        format!("{j} ({}) {}", attention.tokens[*j], fixed(*number, 2))
    };
    let mut words: Vec<String> = named.iter().map(name).collect();
    if is_share && rest >= 0.005 {
        words.push(format!("{} elsewhere", fixed(rest, 2)));
    }
    words.join(", ")
}
