//! `mixture`: one of several priors, chosen by weight for each sequence.

use std::sync::Arc;

use induct_kernels::settings;
use serde::{Deserialize, Serialize};

use super::spec::PriorSettings;
use super::{Draft, Law, Prior, PriorSpec, TaskPrior};
use crate::Custom;
use crate::chain::{Generator, open_unit};
use crate::{Invalid, Within, require};

settings! {
    /// One of several priors, chosen by weight for each sequence.
    pub struct Mixture {
        /// The priors and their weights, `[{ weight, prior }, …]`; they have to be set.
        pub parts: Vec<MixturePart>,
    }
}

/// One component of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixturePart {
    /// Relative weight, above 0; weights need not sum to one.
    pub weight: f64,
    /// The component.
    pub prior: PriorSpec,
}

impl Mixture {
    /// The parts, each with its path.
    fn places(&self) -> impl Iterator<Item = (String, &MixturePart)> {
        let parts = self.parts.iter().enumerate();
        parts.map(|(index, part)| (format!("parts[{index}]"), part))
    }
}

impl PriorSettings for Mixture {
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        require(!self.parts.is_empty(), "parts", "[]", "at least one part")?;
        for (place, part) in self.places() {
            require(
                part.weight > 0.0 && part.weight <= 1e100,
                &format!("{place}.weight"),
                part.weight,
                "a number above 0 (at most 1e100)",
            )?;
            let checked = part.prior.settings().check(states, ngram);
            checked.within("prior").within(&place)?;
        }
        Ok(())
    }

    fn prepare(&self, states: usize, ngram: usize) -> Result<Arc<dyn Prior>, Invalid> {
        let total: f64 = self.parts.iter().map(|part| part.weight).sum();
        let mut cumulative = 0.0;
        let mut parts = Vec::with_capacity(self.parts.len());
        for (place, part) in self.places() {
            let prior = TaskPrior::prepare(&part.prior, states, ngram)
                .within("prior")
                .within(&place)?;
            cumulative += part.weight / total;
            parts.push((cumulative, prior));
        }
        // Rounding may have left the last sum slightly off.
        parts.last_mut().expect("not empty").0 = 1.0;
        Ok(Arc::new(Weighted { parts }))
    }

    fn pooled(&self) -> f64 {
        let parts = self.parts.iter();
        parts.map(|part| part.prior.settings().pooled()).sum()
    }

    fn check_code(&self) -> Result<(), Invalid> {
        self.places().try_for_each(|(place, part)| {
            let checked = part.prior.settings().check_code();
            checked.within("prior").within(&place)
        })
    }

    fn customs_mut(&mut self) -> Vec<&mut Custom<dyn Prior>> {
        let parts = self.parts.iter_mut();
        parts.flat_map(|part| part.prior.customs_mut()).collect()
    }
}

#[derive(Debug)]
struct Weighted {
    /// The components with cumulative weights, the last of them one.
    parts: Vec<(f64, TaskPrior)>,
}

impl Prior for Weighted {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let u = open_unit(rng);
        let (_, chosen) = self
            .parts
            .iter()
            .find(|(cumulative, _)| u < *cumulative)
            .expect("the last cumulative weight is one");
        table.draw_from(chosen, rng);
    }

    fn law(&self) -> Law<'_> {
        Law::Mixture(&self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{assert_mean, assert_stable, draws, prior};

    #[test]
    fn a_mixture_respects_its_weights() {
        let parts = "{ weight = 0.5, prior = 'iid' }, \
                     { weight = 1.5, prior = { kind = 'symmetric', epsilon = 0.1 } }";
        let prior = prior(&format!("'mixture', parts = [{parts}]"), 2, 2);
        let tables = draws(&prior, 4_000);
        assert_mean(&tables, 0.25, |table| {
            f64::from(u8::from(table.row(0) == table.row(1)))
        });
    }

    #[test]
    fn draws_keep_their_values() {
        let parts = "{ weight = 1.0, prior = 'iid' }, \
                     { weight = 3.0, prior = { kind = 'dirichlet', alpha = 0.3 } }";
        let (settings, tokens) = (
            format!("'mixture', parts = [{parts}]"),
            "121212121212102102021202",
        );
        assert_stable(&settings, [3, 2], 0.000906585664060404, tokens);
    }
}
