//! What a plot holds: lines, points, bands, bars and remarks.

use crate::colour::Colour;
use crate::svg::{Anchor, Drawing, Style};

/// One point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// How far it may be off, both ways: half of an error bar or of a band; 0 for none.
    pub error: f64,
}

impl Value {
    /// A point that is not in doubt.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, error: 0.0 }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line.
    Line,
    /// A broken line: something it is compared with.
    Dashed,
    /// A line that jumps.
    Steps,
    /// Points, with bars where there is an error.
    Points,
    /// The area between y − error and y + error.
    Band,
    /// The area from y up to the top.
    Above,
    /// Bars from zero.
    Bars,
}

/// A named series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name; it stands where the line ends, or in a row above the plot where there is no room. Empty for none.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points, by x.
    pub values: Vec<Value>,
}

impl Series {
    /// A series of points that are not in doubt.
    pub fn new(
        label: impl Into<String>,
        colour: Colour,
        mark: Mark,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self {
            label: label.into(),
            colour,
            mark,
            values: points.into_iter().map(|(x, y)| Value::new(x, y)).collect(),
        }
    }
}

/// Words inside a plot, beside the point they are about.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Where.
    pub x: f64,
    /// Where.
    pub y: f64,
    /// What.
    pub text: String,
    /// Whether a dot marks the point.
    pub dot: bool,
}

/// Where on the page numbers are: the inner frame of a plot.
pub(crate) struct Frame<'a> {
    /// Left, top, right, bottom.
    pub edges: [f64; 4],
    pub to_x: &'a dyn Fn(f64) -> Option<f64>,
    pub to_y: &'a dyn Fn(f64) -> Option<f64>,
}

impl Frame<'_> {
    fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some(((self.to_x)(x)?, (self.to_y)(y)?))
    }

    /// y, held inside the frame: ends of bands and error bars may reach beyond it.
    fn y_inside(&self, y: f64) -> f64 {
        let bottom = self.edges[3];
        (self.to_y)(y)
            .unwrap_or(bottom)
            .clamp(self.edges[1], bottom)
    }
}

pub(crate) fn draw(series: &Series, frame: &Frame, out: &mut Drawing) {
    match series.mark {
        Mark::Line => out.stroke(&line(series, frame, false), series.colour, 2.0, ROUND),
        Mark::Steps => out.stroke(&line(series, frame, true), series.colour, 2.0, ROUND),
        Mark::Dashed => {
            let more = " stroke-dasharray=\"5 4\"";
            out.stroke(&line(series, frame, false), series.colour, 1.5, more);
        }
        Mark::Points => points(series, frame, out),
        Mark::Band => area(series, frame, out, |v| v.y + v.error),
        Mark::Above => area(series, frame, out, |_| f64::INFINITY),
        Mark::Bars => bars(series, frame, out),
    }
}

const ROUND: &str = " stroke-linejoin=\"round\" stroke-linecap=\"round\"";

fn line(series: &Series, frame: &Frame, steps: bool) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    for value in &series.values {
        let Some((x, y)) = frame.at(value.x, value.y) else {
            pen_down = false;
            continue;
        };
        path += &match (pen_down, steps) {
            (false, _) => format!("M{x:.1} {y:.1}"),
            (true, false) => format!("L{x:.1} {y:.1}"),
            (true, true) => format!("H{x:.1}V{y:.1}"),
        };
        pen_down = true;
    }
    path
}

fn points(series: &Series, frame: &Frame, out: &mut Drawing) {
    let mut bars = String::new();
    // Many points are drawn smaller.
    let radius = if series.values.len() > 60 { 2.0 } else { 3.0 };
    for value in &series.values {
        let Some((x, y)) = frame.at(value.x, value.y) else {
            continue;
        };
        if value.error > 0.0 {
            let low = frame.y_inside(value.y - value.error);
            let high = frame.y_inside(value.y + value.error);
            bars += &format!("M{x:.1} {low:.1}V{high:.1}");
        }
        let shape = format!("circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"");
        out.fill(&shape, series.colour, 1.0);
    }
    if !bars.is_empty() {
        out.stroke(&bars, series.colour, 1.2, "");
    }
}

fn area(series: &Series, frame: &Frame, out: &mut Drawing, top: impl Fn(&Value) -> f64) {
    let placed = series
        .values
        .iter()
        .filter_map(|v| Some((v, (frame.to_x)(v.x)?)));
    let placed: Vec<(&Value, f64)> = placed.collect();
    let upper = placed.iter().map(|(v, x)| {
        let y = match top(v) {
            f64::INFINITY => frame.edges[1],
            y => frame.y_inside(y),
        };
        format!("{x:.1} {y:.1}")
    });
    let lower = placed.iter().rev().map(|(v, x)| {
        let y = frame.y_inside(v.y - v.error);
        format!("{x:.1} {y:.1}")
    });
    let all: Vec<String> = upper.chain(lower).collect();
    if !all.is_empty() {
        let shape = format!("path d=\"M{}Z\"", all.join("L"));
        out.fill(&shape, series.colour, 0.14);
    }
}

fn bars(series: &Series, frame: &Frame, out: &mut Drawing) {
    let [left, _, right, _] = frame.edges;
    let width = (0.7 * (right - left) / series.values.len().max(1) as f64).max(1.0);
    for value in &series.values {
        let Some((x, y)) = frame.at(value.x, value.y) else {
            continue;
        };
        let zero = frame.y_inside(0.0);
        let shape = format!(
            "rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"",
            x - width / 2.0,
            y.min(zero),
            (y - zero).abs().max(0.5)
        );
        out.fill(&shape, series.colour, 0.85);
    }
}

/// A remark: to the right of its point, or to the left where it would leave the frame.
pub(crate) fn draw_note(note: &Note, size: f64, frame: &Frame, out: &mut Drawing) {
    let Some((x, y)) = frame.at(note.x, note.y) else {
        return;
    };
    if note.dot {
        let shape = format!("circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"");
        out.fill(&shape, Colour::Ink, 1.0);
    }
    let width = crate::text::width(&note.text, size, false);
    let [left, top, right, bottom] = frame.edges;
    let gap = if note.dot { 9.0 } else { 0.0 };
    let start = match x + gap + width <= right {
        true => x + gap,
        false => x - gap - width,
    };
    let start = start.clamp(left + 4.0, (right - width - 2.0).max(left + 4.0));
    let baseline = (y + 0.35 * size).clamp(top + size, bottom - 4.0);
    let style = Style::new(size, Colour::Ink, Anchor::Start);
    out.text(start, baseline, &note.text, style);
}
