//! The bottom of the stream: symbols, plus places where positions are absolute.

use super::dropout::Place;
use super::{Pass, Scratch};
use crate::lanes::cross_lane::sum_lanes;
use crate::lanes::{LANES, Lane};
use crate::model::intervention::Source;
use crate::model::ops::linear;

impl Pass<'_> {
    /// h⁰_i = E[x_i] (+ positions_i), as a product of one-hot symbols with E.
    pub(super) fn embed(self, inputs: &[[u8; LANES]], work: &mut Scratch) {
        let (k, d) = (self.shape.states, self.shape.width);
        let (symbols, h) = (&mut work.symbols, &mut work.layers[0].input);
        let (symbols, h) = (&mut symbols[..inputs.len() * k], &mut h[..inputs.len() * d]);
        for (row, own) in inputs.iter().zip(symbols.chunks_exact_mut(k)) {
            for (symbol, z) in own.iter_mut().enumerate() {
                *z = Lane::is(row, symbol);
            }
        }
        let table = &self.params[self.shape.embed.clone()];
        match &self.shape.embed_positions {
            Some(places) => {
                let places = self.params[places.clone()].chunks_exact(d);
                for (h, place) in h.chunks_exact_mut(d).zip(places) {
                    linear::set_rows(place, h);
                }
                linear::add_forward(self.level, symbols, table, k, d, h);
            }
            None => linear::set_forward(self.level, symbols, table, k, h),
        }
        self.write(Source::Embed, 0..inputs.len(), None, h, &mut work.changed);
    }

    /// h⁰_i = E[x_i] + positions_i  ⟹  dE[x_i] += dh⁰_i, dpositions_i += dh⁰_i
    pub(super) fn embed_backward(self, rows: usize, work: &mut Scratch, grads: &mut [f32]) {
        let (k, d) = (self.shape.states, self.shape.width);
        let (symbols, dh) = (
            &work.symbols[..rows * k],
            &mut work.slopes.resid[..rows * d],
        );
        match &mut work.changed {
            Some(changed) if self.is_touched(Source::Embed) => {
                let d_own = self.written_backward(Source::Embed, 0..rows, dh, changed);
                dh.copy_from_slice(d_own);
            }
            _ => self.drop_rows(Place::Embedding, 0..rows, dh),
        }
        let of_symbols = &mut grads[self.shape.embed.clone()];
        linear::add_weight_gradient(self.level, symbols, dh, k, of_symbols);
        if let Some(places) = self.shape.embed_positions.clone() {
            // A place occurs once, so this is its whole gradient.
            sum_lanes(self.level, dh, &mut grads[places][..rows * d]);
        }
    }
}
