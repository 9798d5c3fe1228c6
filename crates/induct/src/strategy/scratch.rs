//! Scratch buffers of strategies.

use std::any::Any;

/// Scratch buffers, reused from sequence to sequence; one per thread.
///
/// Every strategy keeps its buffers in a type of its own:
///
/// ```
/// use induct::strategy::Scratch;
///
/// #[derive(Default)]
/// struct Counts(Vec<u32>);
///
/// let mut scratch = Scratch::default();
/// scratch.of::<Counts>().0.push(7);
/// assert_eq!(scratch.of::<Counts>().0, [7]);
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    /// One of each type, in order of first use. There are few.
    buffers: Vec<Box<dyn Any + Send>>,
}

impl Scratch {
    /// The buffers of type `T` as they were left, or the default of `T` the first time.
    pub fn of<T: Default + Send + 'static>(&mut self) -> &mut T {
        let known = self.buffers.iter().position(|buffer| buffer.is::<T>());
        let index = known.unwrap_or_else(|| {
            self.buffers.push(Box::<T>::default());
            self.buffers.len() - 1
        });
        let buffer = self.buffers[index].downcast_mut();
        buffer.expect("it was found by its type")
    }
}
