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

pub(crate) fn csv(figure: &Figure) -> String {
    let mut rows = Rows {
        text: String::from("panel,title,series,x,y,low,high\n"),
        panel: String::new(),
    };
    for (number, panel) in (1..).zip(&figure.panels) {
        rows.panel = format!("{number},{}", quoted(panel.title()));
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
                let count = matrix.columns.len().max(1);
                for (index, &value) in matrix.values.iter().enumerate() {
                    let name = |names: &[String], at: usize| names.get(at).cloned();
                    let row = name(&matrix.rows, index / count).unwrap_or_default();
                    let column = name(&matrix.columns, index % count).unwrap_or_default();
                    rows.cell("", row, column, value);
                }
            }
            Panel::Heatmap(map) => {
                let count = map.columns.max(1);
                for (index, &value) in map.values.iter().enumerate() {
                    rows.cell("", index / count + 1, index % count + 1, value);
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
                let count = arcs.symbols.len().max(1);
                rows.symbols(&arcs.symbols);
                for (index, &weight) in arcs.above.iter().enumerate() {
                    if index % count <= index / count && index / count >= arcs.above_from {
                        let (from, to) = (index / count + 1, index % count + 1);
                        rows.cell(&arcs.above_label, from, to, weight);
                    }
                }
                for (index, &weight) in arcs.below.iter().enumerate() {
                    rows.cell(&arcs.below_label, count, index + 1, weight);
                }
            }
            Panel::Chain(chain) => {
                let count = chain.states.max(1);
                for (index, &chance) in chain.transitions.iter().enumerate() {
                    rows.cell("transitions", index / count, index % count, chance);
                }
                rows.symbols(&chain.sequence);
            }
            Panel::Sentence(_) => {}
        }
    }
    rows.text
}
