//! What belongs to lags in the backward of keys that meet positions: s_ij = (q_i + r_δ) · k_j with δ = i − j gives
//!
//! - dk_j += Σ_δ ds_{j+δ, j} r_δ
//! - dr_δ += Σ_j ds_{j+δ, j} k_j
//!
//! Both are products of matrices once slopes are read by key and lag. A tile has several keys (or lags), and its
//! loop goes over lags (or keys), so that all its sums share what they are multiplied with. They begin and end
//! at different rows: there the slopes of rows beyond the group are read, which are zero.

use std::ops::Range;

use super::{Columns, GROUP, Inputs, TileRows};
use crate::lanes::{Lane, leveled};
use crate::model::ops::linear::heights;

/// Rows of zeros before and after a group's slopes: one less than a tile is high.
pub(super) const BEYOND: usize = 3;

leveled!(
    /// Adds to the gradients of keys and positions, from the slopes of a group's rows.
    pub fn backward<const FUSED: bool, tall TALL>(
        inputs: &Inputs,
        rows: Range<usize>,
        group: &mut TileRows,
        d_keys: &mut [Lane],
        d_positions: &mut [Lane],
    ) {
        let length = group.length;
        // Another group may have had more rows.
        let beyond = BEYOND + rows.len()..(BEYOND + rows.len() + BEYOND).min(BEYOND + GROUP);
        group.slopes[beyond.start * length..beyond.end.max(beyond.start) * length].fill(Lane::ZERO);
        let slopes = ByLag {
            entries: &group.slopes,
            length,
            rows,
        };
        slopes.all_tiles::<FUSED, TALL, true>(inputs, d_keys);
        slopes.all_tiles::<FUSED, TALL, false>(inputs, d_positions);
    }
);

/// Slopes of a group's rows, by key and lag.
struct ByLag<'a> {
    /// [BEYOND + GROUP + BEYOND, length]
    entries: &'a [Lane],
    length: usize,
    rows: Range<usize>,
}

impl ByLag<'_> {
    /// Adds to the gradients of all keys if `KEYS`, else to those of all lags. (Both are below `rows.end`.)
    #[inline(always)]
    fn all_tiles<const FUSED: bool, const TALL: usize, const KEYS: bool>(
        &self,
        inputs: &Inputs,
        out: &mut [Lane],
    ) {
        let mut n = 0;
        for (height, end) in heights::<TALL>(self.rows.end) {
            while n < end {
                match height {
                    1 => self.all_columns::<FUSED, KEYS, 1>(inputs, n, out),
                    2 => self.all_columns::<FUSED, KEYS, 2>(inputs, n, out),
                    _ => self.all_columns::<FUSED, KEYS, TALL>(inputs, n, out),
                }
                n += height;
            }
        }
    }

    /// The same for U keys or lags, from n on.
    #[inline(always)]
    fn all_columns<const FUSED: bool, const KEYS: bool, const U: usize>(
        &self,
        inputs: &Inputs,
        n: usize,
        out: &mut [Lane],
    ) {
        let (size, mut start) = (inputs.columns.size, 0);
        while start + 4 <= size {
            self.tile::<FUSED, KEYS, U, 4>(inputs, n, start, out);
            start += 4;
        }
        if start + 2 <= size {
            self.tile::<FUSED, KEYS, U, 2>(inputs, n, start, out);
            start += 2;
        }
        if start < size {
            self.tile::<FUSED, KEYS, U, 1>(inputs, n, start, out);
        }
    }

    /// The same for N columns from `start` on.
    #[inline(always)]
    fn tile<const FUSED: bool, const KEYS: bool, const U: usize, const N: usize>(
        &self,
        inputs: &Inputs,
        n: usize,
        start: usize,
        out: &mut [Lane],
    ) {
        let own: Columns = if KEYS {
            inputs.columns
        } else {
            inputs.lag_columns
        };
        let (own, columns) = (own.part::<N>(start), inputs.columns.part::<N>(start));
        let lag_columns = inputs.lag_columns.part::<N>(start);
        let mut sums = [[Lane::ZERO; N]; U];
        for u in 0..U {
            sums[u].copy_from_slice(own.row(out, n + u));
        }
        // Key and lag sum to a row of the group, for one of the tile at least.
        for m in (self.rows.start + 1).saturating_sub(n + U)..self.rows.end - n {
            let at = (m + n + BEYOND - self.rows.start) * self.length + if KEYS { n } else { m };
            let entries = &self.entries[at..];
            let step = self.length + usize::from(KEYS);
            for u in 0..U {
                let slope = entries[u * step];
                for c in 0..N {
                    let factor = match KEYS {
                        true => Lane::splat(lag_columns.row(inputs.positions, m)[c]),
                        false => columns.row(inputs.keys, m)[c],
                    };
                    sums[u][c] = slope.times_plus::<FUSED>(factor, sums[u][c]);
                }
            }
        }
        for u in 0..U {
            own.row_mut(out, n + u).copy_from_slice(&sums[u]);
        }
    }
}
