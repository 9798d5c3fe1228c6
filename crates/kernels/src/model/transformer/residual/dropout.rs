//! Dropout, where a gradient is given keys: which entry has which number, and the masked steps of a layer.
//!
//! Masks on single entries leave the space of coordinates, so models with dropout are computed here, and
//! without special kernels.

use std::ops::Range;

use super::Pass;
use crate::lanes::Lane;
use crate::model::intervention::Source;
use crate::model::ops::dropout::{self, Mask, pairs};

/// A place with a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The stream below the first layer: [t, d]
    Embedding,
    /// The pattern of a head, (layer, head): [t, t]
    Pattern(usize, usize),
    /// What a layer's attention adds to the stream: [t, d]
    Attended(usize),
    /// What a layer's MLP adds to it: [t, d]
    Mlp(usize),
}

impl Place {
    /// Where what a source writes has its mask.
    pub fn of(source: Source) -> Self {
        match source {
            Source::Embed => Self::Embedding,
            Source::Head { layer, .. } => Self::Attended(layer),
            Source::Mlp { layer } => Self::Mlp(layer),
        }
    }
}

impl Pass<'_> {
    /// The mask of a place, if this pass has any.
    pub(super) fn mask(self, place: Place) -> Option<Mask> {
        let (keys, rates) = (self.dropout?, &self.shape.dropout);
        let (rate, columns) = match place {
            Place::Embedding => (rates.embedding, self.shape.width),
            Place::Pattern(..) => (rates.attention, self.shape.length),
            Place::Attended(_) | Place::Mlp(_) => (rates.residual, self.shape.width),
        };
        Some(Mask::new(keys, rate?, self.first_pair(place), columns))
    }

    /// Number of a place's first pair of entries. Pairs are numbered from place to place as the forward comes
    /// to them, whether or not anything is dropped there.
    fn first_pair(self, place: Place) -> u32 {
        let (t, d) = (self.shape.length, self.shape.width);
        let (stream, pattern) = (pairs(t, d), pairs(t, t));
        let patterns = |heads: usize| pattern.wrapping_mul(heads as u32);
        let below = |l: usize| {
            let layers = self.shape.layers[..l].iter();
            layers.fold(stream, |sum, layer| {
                let streams = stream.wrapping_mul(1 + u32::from(layer.mlp.is_some()));
                sum.wrapping_add(patterns(layer.heads))
                    .wrapping_add(streams)
            })
        };
        match place {
            Place::Embedding => 0,
            Place::Pattern(l, h) => below(l).wrapping_add(patterns(h)),
            Place::Attended(l) => below(l).wrapping_add(patterns(self.shape.layers[l].heads)),
            Place::Mlp(l) => self.first_pair(Place::Attended(l)).wrapping_add(stream),
        }
    }

    /// x = m x for some rows of a stream, where a mask is.
    pub(super) fn drop_rows(self, place: Place, rows: Range<usize>, x: &mut [Lane]) {
        if let Some(mask) = self.mask(place) {
            dropout::apply(self.level, &mask, rows, x);
        }
    }

    /// x = base + m x for some rows of a stream.
    pub(super) fn drop_and_add(
        self,
        place: Place,
        rows: Range<usize>,
        base: &[Lane],
        x: &mut [Lane],
    ) {
        self.drop_rows(place, rows, x);
        for (x, &base) in x.iter_mut().zip(base) {
            *x = base + *x;
        }
    }

    /// m x for some rows of a stream: x itself where no mask is, or a masked copy.
    pub(super) fn dropped<'x>(
        self,
        place: Place,
        rows: Range<usize>,
        x: &'x [Lane],
        copy: &'x mut [Lane],
    ) -> &'x [Lane] {
        let Some(mask) = self.mask(place) else {
            return x;
        };
        let copy = &mut copy[..x.len()];
        copy.copy_from_slice(x);
        dropout::apply(self.level, &mask, rows, copy);
        copy
    }
}
