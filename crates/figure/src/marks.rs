//! What a plot draws: lines, points, bands and bars.

use crate::axis::PlacedAxis;
use crate::colour::Colour;
use crate::path::{self, Point};
use crate::svg::{Drawing, circle, num, rect};

/// One point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The horizontal coordinate.
    pub x: f64,
    /// The vertical coordinate.
    pub y: f64,
    /// The ends of its interval, lower first: where an error bar or band begins and ends. An infinite end
    /// reaches the edge of the frame.
    pub interval: Option<[f64; 2]>,
}

impl Value {
    /// A point with the same error in both directions.
    pub fn give_or_take(x: f64, y: f64, error: f64) -> Self {
        Self {
            x,
            y,
            interval: Some([y - error, y + error]),
        }
    }

    /// The ends of its interval; the point itself if it has none.
    pub(crate) fn ends(&self) -> [f64; 2] {
        self.interval.unwrap_or([self.y, self.y])
    }
}

/// A point without an interval.
impl From<(f64, f64)> for Value {
    fn from((x, y): (f64, f64)) -> Self {
        let interval = None;
        Self { x, y, interval }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line, with a band behind it where there are intervals.
    Line,
    /// A thin, translucent line: one of many runs.
    Thin,
    /// A fainter line, for runs behind their median. Its name appears only in the CSV.
    Faint,
    /// A dashed line: a reference for comparison.
    Dashed,
    /// A step function.
    Steps,
    /// Points, with bars where there are intervals.
    Points,
    /// The area between the ends of the intervals.
    Band,
    /// The area from y up to the top.
    Above,
    /// Bars from zero, as wide as the smallest distance between two of them: a histogram.
    Bars,
}

/// A named series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name, shown where the line ends, or in a row above the plot if there is no space. Empty for none;
    /// of several series with the same name, only the first is labelled.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points, by x.
    pub values: Vec<Value>,
}

impl Series {
    /// A series of points, each with an interval or without.
    pub fn new(
        label: impl Into<String>,
        colour: Colour,
        mark: Mark,
        points: impl IntoIterator<Item = impl Into<Value>>,
    ) -> Self {
        Self {
            label: label.into(),
            colour,
            mark,
            values: points.into_iter().map(Into::into).collect(),
        }
    }
}

/// The inner frame of a plot, which maps numbers to pixels.
pub(crate) struct Frame<'a> {
    /// Left, top, right, bottom.
    pub edges: [f64; 4],
    pub x: PlacedAxis<'a>,
    pub y: PlacedAxis<'a>,
    /// Width of bars.
    pub bin: Option<f64>,
}

impl Frame<'_> {
    pub fn at(&self, x: f64, y: f64) -> Option<Point> {
        Some((self.x.at(x)?, self.y.at(y)?))
    }

    /// The pixel position of y; the bottom for numbers that the axis cannot show, such as zero on a log axis.
    fn y_or_bottom(&self, y: f64) -> f64 {
        self.y.at(y).unwrap_or(self.edges[3])
    }

    /// The pixel position of y, clamped to the frame.
    fn y_inside(&self, y: f64) -> f64 {
        let [_, top, _, bottom] = self.edges;
        match y == f64::INFINITY {
            true => top,
            false => self.y_or_bottom(y).clamp(top, bottom),
        }
    }

    fn holds(&self, (x, y): Point) -> bool {
        let [left, top, right, bottom] = self.edges;
        let slack = 0.5;
        (left - slack..=right + slack).contains(&x) && (top - slack..=bottom + slack).contains(&y)
    }
}

/// Draws the bands behind lines. They come first, so that they hide no line.
pub(crate) fn draw_band(series: &Series, frame: &Frame, out: &mut Drawing) {
    let in_doubt = series.values.iter().any(|value| value.interval.is_some());
    if series.mark == Mark::Line && in_doubt {
        area(series, frame, out, Value::ends, 0.18);
    }
}

pub(crate) fn draw(series: &Series, frame: &Frame, out: &mut Drawing) {
    let mut stroke = |steps: bool, width: f64, more: &str| {
        let stretches = stretches(series, frame, steps);
        let paths = stretches
            .iter()
            .map(|points| path::line(points, frame.edges));
        let more = format!("{ROUND}{more}");
        out.stroke(&paths.collect::<String>(), series.colour, width, &more);
    };
    match series.mark {
        Mark::Line => stroke(false, 2.0, ""),
        Mark::Thin => stroke(false, 1.0, " stroke-opacity=\"0.5\""),
        Mark::Faint => stroke(false, 0.8, " stroke-opacity=\"0.4\""),
        Mark::Steps => stroke(true, 2.0, ""),
        Mark::Dashed => stroke(false, 1.5, " stroke-dasharray=\"5 4\""),
        Mark::Points => points(series, frame, out),
        Mark::Band => area(series, frame, out, Value::ends, 0.18),
        Mark::Above => area(series, frame, out, |v| [v.y, f64::INFINITY], 0.14),
        Mark::Bars => bars(series, frame, out),
    }
}

const ROUND: &str = " stroke-linejoin=\"round\"";

