//! Attention at work on eight sequences.

use std::ops::Range;
use std::sync::Arc;

use super::Attention;
use super::positions::{self, Turns};
use crate::lanes::Lane;
use crate::lanes::cross_lane::sum_lanes;
use crate::model::block::{Allocator, BlockPass, Context, ReadBack};
use crate::model::intervention::Pattern;
use crate::model::ops::attention::clamped::{self, Table};
use crate::model::ops::attention::fast::{
    self, Asking, Columns, Draw, Gradients, Inputs, MaskedPositions, PairMasks, TileRows,
};
use crate::model::ops::attention::{AttnProbe, RelativeTerm};
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
    /// What heads average, and its gradient, by head.
    averages: Vec<Lane>,
    d_averages: Vec<Lane>,
    /// The same as rows of all heads, [t, d], where there are several.
    joined: Vec<Lane>,
    d_joined: Vec<Lane>,
    /// What the current group of rows keeps, by head.
    groups: Vec<TileRows>,
    /// Of rotary positions.
    turns: Turns,
    /// Of queries, keys and values, by head.
    d_read: [Vec<Lane>; 3],
    /// Of the positions, by lane: [t, d]
    d_positions: Vec<Lane>,
    /// Of queries, keys and positions, for heads whose pattern gets no gradient.
    stopped: [Vec<Lane>; 3],
    /// Where training drops entries of relative positions.
    masks: Option<PairMasks>,
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
        let places = match attention.v {
            Some(_) => stream,
            None => [0, 0],
        };
        let drops = attention.dropped.is_some();
        Self {
            turns,
            convolved: buffers.lanes(convolved),
            d_convolved: buffers.lanes(convolved),
            read: [(); 3].map(|()| buffers.lanes(stream)),
            averages: buffers.lanes(stream),
            d_averages: buffers.lanes(stream),
            joined: buffers.lanes(several),
            d_joined: buffers.lanes(several),
            groups: (0..heads)
                .map(|_| TileRows::new(t, size, buffers))
                .collect(),
            d_read: [(); 3].map(|()| buffers.lanes(stream)),
            d_positions: buffers.lanes(places),
            stopped: [(); 3].map(|()| Vec::new()),
            masks: drops.then(|| PairMasks::new(t, attention.width, buffers)),
            attention,
        }
    }
}

/// A source, or all together: its rows of buffers by head, or of those of all heads; and what of W_O multiplies it.
struct Part {
    is_joined: bool,
    span: Range<usize>,
    w_o: Option<Range<usize>>,
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

    /// Where some rows of a head are in buffers by head.
    fn rows_of(&self, head: usize, rows: &Range<usize>) -> Range<usize> {
        let (first, size) = (head * self.length, self.size());
        (first + rows.start) * size..(first + rows.end) * size
    }

    /// Some rows of a source.
    fn part(&self, source: Option<usize>, rows: &Range<usize>) -> Part {
        let Some(head) = source.or((self.heads == 1).then_some(0)) else {
            return Part {
                is_joined: true,
                span: self.span(rows),
                w_o: self.w_o.clone(),
            };
        };
        let of_head = self.size() * self.width;
        Part {
            is_joined: false,
            span: self.rows_of(head, rows),
            w_o: self.w_o.as_ref().map(|w_o| {
                let first = w_o.start + head * of_head;
                first..first + of_head
            }),
        }
    }

