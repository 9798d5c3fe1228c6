//! Attention over coordinates: one head, one block of lanes.
//!
//! With y_j the M coordinates of position j, w_i what the query asks of them and T the positional table
//! (its row for a lag δ = i − j holds a bias T_δ0 and M slopes T_δr), both in units of ln 2:
//!
//! - s_ij = T_δ0 + Σ_r (w_ir + T_δr) y_jr            (positions meet the key)
//! - s_ij = T_δ0 + Σ_r w_ir y_jr + T_δr y_ir         (positions meet the query)
//! - p_ij = 2^s_ij / Σ_l≤i 2^s_il,  c_ir = Σ_j p_ij y_jr
//!
//! No t×t matrix is kept: the backward computes 2^s again and needs of each row only its largest score and sum.
//! `gentle` promises that no score is beyond ±40: then the largest score need not be known at all, and a row is
//! done in one pass. `key` says that positions meet the key. The compiler knows both, and M: a branch in the
//! innermost loop would cost more than it decides.

use std::f32::consts::LN_2;

use crate::model::lane::Lane;
use crate::model::level::{Level, at_level};

/// Sizes with a kernel of their own; others are padded to the next one with coordinates that are zero.
pub(super) const SIZES: [usize; 10] = [1, 2, 3, 4, 6, 8, 9, 12, 18, 24];

/// Calls `$function::<…, M>` for the size `$m` out of [`SIZES`].
macro_rules! with_size {
    ($m:expr, $function:ident::<$($flag:literal),*>($($argument:expr),* $(,)?)) => {
        match $m {
            1 => $function::<$($flag,)* 1>($($argument),*),
            2 => $function::<$($flag,)* 2>($($argument),*),
            3 => $function::<$($flag,)* 3>($($argument),*),
            4 => $function::<$($flag,)* 4>($($argument),*),
            6 => $function::<$($flag,)* 6>($($argument),*),
            8 => $function::<$($flag,)* 8>($($argument),*),
            9 => $function::<$($flag,)* 9>($($argument),*),
            12 => $function::<$($flag,)* 12>($($argument),*),
            18 => $function::<$($flag,)* 18>($($argument),*),
            24 => $function::<$($flag,)* 24>($($argument),*),
            size => unreachable!("no kernel for {size} coordinates"),
        }
    };
}

/// How a head's scores are to be computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub level: Level,
    /// Coordinates, padded.
    pub m: usize,
    pub gentle: bool,
    pub key: bool,
}

/// What a head reads: coordinates [rows, M], what queries ask [rows, M], positions [t, 1 + M].
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub y: &'a [Lane],
    pub w: &'a [Lane],
    pub positions: &'a [f32],
}

/// What the backward needs of the forward, `[rows]` each, and the averages c [rows, M].
#[derive(Clone, Copy)]
pub(super) struct Saved<'a> {
    pub largest: &'a [Lane],
    pub inverse_sum: &'a [Lane],
    pub c: &'a [Lane],
}

/// The scores of row `i` at `j`.
#[inline(always)]
fn score<const FUSED: bool, const KEY: bool, const M: usize>(
    w_i: &[Lane; M],
    y_i: &[Lane; M],
    y_j: &[Lane; M],
    position: &[f32],
) -> Lane {
    let mut s = Lane::splat(position[0]);
    for r in 0..M {
        let slope = Lane::splat(position[1 + r]);
        if KEY {
            s = (w_i[r] + slope).times_plus::<FUSED>(y_j[r], s);
        } else {
            s = w_i[r].times_plus::<FUSED>(y_j[r], s);
            s = slope.times_plus::<FUSED>(y_i[r], s);
        }
    }
    s
}

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

