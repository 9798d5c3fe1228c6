//! Attention as a picture: a triangular heat map per head, and arcs over a short sequence.

use induct_figure::{Arcs, Axis, Figure, Heatmap, Panel, Sentence, plain};

use super::Looked;
use super::heads::{Head, Rows};
use crate::words::fixed;

/// The most panels in a row.
const ACROSS: usize = 4;
/// The least width of a symbol below arcs, in pixels.
const LEGIBLE: usize = 13;
/// The shortest sequence over which arcs have room.
const SHORTEST: usize = 4;

/// The picture, and its width in pixels.
pub fn figure(looked: &Looked) -> (Figure, u32) {
    let across = across(&looked.heads);
    let (width, panel) = match across {
        1 => (560, 540),
        2 => (900, 425),
        3 => (1080, 333),
        _ => (1200, 272),
    };
    let mut panels: Vec<Panel> = Vec::new();
    let drawn: Vec<(&Head, &Rows)> = looked
        .heads
        .iter()
        .filter_map(|head| Some((head, head.shown()?)))
        .collect();
    for row in drawn.chunks(across) {
        panels.extend(row.iter().map(|(head, rows)| map(head, rows, looked)));
        fill(&mut panels, across);
        let t = looked.tokens.len();
        if t >= SHORTEST && LEGIBLE * t <= panel {
            let with_pattern = row.iter().filter(|(head, _)| head.pattern.is_some());
            panels.extend(with_pattern.map(|(head, rows)| arcs(head, rows, &looked.tokens)));
            fill(&mut panels, across);
        }
    }
    let figure = Figure {
        description: format!("Attention of every head: {}.", looked.title()),
        panels,
        columns: across,
    };
    (figure, width)
}

/// Panels per row: a layer's heads side by side, or layers of one head.
fn across(heads: &[Head]) -> usize {
    let of_first = heads.iter().filter(|head| head.layer == heads[0].layer);
    match of_first.count() {
        0 | 1 => heads.len().clamp(1, ACROSS),
        several => several.min(ACROSS),
    }
}

/// Empty panels up to the end of a row, so that the next one starts a row of its own.
fn fill(panels: &mut Vec<Panel>, across: usize) {
    let full = panels.len().next_multiple_of(across);
    panels.resize(full, Panel::Sentence(Sentence::default()));
}

fn map(head: &Head, rows: &Rows, looked: &Looked) -> Panel {
    let t = looked.tokens.len();
    let is_share = head.pattern.is_some() && looked.patterns_are_shares;
    // A head that spreads its attention over many positions would be pale beside one that looks at a single
    // one: every row has its own scale. A position does not look at later ones.
    let row = |row: &[f32]| -> Vec<f64> {
        let largest = row.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let unit = if is_share { largest } else { 1.0 };
        let seen = row.iter().map(|&number| f64::from(number / unit));
        let later = std::iter::repeat_n(f64::NAN, t - row.len());
        seen.chain(later).collect()
    };
    let positions = |label: &str| Axis::linear(label).range(0.0, t.saturating_sub(1) as f64);
    Panel::Heatmap(Heatmap {
        title: plain(&title(head, looked)),
        x: positions("position attended to"),
        y: positions("attending position"),
        columns: t,
        signed: !is_share,
        range: is_share.then_some((0.0, 1.0)),
        value_label: match (is_share, &head.pattern) {
            (true, _) => "relative to its row's largest".into(),
            (false, Some(_)) => "weight".into(),
            (false, None) => "score".into(),
        },
        values: rows.iter().flat_map(row).collect(),
        ..Heatmap::default()
    })
}

fn title(head: &Head, looked: &Looked) -> String {
    let scores = looked.scores(head).into_iter();
    let scores = scores.filter_map(|(name, score)| Some(format!("{name} {}", fixed(score?, 2))));
    let scores: Vec<String> = scores.collect();
    match scores.is_empty() {
        true => head.name(),
        false => format!("{}: {}", head.name(), scores.join(", ")),
    }
}

fn arcs(head: &Head, rows: &Rows, tokens: &[u8]) -> Panel {
    Panel::Arcs(Arcs {
        symbols: tokens.iter().map(|&symbol| usize::from(symbol)).collect(),
        above_label: format!("{}, from the last position", head.name()),
        above: rows.numbers().iter().map(|&weight| weight.into()).collect(),
        // Arcs of several positions would hide each other.
        above_from: tokens.len() - 1,
        ..Arcs::default()
    })
}
