//! Whether a run can be made longer.

use crate::recipe::Recipe;

/// Why a run cannot be made longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLonger {
    /// Its learning rates depend on its length.
    #[error(
        "it cannot be extended: its cosine schedule ends at step {ends}, \
         so a run of {wanted} steps would have had other learning rates from the start"
    )]
    Schedule {
        /// The run's steps.
        ends: u64,
        /// The steps that were asked for.
        wanted: u64,
    },
    /// It diverged.
    #[error("it cannot be extended: it has diverged")]
    Diverged,
    /// The new last step would have to be recorded, but training has passed it.
    #[error(
        "train.steps = {wanted} is not allowed: it has done {done} steps already (give {} or more)",
        .done + 1
    )]
    Done {
        /// Steps done.
        done: u64,
        /// The steps that were asked for.
        wanted: u64,
    },
}

/// Checks that a run of `recipe` that has done some steps can go on to `steps` steps, as if it had been so long from the
/// start.
///
/// # Errors
///
/// If the run would have been another one from the start, or has come further already.
pub fn check_longer(
    recipe: &Recipe,
    done: u64,
    diverged: bool,
    steps: u64,
) -> Result<(), NotLonger> {
    let wanted = steps;
    if recipe.train.schedule.depends_on_length() {
        let ends = recipe.train.steps;
        return Err(NotLonger::Schedule { ends, wanted });
    }
    if diverged {
        return Err(NotLonger::Diverged);
    }
    match steps <= done {
        true => Err(NotLonger::Done { done, wanted }),
        false => Ok(()),
    }
}
