//! Annotations inside a plot: regions, moments, levels and notes.

use crate::axis::TICK;
use crate::colour::Colour;
use crate::legend::SIZE;
use crate::marks::Frame;
use crate::path::Point;
use crate::svg::{Anchor, Drawing, Style, circle, num, overlap, rect};
use crate::text;

/// An interval of the horizontal axis with a coloured background.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its name: at the top of the region if the names of all regions fit, otherwise in the legend.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
}

/// A position on the horizontal axis, marked by a vertical line with a short name above the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Where.
    pub x: f64,
    /// Its name, such as `A`.
    pub label: String,
}

/// A position on the vertical axis, marked by a dashed line across the plot and named like a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Where.
    pub y: f64,
    /// Its name, such as `baseline 0.009`.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
}

/// A short text inside a plot, next to the point it is about.
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

const GAP: f64 = 5.0;

impl Region {
    /// Its extent in pixels, clipped to the frame.
    fn span(&self, frame: &Frame) -> Option<(f64, f64)> {
        let [left, _, right, _] = frame.edges;
        let inside = |x: f64| Some(frame.x.at(x)?.clamp(left, right));
        let (from, to) = (inside(self.from)?, inside(self.to)?);
        (from < to).then_some((from, to))
    }

    /// Whether its name fits inside.
    pub(crate) fn fits(&self, frame: &Frame) -> bool {
        let width = text::width(&self.label, SIZE, false);
        self.span(frame)
            .is_none_or(|(from, to)| width + 2.0 * GAP <= to - from)
    }

    pub(crate) fn draw(&self, frame: &Frame, out: &mut Drawing) {
        let [_, top, _, bottom] = frame.edges;
        if let Some((from, to)) = self.span(frame) {
            out.fill(&rect(from, top, to - from, bottom - top), self.colour, 0.1);
        }
    }

    pub(crate) fn draw_name(&self, frame: &Frame, out: &mut Drawing) {
        if let Some((from, to)) = self.span(frame) {
            let style = Style::new(SIZE, self.colour, Anchor::Middle);
            let baseline = frame.edges[1] + SIZE + 3.0;
            out.text((from + to) / 2.0, baseline, &self.label, style);
        }
    }
}

/// Vertical lines with their names above the frame, pushed apart sideways where they would overlap.
pub(crate) fn draw_moments(moments: &[Moment], frame: &Frame, out: &mut Drawing) {
    let [left, top, right, bottom] = frame.edges;
    let at = |moment: &Moment| frame.x.at(moment.x);
    let placed = moments.iter().filter_map(|m| Some((at(m)?, &m.label)));
    let is_inside = |(x, _): &(f64, &String)| (left - 0.5..=right + 0.5).contains(x);
    let mut inside: Vec<(f64, &String)> = placed.filter(is_inside).collect();
    inside.sort_by(|a, b| a.0.total_cmp(&b.0));
    let style = Style::new(TICK, Colour::Ink, Anchor::Middle).bold();
    let half = |(_, label): &(f64, &String)| text::width(label, TICK, true) / 2.0;
    let halves: Vec<f64> = inside.iter().map(half).collect();
    let mut middles: Vec<f64> = inside.iter().map(|(x, _)| *x).collect();
    let mut taken = f64::MIN;
    for (middle, half) in middles.iter_mut().zip(&halves) {
        *middle = middle.max(taken + half);
        taken = *middle + half + 4.0;
    }
    let mut free = right + 12.0;
    for (middle, half) in middles.iter_mut().zip(&halves).rev() {
        *middle = middle.min(free - half);
        free = *middle - half - 4.0;
    }
    for ((x, label), middle) in inside.iter().zip(middles) {
        let line = format!("M{} {}V{}", num(*x), num(top), num(bottom));
        out.stroke(&line, Colour::Muted, 1.0, " stroke-dasharray=\"2 3\"");
        out.text(middle, top - 5.0, label, style);
    }
}

impl Level {
    pub(crate) fn draw(&self, frame: &Frame, out: &mut Drawing) {
        let [left, top, right, bottom] = frame.edges;
        let Some(y) = frame.y.at(self.y).filter(|y| (top..=bottom).contains(y)) else {
            return;
        };
        let line = format!("M{} {}H{}", num(left), num(y), num(right));
        out.stroke(&line, self.colour, 1.2, " stroke-dasharray=\"2 3\"");
    }
}

impl Note {
    /// Draws the text next to its point, on the side where it covers the least of what is already drawn.
    pub(crate) fn draw(&self, frame: &Frame, busy: &[Point], out: &mut Drawing) {
        let Some((x, y)) = frame.at(self.x, self.y) else {
            return;
        };
        if self.dot {
            out.fill(&circle(x, y, 4.0), Colour::Ink, 1.0);
        }
        let width = text::width(&self.text, SIZE, false);
        let [left, top, right, bottom] = frame.edges;
        let gap = if self.dot { 9.0 } else { 0.0 };
        let middle = y + 0.35 * SIZE;
        let (above, below) = (y - gap - 4.0, y + gap + SIZE);
        let places = [
            (x + gap, middle),
            (x - gap - width, middle),
            (x - width / 2.0, above),
            (x - width / 2.0, below),
            (x + gap, above),
            (x + gap, below),
            (x - gap - width, above),
            (x - gap - width, below),
        ];
        let style = Style::new(SIZE, Colour::Ink, Anchor::Start);
        let dot = [x - 4.0, y - 4.0, x + 4.0, y + 4.0];
        let inside = |(x, y): (f64, f64)| {
            let x = x.clamp(left + 4.0, (right - width - 2.0).max(left + 4.0));
            (x, y.clamp(top + SIZE, bottom - 4.0))
        };
        let trouble = |(x, y): (f64, f64)| {
            let edges = style.edges(x, y, &self.text);
            let crossed = busy.iter().filter(|(x, y)| {
                (edges[0]..=edges[2]).contains(x) && (edges[1]..=edges[3]).contains(y)
            });
            let covers = (self.dot && overlap(&edges, &dot)) || !out.is_free(&edges);
            crossed.count() + if covers { 10_000 } else { 0 }
        };
        let tried = places.map(inside).map(|at| (trouble(at), at));
        if let Some((trouble, (x, y))) = tried.into_iter().min_by_key(|(trouble, _)| *trouble) {
            let halo = trouble > 0;
            out.text(x, y, &self.text, Style { halo, ..style });
        }
    }
}
