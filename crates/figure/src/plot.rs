//! A plot with two axes.

use crate::colour::Colour;
use crate::legend::{self, LINE};
use crate::marks::{self, Frame, Mark, Note, Series};
use crate::scale::{Scale, tick_label};
use crate::svg::{Anchor, Drawing, Style};
use crate::text;

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// How numbers are spread.
    pub scale: Scale,
    /// Its ends; as the data need it if not given.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// An evenly spread axis as long as the data need it.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
        }
    }

    /// The same by logarithms.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label)
        }
    }

    /// With given ends.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// Lines, points, bands and bars over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows, above it; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis; its label stands upright above it.
    pub y: Axis,
    /// What is drawn, from the back to the front.
    pub series: Vec<Series>,
    /// Words inside.
    pub notes: Vec<Note>,
    /// Height over width of the frame.
    pub aspect: f64,
}

/// Letters of titles, of axis labels and of numbers.
pub(crate) const TITLE: f64 = 14.0;
const LABEL: f64 = 12.5;
const TICK: f64 = 11.5;
/// A frame is not higher than this, so that a figure and its caption are seen together, and on a phone not lower than that.
const LOWEST: f64 = 190.0;
const TALLEST: f64 = 330.0;

impl Plot {
    /// Draws it with its upper left corner at (`left`, `top`), `width` wide; returns its height.
    pub(crate) fn draw(&self, left: f64, top: f64, width: f64, out: &mut Drawing) -> f64 {
        let mut y = top + draw_title(&self.title, left, top, width, out);
        // Names to the right where they leave most of the width to the data, else in rows.
        let column = legend::column_width(&self.series);
        let points = |s: &Series| s.mark == Mark::Points && !s.label.is_empty();
        let beside = column > 0.0 && column < 0.28 * width && !self.series.iter().any(points);
        if !beside {
            let rows = legend::draw_rows(&self.series, left, y, width, out);
            y += LINE * rows as f64 + if rows > 0 { 6.0 } else { 0.0 };
        }
        let muted = |anchor| Style::new(LABEL, Colour::Muted, anchor);
        for line in text::wrap(&self.y.label, LABEL, false, width) {
            out.text(left, y + LABEL, &line, muted(Anchor::Start));
            y += LINE;
        }
        let frame_top = y + 12.0;
        let (x_range, y_range) = (self.x_range(), self.y_range());
        let right = left + width - if beside { column + 16.0 } else { 12.0 };
        let height = (self.aspect * (right - left))
            .clamp(LOWEST, TALLEST)
            .round();
        let bottom = frame_top + height;

        let y_ticks = self.y.scale.ticks(y_range, (height / 34.0) as usize);
        let y_labels: Vec<String> = y_ticks.iter().map(|&t| tick_label(t, &y_ticks)).collect();
        let widest = y_labels.iter().map(|l| text::width(l, TICK, false));
        let frame_left = left + widest.fold(0.0, f64::max) + 8.0;
        let to_x = |v: f64| {
            let share = self.x.scale.place(x_range, v)?;
            Some(frame_left + share * (right - frame_left))
        };
        let to_y = |v: f64| {
            let share = self.y.scale.place(y_range, v)?;
            Some(bottom - share * (bottom - frame_top))
        };
        let frame = Frame {
            edges: [frame_left, frame_top, right, bottom],
            to_x: &to_x,
            to_y: &to_y,
        };
        for (&tick, label) in y_ticks.iter().zip(&y_labels) {
            let Some(at) = to_y(tick) else { continue };
            let path = format!("M{frame_left:.1} {at:.1}H{right:.1}");
            out.stroke(&path, Colour::Faint, 1.0, "");
            let style = Style::new(TICK, Colour::Muted, Anchor::End);
            out.text(frame_left - 6.0, at + 0.35 * TICK, label, style);
        }
        self.draw_x_ticks(&frame, x_range, left + width, out);
        let middle = (frame_left + right) / 2.0;
        out.text(middle, bottom + 36.0, &self.x.label, muted(Anchor::Middle));
        for series in &self.series {
            marks::draw(series, &frame, out);
        }
        for note in &self.notes {
            marks::draw_note(note, legend::SIZE, &frame, out);
        }
        if beside {
            let named = self.series.iter().filter(|series| !series.label.is_empty());
            let ends: Vec<f64> = named.map(|series| end_of(series, &frame)).collect();
            let room = (frame_top, bottom);
            legend::draw_column(&self.series, &ends, right + 14.0, room, out);
        }
        bottom + 44.0 - top
    }

