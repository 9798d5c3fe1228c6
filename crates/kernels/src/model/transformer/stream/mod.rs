//! Forward and backward over eight sequences in the residual stream, for every list of blocks.
//!
//! The blocks from the last one that gathers on are processed in small groups of rows, with forward, loss and backward
//! of a group one after the other: a group's results are used while they are in the cache.

mod activations;
mod edits;
mod ends;
mod engine;
mod scratch;
mod sites;

use std::ops::Range;

use self::scratch::Scratch;
use super::coordinates::{Coordinates, Tables};
use super::{Transformer, groups};
use crate::lanes::{LANES, Lane, Level};
use crate::model::block::{Context, GROUP};
use crate::model::dropout::DropoutKeys;
use crate::model::engine::{BlockGradient, Engine, LogitBuffers, LossRows};
use crate::model::intervention::Plan;
use crate::model::ops::attention::AttnProbe;

pub use self::activations::activations;
pub use self::engine::Stream;

/// A transformer, its parameters as [`Stream`] prepared them, and the instruction level to use.
#[derive(Clone, Copy)]
struct Pass<'a> {
    shape: &'a Transformer,
    weights: &'a [f32],
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

impl<'a> Pass<'a> {
    /// Writes the logits of the positions from `first` on into their rows of `logits` ([rows, k]).
    ///
    /// `inputs` are the tokens of one block of lanes, at most t rows.
    fn forward(
        self,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Scratch,
        logits: &mut [Lane],
    ) {
        let top = self.forward_below(inputs, first, work);
        for rows in groups(first..inputs.len(), GROUP) {
            self.forward_rows(top.clone(), rows, work);
        }
        self.output(first..inputs.len(), work, logits);
    }

    /// Forward, loss and backward: adds the gradient of every parameter, summed over lanes, and of the first
    /// layers' tables by lane. `loss` receives logits as they are computed and returns their gradient; both are
    /// [rows, k].
    fn gradient(
        self,
        inputs: &[[u8; LANES]],
        work: &mut Scratch,
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        grads: BlockGradient,
    ) {
        let (count, k) = (inputs.len(), self.shape.states);
        let top = self.forward_below(inputs, 0, work);
        if let Some(edits) = &mut work.edits {
            edits.begin();
        }
        for rows in groups(0..count, GROUP) {
            self.forward_rows(top.clone(), rows.clone(), work);
            self.output(rows.clone(), work, logits);
            let span = rows.start * k..rows.end * k;
            let d_rows = &mut d_logits[span.clone()];
            loss(rows.clone(), &logits[span], d_rows);
            self.output_backward(rows.clone(), work, d_rows, grads.summed);
            self.backward_rows(top.clone(), rows, work, grads.summed);
        }
        self.gather_backward(top, count, work, grads.summed);
        let lower = self.segments().rev().skip(1);
        for segment in lower {
            for rows in groups(0..count, GROUP) {
                for s in segment.clone() {
                    let c = self.context(s, &work.given);
                    work.passes[s].repeat(c, rows.clone());
                }
                self.backward_rows(segment.clone(), rows, work, grads.summed);
            }
            self.gather_backward(segment, count, work, grads.summed);
        }
        match (self.below, &mut work.below) {
            (Some((plan, tables)), Some(below)) => {
                let d_stream = &work.d_stream[..count * self.shape.width];
                plan.backward(tables, count, below, d_stream, grads.by_lane);
            }
            _ => self.embed_backward(count, work, grads.summed),
        }
    }

