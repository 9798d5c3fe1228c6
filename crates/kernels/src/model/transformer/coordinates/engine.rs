//! Coordinates as an engine: a whole transformer on a few numbers per position.

use super::rows::affine;
use super::{Coordinates, Scratch, Tables};
use crate::lanes::{LANES, Lane, Level};
use crate::model::engine::{BlockGradient, Engine, InTraining, LogitBuffers, LossRows};
use crate::model::ops::attention::{AttnProbe, EXPONENTIAL, clamped, fast};
use crate::model::transformer::groups;
use crate::scratch::Allocator;

impl Engine for Coordinates {
    type Prepared = Tables;
    type Scratch = Scratch;

    fn level(&self) -> Level {
        self.level
    }

    fn shape(&self) -> [usize; 2] {
        [self.shape.length, self.shape.states]
    }

    fn prepared(&self, buffers: &mut Allocator) -> Tables {
        self.new_tables(buffers)
    }

    fn prepare(&self, params: &[f32], tables: &mut Tables) {
        self.fill_tables(params, tables);
    }

    fn scratch(&self, buffers: &mut Allocator) -> Scratch {
        self.new_scratch(buffers)
    }

    fn forward(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Scratch,
        out: &mut [Lane],
    ) {
        self.forward_below(tables, inputs, work);
        self.forward_layer(tables, self.depth() - 1, first..inputs.len(), work);
        self.output(tables, first..inputs.len(), work, out);
    }

    fn gradient(
        &self,
        tables: &Tables,
        (inputs, _): InTraining,
        work: &mut Scratch,
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        grads: BlockGradient,
    ) {
        let (rows, top) = (inputs.len(), self.depth() - 1);
        let (outputs, grads) = (self.outputs(), grads.by_lane);
        self.forward_below(tables, inputs, work);
        work.start_backward();
        // The first layer works on all rows at once.
        let size = match top {
            0 => rows,
            _ => self.stages[top].group_size(),
        };
        for group in groups(0..rows, size) {
            self.forward_layer(tables, top, group.clone(), work);
            self.output(tables, group.clone(), work, logits);
            let span = group.start * outputs..group.end * outputs;
            let d_rows = &mut d_logits[span.clone()];
            loss(group.clone(), &logits[span], d_rows);
            self.output_backward(tables, group.clone(), work, d_rows, grads);
            self.backward_layer(tables, top, group, work, grads);
        }
        self.backward_below(tables, top, rows, work, grads);
    }

    fn gradient_len(&self) -> usize {
        self.size
    }

    fn pull_back(&self, _params: &[f32], tables: &mut Tables, gradient: &[f32], grads: &mut [f32]) {
        grads.fill(0.0);
        self.add_pulled_back(tables, gradient, grads);
    }

    /// The pattern, and scores without the part that cancels in the softmax.
    fn observe(&self, tables: &Tables, rows: usize, work: &Scratch, probe: AttnProbe) {
        for (l, (stage, layer)) in self.stages.iter().zip(&work.layers).enumerate() {
            let (m, y) = (stage.m, layer.read());
            let mut w = vec![Lane::ZERO; rows * m];
            for (h, (places, head)) in stage.heads.iter().zip(&work.heads[l]).enumerate() {
                if let Some(table) = places.change.table(&head.given, self.shape.length) {
                    clamped::show(self.level, table, rows, (l, h), probe);
                    continue;
                }
                // The first layer's convolutions do not keep it.
                let qk = &tables.data()[places.qk.clone()];
                affine(self.level, &y[..rows * m], qk, (m, m), &mut w);
                let inputs = self.inputs(tables, (l, h), y, &w);
                let signed = places.change.leaves_uniform_out();
                fast::show(self.level, &inputs, rows, (l, h), signed, probe);
            }
        }
    }

    /// An upper bound: it includes gradients of data and a second pass over the last layer's scores, which are never
    /// computed.
    fn multiplications(&self) -> usize {
        let (t, k) = (self.shape.length, self.shape.states);
        let (pairs, top) = (t * (t + 1) / 2, self.depth() - 1);
        let mut count = 0;
        for (l, stage) in self.stages[..=top].iter().enumerate() {
            let m = stage.m;
            // A score and an average forward; a slope, and shares for row, key (two) and lag backward.
            let forward = 2 * m + EXPONENTIAL;
            let again = if l == 0 || l == top { 0 } else { forward };
            let attention = match l {
                0 => 2 * k,
                _ => forward + again + 5 * m + 1,
            };
            count += stage.heads.len() * (attention * pairs + 3 * m * m * t);
            count += 3 * self.stages[l + 1].stream * k * t;
        }
        // A quadratic form forward; its gradient by coordinate and by coefficient backward.
        let norms = self.stages.iter().filter_map(|stage| stage.form.as_ref());
        count + norms.map(|form| 3 * form.len() * t).sum::<usize>()
    }
}
