//! Symbols as small coloured cells, and attention as arcs over a row of them.

use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::legend::SIZE;
use crate::svg::{Anchor, Drawing, Style, num, rect};

/// The colour of a symbol.
pub(crate) fn symbol_colour(symbol: usize) -> Colour {
    Colour::PALETTE[symbol % Colour::PALETTE.len()]
}

/// Draws cells with their symbols inside, `across` per row; returns their height.
pub(crate) fn draw_symbols(
    symbols: &[usize],
    (left, top): (f64, f64),
    cell: f64,
    across: usize,
    out: &mut Drawing,
) -> f64 {
    let size = (0.62 * cell).min(13.0);
    let seam = if cell > 16.0 { 2.0 } else { 1.0 };
    for (index, &symbol) in symbols.iter().enumerate() {
        let x = left + (index % across) as f64 * cell;
        let y = top + (index / across) as f64 * (cell + 4.0);
        let shape = rect(x + seam / 2.0, y, cell - seam, cell) + " rx=\"3\"";
        out.fill(&shape, symbol_colour(symbol), 1.0);
        let style = Style::new(size, Colour::Paper, Anchor::Middle).bold();
        let baseline = y + cell / 2.0 + 0.36 * size;
        out.text(x + cell / 2.0, baseline, &symbol.to_string(), style);
    }
    symbols.len().div_ceil(across.max(1)) as f64 * (cell + 4.0)
}

/// Attention as arcs: the first layer's above a row of symbols, and the second layer's from the last symbol
/// below it. An arc has the colour of the symbol that is attended to.
///
/// Arcs are `<path class="arc …">` elements in this order: the first layer's by row, from `above_from` on, and
/// then by column, up to and including the diagonal; then the second layer's by column. With `every_pair` none is missing, so a
/// script can set the `stroke-opacity` and `stroke-width` of each according to [`arc_stroke`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arcs {
    /// What it shows, above it.
    pub title: String,
    /// The symbols; t of them.
    pub symbols: Vec<usize>,
    /// The name of the arcs above, such as `layer 1`.
    pub above_label: String,
    /// The attention of each position to each position: [t, t], row by row; entries right of the diagonal are
    /// ignored.
    pub above: Vec<f64>,
    /// The first position whose arcs above are drawn. A few positions show more than a tangle of all.
    pub above_from: usize,
    /// The name of the arcs below.
    pub below_label: String,
    /// The attention of the last position to each position, `[t]`; may be empty.
    pub below: Vec<f64>,
    /// Whether to include arcs with no visible weight.
    pub every_pair: bool,
}

/// Opacity and width of an arc with a weight from 0 to 1: (4 · weight)^0.8, capped at 1, and
/// 0.5 + 3 · √weight.
pub fn arc_stroke(weight: f64) -> (f64, f64) {
    let weight = if weight.is_nan() {
        0.0
    } else {
        weight.clamp(0.0, 1.0)
    };
    ((4.0 * weight).min(1.0).powf(0.8), 0.5 + 3.0 * weight.sqrt())
}

/// An arc with less weight is invisible.
const SEEN: f64 = 0.005;
/// The largest side of a cell, and the largest height of arcs above and below relative to the width.
const CELL: f64 = 40.0;
const RISE: [f64; 2] = [0.22, 0.17];

impl Arcs {
    fn cell(&self, width: f64) -> f64 {
        (width / self.symbols.len().max(1) as f64).min(CELL)
    }

