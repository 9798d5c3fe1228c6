//! Computations on small matrices as a list of steps, which goes backward as it goes forward.

use std::mem::take;
use std::ops::Range;

use super::dense::{Place, add_product};
use crate::lanes::Level;
use crate::model::ops::layer_norm::EPSILON;
use crate::scratch::Allocator;

/// The buffers that steps begin and end with.
pub const TABLES: usize = 0;
pub const PARAMS: usize = 1;

/// Steps, and the sizes of the buffers that they need. No step writes to a buffer that it reads.
#[derive(Debug)]
pub struct Steps {
    steps: Vec<Step>,
    sizes: Vec<usize>,
}

/// What is added to a matrix.
#[derive(Debug)]
struct Step {
    out: Place,
    a: Place,
    term: Term,
}

#[derive(Debug)]
enum Term {
    /// a, and `back` times the gradient the other way
    Sum { factor: f32, back: f32 },
    /// factor · a b
    Product { b: Place, factor: f32 },
    /// a ∘ b
    Each { b: Place },
    /// Every row of a less its mean and, if `scaled`, over its standard deviation.
    Centred { scaled: bool },
}

impl Steps {
    /// No steps yet, for tables and parameters of these sizes.
    pub fn new(tables: usize, params: usize) -> Self {
        Self {
            steps: Vec::new(),
            sizes: vec![tables, params],
        }
    }

    /// Buffers for all numbers, or for their gradients.
    pub fn buffers(&self, buffers: &mut Allocator) -> Vec<Vec<f32>> {
        let sizes = self.sizes.iter();
        sizes.map(|&size| buffers.filled(0.0, [size])).collect()
    }

    /// A new matrix of zeros.
    pub fn zeros(&mut self, rows: usize, columns: usize) -> Place {
        self.sizes.push(rows * columns);
        Place::new(self.sizes.len() - 1, 0..rows * columns, columns)
    }

    fn push(&mut self, out: Place, a: Place, term: Term) {
        self.steps.push(Step { out, a, term });
    }

    /// out += a, and a gets `back` times the gradient of out.
    pub fn add(&mut self, out: Place, a: Place, back: f32) {
        self.push(out, a, Term::Sum { factor: 1.0, back });
    }

    /// out += factor · a b
    pub fn add_product(&mut self, out: Place, a: Place, b: Place, factor: f32) {
        self.push(out, a, Term::Product { b, factor });
    }

    /// out += a ∘ b
    pub fn add_each(&mut self, out: Place, a: Place, b: Place) {
        self.push(out, a, Term::Each { b });
    }

    /// a b
    pub fn product(&mut self, a: Place, b: Place) -> Place {
        let out = self.zeros(a.rows, b.columns);
        self.add_product(out, a, b, 1.0);
        out
    }

    /// Every row of a less its mean and, if `scaled`, over its standard deviation.
    pub fn centred(&mut self, a: Place, scaled: bool) -> Place {
        let out = self.zeros(a.rows, a.columns);
        self.push(out, a, Term::Centred { scaled });
        out
    }

    /// The first row of a, and what each of the others has more.
    pub fn differences(&mut self, a: Place) -> Place {
        let out = self.zeros(a.rows, a.columns);
        self.add(out, a, 1.0);
        let (factor, back) = (-1.0, -1.0);
        let others = out.rows(1..a.rows);
        self.push(others, a.repeated(a.rows - 1), Term::Sum { factor, back });
        out
    }

    /// Computes all numbers from the parameters.
    pub fn run(&self, level: Level, params: &[f32], values: &mut [Vec<f32>]) {
        values.iter_mut().for_each(|buffer| buffer.fill(0.0));
        values[PARAMS][..params.len()].copy_from_slice(params);
        for Step { out: to, a, term } in &self.steps {
            let mut out = take(&mut values[to.buffer]);
            let of_a = &values[a.buffer];
            match *term {
                Term::Sum { factor, .. } => add_rows(&mut out, *to, of_a, *a, factor),
                Term::Product { b, factor } => {
                    add_product(level, &mut out, *to, of_a, *a, &values[b.buffer], b, factor);
                }
                Term::Each { b } => add_each(&mut out, *to, (of_a, *a), (&values[b.buffer], b)),
                Term::Centred { scaled } => {
                    for r in 0..a.rows {
                        let out = to.row_mut(&mut out, r);
                        out.copy_from_slice(a.row(of_a, r));
                        centre(out);
                        if scaled {
                            let inverse = inverse_deviation(out, 0.0);
                            out.iter_mut().for_each(|x| *x *= inverse);
                        }
                    }
                }
            }
            values[to.buffer] = out;
        }
    }

