//! Layer norm, where there is one: the forward for whatever reads it, and its backward.

use std::ops::Range;

use super::{How, Pass};
use crate::lanes::Lane;
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

impl Pass<'_> {
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
        (norm, x, normed): (&Option<Norm>, &[Lane], &Normed),
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
