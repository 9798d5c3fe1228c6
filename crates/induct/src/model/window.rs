//! Parts of slices whose length the compiler knows, so that bounds are checked once for all entries.

/// N entries from `start` on.
#[inline(always)]
pub fn window<T, const N: usize>(data: &[T], start: usize) -> &[T; N] {
    data[start..][..N].try_into().expect("N entries")
}

/// The same, to write to.
#[inline(always)]
pub fn window_mut<T, const N: usize>(data: &mut [T], start: usize) -> &mut [T; N] {
    (&mut data[start..][..N]).try_into().expect("N entries")
}
