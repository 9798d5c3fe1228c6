//! Blocks with one reader and one source that compute all rows at once: the easiest way to write one.

use std::fmt::Debug;
use std::ops::Range;

use super::{Allocator, BlockPass, Context, ReadBack};
use crate::lanes::Lane;

/// What such a block computes on eight sequences. It gathers.
pub trait SimplePass: Debug + Send {
    /// Sets `out` to what is written, given what is read: [rows, d] both.
    fn forward(&mut self, c: Context, x: &[Lane], out: &mut [Lane]);

    /// The backward of the last [`forward`](Self::forward): `back` has what was read, and takes its gradient and
    /// those of parameters.
    fn backward(&mut self, c: Context, d_out: &[Lane], back: &mut ReadBack);
}

/// Makes a [`BlockPass`] of a [`SimplePass`].
#[derive(Debug)]
pub struct Simple<P> {
    pass: P,
    width: usize,
    /// [t, d] each
    out: Vec<Lane>,
    d_out: Vec<Lane>,
}

impl<P: SimplePass> Simple<P> {
    /// With buffers for a stream of [t, d].
    pub fn new(pass: P, stream: [usize; 2], buffers: &mut Allocator) -> Self {
        Self {
            pass,
            width: stream[1],
            out: buffers.lanes(stream),
            d_out: buffers.lanes(stream),
        }
    }

    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.width..rows.end * self.width
    }
}

impl<P: SimplePass> BlockPass for Simple<P> {
    fn read(&mut self, c: Context, _reader: usize, _rows: Range<usize>, x: &[Lane]) {
        self.pass.forward(c, x, &mut self.out[..x.len()]);
    }

    fn write(&self, _c: Context, _source: Option<usize>, rows: Range<usize>, out: &mut [Lane]) {
        for (sum, &own) in out.iter_mut().zip(&self.out[self.span(&rows)]) {
            *sum += own;
        }
    }

    fn write_backward(
        &mut self,
        _c: Context,
        _source: Option<usize>,
        rows: Range<usize>,
        d_out: &[Lane],
        _grads: &mut [f32],
    ) {
        let span = self.span(&rows);
        self.d_out[span].copy_from_slice(d_out);
    }

    fn read_backward(
        &mut self,
        c: Context,
        _reader: usize,
        _rows: Range<usize>,
        back: &mut ReadBack,
    ) {
        let used = back.x.len();
        self.pass.backward(c, &self.d_out[..used], back);
    }
}
