//! Training as the command line does it: with progress, until Ctrl-C, and with advice where it fails.

use std::convert::Infallible;
use std::ops::ControlFlow;

use induct::recipe::Recipe;
use induct::run::{Progress, Record, Sink, level_with};
use induct::train::OptimizerSpec;
use induct_store::{How, Outcome, Session, SessionError, StoreError};

use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Trains a run to its end on the current thread pool, or until the user interrupts it. `follow` is called
/// first with the step that training starts from, then with every step, and with the step of the last record
/// if one was made.
pub fn train(
    session: &Session,
    interrupt: &Interrupt,
    follow: impl FnMut(&Progress, Option<u64>) + Send,
) -> Result<Outcome, Failure> {
    let mut follower = Follower {
        follow,
        recorded: None,
        interrupt,
    };
    let outcome = session.train(&mut follower);
    outcome.map_err(|error| match error {
        SessionError::Store(error) => advised(error, session.how),
        other => other.into(),
    })
}

/// Reports progress, and stops a run that the user has interrupted.
struct Follower<'a, F> {
    follow: F,
    recorded: Option<u64>,
    interrupt: &'a Interrupt,
}

impl<F: FnMut(&Progress, Option<u64>) + Send> Sink for Follower<'_, F> {
    type Error = Infallible;

    fn record(&mut self, record: &Record) -> Result<(), Infallible> {
        self.recorded = Some(record.step);
        Ok(())
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        (self.follow)(progress, self.recorded);
        match self.interrupt.asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
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
