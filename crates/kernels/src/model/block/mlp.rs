//! The MLP: out = activation(x W_in + b_in) W_out + b_out

use std::ops::Range;
use std::sync::Arc;

use super::{Allocator, Block, BlockPass, Context, Design, GROUP, Ports, ReadBack, Tensors};
use crate::lanes::Lane;
use crate::model::ops::activation::{self, Function};
use crate::model::ops::linear;
use crate::model::reference::{Run, Value};
use crate::model::spec::Activation;
use crate::{Invalid, require, settings};

settings! {
    /// An MLP: activation(x W_in + b_in) W_out + b_out.
    pub struct MlpSpec {
        /// Its hidden width, in units of the stream's.
        pub ratio: usize = 4,
        /// Its activation function; as in the whole model if unset.
        #[when(|own| own.activation.is_some())]
        pub activation: Option<Activation> = None,
    }
}

const MAX_RATIO: usize = 64;

impl MlpSpec {
    /// Checks a ratio that a setting has.
    pub(in crate::model) fn check_ratio(field: &str, ratio: usize) -> Result<(), Invalid> {
        let allowed = format!("a ratio from 1 to {MAX_RATIO}");
        require((1..=MAX_RATIO).contains(&ratio), field, ratio, &allowed)
    }
}

impl Design for MlpSpec {
    fn gathers(&self) -> bool {
        false
    }

    fn ports(&self) -> Ports {
        Ports::single("mlp")
    }

    fn build(&self, tensors: &mut Tensors) -> Result<Arc<dyn Block>, Invalid> {
        let ratio = self.ratio;
        Self::check_ratio("ratio", ratio)?;
        let (d, wide) = (tensors.width, ratio * tensors.width);
        Ok(Arc::new(Mlp {
            function: match self.activation.unwrap_or(tensors.spec.activation) {
                Activation::Gelu => Function::Gelu,
                Activation::GeluExact => Function::GeluExact,
                Activation::Relu => Function::Relu,
            },
            length: tensors.length,
            width: d,
            w_in: tensors.add("mlp.W_in", &[d, wide], true),
            b_in: tensors.add_constant("mlp.b_in", &[wide], 0.0),
            w_out: tensors.add("mlp.W_out", &[wide, d], true),
            b_out: tensors.add_constant("mlp.b_out", &[d], 0.0),
        }))
    }
}

/// An MLP.
#[derive(Clone, Debug)]
pub struct Mlp {
    function: Function,
    length: usize,
    width: usize,
    /// [d, wide]
    w_in: Range<usize>,
    /// `[wide]`
    b_in: Range<usize>,
    /// [wide, d]
    w_out: Range<usize>,
    /// `[d]`
    b_out: Range<usize>,
}

impl Block for Mlp {
    fn pass(self: Arc<Self>, buffers: &mut Allocator) -> Box<dyn BlockPass> {
        let shape = [self.length, self.b_in.len()];
        Box::new(MlpPass {
            hidden: buffers.lanes(shape),
            active: buffers.lanes(shape),
            d_hidden: buffers.lanes([GROUP, self.b_in.len()]),
            mlp: self,
        })
    }

    fn reference<'t>(&self, run: &mut Run<'t>, read: &[Value<'t>]) -> Vec<Value<'t>> {
        let (rows, d, wide) = (run.rows(), self.width, self.b_in.len());
        let bias = run.weight(&self.b_in, wide).repeated(rows);
        let hidden = read[0].times(run.weight(&self.w_in, wide)) + bias;
        let active = self.function.formula(hidden);
        let bias = run.weight(&self.b_out, d).repeated(rows);
        vec![active.times(run.weight(&self.w_out, d)) + bias]
    }

    fn multiplications(&self) -> usize {
        6 * self.width * self.b_in.len() * self.length
    }
}

/// An MLP at work.
#[derive(Debug)]
struct MlpPass {
    mlp: Arc<Mlp>,
    /// [t, wide]; after the activation function, its derivatives.
    hidden: Vec<Lane>,
    active: Vec<Lane>,
    /// Of the last group of rows.
    d_hidden: Vec<Lane>,
}

impl MlpPass {
    fn wide_span(&self, rows: &Range<usize>) -> Range<usize> {
        let wide = self.mlp.b_in.len();
        rows.start * wide..rows.end * wide
    }
}

impl BlockPass for MlpPass {
    fn read(&mut self, c: Context, _reader: usize, rows: Range<usize>, x: &[Lane]) {
        let (mlp, span) = (&self.mlp, self.wide_span(&rows));
        let (w, b) = (c.weight(&mlp.w_in), c.weight(&mlp.b_in));
        linear::forward(c.level, x, w, b, mlp.width, &mut self.hidden[span]);
    }

    fn forward(&mut self, c: Context, rows: Range<usize>) {
        let span = self.wide_span(&rows);
        let (hidden, active) = (&mut self.hidden[span.clone()], &mut self.active[span]);
        activation::forward(c.level, self.mlp.function, hidden, active);
    }

    fn write(&self, c: Context, _source: Option<usize>, rows: Range<usize>, out: &mut [Lane]) {
        let (mlp, active) = (&self.mlp, &self.active[self.wide_span(&rows)]);
        linear::add_rows(c.weight(&mlp.b_out), 1.0, out);
        let (w, wide) = (c.weight(&mlp.w_out), mlp.b_in.len());
        linear::add_forward(c.level, active, w, wide, mlp.width, out);
    }

    fn write_backward(
        &mut self,
        c: Context,
        _source: Option<usize>,
        rows: Range<usize>,
        d_out: &[Lane],
        grads: &mut [f32],
    ) {
        let (level, span, mlp) = (c.level, self.wide_span(&rows), &self.mlp);
        let wide = mlp.b_in.len();
        linear::add_bias_gradient(level, d_out, &mut grads[mlp.b_out.clone()]);
        let d_w_out = &mut grads[mlp.w_out.clone()];
        linear::add_weight_gradient(level, &self.active[span.clone()], d_out, wide, d_w_out);
        let (derivatives, d_hidden) =
            (&self.hidden[span.clone()], &mut self.d_hidden[..span.len()]);
        let w_out = c.weight(&mlp.w_out);
        linear::input_backward_through(level, w_out, wide, d_out, derivatives, d_hidden);
        linear::add_bias_gradient(level, d_hidden, &mut grads[mlp.b_in.clone()]);
    }

    fn read_backward(
        &mut self,
        c: Context,
        _reader: usize,
        rows: Range<usize>,
        back: &mut ReadBack,
    ) {
        let d_hidden = &self.d_hidden[..rows.len() * self.mlp.b_in.len()];
        back.product(c.level, c.weights, &self.mlp.w_in, self.mlp.width, d_hidden);
    }
}
