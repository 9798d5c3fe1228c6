//! What belongs to lags in the backward of queries that meet positions: s_ij = q_i · (k_j + r_δ) with δ = i − j
//! gives
//!
//! - dq_i += Σ_j ds_ij r_{i−j}
//! - dr_δ += Σ_i ds_{i,i−δ} q_i

use super::Inputs;
use super::sums::{Source, Triangle, in_tiles, up_to_five};
use crate::lanes::Lane;
use crate::model::ops::linear::heights;

impl Triangle<'_> {
    /// dr_δ += Σ_i entries_{i,i−δ} source_i over the group's rows, for every lag, and
    /// dbias_δ += Σ_i entries_{i,i−δ}, where there is a bias. All lags of a tile share a row of the source.
    #[inline(always)]
    pub fn sum_rows_by_lag<const FUSED: bool, const TALL: usize>(
        self,
        inputs: &Inputs,
        source: Source,
        out: &mut [Lane],
    ) {
        let end = self.first + self.count;
        let mut lag = 0;
        for (height, stop) in heights::<TALL>(end) {
            while lag < stop {
                match height {
                    1 => self.lags_over_rows::<FUSED, 1>(lag, inputs, source, out),
                    2 => self.lags_over_rows::<FUSED, 2>(lag, inputs, source, out),
                    _ => self.lags_over_rows::<FUSED, TALL>(lag, inputs, source, out),
                }
                lag += height;
            }
        }
    }

    /// The same for R lags, from `lag` on.
    #[inline(always)]
    fn lags_over_rows<const FUSED: bool, const R: usize>(
        self,
        lag: usize,
        inputs: &Inputs,
        source: Source,
        out: &mut [Lane],
    ) {
        let (first, end) = (self.first, self.first + self.count);
        // Rows before a lag do not have it.
        let (some, all) = (first.max(lag), first.max(lag + R - 1).min(end));
        let at = |row: usize| (row - first) * self.length + row - lag;
        let places = inputs.lag_columns;
        if inputs.bias {
            for row in some..end {
                for r in 0..R.min(row - lag + 1) {
                    let bias = (lag + r) * places.stride + places.offset - 1;
                    out[bias] += self.entries[at(row) - r];
                }
            }
        }
        in_tiles!(places.size, up_to_five, |start, N| {
            let (place, columns) = (places.part::<N>(start), source.columns.part::<N>(start));
            let mut sums = [[Lane::ZERO; N]; R];
            for r in 0..R {
                sums[r].copy_from_slice(place.row(out, lag + r));
            }
            for row in some..all {
                let values = columns.row(source.data, row);
                for r in 0..row - lag + 1 {
                    let entry = self.entries[at(row) - r];
                    for c in 0..N {
                        sums[r][c] = entry.times_plus::<FUSED>(values[c], sums[r][c]);
                    }
                }
            }
            for row in all..end {
                let values: &[Lane; N] = columns
                    .row(source.data, row)
                    .first_chunk()
                    .expect("N columns");
                let entries: &[Lane; R] = self.entries[at(row) + 1 - R..]
                    .first_chunk()
                    .expect("R lags");
                for r in 0..R {
                    for c in 0..N {
                        let entry = entries[R - 1 - r];
                        sums[r][c] = entry.times_plus::<FUSED>(values[c], sums[r][c]);
                    }
                }
            }
            for r in 0..R {
                place.row_mut(out, lag + r).copy_from_slice(&sums[r]);
            }
        });
    }

    /// out_i += Σ_j entries_ij r_{i−j}, for every row and all columns but the first `data`. All rows of a tile
    /// share a lag.
    #[inline(always)]
    pub fn sum_lags_over_keys<const FUSED: bool, const TALL: usize>(
        self,
        inputs: &Inputs,
        data: usize,
        out: &mut [Lane],
    ) {
        let mut a = 0;
        for (height, end) in heights::<TALL>(self.count) {
            while a < end {
                match height {
                    1 => self.rows_over_lags::<FUSED, 1>(a, inputs, data, out),
                    2 => self.rows_over_lags::<FUSED, 2>(a, inputs, data, out),
                    _ => self.rows_over_lags::<FUSED, TALL>(a, inputs, data, out),
                }
                a += height;
            }
        }
    }

    /// The same for R rows of the group, from row a on.
    #[inline(always)]
    fn rows_over_lags<const FUSED: bool, const R: usize>(
        self,
        a: usize,
        inputs: &Inputs,
        data: usize,
        out: &mut [Lane],
    ) {
        let (columns, lag_columns) = (
            inputs.columns.without(data),
            inputs.lag_columns.without(data),
        );
        let (i, step) = (self.first + a, self.length + 1);
        let at = |r: usize, lag: usize| (a + r) * self.length + i + r - lag;
        in_tiles!(columns.size, up_to_five, |start, N| {
            let (columns, lags) = (columns.part::<N>(start), lag_columns.part::<N>(start));
            let mut sums = [[Lane::ZERO; N]; R];
            for r in 0..R {
                sums[r].copy_from_slice(columns.row(out, i + r));
                // Later rows have lags that the first one does not have.
                for lag in (i + 1..=i + r).rev() {
                    let values = lags.row(inputs.positions, lag);
                    for c in 0..N {
                        let value = Lane::splat(values[c]);
                        let entry = self.entries[at(r, lag)];
                        sums[r][c] = entry.times_plus::<FUSED>(value, sums[r][c]);
                    }
                }
            }
            for lag in (0..=i).rev() {
                let entries = &self.entries[at(0, lag)..];
                let values: &[f32; N] = lags
                    .row(inputs.positions, lag)
                    .first_chunk()
                    .expect("N columns");
                for r in 0..R {
                    for c in 0..N {
                        let value = Lane::splat(values[c]);
                        sums[r][c] = entries[r * step].times_plus::<FUSED>(value, sums[r][c]);
                    }
                }
            }
            for r in 0..R {
                columns.row_mut(out, i + r).copy_from_slice(&sums[r]);
            }
        });
    }
}
