//! Dropout on a group's pattern. With masks m_ij:
//!
//! - out_i = Σ_j m_ij p_ij u_j  ⟹  du_j += Σ_i m_ij p_ij dout_i: as without, with m p in place of p
//! - ds_ij = p_ij (m_ij dout_i · u_j − c_i) with c_i = dout_i · out_i
//!   = m_ij p_ij (dout_i · u_j − c_i) + c_i (m_ij p_ij − p_ij)
//!
//! So the group's weights become m p right after the softmax. All passes use them as they would p, and the
//! slopes need only the second term, for which the group keeps its weights as they were.

use std::f32::consts::LN_2;
use std::hint::black_box;
use std::ops::Range;

use super::sums::BEYOND;
use super::{GROUP, TileRows};
use crate::lanes::Lane;
use crate::model::ops::dropout::Mask;

/// The mask of the head that a group belongs to, and the group's weights without it, [GROUP, t].
#[derive(Clone, Debug, Default)]
pub(super) struct Dropped {
    mask: Option<Mask>,
    plain: Vec<Lane>,
}

impl TileRows {
    /// Sets the mask of the head, or none.
    pub fn drop_with(&mut self, mask: Option<Mask>) {
        self.dropped.mask = mask;
        if mask.is_some() {
            self.dropped.plain.resize(GROUP * self.length, Lane::ZERO);
        }
    }

    /// Masks the weights of a group's rows, where there is a mask.
    #[inline(always)]
    pub(super) fn drop_weights(&mut self, rows: &Range<usize>) {
        let Some(mask) = self.dropped.mask else {
            return;
        };
        for (a, i) in rows.clone().enumerate() {
            let row = a * self.length..a * self.length + i + 1;
            let weights = &mut self.weights[row.clone()];
            self.dropped.plain[row].copy_from_slice(weights);
            mask.apply_to_row(i, weights);
        }
    }

    /// Adds c_i (m_ij p_ij − p_ij) to the slopes of a group's rows in a block of keys, where there is a mask.
    /// `below_centres` are −c_i.
    #[inline(always)]
    pub(super) fn mend_slopes<const FUSED: bool>(
        &mut self,
        rows: &Range<usize>,
        block: &Range<usize>,
        below_centres: &[Lane; GROUP],
    ) {
        if self.dropped.mask.is_none() {
            return;
        }
        for (a, i) in rows.clone().enumerate() {
            // The row does not see beyond key i.
            let end = block.end.min(i + 1).max(block.start);
            let span = a * self.length + block.start..a * self.length + end;
            let (masked, plain) = (
                &self.weights[span.clone()],
                &self.dropped.plain[span.clone()],
            );
            let (below, inverse) = (below_centres[a] * LN_2, self.inverse[a]);
            let slopes = &mut self.slopes[BEYOND * self.length..][span];
            for n in 0..slopes.len() {
                // Hidden, or else the compiler would interchange loops, to vectors of one lane's numbers.
                let n = black_box(n);
                // −c (p − m p), in units of ln 2
                let missing = plain[n] * inverse - masked[n];
                slopes[n] = below.times_plus::<FUSED>(missing, slopes[n]);
            }
        }
    }
}
