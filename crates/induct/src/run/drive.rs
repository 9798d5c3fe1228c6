//! The training loop.

use std::sync::Arc;

use super::event::{EventDetector, Onsets, kept_until, stopped_at};
use super::sink::{Checkpoint, Progress, Record, Sink};
use crate::Invalid;
use crate::chain::DrawError;
use crate::measure::KL_TRUTH;
use crate::model::Model;
use crate::probe::{History, Instruments};
use crate::recipe::Recipe;
use crate::train::{Diverged, Snapshots, StepLoss, StepOutcome, TrainError, Trainer};

/// A run: a model in training, its instruments, and what was recorded so far.
///
/// ```
/// use std::convert::Infallible;
/// use std::sync::Arc;
///
/// use induct::probe::Instruments;
/// use induct::run::{Record, Run, Sink};
/// use induct::recipe::Recipe;
///
/// /// Counts records.
/// struct Count(usize);
///
/// impl Sink for Count {
///     type Error = Infallible;
///
///     fn record(&mut self, _: &Record) -> Result<(), Infallible> {
///         self.0 += 1;
///         Ok(())
///     }
/// }
///
/// let recipe = Recipe::from_toml("train.steps = 30\nrecord.every = 10", &[])?;
/// let mut run = Run::new(&recipe, Arc::new(Instruments::new(&recipe)?))?;
/// let mut count = Count(0);
/// let Ok(_) = run.drive(&mut count);
/// assert_eq!(count.0, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run {
    trainer: Trainer,
    records: Records,
    resumed_at: Option<u64>,
}

/// How a session of training ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// All steps are done.
    Complete,
    /// The event of `train.stop` came, and ended it after this many steps.
    Event(u64),
    /// The sink asked to stop after this many steps.
    Stopped(u64),
    /// The loss was not a number.
    Diverged(Diverged),
    /// A prior from another crate drew no chains for a step. All before it is recorded, with a checkpoint.
    PriorFailed {
        /// The step that needs them.
        step: u64,
        /// What it drew.
        error: DrawError,
    },
}

/// Why a run cannot resume from a saved state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum Unfit {
    /// The recipe cannot be trained: a part of it may be missing.
    #[error(transparent)]
    Recipe(#[from] Invalid),
    /// The state is that of another model or optimiser, or of a step beyond the recipe's last.
    #[error("the state after step {step} does not fit the recipe")]
    State { step: u64 },
    /// The records are not those that the recipe makes up to the state's step.
    #[error("the records are not what the recipe makes up to step {step}: {what}")]
    Records { step: u64, what: String },
}

/// What to record at which steps, and what was recorded.
struct Records {
    recipe: Recipe,
    instruments: Arc<Instruments>,
    history: History,
    /// The last step, as far as the records tell.
    last: u64,
    /// The event that ends it before its recipe's last step.
    stop: Option<EventDetector>,
    /// The onsets that interventions wait for.
    onsets: Onsets,
    snapshot_steps: Vec<u64>,
    /// The last recorded weights whose loss is a number.
    last_finite: Option<(u64, Vec<f32>)>,
}

/// A step that is due to be measured.
struct DueRecord {
    step: u64,
    loss: Option<StepLoss>,
    /// That of the step before, if a measure reads it.
    gradient: Option<Vec<f32>>,
    params: Vec<f32>,
    model: Model,
}

/// A measured step.
struct NewRecord {
    due: DueRecord,
    row: Vec<f64>,
}

impl Run {
    /// A run at its start. It trains on the current thread pool. The instruments may be shared by many runs.
    ///
    /// # Panics
    ///
    /// If the instruments were made for a recipe that records something else.
    pub fn new(recipe: &Recipe, instruments: Arc<Instruments>) -> Result<Self, Invalid> {
        Ok(Self::with_trainer(Trainer::new(recipe)?, instruments))
    }

    /// The same with the weights of snapshots that the recipe names.
    pub fn with_snapshots(
        recipe: &Recipe,
        instruments: Arc<Instruments>,
        snapshots: Snapshots,
    ) -> Result<Self, Invalid> {
        let trainer = Trainer::with_snapshots(recipe, snapshots)?;
        Ok(Self::with_trainer(trainer, instruments))
    }

    fn with_trainer(trainer: Trainer, instruments: Arc<Instruments>) -> Self {
        let recipe = trainer.recipe().clone();
        assert!(
            instruments.fit(&recipe),
            "instruments made for another recipe"
        );
        Self {
            records: Records {
                last: recipe.train.steps,
                stop: recipe.train.stop.as_ref().map(EventDetector::new),
                snapshot_steps: kept_until(&recipe, recipe.train.steps),
                history: History::new(instruments.columns().to_vec()),
                instruments,
                onsets: Onsets::new(&recipe),
                recipe,
                last_finite: None,
            },
            trainer,
            resumed_at: None,
        }
    }

