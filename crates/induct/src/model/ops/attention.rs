//! Causal attention with a table of relative positions, for one head:
//!
//! - s_ij = (q_i + r_{i−j}) · k_j / √m   (`RelativeTerm::Key`),
//! - s_ij = q_i · (k_j + r_{i−j}) / √m   (`RelativeTerm::Query`),
//! - s_ij = q_i · k_j / √m               (`RelativeTerm::Absent`), for j ≤ i;
//! - p_ij = softmax_j s_ij, and out_i = Σ_j p_ij u_j.
//!
//! The fast path never keeps a t×t matrix: the forward saves each row's largest score and the inverse of
//! its sum of exponentials, and the backward computes the pattern again from them.

use std::ops::Range;

use crate::model::lane::Lane;
use crate::model::matrix::Matrix;

/// Where the positional vector r_{i−j} enters a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeTerm {
    /// Added to the query.
    Key,
    /// Added to the key.
    Query,
    /// Nowhere.
    Absent,
}

/// One head: its place, and which columns of width-d buffers are its own.
#[derive(Clone, Debug)]
pub struct Head {
    /// Which layer it is in.
    pub layer: usize,
    /// Which head of the layer it is.
    pub index: usize,
    /// Its columns; their number is the head's size m.
    pub columns: Range<usize>,
    /// Width d of the buffers.
    pub width: usize,
    /// Where positions enter.
    pub relative: RelativeTerm,
}

/// What the forward reads and the backward reads again: queries, keys, values [rows, d] and positions [t, d].
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Queries.
    pub queries: &'a [Lane],
    /// Keys.
    pub keys: &'a [Lane],
    /// Values.
    pub values: &'a [Lane],
    /// Positional vectors, row 0 for the current position; empty if absent.
    pub positions: &'a [f32],
}

/// Gradients of the inputs; those of the positions by lane.
pub struct Gradients<'a> {
    /// Of the queries.
    pub queries: &'a mut [Lane],
    /// Of the keys.
    pub keys: &'a mut [Lane],
    /// Of the values.
    pub values: &'a mut [Lane],
    /// Of the positional vectors.
    pub positions: &'a mut [Lane],
}

/// What makes a row of scores into a row of the pattern: p = e^(s − largest) · inverse_sum. `[rows]` each.
#[derive(Clone, Debug)]
pub struct RowScales {
    /// Largest score of the row.
    pub largest: Vec<Lane>,
    /// One over the row's sum of exponentials.
    pub inverse_sum: Vec<Lane>,
}

impl RowScales {
    /// Room for `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self {
            largest: vec![Lane::ZERO; rows],
            inverse_sum: vec![Lane::ZERO; rows],
        }
    }
}

/// One row of one head's attention, shown to a probe as the forward computes it: the entries for j ≤ i.
#[derive(Clone, Copy, Debug)]
pub struct AttnRow<'a> {
    /// Which layer.
    pub layer: usize,
    /// Which head of it.
    pub head: usize,
    /// The position that attends, i.
    pub position: usize,
    /// Before the softmax.
    pub attn_scores: &'a [Lane],
    /// After the softmax.
    pub attn_pattern: &'a [Lane],
}

/// Whoever looks at attention.
pub type AttnProbe<'a> = &'a mut dyn FnMut(AttnRow);

impl Head {
    #[inline(always)]
    fn scale(&self) -> f32 {
        1.0 / (self.columns.len() as f32).sqrt()
    }

