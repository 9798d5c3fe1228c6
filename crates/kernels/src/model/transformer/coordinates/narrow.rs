//! Attention over at most eight coordinates ([`NARROW`](crate::model::choose::NARROW)): one head and one
//! block of lanes, a few rows at a time.
//!
//! Let y_j be the M coordinates of position j (the keys), w_i what the query asks of them, and T the positional table
//! (its row for a lag δ = i − j holds a bias T_δ0 and M slopes T_δr), the last two in units of ln 2:
//!
//! - s_ij = T_δ0 + Σ_r (w_ir + T_δr) y_jr            (positions meet the key)
//! - s_ij = T_δ0 + Σ_r w_ir y_jr + T_δr y_ir         (positions meet the query)
//! - p_ij = 2^s_ij / Σ_l≤i 2^s_il,  c_ir = Σ_j p_ij y_jr
//!
//! Everything that belongs to a row stays in registers. `bounded` promises that no score is beyond ±60: then
//! the largest score need not be known, and a row takes one pass. `KEY` says that positions meet the key. The
//! compiler knows both, and M: a branch in the innermost loop would cost more than it saves.

use std::f32::consts::LN_2;
use std::ops::Range;

use crate::lanes::{Lane, Level, leveled};
use crate::model::ops::attention::RelativeTerm;
use crate::model::ops::attention::fast::{Gradients, Inputs};
use crate::scratch::Allocator;

/// Calls `$function::<KEY, M, N>` for some [`Inputs`], with an N that is one of those listed.
macro_rules! with_constants {
    ($inputs:expr, $n:expr, $ns:tt, $function:ident $arguments:tt) => {
        with_constants!(@m [1 2 3 4 5 6 7 8] $inputs, $n, $ns, $function $arguments)
    };
    (@m [$($m:literal)*] $inputs:expr, $n:expr, $ns:tt, $function:ident $arguments:tt) => {
        match $inputs.columns.size {
            $($m => with_constants!(@n $m $ns $inputs, $n, $function $arguments),)*
            m => unreachable!("{m} coordinates are too many for this kernel"),
        }
    };
    (@n $m:literal [$($of:literal)*] $inputs:expr, $n:expr, $function:ident $arguments:tt) => {
        match ($n, $inputs.relative == RelativeTerm::Key) {
            $(
                ($of, true) => $function::<true, $m, $of>$arguments,
                ($of, false) => $function::<false, $m, $of>$arguments,
            )*
            (n, _) => unreachable!("{n} is not in the list"),
        }
    };
}

/// How many coordinates that are data the backward leaves out, as the compiler knows it.
const NONE: usize = 0;
const ONE: usize = 1;
const HALF: usize = 2;

/// Largest number of rows in a group.
pub(super) const GROUP: usize = 8;

/// What a group of rows keeps: weights 2^s, [GROUP, t], and one over their sums.
#[derive(Clone, Debug)]
pub(super) struct NarrowRows {
    length: usize,
    weights: Vec<Lane>,
    inverse: Vec<Lane>,
}

impl NarrowRows {
    /// Buffers for rows of contexts up to t = `length`.
    pub fn new(length: usize, buffers: &mut Allocator) -> Self {
        Self {
            length,
            weights: buffers.lanes([GROUP, length]),
            inverse: buffers.lanes([GROUP]),
        }
    }
}

/// Computes the averages c of some rows, and keeps their weights in `group`.
pub(super) fn forward(
    level: Level,
    bounded: bool,
    inputs: &Inputs,
    rows: Range<usize>,
    group: &mut NarrowRows,
    c: &mut [Lane],
) {
    with_constants!(inputs, usize::from(bounded), [0 1], forward_at(level, inputs, rows, group, c));
}

