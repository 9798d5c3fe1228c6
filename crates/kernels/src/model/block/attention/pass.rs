//! Attention at work on eight sequences.

use std::ops::Range;
use std::sync::Arc;

use super::positions::{self, Turns};
use super::{Attention, Biases};
use crate::lanes::Lane;
use crate::lanes::cross_lane::sum_lanes;
use crate::model::block::{Allocator, BlockPass, Change, Context, GROUP, ReadBack, Update};
use crate::model::ops::attention::fast::{self, Asking, Columns, Gradients, Inputs, TileRows};
use crate::model::ops::attention::pairwise::{self, Draw, PairMasks, PairRows};
use crate::model::ops::attention::{AttnProbe, AttnRow, clamped};
use crate::model::ops::{linear, short_convolution};

/// Buffers of attention. What is by head is [heads, t, d / heads]: a head's numbers lie together, because rows of
/// all heads, often a power of two long, would share a few places of the cache.
#[derive(Debug)]
pub struct AttentionPass {
    attention: Arc<Attention>,
    /// What a reader sees after a convolution, and its gradient: [t, d]
    convolved: Vec<Lane>,
    d_convolved: Vec<Lane>,
    /// Queries, keys and values, by head.
    read: [Vec<Lane>; 3],
    /// What the heads average, [t, d].
    averaged: Vec<Lane>,
    /// The same by head, where there are several.
    by_head: Vec<Lane>,
    /// What the current group of rows keeps, by head.
    groups: Vec<TileRows>,
    /// Of rotary positions.
    turns: Turns,
    /// Means of all values so far, by head: where the uniform part of its pattern is changed.
    means: Vec<Vec<Lane>>,
    /// Of queries, keys and values, by head.
    d_read: [Vec<Lane>; 3],
    d_averaged: Vec<Lane>,
    d_by_head: Vec<Lane>,
    /// Of the positions, by lane: [t, d]
    d_positions: Vec<Lane>,
    /// Of queries, keys and positions, for heads whose pattern gets no gradient.
    stopped: [Vec<Lane>; 3],
    /// Where training drops entries of relative positions.
    pairwise: Option<Box<Pairwise>>,
}

/// Masks of relative positions, and what the current group of rows keeps under them, by head.
#[derive(Debug)]
struct Pairwise {
    masks: PairMasks,
    groups: Vec<PairRows>,
}

impl AttentionPass {
    /// Buffers for eight sequences.
    pub fn new(attention: Arc<Attention>, buffers: &mut Allocator) -> Self {
        let (t, heads) = (attention.length, attention.heads);
        let stream = [t, attention.width];
        let several = if heads > 1 { stream } else { [0, 0] };
        let size = attention.size();
        let turns = attention.scheme.turns([t, size / 2], buffers);
        let convolved = match attention.convolution {
            Some(_) => stream,
            None => [0, 0],
        };
        Self {
            turns,
            convolved: buffers.lanes(convolved),
            d_convolved: buffers.lanes(convolved),
            read: [(); 3].map(|()| buffers.lanes(stream)),
            averaged: buffers.lanes(stream),
            by_head: buffers.lanes(several),
            groups: (0..heads)
                .map(|_| TileRows::new(t, size, buffers))
                .collect(),
            means: vec![Vec::new(); heads],
            d_read: [(); 3].map(|()| buffers.lanes(stream)),
            d_averaged: buffers.lanes(stream),
            d_by_head: buffers.lanes(several),
            d_positions: match attention.v {
                Some(_) => buffers.lanes(stream),
                None => Vec::new(),
            },
            stopped: [(); 3].map(|()| Vec::new()),
            pairwise: attention.dropped.map(|_| {
                let masks = PairMasks::new(t, attention.width, buffers);
                let groups = (0..heads).map(|_| PairRows::new(GROUP, t, buffers));
                Box::new(Pairwise {
                    masks,
                    groups: groups.collect(),
                })
            }),
            attention,
        }
    }
}

impl Attention {
    /// Where a head is in buffers by head.
    fn place(&self, head: usize) -> Range<usize> {
        let size = self.length * self.size();
        head * size..(head + 1) * size
    }