    #[inline(always)]
    fn row<'a, T>(&self, buffer: &'a [T], row: usize) -> &'a [T] {
        &buffer[row * self.width..][self.columns.clone()]
    }

    #[inline(always)]
    fn row_mut<'a, T>(&self, buffer: &'a mut [T], row: usize) -> &'a mut [T] {
        &mut buffer[row * self.width..][self.columns.clone()]
    }

    /// Writes s_ij for all j ≤ i into `scores`.
    #[inline(always)]
    fn scores(&self, inputs: &Inputs, i: usize, scores: &mut [Lane]) {
        let scale = self.scale();
        let query = self.row(inputs.queries, i);
        for (j, score) in scores[..=i].iter_mut().enumerate() {
            let key = self.row(inputs.keys, j);
            let mut sum = Lane::ZERO;
            match self.relative {
                RelativeTerm::Key => {
                    let position = self.row(inputs.positions, i - j);
                    for ((&q, &k), &r) in query.iter().zip(key).zip(position) {
                        sum += (q + Lane::splat(r)) * k;
                    }
                }
                RelativeTerm::Query => {
                    let position = self.row(inputs.positions, i - j);
                    for ((&q, &k), &r) in query.iter().zip(key).zip(position) {
                        sum += q * (k + Lane::splat(r));
                    }
                }
                RelativeTerm::Absent => {
                    for (&q, &k) in query.iter().zip(key) {
                        sum += q * k;
                    }
                }
            }
            *score = sum * scale;
        }
    }

    /// Sets the head's columns of `out` ([rows, d]) and saves what the backward needs.
    ///
    /// `row` is scratch, `[rows]`; `probe`, if given, is shown each row.
    #[inline(always)]
    pub fn forward(
        &self,
        inputs: &Inputs,
        row: &mut [Lane],
        scales: &mut RowScales,
        out: &mut [Lane],
        mut probe: Option<AttnProbe>,
    ) {
        let rows = row.len();
        for i in 0..rows {
            self.scores(inputs, i, row);
            let scores = probe.is_some().then(|| row[..=i].to_vec());
            let largest = row[1..=i]
                .iter()
                .fold(row[0], |most, &score| most.max(score));
            let mut sum = Lane::ZERO;
            for score in &mut row[..=i] {
                *score = (*score - largest).exp();
                sum += *score;
            }
            let inverse_sum = sum.map(|s| 1.0 / s);
            let out_i = self.row_mut(out, i);
            out_i.fill(Lane::ZERO);
            for (j, &weight) in row[..=i].iter().enumerate() {
                for (o, &u) in out_i.iter_mut().zip(self.row(inputs.values, j)) {
                    *o += weight * u;
                }
            }
            for o in out_i.iter_mut() {
                *o = *o * inverse_sum;
            }
            if let (Some(probe), Some(scores)) = (probe.as_deref_mut(), scores) {
                let pattern: Vec<Lane> = row[..=i].iter().map(|&e| e * inverse_sum).collect();
                probe(AttnRow {
                    layer: self.layer,
                    head: self.index,
                    position: i,
                    attn_scores: &scores,
                    attn_pattern: &pattern,
                });
            }
            scales.largest[i] = largest;
            scales.inverse_sum[i] = inverse_sum;
        }
    }

    /// Adds the gradients of the inputs, given that of the output (`d_out`, [rows, d]).
    ///
    /// - out_i = Σ_j p_ij u_j   ⟹  du_j += p_ij dout_i,  dp_ij = dout_i · u_j
    /// - p_i = softmax(s_i)     ⟹  ds_ij = p_ij (dp_ij − Σ_l p_il dp_il), and the sum is dout_i · out_i
    /// - s_ij = (q_i + r_{i−j}) · k_j / √m  ⟹  dq_i += ds k_j, dr_{i−j} += ds k_j, dk_j += ds (q_i + r_{i−j}),
    ///   all over √m; likewise with the roles of q and k exchanged.
    #[inline(always)]
    pub fn backward(
        &self,
        inputs: &Inputs,
        scales: &RowScales,
        out: &[Lane],
        d_out: &[Lane],
        row: &mut [Lane],
        grads: &mut Gradients,
    ) {
        let scale = self.scale();
        for i in 0..row.len() {
            self.scores(inputs, i, row);
            let d_out_i = self.row(d_out, i);
            let centre = dot(d_out_i, self.row(out, i));
            let query = self.row(inputs.queries, i);
            for j in 0..=i {
                let p = (row[j] - scales.largest[i]).exp() * scales.inverse_sum[i];
                let dp = dot(d_out_i, self.row(inputs.values, j));
                for (du, &d) in self.row_mut(grads.values, j).iter_mut().zip(d_out_i) {
                    *du += p * d;
                }
                let ds = p * (dp - centre) * scale;
                let key = self.row(inputs.keys, j);
                let d_query = self.row_mut(grads.queries, i);
                let d_key = self.row_mut(grads.keys, j);
                match self.relative {
                    RelativeTerm::Key => {
                        let position = self.row(inputs.positions, i - j);
                        let d_position = self.row_mut(grads.positions, i - j);
                        for m in 0..key.len() {
                            let through_key = ds * key[m];
                            d_query[m] += through_key;
                            d_position[m] += through_key;
                            d_key[m] += ds * (query[m] + Lane::splat(position[m]));
                        }
                    }
                    RelativeTerm::Query => {
                        let position = self.row(inputs.positions, i - j);
                        let d_position = self.row_mut(grads.positions, i - j);
                        for m in 0..key.len() {
                            let through_query = ds * query[m];
                            d_key[m] += through_query;
                            d_position[m] += through_query;
                            d_query[m] += ds * (key[m] + Lane::splat(position[m]));
                        }
                    }
                    RelativeTerm::Absent => {
                        for m in 0..key.len() {
                            d_query[m] += ds * key[m];
                            d_key[m] += ds * query[m];
                        }
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn dot(a: &[Lane], b: &[Lane]) -> Lane {
    a.iter()
        .zip(b)
        .fold(Lane::ZERO, |sum, (&x, &y)| sum + x * y)
}

/// One head in f64, with its whole pattern kept. Queries, keys, values [rows, m]; positions [t, m].
pub struct Naive {
    relative: RelativeTerm,
    queries: Matrix,
    keys: Matrix,
    values: Matrix,
    positions: Matrix,
    /// Before the softmax, [rows, rows].
    pub attn_scores: Matrix,
    /// After it.
    pub attn_pattern: Matrix,
}

/// Gradients of a naive head's inputs.
pub struct NaiveGradients {
    /// Of the queries.
    pub queries: Matrix,
    /// Of the keys.
    pub keys: Matrix,
    /// Of the values.
    pub values: Matrix,
    /// Of the positional vectors.
    pub positions: Matrix,
}

impl Naive {
    /// Computes scores and pattern by the formulas at the top of this file.
    pub fn new(
        relative: RelativeTerm,
        queries: Matrix,
        keys: Matrix,
        values: Matrix,
        positions: Matrix,
    ) -> Self {
        let (rows, size) = (queries.rows, queries.cols);
        let attn_scores = Matrix::from_fn(rows, rows, |i, j| {
            if j > i {
                return f64::NEG_INFINITY;
            }
            let product = |m: usize| match relative {
                RelativeTerm::Key => (queries[(i, m)] + positions[(i - j, m)]) * keys[(j, m)],
                RelativeTerm::Query => queries[(i, m)] * (keys[(j, m)] + positions[(i - j, m)]),
                RelativeTerm::Absent => queries[(i, m)] * keys[(j, m)],
            };
            (0..size).map(product).sum::<f64>() / (size as f64).sqrt()
        });
        let attn_pattern = naive_softmax(&attn_scores);
        Self {
            relative,
            queries,
            keys,
            values,
            positions,
            attn_scores,
            attn_pattern,
        }
    }

    /// out_i = Σ_j p_ij u_j
    pub fn output(&self) -> Matrix {
        self.attn_pattern.times(&self.values)
    }

    /// Gradients of the inputs, given that of the output.
    pub fn backward(&self, d_out: &Matrix) -> NaiveGradients {
        let (rows, size) = (self.queries.rows, self.queries.cols);
        let values = self.attn_pattern.transposed().times(d_out);
        let d_pattern = d_out.times(&self.values.transposed());
        let d_scores = naive_softmax_backward(&self.attn_pattern, &d_pattern);
        let mut queries = Matrix::zeros(rows, size);
        let mut keys = Matrix::zeros(rows, size);
        let mut positions = Matrix::zeros(self.positions.rows, self.positions.cols);
        for i in 0..rows {
            for j in 0..=i {
                let ds = d_scores[(i, j)] / (size as f64).sqrt();
                for m in 0..size {
                    let (q, k) = (self.queries[(i, m)], self.keys[(j, m)]);
                    let (mut to_q, mut to_k) = (k, q);
                    match self.relative {
                        RelativeTerm::Key => {
                            to_k += self.positions[(i - j, m)];
                            positions[(i - j, m)] += ds * k;
                        }
                        RelativeTerm::Query => {
                            to_q += self.positions[(i - j, m)];
                            positions[(i - j, m)] += ds * q;
                        }
                        RelativeTerm::Absent => {}
                    }
                    queries[(i, m)] += ds * to_q;
                    keys[(j, m)] += ds * to_k;
                }
            }
        }
        NaiveGradients {
            queries,
            keys,
            values,
            positions,
        }
    }
}

/// Softmax of every row; −∞ gives zero.
pub fn naive_softmax(scores: &Matrix) -> Matrix {
    let mut pattern = scores.clone();
    for row in pattern.data.chunks_exact_mut(scores.cols) {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|s| *s = (*s - largest).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|s| *s /= sum);
    }
    pattern
}

/// p = softmax(s)  ⟹  ds_j = p_j (dp_j − Σ_l p_l dp_l), row by row.
pub fn naive_softmax_backward(pattern: &Matrix, d_pattern: &Matrix) -> Matrix {
    Matrix::from_fn(pattern.rows, pattern.cols, |i, j| {
        let centre: f64 = (0..pattern.cols)
            .map(|l| pattern[(i, l)] * d_pattern[(i, l)])
            .sum();
        pattern[(i, j)] * (d_pattern[(i, j)] - centre)
    })
}
