//! The kernels, written once for all: `narrow.rs` of the library for M = 2 coordinates, one of them data,
//! bounded scores and positions that meet the key; and the sums of `cross_lane.rs`. With δ = i − j:
//!
//! - s_ij = T_δ0 + Σ_r (w_ir + T_δr) y_jr,  p_ij = 2^s_ij / Σ_l≤i 2^s_il,  c_ir = Σ_j p_ij y_jr
//! - ds_ij = ln 2 · p_ij (dc_i · y_j − dc_i · c_i), which flows to every factor of s_ij; dy_j += p_ij dc_i
//!
//! All is `#[inline(always)]`, so that it is compiled with the instructions that its caller enables.

use std::f32::consts::LN_2;
use std::ops::{Add, Div, Mul, Sub};

/// Numbers side by side.
pub const LANES: usize = 8;
/// t
const LENGTH: usize = 100;
/// Coordinates, and how many of them are data, which need no gradient.
const M: usize = 2;
const DATA: usize = 1;
/// Keys whose exponentials are computed together.
const KEYS: usize = 2;

/// Eight numbers in memory, the same for all.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub struct Lane(pub [f32; LANES]);

/// Eight numbers in registers, as one way has them.
pub trait Eight:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Proof that the instructions are there, where a way has one.
    type Token: Copy;

    fn load(token: Self::Token, lane: &Lane) -> Self;
    fn splat(token: Self::Token, value: f32) -> Self;
    fn lane(self) -> Lane;
    /// self · factor + addend, rounded once if the instructions can.
    fn times_plus(self, factor: Self, addend: Self) -> Self;
    /// self · 2ⁿ, with n in the low bits of `shifted`.
    fn scaled(self, shifted: Self) -> Self;
    /// The sum over the lanes of each: lanes a half apart, then a quarter, then side by side.
    fn sums(token: Self::Token, eight: &[Lane; LANES]) -> Lane;
}