    /// The columns of a head in a row of all heads.
    fn columns(&self, head: usize) -> Columns {
        Columns {
            stride: self.width,
            offset: head * self.size(),
            size: self.size(),
        }
    }

    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.width..rows.end * self.width
    }

    /// What a head reads.
    fn inputs<'x>(&self, c: Context<'x>, head: usize, read: &'x [Vec<Lane>; 3]) -> Inputs<'x> {
        let [queries, keys, values] = read.each_ref().map(|all| &all[self.place(head)]);
        Inputs {
            queries,
            keys,
            values,
            asking: Asking::Query,
            data: 0,
            columns: Columns {
                stride: self.size(),
                offset: 0,
                size: self.size(),
            },
            relative: self.scheme.relative,
            positions: self.v.as_ref().map_or(&[], |v| c.weight(v)),
            lag_columns: self.columns(head),
            bias: false,
        }
    }

    /// What the masks of relative positions follow from, in training that drops some.
    fn draw(&self, c: Context) -> Option<Draw> {
        let ((rate, first), keys) = self.dropped.zip(c.batch_keys)?;
        Some(Draw { keys, rate, first })
    }

    /// How much of the output's bias a source writes: each head as much as any other.
    fn share_of_bias(&self, source: Option<usize>) -> f32 {
        source.map_or(1.0, |_| 1.0 / self.heads as f32)
    }

    /// The bias of queries, keys or values.
    fn read_bias(&self, reader: usize) -> Option<&Range<usize>> {
        let Biases { q, k, v, .. } = self.biases.as_ref()?;
        Some([q, k, v][reader])
    }

    /// Turns queries or keys by their angles, forward or back.
    fn turn(
        &self,
        reader: usize,
        rows: Range<usize>,
        turns: &[[f32; 2]],
        sign: f32,
        by_head: &mut [Lane],
    ) {
        let (size, is_value) = (self.size(), reader == 2);
        if self.scheme.angle.is_none() || is_value {
            return;
        }
        for head in 0..self.heads {
            let own = &mut by_head[self.place(head)][rows.start * size..rows.end * size];
            positions::turn(&turns[rows.start * size / 2..], size, sign, own);
        }
    }

    /// Copies rows of all heads, [t, d], to where each head has its own.
    fn split(&self, rows: Range<usize>, stream: &[Lane], by_head: &mut [Lane]) {
        for head in 0..self.heads {
            let columns = self.columns(head);
            let own = by_head[self.place(head)].chunks_exact_mut(columns.size);
            for (own, i) in own.skip(rows.start).zip(rows.clone()) {
                own.copy_from_slice(columns.row(stream, i));
            }
        }
    }

    /// The inverse of [`split`](Self::split).
    fn join(&self, rows: Range<usize>, by_head: &[Lane], stream: &mut [Lane]) {
        for head in 0..self.heads {
            let columns = self.columns(head);
            let own = by_head[self.place(head)].chunks_exact(columns.size);
            for (own, i) in own.skip(rows.start).zip(rows.clone()) {
                columns.row_mut(stream, i).copy_from_slice(own);
            }
        }
    }

    /// The rows of W_O that a head is multiplied with.
    fn rows_of_w_o(&self, w_o: &Range<usize>, head: usize) -> Range<usize> {
        let first = w_o.start + head * self.size() * self.width;
        first..first + self.size() * self.width
    }
}

/// Adds the uniform part to what a head averaged, or takes it away.
fn shift(out: &mut [Lane], means: &[Lane], sign: f32) {
    for (x, &mean) in out.iter_mut().zip(means) {
        *x += mean * sign;
    }
}

impl AttentionPass {
    /// What [`write`](BlockPass::write) writes, up to the bias.
    fn write_without_bias(
        &self,
        c: Context,
        source: Option<usize>,
        rows: Range<usize>,
        base: Option<&[Lane]>,
        out: &mut [Lane],
    ) {
        let (attention, level) = (&*self.attention, c.level);
        let (d, size) = (attention.width, attention.size());
        let averaged = &self.averaged[attention.span(&rows)];
        let Some(w_o) = &attention.w_o else {
            return match base {
                None => out.copy_from_slice(averaged),
                Some(base) => {
                    for ((sum, &base), &own) in out.iter_mut().zip(base).zip(averaged) {
                        *sum = base + own;
                    }
                }
            };
        };
        if let Some(head) = source.filter(|_| attention.heads > 1) {
            let own = &self.by_head[attention.place(head)][rows.start * size..rows.end * size];
            let w_o = c.weight(&attention.rows_of_w_o(w_o, head));
            linear::set_forward(level, own, w_o, size, out);
        } else if let Some(base) = base {
            out.copy_from_slice(base);
            return linear::add_forward(level, averaged, c.weight(w_o), d, d, out);
        } else {
            linear::set_forward(level, averaged, c.weight(w_o), d, out);
        }
        for (sum, &base) in out.iter_mut().zip(base.into_iter().flatten()) {
            *sum += base;
        }
    }
}

