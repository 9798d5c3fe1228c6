//! The output of the last layer's coordinates, and its backward.

use std::ops::Range;

use super::norm;
use super::rows::{affine, affine_backward};
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
        let (outputs, plan) = (self.outputs, &self.layers[self.layers.len() - 1]);
        let top = work.layers.last().expect("at least one layer");
        let logits = &mut logits[rows.start * outputs..rows.end * outputs];
        let table = &tables.data[self.output.clone()];
        if let Some(last) = &work.last {
            let read = self.read_last;
            let z = &last.norm.z[rows.start * read..rows.end * read];
            return affine(self.level, z, table, (read, outputs), logits);
        }
        let (first, mut rest) = table.split_at(outputs);
        linear::set_rows(first, logits);
        let heads = top.heads.iter().map(|head| (&head.c, plan.m));
        for (source, width) in std::iter::once((&top.y, plan.stream)).chain(heads) {
            let (table, after) = rest.split_at(width * outputs);
            let source = &source[rows.start * width..rows.end * width];
            linear::add_forward(self.level, source, table, width, outputs, logits);
            rest = after;
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
        let (level, outputs) = (self.level, self.outputs);
        let plan = &self.layers[self.layers.len() - 1];
        let table = &tables.data[self.output.clone()];
        if let (Some(norm), Some(last)) = (&self.last_norm, &mut work.last) {
            let (read, stride) = (self.read_last, self.last);
            let span = rows.start * read..rows.end * read;
            let (z, dz) = (&last.norm.z[span.clone()], &mut last.norm.dz[span]);
            dz.fill(Lane::ZERO);
            let d_table = &mut grads[self.output.clone()];
            affine_backward(level, z, table, (read, outputs), 0, d_logits, dz, d_table);
            let LastScratch { y, dy, norm: work } = last;
            dy[rows.start * stride..rows.end * stride].fill(Lane::ZERO);
            let form = &tables.data[norm.form.clone()];
            let d_form = &mut grads[norm.form.clone()];
            return norm::backward(level, form, stride, y, rows, work, dy, d_form);
        }
        let LayerScratch { y, dy, heads, .. } = work.layers.last_mut().expect("at least one layer");
        let mut rest = &table[outputs..];
        let (d_first, mut d_rest) = grads[self.output.clone()].split_at_mut(outputs);
        linear::bias_backward(level, d_logits, d_first);
        let parts = heads.iter_mut().map(|head| {
            head.dc[rows.start * plan.m..rows.end * plan.m].fill(Lane::ZERO);
            (&head.c, &mut head.dc, plan.m, 0)
        });
        let parts = std::iter::once((&*y, dy, plan.stream, self.data())).chain(parts);
        for (part, d_part, width, data) in parts {
            let (table, after) = rest.split_at(width * outputs);
            let (d_table, d_after) = d_rest.split_at_mut(width * outputs);
            let span = rows.start * width..rows.end * width;
            let (part, d_part) = (&part[span.clone()], &mut d_part[span]);
            linear::weight_backward(level, part, width, outputs, d_logits, d_table);
            linear::input_backward(level, table, (width, outputs), data, d_logits, d_part);
            (rest, d_rest) = (after, d_after);
        }
    }
}
