//! Forward and backward over one block of lanes, in coordinates.
//!
//! The last layer is processed in small groups of rows. Forward, loss and backward of a group follow one
//! another, because a row's logits do not depend on later rows. So the exponentials of its attention are
//! computed once, and never leave the cache. Layers below compute theirs again in the backward (the first one
//! usually has none, see [`one_hot`]).

use std::ops::Range;

use super::norm;
use super::one_hot;
use super::rows::{add_part, affine, affine_backward, copy_part};
use super::scratch::{HeadRows, LayerScratch, Scratch};
use super::{Coordinates, Tables};
use crate::lanes::{LANES, Lane};
use crate::model::ops::attention::clamped;
use crate::model::transformer::groups;

impl Coordinates {
    /// The coordinates of the inputs, and all layers but the last, for which everything is made ready.
    pub(super) fn forward_below(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        work: &mut Scratch,
    ) {
        let Scratch { symbols, layers } = work;
        one_hot::read(self.level, inputs, symbols, &mut layers[0].y);
        for (stage, layer) in self.stages.iter().zip(layers.iter_mut()) {
            for (places, head) in stage.heads.iter().zip(&mut layer.heads) {
                let given = &mut head.given;
                places
                    .change
                    .read(self.level, inputs, self.shape.length, given);
            }
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
            self.norm_backward(tables, l + 1, 0..rows, work, grads);
            self.backward_layer(tables, l, 0..rows, work, grads);
        }
    }

    /// Switches to layer `l`: call it after the layers below, and before the first group of its rows.
    fn turn_to(&self, tables: &Tables, l: usize, work: &mut Scratch) {
        let LayerScratch { y, norm, heads, .. } = &mut work.layers[l];
        let read = norm.as_ref().map_or(&*y, |norm| &norm.z);
        for (h, head) in heads.iter_mut().enumerate() {
            if let HeadRows::Wide(group) = &mut head.group {
                group.turn_to(&self.inputs(tables, (l, h), read, &head.w));
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
        let Scratch { symbols, layers } = work;
        let (done, rest) = layers.split_at_mut(l + 1);
        let LayerScratch {
            y: stream,
            norm,
            heads,
            ..
        } = &mut done[l];
        let y = norm.as_ref().map_or(&*stream, |norm| &norm.z);
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
            if let (true, Some(work)) = (tables.bounded[l][h], &mut head.convolution) {
                let (factors, c) = (&tables.factors[h], &mut head.c);
                one_hot::forward(self.level, factors, symbols, rows.end, work, c);
            } else {
                let qk = &tables.data()[places.qk.clone()];
                let part = rows.start * m..rows.end * m;
                affine(self.level, &y[part.clone()], qk, (m, m), &mut head.w[part]);
                for group in groups(rows.clone(), stage.group_size()) {
                    self.forward_group(tables, (l, h), y, head, group);
                }
            }
            change.leave_means(self.level, rows.clone(), m, y, head);
        }
        // y′ = [y, c¹ … c^H]
        let (next, own, stride) = (&mut rest[0], stage.stream, self.stages[l + 1].stream);
        let part = &mut next.y[rows.start * stride..rows.end * stride];
        let source = &stream[rows.start * own..rows.end * own];
        copy_part(self.level, source, own, stride, part);
        for (h, head) in heads.iter().enumerate() {
            let source = &head.c[rows.start * m..rows.end * m];
            copy_part(self.level, source, m, stride, &mut part[own + h * m..]);
        }
        if let (Some(form), Some(work)) = (&self.stages[l + 1].form, &mut next.norm) {
            let form = &tables.data()[form.clone()];
            norm::forward(self.level, form, stride, &next.y, rows, work);
        }
    }

    /// Carries the gradient of what stage `at` reads back to the stream below its norm, if it has one: adds to dy.
    pub(super) fn norm_backward(
        &self,
        tables: &Tables,
        at: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut [Lane],
    ) {
        let LayerScratch { y, dy, norm, .. } = &mut work.layers[at];
        if let (Some(place), Some(work)) = (&self.stages[at].form, norm) {
            let (form, d_form) = (&tables.data()[place.clone()], &mut grads[place.clone()]);
            let m = self.stages[at].stream;
            norm::backward(self.level, form, m, y, rows, work, dy, d_form);
        }
    }

    /// The gradients of some rows of layer `l`, given that of the coordinates after it. If the rows are one group,
    /// call it right after the group's forward.
    pub(super) fn backward_layer(
        &self,
        tables: &Tables,
        l: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut [Lane],
    ) {
        let (stage, m) = (&self.stages[l], self.stages[l].m);
        let Scratch { symbols, layers } = work;
        let (done, rest) = layers.split_at_mut(l + 1);
        let LayerScratch {
            y: stream,
            dy: d_stream,
            norm,
            heads,
        } = &mut done[l];
        // y′ = [y, c¹ … c^H]
        let (own, stride) = (stage.stream, self.stages[l + 1].stream);
        let from = |column: usize| &rest[0].dy[rows.start * stride + column..];
        // All coordinates of the first layer are data.
        if l > 0 {
            let dy = &mut d_stream[rows.start * own..rows.end * own];
            add_part(self.level, from(0), own, stride, dy);
        }
        let part = rows.start * m..rows.end * m;
        for (h, head) in heads.iter_mut().enumerate() {
            let dc = &mut head.dc[part.clone()];
            dc.fill(Lane::ZERO);
            add_part(self.level, from(own + h * m), m, stride, dc);
        }
        let (y, dy) = match norm {
            Some(norm) => (&norm.z, &mut norm.dz),
            None => (&*stream, d_stream),
        };
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
            change.leave_means_backward(self.level, rows.clone(), m, y, head, dy);
            let d_positions = &mut grads[places.positions.clone()];
            if let (true, Some(work)) = (tables.bounded[l][h], &mut head.convolution) {
                let (factors, averages) = (&tables.factors[h], (&head.c[..], &head.dc[..]));
                let (rows, dw) = (rows.end, &mut head.dw);
                one_hot::backward(
                    self.level,
                    factors,
                    symbols,
                    rows,
                    work,
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
        let LayerScratch { y, dy, norm, .. } = &mut work.layers[depth];
        let (y, dy) = match norm {
            Some(norm) => (&norm.z, &mut norm.dz),
            None => (&*y, dy),
        };
        let part = rows.start * m..rows.end * m;
        let (y, dy) = (&y[part.clone()], &mut dy[part]);
        let table = &tables.data()[self.output.clone()];
        let d_table = &mut grads[self.output.clone()];
        affine_backward(self.level, y, table, (m, outputs), data, d_out, dy, d_table);
    }
}
