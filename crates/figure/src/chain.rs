//! A small Markov chain: its states and arrows, its transition table, and a sequence drawn from it.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::legend::SIZE;
use crate::matrix::Matrix;
use crate::path::Point;
use crate::scale::short;
use crate::svg::{Anchor, Drawing, Style, circle, num, rect};
use crate::symbols::{draw_symbols, symbol_colour};

/// A chain of two or three states (more are possible, but crowded).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// What it shows, above it.
    pub title: String,
    /// [k, k], row by row: the probability that the column's symbol follows the row's.
    pub transitions: Vec<f64>,
    /// The number of states, k.
    pub states: usize,
    /// Symbols drawn from it, shown below; may be empty.
    pub sequence: Vec<usize>,
    /// The caption above the sequence.
    pub sequence_label: String,
}

/// The radius of a state, and its distance from the centre with two states and with more.
const STATE: f64 = 22.0;
const RADIUS: [f64; 2] = [78.0, 92.0];
/// How far arrows bend. In a triangle they must leave space inside it for labels.
const BEND: [f64; 2] = [44.0, 32.0];
/// Widths of the diagram and of the table, and the gap between them.
const PICTURE: f64 = 330.0;
const TABLE: f64 = 190.0;
const GAP: f64 = 24.0;
const CELL: f64 = 22.0;

/// The point at a distance and direction from another.
fn away((x, y): Point, angle: f64, distance: f64) -> Point {
    (x + distance * angle.cos(), y + distance * angle.sin())
}

impl Chain {
    /// The direction of a state from the centre.
    fn angle(&self, state: usize) -> f64 {
        let first = if self.states == 2 { PI } else { -FRAC_PI_2 };
        first + TAU * state as f64 / self.states.max(1) as f64
    }

    /// The distance of states from the centre.
    fn radius(&self) -> f64 {
        RADIUS[usize::from(self.states > 2)]
    }

    fn draw_picture(&self, middle: Point, out: &mut Drawing) {
        let centres: Vec<Point> = (0..self.states)
            .map(|state| away(middle, self.angle(state), self.radius()))
            .collect();
        let mut labels = Vec::new();
        for from in 0..self.states {
            for to in 0..self.states {
                let chance = self.transitions.get(from * self.states + to);
                let Some(&chance) = chance.filter(|chance| **chance > 0.0) else {
                    continue;
                };
                let bend = BEND[usize::from(self.states > 2)];
                let width = 1.0 + 4.0 * chance.min(1.0);
                let at = match from == to {
                    true => draw_loop(centres[from], self.angle(from), width, from, out),
                    false => draw_arrow(centres[from], centres[to], bend, width, from, out),
                };
                labels.push((at, short((chance * 1000.0).round() / 1000.0)));
            }
        }
        for (state, &(x, y)) in centres.iter().enumerate() {
            out.fill(&circle(x, y, STATE), symbol_colour(state), 1.0);
            let style = Style::new(15.0, Colour::Paper, Anchor::Middle).bold();
            out.text(x, y + 5.4, &state.to_string(), style);
        }
        for ((x, y), label) in labels {
            let style = Style::new(SIZE, Colour::Ink, Anchor::Middle);
            let baseline = y + 0.36 * SIZE;
            // A background behind it: an arrow passing just above a decimal point would make it look like a
            // colon.
            let [left, top, right, bottom] = style.edges(x, baseline, &label);
            let patch = rect(left - 2.0, top, right - left + 4.0, bottom - top);
            out.fill(&patch, Colour::Paper, 1.0);
            out.text(x, baseline, &label, style);
        }
    }

    /// How far the diagram extends above and below its centre.
    fn extent(&self) -> (f64, f64) {
        match self.states {
            2 => (44.0, 44.0),
            3 => (self.radius() + LOOP + 18.0, self.radius() / 2.0 + 60.0),
            _ => (self.radius() + LOOP + 18.0, self.radius() + LOOP + 18.0),
        }
    }

    fn table(&self) -> Matrix {
        let names: Vec<String> = (0..self.states).map(|state| state.to_string()).collect();
        Matrix {
            row_label: "symbol now".into(),
            column_label: "next symbol".into(),
            rows: names.clone(),
            columns: names,
            values: self.transitions.clone(),
            ..Matrix::default()
        }
    }

