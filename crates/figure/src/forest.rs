//! Claims in rows: an effect with its interval beside a reference, and a verdict.

use crate::axis::{Axis, LINE, Placed};
use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::legend::SIZE;
use crate::svg::{Anchor, Drawing, Style, circle, num};
use crate::text;

/// One row of a [`Forest`].
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What is claimed.
    pub name: String,
    /// The effect found.
    pub estimate: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// What follows, in a word, at the right.
    pub verdict: String,
    /// The colour of point, interval and verdict.
    pub colour: Colour,
}

/// Rows of claims over one axis; each row in units that make them comparable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    /// What it shows, above it.
    pub title: String,
    /// The effect.
    pub x: Axis,
    /// The effect that is no effect: an upright line.
    pub reference: f64,
    /// Its name, above the line; may be empty.
    pub reference_label: String,
    /// From the top.
    pub claims: Vec<Claim>,
}

/// Names have this much of the width; below the second width they stand above their intervals.
const NAMES: f64 = 0.4;
const NARROW: f64 = 480.0;
/// Air in a row, around its lines.
const AIR: f64 = 9.0;
const GAP: f64 = 12.0;

/// Where columns are.
struct Columns {
    names: f64,
    frame: (f64, f64),
    above: bool,
}

impl Forest {
    fn columns(&self, left: f64, width: f64) -> Columns {
        let widest = |words: &dyn Fn(&Claim) -> &str| {
            let widths = self
                .claims
                .iter()
                .map(|c| text::width(words(c), SIZE, true));
            widths.fold(0.0, f64::max)
        };
        let right = left + width - widest(&|c| &c.verdict).min(0.35 * width) - GAP;
        let above = width < NARROW;
        let names = match above {
            true => width,
            false => widest(&|c| &c.name).min(NAMES * width),
        };
        let start = if above {
            left + 6.0
        } else {
            left + names + GAP
        };
        Columns {
            names,
            frame: (start, right.max(start + 40.0)),
            above,
        }
    }

    fn placed(&self, pixels: (f64, f64)) -> Placed<'_> {
        let ends = self.claims.iter().flat_map(|c| [c.low, c.estimate, c.high]);
        let all = ends.chain([self.reference]);
        let range = self.x.range.unwrap_or_else(|| self.x.scale.range_of(all));
        Placed {
            axis: &self.x,
            range,
            pixels,
        }
    }

    fn draw_claim(&self, claim: &Claim, axis: &Placed, middle: f64, out: &mut Drawing) {
        let (left, right) = axis.pixels;
        let inside = |value: f64| axis.at(value).map(|x| x.clamp(left, right));
        if let (Some(low), Some(high)) = (inside(claim.low), inside(claim.high)) {
            let bar = format!("M{} {y}H{}", num(low), num(high), y = num(middle));
            out.stroke(&bar, claim.colour, 2.0, "");
            // Ends, where they are not cut off by the frame.
            for (value, x) in [(claim.low, low), (claim.high, high)] {
                if axis.at(value) == Some(x) {
                    let end = format!("M{} {}v8", num(x), num(middle - 4.0));
                    out.stroke(&end, claim.colour, 1.5, "");
                }
            }
        }
        if let Some(x) = axis
            .at(claim.estimate)
            .filter(|x| (left..=right).contains(x))
        {
            out.fill(&circle(x, middle, 4.0), claim.colour, 1.0);
        }
    }
}

impl Part for Forest {
    fn title(&self) -> &str {
        &self.title
    }

    fn draw_lead(&self, _: Place, _: &mut Drawing) -> f64 {
        if self.reference_label.is_empty() {
            0.0
        } else {
            LINE
        }
    }

    fn height(&self, _: f64) -> Option<f64> {
        None
    }

    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        let Place { left, top, width } = place;
        let columns = self.columns(left, width);
        let axis = self.placed(columns.frame);
        let style = |colour| Style::new(SIZE, colour, Anchor::Start);
        let mut y = top;
        let mut rows = Vec::new();
        for claim in &self.claims {
            let names = text::wrap(&claim.name, SIZE, false, columns.names);
            let room = left + width - columns.frame.1 - GAP;
            let verdict = text::wrap(&claim.verdict, SIZE, true, room.max(40.0));
            let (first, lines) = match columns.above {
                true => (names.len(), names.len() + verdict.len()),
                false => (0, names.len().max(verdict.len())),
            };
            let block = |count: usize, at: f64| at - LINE * count as f64 / 2.0 + 0.86 * SIZE + 1.5;
            let height = LINE * lines as f64 + AIR;
            let from = y + AIR / 2.0 + LINE * first as f64;
            let middle = (from + y + height - AIR / 2.0) / 2.0;
            let names_middle = match columns.above {
                true => (y + AIR / 2.0 + from) / 2.0,
                false => middle,
            };
            for (index, line) in names.iter().enumerate() {
                let baseline = block(names.len(), names_middle) + LINE * index as f64;
                out.text(left, baseline, line, style(Colour::Ink));
            }
            for (index, line) in verdict.iter().enumerate() {
                let baseline = block(verdict.len(), middle) + LINE * index as f64;
                let style = style(claim.colour).bold();
                out.text(columns.frame.1 + GAP, baseline, line, style);
            }
            rows.push((claim, middle));
            y += height;
            let under = format!("M{} {}h{}", num(left), num(y), num(width));
            out.stroke(&under, Colour::Faint, 1.0, "");
        }
        if let Some(x) = axis.at(self.reference) {
            let line = format!("M{} {}V{}", num(x), num(top), num(y));
            out.stroke(&line, Colour::Muted, 1.2, " stroke-dasharray=\"4 3\"");
            let half = text::width(&self.reference_label, SIZE, false) / 2.0;
            let at = x.min(left + width - half).max(left + half);
            let style = Style::new(SIZE, Colour::Muted, Anchor::Middle);
            out.text(at, top - 6.0, &self.reference_label, style);
        }
        for (claim, middle) in rows {
            self.draw_claim(claim, &axis, middle, out);
        }
        y + axis.draw_below(y, (left, left + width), out) - top
    }
}
