//! One layer: what attention reads, for all rows; then attention and MLP, one group of rows at a time.

use std::ops::Range;

use super::dropout::Place;
use super::read::Normed;
use super::scratch::Scratch;
use super::{How, Pass};
use crate::lanes::Lane;
use crate::lanes::cross_lane::sum_lanes;
use crate::model::engine::BlockGradient;
use crate::model::intervention::{Reader, Source};
use crate::model::ops::attention::clamped;
use crate::model::ops::attention::fast::{self, Asking, Columns, Gradients, Inputs};
use crate::model::ops::{gelu, linear, relu};
use crate::model::spec::Activation;
use crate::model::transformer::MLP_FACTOR;

/// Activations of one layer.
#[derive(Clone, Debug)]
pub(super) struct LayerScratch {
    /// [t, d]
    pub input: Vec<Lane>,
    pub normed: Normed,
    pub read: Read,
    pub mixed: Vec<Lane>,
    pub middle: Vec<Lane>,
    pub mlp_normed: Normed,
    /// [t, 4d]; after the activation function, its slopes.
    pub hidden: Vec<Lane>,
    pub active: Vec<Lane>,
}

/// What attention reads (or its gradients): queries, keys and values, [heads, t, d / heads] each. A head's
/// numbers lie together: rows of all heads, often a power of two long, would share a few places of the cache.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub queries: Vec<Lane>,
    pub keys: Vec<Lane>,
    pub values: Vec<Lane>,
}

impl Read {
    /// Buffers for `size` numbers each.
    pub fn new(size: usize) -> Self {
        let room = vec![Lane::ZERO; size];
        Self {
            queries: room.clone(),
            keys: room.clone(),
            values: room,
        }
    }
}

impl<'a> Pass<'a> {
    /// Where head `h` of layer `l` is in buffers [heads, t, d / heads].
    pub(super) fn place(self, l: usize, h: usize) -> Range<usize> {
        let size = self.shape.length * self.shape.width / self.shape.layers[l].heads;
        h * size..(h + 1) * size
    }

    /// The columns of head `h` of layer `l` in a row of all heads.
    pub(super) fn columns(self, l: usize, h: usize) -> Columns {
        let size = self.shape.width / self.shape.layers[l].heads;
        Columns {
            stride: self.shape.width,
            offset: h * size,
            size,
        }
    }

