//! y_e = m_e x_e with m_e = 0 (dropped) or 1 / (1 − p) (kept): dropout with masks by address.
//!
//! No mask is stored. Two keys (k₀, k₁) of a sequence and the number of an entry decide whether it is kept, so
//! forward and backward, in any order and on any thread, see the same mask. Entries are numbered in pairs,
//! which share one hash of 32 bits, 16 for each; `docs/models.md` says which pair an entry belongs to.
//!
//! ```text
//! x = n + k₀;  x ^= x >> 16;  x *= 0x7feb352d;  x ^= x >> 15;
//! x += k₁;     x *= 0x846ca68b;  x ^= x >> 16             (32 bits, wrapping)
//! ```

use std::hint::black_box;
use std::ops::Range;

use crate::lanes::{LANES, Lane, leveled};
use crate::model::dropout::DropoutKeys;

/// A rate above zero, rounded to a multiple of 2⁻¹⁶.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// An entry is dropped if its 16 bits are below this: 1 to 65535.
    pub threshold: u32,
}

impl Rate {
    /// Number of steps from a rate of zero to one.
    pub const UNITS: f64 = 65536.0;

    /// The rate nearest to `p`, which is below one; none if that is zero.
    pub fn new(p: f64) -> Option<Self> {
        let threshold = (p * Self::UNITS).round() as u32;
        (threshold > 0).then_some(Self { threshold })
    }

    /// What kept entries are multiplied with: 1 / (1 − p).
    pub fn scale(self) -> f64 {
        Self::UNITS / (Self::UNITS - f64::from(self.threshold))
    }
}

/// The mask of one place for the sequences of a block.
#[derive(Clone, Copy, Debug)]
pub struct Mask {
    keys: DropoutKeys,
    threshold: u32,
    scale: f32,
    /// Number of the first pair.
    first: u32,
    /// Pairs per row.
    stride: u32,
}

impl Mask {
    /// The mask of `columns` entries per row, whose pairs are numbered from `first` on.
    pub fn new(keys: &DropoutKeys, rate: Rate, first: u32, columns: usize) -> Self {
        Self {
            keys: *keys,
            threshold: rate.threshold,
            scale: rate.scale() as f32,
            first,
            stride: pairs(1, columns),
        }
    }

    /// Multiplies the first entries of row `row` by their mask.
    #[inline(always)]
    pub fn apply_to_row(&self, row: usize, entries: &mut [Lane]) {
        let mut pair = self
            .first
            .wrapping_add((row as u32).wrapping_mul(self.stride));
        let (pairs, last) = entries.as_chunks_mut::<2>();
        for [even, odd] in pairs {
            // Hidden, or else the compiler would interchange loops, to vectors of one lane's numbers.
            let bits = hash(&self.keys, black_box(pair));
            *even = *even * self.kept(&bits, 0);
            *odd = *odd * self.kept(&bits, 16);
            pair = pair.wrapping_add(1);
        }
        if let [even] = last {
            *even = *even * self.kept(&hash(&self.keys, pair), 0);
        }
    }

    /// The mask where the 16 bits from `shift` on decide.
    #[inline(always)]
    fn kept(&self, bits: &[u32; LANES], shift: u32) -> Lane {
        let mut mask = Lane::ZERO;
        for lane in 0..LANES {
            let bits = (bits[lane] >> shift) & 0xffff;
            mask.0[lane] = if bits >= self.threshold {
                self.scale
            } else {
                0.0
            };
        }
        mask
    }
}

/// Number of pairs in `rows` rows: every row starts with a new pair.
pub fn pairs(rows: usize, columns: usize) -> u32 {
    (rows as u32).wrapping_mul(columns.div_ceil(2) as u32)
}

/// The bits of pair `n`, for two keys.
#[inline(always)]
pub fn hash_one(keys: [u32; 2], n: u32) -> u32 {
    let mut x = n.wrapping_add(keys[0]);
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_add(keys[1]);
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// The bits of pair `n`, for every lane.
#[inline(always)]
fn hash(keys: &DropoutKeys, n: u32) -> [u32; LANES] {
    let mut bits = [0; LANES];
    for lane in 0..LANES {
        bits[lane] = hash_one([keys.lanes[0][lane], keys.lanes[1][lane]], n);
    }
    bits
}

leveled!(
    /// x_i = m_i x_i, for the given rows; x holds those rows only. Its own backward: dx_i = m_i dy_i.
    pub fn apply<const FUSED: bool>(mask: &Mask, rows: Range<usize>, x: &mut [Lane]) {
        let columns = x.len() / rows.len().max(1);
        for (i, row) in rows.zip(x.chunks_exact_mut(columns)) {
            mask.apply_to_row(i, row);
        }
    }
);
