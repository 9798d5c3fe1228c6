//! Plain f64 matrices: products that read like the formulas.

use std::ops::{Index, IndexMut};

/// A dense matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// [rows, cols]
    pub data: Vec<f64>,
}

impl Matrix {
    /// All zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            data: vec![0.0; rows * cols],
        }
    }

    /// A copy of a flat slice.
    pub fn from_slice(rows: usize, cols: usize, data: &[f64]) -> Self {
        assert_eq!(data.len(), rows * cols);
        Self {
            rows,
            cols,
            data: data.to_vec(),
        }
    }

    /// The matrix with entry `f(row, col)`.
    pub fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for row in 0..rows {
            data.extend((0..cols).map(|col| f(row, col)));
        }
        Self { rows, cols, data }
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.cols..][..self.cols]
    }

    /// self · other
    pub fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.cols, other.rows);
        Matrix::from_fn(self.rows, other.cols, |i, j| {
            (0..self.cols).map(|m| self[(i, m)] * other[(m, j)]).sum()
        })
    }

    /// The transpose.
    pub fn transposed(&self) -> Matrix {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// Entrywise sum.
    pub fn plus(&self, other: &Matrix) -> Matrix {
        self.with(other, |a, b| a + b)
    }

    /// Entrywise difference.
    pub fn minus(&self, other: &Matrix) -> Matrix {
        self.with(other, |a, b| a - b)
    }

    /// Entrywise product.
    pub fn each_times(&self, other: &Matrix) -> Matrix {
        self.with(other, |a, b| a * b)
    }

    fn with(&self, other: &Matrix, f: impl Fn(f64, f64) -> f64) -> Matrix {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        Matrix::from_fn(self.rows, self.cols, |i, j| f(self[(i, j)], other[(i, j)]))
    }

    /// A function of every entry.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Matrix {
        Self {
            data: self.data.iter().map(|&entry| f(entry)).collect(),
            ..*self
        }
    }

    /// Every entry becomes the mean of its row.
    pub fn row_means(&self) -> Matrix {
        let mean = |i: usize| self.row(i).iter().sum::<f64>() / self.cols as f64;
        let means: Vec<f64> = (0..self.rows).map(mean).collect();
        Matrix::from_fn(self.rows, self.cols, |i, _| means[i])
    }

    /// Columns `start .. start + width`.
    pub fn columns(&self, start: usize, width: usize) -> Matrix {
        Matrix::from_fn(self.rows, width, |i, j| self[(i, start + j)])
    }

    /// Adds `block` to the columns from `start` on.
    pub fn add_columns(&mut self, start: usize, block: &Matrix) {
        for i in 0..block.rows {
            for j in 0..block.cols {
                self[(i, start + j)] += block[(i, j)];
            }
        }
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (row, col): (usize, usize)) -> &f64 {
        &self.data[row * self.cols + col]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, col): (usize, usize)) -> &mut f64 {
        &mut self.data[row * self.cols + col]
    }
}
