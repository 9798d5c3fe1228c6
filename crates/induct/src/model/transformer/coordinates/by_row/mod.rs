//! The last layer's attention over many coordinates, with rows as lanes: one head and one
//! block, a group of rows at a time.
//!
//! Everywhere else a [`Lane`] holds one number from each of eight sequences. Here it holds one number from
//! each of eight rows of one sequence. All of them meet the same key, and so the same symbol x_j. What the
//! symbol adds to a score is looked up in tables that have one plane per symbol. Only the other coordinates,
//! averages a_j of the layers below, are multiplied:
//!
//! > s_ij = w_i[x_j] + T_δ[x_j] + Σ_r (w_ir + T_δr) a_jr,   δ = i − j   (in units of ln 2),
//!
//! where T_δ[x_j] includes the lag's bias. Coordinates are not averaged either, because only the logits of
//! this layer are needed. A head's values are what it says about every symbol but the first, relative to the
//! first: u_j = y_j · ov ([t, k−1]). Their averages are the head's share of the logits, up to a number that
//! all logits of a row have in common and that no loss depends on.
//!
//! Only for positions that meet the key. Scores may be of any size.

mod backward;
mod forward;
mod layer;
mod turn;

use std::ops::Range;

use self::backward::Scratch;
pub(super) use self::layer::ByRowHead;
use self::turn::{gather, scatter};
use crate::lanes::{LANES, Lane, Level};
use crate::model::ops::attention::lags::LagPlanes;

/// Vectors of rows that go forward and backward together.
pub(super) const GROUP: usize = 4;

/// Keys that scores and slopes take at a time.
const TILE: usize = LANES / 2;

/// Rows that go forward and backward together.
const ROWS: usize = GROUP * LANES;

/// The sizes of a head.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Number of symbols, k.
    states: usize,
    /// Number of coordinates that are not symbols.
    rest: usize,
    /// Number of vectors of rows (and keys), t / 8 rounded up.
    vectors: usize,
}

impl Sizes {
    /// Number of coordinates, m.
    fn coordinates(self) -> usize {
        self.states - 1 + self.rest
    }

    /// Number of planes of queries: one per symbol, and one per other coordinate.
    #[inline(always)]
    fn planes(self) -> usize {
        self.states + self.rest
    }

    /// Number of values per key: one per logit but the first.
    #[inline(always)]
    fn values(self) -> usize {
        self.states - 1
    }

    /// Numbers per key: its other coordinates and its values.
    #[inline(always)]
    fn columns(self) -> usize {
        self.rest + self.values()
    }
}

/// A head's positional table by plane: bias plus slope of every symbol, and the
/// slopes of every other coordinate.
#[derive(Clone, Debug)]
pub(super) struct Lags {
    /// Whether none of the head's scores can be large.
    bounded: bool,
    planes: LagPlanes<AHEAD>,
}

/// Entries for negative lags, of keys that only some rows of a tile see.
const AHEAD: usize = 2 * LANES;

/// The score of a key that a row does not see: so low that its weight is zero.
const UNSEEN: f32 = -1e30;

impl Lags {
    /// Buffers for k = `states`, m coordinates and t = `length`.
    pub fn new(states: usize, m: usize, length: usize) -> Self {
        let mut planes = LagPlanes::new(1 + m, length.next_multiple_of(LANES) + LANES);
        for plane in 0..states.min(1 + m) {
            planes.ahead_mut(plane).fill(UNSEEN);
        }
        Self {
            bounded: false,
            planes,
        }
    }

    /// Reads a head's table, [t, 1 + m]; `bounded` says that none of its scores is beyond ±40.
    pub fn fill(&mut self, states: usize, m: usize, positions: &[f32], bounded: bool) {
        self.bounded = bounded;
        for (lag, row) in positions.chunks_exact(1 + m).enumerate() {
            *self.planes.at_mut(0, lag) = row[0];
            for (plane, &slope) in row.iter().enumerate().skip(1) {
                let bias = if plane < states { row[0] } else { 0.0 };
                *self.planes.at_mut(plane, lag) = bias + slope;
            }
        }
    }

    /// Adds these, as gradients, to the first lane of those of a head's table, [t, 1 + m] by lane.
    fn add_to(&self, states: usize, m: usize, d_positions: &mut [Lane]) {
        for (lag, row) in d_positions.chunks_exact_mut(1 + m).enumerate() {
            for plane in 0..=m {
                let slope = self.planes.at(plane, lag);
                row[plane].0[0] += slope;
                if (1..states).contains(&plane) {
                    row[0].0[0] += slope;
                }
            }
        }
    }
}

/// Activations and gradients of a head.
#[derive(Clone, Debug)]
struct ByRowScratch {
    sizes: Sizes,
    sequences: [Sequence; LANES],
    /// Gradients of the positional table, over all sequences.
    d_lags: Lags,
    scratch: Scratch,
}

/// One sequence.
#[derive(Clone, Debug)]
struct Sequence {
    /// One symbol per key. Keys that pad the last vector are zero, as is everything else about them.
    symbols: Vec<u8>,
    /// What rows ask, [planes, vectors]; nothing for the first symbol.
    queries: Vec<Lane>,
    d_queries: Vec<Lane>,
    /// Other coordinates and values of keys, [vectors, columns]
    keys: Vec<Lane>,
    d_keys: Vec<Lane>,
    /// Weights of a group's rows, [vectors, GROUP, 8], and one over their sums.
    weights: Vec<Lane>,
    inverse: [Lane; GROUP],
    /// The averages of a group's rows, and their gradients, [k−1, GROUP]
    out: Vec<Lane>,
    d_out: Vec<Lane>,
}

