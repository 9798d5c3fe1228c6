//! What comes next: the model's answer beside every strategy's.

use std::collections::BTreeMap;
use std::sync::Arc;

use induct::strategy::{self, Strategy};
use serde::Serialize;

use crate::problem::Problem;
use crate::shelf::{Moment, RunId, Shelf};

/// Distributions of the next symbol.
#[derive(Debug, Serialize)]
pub struct Talk {
    /// The step of the snapshot that answers.
    step: u64,
    /// The model's, then each strategy's.
    answers: Vec<Answer>,
}

/// One answer.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Whose.
    name: String,
    /// [k]
    probabilities: Vec<f64>,
    /// KL(it ‖ model); none for the model itself.
    divergence: Option<f64>,
}

/// The strategies of each run's task, made once.
#[derive(Default)]
pub struct Strategies(BTreeMap<RunId, Vec<Arc<dyn Strategy>>>);

impl Strategies {
    /// Forgets those of a run.
    pub fn forget(&mut self, run: RunId) {
        self.0.remove(&run);
    }

    /// What a model and all strategies expect after some symbols.
    pub fn talk(&mut self, shelf: &Shelf, moment: &Moment, tokens: &[u8]) -> Result<Talk, Problem> {
        let run = shelf.get(moment.run)?;
        let (step, weights) = run.snapshot(moment.step)?;
        let model = run.model(moment.step, &moment.under)?;
        let own = model.evaluator(weights)?.next_distribution(tokens)?;
        let strategies = match self.0.entry(moment.run) {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(strategy::all(&run.recipe.prior()?)?)
            }
        };
        let mut answers = vec![Answer {
            name: "model".into(),
            probabilities: own.clone(),
            divergence: None,
        }];
        for strategy in strategies {
            let theirs = strategy.next_distribution(tokens).map_err(Problem::new)?;
            answers.push(Answer {
                name: strategy.name(),
                divergence: Some(kl(&theirs, &own)),
                probabilities: theirs,
            });
        }
        Ok(Talk { step, answers })
    }
}

/// KL(p ‖ q) in nats.
fn kl(p: &[f64], q: &[f64]) -> f64 {
    let terms = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
    terms.map(|(p, q)| p * (p / q).ln()).sum()
}
