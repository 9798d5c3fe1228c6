//! Reading the stream: what a reader sees of it, through the norm if there is one, and the way back.

use std::ops::Range;

use super::changed::Changed;
use super::{How, Pass};
use crate::lanes::Lane;
use crate::model::intervention::Reader;
use crate::model::ops::layer_norm::{self, Statistics};
use crate::model::transformer::Norm;

/// The stream after a norm.
#[derive(Clone, Debug)]
pub(super) struct Normed {
    /// [t, d]
    result: Vec<Lane>,
    /// `[t]`
    statistics: Vec<Statistics>,
}

impl Normed {
    /// Buffers for t positions of width d.
    pub fn new(t: usize, d: usize) -> Self {
        Self {
            result: vec![Lane::ZERO; t * d],
            statistics: vec![[Lane::ZERO; 2]; t],
        }
    }
}

/// A stream that readers with the same norm read: the norm, the stream before it, and after it.
pub(super) type Stream<'x> = (&'x Option<Norm>, &'x [Lane], &'x Normed);

impl Pass<'_> {
    /// What a reader sees of the part `span` of the stream x, after the norm: of the common stream, or of its own under
    /// interventions.
    pub(super) fn read<'x>(
        self,
        reader: Reader,
        norm: &Option<Norm>,
        (x, normed): (&'x [Lane], &'x mut Normed),
        changed: &'x mut Option<Box<Changed>>,
        span: Range<usize>,
    ) -> &'x [Lane] {
        match self.read_own(reader, norm, x, changed, span.clone()) {
            Some(own) => own,
            None => self.normed(norm, x, normed, span),
        }
    }

    /// What a reader sees that has a stream of its own.
    pub(super) fn read_own<'x>(
        self,
        reader: Reader,
        norm: &Option<Norm>,
        x: &[Lane],
        changed: &'x mut Option<Box<Changed>>,
        span: Range<usize>,
    ) -> Option<&'x [Lane]> {
        let (plan, changed) = (self.plan?, changed.as_mut()?);
        changed.read(self, plan, reader, norm, x, span)
    }

    /// The backward of [`read`](Self::read), for all readers of a stream. Runs `backward(index of the reader, source,
    /// how, d_source, grads)`, which sets or adds to the gradient of what it saw, and adds what comes back to dx, the
    /// first of the slopes; the second is a scratch buffer.
    pub(super) fn read_backward(
        self,
        (readers, changed): (&[Reader], &mut Option<Box<Changed>>),
        stream: Stream,
        span: Range<usize>,
        (dx, d_normed): (&mut [Lane], &mut [Lane]),
        grads: &mut [f32],
        mut backward: impl FnMut(usize, &[Lane], How, &mut [Lane], &mut [f32]),
    ) {
        let is_own = |reader: &Reader| self.plan.is_some_and(|plan| plan.changes(*reader));
        if let (Some(plan), Some(changed)) = (self.plan, changed) {
            for (index, reader) in readers.iter().enumerate().filter(|(_, r)| is_own(r)) {
                let slopes = (&mut *dx, &mut *d_normed);
                let of_reader = |source: &[Lane], how, d_source: &mut [Lane], grads: &mut [f32]| {
                    backward(index, source, how, d_source, grads);
                };
                let reader = (plan, *reader);
                changed.read_backward(
                    self,
                    reader,
                    stream.0,
                    span.clone(),
                    slopes,
                    grads,
                    of_reader,
                );
            }
        }
        if readers.iter().all(is_own) {
            return;
        }
        let of_all = |source: &[Lane], mut how, d_source: &mut [Lane], grads: &mut [f32]| {
            for (index, _) in readers.iter().enumerate().filter(|(_, r)| !is_own(r)) {
                backward(index, source, how, d_source, grads);
                how = How::Add;
            }
        };
        self.normed_backward(stream, span, (dx, d_normed), grads, of_all);
    }

    /// The part `span` of the stream after the norm: of x itself if there is no norm, or of its normalised
    /// copy, which is written into `normed`.
    pub(super) fn normed<'x>(
        self,
        norm: &Option<Norm>,
        x: &'x [Lane],
        normed: &'x mut Normed,
        span: Range<usize>,
    ) -> &'x [Lane] {
        match norm {
            None => &x[span],
            Some(norm) => {
                let (gain, bias) = (norm.gain.clone(), norm.bias.clone());
                let (gain, bias) = (&self.params[gain], &self.params[bias]);
                let d = gain.len();
                let kept = &mut normed.statistics[span.start / d..span.end / d];
                let result = &mut normed.result[span.clone()];
                layer_norm::forward(self.level, &x[span], gain, bias, result, kept);
                result
            }
        }
    }

    /// Runs `backward(source, how, d_source, grads)`, which sets or adds to the gradient of what came after the
    /// norm, and carries that gradient back to dx. `norm` is the norm with its x and its result;
    /// `slopes` are dx and a scratch buffer.
    pub(super) fn normed_backward(
        self,
        (norm, x, normed): Stream,
        span: Range<usize>,
        (dx, d_normed): (&mut [Lane], &mut [Lane]),
        grads: &mut [f32],
        backward: impl FnOnce(&[Lane], How, &mut [Lane], &mut [f32]),
    ) {
        let (x, dx) = (&x[span.clone()], &mut dx[span.clone()]);
        let Some(norm) = norm else {
            return backward(x, How::Add, dx, grads);
        };
        let gain = &self.params[norm.gain.clone()];
        let d = gain.len();
        let statistics = &normed.statistics[span.start / d..span.end / d];
        let (result, d_normed) = (&normed.result[span.clone()], &mut d_normed[span]);
        backward(result, How::Set, d_normed, grads);
        let (d_gain, d_bias) = grads[norm.gain.start..norm.bias.end].split_at_mut(d);
        layer_norm::backward(self.level, x, statistics, gain, d_normed, dx);
        layer_norm::add_gradients(self.level, x, statistics, d_normed, d_gain, d_bias);
    }
}