    /// Draws the table; returns its height.
    fn draw_table(&self, left: f64, top: f64, room: f64, out: &mut Drawing) -> f64 {
        let table = self.table();
        let side = 56.0 * self.states as f64 + 16.0;
        let place = |top: f64, width: f64| Place { left, top, width };
        let lead = table.draw_lead(place(top, room), out);
        lead + table.draw_cells(place(top + lead, side.min(TABLE)), out)
    }
}

/// How far a self-loop extends from the centre of its state.
const LOOP: f64 = 52.0;

/// Draws an arrow from a state to itself, pointing outwards; returns the position of its label.
fn draw_loop(centre: Point, angle: f64, width: f64, state: usize, out: &mut Drawing) -> Point {
    let start = away(centre, angle - 0.55, STATE);
    let tip = away(centre, angle + 0.55, STATE + 1.0);
    let controls = [
        away(centre, angle - 0.62, STATE + 48.0),
        away(centre, angle + 0.62, STATE + 48.0),
    ];
    let end = head(tip, controls[1], width, symbol_colour(state), out);
    let path = format!(
        "M{}C{} {} {}",
        at(start),
        at(controls[0]),
        at(controls[1]),
        at(end)
    );
    out.stroke(&path, symbol_colour(state), width, "");
    // Beyond the loop by half a label, which is wider than it is high.
    away(centre, angle, LOOP + 9.0 + 10.0 * angle.cos().abs())
}

/// Draws a curved arrow between two states; returns the position of its label.
fn draw_arrow(
    from: Point,
    to: Point,
    bend: f64,
    width: f64,
    state: usize,
    out: &mut Drawing,
) -> Point {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let far = dx.hypot(dy).max(1.0);
    // Always to the left of the direction of travel, so that the arrows there and back do not coincide.
    let control = (
        (from.0 + to.0) / 2.0 + bend * dy / far,
        (from.1 + to.1) / 2.0 - bend * dx / far,
    );
    let towards = |a: Point, b: Point| (b.1 - a.1).atan2(b.0 - a.0);
    let start = away(from, towards(from, control), STATE);
    let tip = away(to, towards(to, control), STATE + 1.0);
    let end = head(tip, control, width, symbol_colour(state), out);
    let path = format!("M{}Q{} {}", at(start), at(control), at(end));
    out.stroke(&path, symbol_colour(state), width, "");
    // The middle of the curve.
    let middle = |a: f64, b: f64, c: f64| (a + 2.0 * b + c) / 4.0;
    (
        middle(start.0, control.0, end.0),
        middle(start.1, control.1, end.1),
    )
}

/// Draws an arrowhead with its tip at `tip`, coming from `from`; returns where the shaft ends.
fn head(tip: Point, from: Point, width: f64, colour: Colour, out: &mut Drawing) -> Point {
    let back = (from.1 - tip.1).atan2(from.0 - tip.0);
    let size = 6.0 + 1.6 * width;
    let sides = [away(tip, back - 0.45, size), away(tip, back + 0.45, size)];
    let path = format!("path d=\"M{}L{} {}Z\"", at(tip), at(sides[0]), at(sides[1]));
    out.fill(&path, colour, 1.0);
    away(tip, back, 0.8 * size)
}

fn at((x, y): Point) -> String {
    format!("{} {}", num(x), num(y))
}

impl Part for Chain {
    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        let Place { left, top, width } = place;
        let (above, below) = self.extent();
        let beside = width >= PICTURE + GAP + TABLE;
        let picture = PICTURE.min(width);
        let mut y = top;
        if beside {
            let start = PICTURE + GAP;
            let table = self.draw_table(left + start, top + 8.0, width - start, out) + 8.0;
            let spare = (table - above - below).max(0.0) / 2.0;
            self.draw_picture((left + picture / 2.0, top + spare + above), out);
            y += f64::max(above + below, table);
        } else {
            self.draw_picture((left + picture / 2.0, top + above), out);
            y += above + below + 8.0;
            y += self.draw_table(left, y, width, out);
        }
        if !self.sequence.is_empty() {
            y += 16.0;
            let style = Style::new(SIZE, Colour::Muted, Anchor::Start);
            y += out.paragraph(&self.sequence_label, (left, y), width, style);
            let across = ((width / CELL) as usize).max(1);
            y += 4.0 + draw_symbols(&self.sequence, (left, y + 4.0), CELL, across, out);
        }
        y - top
    }
}