    /// What a head reads.
    fn inputs<'x>(
        &self,
        c: Context<'x>,
        head: usize,
        read: &'x [Vec<Lane>; 3],
        masks: &'x Option<PairMasks>,
    ) -> Inputs<'x> {
        let [queries, keys, values] = read.each_ref().map(|all| &all[self.place(head)]);
        let meets = self.scheme.relative;
        let masks = masks.as_ref().filter(|_| self.draw(c).is_some());
        let masked = masks.map(|masks| MaskedPositions { masks, meets });
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
            relative: match masked {
                Some(_) => RelativeTerm::Absent,
                None => meets,
            },
            positions: self.v.as_ref().map_or(&[], |v| c.weight(v)),
            lag_columns: self.columns(head),
            bias: false,
            masked,
        }
    }

    /// What the masks of relative positions follow from, in training that drops some.
    fn draw(&self, c: Context) -> Option<Draw> {
        let ((rate, first), keys) = self.dropped.zip(c.dropout)?;
        let keys = keys.batch;
        Some(Draw { keys, rate, first })
    }

    /// How much of the output's bias a source writes: each head as much as any other.
    fn share_of_bias(&self, source: Option<usize>) -> f32 {
        source.map_or(1.0, |_| 1.0 / self.heads as f32)
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
            let own = &mut by_head[self.rows_of(head, &rows)];
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
            let all = &mut self.d_joined;
            product(&mut all[span]);
            attention.split(rows.clone(), all, target);
        }
        attention.turn(reader, rows, &self.turns, 1.0, target);
    }

    fn gather(&mut self, c: Context, _rows: usize) {
        let attention = &*self.attention;
        if let (Some(masks), Some(draw)) = (&mut self.masks, attention.draw(c)) {
            masks.draw(draw, attention.length, attention.width);
        }
        for (head, group) in self.groups.iter_mut().enumerate() {
            group.turn_to(&attention.inputs(c, head, &self.read, &self.masks));
            group.drop_with(c.mask(head));
        }
    }

    fn forward(&mut self, c: Context, rows: Range<usize>) {
        let (attention, size) = (&*self.attention, self.attention.size());
        for head in 0..attention.heads {
            let inputs = attention.inputs(c, head, &self.read, &self.masks);
            let (rows, out) = (rows.clone(), &mut self.averages[attention.place(head)]);
            if let Some(table) = c.table(head) {
                out[rows.start * size..rows.end * size].fill(Lane::ZERO);
                clamped::forward(c.level, table, rows, size, inputs.values, out);
                continue;
            }
            fast::forward(c.level, &inputs, rows.clone(), &mut self.groups[head], out);
            if let Some(Pattern::WithoutUniform) = c.change(head) {
                let taken = Table::Uniform(-1.0);
                clamped::forward(c.level, taken, rows, size, inputs.values, out);
            }
        }
        if attention.heads > 1 {
            attention.join(rows, &self.averages, &mut self.joined);
        }
    }

    fn write(&self, c: Context, source: Option<usize>, rows: Range<usize>, out: &mut [Lane]) {
        let part = self.attention.part(source, &rows);
        let averages = if part.is_joined {
            &self.joined
        } else {
            &self.averages
        };
        let averages = &averages[part.span];
        match part.w_o {
            Some(w_o) => {
                let (inner, d) = (averages.len() / rows.len(), self.attention.width);
                linear::add_forward(c.level, averages, c.weight(&w_o), inner, d, out);
            }
            None => {
                for (sum, &own) in out.iter_mut().zip(averages) {
                    *sum += own;
                }
            }
        }
        if let Some(b_o) = self.attention.output_bias() {
            linear::add_rows(c.weight(b_o), self.attention.share_of_bias(source), out);
        }
    }

    fn repeat(&mut self, c: Context, rows: Range<usize>) {
        for (head, group) in self.groups.iter_mut().enumerate() {
            if c.table(head).is_none() {
                let inputs = self.attention.inputs(c, head, &self.read, &self.masks);
                fast::weights(c.level, &inputs, rows.clone(), group);
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
        let Part {
            is_joined,
            span,
            w_o,
        } = attention.part(source, &rows);
        let (averages, d_averages) = match is_joined {
            true => (&self.joined, &mut self.d_joined),
            false => (&self.averages, &mut self.d_averages),
        };
        let (averages, d_averages) = (&averages[span.clone()], &mut d_averages[span]);
        match w_o {
            Some(w_o) => {
                let inner = averages.len() / rows.len();
                linear::set_input_backward(level, c.weight(&w_o), inner, d_out, d_averages);
                linear::add_weight_gradient(level, averages, d_out, inner, &mut grads[w_o]);
            }
            None => d_averages.copy_from_slice(d_out),
        }
        if is_joined {
            attention.split(rows, &self.d_joined, &mut self.d_averages);
        }
        if let Some(b_o) = attention.output_bias() {
            let (share, db) = (attention.share_of_bias(source), &mut grads[b_o.clone()]);
            if share == 1.0 {
                return linear::add_bias_gradient(level, d_out, db);
            }
            let mut whole = vec![0.0; db.len()];
            linear::add_bias_gradient(level, d_out, &mut whole);
            let sums = db.iter_mut().zip(whole);
            sums.for_each(|(sum, part)| *sum += share * part);
        }
    }

    fn backward(&mut self, c: Context, rows: Range<usize>, _grads: &mut [f32]) {
        let (attention, size) = (&*self.attention, self.attention.size());
        let [d_queries, d_keys, d_values] = &mut self.d_read;
        if rows.start == 0 {
            for sums in [&mut *d_keys, &mut *d_values, &mut self.d_positions] {
                sums.fill(Lane::ZERO);
            }
        }
        for head in 0..attention.heads {
            let (level, rows, place) = (c.level, rows.clone(), attention.place(head));
            let inputs = attention.inputs(c, head, &self.read, &self.masks);
            let (values, d_values) = (inputs.values, &mut d_values[place.clone()]);
            let out = &mut self.averages[place.clone()];
            let d_out = &self.d_averages[place.clone()];
            let (mut queries, mut keys) = (&mut d_queries[place.clone()], &mut d_keys[place]);
            let mut positions = &mut self.d_positions[..];
            let change = c.change(head);
            match change {
                None => {}
                Some(Pattern::Target(_) | Pattern::Data(_) | Pattern::Itself) => {
                    queries[rows.start * size..rows.end * size].fill(Lane::ZERO);
                    let lengths = [queries.len(), keys.len(), positions.len()];
                    for (buffer, length) in self.stopped.iter_mut().zip(lengths) {
                        buffer.resize(length, Lane::ZERO);
                    }
                    [queries, keys, positions] = self.stopped.each_mut().map(|all| &mut all[..]);
                }
                Some(Pattern::WithoutUniform | Pattern::UniformItself) => {
                    let (all, taken) = (Table::Uniform(1.0), Table::Uniform(-1.0));
                    if change == Some(Pattern::WithoutUniform) {
                        // The backward needs what the whole pattern averages.
                        clamped::forward(level, all, rows.clone(), size, values, out);
                    }
                    clamped::backward(level, taken, rows.clone(), size, d_out, d_values);
                }
            }
            if let Some(table) = c.table(head) {
                clamped::backward(level, table, rows, size, d_out, d_values);
                continue;
            }
            let mut gradients = Gradients {
                queries,
                keys,
                values: Some(d_values),
                positions,
            };
            let (group, of_out) = (&mut self.groups[head], (&*out, d_out));
            fast::backward(level, &inputs, rows, group, of_out, &mut gradients);
        }
    }

    fn gather_backward(&mut self, c: Context, rows: usize, grads: &mut [f32]) {
        if let Some(v) = &self.attention.v {
            let used = rows * self.attention.width;
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
                attention.join(rows, d_read, &mut self.d_joined);
                &self.d_joined[span]
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
        d_seen.fill(Lane::ZERO);
        let mut product = ReadBack {
            x: seen,
            dx: &mut *d_seen,
            grads: &mut *back.grads,
        };
        product.product(level, c.weights, weight, d, dy);
        short_convolution::input_backward(level, c.weight(place), d, d_seen, back.dx);
        let d_kernel = &mut back.grads[place.clone()];
        short_convolution::add_kernel_gradient(level, back.x, d_seen, d, d_kernel);
    }

    fn show(&self, c: Context, rows: usize, probe: AttnProbe) {
        for head in 0..self.attention.heads {
            let place = (c.layer, head);
            if let Some(table) = c.table(head) {
                clamped::show(c.level, table, rows, place, probe);
                continue;
            }
            let inputs = self.attention.inputs(c, head, &self.read, &self.masks);
            let signed = c.change(head) == Some(Pattern::WithoutUniform);
            fast::show(c.level, &inputs, rows, place, signed, probe);
        }
    }
}