    /// A run that resumes from a saved state, with everything recorded up to it. Where its first weights came
    /// from no longer matters, but snapshots that interventions name do.
    pub fn resumed(
        recipe: &Recipe,
        instruments: Arc<Instruments>,
        checkpoint: Checkpoint,
        history: History,
        snapshots: Snapshots,
    ) -> Result<Self, Unfit> {
        let Checkpoint { state, last_finite } = checkpoint;
        let step = state.step;
        let onsets = Onsets::shown(recipe, &history);
        let trainer = Trainer::resumed(recipe, state, &onsets, snapshots)?;
        let trainer = trainer.ok_or(Unfit::State { step })?;
        let mut run = Self::with_trainer(trainer, instruments);
        let records = &mut run.records;
        check_records(recipe, &history, step)?;
        if history.columns() != records.history.columns() {
            let what = "their columns are others".into();
            return Err(Unfit::Records { step, what });
        }
        (records.history, records.last_finite) = (history, last_finite);
        records.look_for_stop();
        records.new_onsets();
        run.resumed_at = Some(step);
        Ok(run)
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.records.recipe
    }

    /// The model, under the interventions in force.
    pub fn model(&self) -> &Model {
        self.trainer.model()
    }

    /// Steps done.
    pub fn step(&self) -> u64 {
        self.trainer.step()
    }

    /// The step that this session resumed from.
    pub fn resumed_at(&self) -> Option<u64> {
        self.resumed_at
    }

    /// The instruments it is measured with.
    pub fn instruments(&self) -> &Instruments {
        &self.records.instruments
    }

    /// What was recorded so far.
    pub fn history(&self) -> &History {
        &self.records.history
    }

    /// Trains until all steps are done, its event or the sink stops it, it diverges, or its prior has no chains
    /// for it.
    ///
    /// A recorded step is measured while the next steps are trained, so that threads which would otherwise
    /// wait for one another have work. The sink still receives everything in order, and can make training wait.
    pub fn drive<S: Sink>(&mut self, sink: &mut S) -> Result<Ending, S::Error> {
        let mut loss = None;
        let mut stopped = false;
        // The last step of an earlier session was recorded by that session.
        let mut seen = self.records.history.last_step();
        loop {
            let step = self.trainer.step();
            let is_new = seen.replace(step) != Some(step);
            let mut due = (is_new && self.records.wants(step)).then(|| DueRecord {
                step,
                loss,
                gradient: (self.records.instruments.need_gradient())
                    .then(|| self.trainer.gradient().to_vec()),
                params: self.trainer.params().to_vec(),
                model: self.trainer.model().clone(),
            });
            let done = step >= self.records.last;
            let saves = done || stopped || sink.wants_checkpoint();
            if saves || sink.waits() {
                let measured = due.take().map(|due| self.records.measure(due));
                if let Some(diverged) = self.deliver(measured, sink)? {
                    return self.give_up(diverged, sink);
                }
            }
            if saves {
                sink.checkpoint(&self.checkpoint())?;
                match (done, stopped) {
                    (true, _) if self.trainer.is_done() => return Ok(Ending::Complete),
                    (true, _) => return Ok(Ending::Event(step)),
                    (_, true) => return Ok(Ending::Stopped(step)),
                    _ => {}
                }
            }
            let Self {
                trainer, records, ..
            } = &mut *self;
            let next = records
                .recipe
                .record
                .next_record(step, records.recipe.train.steps);
            let nearest = records.history.nearest(&records.recipe.task.ladder());
            let nearest = nearest.zip(records.history.last_step());
            let train = || -> Result<bool, TrainError> {
                loop {
                    let last = trainer.step() + 1 == next;
                    loss = Some(trainer.advance_observed(last, &|_| {})?);
                    let progress = Progress {
                        step: trainer.step(),
                        loss,
                        nearest,
                    };
                    let stop = sink.step(&progress).is_break();
                    if stop || trainer.step() >= next || sink.wants_checkpoint() {
                        return Ok(stop);
                    }
                }
            };
            let measure = || due.map(|due| records.measure(due));
            let (measured, trained) = rayon::join(measure, train);
            if let Some(diverged) = self.deliver(measured, sink)? {
                return self.give_up(diverged, sink);
            }
            match trained {
                Ok(stop) => stopped = stop,
                Err(TrainError::Diverged(diverged)) => return self.give_up(diverged, sink),
                Err(TrainError::Prior { step, error }) => {
                    // The step was not begun: with a better prior the run can go on from here.
                    sink.checkpoint(&self.checkpoint())?;
                    return Ok(Ending::PriorFailed { step, error });
                }
            }
        }
    }

