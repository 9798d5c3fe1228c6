//! Models: their parameters, forward and backward.
//!
//! [`Model`] is the fast path: blocks of [`LANES`] sequences at a time, f32, scratch
//! from the caller. [`twin`] computes the same in f64, one sequence at a time, by the formulas. Each operation
//! has both, in one file under [`ops`].

pub mod circuits;
mod lane;
mod layout;
mod matrix;
mod minimal;
pub mod ops;
mod spec;
mod start;
mod transformer;
pub mod twin;

pub use lane::Lane;
pub use layout::{Layout, Tensor};
pub use matrix::Matrix;
pub use minimal::Minimal;
pub use ops::attention::{AttnMap, RelativeTerm};
pub use spec::{
    Heads, MinimalForm, MinimalSpec, MinimalStart, ModelSpec, Positions, TransformerSpec,
    TransformerStart,
};
pub use transformer::Transformer;

use crate::chain::LANES;
use crate::invalid::{Invalid, require};

/// A model for sequences of at most t = `length` symbols out of k = `states`.
#[derive(Clone, Debug)]
pub struct Model {
    spec: ModelSpec,
    kind: Kind,
}

/// The two kinds of model.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A transformer.
    Transformer(Transformer),
    /// The minimal model.
    Minimal(Minimal),
}

impl Model {
    /// Checks the settings against the task and lays out the parameters.
    pub fn new(spec: &ModelSpec, states: usize, length: usize) -> Result<Self, Invalid> {
        let kind = match spec {
            ModelSpec::Transformer(spec) => {
                start::check(spec, states)?;
                Kind::Transformer(Transformer::new(spec, states, length)?)
            }
            ModelSpec::Minimal(spec) => {
                if let MinimalStart::Constant { w, v } = spec.start {
                    require(w.is_finite(), "start.w", w, "a finite number")?;
                    require(v.is_finite(), "start.v", v, "a finite number")?;
                }
                Kind::Minimal(Minimal::new(spec, states, length))
            }
        };
        Ok(Self {
            spec: spec.clone(),
            kind,
        })
    }

    /// Which kind it is, with its shape.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        match &self.kind {
            Kind::Transformer(shape) => shape.states,
            Kind::Minimal(shape) => shape.states,
        }
    }

    /// Longest context, t.
    pub fn length(&self) -> usize {
        match &self.kind {
            Kind::Transformer(shape) => shape.length,
            Kind::Minimal(shape) => shape.length,
        }
    }

    /// Names and places of the parameters.
    pub fn layout(&self) -> &Layout {
        match &self.kind {
            Kind::Transformer(shape) => &shape.layout,
            Kind::Minimal(shape) => &shape.layout,
        }
    }

    /// The weights that training starts from: a function of the settings and the seed.
    pub fn start(&self, seed: u64) -> Vec<f32> {
        match (&self.kind, &self.spec) {
            (Kind::Transformer(shape), ModelSpec::Transformer(spec)) => {
                start::transformer(shape, spec, seed)
            }
            (Kind::Minimal(shape), ModelSpec::Minimal(spec)) => start::minimal(shape, &spec.start),
            _ => unreachable!("the kind is made from the spec"),
        }
    }

    /// Room for one forward and backward over a block; use one a thread.
    pub fn work(&self) -> Work {
        let logits = vec![Lane::ZERO; self.length() * self.states()];
        Work {
            used: 0,
            d_logits: logits.clone(),
            logits,
            inner: match &self.kind {
                Kind::Transformer(shape) => InnerWork::Transformer(Box::new(shape.work())),
                Kind::Minimal(shape) => InnerWork::Minimal(shape.work()),
            },
        }
    }

    /// Computes the logits of every position of `inputs`, at most t rows of one symbol a lane, into `work`.
    pub fn forward(&self, params: &[f32], inputs: &[[u8; LANES]], work: &mut Work) {
        self.forward_recorded(params, inputs, work, None);
    }

    /// The same, recording the attention of every layer and head on the way: `[layer][head]`.
    ///
    /// The minimal model has no softmax to record and leaves the record empty.
    pub fn forward_recorded(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        record: Option<&mut Vec<Vec<AttnMap>>>,
    ) {
        work.used = inputs.len() * self.states();
        let logits = &mut work.logits[..work.used];
        match (&self.kind, &mut work.inner) {
            (Kind::Transformer(shape), InnerWork::Transformer(inner)) => {
                shape.forward(params, inputs, inner, logits, record);
            }
            (Kind::Minimal(shape), InnerWork::Minimal(inner)) => {
                shape.forward(params, inputs, inner, logits);
            }
            _ => panic!("a workspace belongs to the model that made it"),
        }
    }

    /// Adds the gradient of every parameter to `grads`, by lane, from the gradient of the logits that the
    /// caller has put into [`Work::logits_and_gradient`] after a forward on the same inputs.
    pub fn backward(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        grads: &mut [Lane],
    ) {
        let d_logits = &work.d_logits[..work.used];
        match (&self.kind, &mut work.inner) {
            (Kind::Transformer(shape), InnerWork::Transformer(inner)) => {
                shape.backward(params, inputs, inner, d_logits, grads);
            }
            (Kind::Minimal(shape), InnerWork::Minimal(inner)) => {
                shape.backward(params, inputs, inner, d_logits, grads);
            }
            _ => panic!("a workspace belongs to the model that made it"),
        }
    }
}

/// Activations of one block and scratch for its backward.
#[derive(Clone, Debug)]
pub struct Work {
    /// Length in use of the two buffers below: rows of the last forward times k.
    used: usize,
    /// [t, k]
    logits: Vec<Lane>,
    /// [t, k]
    d_logits: Vec<Lane>,
    inner: InnerWork,
}

#[derive(Clone, Debug)]
enum InnerWork {
    Transformer(Box<transformer::Work>),
    Minimal(minimal::Work),
}

impl Work {
    /// The logits of the last forward, [rows, k].
    pub fn logits(&self) -> &[Lane] {
        &self.logits[..self.used]
    }

    /// The logits of the last forward and room for their gradient, [rows, k] each.
    pub fn logits_and_gradient(&mut self) -> (&[Lane], &mut [Lane]) {
        (&self.logits[..self.used], &mut self.d_logits[..self.used])
    }
}