impl BlockPass for AttentionPass {
    fn read(&mut self, c: Context, reader: usize, rows: Range<usize>, x: &[Lane]) {
        let attention = &*self.attention;
        let weight = [&attention.w_q, &attention.w_k, &attention.w_v][reader];
        let (span, d) = (attention.span(&rows), attention.width);
        let x = match &attention.convolution {
            Some(kernels) => {
                let (kernel, seen) = (c.weight(&kernels[reader]), &mut self.convolved[..x.len()]);
                short_convolution::forward(c.level, kernel, d, x, seen);
                &self.convolved[..x.len()]
            }
            None => x,
        };
        let target = &mut self.read[reader];
        let product = |y: &mut [Lane]| match attention.read_bias(reader) {
            Some(bias) => linear::forward(c.level, x, c.weight(weight), c.weight(bias), d, y),
            None => linear::set_forward(c.level, x, c.weight(weight), d, y),
        };
        if attention.heads == 1 {
            product(&mut target[span]);
        } else {
            let all = &mut self.d_averaged;
            product(&mut all[span]);
            attention.split(rows.clone(), all, target);
        }
        attention.turn(reader, rows, &self.turns, 1.0, target);
    }

    fn gather(&mut self, c: Context, rows: usize) {
        let attention = &*self.attention;
        if let (Some(pairwise), Some(draw)) = (&mut self.pairwise, attention.draw(c)) {
            pairwise.masks.draw(draw, attention.length, attention.width);
        }
        for head in 0..attention.heads {
            let inputs = attention.inputs(c, head, &self.read);
            if attention.draw(c).is_none() {
                self.groups[head].turn_to(&inputs);
                self.groups[head].drop_with(c.mask(head));
            }
            if let Some(Change::WithoutUniform | Change::UniformStopped) = c.change(head) {
                let means = &mut self.means[head];
                means.resize(attention.length * attention.size(), Lane::ZERO);
                clamped::means(c.level, 0..rows, attention.size(), inputs.values, means);
            }
        }
    }

    fn forward(&mut self, c: Context, rows: Range<usize>) {
        let attention = &*self.attention;
        let size = attention.size();
        let span = rows.start * size..rows.end * size;
        for head in 0..attention.heads {
            let (rows, inputs) = (rows.clone(), attention.inputs(c, head, &self.read));
            let out = match attention.heads {
                1 => &mut self.averaged[..],
                _ => &mut self.by_head[attention.place(head)],
            };
            let change = c.change(head);
            if let Some(Change::Given(table)) = change {
                clamped::forward(c.level, table, rows, size, inputs.values, out);
                continue;
            }
            match &mut self.pairwise {
                Some(pairwise) if attention.draw(c).is_some() => {
                    let (masks, group) = (&pairwise.masks, &mut pairwise.groups[head]);
                    let mask = c.mask(head);
                    pairwise::weights(c.level, &inputs, masks, mask.as_ref(), rows.clone(), group);
                    pairwise::averages(c.level, &inputs, rows, group, out);
                }
                _ => fast::forward(c.level, &inputs, rows, &mut self.groups[head], out),
            }
            if let Some(Change::WithoutUniform) = change {
                shift(
                    &mut out[span.clone()],
                    &self.means[head][span.clone()],
                    -1.0,
                );
            }
        }
        if attention.heads > 1 {
            attention.join(rows, &self.by_head, &mut self.averaged);
        }
    }

    fn write(
        &self,
        c: Context,
        source: Option<usize>,
        rows: Range<usize>,
        base: Option<&[Lane]>,
        out: &mut [Lane],
    ) {
        self.write_without_bias(c, source, rows, base, out);
        if let Some(b_o) = self.attention.output_bias() {
            let (b_o, share) = (c.weight(b_o), self.attention.share_of_bias(source));
            for row in out.chunks_exact_mut(b_o.len()) {
                for (x, &b) in row.iter_mut().zip(b_o) {
                    *x += Lane::splat(share * b);
                }
            }
        }
    }

