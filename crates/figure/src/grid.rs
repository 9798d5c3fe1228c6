//! A number for every pair of values of two keys: a phase diagram.

use crate::axis::{LABEL, TICK, draw_label};
use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::legend::SIZE;
use crate::path;
use crate::scale::{Scale, short};
use crate::shade::Shading;
use crate::svg::{Anchor, Drawing, LINE, Style, rect};
use crate::text;

/// Coloured cells over two lists of names, with the first row at the top; each cell shows its number if it
/// fits.
///
/// Unlike on the axes of a [`Heatmap`](crate::Heatmap), names need not be numbers: `absolute` is a valid
/// name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What it shows, above it.
    pub title: String,
    /// What columns are.
    pub x_label: String,
    /// What rows are.
    pub y_label: String,
    /// Names of columns.
    pub columns: Vec<String>,
    /// Names of rows, from the top.
    pub rows: Vec<String>,
    /// The numbers, row by row; [rows, columns]. A cell whose number is missing or not finite has no value.
    pub values: Vec<f64>,
    /// What the numbers are; shown next to the colour bar.
    pub value_label: String,
    /// How numbers map to colours between the smallest and the largest.
    pub scale: Scale,
}

/// The largest width of a cell, and the limits of its height if the width allows.
const WIDEST: f64 = 96.0;
const HEIGHT: (f64, f64) = (22.0, 46.0);
/// Height over width of a cell.
const ASPECT: f64 = 0.7;
/// The gap between cells.
const SEAM: f64 = 1.5;
/// The largest and smallest font size in cells. If even the smallest does not fit, cells show no numbers.
const LETTERS: (f64, f64) = (12.0, 9.0);
/// The distance between the hatching lines of a cell without a value.
const HATCH: f64 = 6.0;
/// The side of the hatched cell in the legend.
const SWATCH: (f64, f64) = (18.0, 11.0);

/// The position of the cells: the upper left corner, and the width and height of a cell.
struct Cells {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Grid {
    /// The number of a cell, if it has one.
    pub(crate) fn value(&self, row: usize, column: usize) -> Option<f64> {
        let value = self.values.get(row * self.columns.len() + column).copied();
        value.filter(|value| value.is_finite())
    }

    fn all_cells(&self) -> impl Iterator<Item = (usize, usize, Option<f64>)> {
        let each = move |row| (0..self.columns.len()).map(move |column| (row, column));
        let places = (0..self.rows.len()).flat_map(each);
        places.map(|(row, column)| (row, column, self.value(row, column)))
    }

    /// The numbers to draw.
    fn known(&self) -> Vec<f64> {
        self.all_cells().filter_map(|(_, _, value)| value).collect()
    }

    fn has_gaps(&self) -> bool {
        self.all_cells().any(|(_, _, value)| value.is_none())
    }

    fn shading(&self) -> Shading {
        let known = self.known();
        // A single number has no range, so its colour is relative to zero.
        let range = self.scale.ends_of(known.iter().copied());
        Shading::of(&known, range, self.scale, false)
    }

    fn cells(&self, place: Place) -> Cells {
        let names = text::widest(&self.rows, TICK) + 8.0;
        let columns = self.columns.len().max(1) as f64;
        // Whole pixels, so that edges are not blurred.
        let width = ((place.width - names) / columns)
            .min(WIDEST)
            .floor()
            .max(2.0);
        Cells {
            left: (place.left + names).ceil(),
            top: place.top.ceil(),
            width,
            height: (ASPECT * width).clamp(HEIGHT.0, HEIGHT.1).round(),
        }
    }

    /// The font size at which every number fits into its cell.
    fn letters(&self, cells: &Cells) -> Option<f64> {
        let texts = self.known().into_iter().map(short);
        let widths = texts.map(|text| text::width(&text, LETTERS.0, false));
        let room = (cells.width - SEAM - 6.0) / widths.fold(1.0, f64::max);
        let size = LETTERS.0 * room.min(1.0);
        (size >= LETTERS.1).then_some((10.0 * size).floor() / 10.0)
    }

