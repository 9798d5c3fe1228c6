//! An axis: what it measures, its range, and its tick labels.

use crate::colour::Colour;
use crate::scale::{Scale, tick_label};
use crate::svg::{Anchor, Drawing, LINE, Style, num};
use crate::text;

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Its ends; taken from the data if not given.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis with the range of the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// A logarithmic axis with the range of the data.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label)
        }
    }

    /// The same axis with the given ends.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// Font sizes of axis labels and tick labels.
pub(crate) const LABEL: f64 = 12.5;
pub(crate) const TICK: f64 = 11.5;

/// An axis placed on the page.
pub(crate) struct PlacedAxis<'a> {
    pub axis: &'a Axis,
    pub range: (f64, f64),
    /// The pixel positions of the range's ends.
    pub pixels: (f64, f64),
}

impl PlacedAxis<'_> {
    /// The pixel position of a number.
    pub fn at(&self, value: f64) -> Option<f64> {
        let share = self.axis.scale.place(self.range, value)?;
        let (start, end) = self.pixels;
        Some(start + share * (end - start))
    }

    fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let (low, high) = self.range;
        let ends = (low.min(high), low.max(high));
        let ticks = self.axis.scale.ticks(ends, count);
        let placed = ticks
            .iter()
            .filter_map(|&tick| Some((self.at(tick)?, tick_label(tick, &ticks))));
        placed.collect()
    }

    /// Ticks of a vertical axis.
    pub fn upright_ticks(&self) -> Vec<(f64, String)> {
        let (start, end) = self.pixels;
        self.ticks(((start - end).abs() / 34.0) as usize)
    }

    /// The width that their labels take, with the gap to the axis.
    pub fn upright_width(&self) -> f64 {
        let ticks = self.upright_ticks();
        text::widest(ticks.iter().map(|(_, label)| label), TICK) + 8.0
    }

    /// Draws the axis below a frame, with as many tick labels as fit between `edges` without overlap, and the
    /// axis label; returns the height.
    pub fn draw_below(&self, bottom: f64, edges: (f64, f64), out: &mut Drawing) -> f64 {
        let (left, right) = self.pixels;
        let across = format!("M{} {}H{}", num(left), num(bottom), num(right));
        out.stroke(&across, Colour::Muted, 1.0, "");
        let style = Style::new(TICK, Colour::Muted, Anchor::Middle);
        for count in (1..=10).rev() {
            let ticks = self.ticks(count);
            let boxes: Vec<[f64; 4]> = ticks
                .iter()
                .map(|(x, label)| style.edges(inside(*x, label, TICK, edges), 0.0, label))
                .collect();
            let apart = boxes.windows(2).all(|pair| pair[0][2] + 12.0 <= pair[1][0]);
            if !apart && count > 1 {
                continue;
            }
            let mut marks = String::new();
            for (x, label) in &ticks {
                marks += &format!("M{} {}v4", num(*x), num(bottom));
                out.text(inside(*x, label, TICK, edges), bottom + 18.0, label, style);
            }
            out.stroke(&marks, Colour::Muted, 1.0, "");
            break;
        }
        match self.axis.label.is_empty() {
            true => 24.0,
            false => {
                let middle = ((left + right) / 2.0, bottom + 36.0);
                draw_label(&self.axis.label, middle, edges, out) - bottom
            }
        }
    }
}

/// Draws the label of a horizontal axis around a point of its first baseline, within `edges`; returns where it ends.
pub(crate) fn draw_label(
    label: &str,
    (middle, mut y): (f64, f64),
    edges: (f64, f64),
    out: &mut Drawing,
) -> f64 {
    let style = Style::new(LABEL, Colour::Muted, Anchor::Middle);
    for line in text::wrap(label, LABEL, false, edges.1 - edges.0) {
        out.text(inside(middle, &line, LABEL, edges), y, &line, style);
        y += LINE;
    }
    y - LINE + 8.0
}

/// The middle nearest to `x` at which a label is within `edges`.
fn inside(x: f64, label: &str, size: f64, edges: (f64, f64)) -> f64 {
    let half = text::width(label, size, false) / 2.0;
    x.min(edges.1 - half).max(edges.0 + half)
}
