//! The names of series: next to where lines end, pushed apart, or in rows above a narrow plot.

use crate::colour::{Colour, RAMP_END};
use crate::marks::Mark;
use crate::svg::{Anchor, Drawing, LINE, Style, circle, num, rect};
use crate::text;

/// Font size of names.
pub(crate) const SIZE: f64 = 12.0;

const SWATCH: f64 = 18.0;
const GAP: f64 = 6.0;

/// An entry of the legend.
pub(crate) struct Key<'a> {
    pub label: &'a str,
    pub colour: Colour,
    pub mark: Mark,
}

/// Width of the column of names to the right of a plot; zero if there are none.
pub(crate) fn column_width(keys: &[Key]) -> f64 {
    let widths = keys.iter().map(|key| text::width(key.label, SIZE, false));
    widths.fold(0.0, f64::max)
}

/// Draws rows of swatches and names within `room` pixels, starting at `top`; returns their height.
pub(crate) fn draw_rows(keys: &[Key], left: f64, top: f64, room: f64, out: &mut Drawing) -> f64 {
    let (mut x, mut row) = (left, 0);
    let indent = SWATCH + GAP;
    for key in keys {
        let lines = text::wrap(key.label, SIZE, false, room - indent);
        let widths = lines.iter().map(|line| text::width(line, SIZE, false));
        let needed = indent + widths.fold(0.0, f64::max);
        if x > left && x + needed > left + room {
            x = left;
            row += 1;
        }
        let middle = |row: i32| top + LINE * f64::from(row) + LINE / 2.0;
        swatch(key, x, middle(row), out);
        let style = Style::new(SIZE, key.colour, Anchor::Start);
        for (index, line) in (0..).zip(&lines) {
            row += i32::from(index > 0);
            out.text(x + indent, middle(row) + 0.35 * SIZE, line, style);
        }
        x += needed + 16.0;
    }
    match keys.is_empty() {
        true => 0.0,
        false => LINE * f64::from(row + 1) + 6.0,
    }
}

fn swatch(key: &Key, x: f64, y: f64, out: &mut Drawing) {
    let line = format!("M{} {}h{SWATCH}", num(x), num(y));
    match key.mark {
        Mark::Line | Mark::Steps => out.stroke(&line, key.colour, 2.0, ""),
        Mark::Thin | Mark::Faint => out.stroke(&line, key.colour, 1.0, ""),
        Mark::Dashed => out.stroke(&line, key.colour, 1.5, " stroke-dasharray=\"5 4\""),
        Mark::Points => out.fill(&circle(x + SWATCH / 2.0, y, 3.0), key.colour, 1.0),
        Mark::Bars => out.fill(&rect(x, y - 5.0, SWATCH, 10.0), key.colour, 0.7),
        Mark::Band | Mark::Above => out.fill(&rect(x, y - 5.0, SWATCH, 10.0), key.colour, 0.25),
    }
}

/// Height of a colour bar with the names of its ends.
pub(crate) const BAR: f64 = LINE + 6.0;

/// Draws a bar of colours (with opacities) between the names of its ends, in place of one name per colour.
pub(crate) fn draw_bar(
    ends: [&str; 2],
    colours: &[(Colour, f64)],
    left: f64,
    top: f64,
    room: f64,
    out: &mut Drawing,
) {
    let style = Style::new(SIZE, Colour::Muted, Anchor::Start);
    let [first, last] = ends.map(|end| text::width(end, SIZE, false));
    let width = (room - first - last - 2.0 * GAP).clamp(20.0, 120.0);
    let step = width / colours.len().max(1) as f64;
    let start = left + first + if first > 0.0 { GAP } else { 0.0 };
    let baseline = top + LINE / 2.0 + 0.35 * SIZE;
    out.text(left, baseline, ends[0], style);
    out.text(start + width + GAP, baseline, ends[1], style);
    out.body += "<g shape-rendering=\"crispEdges\">";
    for (index, (colour, opacity)) in colours.iter().enumerate() {
        let x = start + index as f64 * step;
        out.fill(&rect(x, top + 3.5, step, 10.0), *colour, *opacity);
    }
    out.body += "</g>";
}

/// The colours of the ramp.
pub(crate) fn ramp() -> Vec<(Colour, f64)> {
    (0..=RAMP_END).map(|at| (Colour::Ramp(at), 1.0)).collect()
}

/// Draws names in a column that starts at `x`, at the heights where series end.
///
/// `ends` are those heights, one per name.
pub(crate) fn draw_column(
    keys: &[Key],
    ends: &[f64],
    x: f64,
    (top, bottom): (f64, f64),
    out: &mut Drawing,
) {
    let heights = spread(ends, top, bottom);
    for (key, (height, end)) in keys.iter().zip(heights.into_iter().zip(ends)) {
        if (height - end).abs() > 3.0 {
            let (from, to) = (num(x - 11.0), num(x - 3.0));
            let path = format!("M{from} {}L{to} {}", num(*end), num(height));
            out.stroke(&path, key.colour, 1.0, "");
        }
        let style = Style::new(SIZE, key.colour, Anchor::Start);
        out.text(x, height + 0.35 * SIZE, key.label, style);
    }
}

/// Heights at least one line apart, between `top` and `bottom` and close to the wanted ones: names are pushed
/// down where they overlap, then up where they leave the frame.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let clamped = order.iter().map(|&i| wanted[i].clamp(top, bottom));
    let mut heights: Vec<f64> = clamped.collect();
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
        let mut pairs = sorted.windows(2);
        assert!(pairs.all(|pair| pair[1] - pair[0] >= LINE - 1e-9));
        assert!(sorted[3] <= 110.0);
        // They are in the order of the lines.
        assert!(heights[3] < heights[0] && heights[0] < heights[1]);
        assert_eq!(heights[2], 20.0);
    }
}