    fn draw_names(&self, cells: &Cells, bottom: f64, out: &mut Drawing) {
        let style = |anchor| Style::new(TICK, Colour::Muted, anchor);
        for (row, name) in self.rows.iter().enumerate() {
            let middle = cells.top + (row as f64 + 0.5) * cells.height;
            let baseline = middle + 0.35 * TICK;
            out.text(cells.left - 7.0, baseline, name, style(Anchor::End));
        }
        // If the names of columns would overlap, only some are shown.
        let every = ((text::widest(&self.columns, TICK) + 6.0) / cells.width).ceil();
        for (column, name) in self.columns.iter().enumerate().step_by(every as usize) {
            let middle = cells.left + (column as f64 + 0.5) * cells.width;
            out.text(middle, bottom + 16.0, name, style(Anchor::Middle));
        }
    }
}

/// Draws a cell without a value, hatched so that it cannot be mistaken for any colour of the bar.
fn draw_gap([left, top, right, bottom]: [f64; 4], out: &mut Drawing) {
    let (width, height) = (right - left, bottom - top);
    let count = ((width + height) / HATCH).floor() as usize;
    let lines = (1..=count).map(|line| {
        let start = left + HATCH * line as f64 - HATCH / 2.0;
        let ends = [(start, top), (start - height, bottom)];
        path::line(&ends, [left, top, right, bottom])
    });
    let lines: String = lines.collect();
    out.body += "<g class=\"gap\">";
    out.fill(&rect(left, top, width, height), Colour::Faint, 0.5);
    out.stroke(&lines, Colour::Muted, 0.8, " stroke-opacity=\"0.7\"");
    out.body += "</g>";
}

impl Part for Grid {
    fn draw_lead(&self, place: Place, out: &mut Drawing) -> f64 {
        let Place { left, width, .. } = place;
        let mut top = place.top;
        if !self.known().is_empty() {
            let label = match self.scale {
                Scale::Log if !self.value_label.is_empty() => {
                    format!("{} (log scale)", self.value_label)
                }
                _ => self.value_label.clone(),
            };
            top += self.shading().draw_bar(&label, place, out);
        }
        let style = Style::new(SIZE, Colour::Muted, Anchor::Start);
        if self.has_gaps() {
            let (middle, (wide, high)) = (top + LINE / 2.0, SWATCH);
            let edges = [left, middle - high / 2.0, left + wide, middle + high / 2.0];
            draw_gap(edges, out);
            out.text(left + wide + 6.0, middle + 0.35 * SIZE, "no value", style);
            top += LINE + 4.0;
        }
        let style = Style::new(LABEL, Colour::Muted, Anchor::Start);
        top += out.paragraph(&self.y_label, (left, top), width, style);
        top + 6.0 - place.top
    }

    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        let cells = self.cells(place);
        let (shading, letters) = (self.shading(), self.letters(&cells));
        for (row, column, value) in self.all_cells() {
            let left = cells.left + column as f64 * cells.width;
            let top = cells.top + row as f64 * cells.height;
            let (wide, high) = (cells.width - SEAM, cells.height - SEAM);
            let Some(value) = value else {
                draw_gap([left, top, left + wide, top + high], out);
                continue;
            };
            let share = shading.share(value);
            let (colour, opacity) = Shading::colour(share);
            out.fill(&rect(left, top, wide, high), colour, opacity);
            if let Some(size) = letters {
                let style = Style::new(size, Shading::ink(share), Anchor::Middle);
                let baseline = top + high / 2.0 + 0.35 * size;
                out.text(left + wide / 2.0, baseline, &short(value), style);
            }
        }
        let bottom = cells.top + cells.height * self.rows.len() as f64;
        self.draw_names(&cells, bottom, out);
        let middle = cells.left + cells.width * self.columns.len() as f64 / 2.0;
        let edges = (place.left, place.left + place.width);
        draw_label(&self.x_label, (middle, bottom + 34.0), edges, out) - place.top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(grid: &Grid, width: f64) -> String {
        let place = Place {
            left: 0.0,
            top: 0.0,
            width,
        };
        let mut out = Drawing::default();
        let top = grid.draw_lead(place, &mut out);
        grid.draw_body(Place { top, ..place }, 0.0, &mut out);
        out.body
    }

    fn grid(values: &[f64]) -> Grid {
        Grid {
            x_label: "positions".into(),
            columns: ["absolute", "relative"].map(String::from).into(),
            rows: ["0.1", "0.2"].map(String::from).into(),
            values: values.to_vec(),
            value_label: "KL, nats".into(),
            scale: Scale::Log,
            ..Grid::default()
        }
    }

    #[test]
    fn cells_have_their_numbers_and_names() {
        let body = drawn(&grid(&[0.01, 0.02, 0.25, 0.5]), 400.0);
        for word in "0.01 0.02 0.25 0.5 absolute relative positions".split(' ') {
            assert!(body.contains(&format!(">{word}</text>")), "{word}");
        }
        assert!(!body.contains("class=\"gap\"") && !body.contains("no value"));
        let narrow = drawn(&grid(&[0.01, 0.02, 0.25, 0.5]), 60.0);
        assert!(!narrow.contains(">0.02</text>"));
    }

    #[test]
    fn a_cell_without_a_value_is_hatched_and_never_a_zero() {
        // One of the four is missing altogether.
        let body = drawn(&grid(&[0.01, f64::NAN, f64::INFINITY]), 400.0);
        // Three cells, and the legend's hatched cell.
        assert_eq!(body.matches("class=\"gap\"").count(), 4);
        assert!(body.contains(">no value</text>") && !body.contains(">0</text>"));
        let empty = drawn(&grid(&[]), 400.0);
        assert_eq!(empty.matches("class=\"gap\"").count(), 5);
    }

    #[test]
    fn colours_go_from_the_smallest_to_the_largest() {
        let grid = grid(&[0.01, 0.1, 1.0, f64::INFINITY]);
        let shares = [0.01, 0.1, 1.0].map(|value| grid.shading().share(value));
        assert!((shares[1] - 0.5).abs() < 1e-9 && shares[0] == 0.0 && shares[2] == 1.0);
    }
}
