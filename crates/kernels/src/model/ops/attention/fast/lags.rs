//! A head's positional table by plane: plane 0 has the biases, and there is one per coordinate after it. Lags of a
//! plane are contiguous.

use super::{Columns, Inputs, ROWS};
use crate::scratch::Allocator;

/// As many lags as a tile has, or more.
const WINDOW: usize = 8;

/// Planes of numbers by lag. Each begins with [`ROWS`] entries for negative lags, of keys that only some rows of a
/// tile see; the values of these, and of those after the longest lag, do not matter.
#[derive(Clone, Debug)]
pub(super) struct Lags {
    width: usize,
    data: Vec<f32>,
}

impl Lags {
    /// Planes of zeros for lags below `length`.
    pub fn new(planes: usize, length: usize, buffers: &mut Allocator) -> Self {
        let width = ROWS + length + WINDOW;
        Self {
            width,
            data: buffers.filled(0.0, [planes, width]),
        }
    }

    /// Reads the table of a head, for contexts up to t = `length`.
    pub fn read(&mut self, inputs: &Inputs, length: usize) {
        let Columns {
            stride,
            offset,
            size,
        } = inputs.lag_columns;
        let rows = inputs.positions.chunks_exact(stride).take(length);
        for (lag, row) in rows.enumerate() {
            if inputs.bias {
                *self.at_mut(0, lag) = row[offset - 1];
            }
            for (m, &factor) in row[offset..][..size].iter().enumerate() {
                *self.at_mut(1 + m, lag) = factor;
            }
        }
    }

    fn at_mut(&mut self, plane: usize, lag: usize) -> &mut f32 {
        &mut self.data[plane * self.width + ROWS + lag]
    }

    /// Numbers of a plane from entry `first` on, which is lag `first` − [`ROWS`].
    #[inline(always)]
    pub fn window(&self, plane: usize, first: usize) -> &[f32; WINDOW] {
        let numbers = &self.data[plane * self.width + first..];
        numbers.first_chunk().expect("enough lags")
    }
}