    /// What head `h` of layer `l` reads.
    pub(super) fn head<'x>(self, l: usize, h: usize, read: &'x Read) -> Inputs<'x>
    where
        'a: 'x,
    {
        let (layer, lag_columns) = (&self.shape.layers[l], self.columns(l, h));
        let place = self.place(l, h);
        Inputs {
            queries: &read.queries[place.clone()],
            keys: &read.keys[place.clone()],
            values: &read.values[place],
            asking: Asking::Query,
            data: 0,
            columns: Columns {
                stride: lag_columns.size,
                offset: 0,
                size: lag_columns.size,
            },
            relative: self.shape.relative,
            positions: layer.v.clone().map_or(&[], |v| &self.params[v]),
            lag_columns,
            bias: false,
        }
    }

    /// Copies rows of a stream [t, d] to where each head of layer `l` has its own: [heads, t, d / heads].
    fn split(self, l: usize, rows: Range<usize>, stream: &[Lane], by_head: &mut [Lane]) {
        for h in 0..self.shape.layers[l].heads {
            let (columns, place) = (self.columns(l, h), self.place(l, h));
            let own = by_head[place].chunks_exact_mut(columns.size);
            for (own, i) in own.skip(rows.start).zip(rows.clone()) {
                own.copy_from_slice(columns.row(stream, i));
            }
        }
    }

    /// The inverse of [`split`](Self::split).
    fn join(self, l: usize, rows: Range<usize>, by_head: &[Lane], stream: &mut [Lane]) {
        for h in 0..self.shape.layers[l].heads {
            let (columns, place) = (self.columns(l, h), self.place(l, h));
            let own = by_head[place].chunks_exact(columns.size);
            for (own, i) in own.skip(rows.start).zip(rows.clone()) {
                columns.row_mut(stream, i).copy_from_slice(own);
            }
        }
    }

    /// Prepares the groups for rows of layer `l`.
    pub(super) fn turn_to(self, l: usize, work: &mut Scratch) {
        for h in 0..self.shape.layers[l].heads {
            work.groups[h].turn_to(&self.head(l, h, &work.layers[l].read));
            work.groups[h].drop_with(self.mask(Place::Pattern(l, h)));
        }
    }

    /// Queries, keys and values of all rows: norm(h) W each.
    pub(super) fn project(self, l: usize, rows: usize, work: &mut Scratch) {
        let (layer, d) = (&self.shape.layers[l], self.shape.width);
        let LayerScratch {
            input,
            normed,
            read:
                Read {
                    queries,
                    keys,
                    values,
                },
            ..
        } = &mut work.layers[l];
        let common = self.normed(&layer.norm, input, normed, 0..rows * d);
        for (reader, weight, target) in [
            (Reader::Queries(l), &layer.w_q, queries),
            (Reader::Keys(l), &layer.w_k, keys),
            (Reader::Values(l), &layer.w_v, values),
        ] {
            let own = self.read_own(reader, &layer.norm, input, &mut work.changed, 0..rows * d);
            let source = own.unwrap_or(common);
            let all = match layer.heads {
                1 => &mut target[..rows * d],
                _ => &mut work.slopes.mixed[..rows * d],
            };
            let weight = &self.params[weight.clone()];
            linear::set_forward(self.level, source, weight, d, all);
            if layer.heads > 1 {
                self.split(l, 0..rows, &work.slopes.mixed, target);
            }
        }
        self.take_means(l, rows, work);
    }

    /// Queries, keys and values are norm(h) W each: adds to dh. Call it after all rows
    /// of the layer have gone backward.
    pub(super) fn project_backward(
        self,
        l: usize,
        rows: usize,
        work: &mut Scratch,
        grads: &mut BlockGradient,
    ) {
        let (layer, d) = (&self.shape.layers[l], self.shape.width);
        let (saved, slopes) = (&work.layers[l], &mut work.slopes);
        if let (Some((plan, tables)), Some(below)) = (self.below, &mut work.below)
            && self.is_below(l)
        {
            // All of these layers at once.
            if l + 1 == plan.depth() {
                let d_after = &slopes.resid[..rows * d];
                plan.backward(tables, rows, below, d_after, grads.by_lane);
            }
            return;
        }
        for h in 0..layer.heads {
            let d_out = match layer.heads {
                1 => &slopes.mixed[..],
                _ => &work.by_head[1][self.place(l, h)],
            };
            let d_values = &mut slopes.read.values[self.place(l, h)];
            self.means_backward((l, h), rows, d_out, d_values);
        }
        let readers = [Reader::Queries(l), Reader::Keys(l), Reader::Values(l)];
        let projected = [
            (&layer.w_q, &slopes.read.queries),
            (&layer.w_k, &slopes.read.keys),
            (&layer.w_v, &slopes.read.values),
        ];
        let span = 0..rows * d;
        let targets = (&mut slopes.resid[..], &mut slopes.normed[..]);
        let stream = (&layer.norm, &saved.input[..], &saved.normed);
        let joined = &mut slopes.mixed;
        self.read_backward(
            (&readers, &mut work.changed),
            stream,
            span,
            targets,
            grads.summed,
            |index, source, how, d_source, grads| {
                let (weight, d_projected) = projected[index];
                let dy = match layer.heads {
                    1 => d_projected,
                    _ => {
                        self.join(l, 0..rows, d_projected, joined);
                        &*joined
                    }
                };
                let (weight, dy) = ((weight.clone(), d), &dy[..rows * d]);
                self.product_backward(source, weight, dy, how, d_source, grads);
            },
        );
        if let Some(v) = &layer.v {
            sum_lanes(
                self.level,
                &slopes.positions[..rows * d],
                &mut grads.summed[v.clone()][..rows * d],
            );
        }
    }

    /// The rest of the layer for a group of rows: attention, and the MLP if there is
    /// one. Keeps the group's weights.
    pub(super) fn forward_rows(self, l: usize, rows: Range<usize>, work: &mut Scratch) {
        if !self.is_below(l) {
            self.attend(l, rows.clone(), work);
        }
        self.mlp(l, rows, work);
    }

    /// h′ = h + mixed (W_O): the layer's attention.
    fn attend(self, l: usize, rows: Range<usize>, work: &mut Scratch) {
        let (layer, d, level) = (&self.shape.layers[l], self.shape.width, self.level);
        let span = rows.start * d..rows.end * d;
        let (done, rest) = work.layers.split_at_mut(l + 1);
        let LayerScratch {
            input,
            read,
            mixed,
            middle,
            ..
        } = &mut done[l];
        let changed = work.changed.as_deref();
        for h in 0..layer.heads {
            let rows = rows.clone();
            let (head, group) = (self.head(l, h, read), &mut work.groups[h]);
            let out = match layer.heads {
                1 => &mut mixed[..],
                _ => &mut work.by_head[0][self.place(l, h)],
            };
            if let Some(table) = self.table(l, h, changed) {
                clamped::forward(level, table, rows, head.columns.size, head.values, out);
                continue;
            }
            fast::forward(level, &head, rows.clone(), group, out);
            if let Some(changed) = changed {
                self.shift_by_means((l, h), rows, -1.0, changed, out);
            }
        }
        if layer.heads > 1 {
            self.join(l, rows.clone(), &work.by_head[0], mixed);
        }
        let after = match (&layer.mlp, rest.first_mut()) {
            (Some(_), _) => middle,
            (None, Some(next)) => &mut next.input,
            (None, None) => &mut work.resid,
        };
        if self.changes_heads(l) {
            let (after, changed) = (&mut after[span.clone()], &mut work.changed);
            after.copy_from_slice(&input[span]);
            return self.write_heads(l, rows, mixed, after, changed);
        }
        let (after, input, mixed) = (
            &mut after[span.clone()],
            &input[span.clone()],
            &mixed[span.clone()],
        );
        if self.dropout.is_some() {
            match &layer.w_o {
                Some(w_o) => {
                    linear::set_forward(level, mixed, &self.params[w_o.clone()], d, after);
                }
                None => after.copy_from_slice(mixed),
            }
            return self.drop_and_add(Place::Attended(l), rows, input, after);
        }
        match &layer.w_o {
            Some(w_o) => {
                after.copy_from_slice(input);
                linear::add_forward(level, mixed, &self.params[w_o.clone()], d, d, after);
            }
            None => set_to_sum(after, input, mixed),
        }
    }

    /// h″ = h′ + activation(norm(h′) W_in + b_in) W_out + b_out
    fn mlp(self, l: usize, rows: Range<usize>, work: &mut Scratch) {
        let Some(mlp) = &self.shape.layers[l].mlp else {
            return;
        };
        let (d, level) = (self.shape.width, self.level);
        let wide = MLP_FACTOR * d;
        let span = rows.start * d..rows.end * d;
        let wide_span = rows.start * wide..rows.end * wide;
        let (done, rest) = work.layers.split_at_mut(l + 1);
        let saved = &mut done[l];
        let stream = (&saved.middle[..], &mut saved.mlp_normed);
        let reader = Reader::Mlp(l);
        let source = self.read(reader, &mlp.norm, stream, &mut work.changed, span.clone());
        let hidden = &mut saved.hidden[wide_span.clone()];
        let active = &mut saved.active[wide_span];
        let (w_in, b_in) = (mlp.w_in.clone(), mlp.b_in.clone());
        let (w_in, b_in) = (&self.params[w_in], &self.params[b_in]);
        linear::forward(level, source, w_in, b_in, d, hidden);
        match self.shape.activation {
            Activation::Gelu => gelu::forward(level, hidden, active),
            Activation::Relu => relu::forward(level, hidden, active),
        }
        let after = match rest.first_mut() {
            Some(next) => &mut next.input[span.clone()],
            None => &mut work.resid[span.clone()],
        };
        let (base, source) = (&saved.middle[span], Source::Mlp { layer: l });
        let b_out = &self.params[mlp.b_out.clone()];
        let w_out = &self.params[mlp.w_out.clone()];
        if self.is_touched(source) || self.dropout.is_some() {
            linear::forward(level, active, w_out, b_out, wide, after);
            return self.write(source, rows, Some(base), after, &mut work.changed);
        }
        linear::set_to_biased(base, b_out, after);
        linear::add_forward(level, active, w_out, wide, d, after);
    }

    /// Computes the weights of a group's rows once more.
    pub(super) fn weights_again(self, l: usize, rows: Range<usize>, work: &mut Scratch) {
        let (level, read) = (self.level, &work.layers[l].read);
        for h in 0..self.shape.layers[l].heads {
            let rows = rows.clone();
            if self.table(l, h, work.changed.as_deref()).is_some() {
                continue;
            }
            let (head, group) = (self.head(l, h, read), &mut work.groups[h]);
            fast::weights(level, &head, rows, group);
        }
    }

    /// The backward of [`forward_rows`](Self::forward_rows), right after it or
    /// [`weights_again`](Self::weights_again): from the gradient of the stream after the layer to that of the
    /// stream below it, without what queries, keys and values add.
    pub(super) fn backward_rows(
        self,
        l: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut BlockGradient,
    ) {
        let (layer, d, level) = (&self.shape.layers[l], self.shape.width, self.level);
        let span = rows.start * d..rows.end * d;
        if layer.mlp.is_some() {
            self.mlp_backward(l, rows.clone(), work, grads.summed);
        }
        if self.is_below(l) {
            return;
        }
        // h′ = h + mixed (W_O)
        if self.changes_heads(l) {
            self.write_heads_backward(l, rows.clone(), work, grads);
        } else {
            let (saved, slopes) = (&work.layers[l], &mut work.slopes);
            let (d_resid, d_mixed) = (&slopes.resid[span.clone()], &mut slopes.mixed[span.clone()]);
            let place = Place::Attended(l);
            let d_added = self.dropped(place, rows.clone(), d_resid, &mut slopes.added);
            match &layer.w_o {
                Some(w_o) => {
                    let (w_o, mixed) = ((w_o.clone(), d), &saved.mixed[span]);
                    self.product_backward(mixed, w_o, d_added, How::Set, d_mixed, grads.summed);
                }
                None => d_mixed.copy_from_slice(d_added),
            }
        }
        let (saved, slopes) = (&mut work.layers[l], &mut work.slopes);
        let LayerScratch { read, mixed, .. } = saved;
        let d_mixed = &slopes.mixed;
        if layer.heads > 1 {
            for (stream, by_head) in [&*mixed, d_mixed].into_iter().zip(&mut work.by_head) {
                self.split(l, rows.clone(), stream, by_head);
            }
        }
        for h in 0..layer.heads {
            let (rows, d_read) = (rows.clone(), &mut slopes.read);
            let place = self.place(l, h);
            let (head, group) = (self.head(l, h, read), &mut work.groups[h]);
            let [out, d_out] = &mut work.by_head;
            let (out, d_out) = match layer.heads {
                1 => (&mut mixed[..], &d_mixed[..]),
                _ => (&mut out[place.clone()], &d_out[place.clone()]),
            };
            let Read {
                queries: d_queries,
                keys: d_keys,
                values: d_values,
            } = d_read;
            let d_queries = &mut d_queries[place.clone()];
            let size = head.columns.size;
            if let Some(table) = self.table(l, h, work.changed.as_deref()) {
                clamped::backward(
                    level,
                    table,
                    rows.clone(),
                    size,
                    d_out,
                    &mut d_values[place],
                );
                d_queries[rows.start * size..rows.end * size].fill(Lane::ZERO);
                continue;
            }
            if let Some(changed) = &work.changed {
                // The backward needs what the whole pattern averages.
                self.shift_by_means((l, h), rows.clone(), 1.0, changed, out);
            }
            let values = Some(&mut d_values[place.clone()]);
            let mut grads = match self.stopped((l, h), work.changed.as_deref_mut()) {
                Some((read, positions)) => {
                    d_queries[rows.start * size..rows.end * size].fill(Lane::ZERO);
                    Gradients {
                        queries: &mut read.queries[place.clone()],
                        keys: &mut read.keys[place.clone()],
                        values,
                        positions,
                    }
                }
                None => Gradients {
                    queries: d_queries,
                    keys: &mut d_keys[place.clone()],
                    values,
                    positions: &mut slopes.positions,
                },
            };
            fast::backward(level, &head, rows, group, (out, d_out), &mut grads);
        }
    }

    /// h″ = h′ + activation(norm(h′) W_in + b_in) W_out + b_out: adds what comes through
    /// the MLP to dh′, which holds dh″.
    fn mlp_backward(self, l: usize, rows: Range<usize>, work: &mut Scratch, grads: &mut [f32]) {
        let Some(mlp) = &self.shape.layers[l].mlp else {
            return;
        };
        let (saved, slopes, changed) = (&work.layers[l], &mut work.slopes, &mut work.changed);
        let (d, level) = (self.shape.width, self.level);
        let wide = MLP_FACTOR * d;
        let span = rows.start * d..rows.end * d;
        let wide_span = rows.start * wide..rows.end * wide;
        let d_hidden = &mut slopes.hidden[wide_span.clone()];
        let d_after = &slopes.resid[span.clone()];
        let source = Source::Mlp { layer: l };
        let d_after = match changed {
            Some(changed) if self.is_touched(source) => {
                self.written_backward(source, rows.clone(), d_after, changed)
            }
            _ => self.dropped(Place::Mlp(l), rows.clone(), d_after, &mut slopes.added),
        };
        linear::add_bias_gradient(level, d_after, &mut grads[mlp.b_out.clone()]);
        let (active, its_slopes) = (&saved.active[wide_span.clone()], &saved.hidden[wide_span]);
        let d_w_out = &mut grads[mlp.w_out.clone()];
        linear::add_weight_gradient(level, active, d_after, wide, d_w_out);
        let w_out = &self.params[mlp.w_out.clone()];
        linear::input_backward_through(level, w_out, wide, d_after, its_slopes, d_hidden);
        linear::add_bias_gradient(level, d_hidden, &mut grads[mlp.b_in.clone()]);
        let targets = (&mut slopes.resid[..], &mut slopes.normed[..]);
        let stream = (&mlp.norm, &saved.middle[..], &saved.mlp_normed);
        self.read_backward(
            (&[Reader::Mlp(l)], changed),
            stream,
            span,
            targets,
            grads,
            |_, source, how, d_source, grads| {
                let w_in = (mlp.w_in.clone(), d);
                self.product_backward(source, w_in, d_hidden, how, d_source, grads);
            },
        );
    }
}

fn set_to_sum(target: &mut [Lane], one: &[Lane], other: &[Lane]) {
    for ((sum, &one), &other) in target.iter_mut().zip(one).zip(other) {
        *sum = one + other;
    }
}
