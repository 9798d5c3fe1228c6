//! A small matrix: one cell a number, its colour as strong as the number is large.

use crate::colour::Colour;
use crate::plot::draw_title;
use crate::svg::{Anchor, Drawing, Style};
use crate::text;

/// A matrix with its numbers in the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// What it shows.
    pub title: String,
    /// What rows are.
    pub row_label: String,
    /// What columns are.
    pub column_label: String,
    /// Names of rows and columns.
    pub names: Vec<String>,
    /// The numbers, row by row; [k, k] with k names.
    pub values: Vec<f64>,
    /// What is written in each cell: lines.
    pub cells: Vec<Vec<String>>,
}

/// From the weakest to the strongest colour: two blues, light enough for black letters and dark enough for white ones.
const WEAK: [f64; 3] = [233.0, 241.0, 250.0];
const STRONG: [f64; 3] = [0.0, 84.0, 147.0];
/// The largest side of a cell.
const CELL: f64 = 104.0;

impl Matrix {
    /// Draws it with its upper left corner at (`left`, `top`), at most `width` wide; returns its height.
    pub(crate) fn draw(&self, left: f64, top: f64, width: f64, out: &mut Drawing) -> f64 {
        let k = self.names.len();
        let mut y = top + draw_title(&self.title, left, top, width, out);
        let muted = |anchor| Style::new(12.0, Colour::Muted, anchor);
        let both = format!("rows: {}; columns: {}", self.row_label, self.column_label);
        for line in text::wrap(&both, 12.0, false, width) {
            out.text(left, y + 12.0, &line, muted(Anchor::Start));
            y += 17.0;
        }
        let names = self.names.iter().map(|name| text::width(name, 12.0, false));
        let start = left + names.fold(0.0, f64::max) + 8.0;
        let cell = ((left + width - start) / k as f64).min(CELL);
        y += 18.0;
        for (column, name) in self.names.iter().enumerate() {
            let x = start + (column as f64 + 0.5) * cell;
            out.text(x, y - 5.0, name, muted(Anchor::Middle));
        }
        let largest = self.values.iter().copied().fold(f64::MIN, f64::max);
        let least = self
            .values
            .iter()
            .copied()
            .fold(f64::MAX, f64::min)
            .min(0.0);
        for (index, (&value, lines)) in self.values.iter().zip(&self.cells).enumerate() {
            let (row, column) = (index / k, index % k);
            let (cell_x, cell_y) = (start + column as f64 * cell, y + row as f64 * cell);
            let share = ((value - least) / (largest - least)).clamp(0.0, 1.0);
            let share = if share.is_nan() { 0.0 } else { share };
            let mix = |c: usize| (WEAK[c] + share * (STRONG[c] - WEAK[c])).round() as u8;
            let hex = format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
            out.cell(cell_x + 1.0, cell_y + 1.0, cell - 2.0, cell - 2.0, &hex);
            let ink = if share > 0.5 { "#ffffff" } else { "#1b1f24" };
            let middle = cell_y + cell / 2.0 - 8.5 * (lines.len() as f64 - 1.0);
            for (at, line) in lines.iter().enumerate() {
                let mut style = Style::new(
                    if at == 0 { 14.0 } else { 11.5 },
                    Colour::Ink,
                    Anchor::Middle,
                );
                style.bold = at == 0;
                // A cell too small for its words gets smaller ones.
                let room = (cell - 8.0) / text::width(line, style.size, style.bold);
                style.size = (style.size * room.min(1.0) * 10.0).floor() / 10.0;
                let baseline = middle + 17.0 * at as f64 + 0.35 * style.size;
                out.text_fixed(cell_x + cell / 2.0, baseline, line, style, ink);
            }
            if column == 0 {
                let middle = cell_y + cell / 2.0 + 4.0;
                out.text(start - 7.0, middle, &self.names[row], muted(Anchor::End));
            }
        }
        y + k as f64 * cell + 6.0 - top
    }
}