    /// Draws arcs between the cells of a row, upwards or downwards.
    fn draw_arc(&self, from: usize, to: usize, weight: f64, row: &Row, out: &mut Drawing) {
        if !(self.every_pair || weight >= SEEN) {
            return;
        }
        let at = |place: usize| row.left + (place as f64 + 0.5) * row.cell;
        let (start, end) = (at(from), at(to));
        let far = (from - to) as f64 / (self.symbols.len() - 1).max(1) as f64;
        let (sign, sweep) = if row.up { (-1.0, 0) } else { (1.0, 1) };
        let path = match from == to {
            // A position that attends to itself: a small loop.
            true => {
                let (near, high) = (0.3 * row.cell, sign * 0.9 * row.cell);
                format!(
                    "M{} {y}c{} {} {} {} {} 0",
                    num(start + near / 2.0),
                    num(near),
                    num(high),
                    num(-2.0 * near),
                    num(high),
                    num(-near),
                    y = num(row.y)
                )
            }
            false => format!(
                "M{} {y}A{} {} 0 0 {sweep} {} {y}",
                num(start),
                num((start - end) / 2.0),
                num(row.rise * far.powf(0.75)),
                num(end),
                y = num(row.y)
            ),
        };
        let (opacity, width) = arc_stroke(weight);
        let colour = symbol_colour(self.symbols[to]);
        out.body += &format!(
            "<path class=\"arc s-{}\" d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
             stroke-opacity=\"{}\"/>",
            colour.name(),
            colour.light(),
            (width * 100.0).round() / 100.0,
            (opacity * 1000.0).round() / 1000.0
        );
    }
}

/// The position of a row of cells, and the height of arcs.
struct Row {
    left: f64,
    cell: f64,
    y: f64,
    rise: f64,
    up: bool,
}

impl Part for Arcs {
    fn draw_lead(&self, place: Place, out: &mut Drawing) -> f64 {
        let style = Style::new(SIZE, Colour::Muted, Anchor::Start);
        out.paragraph(
            &self.above_label,
            (place.left, place.top),
            place.width,
            style,
        )
    }

    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        let (count, cell) = (self.symbols.len(), self.cell(place.width));
        let [rise, fall] = RISE.map(|share| share * cell * count as f64);
        let mut row = Row {
            left: place.left,
            cell,
            y: place.top + rise + 2.0,
            rise,
            up: true,
        };
        for from in self.above_from..count {
            for to in 0..=from {
                let weight = self.above.get(from * count + to).copied();
                self.draw_arc(from, to, weight.unwrap_or(0.0), &row, out);
            }
        }
        let cells_top = row.y + 3.0;
        draw_symbols(
            &self.symbols,
            (place.left, cells_top),
            cell,
            count.max(1),
            out,
        );
        let mut bottom = cells_top + cell + 3.0;
        if !self.below.is_empty() {
            row = Row {
                y: bottom,
                up: false,
                rise: fall,
                ..row
            };
            for (to, weight) in self.below.iter().enumerate().take(count) {
                self.draw_arc(count - 1, to, *weight, &row, out);
            }
            bottom += fall;
        }
        let style = Style::new(SIZE, Colour::Muted, Anchor::Start);
        let corner = (place.left, bottom);
        bottom += out.paragraph(&self.below_label, corner, place.width, style);
        bottom + 4.0 - place.top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_arc_in_order() {
        let mut above = vec![0.0; 9];
        // Position 2 attends to position 1: after (0,0), (1,0), (1,1), (2,0).
        above[2 * 3 + 1] = 1.0;
        let arcs = Arcs {
            symbols: vec![0, 1, 0],
            above,
            below: vec![0.0, 0.1, 0.2],
            every_pair: true,
            ..Arcs::default()
        };
        let opacities = |arcs: &Arcs| -> Vec<f64> {
            let (left, top, width) = (0.0, 0.0, 300.0);
            let mut out = Drawing::default();
            arcs.draw_body(Place { left, top, width }, 0.0, &mut out);
            let arcs = out.body.split("class=\"arc").skip(1);
            let opacity = |arc: &str| {
                let rest = arc.split("stroke-opacity=\"").nth(1).unwrap();
                rest.split('"').next().unwrap().parse().unwrap()
            };
            arcs.map(opacity).collect()
        };
        let weights = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.1, 0.2];
        let found = opacities(&arcs);
        assert_eq!(found.len(), weights.len());
        for (opacity, weight) in found.iter().zip(weights) {
            assert!((opacity - arc_stroke(weight).0).abs() < 1e-3);
        }
        let last_row = Arcs {
            above_from: 2,
            ..arcs.clone()
        };
        assert_eq!(opacities(&last_row).len(), 3 + 3);
        let seen = Arcs {
            every_pair: false,
            ..arcs
        };
        assert_eq!(opacities(&seen).len(), 3);
    }
}
