//! A large matrix as colours: attention, or any other quantity over a grid.

use std::fmt::Write;

use crate::axis::{Axis, LABEL, PlacedAxis, TICK};
use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::scale::Scale;
use crate::shade::Shading;
use crate::svg::{Anchor, Drawing, Style, num};

/// Rows and columns of coloured cells, with the first row at the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Heatmap {
    /// What it shows, above it.
    pub title: String,
    /// The axis of columns. Its range gives the numbers of the first and last column (1 and their count if
    /// not given).
    pub x: Axis,
    /// The axis of rows, from the top; a decreasing range makes an axis that grows upwards.
    pub y: Axis,
    /// The number of columns; the number of rows follows from the values.
    pub columns: usize,
    /// The numbers, row by row; [rows, columns]. A cell that does not exist is `f64::NAN`.
    pub values: Vec<f64>,
    /// What the numbers are; shown next to the colour bar. May be empty.
    pub value_label: String,
    /// Whether to omit the colour bar because another panel with the same range shows it.
    pub without_bar: bool,
    /// The numbers at the ends of the colour scale; zero and the largest if not given. Give panels that are
    /// to be compared the same range.
    pub range: Option<(f64, f64)>,
    /// Whether the scale is centred at zero, with a second colour for negative numbers.
    pub signed: bool,
    /// Height over width of the frame.
    pub aspect: f64,
}

impl Default for Heatmap {
    fn default() -> Self {
        Self {
            title: String::new(),
            x: Axis::default(),
            y: Axis::default(),
            columns: 1,
            values: Vec::new(),
            value_label: String::new(),
            without_bar: false,
            range: None,
            signed: false,
            aspect: 1.0,
        }
    }
}

/// The number of distinct levels of colour: all cells of a level are one path.
const LEVELS: f64 = 32.0;
/// The largest height of a frame.
const TALLEST: f64 = 400.0;
const RIGHT: f64 = 12.0;

impl Heatmap {
    fn rows(&self) -> usize {
        self.values.len().div_ceil(self.columns.max(1))
    }

    fn shading(&self) -> Shading {
        Shading::of(&self.values, self.range, Scale::Linear, self.signed)
    }

    /// An axis through the centres of cells between two pixel positions.
    fn placed<'a>(axis: &'a Axis, count: usize, start: f64, cell: f64) -> PlacedAxis<'a> {
        let count = count.max(1) as f64;
        PlacedAxis {
            axis,
            range: axis.range.unwrap_or((1.0, count)),
            pixels: (start + cell / 2.0, start + (count - 0.5) * cell),
        }
    }

    /// The width of the row labels, and the width and height of a cell.
    fn sizes(&self, width: f64) -> (f64, f64, f64) {
        let (rows, columns) = (self.rows().max(1) as f64, self.columns.max(1) as f64);
        let whole = Self::placed(&self.y, self.rows(), 0.0, 300.0 / rows);
        let numbers = whole.upright_width();
        let wide = (width - numbers - RIGHT).min(TALLEST / self.aspect);
        // With whole or half pixels, no seams appear between cells.
        let snapped = |size: f64| match size > 1.5 {
            true => (size * 2.0).floor() / 2.0,
            false => size,
        };
        let cell = snapped(wide / columns);
        (numbers, cell, snapped(wide * self.aspect / rows))
    }

    /// One path per level, made of runs of adjacent cells.
    fn draw_levels(&self, corner: (f64, f64), cell: (f64, f64), out: &mut Drawing) {
        let shading = self.shading();
        let level = |value: &f64| {
            let level = (shading.share(*value) * LEVELS).round() as i32;
            value.is_finite().then_some(level)
        };
        let mut paths: std::collections::BTreeMap<i32, String> = Default::default();
        for (row, values) in self.values.chunks(self.columns.max(1)).enumerate() {
            let levels: Vec<Option<i32>> = values.iter().map(level).collect();
            let mut column = 0;
            for run in levels.chunk_by(|a, b| a == b) {
                if let Some(level) = run[0] {
                    let path = paths.entry(level).or_default();
                    write!(path, "M{column} {row}h{}", run.len())
                        .expect("writing to a string cannot fail");
                }
                column += run.len();
            }
        }
        // Cells are strokes of one row's thickness, in units of cells.
        out.body += &format!(
            "<g transform=\"translate({} {}) scale({} {})\" shape-rendering=\"crispEdges\">",
            num(corner.0),
            num(corner.1 + cell.1 / 2.0),
            cell.0,
            cell.1
        );
        for (level, path) in paths {
            let (colour, opacity) = Shading::colour(f64::from(level) / LEVELS);
            let opacity = format!(" stroke-opacity=\"{opacity:.3}\"");
            out.stroke(&path, colour, 1.0, &opacity);
        }
        out.body += "</g>";
    }
}

impl Part for Heatmap {
    fn draw_lead(&self, place: Place, out: &mut Drawing) -> f64 {
        let Place { left, top, width } = place;
        let mut top = top;
        if !self.without_bar {
            top += self.shading().draw_bar(&self.value_label, place, out);
        }
        let style = Style::new(LABEL, Colour::Muted, Anchor::Start);
        top += out.paragraph(&self.y.label, (left, top), width, style);
        top + 8.0 - place.top
    }

    fn height(&self, width: f64) -> Option<f64> {
        Some(self.sizes(width).2 * self.rows() as f64)
    }

    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        let (numbers, cell_width, cell_height) = self.sizes(place.width);
        let (left, top) = ((place.left + numbers).round(), place.top.round());
        let bottom = top + cell_height * self.rows() as f64;
        self.draw_levels((left, top), (cell_width, cell_height), out);
        let mut marks = String::new();
        let upright = Self::placed(&self.y, self.rows(), top, cell_height);
        for (at, label) in upright.upright_ticks() {
            marks += &format!("M{} {}h-4", num(left), num(at));
            let style = Style::new(TICK, Colour::Muted, Anchor::End);
            out.text(left - 7.0, at + 0.35 * TICK, &label, style);
        }
        out.stroke(&marks, Colour::Muted, 1.0, "");
        let across = Self::placed(&self.x, self.columns, left, cell_width);
        let edges = (place.left, place.left + place.width);
        bottom + across.draw_below(bottom + 1.0, edges, out) + 1.0 - place.top
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, Panel};

    #[test]
    fn a_hundred_by_a_hundred_is_small_even_without_a_pattern() {
        let values = (0..100 * 100).map(|cell| {
            let (row, column) = (cell / 100, cell % 100);
            let noise = f64::from((cell * 7919) % 1009) / 1009.0;
            if column > row { f64::NAN } else { noise }
        });
        let figure = Figure {
            panels: vec![Panel::Heatmap(Heatmap {
                columns: 100,
                values: values.collect(),
                ..Heatmap::default()
            })],
            ..Figure::default()
        };
        let svg = figure.svg_inline(480);
        assert!(svg.len() < 60_000, "{}", svg.len());
    }

    #[test]
    fn adjacent_cells_are_one_run_and_missing_ones_none() {
        let map = Heatmap {
            columns: 4,
            values: vec![1.0, 1.0, 0.0, f64::NAN, -1.0, -1.0, -1.0, 1.0],
            signed: true,
            ..Heatmap::default()
        };
        let mut out = Drawing::default();
        map.draw_levels((0.0, 0.0), (1.0, 1.0), &mut out);
        for stretch in ["\"M0 0h2M3 1h1\"", "\"M2 0h1\"", "\"M0 1h3\""] {
            assert!(out.body.contains(stretch), "{}", out.body);
        }
        assert!(!out.body.contains("M3 0"));
    }
}
