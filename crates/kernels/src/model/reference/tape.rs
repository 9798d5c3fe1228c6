//! A tape of f64 matrices: formulas are written forward, and their gradients follow.

use std::cell::RefCell;
use std::ops::{Add, Sub};
use std::rc::Rc;

use crate::model::matrix::Matrix;

/// All values of a computation, in the order in which they were computed.
#[derive(Default)]
pub struct Tape {
    nodes: RefCell<Vec<Node>>,
}

struct Node {
    matrix: Rc<Matrix>,
    /// The inputs that have a gradient, each with what this node's gradient adds to it. None for constants and
    /// what is computed from constants alone.
    inputs: Option<Vec<(usize, Pullback)>>,
}

/// The gradient of an operation's input, given that of its result.
type Pullback = Box<dyn Fn(&Matrix) -> Matrix>;

/// A matrix on a tape.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    tape: &'t Tape,
    index: usize,
}

/// The gradients of a number by the values it was computed from.
pub struct Gradients(Vec<Option<Matrix>>);

impl Gradients {
    /// That of a value; none if the number does not depend on it.
    pub fn of(&self, value: Value) -> Option<&Matrix> {
        self.0.get(value.index)?.as_ref()
    }
}

impl Tape {
    /// A value without a gradient.
    pub fn constant(&self, matrix: Matrix) -> Value<'_> {
        self.push(matrix, None)
    }

    /// A value with a gradient.
    pub fn leaf(&self, matrix: Matrix) -> Value<'_> {
        self.push(matrix, Some(Vec::new()))
    }

    fn operation<const N: usize>(
        &self,
        result: Matrix,
        inputs: [(Value, Pullback); N],
    ) -> Value<'_> {
        let has_gradient = |value: &Value| self.nodes.borrow()[value.index].inputs.is_some();
        let inputs = inputs.into_iter().filter(|(value, _)| has_gradient(value));
        let inputs: Vec<_> = inputs.map(|(value, pull)| (value.index, pull)).collect();
        self.push(result, (!inputs.is_empty()).then_some(inputs))
    }

    fn push(&self, matrix: Matrix, inputs: Option<Vec<(usize, Pullback)>>) -> Value<'_> {
        let (tape, mut nodes) = (self, self.nodes.borrow_mut());
        let (matrix, index) = (matrix.into(), nodes.len());
        nodes.push(Node { matrix, inputs });
        Value { tape, index }
    }
}

impl<'t> Value<'t> {
    /// A copy of the matrix.
    pub fn matrix(self) -> Matrix {
        self.shared().as_ref().clone()
    }

    fn shared(self) -> Rc<Matrix> {
        self.tape.nodes.borrow()[self.index].matrix.clone()
    }

    /// Numbers of rows and columns.
    pub fn size(self) -> (usize, usize) {
        let matrix = self.shared();
        (matrix.rows, matrix.cols)
    }

