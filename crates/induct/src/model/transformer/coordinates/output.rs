//! The output of the last layer's coordinates, and its backward.

use std::ops::Range;

use super::scratch::{LayerScratch, Scratch};
use super::{Coordinates, Tables};
use crate::lanes::Lane;
use crate::model::ops::linear;

impl Coordinates {
    /// Logits of some rows: logits_i = table₀ + [y, c¹ … c^H]_i · table₁…, with y and c of the last layer.
    pub(super) fn output(
        &self,
        tables: &Tables,
        rows: Range<usize>,
        work: &Scratch,
        logits: &mut [Lane],
    ) {
        let (outputs, m) = (self.outputs, self.layers[self.layers.len() - 1].m);
        let top = work.layers.last().expect("at least one layer");
        let logits = &mut logits[rows.start * outputs..rows.end * outputs];
        let (first, rest) = tables.data[self.output.clone()].split_at(outputs);
        linear::set_rows(first, logits);
        let sources = std::iter::once(&top.y).chain(top.heads.iter().map(|head| &head.c));
        for (source, table) in sources.zip(rest.chunks_exact(m * outputs)) {
            let source = &source[rows.start * m..rows.end * m];
            linear::add_forward(self.level, source, table, m, outputs, logits);
        }
    }

    /// Carries the gradient of some rows' logits back to y and c of the last layer: adds to dy, and sets dc.
    pub(super) fn output_backward(
        &self,
        tables: &Tables,
        rows: Range<usize>,
        work: &mut Scratch,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (level, outputs, m) = (
            self.level,
            self.outputs,
            self.layers[self.layers.len() - 1].m,
        );
        let LayerScratch { y, dy, heads } = work.layers.last_mut().expect("at least one layer");
        let rest = &tables.data[self.output.clone()][outputs..];
        let (d_first, d_rest) = grads[self.output.clone()].split_at_mut(outputs);
        linear::bias_backward(level, d_logits, d_first);
        let span = rows.start * m..rows.end * m;
        let parts = heads.iter_mut().map(|head| {
            head.dc[span.clone()].fill(Lane::ZERO);
            (&head.c, &mut head.dc, 0)
        });
        let parts = std::iter::once((&*y, dy, self.data())).chain(parts);
        let tables = rest.chunks_exact(m * outputs);
        for ((part, d_part, data), (table, d_table)) in
            parts.zip(tables.zip(d_rest.chunks_exact_mut(m * outputs)))
        {
            let (part, d_part) = (&part[span.clone()], &mut d_part[span.clone()]);
            linear::weight_backward(level, part, m, outputs, d_logits, d_table);
            linear::input_backward(level, table, (m, outputs), data, d_logits, d_part);
        }
    }
}
