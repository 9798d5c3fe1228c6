//! The first layer's queries, keys and values where positions are absolute: tables, computed once per step.
//!
//! The stream below the first layer is E[x_i] + p_i, the sum of one of k symbols and one of t places.
//! Without a norm in between, queries, keys and values are such sums too. All of these n = k + t vectors,
//! symbols first, go through W_Q, W_K and W_V once, eight side by side in a lane as sequences are
//! elsewhere. The products of queries with keys are the table S that
//! [`placed`](crate::model::ops::attention::placed) explains.

use std::f32::consts::LN_2;
use std::ops::Range;

use crate::lanes::cross_lane::sum_lanes;
use crate::lanes::{LANES, Lane, Level, leveled};
use crate::model::choose::BOUNDED;
use crate::model::ops::attention::placed::{Powers, seen};
use crate::model::ops::linear;
use crate::model::transformer::{Layer, Transformer};

/// Sizes of the tables, and where their gradients are.
#[derive(Clone, Debug)]
pub struct Placed {
    pub states: usize,
    length: usize,
    width: usize,
    /// Gradients: of the values, [n, d], then of each head's S.
    pub values: Range<usize>,
    pub scores: Vec<ScorePlaces>,
}

/// Where the gradient of one head's S is.
#[derive(Clone, Debug)]
pub struct ScorePlaces {
    /// S_ac: [k, n]
    pub of_symbols: Range<usize>,
    /// S_ic, one row per place i, as long as the place sees ([`seen`]).
    pub of_places: Range<usize>,
}

/// The tables of one set of parameters, with buffers for the way back.
#[derive(Clone, Debug)]
pub struct PlacedTables {
    /// Whether no score is too large for the tables.
    pub bounded: bool,
    /// [n, d]
    pub values: Vec<f32>,
    /// One per head.
    pub powers: Vec<Powers>,
    heads: Vec<HeadTables>,
    /// Eight vectors per lane, [⌈n / 8⌉, d]: before and after W_Q, W_K and W_V.
    vectors: Vec<Lane>,
    projected: [Vec<Lane>; 3],
    d_vectors: Vec<Lane>,
    d_projected: [Vec<Lane>; 3],
    /// By lane, [d, d]
    d_weight: Vec<Lane>,
    /// S or its gradient, eight keys per lane: [⌈n / 8⌉, n]
    scores: Vec<Lane>,
}

#[derive(Clone, Debug)]
struct HeadTables {
    /// Queries by coordinate, [d_head, n]
    queries: Vec<f32>,
    /// Their gradient, by lane
    d_queries: Vec<Lane>,
    /// Eight keys per lane, [⌈n / 8⌉, d_head]
    keys: Vec<Lane>,
    d_keys: Vec<Lane>,
}

impl Placed {
    /// The tables of `shape`.
    pub fn new(shape: &Transformer) -> Self {
        let Transformer { states, length, .. } = *shape;
        let first = &shape.layers[0];
        let mut size = 0;
        let mut take = |length: usize| {
            size += length;
            size - length..size
        };
        Self {
            states,
            length,
            width: shape.width,
            values: take((states + length) * shape.width),
            scores: (0..first.heads)
                .map(|_| ScorePlaces {
                    of_symbols: take(states * (states + length)),
                    of_places: take(seen(states, length - 1).end),
                })
                .collect(),
        }
    }

    /// Length of all gradients of tables together.
    pub fn size(&self) -> usize {
        self.scores[self.scores.len() - 1].of_places.end
    }

    /// n = k + t
    fn count(&self) -> usize {
        self.states + self.length
    }

    /// An upper bound, within a few numbers, on the size of the tables.
    pub fn tables_len(&self) -> f64 {
        let (d, heads, lanes) = (self.width as f64, self.scores.len() as f64, LANES as f64);
        let n = (self.count() + LANES) as f64;
        let powers = heads * (self.length * self.states) as f64 * n;
        let vectors = n * d * (1.0 + 1.0 + lanes + 2.0 + 8.0);
        powers + vectors + lanes * d * d + n * n
    }

