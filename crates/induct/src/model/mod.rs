//! Models: their parameters, forward and backward.
//!
//! [`Model`] is the fast path: blocks of [`LANES`] sequences at a time, f32, scratch
//! from the caller. [`twin`] computes the same in f64, one sequence at a time, by the formulas. Operations in the
//! residual stream have both in one file, under [`ops`].

pub mod circuits;
mod effort;
mod layout;
mod matrix;
mod minimal;
pub mod ops;
mod spec;
mod start;
mod transformer;
pub mod twin;
mod window;

pub use effort::peak_multiplications;
pub use layout::{Layout, Tensor};
pub use matrix::Matrix;
pub use minimal::Minimal;
pub use ops::attention::{AttnProbe, AttnRow, RelativeTerm};
pub use spec::{
    Heads, MinimalForm, MinimalSpec, MinimalStart, ModelSpec, Positions, TransformerSpec,
    TransformerStart,
};
pub use transformer::coordinates::Tables;
pub use transformer::{Transformer, Weights};

use self::transformer::coordinates::Coordinates;
use crate::lanes::{LANES, Level};

use std::ops::Range;

use crate::chain::MAX_STATES;
use crate::invalid::{Invalid, require};
use crate::lanes::{Lane, cross_lane};

/// The longest context.
pub const MAX_LENGTH: usize = 1 << 16;