/// Computes the averages c and what the backward needs. `scores` is scratch.
pub(super) fn forward(
    way: Way,
    inputs: &Inputs,
    scores: &mut [Lane],
    largest: &mut [Lane],
    inverse_sum: &mut [Lane],
    c: &mut [Lane],
) {
    at_level!(
        way.level,
        // Scores are gentle only where positions meet the key.
        match (way.gentle, way.key) {
            (true, _) => with_size!(
                way.m,
                forward_avx2::<true, true>(inputs, scores, largest, inverse_sum, c)
            ),
            (false, true) => with_size!(
                way.m,
                forward_avx2::<false, true>(inputs, scores, largest, inverse_sum, c)
            ),
            (false, false) => with_size!(
                way.m,
                forward_avx2::<false, false>(inputs, scores, largest, inverse_sum, c)
            ),
        },
        // Only the widest instructions have a version for gentle scores: others gain less from it.
        match way.key {
            true => with_size!(
                way.m,
                forward_any::<false, false, true>(inputs, scores, largest, inverse_sum, c)
            ),
            false => with_size!(
                way.m,
                forward_any::<false, false, false>(inputs, scores, largest, inverse_sum, c)
            ),
        }
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn forward_avx2<const GENTLE: bool, const KEY: bool, const M: usize>(
    inputs: &Inputs,
    scores: &mut [Lane],
    largest: &mut [Lane],
    inverse_sum: &mut [Lane],
    c: &mut [Lane],
) {
    forward_any::<true, GENTLE, KEY, M>(inputs, scores, largest, inverse_sum, c);
}

#[inline(always)]
fn forward_any<const FUSED: bool, const GENTLE: bool, const KEY: bool, const M: usize>(
    inputs: &Inputs,
    scores: &mut [Lane],
    largest: &mut [Lane],
    inverse_sum: &mut [Lane],
    c: &mut [Lane],
) {
    let stride = 1 + M;
    for i in 0..scores.len() {
        let (w_i, y_i) = (row::<M>(inputs.w, i), row::<M>(inputs.y, i));
        let keys = inputs.y[..(i + 1) * M].chunks_exact(M);
        let positions = inputs.positions[..(i + 1) * stride]
            .chunks_exact(stride)
            .rev();
        let mut sum = Lane::ZERO;
        let mut average = [Lane::ZERO; M];
        let mut most = Lane::ZERO;
        if GENTLE {
            for (y_j, position) in keys.zip(positions) {
                let y_j = y_j.try_into().expect("M entries");
                let s = score::<FUSED, KEY, M>(w_i, y_i, y_j, position);
                let weight = s.exp2_in_range::<FUSED>();
                sum += weight;
                for r in 0..M {
                    average[r] = weight.times_plus::<FUSED>(y_j[r], average[r]);
                }
            }
        } else {
            most = Lane::splat(f32::NEG_INFINITY);
            for ((slot, y_j), position) in scores[..=i].iter_mut().zip(keys.clone()).zip(positions)
            {
                let y_j = y_j.try_into().expect("M entries");
                let s = score::<FUSED, KEY, M>(w_i, y_i, y_j, position);
                *slot = s;
                most = most.max(s);
            }
            for (slot, y_j) in scores[..=i].iter().zip(keys) {
                let weight = (*slot - most).exp2_clamped::<FUSED>();
                sum += weight;
                for r in 0..M {
                    average[r] = weight.times_plus::<FUSED>(y_j[r], average[r]);
                }
            }
        }
        let inverse = sum.inverse();
        largest[i] = most;
        inverse_sum[i] = inverse;
        let c_i = row_mut::<M>(c, i);
        for r in 0..M {
            c_i[r] = average[r] * inverse;
        }
    }
}

/// Gradients of what a head reads, added to: coordinates, what queries ask, positions by lane.
pub(super) struct Gradients<'a> {
    pub y: &'a mut [Lane],
    pub w: &'a mut [Lane],
    pub positions: &'a mut [Lane],
}

/// Adds the gradients, given that of the averages (`dc`, [rows, M]).
///
/// - c_i = Σ_j p_ij y_j        ⟹  dy_j += p_ij dc_i,  dp_ij = dc_i · y_j
/// - p_ij = 2^s_ij / Σ_l 2^s_il ⟹  ds_ij = ln 2 · p_ij (dp_ij − dc_i · c_i)
/// - s_ij as above             ⟹  dT_δ0 += ds_ij, and each factor of a product gets ds_ij times the other
///
/// The factors ln 2 and one over the row's sum are put into copies of dc_i, outside the loop over j.
pub(super) fn backward(
    way: Way,
    inputs: &Inputs,
    saved: &Saved,
    dc: &[Lane],
    grads: &mut Gradients,
) {
    at_level!(
        way.level,
        // Scores are gentle only where positions meet the key.
        match (way.gentle, way.key) {
            (true, _) => with_size!(way.m, backward_avx2::<true, true>(inputs, saved, dc, grads)),
            (false, true) => with_size!(
                way.m,
                backward_avx2::<false, true>(inputs, saved, dc, grads)
            ),
            (false, false) => with_size!(
                way.m,
                backward_avx2::<false, false>(inputs, saved, dc, grads)
            ),
        },
        // Only the widest instructions have a version for gentle scores: others gain less from it.
        match way.key {
            true => with_size!(
                way.m,
                backward_any::<false, false, true>(inputs, saved, dc, grads)
            ),
            false => with_size!(
                way.m,
                backward_any::<false, false, false>(inputs, saved, dc, grads)
            ),
        }
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn backward_avx2<const GENTLE: bool, const KEY: bool, const M: usize>(
    inputs: &Inputs,
    saved: &Saved,
    dc: &[Lane],
    grads: &mut Gradients,
) {
    backward_any::<true, GENTLE, KEY, M>(inputs, saved, dc, grads);
}

#[inline(always)]
fn backward_any<const FUSED: bool, const GENTLE: bool, const KEY: bool, const M: usize>(
    inputs: &Inputs,
    saved: &Saved,
    dc: &[Lane],
    grads: &mut Gradients,
) {
    let stride = 1 + M;
    for i in 0..saved.largest.len() {
        let (w_i, y_i) = (row::<M>(inputs.w, i), row::<M>(inputs.y, i));
        let (dc_i, c_i) = (row::<M>(dc, i), row::<M>(saved.c, i));
        let (most, inverse) = (saved.largest[i], saved.inverse_sum[i]);
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
        let keys = inputs.y[..(i + 1) * M].chunks_exact(M);
        let d_keys = grads.y[..(i + 1) * M].chunks_exact_mut(M);
        let positions = inputs.positions[..(i + 1) * stride]
            .chunks_exact(stride)
            .rev();
        let d_positions = grads.positions[..(i + 1) * stride]
            .chunks_exact_mut(stride)
            .rev();
        for (((y_j, dy_j), position), d_position) in
            keys.zip(d_keys).zip(positions).zip(d_positions)
        {
            let y_j: &[Lane; M] = y_j.try_into().expect("M entries");
            let s = score::<FUSED, KEY, M>(w_i, y_i, y_j, position);
            let weight = if GENTLE {
                s.exp2_in_range::<FUSED>()
            } else {
                (s - most).exp2_clamped::<FUSED>()
            };
            let mut slope = below_centre;
            for r in 0..M {
                slope = to_score[r].times_plus::<FUSED>(y_j[r], slope);
            }
            let ds = weight * slope;
            d_position[0] += ds;
            for r in 0..M {
                let position_r = Lane::splat(position[1 + r]);
                let dy_jr = weight.times_plus::<FUSED>(to_value[r], dy_j[r]);
                if KEY {
                    let through = ds * y_j[r];
                    dw_i[r] += through;
                    d_position[1 + r] += through;
                    dy_j[r] = ds.times_plus::<FUSED>(w_i[r] + position_r, dy_jr);
                } else {
                    dw_i[r] = ds.times_plus::<FUSED>(y_j[r], dw_i[r]);
                    d_position[1 + r] = ds.times_plus::<FUSED>(y_i[r], d_position[1 + r]);
                    dy_j[r] = ds.times_plus::<FUSED>(w_i[r], dy_jr);
                    dy_i[r] = ds.times_plus::<FUSED>(position_r, dy_i[r]);
                }
            }
        }
        for (sum, part) in row_mut::<M>(grads.w, i).iter_mut().zip(dw_i) {
            *sum += part;
        }
        for (sum, part) in row_mut::<M>(grads.y, i).iter_mut().zip(dy_i) {
            *sum += part;
        }
    }
}