/// Functions that are always inlined.
macro_rules! inlined {
    ($(fn $name:ident $arguments:tt -> $out:ty $body:block)*) => {
        $(#[inline(always)] fn $name $arguments -> $out $body)*
    };
}

/// An operator of a type that has none.
macro_rules! operator {
    ($trait:ident $method:ident, [$($generic:tt)*] $type:ty, |$a:ident, $b:ident| $value:expr) => {
        impl<$($generic)*> $trait for $type {
            type Output = Self;
            #[inline(always)]
            fn $method(self, $b: Self) -> Self {
                let $a = self;
                $value
            }
        }
    };
}
pub(crate) use {inlined, operator};

/// Shapes: y, w, c, dc, dy and dw [t, M]; positions and its gradient [t, 1 + M]; weights [t], of one row.
#[derive(Default)]
pub struct Work {
    y: Vec<Lane>,
    w: Vec<Lane>,
    positions: Vec<f32>,
    weights: Vec<Lane>,
    inverse: Lane,
    c: Vec<Lane>,
    dc: Vec<Lane>,
    dy: Vec<Lane>,
    dw: Vec<Lane>,
    d_positions: Vec<Lane>,
    sums: Vec<f32>,
}

impl Work {
    /// Symbols 0 and 1 as the data, and numbers that keep every score within ±5.
    pub fn new() -> Self {
        let mut state = 1_u32;
        let mut number = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut work = Work {
            positions: (0..LENGTH * (1 + M)).map(&mut number).collect(),
            weights: vec![Lane::default(); LENGTH],
            d_positions: vec![Lane::default(); LENGTH * (1 + M)],
            sums: vec![0.0; LENGTH * (1 + M)],
            ..Work::default()
        };
        let mut random = |_| Lane(std::array::from_fn(&mut number));
        for lanes in [&mut work.y, &mut work.w, &mut work.dc] {
            *lanes = (0..LENGTH * M).map(&mut random).collect();
        }
        for symbols in work.y.iter_mut().step_by(M) {
            symbols.0 = symbols.0.map(|value| f32::from(value > 0.0));
        }
        for lanes in [&mut work.c, &mut work.dy, &mut work.dw] {
            *lanes = vec![Lane::default(); LENGTH * M];
        }
        work
    }

    /// All that the kernels compute.
    pub fn results(&self) -> Vec<f32> {
        let lanes = [&self.c, &self.dy, &self.dw, &self.d_positions];
        let lanes = lanes.into_iter().flatten().flat_map(|lane| lane.0);
        lanes.chain(self.sums.iter().copied()).collect()
    }
}

/// What to run on all rows. A row's backward pass needs the weights that its forward pass has just left; when
/// it is timed alone, it takes whatever is there.
#[derive(Clone, Copy)]
pub enum Kernel {
    Forward,
    Backward,
    /// The same, written so that a key stays in registers.
    Kept,
    /// Forward and backward, row by row.
    Both,
    /// The sums over lanes of the gradient of positions.
    Sum,
}

#[inline(always)]
pub fn run<V: Eight>(token: V::Token, kernel: Kernel, work: &mut Work) {
    if let Kernel::Sum = kernel {
        return sum_lanes::<V>(token, &work.d_positions, &mut work.sums);
    }
    for i in 0..LENGTH {
        if let Kernel::Forward | Kernel::Both = kernel {
            forward::<V>(token, work, i);
        }
        match kernel {
            Kernel::Backward | Kernel::Both => backward::<V, false>(token, work, i),
            Kernel::Kept => backward::<V, true>(token, work, i),
            Kernel::Forward | Kernel::Sum => {}
        }
    }
}

#[inline(always)]
fn sum_lanes<V: Eight>(token: V::Token, lanes: &[Lane], sums: &mut [f32]) {
    let (eights, rest) = lanes.as_chunks();
    let (of_eights, of_rest) = sums.as_chunks_mut();
    for (eight, sums) in eights.iter().zip(of_eights) {
        *sums = V::sums(token, eight).0;
    }
    for (lane, sum) in rest.iter().zip(of_rest) {
        *sum = lane.0.iter().sum();
    }
}

/// 1.5 · 2²³: adding it to a number leaves the nearest integer in the low bits.
const ROUND: f32 = 12_582_912.0;
/// Coefficients of 2^f on |f| ≤ ½, highest first, as in the library.
const EXP2: [f32; 6] = [
    0.001_339_086_3,
    0.009_676_032,
    0.055_503_57,
    0.240_221_07,
    LN_2,
    1.000_000_1,
];

/// 2^x for |x| ≤ 126, of several at once: none waits for another.
#[inline(always)]
fn exp2<V: Eight, const C: usize>(token: V::Token, x: [V; C]) -> [V; C] {
    let round = V::splat(token, ROUND);
    let (mut shifted, mut f, mut p) = (x, x, [V::splat(token, EXP2[0]); C]);
    for u in 0..C {
        shifted[u] = x[u] + round;
        f[u] = x[u] - (shifted[u] - round);
    }
    for coefficient in &EXP2[1..] {
        for u in 0..C {
            p[u] = p[u].times_plus(f[u], V::splat(token, *coefficient));
        }
    }
    for u in 0..C {
        p[u] = p[u].scaled(shifted[u]);
    }
    p
}

/// Adds C keys to a row's sum and averages and stores their weights. The last key has the lag of the
/// first position.
#[inline(always)]
fn attend<V: Eight, const C: usize>(
    token: V::Token,
    (w_i, keys, positions): (&[Lane], &[Lane], &[f32]),
    weights: &mut [Lane],
    (sum, average): (&mut V, &mut [V; M]),
) {
    let mut s = [V::splat(token, 0.0); C];
    for u in 0..C {
        let position = &positions[(C - 1 - u) * (1 + M)..][..1 + M];
        s[u] = V::splat(token, position[0]);
        for r in 0..M {
            let asked = V::load(token, &w_i[r]) + V::splat(token, position[1 + r]);
            s[u] = asked.times_plus(V::load(token, &keys[u * M + r]), s[u]);
        }
    }
    let powers = exp2(token, s);
    for u in 0..C {
        weights[u] = powers[u].lane();
        *sum = *sum + powers[u];
        for r in 0..M {
            average[r] = powers[u].times_plus(V::load(token, &keys[u * M + r]), average[r]);
        }
    }
}

#[inline(always)]
fn forward<V: Eight>(token: V::Token, work: &mut Work, i: usize) {
    let w_i = &work.w[i * M..][..M];
    let (weights, keys) = (&mut work.weights[..=i], &work.y[..(i + 1) * M]);
    let mut sum = V::splat(token, 0.0);
    let mut average = [sum; M];
    let odd = weights.len() % KEYS;
    if odd == 1 {
        let position = &work.positions[i * (1 + M)..];
        attend::<V, 1>(
            token,
            (w_i, keys, position),
            weights,
            (&mut sum, &mut average),
        );
    }
    let pairs = weights[odd..]
        .chunks_exact_mut(KEYS)
        .zip(keys[odd * M..].chunks_exact(KEYS * M));
    let positions = work.positions[..(i + 1 - odd) * (1 + M)].chunks_exact(KEYS * (1 + M));
    for ((weights, keys), positions) in pairs.zip(positions.rev()) {
        attend::<V, KEYS>(
            token,
            (w_i, keys, positions),
            weights,
            (&mut sum, &mut average),
        );
    }
    let inverse = V::splat(token, 1.0) / sum;
    work.inverse = inverse.lane();
    for r in 0..M {
        work.c[i * M + r] = (average[r] * inverse).lane();
    }
}

/// Unless `KEPT`, a key is loaded wherever it is used, as in the library: for all that the compiler knows, a
/// store in between may have changed it.
#[inline(always)]
fn backward<V: Eight, const KEPT: bool>(token: V::Token, work: &mut Work, i: usize) {
    let (w_i, dc_i, c_i) = (
        &work.w[i * M..][..M],
        &work.dc[i * M..][..M],
        &work.c[i * M..][..M],
    );
    let (zero, inverse) = (V::splat(token, 0.0), V::load(token, &work.inverse));
    let (mut to_value, mut to_score, mut dw_i) = ([zero; M], [zero; M], [zero; M]);
    let mut below_centre = zero;
    for r in 0..M {
        to_value[r] = V::load(token, &dc_i[r]) * inverse;
        to_score[r] = to_value[r] * V::splat(token, LN_2);
        below_centre = below_centre - to_score[r] * V::load(token, &c_i[r]);
    }
    let (keys, end) = (work.y[..(i + 1) * M].chunks_exact(M), (i + 1) * (1 + M));
    let keys = keys.zip(work.dy[..(i + 1) * M].chunks_exact_mut(M));
    let positions = work.positions[..end].chunks_exact(1 + M).rev();
    let positions = positions.zip(work.d_positions[..end].chunks_exact_mut(1 + M).rev());
    for (((y_j, dy_j), (position, d_position)), weight) in keys.zip(positions).zip(&work.weights) {
        let (weight, mut slope, mut kept) = (V::load(token, weight), below_centre, [zero; M]);
        for r in 0..M {
            kept[r] = V::load(token, &y_j[r]);
            slope = to_score[r].times_plus(kept[r], slope);
        }
        let ds = weight * slope;
        d_position[0] = (V::load(token, &d_position[0]) + ds).lane();
        for r in 0..M {
            let through = ds
                * if KEPT {
                    kept[r]
                } else {
                    V::load(token, &y_j[r])
                };
            dw_i[r] = dw_i[r] + through;
            d_position[1 + r] = (V::load(token, &d_position[1 + r]) + through).lane();
        }
        for r in DATA..M {
            let asked = V::load(token, &w_i[r]) + V::splat(token, position[1 + r]);
            let dy_jr = weight.times_plus(to_value[r], V::load(token, &dy_j[r]));
            dy_j[r] = ds.times_plus(asked, dy_jr).lane();
        }
    }
    for r in 0..M {
        work.dw[i * M + r] = dw_i[r].lane();
    }
}
