//! Forward and backward over one block of lanes, in coordinates.
//!
//! The last layer is processed in small groups of rows. Forward, loss and backward of a group follow one
//! another, because a row's logits do not depend on later rows. So the exponentials of its attention are
//! computed once, and never leave the cache. Layers below compute theirs again in the backward (the first one
//! usually has none, see [`one_hot`]).

use std::ops::Range;

use super::norm;
use super::one_hot;
use super::rows::{add_part, affine, affine_backward, copy_part, groups};
use super::scratch::{HeadRows, LayerScratch, Scratch};
use super::{Coordinates, Tables};
use crate::lanes::{LANES, Lane};
use crate::model::engine::{LogitBuffers, LossRows};
use crate::model::ops::attention::clamped;

impl Coordinates {
    /// Writes the logits of the positions from `first` on into their rows of `logits` ([rows, k]).
    pub fn forward(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Scratch,
        logits: &mut [Lane],
    ) {
        self.forward_below(tables, inputs, work);
        let top = self.layers.len() - 1;
        self.turn_to(tables, top, work);
        self.forward_layer(tables, top, first..inputs.len(), work);
        self.output(tables, first..inputs.len(), work, logits);
    }

    /// Forward, loss and backward: adds the gradient of every table, by lane. `loss` receives logits as they
    /// are computed and returns their gradient; both are [rows, k].
    pub fn gradient(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        work: &mut Scratch,
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        grads: &mut [Lane],
    ) {
        let (rows, top) = (inputs.len(), self.layers.len() - 1);
        self.forward_below(tables, inputs, work);
        work.start_backward();
        self.last_by_group(tables, rows, work, (logits, d_logits), loss, grads);
        for l in (0..top).rev() {
            self.norm_backward(tables, l + 1, rows, work, grads);
            self.backward_layer(tables, l, 0..rows, work, grads);
        }
    }

    /// Forward, loss and backward of the last layer, one group of rows after the other.
    fn last_by_group(
        &self,
        tables: &Tables,
        rows: usize,
        work: &mut Scratch,
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        grads: &mut [Lane],
    ) {
        let (states, top) = (self.outputs, self.layers.len() - 1);
        self.turn_to(tables, top, work);
        // The first layer works on all rows at once.
        let size = match top {
            0 => rows,
            _ => self.layers[top].group_size(),
        };
        for first in (0..rows).step_by(size) {
            let group = first..(first + size).min(rows);
            self.forward_layer(tables, top, group.clone(), work);
            self.output(tables, group.clone(), work, logits);
            let span = group.start * states..group.end * states;
            loss(
                group.clone(),
                &logits[span.clone()],
                &mut d_logits[span.clone()],
            );
            self.output_backward(tables, group.clone(), work, &d_logits[span], grads);
            self.backward_layer(tables, top, group, work, grads);
        }
    }