    /// Buffers for the tables.
    pub fn tables(&self) -> PlacedTables {
        let (d, heads, blocks) = (self.width, self.scores.len(), self.count().div_ceil(LANES));
        let lanes = |size: usize| vec![Lane::ZERO; size];
        let head = HeadTables {
            queries: vec![0.0; d / heads * blocks * LANES],
            d_queries: lanes(d / heads * blocks * LANES),
            keys: lanes(blocks * d / heads),
            d_keys: lanes(blocks * d / heads),
        };
        PlacedTables {
            bounded: false,
            values: vec![0.0; self.count() * d],
            powers: vec![Powers::new(self.states, self.length); heads],
            heads: vec![head; heads],
            vectors: lanes(blocks * d),
            projected: [(); 3].map(|()| lanes(blocks * d)),
            d_vectors: lanes(blocks * d),
            d_projected: [(); 3].map(|()| lanes(blocks * d)),
            d_weight: lanes(d * d),
            scores: lanes(blocks * blocks * LANES),
        }
    }

    /// Computes the tables, from parameters whose W_Q includes the scale of the scores.
    pub fn prepare(
        &self,
        level: Level,
        shape: &Transformer,
        params: &[f32],
        tables: &mut PlacedTables,
    ) {
        let d = self.width;
        pack(&params[vectors(shape)], d, &mut tables.vectors);
        for (weight, projected) in weights(&shape.layers[0])
            .into_iter()
            .zip(&mut tables.projected)
        {
            projected.fill(Lane::ZERO);
            let w = &params[weight];
            linear::add_forward(level, &tables.vectors, w, d, d, projected);
        }
        unpack(&tables.projected[2], d, &mut tables.values);
        let [queries, keys, _] = &tables.projected;
        let mut largest = Lane::ZERO;
        for (h, (head, powers)) in tables.heads.iter_mut().zip(&mut tables.powers).enumerate() {
            let size = d / self.scores.len();
            let n = head.queries.len() / size;
            for (m, own) in head.queries.chunks_exact_mut(n).enumerate() {
                let column = queries.iter().skip(h * size + m).step_by(d);
                for (own, query) in own.chunks_exact_mut(LANES).zip(column) {
                    own.copy_from_slice(&query.0);
                }
            }
            for (own, keys) in head.keys.chunks_exact_mut(size).zip(keys.chunks_exact(d)) {
                own.copy_from_slice(&keys[h * size..][..size]);
            }
            tables.scores.fill(Lane::ZERO);
            let scores = &mut tables.scores;
            linear::add_forward(level, &head.keys, &head.queries, size, n, scores);
            largest = largest.max(fill(level, self, scores, n, powers));
        }
        tables.bounded = largest.0.iter().all(|&exponent| exponent < BOUNDED);
    }

    /// Adds what comes through the tables to the gradients of the parameters (of W_Q as it was prepared).
    pub fn pull_back(
        &self,
        level: Level,
        shape: &Transformer,
        params: &[f32],
        tables: &mut PlacedTables,
        gradient: &[f32],
        grads: &mut [f32],
    ) {
        let d = self.width;
        let [d_queries, d_keys, d_values] = &mut tables.d_projected;
        pack(&gradient[self.values.clone()], d, d_values);
        for (h, (head, places)) in tables.heads.iter_mut().zip(&self.scores).enumerate() {
            let size = d / self.scores.len();
            let n = head.queries.len() / size;
            self.gather(gradient, places, n, &mut tables.scores);
            // S = keys · queries
            head.d_keys.fill(Lane::ZERO);
            head.d_queries.fill(Lane::ZERO);
            linear::backward(
                level,
                &head.keys,
                &head.queries,
                (size, n),
                &tables.scores,
                &mut head.d_keys,
                &mut head.d_queries,
            );
            for (m, own) in head.d_queries.chunks_exact(n).enumerate() {
                let column = d_queries.iter_mut().skip(h * size + m).step_by(d);
                for (own, d_query) in own.chunks_exact(LANES).zip(column) {
                    sum_lanes(level, own, &mut d_query.0);
                }
            }
            for (own, d_keys) in head
                .d_keys
                .chunks_exact(size)
                .zip(d_keys.chunks_exact_mut(d))
            {
                d_keys[h * size..][..size].copy_from_slice(own);
            }
        }
        // Queries, keys and values are the vectors times W each.
        tables.d_vectors.fill(Lane::ZERO);
        for (weight, d_projected) in weights(&shape.layers[0])
            .into_iter()
            .zip(&tables.d_projected)
        {
            tables.d_weight.fill(Lane::ZERO);
            linear::backward(
                level,
                &tables.vectors,
                &params[weight.clone()],
                (d, d),
                d_projected,
                &mut tables.d_vectors,
                &mut tables.d_weight,
            );
            for (sum, by_lane) in grads[weight].iter_mut().zip(&tables.d_weight) {
                *sum += by_lane.sum();
            }
        }
        let d_vectors = grads[vectors(shape)].chunks_exact_mut(d);
        for (v, d_vector) in d_vectors.enumerate() {
            let lanes = &tables.d_vectors[v / LANES * d..][..d];
            for (sum, lane) in d_vector.iter_mut().zip(lanes) {
                *sum += lane.0[v % LANES];
            }
        }
    }