/// The points of a line in pixels, split where the axes cannot show a point.
fn stretches(series: &Series, frame: &Frame, steps: bool) -> Vec<Vec<Point>> {
    let mut out = vec![Vec::new()];
    for value in &series.values {
        let stretch = out.last_mut().expect("there is at least one");
        match (frame.at(value.x, value.y), stretch.last()) {
            (None, _) => out.push(Vec::new()),
            (Some((x, y)), Some(&(_, before))) if steps => stretch.extend([(x, before), (x, y)]),
            (Some(point), _) => stretch.push(point),
        }
    }
    out
}

/// Points along what is drawn, a few pixels apart, so that text can avoid it.
pub(crate) fn trace(series: &Series, frame: &Frame) -> Vec<Point> {
    let lines = match series.mark {
        Mark::Band | Mark::Above => Vec::new(),
        Mark::Points | Mark::Bars => {
            let each = series.values.iter().filter_map(|v| frame.at(v.x, v.y));
            each.map(|point| vec![point]).collect()
        }
        Mark::Steps => stretches(series, frame, true),
        _ => stretches(series, frame, false),
    };
    let mut out: Vec<Point> = Vec::new();
    for line in lines {
        for (index, &(x, y)) in line.iter().enumerate() {
            let (from_x, from_y) = line[index.saturating_sub(1)];
            let far = (x - from_x).hypot(y - from_y).min(2000.0);
            let steps = (far / 4.0).ceil().max(1.0);
            let shares = (1..=steps as usize).map(|step| step as f64 / steps);
            out.extend(shares.map(|s| (from_x + s * (x - from_x), from_y + s * (y - from_y))));
        }
    }
    out
}

fn points(series: &Series, frame: &Frame, out: &mut Drawing) {
    let mut bars = String::new();
    // If there are many points, they are smaller.
    let radius = if series.values.len() > 60 { 2.0 } else { 3.0 };
    for value in &series.values {
        let Some((x, y)) = frame.at(value.x, value.y).filter(|at| frame.holds(*at)) else {
            continue;
        };
        if let Some(ends) = value.interval {
            let [low, high] = ends.map(|end| frame.y_inside(end));
            bars += &format!("M{} {}V{}", num(x), num(low), num(high));
        }
        out.fill(&circle(x, y, radius), series.colour, 1.0);
    }
    out.stroke(&bars, series.colour, 1.2, "");
}

fn area(
    series: &Series,
    frame: &Frame,
    out: &mut Drawing,
    ends: impl Fn(&Value) -> [f64; 2],
    opacity: f64,
) {
    let usable = series.values.iter().filter(|v| v.y.is_finite());
    let placed: Vec<(&Value, f64)> = usable.filter_map(|v| Some((v, frame.x.at(v.x)?))).collect();
    let at = |y: f64| match y == f64::INFINITY {
        true => frame.edges[1],
        false => frame.y_or_bottom(y),
    };
    let upper = placed.iter().map(|(v, x)| (*x, at(ends(v)[1])));
    let lower = placed.iter().rev().map(|(v, x)| (*x, at(ends(v)[0])));
    let path = path::area(&upper.chain(lower).collect::<Vec<Point>>(), frame.edges);
    if !path.is_empty() {
        out.fill(&format!("path d=\"{path}\""), series.colour, opacity);
    }
}

fn bars(series: &Series, frame: &Frame, out: &mut Drawing) {
    let [left, _, right, _] = frame.edges;
    let middle = series.values.first().map_or(0.0, |value| value.x);
    let bin = frame.bin.unwrap_or(f64::INFINITY);
    let wide = match (frame.x.at(middle), frame.x.at(middle + bin)) {
        (Some(from), Some(to)) => (to - from).abs(),
        _ => 0.4 * (right - left),
    };
    // A small gap between bars that are wide enough.
    let width = if wide > 6.0 {
        wide - 1.5
    } else {
        wide.max(1.0)
    };
    let zero = frame.y_inside(0.0);
    for value in &series.values {
        let Some((x, _)) = frame.at(value.x, value.y) else {
            continue;
        };
        let (from, to) = (x - width / 2.0, x + width / 2.0);
        let (from, to) = (from.clamp(left, right), to.clamp(left, right));
        let y = frame.y_inside(value.y);
        let shape = rect(from, y.min(zero), to - from, (y - zero).abs().max(0.5));
        if to > from {
            out.fill(&shape, series.colour, 0.7);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;

    #[test]
    fn bars_go_from_end_to_end_and_infinite_ones_to_the_edge() {
        let axis = Axis::linear("");
        let placed = |pixels| PlacedAxis {
            axis: &axis,
            range: (0.0, 10.0),
            pixels,
        };
        let frame = Frame {
            edges: [0.0, 0.0, 100.0, 100.0],
            x: placed((0.0, 100.0)),
            y: placed((100.0, 0.0)),
            bin: None,
        };
        let bar = |interval| {
            let value = Value {
                interval,
                ..Value::from((5.0, 4.0))
            };
            let mut out = Drawing::default();
            draw(
                &Series::new("", Colour::Blue, Mark::Points, [value]),
                &frame,
                &mut out,
            );
            out.body
        };
        assert!(bar(Some([3.0, 9.0])).contains("\"M50 70V10\""));
        assert!(bar(Some([3.0, f64::INFINITY])).contains("\"M50 70V0\""));
        assert!(bar(Some([f64::NEG_INFINITY, 5.0])).contains("\"M50 100V50\""));
        assert!(!bar(None).contains("<path"));
    }
}
