//! The two ends of the stream: symbols, plus places where positions are absolute; and logits.

use std::ops::Range;

use super::{Pass, Scratch};
use crate::lanes::cross_lane::sum_lanes;
use crate::lanes::{LANES, Lane};
use crate::model::intervention::Port;
use crate::model::ops::linear;

impl Pass<'_> {
    /// h⁰_i = E[x_i] (+ positions_i), as a product of one-hot symbols with E.
    pub(super) fn embed(self, inputs: &[[u8; LANES]], work: &mut Scratch) {
        let (k, d) = (self.shape.states, self.shape.width);
        let Scratch {
            symbols,
            streams,
            edits,
            ..
        } = work;
        let h = &mut streams[0][..inputs.len() * d];
        let symbols = &mut symbols[..inputs.len() * k];
        for (row, own) in inputs.iter().zip(symbols.chunks_exact_mut(k)) {
            for (symbol, z) in own.iter_mut().enumerate() {
                *z = Lane::is(row, symbol);
            }
        }
        let table = &self.weights[self.shape.embed.clone()];
        match &self.shape.embed_positions {
            Some(places) => {
                let places = self.weights[places.clone()].chunks_exact(d);
                for (h, place) in h.chunks_exact_mut(d).zip(places) {
                    linear::set_rows(place, h);
                }
                linear::add_forward(self.level, symbols, table, k, d, h);
            }
            None => linear::set_forward(self.level, symbols, table, k, h),
        }
        let rows = 0..inputs.len();
        self.drop_rows(None, rows.clone(), h);
        if let Some(edits) = edits {
            edits.write_embed(0..rows.end * d, h);
        }
    }

    /// h⁰_i = E[x_i] + positions_i  ⟹  dE[x_i] += dh⁰_i, dpositions_i += dh⁰_i
    pub(super) fn embed_backward(self, rows: usize, work: &mut Scratch, grads: &mut [f32]) {
        let (k, d) = (self.shape.states, self.shape.width);
        let (symbols, dh) = (&work.symbols[..rows * k], &mut work.d_stream[..rows * d]);
        if let Some(edits) = &mut work.edits {
            let own = edits.written_backward(Port::EMBED, 0..rows * d, dh);
            dh.copy_from_slice(own);
        }
        self.drop_rows(None, 0..rows, dh);
        let of_symbols = &mut grads[self.shape.embed.clone()];
        linear::add_weight_gradient(self.level, symbols, dh, k, of_symbols);
        if let Some(places) = self.shape.embed_positions.clone() {
            // A place occurs once, so this is its whole gradient.
            sum_lanes(self.level, dh, &mut grads[places][..rows * d]);
        }
    }

    /// logits_i = norm(h_i) P (+ b)
    pub(super) fn output(self, rows: Range<usize>, work: &mut Scratch, logits: &mut [Lane]) {
        let (d, k, top) = (self.shape.width, self.shape.states, self.shape.slots.len());
        let span = rows.start * d..rows.end * d;
        let (x, norm) = (&work.streams[top], &self.shape.final_norm);
        let edits = work.edits.as_mut();
        let own = edits.and_then(|edits| edits.read(self, Port::LOGITS, norm, x, span.clone()));
        let source = match own {
            Some(own) => own,
            None => self.normed(norm, x, &mut work.normed[top], span),
        };
        let logits = &mut logits[rows.start * k..rows.end * k];
        let unembed = &self.weights[self.shape.unembed.clone()];
        match &self.shape.unembed_bias {
            Some(bias) => {
                let bias = &self.weights[bias.clone()];
                linear::forward(self.level, source, unembed, bias, d, logits);
            }
            None => linear::set_forward(self.level, source, unembed, d, logits),
        }
    }

    /// The same backward: sets dh_i.
    pub(super) fn output_backward(
        self,
        rows: Range<usize>,
        work: &mut Scratch,
        d_logits: &[Lane],
        grads: &mut [f32],
    ) {
        let (d, top) = (self.shape.width, self.shape.slots.len());
        let span = rows.start * d..rows.end * d;
        work.d_stream[span.clone()].fill(Lane::ZERO);
        let stream = (
            &self.shape.final_norm,
            &work.streams[top][..],
            &work.normed[top],
        );
        let targets = (&mut work.d_stream[..], &mut work.d_normed[..]);
        let (readers, edits) = (&[Port::LOGITS], &mut work.edits);
        let (level, unembed) = (self.level, &self.shape.unembed);
        if let Some(bias) = self.shape.unembed_bias.clone() {
            linear::add_bias_gradient(level, d_logits, &mut grads[bias]);
        }
        self.all_read_backward((readers, edits), stream, span, targets, grads, |_, back| {
            back.product(level, self.weights, unembed, d, d_logits);
        });
    }
}