/// Adds the gradients of some rows, given that of the averages (`dc`). Call it right after their [`forward`].
///
/// - c_i = Σ_j p_ij y_j         ⟹  dy_j += p_ij dc_i,  dp_ij = dc_i · y_j
/// - p_ij = 2^s_ij / Σ_l 2^s_il ⟹  ds_ij = ln 2 · p_ij (dp_ij − dc_i · c_i)
/// - s_ij as above              ⟹  dT_δ0 += ds_ij, and each factor of a product gets ds_ij times the other
///
/// The factors ln 2 and one over the row's sum are multiplied into copies of dc_i, outside the loop over j.
pub(super) fn backward(
    level: Level,
    inputs: &Inputs,
    rows: Range<usize>,
    group: &NarrowRows,
    (c, dc): (&[Lane], &[Lane]),
    grads: &mut Gradients,
) {
    // Where one head stands on the symbols, half of the coordinates are data; without a norm at least one is.
    let skip = match (inputs.data, inputs.columns.size) {
        (0, _) => NONE,
        (data, m) if data < m / 2 || m == 1 => ONE,
        _ => HALF,
    };
    with_constants!(inputs, skip, [0 1 2], backward_at(level, inputs, rows, group, c, dc, grads));
}

leveled!(
    fn forward_at<const FUSED: bool, const KEY: bool, const M: usize, const BOUNDED: usize>(
        inputs: &Inputs,
        rows: Range<usize>,
        group: &mut NarrowRows,
        c: &mut [Lane],
    ) {
        let all_weights = group.weights.chunks_exact_mut(group.length);
        for (i, (weights, inverse)) in rows.zip(all_weights.zip(&mut group.inverse)) {
            let (w_i, y_i) = (row::<M>(inputs.queries, i), row::<M>(inputs.keys, i));
            let (weights, keys) = (&mut weights[..=i], &inputs.keys[..(i + 1) * M]);
            let mut sum = Lane::ZERO;
            let mut average = [Lane::ZERO; M];
            if BOUNDED == 1 {
                let odd = weights.len() % KEYS;
                if odd == 1 {
                    let position = &inputs.positions[i * (1 + M)..][..1 + M];
                    let [s] = scores::<FUSED, KEY, M, 1>(w_i, y_i, keys, position);
                    weights[0] = s.exp2_in_range::<FUSED>();
                    sum = weights[0];
                    for r in 0..M {
                        average[r] = weights[0] * keys[r];
                    }
                }
                let positions = &inputs.positions[..(i + 1 - odd) * (1 + M)];
                let pairs = weights[odd..].chunks_exact_mut(KEYS);
                let pairs = pairs.zip(keys[odd * M..].chunks_exact(KEYS * M));
                for ((weights, keys), positions) in
                    pairs.zip(positions.chunks_exact(KEYS * (1 + M)).rev())
                {
                    let s = scores::<FUSED, KEY, M, KEYS>(w_i, y_i, keys, positions);
                    let two = Lane::exp2_pair_in_range::<FUSED>(s);
                    for u in 0..KEYS {
                        weights[u] = two[u];
                        sum += two[u];
                        for r in 0..M {
                            average[r] = two[u].times_plus::<FUSED>(keys[u * M + r], average[r]);
                        }
                    }
                }
            } else {
                let positions = inputs.positions[..(i + 1) * (1 + M)].chunks_exact(1 + M);
                let mut most = Lane::splat(f32::NEG_INFINITY);
                let each = weights.iter_mut().zip(keys.chunks_exact(M));
                for ((weight, key), position) in each.zip(positions.rev()) {
                    let [s] = scores::<FUSED, KEY, M, 1>(w_i, y_i, key, position);
                    *weight = s;
                    most = most.max(s);
                }
                for (weight, y_j) in weights.iter_mut().zip(keys.chunks_exact(M)) {
                    *weight = (*weight - most).exp2_clamped::<FUSED>();
                    sum += *weight;
                    for r in 0..M {
                        average[r] = weight.times_plus::<FUSED>(y_j[r], average[r]);
                    }
                }
            }
            *inverse = sum.inverse();
            let c_i = row_mut::<M>(c, i);
            for r in 0..M {
                c_i[r] = average[r] * *inverse;
            }
        }
    }
);

