//! The worth of every part at some steps.

use indicatif::ProgressBar;
use induct::model::{Instead, Reader, Site, Source};
use induct::probe::{Estimate, Whole, fresh};
use induct::train::Recipe;

use crate::commands::note;
use crate::failure::Failure;
use crate::stored_model::{StoredModel, StoredModels};

/// What to measure.
pub struct Asked<'a> {
    pub recipe: &'a Recipe,
    pub sequences: u64,
    /// What is put in place of a part.
    pub instead: Instead,
}

/// What was measured, by step.
pub struct Measured {
    pub steps: Vec<u64>,
    /// KL(truth ‖ model) of the whole model.
    pub whole: Vec<Estimate>,
    /// In the order in which they compute.
    pub parts: Vec<Part>,
}

impl Measured {
    /// The parts, the most important first: by the largest worth at any step.
    pub fn by_worth(&self) -> Vec<&Part> {
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
        parts
    }
}

/// A part of a model.
pub struct Part {
    pub source: Source,
    /// The reader of a path; none for the source as everything reads it.
    pub reader: Option<Reader>,
    /// By step; none where an intervention of the run holds its place.
    pub worth: Vec<Option<Estimate>>,
}

/// A part matters if ablating it costs this many nats, and this many standard errors.
pub const MATTERS: f64 = 0.01;
pub const CERTAIN: f64 = 3.0;

impl Part {
    /// As interventions name it.
    pub fn name(&self) -> String {
        let (by, to) = (self.source, self.reader);
        Site::Written { by, to }.to_string()
    }

    /// Its worth at the step where that is largest.
    pub fn largest(&self) -> f64 {
        let known = self.worth.iter().flatten();
        known
            .map(|worth| worth.mean)
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether another part is worth the same at every step, up to rounding.
    pub fn is_worth_as(&self, other: &Part) -> bool {
        let mut both = self.worth.iter().zip(&other.worth);
        both.all(|(one, other)| match (one, other) {
            (Some(one), Some(other)) => (one.mean - other.mean).abs() < 1e-6,
            (one, other) => one.is_none() && other.is_none(),
        })
    }

    /// The first step at which it matters.
    pub fn matters_from(&self, steps: &[u64]) -> Option<u64> {
        let matters = |worth: &Option<Estimate>| {
            worth.is_some_and(|worth| worth.mean >= MATTERS && worth.mean >= CERTAIN * worth.se)
        };
        let first = self.worth.iter().position(matters)?;
        Some(steps[first])
    }
}

/// Measures all parts at some steps, on the same sequences.
pub fn measure(
    asked: &Asked,
    steps: &[Option<u64>],
    models: &mut StoredModels,
) -> Result<Measured, Failure> {
    let set = fresh(asked.recipe, asked.sequences)?;
    let mut measured = Measured {
        steps: Vec::new(),
        whole: Vec::new(),
        parts: Vec::new(),
    };
    let progress = ProgressBar::new(steps.len() as u64);
    for (done, &step) in steps.iter().enumerate() {
        let StoredModel {
            step,
            model,
            params,
        } = models.at(step)?;
        if done == 0 {
            measured.parts = parts(&model.parts())?;
            progress.set_length((steps.len() * measured.parts.len()) as u64);
        }
        let whole = Whole::new(&model, &params, &set)?;
        measured.steps.push(step);
        measured.whole.push(whole.kl());
        for part in &mut measured.parts {
            let (by, to) = (part.source, part.reader);
            let worth = whole.worth(Site::Written { by, to }, asked.instead.clone())?;
            part.worth.push(worth);
            progress.inc(1);
        }
        if progress.is_hidden() && steps.len() > 1 && (done + 1) % steps.len().div_ceil(10) == 0 {
            note(&format!("{} of {} snapshots", done + 1, steps.len()));
        }
    }
    progress.finish_and_clear();
    Ok(measured)
}

fn parts(sites: &[Site]) -> Result<Vec<Part>, Failure> {
    let part = |site: &Site| match *site {
        Site::Written { by, to } => Some(Part {
            source: by,
            reader: to,
            worth: Vec::new(),
        }),
        Site::Pattern { .. } => None,
    };
    let parts: Vec<Part> = sites.iter().filter_map(part).collect();
    match parts.is_empty() {
        true => Err(Failure::mistake(
            "the minimal model has no parts to ablate: only transformers have heads, MLPs and paths between them",
        )),
        false => Ok(parts),
    }
}
