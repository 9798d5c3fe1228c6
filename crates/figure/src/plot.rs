//! A plot with two axes.

use crate::annotate::{Level, Moment, Note, Region, draw_moments};
use crate::axis::{Axis, LABEL, PlacedAxis, TICK};
use crate::colour::Colour;
use crate::inline::PlotFrame;
use crate::layout::{Part, Place};
use crate::legend::{self, Key};
use crate::marks::{self, Frame, Mark, Series};
use crate::path::Point;
use crate::scale::Scale;
use crate::svg::{Anchor, Drawing, LINE, Style, num};

/// Lines, points, bands and bars over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows, above it; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis; its label is horizontal, above it.
    pub y: Axis,
    /// Intervals of the horizontal axis with a coloured background.
    pub regions: Vec<Region>,
    /// Vertical lines with short names above the frame.
    pub moments: Vec<Moment>,
    /// Dashed horizontal lines, named like series.
    pub levels: Vec<Level>,
    /// The series, from back to front.
    pub series: Vec<Series>,
    /// What the colours of the ramp stand for. If given, a colour bar replaces the names of series in these
    /// colours.
    pub family: Option<Family>,
    /// Short texts inside the frame.
    pub notes: Vec<Note>,
    /// Whether to omit names because another panel of the figure shows them.
    pub without_names: bool,
    /// Whether names appear above the plot, in the order of series, rather than where lines end. For lines
    /// that end close together, the order of names at their ends would be arbitrary.
    pub names_above: bool,
    /// Height over width of the frame.
    pub aspect: f64,
}

impl Default for Plot {
    fn default() -> Self {
        Self {
            title: String::new(),
            x: Axis::default(),
            y: Axis::default(),
            regions: Vec::new(),
            moments: Vec::new(),
            levels: Vec::new(),
            series: Vec::new(),
            family: None,
            notes: Vec::new(),
            without_names: false,
            names_above: false,
            aspect: 0.62,
        }
    }
}

/// The ends of an ordered family of series, drawn in the colours of the ramp.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// What the first colour stands for, such as `p = 0`.
    pub low: String,
    /// What the last colour stands for.
    pub high: String,
}

/// Limits on the height of a frame: not too low on a phone, and low enough that a figure and its caption fit
/// on the screen together.
const LOWEST: f64 = 190.0;
const TALLEST: f64 = 330.0;
/// The gap between the label of the vertical axis and the frame, and how much moments with their names add to
/// it.
const ABOVE_FRAME: f64 = 12.0;
const MOMENTS: f64 = 10.0;

