//! A small line chart in text.

/// A curve over training steps, with named levels drawn across it.
pub struct Chart<'a> {
    /// Horizontal coordinates, increasing.
    pub x: &'a [f64],
    /// Vertical coordinates, one per horizontal one.
    pub y: &'a [f64],
    /// Horizontal lines, each with its name and height.
    pub levels: &'a [(String, f64)],
}

const WIDTH: usize = 64;
const HEIGHT: usize = 14;

impl Chart<'_> {
    /// The chart as lines of text: `*` is the curve, `-` a level, with its name on the right.
    pub fn draw(&self) -> String {
        let finite = |value: &&f64| value.is_finite();
        let heights = self.levels.iter().map(|(_, height)| height);
        let top = self
            .y
            .iter()
            .chain(heights)
            .filter(finite)
            .fold(0.0_f64, |a, &b| a.max(b));
        let (Some(&first), Some(&last)) = (self.x.first(), self.x.last()) else {
            return String::new();
        };
        if top <= 0.0 {
            return String::new();
        }
        let row_of = |value: f64| {
            let fraction = (value / top).clamp(0.0, 1.0);
            ((1.0 - fraction) * (HEIGHT - 1) as f64).round() as usize
        };
        let mut cells = vec![[' '; WIDTH]; HEIGHT];
        let mut labels = vec![String::new(); HEIGHT];
        for (name, height) in self.levels {
            let row = row_of(*height);
            cells[row].fill('-');
            let separator = if labels[row].is_empty() { " " } else { ", " };
            labels[row] += &format!("{separator}{name} {height:.3}");
        }
        let span = (last - first).max(f64::MIN_POSITIVE);
        for (x, &y) in self.x.iter().zip(self.y).filter(|(_, y)| y.is_finite()) {
            let column = ((x - first) / span * (WIDTH - 1) as f64).round() as usize;
            cells[row_of(y)][column] = '*';
        }
        let mut text = String::new();
        for (row, (line, label)) in cells.iter().zip(&labels).enumerate() {
            let height = top * (1.0 - row as f64 / (HEIGHT - 1) as f64);
            let line: String = line.iter().collect();
            text += format!("{height:>7.3} |{line}{label}").trim_end();
            text.push('\n');
        }
        text += &format!("{:>7} +{}\n", "", "-".repeat(WIDTH));
        let last = format!("{last}");
        text += &format!(
            "{:>9}{first:<width$}{last}\n",
            "",
            width = WIDTH - last.len()
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_curve_falls_and_levels_are_named() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| 1.0 - x / 49.0).collect();
        let levels = [("half".to_owned(), 0.5)];
        let chart = Chart {
            x: &x,
            y: &y,
            levels: &levels,
        };
        let text = chart.draw();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("|*"));
        assert!(lines[HEIGHT - 1].ends_with('*'));
        assert!(text.contains("half 0.500"));
    }

    #[test]
    fn nothing_to_draw_is_no_text() {
        let chart = Chart {
            x: &[],
            y: &[],
            levels: &[],
        };
        assert_eq!(chart.draw(), "");
    }
}