    fn repeat(&mut self, c: Context, rows: Range<usize>) {
        for head in 0..self.attention.heads {
            if !matches!(c.change(head), Some(Change::Given(_))) {
                let inputs = self.attention.inputs(c, head, &self.read);
                match &mut self.pairwise {
                    Some(pairwise) if self.attention.draw(c).is_some() => {
                        let (masks, group) = (&pairwise.masks, &mut pairwise.groups[head]);
                        let (mask, rows) = (c.mask(head), rows.clone());
                        pairwise::weights(c.level, &inputs, masks, mask.as_ref(), rows, group);
                    }
                    _ => fast::weights(c.level, &inputs, rows.clone(), &mut self.groups[head]),
                }
            }
        }
    }

    fn write_backward(
        &mut self,
        c: Context,
        source: Option<usize>,
        rows: Range<usize>,
        d_out: &[Lane],
        grads: &mut [f32],
    ) {
        let (attention, level) = (&*self.attention, c.level);
        let (d, size) = (attention.width, attention.size());
        let span = attention.span(&rows);
        let Some(w_o) = &attention.w_o else {
            return self.d_averaged[span].copy_from_slice(d_out);
        };
        if let Some(b_o) = attention.output_bias() {
            let (share, db) = (attention.share_of_bias(source), &mut grads[b_o.clone()]);
            if share == 1.0 {
                linear::add_bias_gradient(level, d_out, db);
            } else {
                let mut whole = vec![0.0; d];
                linear::add_bias_gradient(level, d_out, &mut whole);
                db.iter_mut()
                    .zip(whole)
                    .for_each(|(sum, part)| *sum += share * part);
            }
        }
        // Averages times W_O: all of them, or a head's columns times its rows.
        let Some(head) = source.filter(|_| attention.heads > 1) else {
            let (averaged, d_averaged) = (&self.averaged[span.clone()], &mut self.d_averaged[span]);
            linear::set_input_backward(level, c.weight(w_o), d, d_out, d_averaged);
            return linear::add_weight_gradient(level, averaged, d_out, d, &mut grads[w_o.clone()]);
        };
        let place = attention.rows_of_w_o(w_o, head);
        let (own, w_o) = (rows.start * size..rows.end * size, c.weight(&place));
        let averaged = &self.by_head[attention.place(head)][own.clone()];
        let d_own = &mut self.d_by_head[attention.place(head)][own];
        linear::set_input_backward(level, w_o, size, d_out, d_own);
        linear::add_weight_gradient(level, averaged, d_out, size, &mut grads[place]);
        let columns = attention.columns(head);
        for (d_own, i) in d_own.chunks_exact(size).zip(rows) {
            columns
                .row_mut(&mut self.d_averaged, i)
                .copy_from_slice(d_own);
        }
    }

    fn backward(&mut self, c: Context, rows: Range<usize>, _grads: &mut [f32]) {
        let attention = &*self.attention;
        let [d_queries, d_keys, d_values] = &mut self.d_read;
        if rows.start == 0 {
            for sums in [&mut *d_keys, &mut *d_values, &mut self.d_positions] {
                sums.fill(Lane::ZERO);
            }
        }
        if attention.heads > 1 {
            attention.split(rows.clone(), &self.d_averaged, &mut self.d_by_head);
        }
        let size = attention.size();
        let span = rows.start * size..rows.end * size;
        for head in 0..attention.heads {
            let place = attention.place(head);
            let inputs = attention.inputs(c, head, &self.read);
            let (out, d_out) = match attention.heads {
                1 => (&mut self.averaged[..], &self.d_averaged[..]),
                _ => (
                    &mut self.by_head[place.clone()],
                    &self.d_by_head[place.clone()],
                ),
            };
            let queries = &mut d_queries[place.clone()];
            let change = c.change(head);
            if let Some(Change::Given(_) | Change::Stopped) = change {
                queries[span.clone()].fill(Lane::ZERO);
            }
            if let Some(Change::Given(table)) = change {
                let d_values = &mut d_values[place];
                clamped::backward(c.level, table, rows.clone(), size, d_out, d_values);
                continue;
            }
            if let Some(Change::WithoutUniform) = change {
                // The backward needs what the whole pattern averages.
                shift(&mut out[span.clone()], &self.means[head][span.clone()], 1.0);
            }
            let values = Some(&mut d_values[place.clone()]);
            let mut gradients = Gradients {
                queries,
                keys: &mut d_keys[place],
                values,
                positions: &mut self.d_positions,
            };
            if let Some(Change::Stopped) = change {
                let [queries, keys, positions] = &mut self.stopped;
                queries.resize(attention.length * size, Lane::ZERO);
                keys.resize(attention.length * size, Lane::ZERO);
                positions.resize(gradients.positions.len(), Lane::ZERO);
                (gradients.queries, gradients.keys) = (queries, keys);
                gradients.positions = positions;
            }
            if let (Some(pairwise), Some(_)) = (&mut self.pairwise, attention.draw(c)) {
                let (masks, group) = (&pairwise.masks, &mut pairwise.groups[head]);
                let rows = rows.clone();
                pairwise::backward(c.level, &inputs, masks, rows, group, d_out, &mut gradients);
                continue;
            }
            let group = &mut self.groups[head];
            fast::backward(
                c.level,
                &inputs,
                rows.clone(),
                group,
                (out, d_out),
                &mut gradients,
            );
        }
    }

