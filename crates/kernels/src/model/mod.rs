//! Models: their parameters, forward and backward.
//!
//! [`Model`] computes with one of a few engines, over blocks of lanes and in single precision; `choose`
//! decides which. [`mod@reference`] computes the same in double precision, one sequence at a time, from the
//! formulas.

mod activations;
mod array;
pub mod block;
pub mod choose;
pub mod circuits;
pub mod dropout;
mod effort;
pub mod engine;
mod evaluator;
mod init_std;
mod intervention;
mod layout;
mod matrix;
mod minimal;
pub mod ops;
pub mod reference;
mod spec;
mod start;
pub mod transformer;

pub use activations::{Activations, InputError};
pub use array::Array;
pub use block::{AttentionSpec, BlockSpec, MlpSpec, Positions};
pub use choose::{Choice, Kernel, Part, RULES, Rule};
pub use dropout::{Dropout, DropoutRates};
pub use effort::multiply_at_peak;
pub use evaluator::Evaluator;
pub use init_std::{ByShape, InitStd};
pub use intervention::{Instead, Intervention, Place, Port, Site, Target};
pub use layout::{Layout, Tensor};
pub use matrix::Matrix;
pub use minimal::Minimal;
pub use spec::{
    Activation, Heads, MinimalForm, MinimalSpec, MinimalStart, ModelSpec, OutputProjection,
    TransformerSpec, TransformerStart,
};
pub use transformer::Transformer;

use std::sync::Arc;

use self::choose::{Purpose, choose};
use self::engine::{Compute, Handle};
use self::intervention::{Origin, Plan};
use self::minimal::MinimalEngine;
use self::transformer::coordinates::Coordinates;
use self::transformer::stream::Stream;
use crate::lanes::{LANES, Level};
use crate::tokens::MAX_STATES;
use crate::{Invalid, require};

/// The longest context.
pub const MAX_LENGTH: usize = 1 << 16;

/// A model for sequences of at most t = `length` symbols out of k = `states`.
///
/// It holds no parameters: they are one flat vector, to which [`Layout`] gives names and shapes.
///
/// ```
/// use induct::model::{Model, ModelSpec};
///
/// let model = Model::new(&ModelSpec::default(), 2, 100)?;
/// let params = model.start(0);
/// let seen = model.run(&params, &[0, 1, 1, 0])?;
/// assert_eq!(seen.get("layers.0.attn_pattern")?.shape(), [1, 4, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    spec: ModelSpec,
    kind: Kind,
    choice: Choice,
    level: Level,
    training: Arc<dyn Compute>,
    /// The same engine, unless only dropout keeps another one from computing the model.
    evaluation: Arc<dyn Compute>,
    plan: Arc<Plan>,
}

/// The chosen engine, without any buffers yet.
fn engine(kind: &Kind, choice: &Choice, level: Level, plan: &Arc<Plan>) -> Arc<dyn Compute> {
    match kind {
        Kind::Minimal(shape) => Handle::shared(MinimalEngine::new(shape.clone(), level, plan)),
        Kind::Transformer(shape) if choice.engine.kernel == Kernel::Coordinates => {
            Handle::shared(Coordinates::new(shape.clone(), choice, level, plan))
        }
        Kind::Transformer(shape) => Handle::shared(Stream::new(shape.clone(), choice, level, plan)),
    }
}

/// The two kinds of model.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A transformer.
    Transformer(Arc<Transformer>),
    /// The minimal model.
    Minimal(Arc<Minimal>),
}