leveled!(
    fn backward_at<const FUSED: bool, const KEY: bool, const M: usize, const SKIP: usize>(
        inputs: &Inputs,
        rows: Range<usize>,
        group: &NarrowRows,
        c: &[Lane],
        dc: &[Lane],
        grads: &mut Gradients,
    ) {
        let stride = 1 + M;
        // Leading coordinates that get no gradient.
        let data = if SKIP == HALF { M / 2 } else { SKIP };
        let all_weights = group.weights.chunks_exact(group.length);
        for (i, (weights, &inverse)) in rows.zip(all_weights.zip(&group.inverse)) {
            let (w_i, y_i) = (row::<M>(inputs.queries, i), row::<M>(inputs.keys, i));
            let (dc_i, c_i) = (row::<M>(dc, i), row::<M>(c, i));
            let mut to_value = [Lane::ZERO; M];
            let mut to_score = [Lane::ZERO; M];
            let mut below_centre = Lane::ZERO;
            for r in 0..M {
                to_value[r] = dc_i[r] * inverse;
                to_score[r] = to_value[r] * LN_2;
                below_centre = below_centre - to_score[r] * c_i[r];
            }
            let mut dw_i = [Lane::ZERO; M];
            let mut dy_i = [Lane::ZERO; M];
            let keys = inputs.keys[..(i + 1) * M].chunks_exact(M);
            let d_keys = grads.keys[..(i + 1) * M].chunks_exact_mut(M);
            let positions = inputs.positions[..(i + 1) * stride]
                .chunks_exact(stride)
                .rev();
            let d_positions = grads.positions[..(i + 1) * stride]
                .chunks_exact_mut(stride)
                .rev();
            for ((((y_j, dy_j), position), d_position), &weight) in keys
                .zip(d_keys)
                .zip(positions)
                .zip(d_positions)
                .zip(weights)
            {
                let mut slope = below_centre;
                for r in 0..M {
                    slope = to_score[r].times_plus::<FUSED>(y_j[r], slope);
                }
                let ds = weight * slope;
                d_position[0] += ds;
                for r in 0..M {
                    if KEY {
                        let through = ds * y_j[r];
                        dw_i[r] += through;
                        d_position[1 + r] += through;
                    } else {
                        dw_i[r] = ds.times_plus::<FUSED>(y_j[r], dw_i[r]);
                        d_position[1 + r] = ds.times_plus::<FUSED>(y_i[r], d_position[1 + r]);
                    }
                }
                for r in data..M {
                    let position_r = Lane::splat(position[1 + r]);
                    let dy_jr = weight.times_plus::<FUSED>(to_value[r], dy_j[r]);
                    if KEY {
                        dy_j[r] = ds.times_plus::<FUSED>(w_i[r] + position_r, dy_jr);
                    } else {
                        dy_j[r] = ds.times_plus::<FUSED>(w_i[r], dy_jr);
                        dy_i[r] = ds.times_plus::<FUSED>(position_r, dy_i[r]);
                    }
                }
            }
            *row_mut::<M>(grads.queries, i) = dw_i;
            if !KEY {
                for (sum, part) in row_mut::<M>(grads.keys, i).iter_mut().zip(dy_i) {
                    *sum += part;
                }
            }
        }
    }
);

#[inline(always)]
fn row<const M: usize>(buffer: &[Lane], index: usize) -> &[Lane; M] {
    buffer[index * M..][..M].try_into().expect("M entries")
}

#[inline(always)]
fn row_mut<const M: usize>(buffer: &mut [Lane], index: usize) -> &mut [Lane; M] {
    (&mut buffer[index * M..][..M])
        .try_into()
        .expect("M entries")
}

/// The scores of row i at C adjacent keys, the last of which has the lag of the first row of `positions`.
#[inline(always)]
fn scores<const FUSED: bool, const KEY: bool, const M: usize, const C: usize>(
    w_i: &[Lane; M],
    y_i: &[Lane; M],
    keys: &[Lane],
    positions: &[f32],
) -> [Lane; C] {
    let mut s = [Lane::ZERO; C];
    for u in 0..C {
        let position = &positions[(C - 1 - u) * (1 + M)..][..1 + M];
        let y_j = row::<M>(keys, u);
        s[u] = Lane::splat(position[0]);
        for r in 0..M {
            let slope = Lane::splat(position[1 + r]);
            if KEY {
                s[u] = (w_i[r] + slope).times_plus::<FUSED>(y_j[r], s[u]);
            } else {
                s[u] = w_i[r].times_plus::<FUSED>(y_j[r], s[u]);
                s[u] = slope.times_plus::<FUSED>(y_i[r], s[u]);
            }
        }
    }
    s
}

/// Keys whose exponentials are computed together, so that one need not wait for the other.
const KEYS: usize = 2;
