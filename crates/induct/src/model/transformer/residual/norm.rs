//! Layer norm, where there is one: the forward for whatever reads it, and its backward.

use std::ops::Range;

use super::Pass;
use crate::lanes::Lane;
use crate::model::ops::layer_norm;
use crate::model::transformer::Norm;

impl Pass<'_> {
    /// The part `span` of the stream after the norm: of x itself if there is no norm, or of its normalised
    /// copy, which is written into `normed`.
    pub(super) fn normed<'x>(
        self,
        norm: &Option<Norm>,
        x: &'x [Lane],
        normed: &'x mut [Lane],
        span: Range<usize>,
    ) -> &'x [Lane] {
        match norm {
            None => &x[span],
            Some(norm) => {
                let (gain, bias) = (norm.gain.clone(), norm.bias.clone());
                let (gain, bias) = (&self.params[gain], &self.params[bias]);
                let normed = &mut normed[span.clone()];
                layer_norm::forward(self.level, &x[span], gain, bias, normed);
                normed
            }
        }
    }

    /// Runs `backward(source, d_source, grads)`, which adds to the gradient of what came after the
    /// norm, and carries that gradient back to dx. `norm` is the norm with its x and its result;
    /// `slopes` are dx and a scratch buffer.
    pub(super) fn normed_backward(
        self,
        (norm, x, normed): (&Option<Norm>, &[Lane], &[Lane]),
        span: Range<usize>,
        (dx, d_normed): (&mut [Lane], &mut [Lane]),
        grads: &mut [Lane],
        backward: impl FnOnce(&[Lane], &mut [Lane], &mut [Lane]),
    ) {
        let (x, dx) = (&x[span.clone()], &mut dx[span.clone()]);
        let Some(norm) = norm else {
            return backward(x, dx, grads);
        };
        let (normed, d_normed) = (&normed[span.clone()], &mut d_normed[span]);
        d_normed.fill(Lane::ZERO);
        backward(normed, d_normed, grads);
        let gain = &self.params[norm.gain.clone()];
        let (d_gain, d_bias) = grads[norm.gain.start..norm.bias.end].split_at_mut(gain.len());
        layer_norm::backward(self.level, x, gain, d_normed, dx, d_gain, d_bias);
    }
}
