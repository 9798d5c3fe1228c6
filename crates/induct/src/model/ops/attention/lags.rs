//! A head's positional table by plane: one plane per coordinate, with lags contiguous.

/// Planes of numbers by lag. Each begins with `AHEAD` entries for negative lags, of keys
/// that only some rows of a tile see.
#[derive(Clone, Debug)]
pub struct LagPlanes<const AHEAD: usize> {
    width: usize,
    data: Vec<f32>,
}

impl<const AHEAD: usize> LagPlanes<AHEAD> {
    /// Planes of zeros for lags below `length`.
    pub fn new(planes: usize, length: usize) -> Self {
        let width = AHEAD + length;
        Self {
            width,
            data: vec![0.0; planes * width],
        }
    }

    /// Entries per plane, including those ahead of lag zero.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Sets all entries to zero.
    pub fn clear(&mut self) {
        self.data.fill(0.0);
    }

    /// The entries ahead of lag zero.
    pub fn ahead_mut(&mut self, plane: usize) -> &mut [f32] {
        &mut self.tail_mut(plane, 0)[..AHEAD]
    }

    /// The number at a lag.
    pub fn at(&self, plane: usize, lag: usize) -> f32 {
        self.data[plane * self.width + AHEAD + lag]
    }

    /// The same, to write to.
    pub fn at_mut(&mut self, plane: usize, lag: usize) -> &mut f32 {
        &mut self.data[plane * self.width + AHEAD + lag]
    }

    /// All numbers of a plane from entry `first` on, which is lag `first` − `AHEAD`.
    #[inline(always)]
    pub fn tail(&self, plane: usize, first: usize) -> &[f32] {
        &self.data[plane * self.width + first..]
    }

    /// The same, to write to.
    #[inline(always)]
    pub fn tail_mut(&mut self, plane: usize, first: usize) -> &mut [f32] {
        &mut self.data[plane * self.width + first..]
    }

    /// The first N of those.
    #[inline(always)]
    pub fn window<const N: usize>(&self, plane: usize, first: usize) -> &[f32; N] {
        self.tail(plane, first).first_chunk().expect("N lags")
    }
}