    /// Computes all gradients from that of the tables, which is there already.
    ///
    /// - out = a b    ⟹  da += dout bᵀ, db += aᵀ dout
    /// - out = a ∘ b  ⟹  da += dout ∘ b, db += dout ∘ a
    /// - out = (a − mean a) / σ  ⟹  da += (dout − mean dout − out mean(dout ∘ out)) / σ, row by row; without σ,
    ///   da += dout − mean dout
    pub fn run_back(&self, level: Level, values: &[Vec<f32>], grads: &mut [Vec<f32>]) {
        grads[PARAMS..]
            .iter_mut()
            .for_each(|buffer| buffer.fill(0.0));
        for Step { out, a, term } in self.steps.iter().rev() {
            let mut d_out = take(&mut grads[out.buffer]);
            let (of_a, d_a) = (&values[a.buffer], &mut grads[a.buffer]);
            match *term {
                Term::Sum { back, .. } => add_rows(d_a, *a, &d_out, *out, back),
                Term::Product { b, factor } => {
                    let (of_b, turned) = (&values[b.buffer], b.transposed());
                    add_product(level, d_a, *a, &d_out, *out, of_b, turned, factor);
                    let d_b = &mut grads[b.buffer];
                    if b.is_turned() {
                        let d_out_turned = out.transposed();
                        add_product(level, d_b, turned, &d_out, d_out_turned, of_a, *a, factor);
                    } else {
                        add_product(level, d_b, b, of_a, a.transposed(), &d_out, *out, factor);
                    }
                }
                Term::Each { b } => {
                    add_each(d_a, *a, (&d_out, *out), (&values[b.buffer], b));
                    add_each(&mut grads[b.buffer], b, (&d_out, *out), (of_a, *a));
                }
                Term::Centred { scaled } => {
                    for r in 0..a.rows {
                        let (d_out, x) = (out.row_mut(&mut d_out, r), a.row(of_a, r));
                        centre(d_out);
                        if scaled {
                            let mean = mean(x);
                            let inverse = inverse_deviation(x, mean);
                            let products = d_out.iter().zip(x).map(|(h, x)| h * (x - mean));
                            let along = products.sum::<f32>() / x.len() as f32 * inverse * inverse;
                            for (h, x) in d_out.iter_mut().zip(x) {
                                *h = (*h - (x - mean) * along) * inverse;
                            }
                        }
                    }
                    add_rows(d_a, *a, &d_out, *out, 1.0);
                }
            }
            grads[out.buffer] = d_out;
        }
    }
}

/// out += factor · a
fn add_rows(out: &mut [f32], to: Place, a: &[f32], of_a: Place, factor: f32) {
    for r in 0..to.rows {
        let rows = to.row_mut(out, r).iter_mut().zip(of_a.row(a, r));
        rows.for_each(|(sum, x)| *sum += factor * x);
    }
}

/// out += a ∘ b
fn add_each(out: &mut [f32], to: Place, (a, of_a): (&[f32], Place), (b, of_b): (&[f32], Place)) {
    for r in 0..to.rows {
        let factors = of_a.row(a, r).iter().zip(of_b.row(b, r));
        let rows = to.row_mut(out, r).iter_mut().zip(factors);
        rows.for_each(|(sum, (x, y))| *sum += x * y);
    }
}

fn mean(row: &[f32]) -> f32 {
    row.iter().sum::<f32>() / row.len() as f32
}

/// Subtracts the mean.
fn centre(row: &mut [f32]) {
    let mean = mean(row);
    row.iter_mut().for_each(|x| *x -= mean);
}

/// 1/σ of a row with this mean.
fn inverse_deviation(row: &[f32], mean: f32) -> f32 {
    let squares = row.iter().map(|x| (x - mean) * (x - mean));
    let variance = squares.sum::<f32>() / row.len() as f32;
    1.0 / (variance + EPSILON as f32).sqrt()
}

/// Where parameters are, in rows of `columns`.
pub fn params(range: &Range<usize>, columns: usize) -> Place {
    Place::new(PARAMS, range.clone(), columns)
}

/// Where a table is, in rows of `columns`.
pub fn table(range: &Range<usize>, columns: usize) -> Place {
    Place::new(TABLES, range.clone(), columns)
}
