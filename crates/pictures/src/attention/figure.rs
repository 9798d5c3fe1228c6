//! All heads in one picture: a triangular heat map per head, and arcs over a short sequence.

use induct_figure::{Figure, Heatmap, Panel, Sentence};

use super::{Attention, Head};

/// The most panels in a row.
const ACROSS: usize = 4;
/// The least width of a symbol below arcs, in pixels.
const LEGIBLE: usize = 13;
/// The shortest sequence over which arcs have room.
const SHORTEST: usize = 4;

/// The picture, and its width in pixels.
pub fn figure(attention: &Attention) -> (Figure, u32) {
    let across = across(&attention.heads);
    let (width, panel) = match across {
        1 => (560, 540),
        2 => (900, 425),
        3 => (1080, 333),
        _ => (1200, 272),
    };
    let mut panels: Vec<Panel> = Vec::new();
    let drawn: Vec<(&Head, Heatmap)> = attention
        .heads
        .iter()
        .filter_map(|head| Some((head, map(attention, head)?)))
        .collect();
    for row in drawn.chunks(across) {
        panels.extend(row.iter().map(|(_, map)| Panel::Heatmap(map.clone())));
        fill(&mut panels, across);
        let t = attention.tokens.len();
        if t >= SHORTEST && LEGIBLE * t <= panel {
            let arcs = row.iter().filter_map(|(head, _)| attention.arcs(head));
            panels.extend(arcs.map(Panel::Arcs));
            fill(&mut panels, across);
        }
    }
    let figure = Figure {
        description: format!("Attention of every head: {}.", attention.title),
        panels,
        columns: across,
    };
    (figure, width)
}

/// What a head attends to; its scores in a layer that has no pattern.
fn map(attention: &Attention, head: &Head) -> Option<Heatmap> {
    let pattern = attention.pattern_map(head);
    pattern.or_else(|| attention.score_map(head))
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
