//! The figures and claims of a reproduction, and the experiments that they need.

use crate::experiment::{Changes, Experiment, Scale, Unsound, experiments};
use crate::paper::claims::{Claim, claims};
use crate::paper::figures::{FIGURES, PaperFigure};

/// A selection of figures and claims.
pub struct Selection {
    /// By number.
    pub figures: Vec<&'static PaperFigure>,
    /// By number.
    pub claims: Vec<&'static Claim>,
}

impl Selection {
    /// All of them.
    pub fn all() -> Self {
        Self {
            figures: FIGURES.iter().collect(),
            claims: claims(),
        }
    }

    /// Those with the given numbers (`1`, `C5`) or names (`phases`), ignoring case. The error is the first
    /// unknown name.
    pub fn only(names: &[String]) -> Result<Self, String> {
        let mut chosen = Self {
            figures: Vec::new(),
            claims: Vec::new(),
        };
        let all = Self::all();
        for name in names {
            let is = |other: &str| other.eq_ignore_ascii_case(name.trim());
            let figure = all
                .figures
                .iter()
                .find(|f| is(f.id) || is(&f.number.to_string()));
            let claim = all.claims.iter().find(|claim| is(claim.id));
            if figure.is_none() && claim.is_none() {
                return Err(name.clone());
            }
            chosen.figures.extend(figure);
            chosen.claims.extend(claim);
        }
        chosen.figures.sort_by_key(|figure| figure.number);
        chosen.figures.dedup_by_key(|figure| figure.number);
        let place = |claim: &&Claim| all.claims.iter().position(|other| other.id == claim.id);
        chosen.claims.sort_by_key(place);
        chosen.claims.dedup_by_key(|claim| claim.id);
        Ok(chosen)
    }

    /// The experiments that they need.
    pub fn experiments(&self, scale: Scale, changes: &Changes) -> Result<Vec<Experiment>, Unsound> {
        let by_figure = self.figures.iter().flat_map(|figure| figure.needs);
        let by_claim = self.claims.iter().flat_map(|claim| claim.needs);
        let needed: Vec<&str> = by_figure.chain(by_claim).copied().collect();
        experiments(scale, changes, |id| needed.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(names: &[&str]) -> Result<Selection, String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        Selection::only(&names)
    }

    #[test]
    fn names_and_numbers_choose() {
        let chosen = only(&["seeds", "c5", "1", "8", "C2"]).ok().unwrap();
        let figures: Vec<u8> = chosen.figures.iter().map(|f| f.number).collect();
        let claims: Vec<&str> = chosen.claims.iter().map(|c| c.id).collect();
        assert_eq!((figures, claims), (vec![1, 8], vec!["C2", "C5"]));
        assert_eq!(only(&["1", "nonsense"]).err().unwrap(), "nonsense");
    }

    #[test]
    fn everything_that_is_needed_exists_and_everything_that_exists_is_needed() {
        let all = Selection::all();
        let plan = Changes::default();
        let known = experiments(Scale::Quick, &plan, |_| true).unwrap();
        let needs = all.figures.iter().flat_map(|f| f.needs);
        for id in needs.chain(all.claims.iter().flat_map(|c| c.needs)) {
            assert!(known.iter().any(|e| e.id == *id), "{id}");
        }
        let needed = all.experiments(Scale::Quick, &plan).unwrap();
        assert_eq!(needed.len(), known.len());
        let order = only(&["C2"]).ok().unwrap();
        assert_eq!(order.experiments(Scale::Full, &plan).unwrap().len(), 2);
    }
}