impl Model {
    /// Checks the settings against the task and lays out the parameters.
    ///
    /// # Errors
    ///
    /// If a setting is impossible by itself or in combination with the task.
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
        let kind = match spec {
            ModelSpec::Transformer(spec) => {
                let shape = Transformer::new(spec, states, length)?;
                start::check_transformer(spec, states)?;
                Kind::Transformer(Arc::new(shape))
            }
            ModelSpec::Minimal(spec) => {
                start::check_minimal(spec)?;
                Kind::Minimal(Arc::new(Minimal::new(spec, states, length)))
            }
        };
        let (plan, level) = (Arc::default(), Level::detect());
        let choice = choose(&kind, Purpose::Training, &plan);
        Ok(Self::built(spec.clone(), kind, choice, level, plan))
    }

    /// The same model under interventions, in place of those that it may have.
    ///
    /// # Errors
    ///
    /// If an intervention is about a part that the model does not have, puts something there that cannot be, or
    /// contradicts another one.
    pub fn with(&self, interventions: &[Intervention]) -> Result<Self, Invalid> {
        let plan = match &self.kind {
            Kind::Transformer(shape) => Plan::new(shape, interventions)?,
            Kind::Minimal(shape) => shape.plan(interventions)?,
        };
        let choice = choose(&self.kind, Purpose::Training, &plan);
        Ok(self.rebuilt(choice, self.level, Arc::new(plan)))
    }

    /// The sites of interventions that a name stands for, and what kind of place it is.
    ///
    /// # Errors
    ///
    /// If there is no such place; the error lists those that exist.
    pub fn sites(&self, name: &str) -> Result<(Place, Vec<Site>), Invalid> {
        match &self.kind {
            Kind::Transformer(shape) => shape.sites(name),
            Kind::Minimal(_) => Ok((Place::Patterns, Minimal::sites(name)?)),
        }
    }

    /// The reader of the stream with that name.
    ///
    /// # Errors
    ///
    /// If there is no such reader; the error lists those that exist.
    pub fn reader(&self, name: &str) -> Result<Port, Invalid> {
        match &self.kind {
            Kind::Transformer(shape) => shape.reader(name),
            Kind::Minimal(_) => Err(Invalid::new(
                "to",
                format!("\"{name}\""),
                "nothing: the minimal model has no stream that parts read",
            )),
        }
    }

    /// Every part that can be ablated: what each source writes, for all its readers and then for each of them. A
    /// source with a single reader is listed once. The minimal model has none.
    ///
    /// ```
    /// use induct::model::{Model, ModelSpec};
    ///
    /// let model = Model::new(&ModelSpec::default(), 2, 100)?;
    /// let parts: Vec<String> = model.parts().iter().map(|part| part.to_string()).collect();
    /// assert_eq!(parts[8], "layers.0.heads.0");
    /// assert_eq!(parts[10], "layers.0.heads.0 -> layers.1.keys");
    /// assert_eq!(parts[13], "layers.1.heads.0"); // only the logits read it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parts(&self) -> Vec<Site> {
        match &self.kind {
            Kind::Transformer(shape) => shape.parts(),
            Kind::Minimal(_) => Vec::new(),
        }
    }

    /// The interventions that it is under.
    pub fn interventions(&self) -> &[Intervention] {
        &self.plan.all
    }

    /// The model with the given engine and instruction level.
    fn built(spec: ModelSpec, kind: Kind, choice: Choice, level: Level, plan: Arc<Plan>) -> Self {
        let training = engine(&kind, &choice, level, &plan);
        let evaluation = match &kind {
            Kind::Transformer(shape) if shape.dropout.any() => {
                let choice = choose(&kind, Purpose::Evaluation, &plan);
                engine(&kind, &choice, level, &plan)
            }
            _ => training.clone(),
        };
        Self {
            spec,
            kind,
            choice,
            level,
            training,
            evaluation,
            plan,
        }
    }

    fn rebuilt(&self, choice: Choice, level: Level, plan: Arc<Plan>) -> Self {
        Self::built(self.spec.clone(), self.kind.clone(), choice, level, plan)
    }

    /// The same model once per instruction level that this machine has, best first.
    #[doc(hidden)]
    pub fn at_all_levels(&self) -> Vec<Self> {
        let at = |level| self.rebuilt(self.choice.clone(), level, self.plan.clone());
        Level::all().into_iter().map(at).collect()
    }

    /// The same model, computed in its residual stream even where coordinates or tables would do. It is
    /// slower, and has the same results up to rounding.
    #[doc(hidden)]
    pub fn in_residual_stream(&self) -> Self {
        self.rebuilt(Choice::plain(), self.level, self.plan.clone())
    }

    /// Number of layers; the minimal model has two.
    pub fn layer_count(&self) -> usize {
        match &self.kind {
            Kind::Transformer(shape) => shape.layer_count(),
            Kind::Minimal(_) => 2,
        }
    }

    /// Number of heads of a layer; the minimal model has none.
    pub fn heads(&self, layer: usize) -> usize {
        match &self.kind {
            Kind::Transformer(shape) => shape.heads(layer),
            Kind::Minimal(_) => 0,
        }
    }

    /// The engine and kernels that train it.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The rules by which they were chosen, each once.
    pub fn reasons(&self) -> Vec<&'static Rule> {
        self.choice.rules()
    }

    /// Its kind, with its shape.
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

    /// The instruction level that it uses.
    #[doc(hidden)]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether interventions need the other sequences of a batch: for means over it, or for what replaces an
    /// activation. A sequence alone cannot be computed then.
    pub fn needs_batch(&self) -> bool {
        let origins = [Origin::Mean, Origin::OtherSequence];
        origins.iter().any(|&origin| self.plan.takes_from(origin))
    }

    /// Checks that a number of sequences can be computed together: if interventions need other sequences, every
    /// block must be full.
    ///
    /// # Errors
    ///
    /// If there are a few left over.
    pub fn check_batch(&self, sequences: u64) -> Result<(), InputError> {
        match self.needs_batch() && !sequences.is_multiple_of(LANES as u64) {
            true => Err(InputError::LeftOver { sequences }),
            false => Ok(()),
        }
    }

    /// Whether training drops anything: whether a gradient needs keys.
    pub fn has_dropout(&self) -> bool {
        matches!(&self.kind, Kind::Transformer(shape) if shape.dropout.any())
    }

    /// Whether preparing parameters takes any work.
    #[doc(hidden)]
    pub fn needs_preparation(&self) -> bool {
        !matches!(self.kind, Kind::Minimal(_))
    }

    /// The memory of the scratch buffers for eight sequences, in bytes: computed, not allocated.
    pub fn scratch_bytes(&self) -> f64 {
        self.training
            .scratch_bytes()
            .max(self.evaluation.scratch_bytes())
    }

    /// The same of prepared parameters.
    pub fn prepared_bytes(&self) -> f64 {
        (self.training.prepared_bytes()).max(self.evaluation.prepared_bytes())
    }

    /// Length of the gradient with respect to what the engine prepares.
    #[doc(hidden)]
    pub fn gradient_len(&self) -> usize {
        self.training.gradient_len()
    }
}
