//! A short causal convolution of every column of the stream: y_i = Σ_{l<w} k_l ⊙ x_{i−l}

use std::ops::Range;
use std::sync::Arc;

use super::{
    Allocator, Block, BlockPass, Context, Design, Ports, ReadBack, Simple, SimplePass, Tensors,
};
use crate::lanes::Lane;
use crate::model::ops::short_convolution;
use crate::model::reference::formulas;
use crate::model::reference::{Run, Value};
use crate::{Invalid, require, settings};

settings! {
    /// A short causal convolution of every column of the stream: y_i = Σ_{l<w} k_l ⊙ x_{i−l}.
    pub struct ConvolutionSpec {
        /// How many positions it sees, w, the current one included.
        pub length: usize = 4,
    }
}

/// The longest short convolution.
const MAX_LENGTH: usize = 64;

impl ConvolutionSpec {
    /// Checks the length of a short convolution, of this or another block.
    pub(in crate::model) fn check(field: &str, length: usize) -> Result<(), Invalid> {
        let allowed = format!("a length from 1 to {MAX_LENGTH}");
        require((1..=MAX_LENGTH).contains(&length), field, length, &allowed)
    }
}

impl Design for ConvolutionSpec {
    fn ports(&self) -> Ports {
        Ports::single("convolution")
    }

    fn build(&self, tensors: &mut Tensors) -> Result<Arc<dyn Block>, Invalid> {
        Self::check("length", self.length)?;
        let shape = [self.length, tensors.width];
        Ok(Arc::new(Convolution {
            stream: [tensors.length, tensors.width],
            kernel: tensors.add("convolution.kernel", &shape, true),
        }))
    }
}

/// A short convolution.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// t and d
    stream: [usize; 2],
    /// [w, d]
    kernel: Range<usize>,
}

impl Block for Convolution {
    fn pass(self: Arc<Self>, buffers: &mut Allocator) -> Box<dyn BlockPass> {
        let stream = self.stream;
        Box::new(Simple::new(ConvolutionPass(self), stream, buffers))
    }

    fn reference<'t>(&self, run: &mut Run<'t>, read: &[Value<'t>]) -> Vec<Value<'t>> {
        let kernel = run.weight(&self.kernel, self.stream[1]);
        vec![formulas::short_convolution(read[0], kernel)]
    }

    fn multiplications(&self) -> usize {
        3 * self.kernel.len() * self.stream[0]
    }
}

/// A short convolution at work.
#[derive(Debug)]
struct ConvolutionPass(Arc<Convolution>);

impl SimplePass for ConvolutionPass {
    fn forward(&mut self, c: Context, x: &[Lane], out: &mut [Lane]) {
        let (kernel, d) = (c.weight(&self.0.kernel), self.0.stream[1]);
        short_convolution::forward(c.level, kernel, d, x, out);
    }

    fn backward(&mut self, c: Context, d_out: &[Lane], back: &mut ReadBack) {
        let (place, d) = (&self.0.kernel, self.0.stream[1]);
        short_convolution::input_backward(c.level, c.weight(place), d, d_out, back.dx);
        let d_kernel = &mut back.grads[place.clone()];
        short_convolution::add_kernel_gradient(c.level, back.x, d_out, d, d_kernel);
    }
}
