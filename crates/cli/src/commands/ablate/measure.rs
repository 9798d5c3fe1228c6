//! The worth of every part at some steps.

use induct::model::{Instead, Site};
use induct::probe::{Whole, fresh};
use induct::recipe::Recipe;
use serde::{Serialize, Serializer};

use super::With;
use crate::commands::note;
use crate::failure::Failure;
use crate::progress::bar;
use crate::stored_model::{StoredModel, StoredModels};

/// What parts of a run's model are worth, by step.
#[derive(Serialize)]
pub struct Worths {
    #[serde(skip)]
    pub run: String,
    #[serde(skip)]
    pub all_steps: bool,
    pub with: With,
    pub sequences: u64,
    pub steps: Vec<u64>,
    /// KL(truth ‖ model) of the whole model.
    pub kl_truth: Vec<f64>,
    pub kl_truth_se: Vec<f64>,
    /// In the order in which they compute; in JSON by worth.
    #[serde(serialize_with = "most_important_first")]
    pub parts: Vec<Part>,
}

#[derive(Serialize)]
pub struct Part {
    /// As interventions name it.
    pub part: String,
    pub source: String,
    /// The reader of a path; none for the source as everything reads it.
    pub reader: Option<String>,
    /// By step; none where an intervention of the run holds its place.
    pub worth: Vec<Option<f64>>,
    pub se: Vec<Option<f64>>,
    pub matters_from: Option<u64>,
    #[serde(skip)]
    site: Site,
}

/// A part matters if ablating it costs this many nats, and this many standard errors.
pub const MATTERS: f64 = 0.01;
pub const CERTAIN: f64 = 3.0;

/// The parts, by the largest worth at any step.
pub fn by_worth(parts: &[Part]) -> Vec<&Part> {
    let mut parts: Vec<&Part> = parts.iter().collect();
    parts.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
    parts
}

fn most_important_first<S: Serializer>(parts: &[Part], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(by_worth(parts))
}

impl Part {
    fn new(site: &Site) -> Option<Self> {
        let Site::Written { by, to } = site else {
            return None;
        };
        Some(Self {
            part: site.to_string(),
            source: by.to_string(),
            reader: to.map(|reader| reader.to_string()),
            worth: Vec::new(),
            se: Vec::new(),
            matters_from: None,
            site: *site,
        })
    }

    /// Its worth at the step where that is largest.
    pub fn largest(&self) -> f64 {
        let known = self.worth.iter().flatten();
        known.copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether another part is worth the same at every step, up to rounding.
    pub fn is_worth_as(&self, other: &Part) -> bool {
        let mut both = self.worth.iter().zip(&other.worth);
        both.all(|(one, other)| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-6,
            (one, other) => one.is_none() && other.is_none(),
        })
    }
}

impl Worths {
    /// Measures all parts at some steps, on the same sequences.
    pub fn measure(
        &mut self,
        recipe: &Recipe,
        steps: &[Option<u64>],
        models: &mut StoredModels,
    ) -> Result<(), Failure> {
        let instead = match self.with {
            With::Zero => Instead::Zero,
            With::Mean => Instead::Mean,
            With::Resample => Instead::Resampled,
        };
        let progress = bar(0, "{bar:30} {pos} of {len} parts, {elapsed}");
        let set = fresh(recipe, self.sequences)?;
        for (done, &step) in steps.iter().enumerate() {
            let StoredModel {
                step,
                model,
                params,
            } = models.at(step)?;
            if done == 0 {
                self.parts = parts(&model.parts())?;
                progress.set_length((steps.len() * self.parts.len()) as u64);
            }
            let whole = Whole::new(&model, &params, &set)?;
            self.steps.push(step);
            self.kl_truth.push(whole.kl().mean);
            self.kl_truth_se.push(whole.kl().se);
            for part in &mut self.parts {
                let worth = whole.worth(part.site, instead.clone())?;
                part.worth.push(worth.map(|worth| worth.mean));
                part.se.push(worth.map(|worth| worth.se));
                let matters = worth
                    .is_some_and(|worth| worth.mean >= MATTERS && worth.mean >= CERTAIN * worth.se);
                part.matters_from = part.matters_from.or(matters.then_some(step));
                progress.inc(1);
            }
            if progress.is_hidden() && steps.len() > 1 && (done + 1) % steps.len().div_ceil(10) == 0
            {
                note(&format!("{} of {} snapshots", done + 1, steps.len()));
            }
        }
        progress.finish_and_clear();
        Ok(())
    }
}

fn parts(sites: &[Site]) -> Result<Vec<Part>, Failure> {
    let parts: Vec<Part> = sites.iter().filter_map(Part::new).collect();
    match parts.is_empty() {
        true => Err(Failure::usage(
            "the minimal model has no parts to ablate: only transformers have heads, MLPs and paths between them",
        )),
        false => Ok(parts),
    }
}
