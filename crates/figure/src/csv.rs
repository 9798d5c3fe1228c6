//! The numbers behind a figure.

use std::fmt::{Display, Write};

use crate::figure::{Figure, Panel};
use crate::text::without_backslashes;

/// One row per number: its panel by number and title, its series, its position, its value and the ends of its
/// interval.
struct Rows {
    text: String,
    /// The first two columns.
    panel: String,
}

impl Rows {
    fn push(&mut self, series: &str, x: impl Display, y: impl Display, interval: Option<[f64; 2]>) {
        let (panel, series) = (&self.panel, quoted(series));
        let [low, high] =
            interval.map_or_else(Default::default, |ends| ends.map(|e| e.to_string()));
        writeln!(self.text, "{panel},{series},{x},{y},{low},{high}")
            .expect("writing to a string cannot fail");
    }

    /// A cell by the names of its row and column.
    fn cell(&mut self, series: &str, row: impl Display, column: impl Display, value: f64) {
        if !value.is_nan() {
            self.push(series, quoted(&format!("{row},{column}")), value, None);
        }
    }

    /// Symbols by position, counted from 1.
    fn symbols(&mut self, symbols: &[usize]) {
        for (place, symbol) in (1..).zip(symbols) {
            self.push("symbols", place as usize, symbol, None);
        }
    }
}

fn quoted(label: &str) -> String {
    let text = without_backslashes(label);
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Numbers in rows of `columns` each, with their row and column.
fn cells(values: &[f64], columns: usize) -> impl Iterator<Item = (usize, usize, f64)> {
    let columns = columns.max(1);
    let values = values.iter().enumerate();
    values.map(move |(index, &value)| (index / columns, index % columns, value))
}

pub(crate) fn csv(figure: &Figure) -> String {
    let mut rows = Rows {
        text: String::from("panel,title,series,x,y,low,high\n"),
        panel: String::new(),
    };
    for (number, panel) in (1..).zip(&figure.panels) {
        rows.panel = format!("{number},{}", quoted(panel.part().0));
        match panel {
            Panel::Plot(plot) => {
                for region in &plot.regions {
                    rows.push(&format!("{}: from", region.label), region.from, "", None);
                    rows.push(&format!("{}: to", region.label), region.to, "", None);
                }
                for moment in &plot.moments {
                    rows.push(&moment.label, moment.x, "", None);
                }
                for level in &plot.levels {
                    rows.push(&level.label, "", level.y, None);
                }
                for (index, series) in plot.series.iter().enumerate() {
                    // Series that share a name are numbered.
                    let before = &plot.series[..index];
                    let before = before.iter().filter(|s| s.label == series.label);
                    let name = match before.count() {
                        0 => series.label.clone(),
                        _ if series.label.is_empty() => String::new(),
                        count => format!("{} {}", series.label, count + 1),
                    };
                    for value in &series.values {
                        rows.push(&name, value.x, value.y, value.interval);
                    }
                }
            }
            Panel::Matrix(matrix) => {
                let name = |names: &[String], at| names.get(at).cloned().unwrap_or_default();
                for (row, column, value) in cells(&matrix.values, matrix.columns.len()) {
                    let names = (name(&matrix.rows, row), name(&matrix.columns, column));
                    rows.cell("", names.0, names.1, value);
                }
            }
            Panel::Heatmap(map) => {
                for (row, column, value) in cells(&map.values, map.columns) {
                    rows.cell("", row + 1, column + 1, value);
                }
            }
            Panel::Grid(grid) => {
                for (row, name) in grid.rows.iter().enumerate() {
                    for (column, other) in grid.columns.iter().enumerate() {
                        if let Some(value) = grid.value(row, column) {
                            rows.cell("", name, other, value);
                        }
                    }
                }
            }
            Panel::Arcs(arcs) => {
                let count = arcs.symbols.len();
                rows.symbols(&arcs.symbols);
                for (from, to, weight) in cells(&arcs.above, count) {
                    if to <= from && from >= arcs.above_from {
                        rows.cell(&arcs.above_label, from + 1, to + 1, weight);
                    }
                }
                for (index, &weight) in arcs.below.iter().enumerate() {
                    rows.cell(&arcs.below_label, count, index + 1, weight);
                }
            }
            Panel::Chain(chain) => {
                for (from, to, chance) in cells(&chain.transitions, chain.states) {
                    rows.cell("transitions", from, to, chance);
                }
                rows.symbols(&chain.sequence);
            }
            Panel::Sentence(_) => {}
        }
    }
    rows.text
}