    /// The backward of a [`forward`](Self::forward) of all `rows`, given the gradient of what it wrote: adds
    /// that of every table, by lane.
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
        for l in (0..self.layers.len()).rev() {
            self.backward_layer(tables, l, 0..rows, work, grads);
            self.norm_backward(tables, l, rows, work, grads);
        }
    }

    /// The coordinates of the inputs, and all layers but the last.
    fn forward_below(&self, tables: &Tables, inputs: &[[u8; LANES]], work: &mut Scratch) {
        let Scratch {
            symbols, layers, ..
        } = work;
        one_hot::read(self.level, inputs, symbols, &mut layers[0].y);
        for (plan, layer) in self.layers.iter().zip(layers.iter_mut()) {
            for (places, head) in plan.heads.iter().zip(&mut layer.heads) {
                let given = &mut head.given;
                places.change.read(self.level, inputs, self.length, given);
            }
        }
        for l in 0..self.layers.len() - 1 {
            self.turn_to(tables, l, work);
            self.forward_layer(tables, l, 0..inputs.len(), work);
        }
    }

    /// Switches to layer `l`: call it after the layers below, and before the first group of its rows.
    fn turn_to(&self, tables: &Tables, l: usize, work: &mut Scratch) {
        let (plan, layer) = (&self.layers[l], &mut work.layers[l]);
        for (places, head) in plan.heads.iter().zip(&mut layer.heads) {
            if let HeadRows::Wide(group) = &mut head.group {
                let positions = &tables.data[places.positions.clone()];
                let sizes = (plan.m, self.data_read(l));
                let read = layer.norm.as_ref().map_or(&layer.y, |norm| &norm.z);
                group.turn_to(&self.wide(sizes, read, &head.w, positions));
            }
        }
    }

    /// Computes some rows of layer `l`, and the coordinates after it.
    fn forward_layer(&self, tables: &Tables, l: usize, rows: Range<usize>, work: &mut Scratch) {
        let (plan, m) = (&self.layers[l], self.layers[l].m);
        let Scratch {
            symbols,
            layers,
            last,
            ..
        } = work;
        let (done, rest) = layers.split_at_mut(l + 1);
        let LayerScratch {
            y: stream,
            norm,
            heads,
            ..
        } = &mut done[l];
        let y = norm.as_ref().map_or(&*stream, |norm| &norm.z);
        for (h, (places, head)) in plan.heads.iter().zip(heads.iter_mut()).enumerate() {
            let (key, change) = (self.key(tables, l, h), places.change);
            if change.silent {
                continue;
            }
            if let Some(table) = change.table(&head.given, self.length) {
                head.c[rows.start * m..rows.end * m].fill(Lane::ZERO);
                clamped::forward(self.level, table, rows.clone(), m, y, &mut head.c);
                continue;
            }
            if let (true, Some(work)) = (key.bounded, &mut head.convolution) {
                let (factors, c) = (&tables.factors[h], &mut head.c);
                one_hot::forward(self.level, self.meets, factors, symbols, rows.end, work, c);
            } else {
                let qk = &tables.data[places.qk.clone()];
                let part = rows.start * m..rows.end * m;
                affine(self.level, &y[part.clone()], qk, (m, m), &mut head.w[part]);
                for group in groups(rows.clone(), plan.group_size()) {
                    self.forward_group(key, tables, places, y, head, group);
                }
            }
            change.leave_means(self.level, rows.clone(), m, y, head);
        }
        // y′ = [y, c¹ … c^H]; the output of the last layer stays where it is, unless a norm follows.
        let (next, norm) = match (rest.first_mut(), last) {
            (Some(next), _) => (&mut next.y, next.norm.as_mut()),
            (None, Some(last)) => (&mut last.y, Some(&mut last.norm)),
            (None, None) => return,
        };
        let (own, stride) = (plan.stream, self.stream(l + 1));
        let part = &mut next[rows.start * stride..rows.end * stride];
        let source = &stream[rows.start * own..rows.end * own];
        copy_part(self.level, source, own, stride, part);
        for (h, head) in heads.iter().enumerate() {
            let source = &head.c[rows.start * m..rows.end * m];
            copy_part(self.level, source, m, stride, &mut part[own + h * m..]);
        }
        if let (Some(plan), Some(work)) = (self.norm(l + 1), norm) {
            let form = &tables.data[plan.form.clone()];
            norm::forward(self.level, form, plan.stream, next, rows, work);
        }
    }

    /// Carries the gradient of what layer `at` (or the output) reads back to the stream below its norm, if it
    /// has one: adds to dy.
    fn norm_backward(
        &self,
        tables: &Tables,
        at: usize,
        rows: usize,
        work: &mut Scratch,
        grads: &mut [Lane],
    ) {
        let LayerScratch { y, dy, norm, .. } = &mut work.layers[at];
        if let (Some(plan), Some(work)) = (self.norm(at), norm) {
            let form = &tables.data[plan.form.clone()];
            let d_form = &mut grads[plan.form.clone()];
            norm::backward(self.level, form, plan.stream, y, 0..rows, work, dy, d_form);
        }
    }

    /// The gradients of some rows of layer `l`, given that of the coordinates after it (for the last layer
    /// without a norm above it, its dy and dc). If the rows are one group, call it right after the group's forward.
    fn backward_layer(
        &self,
        tables: &Tables,
        l: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut [Lane],
    ) {
        let (plan, m) = (&self.layers[l], self.layers[l].m);
        let Scratch {
            symbols,
            layers,
            last,
            ..
        } = work;
        let (done, rest) = layers.split_at_mut(l + 1);
        let LayerScratch {
            y: stream,
            dy: d_stream,
            norm,
            heads,
        } = &mut done[l];
        // y′ = [y, c¹ … c^H]
        let d_next = match (rest.first(), last) {
            (Some(next), _) => Some(&next.dy),
            (None, last) => last.as_ref().map(|last| &last.dy),
        };
        if let Some(d_next) = d_next {
            let (own, stride) = (plan.stream, self.stream(l + 1));
            let from = |column: usize| &d_next[rows.start * stride + column..];
            // All coordinates of the first layer are data.
            if l > 0 {
                let dy = &mut d_stream[rows.start * own..rows.end * own];
                add_part(self.level, from(0), own, stride, dy);
            }
            for (h, head) in heads.iter_mut().enumerate() {
                let dc = &mut head.dc[rows.start * m..rows.end * m];
                dc.fill(Lane::ZERO);
                add_part(self.level, from(own + h * m), m, stride, dc);
            }
        }
        let (y, dy) = match norm {
            Some(norm) => (&norm.z, &mut norm.dz),
            None => (&*stream, d_stream),
        };
        let part = rows.start * m..rows.end * m;
        for (h, (places, head)) in plan.heads.iter().zip(heads.iter_mut()).enumerate() {
            let (key, change) = (self.key(tables, l, h), places.change);
            if change.stopped {
                continue;
            }
            if let Some(table) = change.table(&head.given, self.length) {
                // All coordinates of the first layer are data.
                if l > 0 {
                    clamped::backward(self.level, table, rows.clone(), m, &head.dc, dy);
                }
                continue;
            }
            change.leave_means_backward(self.level, rows.clone(), m, y, head, dy);
            let d_positions = &mut grads[places.positions.clone()];
            if let (true, Some(work)) = (key.bounded, &mut head.convolution) {
                let (factors, c, dc) = (&tables.factors[h], &head.c, &head.dc);
                let (level, dw) = (self.level, &mut head.dw);
                one_hot::backward(
                    level,
                    self.meets,
                    factors,
                    symbols,
                    rows.end,
                    work,
                    (c, dc),
                    dw,
                    d_positions,
                );
            } else {
                for group in groups(rows.clone(), plan.group_size()) {
                    if group != rows {
                        self.forward_group(key, tables, places, y, head, group.clone());
                    }
                    self.backward_group(key, tables, places, y, head, group, dy, d_positions);
                }
            }
            affine_backward(
                self.level,
                &y[part.clone()],
                &tables.data[places.qk.clone()],
                (m, m),
                self.data_read(l),
                &head.dw[part.clone()],
                &mut dy[part.clone()],
                &mut grads[places.qk.clone()],
            );
        }
    }
}