    /// Numbers below the axis: as many as stand apart.
    fn draw_x_ticks(&self, frame: &Frame, range: (f64, f64), edge: f64, out: &mut Drawing) {
        let [left, _, right, bottom] = frame.edges;
        out.stroke(
            &format!("M{left:.1} {bottom:.1}H{right:.1}"),
            Colour::Muted,
            1.0,
            "",
        );
        let style = Style::new(TICK, Colour::Muted, Anchor::Middle);
        for count in (2..=10).rev() {
            let ticks = self.x.scale.ticks(range, count);
            let labels: Vec<String> = ticks.iter().map(|&t| tick_label(t, &ticks)).collect();
            let placed: Vec<(f64, f64, &String)> = ticks
                .iter()
                .zip(&labels)
                .filter_map(|(&tick, label)| {
                    Some(((frame.to_x)(tick)?, text::width(label, TICK, false), label))
                })
                .collect();
            let apart = placed
                .windows(2)
                .all(|pair| pair[0].0 + pair[0].1 / 2.0 + 12.0 <= pair[1].0 - pair[1].1 / 2.0);
            if !apart && count > 2 {
                continue;
            }
            for (x, width, label) in placed {
                out.stroke(&format!("M{x:.1} {bottom:.1}v4"), Colour::Muted, 1.0, "");
                let x = x.min(edge - width / 2.0);
                out.text(x, bottom + 18.0, label, style);
            }
            return;
        }
    }

    fn x_range(&self) -> (f64, f64) {
        let values = self.series.iter().flat_map(|series| &series.values);
        let all = values
            .map(|v| v.x)
            .chain(self.notes.iter().map(|note| note.x));
        let (low, high) = self.x.scale.range_of(all.clone());
        // Lines start and end at the frame, so that their names stand beside them; points need air.
        let airy = |s: &Series| matches!(s.mark, Mark::Points | Mark::Bars);
        let own = match self.series.iter().any(airy) {
            true => (low, high),
            false => self.x.scale.ends_of(all).unwrap_or((low, high)),
        };
        self.x.range.unwrap_or(own)
    }

    fn y_range(&self) -> (f64, f64) {
        let values = self.series.iter().flat_map(|series| {
            let zero = (series.mark == Mark::Bars).then_some(0.0);
            let ends = series
                .values
                .iter()
                .flat_map(|v| [v.y - v.error, v.y, v.y + v.error]);
            ends.chain(zero)
        });
        let all = values.chain(self.notes.iter().map(|note| note.y));
        self.y.range.unwrap_or_else(|| self.y.scale.range_of(all))
    }
}

/// The height at which a series ends.
fn end_of(series: &Series, frame: &Frame) -> f64 {
    let [_, top, _, bottom] = frame.edges;
    let last = series.values.iter().rev().find_map(|v| (frame.to_y)(v.y));
    match series.mark {
        Mark::Above => (top + last.unwrap_or(top)) / 2.0,
        _ => last.unwrap_or(bottom),
    }
    .clamp(top, bottom)
}

/// The title of a panel, in as many lines as it takes; returns their height.
pub(crate) fn draw_title(title: &str, left: f64, top: f64, width: f64, out: &mut Drawing) -> f64 {
    if title.is_empty() {
        return 0.0;
    }
    let style = Style::new(TITLE, Colour::Ink, Anchor::Start).bold();
    let lines = text::wrap(title, TITLE, true, width);
    for (index, line) in lines.iter().enumerate() {
        out.text(left, top + TITLE + 19.0 * index as f64, line, style);
    }
    19.0 * lines.len() as f64 + 6.0
}
