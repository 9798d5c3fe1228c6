//! Forward and backward over one block of lanes, in coordinates.
//!
//! The last layer is processed in small groups of rows. Forward, loss and backward of a group follow one
//! another, because a row's logits do not depend on later rows. So the exponentials of its attention are
//! computed once, and never leave the cache. Layers below compute theirs again in the backward (the first one
//! usually has none, see [`one_hot`]).

use std::ops::Range;

use super::norm;
use super::one_hot;
use super::rows::{affine, affine_backward, copy_part};
use super::scratch::{HeadRows, Scratch};
use super::{Coordinates, Tables};
use crate::lanes::{LANES, Lane};
use crate::model::ops::attention::clamped::{self, Table};
use crate::model::transformer::groups;

impl Coordinates {
    /// The coordinates of the inputs, and all layers but the last, for which everything is made ready.
    pub(super) fn forward_below(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        work: &mut Scratch,
    ) {
        let (y, length) = (&mut work.layers[0].y, self.shape.length);
        one_hot::read(self.level, inputs, &mut work.symbols, y);
        let heads = self.stages.iter().flat_map(|stage| &stage.heads);
        for (places, head) in heads.zip(work.heads.iter_mut().flatten()) {
            let given = &mut head.given;
            places.change.read(self.level, inputs, length, given);
        }
        let top = self.depth() - 1;
        for l in 0..top {
            self.turn_to(tables, l, work);
            self.forward_layer(tables, l, 0..inputs.len(), work);
        }
        self.turn_to(tables, top, work);
    }

    /// The backward of a forward of all `rows`, given the gradient of what it wrote: adds that of every table, by
    /// lane.
    pub fn backward(
        &self,
        tables: &Tables,
        rows: usize,
        work: &mut Scratch,
        d_out: &[Lane],
        grads: &mut [Lane],
    ) {
        work.start_backward();
        self.output_backward(tables, 0..rows, work, d_out, grads);
        self.backward_below(tables, self.depth(), rows, work, grads);
    }

    /// The backward of the layers below stage `top`, from the gradient of what that reads.
    pub(super) fn backward_below(
        &self,
        tables: &Tables,
        top: usize,
        rows: usize,
        work: &mut Scratch,
        grads: &mut [Lane],
    ) {
        for l in (0..top).rev() {
            self.backward_layer(tables, l, 0..rows, work, grads);
        }
    }

    /// Switches to layer `l`: call it after the layers below, and before the first group of its rows.
    fn turn_to(&self, tables: &Tables, l: usize, work: &mut Scratch) {
        let y = work.layers[l].read();
        for (h, head) in work.heads[l].iter_mut().enumerate() {
            if let HeadRows::Wide(group) = &mut head.group {
                group.turn_to(&self.inputs(tables, (l, h), y, &head.w));
            }
        }
    }

    /// Computes some rows of layer `l`, and the coordinates after it.
    pub(super) fn forward_layer(
        &self,
        tables: &Tables,
        l: usize,
        rows: Range<usize>,
        work: &mut Scratch,
    ) {
        let (stage, m) = (&self.stages[l], self.stages[l].m);
        let (below, above) = work.layers.split_at_mut(l + 1);
        let (layer, next, heads) = (&below[l], &mut above[0], &mut work.heads[l]);
        let y = layer.read();
        for (h, (places, head)) in stage.heads.iter().zip(heads.iter_mut()).enumerate() {
            let change = places.change;
            if change.silent {
                continue;
            }
            if let Some(table) = change.table(&head.given, self.shape.length) {
                head.c[rows.start * m..rows.end * m].fill(Lane::ZERO);
                clamped::forward(self.level, table, rows.clone(), m, y, &mut head.c);
                continue;
            }
            if let (true, Some(own)) = (tables.bounded[l][h], &mut head.convolution) {
                let (factors, c) = (&tables.factors[h], &mut head.c);
                one_hot::forward(self.level, factors, &work.symbols, rows.end, own, c);
            } else {
                let qk = &tables.data()[places.qk.clone()];
                let part = rows.start * m..rows.end * m;
                affine(self.level, &y[part.clone()], qk, (m, m), &mut head.w[part]);
                for group in groups(rows.clone(), stage.group_size()) {
                    self.forward_group(tables, (l, h), y, head, group);
                }
            }
            if change.leaves_uniform_out() {
                let uniform = Table::Uniform(-1.0);
                clamped::forward(self.level, uniform, rows.clone(), m, y, &mut head.c);
            }
        }
        // y′ = [y, c¹ … c^H]
        let (own, stride) = (stage.stream, self.stages[l + 1].stream);
        let part = &mut next.y[rows.start * stride..rows.end * stride];
        let source = &layer.y[rows.start * own..rows.end * own];
        copy_part(self.level, source, own, own, part, stride);
        for (h, head) in heads.iter().enumerate() {
            let source = &head.c[rows.start * m..rows.end * m];
            copy_part(self.level, source, m, m, &mut part[own + h * m..], stride);
        }
        if let (Some(form), Some(work)) = (&self.stages[l + 1].form, &mut next.norm) {
            let form = &tables.data()[form.clone()];
            norm::forward(self.level, form, stride, &next.y, rows, work);
        }
    }

