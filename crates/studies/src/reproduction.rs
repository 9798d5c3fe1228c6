//! A reproduction: the figures and claims of a study, the experiments that they need, and how many seeds of
//! each are trained.
//!
//! A full reproduction is sequential. It looks at its results after each of a few numbers of seeds, and goes
//! on with the experiments of core parts that are still undecided. Every look spends an equal share of the
//! error, so that a part is decided wrongly with a probability of [`ERROR`] at most, however many looks it
//! takes.

use std::ops::Range;

use crate::claim::{Claim, Decision, Role, Verdict};
use crate::experiment::{Changes, Experiment, InvalidExperiment, Scale};
use crate::figure::StudyFigure;
use crate::results::Results;
use crate::statistics::ERROR;
use crate::study::Study;

/// The numbers of seeds after which a full reproduction looks at its results.
pub const LOOKS: [u64; 4] = [8, 20, 40, 80];

/// A reproduction of a study, or of a part of it.
pub struct Reproduction {
    study: &'static Study,
    /// Figures, by number.
    pub figures: Vec<&'static StudyFigure>,
    /// Claims, by number.
    pub claims: Vec<&'static Claim>,
    /// What is trained.
    pub experiments: Vec<Experiment>,
    /// The number of seeds of each experiment.
    seeds: Vec<u64>,
    sequential: bool,
}

/// Why there is no such reproduction.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// No figure or claim has this name.
    #[error("{0}: no such figure or claim")]
    Unknown(String),
    /// An experiment cannot be trained with the requested changes.
    #[error(transparent)]
    InvalidExperiment(#[from] InvalidExperiment),
}

impl Reproduction {
    /// The figures and claims with the given numbers (`1`, `C5`) or names (`phases`), ignoring case; all of
    /// them without names.
    pub fn new(
        study: &'static Study,
        names: &[String],
        scale: Scale,
        changes: &Changes,
    ) -> Result<Self, Refusal> {
        let (figures, claims) = select(study, names)?;
        let mut needed: Vec<String> = figures.iter().flat_map(|figure| figure.needs()).collect();
        needed.extend(claims.iter().flat_map(|claim| claim.needs()));
        let plans = study.experiments.iter();
        let plans = plans.flat_map(|plan| plan.settings().map(move |setting| (plan, setting)));
        let (mut experiments, mut seeds) = (Vec::new(), Vec::new());
        for (plan, setting) in
            plans.filter(|(_, setting)| needed.iter().any(|id| id == setting.name))
        {
            experiments.push(plan.experiment(setting, changes)?);
            seeds.push(changes.seeds.unwrap_or(match scale {
                Scale::Quick => plan.quick,
                Scale::Full => plan.least(),
            }));
        }
        Ok(Self {
            study,
            figures,
            claims,
            experiments,
            seeds,
            sequential: scale == Scale::Full && changes.seeds.is_none(),
        })
    }

    /// The study.
    pub fn study(&self) -> &'static Study {
        self.study
    }

    /// Whether it has only some of the study's figures and claims.
    pub fn is_part(&self) -> bool {
        (self.figures.len(), self.claims.len())
            < (self.study.figures.len(), self.study.claims().len())
    }

    /// The runs of each experiment that the results need next.
    pub fn missing(&self, results: &Results) -> Vec<Range<u64>> {
        let there = results
            .all()
            .iter()
            .map(|trained| trained.runs.len() as u64);
        there.zip(&self.seeds).map(|(from, to)| from..*to).collect()
    }

    /// The probability that an interval misses the truth at a single look.
    pub fn error(&self) -> f64 {
        match self.sequential {
            true => ERROR / LOOKS.len() as f64,
            false => ERROR,
        }
    }

    /// The claims, decided.
    pub fn decide(&self, results: &Results) -> Vec<Decision> {
        use rayon::prelude::*;
        let variants = self.study.variants();
        let claims = self.claims.par_iter().with_max_len(1);
        claims
            .map(|claim| claim.decide(&variants, results, self.error()))
            .collect()
    }

    /// Plans more seeds for the experiments of undecided core parts. Returns whether any can be trained.
    pub fn extend(&mut self, results: &Results) -> bool {
        if !self.sequential {
            return false;
        }
        let error = self.error();
        let mut open: Vec<String> = Vec::new();
        for part in self.claims.iter().flat_map(|claim| &claim.core) {
            let judged = part.judge(Role::Core, results, error).into_iter();
            for (judged, row) in judged.zip(part.rows()) {
                if judged.verdict == Verdict::Undecided {
                    open.extend(row.experiments);
                }
            }
        }
        let mut more = false;
        for (experiment, seeds) in self.experiments.iter().zip(&mut self.seeds) {
            let next = LOOKS.into_iter().find(|look| look > seeds);
            let next = next.unwrap_or(*seeds).min(experiment.most);
            if open.iter().any(|id| id == experiment.id) && next > *seeds {
                *seeds = next;
                more = true;
            }
        }
        more
    }
}

