//! Arrays with any number of dimensions, for callers of the library: plain numbers and a shape.

use std::ops::Index;

/// Numbers in row-major order: the last dimension is contiguous.
///
/// ```
/// let array = induct::model::Array::new(&[2, 3], vec![1., 2., 3., 4., 5., 6.]);
/// assert_eq!(array[[1, 0]], 4.0);
/// assert_eq!(array.row(&[1]), [4., 5., 6.]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    data: Vec<f32>,
}

impl Array {
    /// An array of the given shape.
    ///
    /// # Panics
    ///
    /// If the number of values does not match the shape.
    pub fn new(shape: &[usize], data: Vec<f32>) -> Self {
        let size: usize = shape.iter().product();
        assert_eq!(
            size,
            data.len(),
            "the number of values must match the shape {shape:?}"
        );
        Self {
            shape: shape.to_vec(),
            data,
        }
    }

    /// Sizes, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All numbers, with the last dimension contiguous.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// All numbers, without the shape.
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }

    /// All numbers whose leading indices are the given ones.
    ///
    /// # Panics
    ///
    /// If an index is out of range, or there are more indices than dimensions.
    pub fn row(&self, indices: &[usize]) -> &[f32] {
        let mut part = 0..self.data.len();
        for (&index, &size) in indices.iter().zip(&self.shape) {
            assert!(
                index < size,
                "index {index} is out of range for size {size}"
            );
            let step = part.len() / size;
            part = part.start + index * step..part.start + (index + 1) * step;
        }
        assert!(
            indices.len() <= self.shape.len(),
            "there must not be more indices than dimensions"
        );
        &self.data[part]
    }
}

impl<const N: usize> Index<[usize; N]> for Array {
    type Output = f32;

    fn index(&self, indices: [usize; N]) -> &f32 {
        assert_eq!(N, self.shape.len(), "there must be one index per dimension");
        &self.row(&indices)[0]
    }
}
