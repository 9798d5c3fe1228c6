//! Interventions: changes to what a model computes on the way from symbols to logits.
//!
//! Parts of a transformer write to the residual stream: *sources* are the embedding, heads and MLPs. Parts
//! read from it: *readers* are the queries, keys and values of a layer, its MLP, and the logits. An
//! intervention changes what one reader, or all of them, see of one source; or it changes a head's attention
//! pattern. Whatever is put in place of an activation is data: no gradient flows into it.
//!
//! [`Model::with`](super::Model::with) gives the model under interventions, which is a [`Model`](super::Model)
//! like any other.

mod plan;
mod site;
mod target;

use std::sync::Arc;

pub use plan::{Origin, Pattern, Plan, Value};
pub use site::{Place, Port, Site};
pub use target::Target;

/// A change to what a model computes.
///
/// ```
/// use induct::model::{Instead, Intervention, Model, ModelSpec, Site, Target};
///
/// let model = Model::new(&ModelSpec::default(), 2, 100)?;
/// let clamped = model.with(&[Intervention {
///     site: Site::Pattern { layer: 0, head: 0 },
///     instead: Instead::Target(Target::PREVIOUS_TOKEN),
/// }])?;
/// let seen = clamped.run(&model.start(0), &[0, 1, 1, 0])?;
/// assert_eq!(seen.get("layers.0.attn_pattern")?.data()[4..8], [1.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    /// Where.
    pub site: Site,
    /// What is there instead.
    pub instead: Instead,
}

/// What is put in place of an activation.
#[derive(Clone, Debug, PartialEq)]
pub enum Instead {
    /// The activation itself, through which no gradient flows.
    Itself,
    /// Zero. Not for patterns.
    Zero,
    /// The mean over the batch at each position, in the model without interventions. Not for patterns.
    Mean,
    /// What it is on another sequence of the batch, in the model without interventions.
    Resampled,
    /// What it is on the same sequence in the model without interventions, with other weights.
    Of(Arc<[f32]>),
    /// A pattern with a name. For patterns only.
    Target(Target),
    /// The pattern without its uniform part: p_ij − 1 / (i + 1). For patterns only.
    WithoutUniform,
    /// The pattern itself, but no gradient flows to the values through its uniform part. For patterns only.
    UniformItself,
}

impl Instead {
    /// In a word or two.
    pub fn name(&self) -> String {
        match self {
            Instead::Itself => "itself, without a gradient".into(),
            Instead::Zero => "zero".into(),
            Instead::Mean => "mean".into(),
            Instead::Resampled => "resample".into(),
            Instead::Of(_) => "that of other weights".into(),
            Instead::Target(target) => target.to_string(),
            Instead::WithoutUniform => "without its uniform part".into(),
            Instead::UniformItself => "no gradient through its uniform part".into(),
        }
    }

    /// Whether it can be put in place of a pattern, and of what is written to the stream.
    fn fits(&self, is_pattern: bool) -> bool {
        match self {
            Instead::Itself | Instead::Resampled | Instead::Of(_) => true,
            Instead::Zero | Instead::Mean => !is_pattern,
            Instead::Target(_) | Instead::WithoutUniform | Instead::UniformItself => is_pattern,
        }
    }
}