/// What is chosen of a study.
type Chosen = (Vec<&'static StudyFigure>, Vec<&'static Claim>);

fn select(study: &'static Study, names: &[String]) -> Result<Chosen, Refusal> {
    let (all_figures, all_claims) = (study.figures.iter(), study.claims().iter());
    if names.is_empty() {
        return Ok((all_figures.collect(), all_claims.collect()));
    }
    let (mut figures, mut claims): Chosen = (Vec::new(), Vec::new());
    for name in names {
        let is = |other: &str| other.eq_ignore_ascii_case(name.trim());
        let figure = all_figures
            .clone()
            .find(|f| is(&f.id) || is(&f.number.to_string()));
        let claim = all_claims.clone().find(|claim| is(&claim.id));
        if figure.is_none() && claim.is_none() {
            return Err(Refusal::Unknown(name.clone()));
        }
        figures.extend(figure);
        claims.extend(claim);
    }
    figures.sort_by_key(|figure| figure.number);
    figures.dedup_by_key(|figure| figure.number);
    claims.sort_by_key(|claim| all_claims.clone().position(|other| other.id == claim.id));
    claims.dedup_by_key(|claim| &claim.id);
    Ok((figures, claims))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::STUDY;

    fn reproduction(names: &[&str]) -> Result<Reproduction, Refusal> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let changes = Changes {
            seeds: None,
            first_seed: 0,
            set: Vec::new(),
        };
        Reproduction::new(&STUDY, &names, Scale::Full, &changes)
    }

    #[test]
    fn names_and_numbers_choose() {
        let chosen = reproduction(&["seeds", "c5", "1", "8", "C2"]).ok().unwrap();
        let figures: Vec<u8> = chosen.figures.iter().map(|f| f.number).collect();
        let claims: Vec<&str> = chosen.claims.iter().map(|c| c.id.as_str()).collect();
        assert_eq!((figures, claims), (vec![1, 8], vec!["C2", "C5"]));
        assert!(chosen.is_part());
        let unknown = reproduction(&["1", "nonsense"]).err().unwrap();
        assert_eq!(unknown, Refusal::Unknown("nonsense".into()));
    }

    #[test]
    fn everything_that_is_needed_exists_and_everything_that_exists_is_needed() {
        let all = reproduction(&[]).ok().unwrap();
        let known: Vec<&str> = STUDY
            .experiments
            .iter()
            .flat_map(|plan| plan.settings())
            .map(|of| of.name)
            .collect();
        let needs = all.figures.iter().flat_map(|figure| figure.needs());
        for id in needs.chain(all.claims.iter().flat_map(|claim| claim.needs())) {
            assert!(known.contains(&id.as_str()), "{id}");
        }
        assert_eq!(all.experiments.len(), known.len());
        assert!(!all.is_part());
    }

    #[test]
    fn every_run_has_its_own_seed_and_the_first_keeps_more_snapshots() {
        let all = reproduction(&["C2"]).ok().unwrap();
        let main = all.experiments.iter().find(|e| e.id == "main").unwrap();
        let (first, other) = (main.recipe(0), main.recipe(3));
        assert_eq!(first, main.recipe);
        let seeds = [other.seeds.init, other.seeds.data, other.seeds.eval];
        assert_eq!(seeds, [3; 3]);
        assert!(other.record.snapshots <= first.record.snapshots);
        let mut same = other.clone();
        (same.seeds, same.record.snapshots) = (first.seeds, first.record.snapshots);
        assert_eq!(same, first);
    }
}
