//! One entry of `[[intervene]]`.

mod check;
mod weights;
mod when;

use std::sync::Arc;

use induct_kernels::with_kind;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::Invalid;
use crate::model::{Instead, Intervention, Model, Place, Site, Target};

pub(crate) use weights::constructed;
pub use weights::{Construction, WeightsSpec};
pub use when::When;

with_kind! {
    /// An intervention, as a recipe writes it. Those that last are in force from `from` on, up to `until`;
    /// those that happen once do so at `step`.
    #[derive(Clone, Debug, PartialEq)]
    pub enum InterveneSpec {
        /// Puts something meaningless in place of what a part of the model writes.
        Ablate {
            /// What is silenced: `layers.0.heads.0`, `layers.0.mlp_out`, `embed`; or a pattern, with `part`.
            at: String,
            /// The only reader that sees the change: `layers.1.queries`, `logits`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            to: Option<String>,
            /// What is there instead.
            #[serde(default, skip_serializing_if = "is_default")]
            with: Ablation,
            /// The part of a pattern that is left out.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            part: Option<Part>,
            /// Its first step.
            #[serde(default, skip_serializing_if = "is_default")]
            from: When,
            /// The first step after it; if unset, it stays.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<When>,
        },
        /// Gives a head a pattern.
        Clamp {
            /// The heads: `layers.0` for all of a layer, or `layers.0.heads.1`.
            at: String,
            /// The pattern.
            pattern: PatternSpec,
            /// Its first step.
            #[serde(default, skip_serializing_if = "is_default")]
            from: When,
            /// The first step after it; if unset, it stays.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<When>,
        },
        /// Puts what an activation is on another sequence, or with other weights, in its place.
        Patch {
            /// The activation, by name.
            at: String,
            /// The only reader that sees the change.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            to: Option<String>,
            /// Where it comes from.
            with: PatchSpec,
            /// Its first step.
            #[serde(default, skip_serializing_if = "is_default")]
            from: When,
            /// The first step after it; if unset, it stays.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<When>,
        },
        /// Lets no gradient through an activation.
        StopGradient {
            /// The activation, by name.
            at: String,
            /// The only reader whose gradient is stopped.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            to: Option<String>,
            /// The part of a pattern through which values get no gradient.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            part: Option<Part>,
            /// Its first step.
            #[serde(default, skip_serializing_if = "is_default")]
            from: When,
            /// The first step after it; if unset, it stays.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<When>,
        },
        /// Keeps some of the parameters where they are.
        Freeze {
            /// Which: a tensor (`layers.0.v`), a part of the model (`layers.1`, `unembed`) or a kind (`W_K`).
            group: String,
            /// Its first step.
            #[serde(default, skip_serializing_if = "is_default")]
            from: When,
            /// The first step after it; if unset, it stays.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<When>,
        },
        /// Gives some of the parameters a learning rate of their own.
        Rate {
            /// Which parameters.
            group: String,
            /// The rate, which the schedule multiplies as ever.
            lr: f64,
            /// Its first step.
            #[serde(default, skip_serializing_if = "is_default")]
            from: When,
            /// The first step after it; if unset, it stays.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<When>,
        },
        /// Sets some of the parameters back to the initial weights of the run's seed. The optimiser starts anew
        /// for them.
        Reset {
            /// Which parameters.
            group: String,
            /// When.
            step: When,
        },
        /// Sets some of the parameters to others. The optimiser starts anew for them.
        Transplant {
            /// Which parameters.
            group: String,
            /// Where the others come from.
            source: WeightsSpec,
            /// How far they move towards the others: all the way if unset.
            #[serde(default = "whole", skip_serializing_if = "is_whole")]
            fraction: f64,
            /// When.
            #[serde(default, skip_serializing_if = "is_default")]
            step: When,
        },
    }
}

fn whole() -> f64 {
    1.0
}

fn is_whole(fraction: &f64) -> bool {
    *fraction == 1.0
}

/// What an ablation puts in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ablation {
    /// Zero.
    #[default]
    Zero,
    /// The mean over the batch at each position.
    Mean,
    /// What it is on another sequence of the batch.
    Resample,
}

/// A part of an attention pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// 1 / (i + 1) on every position up to i.
    Uniform,
}

/// The pattern of a clamp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "uniform, previous-token, same-token, induction, lag:N, or weights: { own = STEP } or { run = \
                 \"FOLDER\", step = STEP }"
)]
pub enum PatternSpec {
    /// One with a name.
    Target(Target),
    /// That of other weights on the same sequence.
    Of(WeightsSpec),
}

/// Where a patch comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "resample, or weights: { own = STEP } or { run = \"FOLDER\", step = STEP }"
)]
pub enum PatchSpec {
    /// Another sequence of the batch.
    Resample(Resample),
    /// Other weights on the same sequence.
    Of(WeightsSpec),
}

/// The word for another sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resample {
    /// Another sequence of the batch.
    Resample,
}

impl InterveneSpec {
    /// When it begins and, if it does, ends. One that happens once ends as it begins.
    pub(crate) fn times(&self) -> (&When, Option<&When>) {
        match self {
            InterveneSpec::Ablate { from, until, .. }
            | InterveneSpec::Clamp { from, until, .. }
            | InterveneSpec::Patch { from, until, .. }
            | InterveneSpec::StopGradient { from, until, .. }
            | InterveneSpec::Freeze { from, until, .. }
            | InterveneSpec::Rate { from, until, .. } => (from, until.as_ref()),
            InterveneSpec::Reset { step, .. } | InterveneSpec::Transplant { step, .. } => {
                (step, Some(step))
            }
        }
    }