    /// The tape that it is on.
    pub fn tape(self) -> &'t Tape {
        self.tape
    }

    /// The only entry of a 1 × 1 matrix.
    pub fn number(self) -> f64 {
        assert_eq!(self.size(), (1, 1));
        self.shared()[(0, 0)]
    }

    /// The gradients of this number by everything it was computed from.
    pub fn gradients(self) -> Gradients {
        self.number();
        let nodes = self.tape.nodes.borrow();
        let mut found: Vec<Option<Matrix>> = vec![None; self.index + 1];
        found[self.index] = Some(Matrix::from_fn(1, 1, |_, _| 1.0));
        for index in (0..=self.index).rev() {
            let (inputs, gradient) = found.split_at_mut(index);
            let Some(gradient) = &gradient[0] else {
                continue;
            };
            for (input, pullback) in nodes[index].inputs.iter().flatten() {
                let part = pullback(gradient);
                inputs[*input] = Some(match inputs[*input].take() {
                    Some(sum) => sum.plus(&part),
                    None => part,
                });
            }
        }
        Gradients(found)
    }

    /// An operation on one value: its result, and the gradient of the value given that of the result.
    pub fn unary(self, result: Matrix, pullback: impl Fn(&Matrix) -> Matrix + 'static) -> Self {
        self.tape.operation(result, [(self, Box::new(pullback))])
    }

    /// An operation on two values.
    pub fn binary(
        self,
        other: Self,
        result: Matrix,
        own: impl Fn(&Matrix) -> Matrix + 'static,
        of_other: impl Fn(&Matrix) -> Matrix + 'static,
    ) -> Self {
        let inputs: [(Value, Pullback); 2] = [(self, Box::new(own)), (other, Box::new(of_other))];
        self.tape.operation(result, inputs)
    }

    /// Y = A B  ⟹  dA = dY Bᵀ, dB = Aᵀ dY
    pub fn times(self, other: Self) -> Self {
        let (a, b) = (self.shared(), other.shared());
        let result = a.times(&b);
        let own = move |d: &Matrix| d.times(&b.transposed());
        self.binary(other, result, own, move |d| a.transposed().times(d))
    }

    /// Entrywise product.
    pub fn each_times(self, other: Self) -> Self {
        let (a, b) = (self.shared(), other.shared());
        let result = a.each_times(&b);
        let own = move |d: &Matrix| d.each_times(&b);
        self.binary(other, result, own, move |d| d.each_times(&a))
    }

    /// A function of every entry, given its derivative.
    pub fn each(self, f: impl Fn(f64) -> f64, derivative: impl Fn(f64) -> f64 + 'static) -> Self {
        let x = self.shared();
        let result = x.map(f);
        self.unary(result, move |d| d.each_times(&x.map(&derivative)))
    }

    /// All entries times a number.
    pub fn scaled(self, factor: f64) -> Self {
        self.each(|x| factor * x, move |_| factor)
    }

    /// All entries plus a number.
    pub fn shifted(self, by: f64) -> Self {
        self.each(|x| x + by, |_| 1.0)
    }

    /// The matrix of the given size whose entry (i, j) is this one's entry `place(i, j)`, or zero.
    pub fn take(
        self,
        (rows, cols): (usize, usize),
        place: impl Fn(usize, usize) -> Option<(usize, usize)> + 'static,
    ) -> Self {
        let x = self.shared();
        let result = Matrix::from_fn(rows, cols, |i, j| place(i, j).map_or(0.0, |at| x[at]));
        self.unary(result, move |d| {
            let mut dx = Matrix::zeros(x.rows, x.cols);
            for i in 0..rows {
                for j in 0..cols {
                    if let Some(at) = place(i, j) {
                        dx[at] += d[(i, j)];
                    }
                }
            }
            dx
        })
    }

    /// The transpose.
    pub fn transposed(self) -> Self {
        let x = self.shared();
        self.unary(x.transposed(), Matrix::transposed)
    }

    /// Columns `start .. start + width`.
    pub fn columns(self, start: usize, width: usize) -> Self {
        let (rows, _) = self.size();
        self.take((rows, width), move |i, j| Some((i, start + j)))
    }

    /// The first row, `rows` times.
    pub fn repeated(self, rows: usize) -> Self {
        let (_, cols) = self.size();
        self.take((rows, cols), |_, j| Some((0, j)))
    }

    /// Every entry becomes the mean of its row; and so does every entry of the gradient.
    pub fn row_means(self) -> Self {
        let result = self.shared().row_means();
        self.unary(result, Matrix::row_means)
    }

    /// The sum of all entries.
    pub fn sum(self) -> Self {
        let x = self.shared();
        let total: f64 = x.data.iter().sum();
        self.unary(Matrix::from_slice(1, 1, &[total]), move |d| {
            Matrix::from_fn(x.rows, x.cols, |_, _| d[(0, 0)])
        })
    }

    /// In every row i the softmax of the first i + 1 entries, and zeros:
    /// P = softmax(S)  ⟹  dS_ij = P_ij (dP_ij − Σ_l P_il dP_il).
    pub fn causal_softmax(self) -> Self {
        let scores = self.shared();
        let mut pattern = Matrix::zeros(scores.rows, scores.cols);
        for i in 0..scores.rows {
            let row = &scores.row(i)[..=i];
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|s| (s - largest).exp()).sum();
            for j in 0..=i {
                pattern[(i, j)] = (row[j] - largest).exp() / sum;
            }
        }
        let kept = pattern.clone();
        self.unary(pattern, move |d| {
            let products = kept.each_times(d);
            let sums: Vec<f64> = (0..d.rows).map(|i| products.row(i).iter().sum()).collect();
            Matrix::from_fn(d.rows, d.cols, |i, j| kept[(i, j)] * (d[(i, j)] - sums[i]))
        })
    }
}

impl Add for Value<'_> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let result = self.shared().plus(&other.shared());
        self.binary(other, result, Matrix::clone, Matrix::clone)
    }
}

impl Sub for Value<'_> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        let result = self.shared().minus(&other.shared());
        self.binary(other, result, Matrix::clone, |d| d.map(|d| -d))
    }
}