impl Plot {
    /// The entries of the legend: series, each name once, and levels.
    fn keys(&self) -> Vec<Key<'_>> {
        if self.without_names {
            return Vec::new();
        }
        let in_bar = |s: &Series| self.family.is_some() && matches!(s.colour, Colour::Ramp(_));
        let named = |s: &&Series| s.mark != Mark::Faint && !in_bar(s);
        let series = self.series.iter().filter(named);
        let series = series.map(|s| (&s.label, s.colour, s.mark));
        let levels = self.levels.iter();
        let levels = levels.map(|level| (&level.label, level.colour, Mark::Dashed));
        distinct(series.chain(levels))
    }

    /// The entries for regions, if any of their names does not fit inside.
    fn region_keys(&self, width: f64) -> Vec<Key<'_>> {
        let frame = self.frame((0.0, 0.0), width, self.natural_height(width), 0.0);
        if self.without_names || self.regions.iter().all(|region| region.fits(&frame)) {
            return Vec::new();
        }
        // A region with the name of a series is identified by its colour.
        let known = self.keys();
        let named = |label: &str| known.iter().any(|key| key.label == label);
        let regions = self.regions.iter().filter(|region| !named(&region.label));
        distinct(regions.map(|region| (&region.label, region.colour, Mark::Band)))
    }

    /// The width of the column of names to the right. `None` if names would take too much of the width or are
    /// too many; they then go into rows above.
    fn column(&self, width: f64) -> Option<f64> {
        let keys = self.keys();
        let column = legend::column_width(&keys);
        let is_point = |key: &Key| matches!(key.mark, Mark::Points | Mark::Bars);
        let points = keys.iter().any(is_point);
        let fits = column < 0.28 * width && LINE * keys.len() as f64 <= LOWEST;
        (column > 0.0 && fits && !points && !self.names_above).then_some(column)
    }

    fn right_margin(&self, width: f64) -> f64 {
        self.column(width).map_or(12.0, |column| column + 16.0)
    }

    fn natural_height(&self, width: f64) -> f64 {
        let height = self.aspect * (width - self.right_margin(width));
        height.clamp(LOWEST, TALLEST).round()
    }

    /// The frame, with a strip at its top that stays free of data.
    fn frame(&self, (left, top): Point, width: f64, height: f64, strip: f64) -> Frame<'_> {
        let (right, bottom) = (left + width - self.right_margin(width), top + height);
        let y = PlacedAxis {
            axis: &self.y,
            range: self.y_range(),
            pixels: (bottom, top + strip),
        };
        let frame_left = left + y.upright_width();
        Frame {
            edges: [frame_left, top, right, bottom],
            x: PlacedAxis {
                axis: &self.x,
                range: self.x_range(),
                pixels: (frame_left, right),
            },
            y,
            bin: self.bin(),
        }
    }

    /// The width of bars: the smallest distance between any two of them.
    fn bin(&self) -> Option<f64> {
        let bars = self.series.iter().filter(|s| s.mark == Mark::Bars);
        let mut middles: Vec<f64> = bars.flat_map(|s| &s.values).map(|v| v.x).collect();
        middles.sort_by(f64::total_cmp);
        let distances = middles.windows(2).map(|pair| pair[1] - pair[0]);
        distances.filter(|d| *d > 0.0).min_by(f64::total_cmp)
    }

    fn x_range(&self) -> (f64, f64) {
        let halves = self.series.iter().flat_map(|series| {
            let half = match series.mark {
                Mark::Bars => self.bin().unwrap_or(0.0) / 2.0,
                _ => 0.0,
            };
            let values = series.values.iter();
            values.flat_map(move |v| [v.x - half, v.x + half])
        });
        let regions = self.regions.iter().flat_map(|r| [r.from, r.to]);
        let all = halves.chain(regions).chain(self.notes.iter().map(|n| n.x));
        let (low, high) = self.x.scale.range_of(all.clone());
        // Lines and bars extend to the frame, so that names are next to their ends; points need a margin.
        let own = match self.series.iter().any(|s| s.mark == Mark::Points) {
            true => (low, high),
            false => self.x.scale.ends_of(all).unwrap_or((low, high)),
        };
        self.x.range.unwrap_or(own)
    }

    fn y_range(&self) -> (f64, f64) {
        let log = self.y.scale == Scale::Log;
        let values = self.series.iter().flat_map(|series| {
            let zero = (series.mark == Mark::Bars).then_some(0.0);
            let ends = series.values.iter().flat_map(move |v| {
                // On a log axis, an interval that comes close to zero would take up all the space.
                let low = if log { v.y / 3.0 } else { f64::MIN };
                let [from, to] = v.ends();
                [f64::max(from, low), v.y, to]
            });
            ends.chain(zero)
        });
        let said = self.notes.iter().map(|note| note.y);
        let all = values.chain(said).chain(self.levels.iter().map(|l| l.y));
        self.y.range.unwrap_or_else(|| self.y.scale.range_of(all))
    }

    /// The height at which a named series or level ends.
    fn end_of(&self, key: &Key, frame: &Frame) -> f64 {
        let [_, top, right, bottom] = frame.edges;
        let named = |s: &&Series| s.mark == key.mark && s.label == key.label;
        let series = self.series.iter().find(named);
        let level = self.levels.iter().find(|l| l.label == key.label);
        let inside = |x: f64| frame.x.at(x).is_some_and(|x| x <= right + 0.5);
        let last = match (series, level) {
            (Some(series), _) => {
                let seen = series.values.iter().rev().filter(|v| inside(v.x));
                seen.filter_map(|v| frame.y.at(v.y)).next()
            }
            (None, Some(level)) => frame.y.at(level.y),
            _ => None,
        };
        match key.mark {
            Mark::Above => (top + last.unwrap_or(top)) / 2.0,
            _ => last.unwrap_or(bottom),
        }
        .clamp(top, bottom)
    }
}