/// A model for sequences of at most t = `length` symbols out of k = `states`.
#[derive(Clone, Debug)]
pub struct Model {
    spec: ModelSpec,
    kind: Kind,
    /// How a transformer works in coordinates, where that is possible and pays.
    coordinates: Option<Coordinates>,
    level: Level,
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
        require(
            (2..=MAX_STATES).contains(&states),
            "states",
            states,
            &format!("a number of states from 2 to {MAX_STATES}"),
        )?;
        require(
            (1..=MAX_LENGTH).contains(&length),
            "length",
            length,
            &format!("a context length from 1 to {MAX_LENGTH}"),
        )?;
        let mut coordinates = None;
        let kind = match spec {
            ModelSpec::Transformer(spec) => {
                let shape = Transformer::new(spec, states, length)?;
                start::check_transformer(spec, states)?;
                coordinates = Coordinates::new(&shape);
                Kind::Transformer(shape)
            }
            ModelSpec::Minimal(spec) => {
                start::check_minimal(spec)?;
                Kind::Minimal(Minimal::new(spec, states, length))
            }
        };
        Ok(Self {
            spec: spec.clone(),
            kind,
            coordinates,
            level: Level::detect(),
        })
    }

    /// The same model once for every set of vector instructions that this machine has, the best first.
    pub fn at_all_levels(&self) -> Vec<Self> {
        let at = |level| Self {
            kind: match self.kind.clone() {
                Kind::Transformer(shape) => Kind::Transformer(shape.at(level)),
                minimal => minimal,
            },
            coordinates: self.coordinates.clone().map(|plan| plan.at(level)),
            level,
            spec: self.spec.clone(),
        };
        Level::all().into_iter().map(at).collect()
    }

    /// The same model, computed in its residual stream even where coordinates or tables would do: slower, with the same
    /// results up to rounding.
    pub fn in_residual_stream(mut self) -> Self {
        self.coordinates = None;
        if let Kind::Transformer(shape) = self.kind {
            self.kind = Kind::Transformer(shape.with_plain_first());
        }
        self
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
            used: 0..0,
            d_logits: logits.clone(),
            logits,
            inner: match (&self.kind, &self.coordinates) {
                (_, Some(plan)) => InnerWork::Coordinates(plan.work()),
                (Kind::Transformer(shape), None) => InnerWork::Residual(Box::new(shape.work())),
                (Kind::Minimal(shape), None) => InnerWork::Minimal(Box::new(shape.work())),
            },
        }
    }

    /// What [`work`](Self::work) takes, in bytes, without taking it: a little more than it is.
    pub fn work_bytes(&self) -> f64 {
        let logits = 2.0 * (self.length() * self.states()) as f64;
        let inner = match (&self.kind, &self.coordinates) {
            (_, Some(plan)) => plan.work_len(),
            (Kind::Transformer(shape), None) => shape.work_len(),
            (Kind::Minimal(shape), None) => shape.work_len(),
        };
        (logits + inner) * size_of::<Lane>() as f64
    }

    /// What [`prepare`](Self::prepare) takes, in bytes, without taking it: a little more than it is.
    pub fn prepared_bytes(&self) -> f64 {
        let numbers = match (&self.kind, &self.coordinates) {
            (Kind::Transformer(shape), Some(plan)) => plan.tables_len(shape.width),
            (Kind::Transformer(shape), None) => shape.weights_len(),
            (Kind::Minimal(shape), _) => shape.layout.len() as f64,
        };
        numbers * size_of::<f32>() as f64
    }

    /// Whether making parameters ready is any work.
    pub fn needs_preparation(&self) -> bool {
        !matches!(self.kind, Kind::Minimal(_))
    }

    /// Makes parameters ready for forward and backward: what does not depend on the data is computed once.
    pub fn prepare(&self, params: &[f32]) -> Prepared {
        let mut prepared = match (&self.kind, &self.coordinates) {
            (Kind::Transformer(shape), Some(plan)) => Prepared::Tables(plan.tables(shape.width)),
            (Kind::Transformer(shape), None) => Prepared::Weights(shape.weights()),
            (Kind::Minimal(_), _) => Prepared::Parameters(vec![0.0; params.len()]),
        };
        self.prepare_again(params, &mut prepared);
        prepared
    }

    /// The same, in the room of an earlier one.
    pub fn prepare_again(&self, params: &[f32], prepared: &mut Prepared) {
        match (&self.kind, &self.coordinates, prepared) {
            (Kind::Transformer(shape), Some(plan), Prepared::Tables(tables)) => {
                plan.prepare(shape, params, tables);
            }
            (Kind::Transformer(shape), None, Prepared::Weights(weights)) => {
                shape.prepare(self.level, params, weights);
            }
            (Kind::Minimal(_), None, Prepared::Parameters(copy)) => copy.copy_from_slice(params),
            _ => panic!("{FOREIGN}"),
        }
    }

    /// Length of the gradient that [`gradient`](Self::gradient) adds to.
    pub fn gradient_len(&self) -> usize {
        match (&self.kind, &self.coordinates) {
            (_, Some(plan)) => plan.size(),
            (Kind::Transformer(shape), None) => shape.gradient_len(),
            (Kind::Minimal(shape), None) => shape.layout.len(),
        }
    }

    /// Computes the logits of every position of `inputs`, at most t rows of one symbol a lane, into `work`.
    pub fn forward(&self, prepared: &Prepared, inputs: &[[u8; LANES]], work: &mut Work) {
        self.forward_from(prepared, inputs, 0, work);
    }

    /// The same for the last position only, which is less work.
    pub fn forward_last(&self, prepared: &Prepared, inputs: &[[u8; LANES]], work: &mut Work) {
        self.forward_from(prepared, inputs, inputs.len() - 1, work);
    }

    /// The logits from position `first` on.
    fn forward_from(
        &self,
        prepared: &Prepared,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Work,
    ) {
        work.used = first * self.states()..inputs.len() * self.states();
        let logits = &mut work.logits[..work.used.end];
        match (&self.kind, &self.coordinates, prepared, &mut work.inner) {
            (_, Some(plan), Prepared::Tables(tables), InnerWork::Coordinates(inner)) => {
                plan.forward(tables, inputs, first, inner, logits);
            }
            (
                Kind::Transformer(shape),
                _,
                Prepared::Weights(weights),
                InnerWork::Residual(inner),
            ) => shape
                .pass(self.level, weights)
                .forward(inputs, first, inner, logits),
            (Kind::Minimal(shape), _, Prepared::Parameters(params), InnerWork::Minimal(inner)) => {
                shape.forward(self.level, params, inputs, inner, logits);
            }
            _ => panic!("{FOREIGN}"),
        }
    }

    /// Shows every row of every layer's and head's attention in the last [`forward`](Self::forward), on `inputs`, to `probe`.
    ///
    /// The minimal model has no softmax to show.
    pub fn show_attention(
        &self,
        prepared: &Prepared,
        inputs: &[[u8; LANES]],
        work: &Work,
        probe: AttnProbe,
    ) {
        match (&self.kind, &self.coordinates, prepared, &work.inner) {
            (_, Some(plan), Prepared::Tables(tables), InnerWork::Coordinates(inner)) => {
                plan.show(tables, inputs.len(), inner, probe);
            }
            (
                Kind::Transformer(shape),
                _,
                Prepared::Weights(weights),
                InnerWork::Residual(inner),
            ) => shape
                .pass(self.level, weights)
                .show(inputs.len(), inner, probe),
            (Kind::Minimal(_), ..) => {}
            _ => panic!("{FOREIGN}"),
        }
    }

    /// Forward, loss and backward over one block: adds to `grads`, by lane, the gradient with respect to what was
    /// prepared. `loss` is shown the logits of some rows at a time and answers with their gradient; every row comes once.
    pub fn gradient(
        &self,
        prepared: &Prepared,
        inputs: &[[u8; LANES]],
        work: &mut Work,
        loss: LossRows,
        grads: &mut [Lane],
    ) {
        let used = inputs.len() * self.states();
        work.used = 0..used;
        let logits = (&mut work.logits[..used], &mut work.d_logits[..used]);
        match (&self.kind, &self.coordinates, prepared, &mut work.inner) {
            (_, Some(plan), Prepared::Tables(tables), InnerWork::Coordinates(inner)) => {
                plan.gradient(tables, inputs, inner, logits, loss, grads);
            }
            (
                Kind::Transformer(shape),
                _,
                Prepared::Weights(weights),
                InnerWork::Residual(inner),
            ) => shape
                .pass(self.level, weights)
                .gradient(inputs, inner, logits, loss, grads),
            (Kind::Minimal(shape), _, Prepared::Parameters(params), InnerWork::Minimal(inner)) => {
                shape.forward(self.level, params, inputs, inner, logits.0);
                loss(0..inputs.len(), logits.0, logits.1);
                shape.backward(self.level, params, inputs, inner, logits.1, grads);
            }
            _ => panic!("{FOREIGN}"),
        }
    }

    /// Sums a gradient by lane over the lanes.
    pub fn sum_lanes(&self, by_lane: &[Lane], sums: &mut [f32]) {
        cross_lane::sum_lanes(self.level, by_lane, sums);
    }

    /// Carries a gradient with respect to what was prepared, summed over lanes and blocks, back to the parameters:
    /// writes it into `grads`.
    pub fn pull_back(
        &self,
        params: &[f32],
        prepared: &mut Prepared,
        gradient: &[f32],
        grads: &mut [f32],
    ) {
        match (&self.kind, &self.coordinates, prepared) {
            (Kind::Transformer(shape), Some(plan), Prepared::Tables(tables)) => {
                grads.fill(0.0);
                plan.pull_back(shape, params, tables, gradient, grads);
            }
            (Kind::Transformer(shape), None, Prepared::Weights(weights)) => {
                shape.pull_back(self.level, params, weights, gradient, grads);
            }
            (Kind::Minimal(_), None, _) => grads.copy_from_slice(gradient),
            _ => panic!("{FOREIGN}"),
        }
    }
}

