//! Forward and backward over one block of lanes, in coordinates.
//!
//! The last layer goes by small groups of rows: forward, loss and backward of a group follow one another, because
//! a row's logits depend on nothing that later rows do. So the exponentials of its attention are computed once, and never leave
//! the cache. Layers below compute theirs again in the backward (the first one has none as a rule, see [`one_hot`]).

use std::ops::Range;

use super::by_row;
use super::narrow::{self, KernelKey};
use super::one_hot;
use super::rows::{add_part, affine, affine_backward, copy_part, groups};
use super::{Coordinates, HeadPlan, LayerPlan, Meets, Tables};
use crate::lanes::{LANES, Lane};
use crate::model::choose::Kernel;
use crate::model::engine::{LogitBuffers, LossRows};
use crate::model::ops::attention::fast::{self, Asking, Columns};
use crate::model::ops::attention::{AttnProbe, RelativeTerm};
use crate::model::ops::convolution::Planes;
use crate::model::ops::linear;

impl LayerPlan {
    /// Rows that go forward, and backward, together.
    fn group_size(&self) -> usize {
        match self.uses(Kernel::Narrow) {
            true => narrow::GROUP,
            false => fast::GROUP,
        }
    }
}

/// Activations of one block and scratch for its backward.
#[derive(Clone, Debug)]
pub struct Work {
    /// One-hot, k planes of t.
    symbols: Planes<Lane>,
    layers: Vec<LayerWork>,
    /// The last layer's heads, where its rows are lanes.
    by_row: Vec<by_row::HeadWork>,
}

#[derive(Clone, Debug)]
struct LayerWork {
    /// [t, m]
    y: Vec<Lane>,
    dy: Vec<Lane>,
    heads: Vec<HeadWork>,
}

#[derive(Clone, Debug)]
struct HeadWork {
    /// [t, m]
    w: Vec<Lane>,
    c: Vec<Lane>,
    dw: Vec<Lane>,
    dc: Vec<Lane>,
    group: Group,
    /// In the first layer.
    convolution: Option<one_hot::Work>,
}

/// The rows that a head is working on.
#[derive(Clone, Debug)]
enum Group {
    Narrow(narrow::Group),
    Wide(fast::Group),
}

impl Coordinates {
    /// Room for a forward and a backward over one block.
    pub fn work(&self) -> Work {
        let lanes = |width: usize| vec![Lane::ZERO; self.length * width];
        let head = |plan: &LayerPlan, m: usize| HeadWork {
            w: lanes(m),
            c: lanes(m),
            dw: lanes(m),
            dc: lanes(m),
            group: match plan.uses(Kernel::Narrow) {
                true => Group::Narrow(narrow::Group::new(self.length)),
                false => Group::Wide(fast::Group::new(self.length, m)),
            },
            convolution: plan
                .uses(Kernel::OneHot)
                .then(|| one_hot::Work::new(self.states, self.length)),
        };
        let layer = |plan: &LayerPlan| LayerWork {
            y: lanes(plan.m),
            dy: lanes(plan.m),
            heads: plan.heads.iter().map(|_| head(plan, plan.m)).collect(),
        };
        Work {
            symbols: Planes::new(self.length, self.states, Lane::ZERO),
            layers: self.layers.iter().map(layer).collect(),
            by_row: self
                .heads_by_row()
                .map(|(m, _)| by_row::HeadWork::new(self.states, m, self.length))
                .collect(),
        }
    }

    /// Writes the logits of the positions from `first` on into their rows of `logits` ([rows, k]).
    pub fn forward(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        self.forward_below(tables, inputs, work);
        let top = self.layers.len() - 1;
        self.turn_to(tables, top, work);
        self.forward_layer(tables, top, first..inputs.len(), work);
        self.output(tables, first..inputs.len(), work, logits);
    }