impl Part for Plot {
    fn draw_lead(&self, place: Place, out: &mut Drawing) -> f64 {
        let Place { left, top, width } = place;
        let mut y = top;
        if let Some(Family { low, high }) = self.family.as_ref().filter(|_| !self.without_names) {
            legend::draw_bar([low, high], &legend::ramp(), left, y, width, out);
            y += legend::BAR;
        }
        let mut rows = match self.column(width) {
            Some(_) => Vec::new(),
            None => self.keys(),
        };
        rows.extend(self.region_keys(width));
        y += legend::draw_rows(&rows, left, y, width, out);
        let style = Style::new(LABEL, Colour::Muted, Anchor::Start);
        y += out.paragraph(&self.y.label, (left, y), width, style);
        if !self.moments.is_empty() {
            y += MOMENTS;
        }
        y + ABOVE_FRAME - top
    }

    fn height(&self, width: f64) -> Option<f64> {
        Some(self.natural_height(width))
    }

    fn draw_body(&self, place: Place, height: f64, out: &mut Drawing) -> f64 {
        let Place { left, top, width } = place;
        let inside = self.region_keys(width).is_empty() && !self.regions.is_empty();
        let strip = if inside { LINE } else { 0.0 };
        let frame = self.frame((left, top), width, height, strip);
        let [frame_left, _, right, bottom] = frame.edges;
        out.frames.push(PlotFrame {
            left: frame_left,
            top,
            right,
            bottom,
            x: frame.x.range,
        });
        for region in &self.regions {
            region.draw(&frame, out);
        }
        let mut grid = String::new();
        for (at, label) in frame.y.upright_ticks() {
            grid += &format!("M{} {}H{}", num(frame_left), num(at), num(right));
            let style = Style::new(TICK, Colour::Muted, Anchor::End);
            out.text(frame_left - 6.0, at + 0.35 * TICK, &label, style);
        }
        out.stroke(&grid, Colour::Faint, 1.0, "");
        let below = frame.x.draw_below(bottom, (left, left + width), out);
        for level in &self.levels {
            level.draw(&frame, out);
        }
        for series in &self.series {
            marks::draw_band(series, &frame, out);
        }
        for series in &self.series {
            marks::draw(series, &frame, out);
        }
        draw_moments(&self.moments, &frame, out);
        if inside {
            for region in self.regions.iter().filter(|region| region.fits(&frame)) {
                region.draw_name(&frame, out);
            }
        }
        if !self.notes.is_empty() {
            let traces = self
                .series
                .iter()
                .map(|series| marks::trace(series, &frame));
            let busy: Vec<Point> = traces.flatten().collect();
            self.notes
                .iter()
                .for_each(|note| note.draw(&frame, &busy, out));
        }
        if self.column(width).is_some() {
            let keys = self.keys();
            let ends: Vec<f64> = keys.iter().map(|key| self.end_of(key, &frame)).collect();
            legend::draw_column(&keys, &ends, right + 14.0, (top, bottom), out);
        }
        height + below
    }
}

/// One entry per name: series without a name, or with that of an earlier one, have none.
fn distinct<'a>(all: impl Iterator<Item = (&'a String, Colour, Mark)>) -> Vec<Key<'a>> {
    let mut keys: Vec<Key> = Vec::new();
    for (label, colour, mark) in all {
        let new = keys.iter().all(|key| key.label != label);
        if new && !label.is_empty() {
            keys.push(Key {
                label,
                colour,
                mark,
            });
        }
    }
    keys
}
