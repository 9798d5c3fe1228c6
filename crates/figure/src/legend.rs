//! The names of series: where lines end, pushed apart, or in rows above a narrow plot.

use crate::marks::{Mark, Series};
use crate::svg::{Anchor, Drawing, Style};
use crate::text;

/// Letters of labels.
pub(crate) const SIZE: f64 = 12.0;
/// From one line of labels to the next.
pub(crate) const LINE: f64 = 17.0;

const SWATCH: f64 = 18.0;
const GAP: f64 = 6.0;

fn named(series: &[Series]) -> impl Iterator<Item = &Series> {
    series.iter().filter(|series| !series.label.is_empty())
}

/// Width of the column of names to the right of a plot; zero if there are none.
pub(crate) fn column_width(series: &[Series]) -> f64 {
    let widths = named(series).map(|series| text::width(&series.label, SIZE, false));
    widths.fold(0.0, f64::max)
}

/// Rows of swatches and names that fit into `room`: how many, after drawing them from `top` on.
pub(crate) fn draw_rows(
    series: &[Series],
    left: f64,
    top: f64,
    room: f64,
    out: &mut Drawing,
) -> usize {
    let (mut x, mut row) = (left, 0);
    for series in named(series) {
        let label = text::width(&series.label, SIZE, false);
        let needed = SWATCH + GAP + label;
        if x > left && x + needed > left + room {
            x = left;
            row += 1;
        }
        let middle = top + LINE * row as f64 + LINE / 2.0;
        swatch(series, x, middle, out);
        let style = Style::new(SIZE, series.colour, Anchor::Start);
        out.text(x + SWATCH + GAP, middle + 0.35 * SIZE, &series.label, style);
        x += needed + 16.0;
    }
    if named(series).next().is_some() {
        row + 1
    } else {
        0
    }
}

fn swatch(series: &Series, x: f64, y: f64, out: &mut Drawing) {
    let line = format!("M{x:.1} {y:.1}h{SWATCH}");
    match series.mark {
        Mark::Line | Mark::Steps => out.stroke(&line, series.colour, 2.0, ""),
        Mark::Dashed => out.stroke(&line, series.colour, 1.5, " stroke-dasharray=\"5 4\""),
        Mark::Points => {
            let shape = format!(
                "circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3\"",
                x + SWATCH / 2.0
            );
            out.fill(&shape, series.colour, 1.0);
        }
        Mark::Band | Mark::Above | Mark::Bars => {
            let shape = format!(
                "rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{SWATCH}\" height=\"10\"",
                y - 5.0
            );
            let opacity = if series.mark == Mark::Bars {
                0.85
            } else {
                0.25
            };
            out.fill(&shape, series.colour, opacity);
        }
    }
}

/// Names at the heights where series end, in a column that starts at `x`.
///
/// `ends` are those heights, one for each series with a name.
pub(crate) fn draw_column(
    series: &[Series],
    ends: &[f64],
    x: f64,
    (top, bottom): (f64, f64),
    out: &mut Drawing,
) {
    let heights = spread(ends, top, bottom);
    for (series, (height, end)) in named(series).zip(heights.into_iter().zip(ends)) {
        if (height - end).abs() > 3.0 {
            let path = format!("M{:.1} {end:.1}L{:.1} {height:.1}", x - 11.0, x - 3.0);
            out.stroke(&path, series.colour, 1.0, "");
        }
        let style = Style::new(SIZE, series.colour, Anchor::Start);
        out.text(x, height + 0.35 * SIZE, &series.label, style);
    }
}

/// Heights at least a line apart, between `top` and `bottom`, as near to the wanted ones as pushing downwards and then upwards gets.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut heights: Vec<f64> = order
        .iter()
        .map(|&i| wanted[i].clamp(top, bottom))
        .collect();
    for i in 1..heights.len() {
        heights[i] = heights[i].max(heights[i - 1] + LINE);
    }
    let mut limit = bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(limit);
        limit = *height - LINE;
    }
    let mut out = vec![0.0; wanted.len()];
    for (&index, height) in order.iter().zip(heights) {
        out[index] = height;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_end_together_are_pushed_apart() {
        let heights = spread(&[100.0, 101.0, 20.0, 99.0], 10.0, 110.0);
        let mut sorted = heights.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(
            sorted
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= LINE - 1e-9)
        );
        assert!(sorted[3] <= 110.0);
        // Their order is that of the lines.
        assert!(heights[3] < heights[0] && heights[0] < heights[1]);
        assert_eq!(heights[2], 20.0);
    }
}
