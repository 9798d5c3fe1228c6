//! The whole last layer, by row: what is linear in a position's coordinates,
//! around the attention of its heads.

use super::super::rows::{affine, affine_backward, groups};
use super::super::{Coordinates, Tables};
use super::{ByRowScratch, ROWS};
use crate::lanes::{LANES, Lane};
use crate::model::engine::{LogitBuffers, LossRows};
use crate::model::ops::linear;

/// Activations and gradients of a head.
#[derive(Clone, Debug)]
pub(in super::super) struct ByRowHead {
    /// What it asks of the coordinates, [t, m]
    w: Vec<Lane>,
    dw: Vec<Lane>,
    /// What it says about every symbol but the first, [t, k−1]
    u: Vec<Lane>,
    du: Vec<Lane>,
    /// Gradients of the table for that, [m, k−1]
    d_ov: Vec<Lane>,
    attention: ByRowScratch,
}

impl ByRowHead {
    /// Buffers for k = `states`, m coordinates and t = `length`.
    pub fn new(states: usize, m: usize, length: usize) -> Self {
        let lanes = |width: usize| vec![Lane::ZERO; length * width];
        Self {
            w: lanes(m),
            dw: lanes(m),
            u: lanes(states - 1),
            du: lanes(states - 1),
            d_ov: vec![Lane::ZERO; m * (states - 1)],
            attention: ByRowScratch::new(states, m, length),
        }
    }
}

impl Coordinates {
    /// Forward, loss and backward of the last layer: logits_i = table₀ + y_i · table + Σ_h Σ_j p_ij u_j. Adds
    /// to the gradients of its coordinates, dy, and of all tables.
    #[expect(
        clippy::too_many_arguments,
        reason = "all that a layer reads and adds to"
    )]
    pub(in super::super) fn last_by_row(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        (y, dy): (&[Lane], &mut [Lane]),
        heads: &mut [ByRowHead],
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        grads: &mut [Lane],
    ) {
        let (level, rows, k) = (self.level, inputs.len(), self.states);
        let last = &self.layers[self.layers.len() - 1];
        let m = last.m;
        let (y, dy) = (&y[..rows * m], &mut dy[..rows * m]);
        let (first, rest) = tables.data[self.output.clone()].split_at(k);
        let own = &rest[..m * k];
        linear::set_rows(first, logits);
        linear::add_forward(level, y, own, m, k, logits);
        let values = k - 1;
        let tables_of = || last.heads.iter().zip(&tables.ov);
        for (head, (places, ov)) in heads.iter_mut().zip(tables_of()) {
            let (w, u) = (&mut head.w[..rows * m], &mut head.u[..rows * values]);
            affine(level, y, &tables.data[places.qk.clone()], (m, m), w);
            u.fill(Lane::ZERO);
            linear::add_forward(level, y, ov, m, values, u);
            head.attention.read(level, inputs, (y, w, u));
        }
        for group in groups(0..rows, ROWS) {
            let own = group.start * k..group.end * k;
            let (logits, d_logits) = (&mut logits[own.clone()], &mut d_logits[own]);
            for (head, lags) in heads.iter_mut().zip(&tables.lags) {
                head.attention.forward(level, lags, group.clone(), logits);
            }
            loss(group.clone(), logits, d_logits);
            for (head, lags) in heads.iter_mut().zip(&tables.lags) {
                let group = group.clone();
                head.attention.backward(level, lags, group, d_logits);
            }
        }
        // The output's tables come last.
        let (grads, d_output) = grads.split_at_mut(self.output.start);
        let (d_first, d_rest) = d_output.split_at_mut(k);
        let (d_own, d_of_heads) = d_rest.split_at_mut(m * k);
        for (head, places) in heads.iter_mut().zip(&last.heads) {
            let (dw, du) = (&mut head.dw[..rows * m], &mut head.du[..rows * values]);
            dw.fill(Lane::ZERO);
            du.fill(Lane::ZERO);
            head.d_ov.fill(Lane::ZERO);
            let d_positions = &mut grads[places.positions.clone()];
            head.attention.write(level, rows, (dy, dw, du), d_positions);
        }
        // In groups of rows again, which stay in the cache.
        let data = self.data();
        for group in groups(0..rows, ROWS) {
            let part = |width: usize| group.start * width..group.end * width;
            let (y, dy, d_logits) = (&y[part(m)], &mut dy[part(m)], &d_logits[part(k)]);
            linear::bias_backward(level, d_logits, d_first);
            linear::weight_backward(level, y, m, k, d_logits, d_own);
            linear::input_backward(level, own, (m, k), data, d_logits, dy);
            for (head, (places, ov)) in heads.iter_mut().zip(tables_of()) {
                let (dw, du) = (&head.dw[part(m)], &head.du[part(values)]);
                linear::weight_backward(level, y, m, values, du, &mut head.d_ov);
                linear::input_backward(level, ov, (m, values), data, du, dy);
                let qk = &tables.data[places.qk.clone()];
                let d_queries = &mut grads[places.qk.clone()];
                affine_backward(level, y, qk, (m, m), data, dw, dy, d_queries);
            }
        }
        // ov = the other columns of a table minus its first
        let d_ov = heads.iter().flat_map(|head| head.d_ov.chunks_exact(values));
        for (d_row, d_ov) in d_of_heads.chunks_exact_mut(k).zip(d_ov) {
            for (d_logit, &d) in (1..).zip(d_ov) {
                d_row[d_logit] += d;
                d_row[0] = d_row[0] - d;
            }
        }
    }
}