    /// Forward, loss and backward: adds the gradient of every table, by lane. `loss` is shown logits as they come and
    /// answers with their gradient; both are [rows, k].
    pub fn gradient(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        work: &mut Work,
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        grads: &mut [Lane],
    ) {
        let (rows, top) = (inputs.len(), self.layers.len() - 1);
        self.forward_below(tables, inputs, work);
        for layer in &mut work.layers {
            layer.dy.fill(Lane::ZERO);
        }
        if !work.by_row.is_empty() {
            let top = work.layers.last_mut().expect("at least one layer");
            let coordinates = (&top.y[..], &mut top.dy[..]);
            let logits = (logits, d_logits);
            self.last_by_row(
                tables,
                inputs,
                coordinates,
                &mut work.by_row,
                logits,
                loss,
                grads,
            );
        } else {
            self.last_by_group(tables, rows, work, (logits, d_logits), loss, grads);
        }
        for l in (0..top).rev() {
            self.backward_layer(tables, l, 0..rows, work, grads);
        }
    }

    /// Forward, loss and backward of the last layer, a group of rows after the other.
    fn last_by_group(
        &self,
        tables: &Tables,
        rows: usize,
        work: &mut Work,
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
            let own = group.start * states..group.end * states;
            loss(
                group.clone(),
                &logits[own.clone()],
                &mut d_logits[own.clone()],
            );
            self.output_backward(tables, group.clone(), work, &d_logits[own], grads);
            self.backward_layer(tables, top, group, work, grads);
        }
    }

    /// The way back through a [`forward`](Self::forward) of all `rows`, given the gradient of what it wrote: adds that of every table,
    /// by lane.
    pub fn backward(
        &self,
        tables: &Tables,
        rows: usize,
        work: &mut Work,
        d_out: &[Lane],
        grads: &mut [Lane],
    ) {
        for layer in &mut work.layers {
            layer.dy.fill(Lane::ZERO);
        }
        self.output_backward(tables, 0..rows, work, d_out, grads);
        for l in (0..self.layers.len()).rev() {
            self.backward_layer(tables, l, 0..rows, work, grads);
        }
    }

    /// The coordinates of the inputs, and all layers but the last.
    fn forward_below(&self, tables: &Tables, inputs: &[[u8; LANES]], work: &mut Work) {
        let Work {
            symbols, layers, ..
        } = work;
        one_hot::read(self.level, inputs, symbols, &mut layers[0].y);
        for l in 0..self.layers.len() - 1 {
            self.turn_to(tables, l, work);
            self.forward_layer(tables, l, 0..inputs.len(), work);
        }
    }

    /// Turns to layer `l`: must come before the first group of its rows, and after the layers below.
    fn turn_to(&self, tables: &Tables, l: usize, work: &mut Work) {
        let (plan, layer) = (&self.layers[l], &mut work.layers[l]);
        for (places, head) in plan.heads.iter().zip(&mut layer.heads) {
            if let Group::Wide(group) = &mut head.group {
                let positions = &tables.data[places.positions.clone()];
                group.turn_to(&self.wide(plan.m, &layer.y, &head.w, positions));
            }
        }
    }

    /// Some rows of layer `l`, and with them the coordinates after it.
    fn forward_layer(&self, tables: &Tables, l: usize, rows: Range<usize>, work: &mut Work) {
        let (plan, m) = (&self.layers[l], self.layers[l].m);
        let Work {
            symbols, layers, ..
        } = work;
        let (done, rest) = layers.split_at_mut(l + 1);
        let LayerWork { y, heads, .. } = &mut done[l];
        for (h, (places, head)) in plan.heads.iter().zip(heads.iter_mut()).enumerate() {
            let key = self.key(tables, l, h);
            if let (true, Some(work)) = (key.bounded, &mut head.convolution) {
                let (factors, c) = (&tables.factors[h], &mut head.c);
                one_hot::forward(self.level, factors, symbols, rows.end, work, c);
                continue;
            }
            let qk = &tables.data[places.qk.clone()];
            let part = rows.start * m..rows.end * m;
            affine(self.level, &y[part.clone()], qk, (m, m), &mut head.w[part]);
            for group in groups(rows.clone(), plan.group_size()) {
                self.forward_group(key, tables, places, y, head, group);
            }
        }
        // y′ = [y, c¹ … c^H]; what is after the last layer stays where it is.
        let Some(next) = rest.first_mut() else {
            return;
        };
        let stride = self.layers[l + 1].m;
        let sources = std::iter::once(&*y).chain(heads.iter().map(|head| &head.c));
        let next = &mut next.y[rows.start * stride..rows.end * stride];
        for (part, source) in sources.enumerate() {
            let source = &source[rows.start * m..rows.end * m];
            copy_part(self.level, source, m, stride, &mut next[part * m..]);
        }
    }

    /// Logits of some rows: logits_i = table₀ + [y, c¹ … c^H]_i · table₁…, with y and c of the last layer.
    fn output(&self, tables: &Tables, rows: Range<usize>, work: &Work, logits: &mut [Lane]) {
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

    /// Carries the gradient of some rows' logits on to y and c of the last layer: added to the one, set in the others.
    fn output_backward(
        &self,
        tables: &Tables,
        rows: Range<usize>,
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (level, outputs, m) = (
            self.level,
            self.outputs,
            self.layers[self.layers.len() - 1].m,
        );
        let LayerWork { y, dy, heads } = work.layers.last_mut().expect("at least one layer");
        let rest = &tables.data[self.output.clone()][outputs..];
        let (d_first, d_rest) = grads[self.output.clone()].split_at_mut(outputs);
        linear::bias_backward(level, d_logits, d_first);
        let own = rows.start * m..rows.end * m;
        let parts = heads.iter_mut().map(|head| {
            head.dc[own.clone()].fill(Lane::ZERO);
            (&head.c, &mut head.dc, 0)
        });
        let parts = std::iter::once((&*y, dy, self.data())).chain(parts);
        let tables = rest.chunks_exact(m * outputs);
        for ((part, d_part, data), (table, d_table)) in
            parts.zip(tables.zip(d_rest.chunks_exact_mut(m * outputs)))
        {
            let (part, d_part) = (&part[own.clone()], &mut d_part[own.clone()]);
            linear::weight_backward(level, part, m, outputs, d_logits, d_table);
            linear::input_backward(level, table, (m, outputs), data, d_logits, d_part);
        }
    }

    /// The gradients of some rows of layer `l`, given that of the coordinates after it (of the last layer: its dy and dc). Where the rows are one group, its
    /// forward must have come just before.
    fn backward_layer(
        &self,
        tables: &Tables,
        l: usize,
        rows: Range<usize>,
        work: &mut Work,
        grads: &mut [Lane],
    ) {
        let (plan, m) = (&self.layers[l], self.layers[l].m);
        let Work {
            symbols, layers, ..
        } = work;
        let (done, rest) = layers.split_at_mut(l + 1);
        let LayerWork { y, dy, heads } = &mut done[l];
        // y′ = [y, c¹ … c^H]
        if let Some(next) = rest.first() {
            let stride = self.layers[l + 1].m;
            let from = |part: usize| &next.dy[rows.start * stride + part * m..];
            let own = rows.start * m..rows.end * m;
            // All coordinates of the first layer are data.
            if l > 0 {
                add_part(self.level, from(0), m, stride, &mut dy[own.clone()]);
            }
            for (h, head) in heads.iter_mut().enumerate() {
                let dc = &mut head.dc[own.clone()];
                dc.fill(Lane::ZERO);
                add_part(self.level, from(1 + h), m, stride, dc);
            }
        }
        let part = rows.start * m..rows.end * m;
        for (h, (places, head)) in plan.heads.iter().zip(heads.iter_mut()).enumerate() {
            let key = self.key(tables, l, h);
            let d_positions = &mut grads[places.positions.clone()];
            if let (true, Some(work)) = (key.bounded, &mut head.convolution) {
                let (factors, c, dc) = (&tables.factors[h], &head.c, &head.dc);
                let (level, dw) = (self.level, &mut head.dw);
                one_hot::backward(
                    level,
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
                self.data(),
                &head.dw[part.clone()],
                &mut dy[part.clone()],
                &mut grads[places.qk.clone()],
            );
        }
    }

    /// Averages and weights of one group of rows.
    fn forward_group(
        &self,
        key: KernelKey,
        tables: &Tables,
        places: &HeadPlan,
        y: &[Lane],
        head: &mut HeadWork,
        rows: Range<usize>,
    ) {
        let positions = &tables.data[places.positions.clone()];
        let HeadWork { w, c, group, .. } = head;
        match group {
            Group::Narrow(group) => {
                let inputs = narrow::Inputs { y, w, positions };
                narrow::forward(key, &inputs, rows, group, c);
            }
            Group::Wide(group) => {
                let inputs = self.wide(key.m, y, w, positions);
                fast::forward(self.level, &inputs, rows, group, c);
            }
        }
    }

    /// Gradients of one group of rows, right after its forward.
    #[expect(
        clippy::too_many_arguments,
        reason = "all that one head reads and adds to"
    )]
    fn backward_group(
        &self,
        key: KernelKey,
        tables: &Tables,
        places: &HeadPlan,
        y: &[Lane],
        head: &mut HeadWork,
        rows: Range<usize>,
        dy: &mut [Lane],
        d_positions: &mut [Lane],
    ) {
        let positions = &tables.data[places.positions.clone()];
        let HeadWork {
            w,
            c,
            dw,
            dc,
            group,
            ..
        } = head;
        match group {
            Group::Narrow(group) => {
                let inputs = narrow::Inputs { y, w, positions };
                let mut own = narrow::Gradients {
                    y: dy,
                    w: dw,
                    positions: d_positions,
                };
                narrow::backward(key, &inputs, rows, group, (c, dc), &mut own);
            }
            Group::Wide(group) => {
                let inputs = self.wide(key.m, y, w, positions);
                let mut own = fast::Gradients {
                    queries: dw,
                    keys: dy,
                    values: None,
                    positions: d_positions,
                };
                fast::backward(self.level, &inputs, rows, group, c, dc, &mut own);
            }
        }
    }

    /// A head as attention of any size: its coordinates are keys and values at once.
    fn wide<'a>(
        &self,
        m: usize,
        y: &'a [Lane],
        w: &'a [Lane],
        positions: &'a [f32],
    ) -> fast::Inputs<'a> {
        fast::Inputs {
            queries: w,
            keys: y,
            values: y,
            asking: Asking::Key,
            data: self.data(),
            columns: Columns {
                stride: m,
                offset: 0,
                size: m,
            },
            relative: match self.meets {
                Meets::Key => RelativeTerm::Key,
                Meets::Query => RelativeTerm::Query,
            },
            positions,
            lag_columns: Columns {
                stride: 1 + m,
                offset: 1,
                size: m,
            },
            bias: true,
        }
    }

    /// How head `h` of layer `l` computes its scores.
    fn key(&self, tables: &Tables, l: usize, h: usize) -> KernelKey {
        KernelKey {
            level: self.level,
            m: self.layers[l].m,
            data: self.data(),
            bounded: tables.bounded[l][h],
            key: self.meets == Meets::Key,
        }
    }

    /// Shows what the last forward of `rows` rows did: scores, with the part that cancels in the softmax, and pattern.
    pub fn show(&self, tables: &Tables, rows: usize, work: &Work, probe: AttnProbe) {
        for (l, (plan, layer)) in self.layers.iter().zip(&work.layers).enumerate() {
            let (m, y) = (plan.m, &layer.y);
            let mut w = vec![Lane::ZERO; rows * m];
            for (h, places) in plan.heads.iter().enumerate() {
                // The first layer's convolutions do not leave it behind.
                let qk = &tables.data[places.qk.clone()];
                affine(self.level, &y[..rows * m], qk, (m, m), &mut w);
                let constant = &tables.data[places.constant.clone()];
                let cancels = |i: usize| {
                    let mut sum = Lane::splat(constant[0]);
                    for (&y, &c) in y[i * m..][..m].iter().zip(&constant[1..]) {
                        sum += y * c;
                    }
                    sum
                };
                let inputs = self.wide(m, y, &w, &tables.data[places.positions.clone()]);
                fast::show(self.level, &inputs, rows, (l, h), cancels, probe);
            }
        }
    }
}