    fn gather_backward(&mut self, c: Context, rows: usize, grads: &mut [f32]) {
        let attention = &*self.attention;
        for head in 0..attention.heads {
            if let Some(Change::WithoutUniform | Change::UniformStopped) = c.change(head) {
                let place = attention.place(head);
                let d_out = match attention.heads {
                    1 => &self.d_averaged[..],
                    _ => &self.d_by_head[place.clone()],
                };
                let d_values = &mut self.d_read[2][place];
                clamped::means_removed_backward(
                    c.level,
                    0..rows,
                    attention.size(),
                    d_out,
                    d_values,
                );
            }
        }
        if let Some(v) = &attention.v {
            let used = rows * attention.width;
            let (sums, grads) = (&self.d_positions[..used], &mut grads[v.clone()][..used]);
            sum_lanes(c.level, sums, grads);
        }
    }

    fn read_backward(
        &mut self,
        c: Context,
        reader: usize,
        rows: Range<usize>,
        back: &mut ReadBack,
    ) {
        let attention = &*self.attention;
        let weight = [&attention.w_q, &attention.w_k, &attention.w_v][reader];
        let (span, d_read) = (attention.span(&rows), &mut self.d_read[reader]);
        attention.turn(reader, rows.clone(), &self.turns, -1.0, d_read);
        let dy = match attention.heads {
            1 => &d_read[span],
            _ => {
                attention.join(rows, d_read, &mut self.d_averaged);
                &self.d_averaged[span]
            }
        };
        let (level, d) = (c.level, attention.width);
        if let Some(bias) = attention.read_bias(reader) {
            linear::add_bias_gradient(level, dy, &mut back.grads[bias.clone()]);
        }
        let Some(kernels) = &attention.convolution else {
            return back.product(level, c.weights, weight, d, dy);
        };
        // What the weight multiplied, once more: the three readers have one buffer for it.
        let (place, used) = (&kernels[reader], back.x.len());
        let (seen, d_seen) = (&mut self.convolved[..used], &mut self.d_convolved[..used]);
        short_convolution::forward(level, c.weight(place), d, back.x, seen);
        let mut product = ReadBack {
            x: seen,
            dx: &mut *d_seen,
            update: Update::Overwrite,
            grads: &mut *back.grads,
        };
        product.product(level, c.weights, weight, d, dy);
        short_convolution::add_input_backward(level, c.weight(place), d, d_seen, back.dx());
        let d_kernel = &mut back.grads[place.clone()];
        short_convolution::add_kernel_gradient(level, back.x, d_seen, d, d_kernel);
    }

    fn show(&self, c: Context, rows: usize, probe: AttnProbe) {
        for head in 0..self.attention.heads {
            let (place, change) = ((c.layer, head), c.change(head));
            if let Some(Change::Given(table)) = change {
                clamped::show(c.level, table, rows, place, probe);
                continue;
            }
            let inputs = self.attention.inputs(c, head, &self.read);
            let see = &mut |row: AttnRow| match change {
                Some(Change::WithoutUniform) => {
                    let share = Lane::splat(1.0 / (row.position + 1) as f32);
                    let left: Vec<Lane> = row.attn_pattern.iter().map(|&p| p - share).collect();
                    probe(AttnRow {
                        attn_pattern: &left,
                        ..row
                    });
                }
                _ => probe(row),
            };
            fast::show(c.level, &inputs, rows, place, |_| Lane::ZERO, see);
        }
    }
}
