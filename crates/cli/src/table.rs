//! Tables in text.

/// Rows of cells. Columns are as wide as their widest cell; the first is aligned left, all others right.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<C: Into<String>>(headings: impl IntoIterator<Item = C>) -> Self {
        let mut table = Self::default();
        table.row(headings);
        table
    }

    /// Adds a row, which may lack its last cells.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table in lines that start with `indent`.
    pub fn text(&self, indent: &str) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |cell: &String| cell.chars().count();
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(wide)
                .max()
        };
        let widths: Vec<usize> = (0..columns).filter_map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                line += &match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("  {cell:>width$}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["", "a ‖ b", "c"]);
        table.row(["name", "1"]);
        table.row(["x", "1.25", "-"]);
        assert_eq!(
            table.text(" "),
            "       a ‖ b  c\n name      1\n x      1.25  -\n"
        );
    }
}
