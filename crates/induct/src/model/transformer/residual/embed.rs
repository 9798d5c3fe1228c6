//! The bottom of the stream: symbols, plus places where positions are absolute.

use super::dropout::Place;
use super::{Pass, Scratch, placed};
use crate::lanes::cross_lane::sum_lanes;
use crate::lanes::{LANES, Lane, Level};
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
        match &self.shape.embed_positions {
            Some(_) => {
                let table = &self.params[placed::vectors(self.shape)];
                set_to_sums(self.level, table, (k, d), symbols, h);
            }
            None => {
                let table = &self.params[self.shape.embed.clone()];
                linear::set_forward(self.level, symbols, table, k, h);
            }
        }
        self.drop_rows(Place::Embedding, 0..inputs.len(), h);
        self.write_embed(inputs.len(), work);
    }

    /// h⁰_i = E[x_i] + positions_i  ⟹  dE[x_i] += dh⁰_i, dpositions_i += dh⁰_i
    pub(super) fn embed_backward(self, rows: usize, work: &mut Scratch, grads: &mut [f32]) {
        let (k, d) = (self.shape.states, self.shape.width);
        self.write_embed_backward(rows, work);
        let (symbols, dh) = (
            &work.symbols[..rows * k],
            &mut work.slopes.resid[..rows * d],
        );
        self.drop_rows(Place::Embedding, 0..rows, dh);
        let of_symbols = &mut grads[self.shape.embed.clone()];
        linear::add_weight_gradient(self.level, symbols, dh, k, of_symbols);
        if let Some(places) = self.shape.embed_positions.clone() {
            // A place occurs once, so this is its whole gradient.
            sum_lanes(self.level, dh, &mut grads[places][..rows * d]);
        }
    }
}

/// h_i = table[x_i] + table[k + i]: the symbol's part plus the place's.
pub(super) fn set_to_sums(
    level: Level,
    table: &[f32],
    (k, d): (usize, usize),
    symbols: &[Lane],
    h: &mut [Lane],
) {
    let (of_symbols, of_places) = table.split_at(k * d);
    for (h, place) in h.chunks_exact_mut(d).zip(of_places.chunks_exact(d)) {
        linear::set_rows(place, h);
    }
    linear::add_forward(level, symbols, of_symbols, k, d, h);
}

/// h_i = table[x_i] (+ table[k + i])  ⟹  dtable[x_i] += dh_i, dtable[k + i] += dh_i
pub(super) fn sums_backward(
    level: Level,
    (k, d): (usize, usize),
    symbols: &[Lane],
    dh: &[Lane],
    d_table: &mut [Lane],
) {
    let (of_symbols, of_places) = d_table.split_at_mut(k * d);
    linear::weight_backward(level, symbols, k, d, dh, of_symbols);
    for (d_place, &dh) in of_places.iter_mut().zip(dh) {
        *d_place += dh;
    }
}