    /// The gradients of some rows of layer `l`, given that of what is read after it. If the rows are one group, call
    /// it right after the group's forward.
    pub(super) fn backward_layer(
        &self,
        tables: &Tables,
        l: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut [Lane],
    ) {
        let (stage, m) = (&self.stages[l], self.stages[l].m);
        let (below, above) = work.layers.split_at_mut(l + 1);
        let (layer, next, heads) = (&mut below[l], &mut above[0], &mut work.heads[l]);
        let (own, stride) = (stage.stream, self.stages[l + 1].stream);
        if let (Some(place), Some(work)) = (&self.stages[l + 1].form, &mut next.norm) {
            let (form, d_form) = (&tables.data()[place.clone()], &mut grads[place.clone()]);
            let (y, dy, rows) = (&next.y, &mut next.dy, rows.clone());
            norm::backward(self.level, form, stride, y, rows, work, dy, d_form);
        }
        // y′ = [y, c¹ … c^H]
        let d_next = &next.dy[rows.start * stride..rows.end * stride];
        // All coordinates of the first layer are data.
        if l > 0 {
            let dy = &mut layer.dy[rows.start * own..rows.end * own];
            copy_part(self.level, d_next, stride, own, dy, own);
        }
        let part = rows.start * m..rows.end * m;
        for (h, head) in heads.iter_mut().enumerate() {
            let d_next = &d_next[own + h * m..];
            copy_part(self.level, d_next, stride, m, &mut head.dc[part.clone()], m);
        }
        let (y, dy) = layer.read_mut();
        for (h, (places, head)) in stage.heads.iter().zip(heads.iter_mut()).enumerate() {
            let change = places.change;
            if change.stopped {
                continue;
            }
            if let Some(table) = change.table(&head.given, self.shape.length) {
                // All coordinates of the first layer are data.
                if l > 0 {
                    clamped::backward(self.level, table, rows.clone(), m, &head.dc, dy);
                }
                continue;
            }
            // The backward of the whole pattern needs what that averaged again, and values get nothing through the
            // uniform part.
            if change.leaves_uniform_out() {
                let [uniform, without] = [1.0, -1.0].map(Table::Uniform);
                clamped::forward(self.level, uniform, rows.clone(), m, y, &mut head.c);
                clamped::backward(self.level, without, rows.clone(), m, &head.dc, dy);
            }
            let d_positions = &mut grads[places.positions.clone()];
            if let (true, Some(own)) = (tables.bounded[l][h], &mut head.convolution) {
                let (factors, symbols) = (&tables.factors[h], &work.symbols);
                let (averages, dw) = ((&head.c[..], &head.dc[..]), &mut head.dw);
                let end = rows.end;
                one_hot::backward(
                    self.level,
                    factors,
                    symbols,
                    end,
                    own,
                    averages,
                    dw,
                    d_positions,
                );
            } else {
                for group in groups(rows.clone(), stage.group_size()) {
                    if group != rows {
                        self.forward_group(tables, (l, h), y, head, group.clone());
                    }
                    self.backward_group(tables, (l, h), y, head, group, dy, d_positions);
                }
            }
            affine_backward(
                self.level,
                &y[part.clone()],
                &tables.data()[places.qk.clone()],
                (m, m),
                self.data(l),
                &head.dw[part.clone()],
                &mut dy[part.clone()],
                &mut grads[places.qk.clone()],
            );
        }
    }

    /// The output of some rows: out_i = table₀ + y′_i · table₁….
    pub(super) fn output(
        &self,
        tables: &Tables,
        rows: Range<usize>,
        work: &Scratch,
        out: &mut [Lane],
    ) {
        let (outputs, depth) = (self.outputs(), self.depth());
        let m = self.stages[depth].m;
        let read = &work.layers[depth].read()[rows.start * m..rows.end * m];
        let out = &mut out[rows.start * outputs..rows.end * outputs];
        let table = &tables.data()[self.output.clone()];
        affine(self.level, read, table, (m, outputs), out);
    }

    /// Carries the gradient of some rows' output back to what it reads.
    pub(super) fn output_backward(
        &self,
        tables: &Tables,
        rows: Range<usize>,
        work: &mut Scratch,
        d_out: &[Lane],
        grads: &mut [Lane],
    ) {
        let (outputs, depth) = (self.outputs(), self.depth());
        let (m, data) = (self.stages[depth].m, self.data(depth));
        let (y, dy) = work.layers[depth].read_mut();
        let part = rows.start * m..rows.end * m;
        let (y, dy) = (&y[part.clone()], &mut dy[part]);
        let table = &tables.data()[self.output.clone()];
        let d_table = &mut grads[self.output.clone()];
        affine_backward(self.level, y, table, (m, outputs), data, d_out, dy, d_table);
    }
}
