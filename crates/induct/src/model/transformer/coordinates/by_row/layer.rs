//! The last layer as a whole, by row: what is linear in a position's coordinates, around the attention of its heads.

use super::super::block::{affine, affine_backward, groups};
use super::super::{Coordinates, Tables};
use super::{ROWS, Work};
use crate::chain::LANES;
use crate::model::LossRows;
use crate::model::lane::Lane;
use crate::model::ops::linear;

/// Activations and gradients of a head.
#[derive(Clone, Debug)]
pub(in super::super) struct HeadWork {
    /// What its coordinates ask, [t, m]
    w: Vec<Lane>,
    dw: Vec<Lane>,
    /// What it says about every symbol, [t, k]
    u: Vec<Lane>,
    du: Vec<Lane>,
    attention: Work,
}

impl HeadWork {
    /// Room for k = `states`, m coordinates and t = `length`.
    pub fn new(states: usize, m: usize, length: usize) -> Self {
        let lanes = |width: usize| vec![Lane::ZERO; length * width];
        Self {
            w: lanes(m),
            dw: lanes(m),
            u: lanes(states),
            du: lanes(states),
            attention: Work::new(states, m, length),
        }
    }
}

impl Coordinates {
    /// Forward, loss and backward of the last layer: logits_i = table₀ + y_i · table + Σ_h Σ_j p_ij u_j. Adds to the gradients of its
    /// coordinates, dy, and of all tables.
    #[expect(
        clippy::too_many_arguments,
        reason = "all that a layer reads and adds to"
    )]
    pub(in super::super) fn last_by_row(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        (y, dy): (&[Lane], &mut [Lane]),
        heads: &mut [HeadWork],
        (logits, d_logits): (&mut [Lane], &mut [Lane]),
        loss: LossRows,
        grads: &mut [Lane],
    ) {
        let (level, rows, k) = (self.level, inputs.len(), self.states);
        let last = &self.layers[self.layers.len() - 1];
        let m = last.m;
        let (y, dy) = (&y[..rows * m], &mut dy[..rows * m]);
        let (first, rest) = tables.data[self.output.clone()].split_at(k);
        let (own, of_heads) = rest.split_at(m * k);
        linear::set_rows(first, logits);
        linear::add_forward(level, y, own, m, k, logits);
        let tables_of = || last.heads.iter().zip(of_heads.chunks_exact(m * k));
        for (head, (places, table)) in heads.iter_mut().zip(tables_of()) {
            let (w, u) = (&mut head.w[..rows * m], &mut head.u[..rows * k]);
            affine(level, y, &tables.data[places.asks.clone()], (m, m), w);
            u.fill(Lane::ZERO);
            linear::add_forward(level, y, table, m, k, u);
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
            let (dw, du) = (&mut head.dw[..rows * m], &mut head.du[..rows * k]);
            dw.fill(Lane::ZERO);
            du.fill(Lane::ZERO);
            let d_positions = &mut grads[places.positions.clone()];
            head.attention.write(level, rows, (dy, dw, du), d_positions);
        }
        // By groups of rows again, which stay in the cache.
        for group in groups(0..rows, ROWS) {
            let (ym, yk) = (
                group.start * m..group.end * m,
                group.start * k..group.end * k,
            );
            let (y, dy, d_logits) = (&y[ym.clone()], &mut dy[ym.clone()], &d_logits[yk.clone()]);
            linear::bias_backward(level, d_logits, d_first);
            linear::weight_backward(level, y, m, k, d_logits, d_own);
            linear::input_backward(level, own, m, k, d_logits, dy);
            let d_tables = d_of_heads.chunks_exact_mut(m * k);
            for ((head, (places, table)), d_table) in heads.iter().zip(tables_of()).zip(d_tables) {
                let (dw, du) = (&head.dw[ym.clone()], &head.du[yk.clone()]);
                linear::weight_backward(level, y, m, k, du, d_table);
                linear::input_backward(level, table, m, k, du, dy);
                let asks = &tables.data[places.asks.clone()];
                let d_asks = &mut grads[places.asks.clone()];
                affine_backward(level, y, asks, (m, m), dw, Some(&mut *dy), d_asks);
            }
        }
    }
}
