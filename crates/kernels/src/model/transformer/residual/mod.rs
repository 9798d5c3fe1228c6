//! Forward and backward over one block of lanes in the residual stream, for every architecture.
//!
//! The last layer is processed in small groups of rows, with forward, loss and backward of a
//! group one after the other, as in [`coordinates`](super::coordinates): a group's results are
//! used while they are in the cache.

mod activations;
mod changed;
mod dropout;
mod embed;
mod engine;
mod layer;
mod read;
mod scratch;

use std::ops::Range;

use self::scratch::Scratch;
use super::Transformer;
use super::coordinates::{Coordinates, Tables};
use crate::lanes::{LANES, Lane, Level};
use crate::model::dropout::DropoutKeys;
use crate::model::engine::{BlockGradient, LogitBuffers, LossRows};
use crate::model::intervention::{Plan, Reader};
use crate::model::ops::attention::fast::{self, GROUP};
use crate::model::ops::attention::{AttnProbe, AttnRow};
use crate::model::ops::linear;

pub use self::activations::activations;
pub use self::engine::Residual;

/// A transformer, its parameters as [`Residual`] prepared them, and the instruction level to use.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    shape: &'a Transformer,
    params: &'a [f32],
    /// The first layers, where they are in coordinates.
    below: Option<(&'a Coordinates, &'a Tables)>,
    /// The keys of the masks, in training.
    dropout: Option<&'a DropoutKeys>,
    /// Interventions, if there are any; means over the batch by slot of the plan ([t, d]); and other weights that
    /// replacements are computed with.
    plan: Option<&'a Plan>,
    means: &'a [Vec<f32>],
    others: &'a [Vec<f32>],
    level: Level,
}

/// Whether a gradient is added to what is there, or is the first.
#[derive(Clone, Copy, Debug)]
enum How {
    Add,
    Set,
}

impl<'a> Pass<'a> {
    /// Writes the logits of the positions from `first` on into their rows of `logits` ([rows, k]).
    ///
    /// `inputs` are the tokens of one block, at most t rows.
    pub fn forward(
        self,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Scratch,
        logits: &mut [Lane],
    ) {
        self.forward_below(inputs, first, work);
        for group in groups(first..inputs.len()) {
            self.forward_rows(self.top(), group, work);
        }
        self.output(first..inputs.len(), work, logits);
    }

    /// Forward, loss and backward: adds the gradient of every parameter, summed over lanes, and of the first
    /// layer's tables by lane. `loss` receives logits as they are computed and returns their gradient; both are
    /// [rows, k].
    pub fn gradient(
        self,
        inputs: &[[u8; LANES]],
        work: &mut Scratch,
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        mut grads: BlockGradient,
    ) {
        let grads = &mut grads;
        let (rows, k, top) = (inputs.len(), self.shape.states, self.top());
        self.forward_below(inputs, 0, work);
        work.slopes.begin();
        if let Some(changed) = &mut work.changed {
            changed.begin();
        }
        for group in groups(0..rows) {
            self.forward_rows(top, group.clone(), work);
            self.output(group.clone(), work, logits);
            let span = group.start * k..group.end * k;
            loss(
                group.clone(),
                &logits[span.clone()],
                &mut d_logits[span.clone()],
            );
            self.output_backward(group.clone(), work, &d_logits[span], grads.summed);
            self.backward_rows(top, group, work, grads);
        }
        self.project_backward(top, rows, work, grads);
        for l in (0..top).rev() {
            work.slopes.begin();
            if !self.is_below(l) {
                self.turn_to(l, work);
            }
            for group in groups(0..rows) {
                if !self.is_below(l) {
                    self.weights_again(l, group.clone(), work);
                }
                self.backward_rows(l, group, work, grads);
            }
            self.project_backward(l, rows, work, grads);
        }
        if self.below.is_none() {
            self.embed_backward(rows, work, grads.summed);
        }
    }

    fn top(self) -> usize {
        self.shape.layers.len() - 1
    }

