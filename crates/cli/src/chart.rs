//! A small line chart in text.

/// Curves over training steps, with named levels drawn across.
pub struct Chart<'a> {
    pub lines: &'a [Line],
    /// Horizontal lines, each with its name and height.
    pub levels: &'a [(String, f64)],
}

pub struct Line {
    /// The letter that draws it.
    pub mark: char,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: usize = 64;
const HEIGHT: usize = 14;

impl Chart<'_> {
    /// The chart as lines of text: marks are curves, `-` a level, with its name on the right.
    pub fn draw(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let seen = || points().filter(|(x, y)| x.is_finite() && y.is_finite());
        let heights = self.levels.iter().map(|(_, height)| *height);
        let heights = seen()
            .map(|(_, y)| *y)
            .chain(heights.filter(|h| h.is_finite()));
        let (bottom, top) = heights.fold((0.0, 0.0), |(low, high): (f64, f64), y| {
            (low.min(y), high.max(y))
        });
        // Rounding may leave a divergence slightly below zero.
        let bottom = if bottom < -0.01 * top { bottom } else { 0.0 };
        let first = seen().map(|(x, _)| *x).reduce(f64::min);
        let last = seen().map(|(x, _)| *x).reduce(f64::max);
        let (Some(first), Some(last)) = (first, last) else {
            return String::new();
        };
        if top <= bottom {
            return String::new();
        }
        let row_of = |value: f64| {
            let fraction = ((value - bottom) / (top - bottom)).clamp(0.0, 1.0);
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
        for line in self.lines {
            for &(x, y) in line
                .points
                .iter()
                .filter(|(x, y)| x.is_finite() && y.is_finite())
            {
                let column = ((x - first) / span * (WIDTH - 1) as f64).round() as usize;
                cells[row_of(y)][column] = line.mark;
            }
        }
        let mut text = String::new();
        for (row, (line, label)) in cells.iter().zip(&labels).enumerate() {
            let height = top - (top - bottom) * row as f64 / (HEIGHT - 1) as f64;
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
        let fall = |x| (f64::from(x), 1.0 - f64::from(x) / 49.0);
        let lines = [Line {
            mark: '*',
            points: (0..50).map(fall).collect(),
        }];
        let levels = &[("half".to_owned(), 0.5)];
        let text = Chart {
            lines: &lines,
            levels,
        }
        .draw();
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].contains("|*") && rows[HEIGHT - 1].ends_with('*'));
        assert!(text.contains("half 0.500"));
    }

    #[test]
    fn curves_share_their_axes_and_may_be_negative() {
        let line = |mark, y| Line {
            mark,
            points: vec![(0.0, y), (10.0, y), (20.0, f64::NAN)],
        };
        let draw = |lines: &[Line]| Chart { lines, levels: &[] }.draw();
        let text = draw(&[line('a', -1.0), line('b', 1.0)]);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].starts_with("  1.000 |b") && rows[0].ends_with('b'));
        assert!(rows[HEIGHT - 1].starts_with(" -1.000 |a"), "{text}");
        assert!(rows[HEIGHT + 1].ends_with("10"), "{text}");
        assert_eq!(draw(&[]), "");
    }
}