    /// Embedding or coordinates, all blocks but the top segment's, and what its first block gathers: for rows from
    /// `first` on. Returns the top segment.
    fn forward_below(
        self,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Scratch,
    ) -> Range<usize> {
        let count = inputs.len();
        self.replace(inputs, work);
        match (self.below, &mut work.below) {
            (Some((plan, tables)), Some(below)) => {
                let gathers = self.segments().any(|segment| self.gathers(segment.start));
                let first = if gathers { 0 } else { first };
                let after = &mut work.streams[plan.depth()][..count * self.shape.width];
                plan.forward(tables, inputs, first, below, after);
            }
            _ => self.embed(inputs, work),
        }
        let mut segments = self.segments();
        let top = segments.next_back().expect("a transformer has a layer");
        for segment in segments {
            self.gather(segment.clone(), count, work);
            for rows in groups(0..count, GROUP) {
                self.forward_rows(segment.clone(), rows, work);
            }
        }
        self.gather(top.clone(), count, work);
        top
    }

    /// The slots that go over a group of rows together: those of a layer, without what is in coordinates.
    fn segments(self) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator + 'a {
        // In coordinates a layer has one block, but for the last one, which may go on in the stream.
        let depth = self.below.map_or(0, |(plan, _)| plan.depth());
        let goes_on = depth > 0 && self.shape.layers[depth - 1].slots.len() > 1;
        let first = depth - usize::from(goes_on);
        let layers = self.shape.layers[first..].iter();
        layers.map(move |layer| layer.slots.start.max(depth)..layer.slots.end)
    }

    /// What the first block of a segment must know of all rows, if it gathers.
    fn gather(self, segment: Range<usize>, count: usize, work: &mut Scratch) {
        let s = segment.start;
        if self.gathers(s) {
            self.read(s, 0..count, work);
            let c = self.context(s, &work.given);
            work.passes[s].gather(c, count);
        }
    }

    fn gathers(self, s: usize) -> bool {
        self.shape.slots.get(s).is_some_and(|slot| slot.gathers)
    }

    /// The blocks of a segment on a group of rows.
    fn forward_rows(self, segment: Range<usize>, rows: Range<usize>, work: &mut Scratch) {
        for s in segment {
            if !self.gathers(s) {
                self.read(s, rows.clone(), work);
            }
            let c = self.context(s, &work.given);
            work.passes[s].forward(c, rows.clone());
            self.write(s, rows.clone(), work);
        }
    }

    /// The backward of [`forward_rows`](Self::forward_rows), right after it or after what it keeps was computed once
    /// more: from the gradient of the stream above the segment to that of the stream below it, without what is
    /// gathered.
    fn backward_rows(
        self,
        segment: Range<usize>,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut [f32],
    ) {
        for s in segment.rev() {
            self.write_backward(s, rows.clone(), work, grads);
            let c = self.context(s, &work.given);
            work.passes[s].backward(c, rows.clone(), grads);
            if !self.gathers(s) {
                self.read_backward(s, rows.clone(), work, grads);
            }
        }
    }

    /// The backward of [`gather`](Self::gather).
    fn gather_backward(
        self,
        segment: Range<usize>,
        count: usize,
        work: &mut Scratch,
        grads: &mut [f32],
    ) {
        let s = segment.start;
        if self.gathers(s) {
            let c = self.context(s, &work.given);
            work.passes[s].gather_backward(c, count, grads);
            self.read_backward(s, 0..count, work, grads);
        }
    }

    /// What block `s` may know.
    fn context<'x>(self, s: usize, given: &'x [Vec<Lane>]) -> Context<'x>
    where
        'a: 'x,
    {
        let (shape, slot) = (self.shape, &self.shape.slots[s]);
        Context {
            level: self.level,
            weights: self.weights,
            layer: slot.layer,
            dropout: self.dropout,
            pattern_rate: shape.dropout.attention,
            pattern_pairs: slot.pattern_pairs,
            plan: self.plan,
            given,
            length: shape.length,
        }
    }

    /// Shows the attention of the last forward.
    fn show(self, rows: usize, work: &Scratch, probe: AttnProbe) {
        if let (Some((plan, tables)), Some(below)) = (self.below, &work.below) {
            plan.observe(tables, rows, below, probe);
        }
        for s in self.segments().flatten() {
            work.passes[s].show(self.context(s, &work.given), rows, probe);
        }
    }
}