    /// All layers but the last, and what the last one's attention reads, for rows from `first` on.
    fn forward_below(self, inputs: &[[u8; LANES]], first: usize, work: &mut Scratch) {
        let (rows, top) = (inputs.len(), self.top());
        self.replace(inputs, work);
        if self.below.is_none() {
            self.embed(inputs, work);
        }
        for l in 0..=top {
            if !self.is_below(l) {
                self.project(l, rows, work);
                self.turn_to(l, work);
            } else if !self.is_below(l + 1)
                && let (Some((plan, tables)), Some(below)) = (self.below, &mut work.below)
            {
                let first = if l == top { first } else { 0 };
                let after = match self.shape.layers[l].mlp {
                    Some(_) => &mut work.layers[l].middle,
                    None => &mut work.layers[l + 1].input,
                };
                let after = &mut after[..rows * self.shape.width];
                plan.forward(tables, inputs, first, below, after);
            }
            if l < top {
                for group in groups(0..rows) {
                    self.forward_rows(l, group, work);
                }
            }
        }
    }

    /// Whether the attention of layer `l` is computed beforehand for all rows, in coordinates.
    fn is_below(self, l: usize) -> bool {
        self.below.is_some_and(|(plan, _)| l < plan.depth())
    }

    /// logits_i = norm(h_i) P
    fn output(self, rows: Range<usize>, work: &mut Scratch, logits: &mut [Lane]) {
        let (d, k) = (self.shape.width, self.shape.states);
        let span = rows.start * d..rows.end * d;
        let stream = (&work.resid[..], &mut work.final_normed);
        let norm = &self.shape.final_norm;
        let source = self.read(Reader::Logits, norm, stream, &mut work.changed, span);
        let logits = &mut logits[rows.start * k..rows.end * k];
        let unembed = &self.params[self.shape.unembed.clone()];
        linear::set_forward(self.level, source, unembed, d, logits);
    }

    /// logits_i = norm(h_i) P: sets dh_i.
    fn output_backward(
        self,
        rows: Range<usize>,
        work: &mut Scratch,
        d_logits: &[Lane],
        grads: &mut [f32],
    ) {
        let (d, unembed) = (self.shape.width, self.shape.unembed.clone());
        let span = rows.start * d..rows.end * d;
        work.slopes.resid[span.clone()].fill(Lane::ZERO);
        let slopes = (&mut work.slopes.resid[..], &mut work.slopes.normed[..]);
        let stream = (&self.shape.final_norm, &work.resid[..], &work.final_normed);
        let (readers, changed) = ([Reader::Logits], &mut work.changed);
        self.read_backward(
            (&readers, changed),
            stream,
            span,
            slopes,
            grads,
            |_, source, how, d_source, grads| {
                let unembed = (unembed.clone(), d);
                self.product_backward(source, unembed, d_logits, how, d_source, grads);
            },
        );
    }

    /// y += x W  ⟹  dx += dy Wᵀ (or = dy Wᵀ), dW += xᵀ dy, where W is [inner, outer].
    fn product_backward(
        self,
        x: &[Lane],
        (weight, inner): (Range<usize>, usize),
        dy: &[Lane],
        how: How,
        dx: &mut [Lane],
        grads: &mut [f32],
    ) {
        let (level, w) = (self.level, &self.params[weight.clone()]);
        let outer = w.len() / inner;
        match how {
            How::Add => linear::input_backward(level, w, (inner, outer), 0, dy, dx),
            How::Set => linear::set_input_backward(level, w, inner, dy, dx),
        }
        linear::add_weight_gradient(level, x, dy, inner, &mut grads[weight]);
    }

    /// Shows the attention of the last forward.
    pub fn show(self, rows: usize, work: &Scratch, probe: AttnProbe) {
        for (l, layer) in self.shape.layers.iter().enumerate() {
            if self.is_below(l) {
                if let (0, Some((plan, tables)), Some(below)) = (l, self.below, &work.below) {
                    plan.show(tables, rows, below, probe);
                }
                continue;
            }
            for h in 0..layer.heads {
                if self.show_changed((l, h), rows, work, probe) {
                    continue;
                }
                let inputs = self.head(l, h, &work.layers[l].read);
                let see = &mut |row: AttnRow| self.shown(row, probe);
                fast::show(self.level, &inputs, rows, (l, h), |_| Lane::ZERO, see);
            }
        }
    }
}

/// Rows in groups.
fn groups(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(GROUP)
        .map(move |first| first..(first + GROUP).min(end))
}
