//! The output of the last layer's coordinates, and its backward.

use std::ops::Range;

use super::norm;
use super::rows::{add_part, affine, affine_backward};
use super::scratch::{LastScratch, LayerScratch, Scratch};
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
        let table = &tables.data[self.output.clone()];
        if let Some(last) = &work.last {
            let read = self.read_last;
            let z = &last.norm.z[rows.start * read..rows.end * read];
            return affine(self.level, z, table, (read, outputs), logits);
        }
        let (first, rest) = table.split_at(outputs);
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
        if work.last.is_some() {
            return self.normed_output_backward(tables, rows, work, d_logits, grads);
        }
        let LayerScratch { y, dy, heads, .. } = work.layers.last_mut().expect("at least one layer");
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

    /// The same where a norm comes before the output.
    fn normed_output_backward(
        &self,
        tables: &Tables,
        rows: Range<usize>,
        work: &mut Scratch,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (Some(plan), Some(last)) = (&self.last_norm, &mut work.last) else {
            return;
        };
        let (level, read, stride) = (self.level, self.read_last, self.last);
        let span = rows.start * read..rows.end * read;
        let (z, dz) = (&last.norm.z[span.clone()], &mut last.norm.dz[span]);
        dz.fill(Lane::ZERO);
        affine_backward(
            level,
            z,
            &tables.data[self.output.clone()],
            (read, self.outputs),
            0,
            d_logits,
            dz,
            &mut grads[self.output.clone()],
        );
        last.dy[rows.start * stride..rows.end * stride].fill(Lane::ZERO);
        let (form, d_form) = (
            &tables.data[plan.form.clone()],
            &mut grads[plan.form.clone()],
        );
        let LastScratch { y, dy, norm } = last;
        norm::backward(level, form, stride, y, rows.clone(), norm, dy, d_form);
        // y′ = [y, c¹ … c^H]
        let top = work.layers.last_mut().expect("at least one layer");
        let (own, m) = (
            self.stream(self.layers.len() - 1),
            self.layers[self.layers.len() - 1].m,
        );
        let from = |column: usize| &dy[rows.start * stride + column..];
        let below = &mut top.dy[rows.start * own..rows.end * own];
        add_part(level, from(0), own, stride, below);
        for (h, head) in top.heads.iter_mut().enumerate() {
            let dc = &mut head.dc[rows.start * m..rows.end * m];
            dc.fill(Lane::ZERO);
            add_part(level, from(own + h * m), m, stride, dc);
        }
    }
}
