//! Training as the command line does it: with progress, until Ctrl-C, and with advice where it fails.

use std::ops::ControlFlow;

use induct::internal::level_with;
use induct::recipe::Recipe;
use induct::run::Progress;
use induct::train::OptimizerSpec;
use induct_store::{How, Outcome, Session, SessionError, StoreError};

use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Trains a run to its end on the current thread pool, or until the user interrupts it. `follow` is called
/// first with the step that training starts from, then with every step.
pub fn train(
    session: &Session,
    interrupt: &Interrupt,
    mut follow: impl FnMut(&Progress) + Send,
) -> Result<Outcome, Failure> {
    let outcome = session.train(&mut |progress: &Progress| {
        follow(progress);
        match interrupt.asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    outcome.map_err(|error| match error {
        SessionError::Store(error) => advised(error, session.how),
        other => other.into(),
    })
}

/// Adds advice on what to do about a folder that cannot be used.
fn advised(error: StoreError, how: How) -> Failure {
    let advice = match (&error, how) {
        (StoreError::HoldsARun { .. }, _) => {
            "add --resume to continue it, or choose another --out".to_owned()
        }
        (StoreError::OtherArithmetic { of_run, .. }, _) => match level_with(of_run) {
            Some(level) => {
                format!("add --level {level} to continue it, or choose another --out")
            }
            None => "this machine cannot compute with that; choose another --out".to_owned(),
        },
        (StoreError::Foreign { .. }, How::New | How::Extend) => "choose another --out".to_owned(),
        (StoreError::Different { .. } | StoreError::Damaged { .. }, How::New | How::Extend) => {
            "choose another --out to train a new run".to_owned()
        }
        _ => return error.into(),
    };
    Failure::from(error).with_advice(&advice)
}

pub fn advice(recipe: &Recipe) -> String {
    let optimizer = &recipe.train.optimizer;
    // Far above the usual rates, a tenth would be no better: suggest the usual one.
    let usual = match optimizer {
        OptimizerSpec::Sgd(_) => 2e-3,
        _ => 1e-3,
    };
    let lower = optimizer.lr().map_or(usual, |lr| (lr / 10.0).min(usual));
    format!("A lower learning rate may help: --set train.optimizer.lr={lower:e}")
}