    /// The gradient of a head's S, eight keys per lane: [⌈n / 8⌉, n], zero where it is not used. Blocks
    /// leave it in units of 1 / ln 2.
    fn gather(&self, gradient: &[f32], places: &ScorePlaces, n: usize, scores: &mut [Lane]) {
        scores.fill(Lane::ZERO);
        let mut set = |row: usize, entries: &[f32]| {
            for (r, part) in entries.chunks(LANES).enumerate() {
                let lane = &mut scores[r * n + row].0;
                for (entry, &slope) in lane.iter_mut().zip(part) {
                    *entry = slope * LN_2;
                }
            }
        };
        let of_symbols = &gradient[places.of_symbols.clone()];
        for (a, entries) in of_symbols.chunks_exact(self.count()).enumerate() {
            set(a, entries);
        }
        let of_places = &gradient[places.of_places.clone()];
        for i in 0..self.length {
            set(self.states + i, &of_places[seen(self.states, i)]);
        }
    }
}

leveled!(
    /// e(i, a, c) = 2^(S_ic + S_ac) for all c that place i sees; returns the largest exponents.
    fn fill<const FUSED: bool>(
        places: &Placed,
        scores: &[Lane],
        n: usize,
        powers: &mut Powers,
    ) -> Lane {
        let mut largest = Lane::ZERO;
        for i in 0..places.length {
            for a in 0..places.states {
                let row = powers
                    .row_mut(i, a)
                    .iter_mut()
                    .take((places.states + i) / LANES + 1);
                for (power, scores) in row.zip(scores.chunks_exact(n)) {
                    let exponent = scores[places.states + i] + scores[a];
                    largest = largest.max(exponent.abs());
                    *power = exponent.exp2_saturated::<FUSED>().0;
                }
            }
        }
        largest
    }
);

/// Where the vectors are: those of places come right after those of symbols.
pub fn vectors(shape: &Transformer) -> Range<usize> {
    let end = shape
        .embed_positions
        .as_ref()
        .map_or(shape.embed.end, |p| p.end);
    shape.embed.start..end
}

fn weights(layer: &Layer) -> [Range<usize>; 3] {
    [layer.w_q.clone(), layer.w_k.clone(), layer.w_v.clone()]
}

/// Packs rows of `width` numbers side by side, eight per lane.
fn pack(rows: &[f32], width: usize, lanes: &mut [Lane]) {
    for (row, numbers) in rows.chunks_exact(width).enumerate() {
        let lanes = &mut lanes[row / LANES * width..][..width];
        for (lane, &number) in lanes.iter_mut().zip(numbers) {
            lane.0[row % LANES] = number;
        }
    }
}

/// The inverse of [`pack`].
fn unpack(lanes: &[Lane], width: usize, rows: &mut [f32]) {
    for (row, numbers) in rows.chunks_exact_mut(width).enumerate() {
        let lanes = &lanes[row / LANES * width..][..width];
        for (number, lane) in numbers.iter_mut().zip(lanes) {
            *number = lane.0[row % LANES];
        }
    }
}
