//! A small matrix: one cell per number, with stronger colours for larger numbers.

use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::scale::{Scale, fixed};
use crate::shade::Shading;
use crate::svg::{Anchor, Drawing, Style, rect};
use crate::text;

/// A matrix with its numbers in the cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// What it shows.
    pub title: String,
    /// What rows are.
    pub row_label: String,
    /// What columns are.
    pub column_label: String,
    /// Names of rows.
    pub rows: Vec<String>,
    /// Names of columns.
    pub columns: Vec<String>,
    /// The numbers, row by row; [rows, columns].
    pub values: Vec<f64>,
    /// The lines of text in each cell; if there are none, the number itself.
    pub cells: Vec<Vec<String>>,
    /// Whether negative numbers have a colour of their own.
    pub signed: bool,
}

/// The largest side of a cell.
const CELL: f64 = 104.0;
/// The gap between cells.
const SEAM: f64 = 2.0;
/// The smallest font size in cells. If text does not fit, cells are empty and a colour bar explains the
/// colours.
const SMALLEST: f64 = 8.5;
/// Font size of names.
const NAME: f64 = 12.0;
/// Height of the names of columns.
const NAMES: f64 = 18.0;

impl Matrix {
    fn shading(&self) -> Shading {
        Shading::of(&self.values, None, Scale::Linear, self.signed)
    }

    fn names_width(&self) -> f64 {
        text::widest(&self.rows, NAME) + 8.0
    }

    fn cell_side(&self, width: f64) -> f64 {
        ((width - self.names_width()) / self.columns.len().max(1) as f64).min(CELL)
    }

    /// A number with as many decimals as the largest needs to show two digits.
    fn number(&self, value: f64) -> String {
        let finite = self.values.iter().filter(|v| v.is_finite());
        let largest = finite.map(|v| v.abs()).fold(0.0, f64::max);
        let decimals = match largest > 0.0 {
            true => (1.0 - (0.999 * largest).log10().floor()).clamp(0.0, 5.0) as usize,
            false => 0,
        };
        match value.is_finite() {
            true => fixed(value, decimals),
            false => String::new(),
        }
    }

    fn lines(&self, index: usize) -> Vec<String> {
        let number = || vec![self.number(self.values[index])];
        self.cells.get(index).cloned().unwrap_or_else(number)
    }

    /// The style that fits into every cell: of the first line, which is bold, or of the lines below it.
    fn style(&self, first: bool, cell: f64) -> Style {
        let mut style = Style::new(if first { 14.0 } else { 11.5 }, Colour::Ink, Anchor::Middle);
        style.bold = first;
        let air = if cell > 50.0 { 8.0 } else { 5.0 };
        let lines = (0..self.values.len()).flat_map(|index| {
            let lines = self.lines(index).into_iter();
            lines.enumerate().filter(move |(at, _)| (*at == 0) == first)
        });
        let widths = lines.map(|(_, line)| text::width(&line, style.size, style.bold));
        let room = (cell - air) / widths.fold(1.0, f64::max);
        style.size = (style.size * room.clamp(0.0, 1.0) * 10.0).floor() / 10.0;
        style
    }

    /// Whether cells are large enough for their text.
    fn is_written(&self, cell: f64) -> bool {
        let wide = [true, false].map(|first| self.style(first, cell).size >= SMALLEST);
        let lines = (0..self.values.len()).map(|index| self.lines(index).len());
        wide == [true, true] && 17.0 * lines.max().unwrap_or(0) as f64 <= cell
    }

    /// Draws the cells and the names of rows and columns, starting at (left, top); returns the height.
    pub(crate) fn draw_cells(&self, place: Place, out: &mut Drawing) -> f64 {
        let (cell, start) = (self.cell_side(place.width), place.left + self.names_width());
        let muted = |anchor| Style::new(NAME, Colour::Muted, anchor);
        let top = place.top + NAMES;
        // If names are too long for narrow columns, only some are shown.
        let widest = text::widest(&self.columns, NAME);
        let every = match widest <= cell - 2.0 {
            true => 1,
            false => ((widest + 6.0) / cell).ceil() as usize,
        };
        for (column, name) in self.columns.iter().enumerate().step_by(every) {
            let x = start + (column as f64 + 0.5) * cell;
            out.text(x, top - 5.0, name, muted(Anchor::Middle));
        }
        let every = (14.0 / cell).ceil() as usize;
        for (row, name) in self.rows.iter().enumerate().step_by(every) {
            let middle = top + (row as f64 + 0.5) * cell + 4.0;
            out.text(start - 7.0, middle, name, muted(Anchor::End));
        }
        let (shading, written) = (self.shading(), self.is_written(cell));
        let seam = if cell > 20.0 { SEAM } else { 0.5 };
        let styles = [self.style(true, cell), self.style(false, cell)];
        let count = self.columns.len().max(1);
        for (index, &value) in self.values.iter().enumerate() {
            let x = start + (index % count) as f64 * cell;
            let y = top + (index / count) as f64 * cell;
            let share = shading.share(value);
            let (colour, opacity) = Shading::colour(share);
            let shape = rect(x + seam / 2.0, y + seam / 2.0, cell - seam, cell - seam);
            let rounding = if cell > 20.0 { " rx=\"3\"" } else { "" };
            if value.is_finite() {
                out.fill(&(shape + rounding), colour, opacity);
            }
            let lines = match written {
                true => self.lines(index),
                false => Vec::new(),
            };
            let middle = y + cell / 2.0 - 8.5 * (lines.len() as f64 - 1.0);
            for (at, line) in lines.iter().enumerate() {
                let mut style = styles[usize::from(at > 0)];
                style.colour = Shading::ink(share);
                let baseline = middle + 17.0 * at as f64 + 0.35 * style.size;
                out.text(x + cell / 2.0, baseline, line, style);
            }
        }
        NAMES + self.values.len().div_ceil(count) as f64 * cell
    }
}

impl Part for Matrix {
    /// A matrix with few columns needs less space than a plot.
    fn share(&self) -> f64 {
        if self.columns.len() <= 4 { 0.55 } else { 1.0 }
    }

    fn draw_lead(&self, place: Place, out: &mut Drawing) -> f64 {
        let mut y = place.top;
        let labels = [("rows", &self.row_label), ("columns", &self.column_label)];
        let labels = labels.iter().filter(|(_, label)| !label.is_empty());
        let labels: Vec<String> = labels
            .map(|(what, label)| format!("{what}: {label}"))
            .collect();
        let style = Style::new(NAME, Colour::Muted, Anchor::Start);
        y += out.paragraph(&labels.join("; "), (place.left, y), place.width, style);
        if !self.is_written(self.cell_side(place.width)) {
            y += self.shading().draw_bar("", Place { top: y, ..place }, out);
        }
        y - place.top
    }

    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        self.draw_cells(place, out) + 6.0
    }
}