    /// Whether it happens once.
    pub(crate) fn is_once(&self) -> bool {
        matches!(
            self,
            InterveneSpec::Reset { .. } | InterveneSpec::Transplant { .. }
        )
    }

    /// The weights that it takes from elsewhere, with the key that names them.
    pub fn weights(&self) -> Option<(&'static str, &WeightsSpec)> {
        match self {
            InterveneSpec::Clamp {
                pattern: PatternSpec::Of(weights),
                ..
            } => Some(("pattern", weights)),
            InterveneSpec::Patch {
                with: PatchSpec::Of(weights),
                ..
            } => Some(("with", weights)),
            InterveneSpec::Transplant { source, .. } => Some(("source", source)),
            _ => None,
        }
    }

    /// The same, to be completed.
    pub fn weights_mut(&mut self) -> Option<&mut WeightsSpec> {
        match self {
            InterveneSpec::Clamp {
                pattern: PatternSpec::Of(weights),
                ..
            }
            | InterveneSpec::Patch {
                with: PatchSpec::Of(weights),
                ..
            } => Some(weights),
            InterveneSpec::Transplant { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether it changes how weights are trained, and not what the model computes with them.
    pub fn is_about_weights(&self) -> bool {
        self.group().is_some()
    }

    /// The parameters that it is about, if it is about any.
    pub(crate) fn group(&self) -> Option<&str> {
        match self {
            InterveneSpec::Freeze { group, .. }
            | InterveneSpec::Rate { group, .. }
            | InterveneSpec::Reset { group, .. }
            | InterveneSpec::Transplant { group, .. } => Some(group),
            _ => None,
        }
    }

    /// What it changes in the model's computation: nothing, if it is about parameters. `weights` are those that
    /// it takes from elsewhere.
    ///
    /// # Errors
    ///
    /// If it names a place that the model does not have, or asks for something that cannot be there.
    pub fn interventions(
        &self,
        model: &Model,
        weights: Option<&Arc<[f32]>>,
    ) -> Result<Vec<Intervention>, Invalid> {
        let other = || Instead::Of(weights.cloned().unwrap_or_default());
        match self {
            InterveneSpec::Ablate {
                at,
                to,
                with,
                part: None,
                ..
            } => {
                let (place, sites) = model.sites(at)?;
                if place == Place::Patterns {
                    let allowed = "what a part writes, such as layers.0.heads.0; or set part = \"uniform\" to \
                                   leave that part out of the pattern";
                    return Err(Invalid::new("at", format!("\"{at}\""), allowed));
                }
                let instead = match with {
                    Ablation::Zero => Instead::Zero,
                    Ablation::Mean => Instead::Mean,
                    Ablation::Resample => Instead::Resampled,
                };
                read_by(model, place, sites, to, &instead)
            }
            InterveneSpec::Ablate {
                at, part: Some(_), ..
            } => put(patterns(model, at)?, &Instead::WithoutUniform),
            InterveneSpec::Clamp { at, pattern, .. } => {
                let instead = match pattern {
                    PatternSpec::Target(target) => Instead::Target(*target),
                    PatternSpec::Of(_) => other(),
                };
                put(patterns(model, at)?, &instead)
            }
            InterveneSpec::Patch { at, to, with, .. } => {
                let (place, sites) = model.sites(at)?;
                let instead = match with {
                    PatchSpec::Resample(_) => Instead::Resampled,
                    PatchSpec::Of(_) => other(),
                };
                read_by(model, place, sites, to, &instead)
            }
            InterveneSpec::StopGradient {
                at, part: Some(_), ..
            } => put(patterns(model, at)?, &Instead::UniformItself),
            InterveneSpec::StopGradient { at, to, .. } => {
                let (place, sites) = model.sites(at)?;
                read_by(model, place, sites, to, &Instead::Itself)
            }
            _ => Ok(Vec::new()),
        }
    }
}

/// The patterns that a name stands for: heads and layers stand for theirs.
fn patterns(model: &Model, name: &str) -> Result<Vec<Site>, Invalid> {
    match model.sites(name) {
        Ok((Place::Patterns, sites)) => Ok(sites),
        found => match (model.sites(&format!("{name}.attn_pattern")), found) {
            (Ok((_, sites)), _) => Ok(sites),
            (Err(unknown), Ok(_)) => Err(Invalid {
                value: format!("\"{name}\""),
                allowed: "heads: layers.0 for all of a layer, or layers.0.heads.0".into(),
                ..unknown
            }),
            (_, Err(unknown)) => Err(unknown),
        },
    }
}

/// The same thing at all sites.
fn put(sites: Vec<Site>, instead: &Instead) -> Result<Vec<Intervention>, Invalid> {
    let put = |site: Site| Intervention {
        site,
        instead: instead.clone(),
    };
    Ok(sites.into_iter().map(put).collect())
}

/// The same thing at all sites, as one reader sees it if one is named.
fn read_by(
    model: &Model,
    place: Place,
    sites: Vec<Site>,
    to: &Option<String>,
    instead: &Instead,
) -> Result<Vec<Intervention>, Invalid> {
    let Some(to) = to else {
        return put(sites, instead);
    };
    let reader = model.reader(to)?;
    if place != Place::Written {
        let allowed = "a path from what a part writes, such as layers.0.heads.0, to what reads it";
        return Err(Invalid::new("to", format!("\"{to}\""), allowed));
    }
    let sites = sites.into_iter().map(|site| match site {
        Site::Written { by, .. } => Site::Written {
            by,
            to: Some(reader),
        },
        pattern @ Site::Pattern { .. } => pattern,
    });
    put(sites.collect(), instead)
}