impl ByRowScratch {
    /// Buffers for k = `states`, m coordinates and t = `length`.
    pub fn new(states: usize, m: usize, length: usize) -> Self {
        let sizes = Sizes {
            states,
            rest: m + 1 - states,
            vectors: length.div_ceil(LANES),
        };
        let lanes = |size: usize| vec![Lane::ZERO; size];
        let (queries, keys) = (
            lanes(sizes.planes() * sizes.vectors),
            lanes(sizes.columns() * sizes.vectors),
        );
        let keys_seen = sizes.vectors * LANES;
        let sequence = Sequence {
            symbols: vec![0; keys_seen],
            d_queries: queries.clone(),
            queries,
            d_keys: keys.clone(),
            keys,
            weights: lanes(keys_seen * GROUP),
            inverse: [Lane::ZERO; GROUP],
            out: lanes(sizes.values() * GROUP),
            d_out: lanes(sizes.values() * GROUP),
        };
        Self {
            sizes,
            sequences: std::array::from_fn(|_| sequence.clone()),
            d_lags: Lags::new(states, m, length),
            scratch: Scratch::new(sizes),
        }
    }

    /// Reads a block: its symbols, coordinates y, what they ask, w ([rows, m]),
    /// and the values u ([rows, k−1]).
    pub fn read(
        &mut self,
        level: Level,
        inputs: &[[u8; LANES]],
        (y, w, u): (&[Lane], &[Lane], &[Lane]),
    ) {
        let (sizes, rows) = (self.sizes, 0..inputs.len());
        let Sizes {
            states,
            rest,
            vectors,
        } = sizes;
        self.d_lags.planes.clear();
        for (lane, sequence) in self.sequences.iter_mut().enumerate() {
            for (symbol, row) in sequence.symbols.iter_mut().zip(inputs) {
                *symbol = row[lane];
            }
            sequence.symbols[inputs.len()..].fill(0);
            // Planes that are looked up are added to; the other planes are set.
            sequence.d_queries[..states * vectors].fill(Lane::ZERO);
            sequence.d_keys.fill(Lane::ZERO);
        }
        let sequences = &mut self.sequences;
        let mut queries = sequences.each_mut().map(|s| &mut s.queries[vectors..]);
        gather(level, w, rows.clone(), sizes.turn_queries(), &mut queries);
        let mut keys = sequences.each_mut().map(|s| &mut s.keys[..]);
        gather(level, y, rows.clone(), sizes.turn_rest(), &mut keys);
        let mut values = sequences.each_mut().map(|s| &mut s.keys[rest..]);
        gather(level, u, rows, sizes.turn_values(), &mut values);
    }

    /// Adds the head's share to the logits of a group of rows, `logits` ([rows, k]).
    pub fn forward(&mut self, level: Level, lags: &Lags, rows: Range<usize>, logits: &mut [Lane]) {
        let (sizes, vectors) = (self.sizes, vectors_of(&rows));
        for sequence in &mut self.sequences {
            let vectors = vectors.clone();
            match lags.bounded {
                true => forward::forward::<true>(level, sizes, lags, vectors, sequence),
                false => forward::forward::<false>(level, sizes, lags, vectors, sequence),
            }
        }
        let out = self.sequences.each_ref().map(|s| &s.out[..]);
        scatter(level, &out, 0..rows.len(), sizes.turn_logits(), logits);
    }

    /// The gradients of a group of rows, given that of its logits, [rows, k]. Call it
    /// right after the group's forward.
    pub fn backward(&mut self, level: Level, lags: &Lags, rows: Range<usize>, d_logits: &[Lane]) {
        let (sizes, vectors) = (self.sizes, vectors_of(&rows));
        let mut d_out = self.sequences.each_mut().map(|s| &mut s.d_out[..]);
        gather(
            level,
            d_logits,
            0..rows.len(),
            sizes.turn_logits(),
            &mut d_out,
        );
        let (d_lags, scratch) = (&mut self.d_lags, &mut self.scratch);
        for sequence in &mut self.sequences {
            backward::backward(
                level,
                sizes,
                lags,
                vectors.clone(),
                sequence,
                d_lags,
                scratch,
            );
        }
    }

    /// Adds the gradients of all groups to those of the coordinates ([rows, m]), of what they ask ([rows,
    /// m]), of the values ([rows, k−1]) and of the positional table ([t, 1 + m], by lane).
    pub fn write(
        &self,
        level: Level,
        rows: usize,
        (dy, dw, du): (&mut [Lane], &mut [Lane], &mut [Lane]),
        d_positions: &mut [Lane],
    ) {
        let (sizes, rows) = (self.sizes, 0..rows);
        let sequences = &self.sequences;
        let d_queries = sequences.each_ref().map(|s| &s.d_queries[sizes.vectors..]);
        scatter(level, &d_queries, rows.clone(), sizes.turn_queries(), dw);
        let d_keys = sequences.each_ref().map(|s| &s.d_keys[..]);
        scatter(level, &d_keys, rows.clone(), sizes.turn_rest(), dy);
        let d_values = sequences.each_ref().map(|s| &s.d_keys[sizes.rest..]);
        scatter(level, &d_values, rows, sizes.turn_values(), du);
        self.d_lags
            .add_to(sizes.states, sizes.coordinates(), d_positions);
    }
}

/// The vectors that hold a group of rows; the group starts at the first row of a vector.
fn vectors_of(rows: &Range<usize>) -> Range<usize> {
    rows.start / LANES..rows.end.div_ceil(LANES)
}
