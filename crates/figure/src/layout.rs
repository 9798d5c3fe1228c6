//! The layout of panels: in rows, with their bodies aligned.

use crate::colour::Colour;
use crate::svg::{Anchor, Drawing, Style};
use crate::text;

/// An upper left corner and a width.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub left: f64,
    pub top: f64,
    pub width: f64,
}

/// A panel as the layout sees it, below its title: a lead (legend, labels), and the body.
pub(crate) trait Part {
    /// Its share of a row's width, relative to 1 for a plot.
    fn share(&self) -> f64 {
        1.0
    }

    /// Draws the lead between title and body; returns its height.
    fn draw_lead(&self, _: Place, _: &mut Drawing) -> f64 {
        0.0
    }

    /// The height that its frame would have on its own; `None` if it does not adapt to its neighbours.
    fn height(&self, _width: f64) -> Option<f64> {
        None
    }

    /// Draws the body, with a frame of the given height if it has one; returns the height including
    /// everything below the frame.
    fn draw_body(&self, place: Place, height: f64, out: &mut Drawing) -> f64;
}

/// The outer margin, and the gap between panels.
const MARGIN: f64 = 10.0;
const GAP: f64 = 30.0;
const ROWS: f64 = 18.0;
/// The smallest width of a plot that shares its row.
const LEAST: f64 = 250.0;
/// The smallest width of a figure.
const NARROWEST: f64 = 220.0;
/// Font size of titles.
const TITLE: f64 = 14.0;

/// A panel with its title.
pub(crate) type Titled<'a> = (&'a str, &'a dyn Part);

/// Draws panels with at most `columns` in a row, fewer where they would be too narrow; returns the height.
pub(crate) fn draw(parts: &[Titled], columns: usize, width: f64, out: &mut Drawing) -> f64 {
    let inner = (width - 2.0 * MARGIN).max(NARROWEST);
    let columns = (1..=columns.max(1)).rev().find(|&columns| {
        let wide = |row: &[Titled]| room(row, inner) >= LEAST * shares(row);
        columns == 1 || parts.chunks(columns).all(wide)
    });
    let mut y = MARGIN;
    for row in parts.chunks(columns.unwrap_or(1)) {
        y += draw_row(row, inner, y, out) + ROWS;
    }
    (y - ROWS + MARGIN).max(2.0 * MARGIN).ceil()
}

fn shares(row: &[Titled]) -> f64 {
    row.iter().map(|(_, part)| part.share()).sum()
}

/// The width of a row without its gaps.
fn room(row: &[Titled], inner: f64) -> f64 {
    inner - GAP * (row.len() as f64 - 1.0)
}

fn draw_row(row: &[Titled], inner: f64, top: f64, out: &mut Drawing) -> f64 {
    let unit = room(row, inner) / shares(row);
    let mut left = MARGIN;
    let (mut placed, mut head, mut height) = (Vec::new(), 0.0, 0.0);
    for (title, part) in row {
        let width = unit * part.share();
        let place = Place { left, top, width };
        left += width + GAP;
        // Measured by drawing into a scratch buffer.
        let lead = part.draw_lead(place, &mut Drawing::default());
        head = f64::max(head, draw_title(title, place, out) + lead);
        height = f64::max(height, part.height(width).unwrap_or(0.0));
        placed.push((part, place, lead));
    }
    let mut lowest = 0.0;
    for (part, place, lead) in placed {
        let at = |top: f64| Place { top, ..place };
        part.draw_lead(at(top + head - lead), out);
        lowest = f64::max(lowest, part.draw_body(at(top + head), height, out));
    }
    head + lowest
}

/// Draws the title of a panel on as many lines as needed; returns their height.
fn draw_title(title: &str, place: Place, out: &mut Drawing) -> f64 {
    if title.is_empty() {
        return 0.0;
    }
    let style = Style::new(TITLE, Colour::Ink, Anchor::Start).bold();
    let lines = text::wrap(title, TITLE, true, place.width);
    for (index, line) in lines.iter().enumerate() {
        let baseline = place.top + TITLE + 19.0 * index as f64;
        out.text(place.left, baseline, line, style);
    }
    19.0 * lines.len() as f64 + 6.0
}