    /// Adds what was measured to the history, tells the sink, and tells the trainer of onsets that it shows. Returns
    /// the divergence, if this record shows one.
    fn deliver<S: Sink>(
        &mut self,
        measured: Option<NewRecord>,
        sink: &mut S,
    ) -> Result<Option<Diverged>, S::Error> {
        let diverged = self.records.deliver(measured, sink)?;
        for (strategy, step) in self.records.new_onsets() {
            self.trainer.tell_onset(&strategy, step);
        }
        Ok(diverged)
    }

    fn checkpoint(&self) -> Checkpoint {
        let last_finite = self.records.last_finite.as_ref();
        Checkpoint {
            state: self.trainer.state(),
            last_finite: last_finite
                .filter(|(step, _)| !self.records.keeps_weights(*step))
                .cloned(),
        }
    }

    /// Ends a run that diverged, and keeps its last last_finite weights.
    fn give_up<S: Sink>(&self, diverged: Diverged, sink: &mut S) -> Result<Ending, S::Error> {
        if let Some((step, params)) = &self.records.last_finite
            && !self.records.keeps_weights(*step)
        {
            sink.snapshot(*step, params)?;
        }
        Ok(Ending::Diverged(diverged))
    }
}

impl Records {
    fn wants(&self, step: u64) -> bool {
        self.recipe.record.records(step, self.recipe.train.steps)
    }

    fn keeps_weights(&self, step: u64) -> bool {
        self.snapshot_steps.binary_search(&step).is_ok()
    }

    /// Looks whether the records now tell where the run ends.
    fn look_for_stop(&mut self) {
        let Some(stop) = &mut self.stop else { return };
        let event = stop.step(&self.recipe, &self.history);
        let last = stopped_at(&self.recipe, event);
        if last != self.last {
            self.last = last;
            self.snapshot_steps = kept_until(&self.recipe, last);
        }
    }

    /// The onsets that the records show and that no one was told of.
    fn new_onsets(&mut self) -> Vec<(String, u64)> {
        self.onsets.new_ones(&self.recipe, &self.history)
    }

    fn measure(&self, due: DueRecord) -> NewRecord {
        let last = due.loss.map(|loss| StepOutcome {
            loss,
            gradient: due.gradient.as_deref(),
        });
        let row = self
            .instruments
            .measure(&due.model, &due.params, due.step, last);
        NewRecord { due, row }
    }

    /// Adds what was measured to the history and tells the sink. Returns the divergence, if this record shows
    /// one.
    fn deliver<S: Sink>(
        &mut self,
        measured: Option<NewRecord>,
        sink: &mut S,
    ) -> Result<Option<Diverged>, S::Error> {
        let Some(NewRecord { due, row }) = measured else {
            return Ok(None);
        };
        let step = due.step;
        self.history
            .push(&row)
            .expect("instruments fill every column, and steps increase");
        self.look_for_stop();
        sink.record(&Record {
            step,
            row: &row,
            history: &self.history,
        })?;
        match self.history.last(&KL_TRUTH) {
            Some(kl) if kl.is_finite() => {}
            kl => {
                let loss = kl.unwrap_or(f64::NAN);
                return Ok(Some(Diverged { step, loss }));
            }
        }
        if self.keeps_weights(step) {
            sink.snapshot(step, &due.params)?;
        }
        self.last_finite = Some((step, due.params));
        Ok(None)
    }
}

/// Checks that a history has exactly the records that the recipe makes up to `step`.
pub fn check_records(recipe: &Recipe, history: &History, step: u64) -> Result<(), Unfit> {
    let steps = recipe.train.steps;
    let mut expected = Some(0);
    let wrong = |what: String| Unfit::Records { step, what };
    for found in history.steps() {
        if Some(found) != expected {
            let due = expected.map_or("none".into(), |step| step.to_string());
            return Err(wrong(format!("step {found} where step {due} is due")));
        }
        let next = recipe.record.next_record(found, steps);
        expected = (next > found && next <= step).then_some(next);
    }
    match expected {
        Some(missing) if missing <= step => Err(wrong(format!("step {missing} is missing"))),
        _ => Ok(()),
    }
}
