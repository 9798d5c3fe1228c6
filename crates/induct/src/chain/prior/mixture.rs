//! `mixture`: one of several priors, chosen by weight for each sequence.

use std::sync::Arc;

use induct_kernels::settings;
use serde::{Deserialize, Serialize};

use super::spec::PriorSettings;
use super::{Draft, Law, Prior, PriorSpec, TaskPrior};
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

impl PriorSettings for Mixture {
    fn check(&self, _: usize, _: usize) -> Result<(), Invalid> {
        require(!self.parts.is_empty(), "parts", "[]", "at least one part")?;
        self.parts.iter().enumerate().try_for_each(|(index, part)| {
            require(
                part.weight > 0.0 && part.weight <= 1e100,
                &format!("parts[{index}].weight"),
                part.weight,
                "a number above 0 (at most 1e100)",
            )
        })
    }

    fn prepare(&self, states: usize, ngram: usize) -> Result<Arc<dyn Prior>, Invalid> {
        let total: f64 = self.parts.iter().map(|part| part.weight).sum();
        let mut cumulative = 0.0;
        let mut parts = Vec::with_capacity(self.parts.len());
        for ((place, prior), part) in PriorSettings::parts(self).into_iter().zip(&self.parts) {
            let prior = TaskPrior::prepare(prior, states, ngram).within(&place)?;
            cumulative += part.weight / total;
            parts.push((cumulative, prior));
        }
        // Rounding may have left the last sum slightly off.
        parts.last_mut().expect("not empty").0 = 1.0;
        Ok(Arc::new(Weighted { parts }))
    }

    fn parts(&self) -> Vec<(String, &PriorSpec)> {
        let parts = self.parts.iter().enumerate();
        let place = |index: usize| format!("parts[{index}].prior");
        parts
            .map(|(index, part)| (place(index), &part.prior))
            .collect()
    }

    fn parts_mut(&mut self) -> Vec<&mut PriorSpec> {
        self.parts.iter_mut().map(|part| &mut part.prior).collect()
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
    use super::super::checks::{assert_mean, draws, prior};

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
}
