//! One head in f64, by the formulas.

use super::RelativeTerm;
use crate::model::matrix::Matrix;

/// One head in f64, which keeps its whole pattern. Queries, keys, values [rows, m]; positions [t, m].
pub struct Naive {
    relative: RelativeTerm,
    queries: Matrix,
    keys: Matrix,
    values: Matrix,
    positions: Matrix,
    /// What dropout multiplies the pattern with, [rows, rows]; ones without.
    pub mask: Matrix,
    /// Before the softmax, [rows, rows].
    pub attn_scores: Matrix,
    /// After it.
    pub attn_pattern: Matrix,
    /// Whether the pattern is given, so that no gradient flows into it.
    given: bool,
    /// The uniform part of the pattern, 1 / (i + 1), where values get no gradient through it; else zero.
    apart: Matrix,
    /// What that part adds to the output, [rows, m].
    pub added: Matrix,
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
            mask: Matrix::from_fn(rows, rows, |_, _| 1.0),
            attn_scores,
            attn_pattern,
            given: false,
            apart: Matrix::zeros(rows, rows),
            added: Matrix::zeros(rows, size),
        }
    }

    /// The same head with a given pattern, from which nothing is dropped.
    pub fn given(self, attn_pattern: Matrix) -> Self {
        let mask = Matrix::from_fn(attn_pattern.rows, attn_pattern.cols, |_, _| 1.0);
        Self {
            attn_pattern,
            mask,
            given: true,
            ..self
        }
    }

    /// The same head with its own pattern, into which no gradient flows.
    pub fn stopped(self) -> Self {
        Self {
            given: true,
            ..self
        }
    }

    /// The same head, whose values get no gradient through the uniform part of its pattern. That part adds
    /// `added` to the output; what it does add, if none is given.
    pub fn apart(self, added: Option<Matrix>) -> Self {
        let rows = self.queries.rows;
        let share = |i: usize, j: usize| if j <= i { 1.0 / (i + 1) as f64 } else { 0.0 };
        let apart = Matrix::from_fn(rows, rows, share);
        let added = added.unwrap_or_else(|| apart.times(&self.values));
        Self {
            apart,
            added,
            ..self
        }
    }

    /// The same head, with dropout on its pattern.
    pub fn dropped(self, mask: Matrix) -> Self {
        Self { mask, ..self }
    }

    /// m_ij p_ij, without what is apart
    fn masked_pattern(&self) -> Matrix {
        let masked = self.attn_pattern.each_times(&self.mask);
        Matrix::from_fn(masked.rows, masked.cols, |i, j| {
            masked[(i, j)] - self.apart[(i, j)]
        })
    }

    /// out_i = Σ_j m_ij p_ij u_j
    pub fn output(&self) -> Matrix {
        self.masked_pattern().times(&self.values).plus(&self.added)
    }

    /// Gradients of the inputs, given that of the output.
    pub fn backward(&self, d_out: &Matrix) -> NaiveGradients {
        let (rows, size) = (self.queries.rows, self.queries.cols);
        let values = self.masked_pattern().transposed().times(d_out);
        let d_pattern = d_out
            .times(&self.values.transposed())
            .each_times(&self.mask);
        let d_scores = match self.given {
            true => Matrix::zeros(rows, rows),
            false => naive_softmax_backward(&self.attn_pattern, &d_pattern),
        };
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