/// Whoever turns logits of some rows ([rows, k]) into their gradient. A row's logits may all be off by the same number, on which no loss may
/// depend: the gradients of a row sum to zero.
pub type LossRows<'a> = &'a mut dyn FnMut(Range<usize>, &[Lane], &mut [Lane]);

/// What a caller did wrong who hands a model the room of another.
const FOREIGN: &str = "workspaces and prepared parameters belong to the model that made them";

/// Parameters made ready for the fast path.
#[derive(Clone, Debug)]
pub enum Prepared {
    /// As they are.
    Parameters(Vec<f32>),
    /// For the residual stream.
    Weights(Weights),
    /// In coordinates.
    Tables(Tables),
}

/// Activations of one block and scratch for its backward.
#[derive(Clone, Debug)]
pub struct Work {
    /// What is in use of the two buffers below: rows of the last forward times k.
    used: Range<usize>,
    /// [t, k]
    logits: Vec<Lane>,
    /// [t, k]
    d_logits: Vec<Lane>,
    inner: InnerWork,
}

#[derive(Clone, Debug)]
enum InnerWork {
    Coordinates(transformer::coordinates::Work),
    Residual(Box<transformer::Work>),
    Minimal(Box<minimal::Work>),
}

impl Work {
    /// The logits that the last forward computed, [rows, k].
    pub fn logits(&self) -> &[Lane] {
        &self.logits[self.used.clone()]
    }
}
