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
    left: f64,
    /// Widths of names and of verdicts.
    names: f64,
    verdicts: f64,
    /// Ends of the frame.
    frame: (f64, f64),
    /// Whether names stand above their intervals.
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
        let verdicts = widest(&|c| &c.verdict).min(0.35 * width);
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
        let right = left + width - verdicts - GAP;
        Columns {
            left,
            names,
            verdicts,
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

    /// The words of a row from `top` on; returns where its interval has room, from and to.
    fn draw_words(claim: &Claim, columns: &Columns, top: f64, out: &mut Drawing) -> (f64, f64) {
        let names = text::wrap(&claim.name, SIZE, false, columns.names);
        let verdict = text::wrap(&claim.verdict, SIZE, true, columns.verdicts);
        let high = |lines: &[String]| LINE * lines.len() as f64 + AIR;
        let (name_end, end) = match columns.above {
            true => (
                top + high(&names),
                top + high(&names) + high(&verdict) - AIR,
            ),
            false => {
                let end = top + f64::max(high(&names), high(&verdict));
                (end, end)
            }
        };
        let from = if columns.above {
            name_end - AIR / 2.0
        } else {
            top
        };
        let mut block = |lines: &[String], x: f64, middle: f64, style: Style| {
            let first = middle - LINE * lines.len() as f64 / 2.0 + 12.0;
            for (index, line) in lines.iter().enumerate() {
                out.text(x, first + LINE * index as f64, line, style);
            }
        };
        let style = |colour| Style::new(SIZE, colour, Anchor::Start);
        let left = columns.left;
        block(&names, left, (top + name_end) / 2.0, style(Colour::Ink));
        let right = columns.frame.1 + GAP;
        block(
            &verdict,
            right,
            (from + end) / 2.0,
            style(claim.colour).bold(),
        );
        (from, end)
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
        let reference = axis.at(self.reference);
        let mut y = top;
        for claim in &self.claims {
            let (from, end) = Self::draw_words(claim, &columns, y, out);
            if let Some(x) = reference {
                let line = format!("M{} {}V{}", num(x), num(from), num(end));
                out.stroke(&line, Colour::Muted, 1.2, " stroke-dasharray=\"4 3\"");
            }
            self.draw_claim(claim, &axis, (from + end) / 2.0, out);
            y = end;
            let under = format!("M{} {}h{}", num(left), num(y), num(width));
            out.stroke(&under, Colour::Faint, 1.0, "");
        }
        if let Some(x) = reference {
            let half = text::width(&self.reference_label, SIZE, false) / 2.0;
            let at = x.min(left + width - half).max(left + half);
            let style = Style::new(SIZE, Colour::Muted, Anchor::Middle);
            out.text(at, top - 6.0, &self.reference_label, style);
        }
        y + axis.draw_below(y, (left, left + width), out) - top
    }
}
