//! What is known about the form of a prior's draws.

use super::super::table::TransitionTable;
use super::{Rows, TaskPrior};
use crate::{Invalid, require};

/// What is known about the form of a prior's draws. This is what makes exact
/// averages and exact Bayes possible.
#[derive(Clone, Copy, Debug)]
pub enum Law<'a> {
    /// Nothing.
    Unknown,
    /// Independent Dirichlet rows.
    Dirichlet(&'a Rows),
    /// One Dirichlet row, the same in every context.
    Iid(&'a Rows),
    /// Uniform over the Birkhoff polytope.
    DoublyStochastic,
    /// a = b ~ U(½−ε, ½+ε); two states.
    Symmetric {
        /// Half the width.
        epsilon: f64,
    },
    /// One of these, each with its weight, and with equal probability if there are none; weights sum to one.
    Pool(&'a [TransitionTable], Option<&'a [f64]>),
    /// Components with cumulative weights, the last of them one.
    Mixture(&'a [(f64, TaskPrior)]),
}

/// The parts of a [`Law::Mixture`] with their own weights.
pub(crate) fn weighted(parts: &[(f64, TaskPrior)]) -> impl Iterator<Item = (f64, &TaskPrior)> {
    let before = std::iter::once(0.0).chain(parts.iter().map(|(cumulative, _)| *cumulative));
    parts
        .iter()
        .zip(before)
        .map(|((cumulative, part), before)| (cumulative - before, part))
}

impl Law<'_> {
    /// Refuses a law that does not fit the task: a prior from another crate may claim anything.
    pub(super) fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        let of_task = |k: usize, n: usize| (k, n) == (states, ngram);
        let (holds, value, allowed) = match self {
            Law::Unknown | Law::DoublyStochastic => return Ok(()),
            Law::Dirichlet(rows) | Law::Iid(rows) => (
                rows.alpha().len() == states,
                format!("rows of {} symbols", rows.alpha().len()),
                format!("rows of the task's {states} symbols"),
            ),
            Law::Symmetric { .. } => (
                states == 2,
                format!("{self:?} with {states} states"),
                "a law over tables of 2 states, with a task of 2 states".to_owned(),
            ),
            Law::Pool(tables, weights) => {
                let fit = tables.iter().all(|t| of_task(t.states(), t.ngram()));
                let sum = weights.map_or(1.0, |weights| weights.iter().sum::<f64>());
                let weighed = |weights: &[f64]| {
                    weights.len() == tables.len() && weights.iter().all(|&w| w >= 0.0)
                };
                let count = tables.len();
                (
                    count > 0 && fit && weights.is_none_or(weighed) && (sum - 1.0).abs() < 1e-9,
                    format!("a pool of {count} tables with weights of sum {sum}"),
                    format!(
                        "one table or more, all with {states} states and n = {ngram}, and as many weights, which \
                         sum to 1, or none"
                    ),
                )
            }
            Law::Mixture(parts) => {
                let fit = |(_, part): &(f64, TaskPrior)| of_task(part.states(), part.ngram());
                let shares: Vec<f64> = parts.iter().map(|(share, _)| *share).collect();
                let rising = shares.is_sorted() && shares.first().is_some_and(|&s| s >= 0.0);
                (
                    rising && shares.last() == Some(&1.0) && parts.iter().all(fit),
                    format!("a mixture with cumulative weights {shares:?}"),
                    format!(
                        "rising weights that end at 1, and parts with {states} states and n = {ngram}"
                    ),
                )
            }
        };
        require(holds, "law", value, &allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Alpha, PriorSpec};
    use super::*;

    #[test]
    fn laws_of_another_task_are_refused() {
        let rows = Rows::new(&Alpha::default(), 3).unwrap();
        let prior = |states| TaskPrior::new(&PriorSpec::default(), states, 2).unwrap();
        let table = TransitionTable::unset(3, 2);
        let (rising, falling) = (
            [(0.3, prior(3)), (1.0, prior(3))],
            [(1.0, prior(3)), (0.3, prior(3))],
        );
        for (law, fits) in [
            (Law::Unknown, true),
            (Law::Dirichlet(&rows), true),
            (Law::Symmetric { epsilon: 0.1 }, false),
            (Law::Pool(&[], None), false),
            (Law::Pool(std::slice::from_ref(&table), None), true),
            (Law::Pool(std::slice::from_ref(&table), Some(&[1.0])), true),
            (Law::Pool(std::slice::from_ref(&table), Some(&[0.5])), false),
            (Law::Pool(&[], Some(&[1.0])), false),
            (Law::Mixture(&rising), true),
            (Law::Mixture(&rising[..1]), false),
            (Law::Mixture(&falling), false),
            (Law::Mixture(&[]), false),
        ] {
            assert_eq!(law.check(3, 2).is_ok(), fits, "{law:?}");
        }
        for law in [
            Law::Iid(&rows),
            Law::Pool(std::slice::from_ref(&table), None),
            Law::Mixture(&rising),
        ] {
            assert_eq!(law.check(2, 2).unwrap_err().field, "law", "{law:?}");
        }
    }
}
