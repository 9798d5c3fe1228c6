//! Where blocks meet the stream: norms, dropout and interventions stand here, and in no block.

use std::ops::Range;

use super::Pass;
use super::edits::Edits;
use super::scratch::{Normed, Scratch};
use crate::lanes::Lane;
use crate::model::block::{Norm, ReadBack};
use crate::model::intervention::Port;
use crate::model::ops::dropout::{self, Mask};
use crate::model::ops::layer_norm;

/// A stream that readers with the same norm read: the norm, the stream before it, and after it.
pub(super) type Read<'x> = (&'x Option<Norm>, &'x [Lane], &'x Normed);

impl Pass<'_> {
    fn span(self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.shape.width..rows.end * self.shape.width
    }

    /// Lets a block read some rows.
    pub(super) fn read(self, s: usize, rows: Range<usize>, work: &mut Scratch) {
        let (slot, span) = (&self.shape.slots[s], self.span(&rows));
        let x = &work.streams[s];
        let common = self.normed(&slot.norm, x, &mut work.normed[s], span.clone());
        let c = self.context(s, &work.given);
        for (index, &reader) in slot.readers.iter().enumerate() {
            let edits = work.edits.as_mut();
            let own = edits.and_then(|edits| edits.read(self, reader, &slot.norm, x, span.clone()));
            work.passes[s].read(c, index, rows.clone(), own.unwrap_or(common));
        }
    }

    /// The backward of [`read`](Self::read): adds to the gradient of the stream.
    pub(super) fn read_backward(
        self,
        s: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut [f32],
    ) {
        let (slot, span) = (&self.shape.slots[s], self.span(&rows));
        let stream = (&slot.norm, &work.streams[s][..], &work.normed[s]);
        let targets = (&mut work.d_stream[..], &mut work.d_normed[..]);
        let (readers, edits) = (&slot.readers[..], &mut work.edits);
        let (c, pass) = (self.context(s, &work.given), &mut work.passes[s]);
        self.all_read_backward(
            (readers, edits),
            stream,
            span,
            targets,
            grads,
            |index, back| {
                pass.read_backward(c, index, rows.clone(), back);
            },
        );
    }

    /// The backward of what all readers of a stream saw. Runs `backward(index of the reader, what it saw)`, and adds
    /// what comes back to the first of `targets`, the gradient of the stream; the second is a scratch buffer.
    pub(super) fn all_read_backward(
        self,
        (readers, edits): (&[Port], &mut Option<Box<Edits>>),
        stream: Read,
        span: Range<usize>,
        (dx, d_normed): (&mut [Lane], &mut [Lane]),
        grads: &mut [f32],
        mut backward: impl FnMut(usize, &mut ReadBack),
    ) {
        let is_own = |reader: &Port| self.plan.is_some_and(|plan| plan.changes(*reader));
        if let Some(edits) = edits {
            for (index, &reader) in readers.iter().enumerate().filter(|(_, r)| is_own(r)) {
                let (span, targets) = (span.clone(), (&mut *dx, &mut *d_normed));
                let of_reader = |back: &mut ReadBack| backward(index, back);
                edits.read_backward(self, reader, stream.0, span, targets, grads, of_reader);
            }
        }
        if readers.iter().all(is_own) {
            return;
        }
        self.normed_backward(stream, span, (dx, d_normed), grads, |back| {
            for (index, _) in readers.iter().enumerate().filter(|(_, r)| !is_own(r)) {
                backward(index, back);
            }
        });
    }

    /// The part `span` of the stream after the norm: of x itself if there is no norm, or of its normalised copy, which
    /// is written into `normed`.
    pub(super) fn normed<'x>(
        self,
        norm: &Option<Norm>,
        x: &'x [Lane],
        normed: &'x mut Normed,
        span: Range<usize>,
    ) -> &'x [Lane] {
        let Some(norm) = norm else { return &x[span] };
        let (gain, bias) = (
            &self.weights[norm.gain.clone()],
            &self.weights[norm.bias.clone()],
        );
        let d = gain.len();
        let kept = &mut normed.statistics[span.start / d..span.end / d];
        let result = &mut normed.result[span.clone()];
        layer_norm::forward(self.level, &x[span], gain, bias, result, kept);
        result
    }

    /// Runs `backward` on what came after the norm, and carries its gradient back to dx. `targets` are dx and a scratch
    /// buffer.
    pub(super) fn normed_backward(
        self,
        (norm, x, normed): Read,
        span: Range<usize>,
        (dx, d_normed): (&mut [Lane], &mut [Lane]),
        grads: &mut [f32],
        backward: impl FnOnce(&mut ReadBack),
    ) {
        let (x, dx) = (&x[span.clone()], &mut dx[span.clone()]);
        let Some(norm) = norm else {
            return backward(&mut ReadBack { x, dx, grads });
        };
        let gain = &self.weights[norm.gain.clone()];
        let d = gain.len();
        let statistics = &normed.statistics[span.start / d..span.end / d];
        let (result, d_normed) = (&normed.result[span.clone()], &mut d_normed[span]);
        d_normed.fill(Lane::ZERO);
        backward(&mut ReadBack {
            x: result,
            dx: &mut *d_normed,
            grads: &mut *grads,
        });
        let (d_gain, d_bias) = grads[norm.gain.start..norm.bias.end].split_at_mut(d);
        layer_norm::backward(self.level, x, statistics, gain, d_normed, dx);
        layer_norm::add_gradients(self.level, x, statistics, d_normed, d_gain, d_bias);
    }

    /// Sets some rows of the stream after a block to those before it, plus what the block writes: masked, and as
    /// interventions leave it.
    pub(super) fn write(self, s: usize, rows: Range<usize>, work: &mut Scratch) {
        let (slot, span) = (&self.shape.slots[s], self.span(&rows));
        let (before, after) = work.streams.split_at_mut(s + 1);
        let (base, out) = (&before[s][span.clone()], &mut after[0][span.clone()]);
        let (c, pass) = (self.context(s, &work.given), &work.passes[s]);
        if let Some(edits) = &mut work.edits
            && edits.plan.touches(&slot.sources)
        {
            out.copy_from_slice(base);
            for (index, &source) in slot.sources.iter().enumerate() {
                let single = &mut edits.single[span.clone()];
                single.fill(Lane::ZERO);
                pass.write(c, Some(index), rows.clone(), single);
                self.drop_rows(Some(s), rows.clone(), single);
                edits.write(source, span.clone(), out);
            }
            return;
        }
        if self.mask(Some(s)).is_none() {
            out.copy_from_slice(base);
            return pass.write(c, None, rows, out);
        }
        out.fill(Lane::ZERO);
        pass.write(c, None, rows.clone(), out);
        self.drop_rows(Some(s), rows, out);
        for (x, &base) in out.iter_mut().zip(base) {
            *x = base + *x;
        }
    }

    /// The backward of [`write`](Self::write), down to what the block's sources computed.
    pub(super) fn write_backward(
        self,
        s: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut [f32],
    ) {
        let (slot, span) = (&self.shape.slots[s], self.span(&rows));
        let d_out = &work.d_stream[span.clone()];
        let (c, pass) = (self.context(s, &work.given), &mut work.passes[s]);
        if let Some(edits) = &mut work.edits
            && edits.plan.touches(&slot.sources)
        {
            for (index, &source) in slot.sources.iter().enumerate() {
                let d_own = edits.written_backward(source, span.clone(), d_out);
                self.drop_rows(Some(s), rows.clone(), d_own);
                pass.write_backward(c, Some(index), rows.clone(), d_own, grads);
            }
            return;
        }
        if self.mask(Some(s)).is_none() {
            return pass.write_backward(c, None, rows, d_out, grads);
        }
        let masked = &mut work.masked[..d_out.len()];
        masked.copy_from_slice(d_out);
        self.drop_rows(Some(s), rows.clone(), masked);
        pass.write_backward(c, None, rows, masked, grads);
    }

    /// Dropout's mask of what a block writes, or the embedding.
    fn mask(self, s: Option<usize>) -> Option<Mask> {
        let (keys, rates) = (self.dropout?, &self.shape.dropout);
        let (rate, first) = match s {
            Some(s) => (rates.residual, self.shape.slots[s].written_pairs),
            None => (rates.embedding, 0),
        };
        Some(Mask::new(keys, rate?, first, self.shape.width))
    }

    /// x = m x for some rows of what a block writes, or the embedding, where a mask is.
    pub(super) fn drop_rows(self, s: Option<usize>, rows: Range<usize>, x: &mut [Lane]) {
        if let Some(mask) = self.mask(s) {
            dropout::apply(self.level, &mask, rows, x);
        }
    }
}
