//! A run in training, a slice at a time, so that whoever asks can do something else in between.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use induct::internal::kept_steps;
use induct::probe::{History, IN_DISTRIBUTION, Instruments};
use induct::recipe::Recipe;
use induct::run::{Checkpoint, Ending, Progress, Record, Run, Sink, Summary};
use induct::train::no_snapshots;
use serde::Serialize;

use crate::problem::Problem;

/// A run in training.
pub struct Training {
    run: Run,
    instruments: Arc<Instruments>,
    /// States to go on from, at steps whose weights are kept.
    states: States,
    /// How it ended, if it did.
    ending: Option<Ending>,
}

/// What a slice of training brought.
#[derive(Debug, Default, Serialize)]
pub struct Slice {
    /// Steps done.
    pub step: u64,
    /// The steps of the snapshots.
    pub snapshots: Vec<u64>,
    pub ended: Option<RunEnd>,
    /// One row of numbers per record.
    #[serde(skip)]
    pub rows: Vec<f64>,
    /// The weights of the snapshots.
    #[serde(skip)]
    pub weights: Vec<Vec<f32>>,
}

/// How a run ended.
#[derive(Debug, PartialEq, Serialize)]
pub struct RunEnd {
    /// `complete`, `event`, `diverged` or `failed`.
    how: &'static str,
    /// In a sentence, if it is not as planned.
    sentence: Option<String>,
}

/// How well the strategies do on the task's own test set: KL(truth ‖ strategy).
pub type Levels = Vec<(String, f64)>;

impl Training {
    /// A run at its start.
    pub fn begin(recipe: &Recipe) -> Result<Self, Problem> {
        let instruments = Arc::new(Instruments::new(recipe)?);
        let run = Run::new(recipe, instruments.clone())?;
        Ok(Self {
            run,
            instruments,
            states: States::default(),
            ending: None,
        })
    }

    /// Another run that shares the beginning of this one: `recipe` may differ in what happens at `step` and
    /// later. Returns it with the step that it goes on from, which lies before `step`.
    pub fn branch(&self, recipe: &Recipe, step: u64) -> Result<(Self, u64), Problem> {
        let start = || Ok((Self::begin(recipe)?, 0));
        if !self.instruments.fit(recipe) {
            return start();
        }
        // Interventions at a step show in its record, so it has to be taken again.
        let Some((at, checkpoint)) = self.states.before(step) else {
            return start();
        };
        // A longer run may keep other snapshots of the part that they share.
        let [own, theirs] = [self.run.recipe(), recipe].map(|recipe| snapshots_until(recipe, at));
        if theirs.iter().any(|step| !own.contains(step)) {
            return start();
        }
        let mut history: History = self.run.history().clone();
        history.retain(|recorded| recorded <= at);
        let instruments = self.instruments.clone();
        let run = Run::resumed(recipe, instruments, checkpoint, history, &no_snapshots)?;
        let branch = Self {
            run,
            instruments: self.instruments.clone(),
            states: self.states.until(at),
            ending: None,
        };
        Ok((branch, at))
    }

    /// Trains for at most this many steps.
    pub fn advance(&mut self, steps: u64) -> Slice {
        let kept = kept_steps(self.run.recipe(), self.run.history());
        let mut sink = SliceSink {
            left: steps.max(1),
            kept,
            states: &mut self.states,
            wants_state: false,
            slice: Slice::default(),
        };
        let Ok(ending) = self.run.drive(&mut sink);
        let mut slice = sink.slice;
        slice.step = self.run.step();
        slice.ended = ended(&ending);
        self.ending = slice.ended.is_some().then_some(ending);
        slice
    }

    /// The strategies' losses.
    pub fn levels(&self) -> Levels {
        let own = self.instruments.levels().iter();
        let own = own.filter(|levels| levels.test == IN_DISTRIBUTION);
        let all = own.flat_map(|levels| &levels.strategies);
        all.map(|(name, level)| (name.clone(), level.mean))
            .collect()
    }

    /// The outcome of a run that has ended, after so many seconds.
    pub fn summary(&self, seconds: f64) -> Option<Summary> {
        Summary::of(&self.run, self.ending.as_ref()?, seconds)
    }
}

/// The steps up to `last` whose weights a recipe keeps.
fn snapshots_until(recipe: &Recipe, last: u64) -> Vec<u64> {
    let mut steps = recipe.record.snapshot_steps(recipe.train.steps);
    steps.retain(|&step| step <= last);
    steps
}

fn ended(ending: &Ending) -> Option<RunEnd> {
    let (how, sentence) = match ending {
        Ending::Stopped(_) => return None,
        Ending::Complete => ("complete", None),
        Ending::Event(step) => (
            "event",
            Some(format!("train.stop ended it after step {step}")),
        ),
        Ending::Diverged(diverged) => {
            let sentence = format!("{diverged}; a lower learning rate may help");
            ("diverged", Some(sentence))
        }
        Ending::PriorFailed { error, .. } => ("failed", Some(error.to_string())),
    };
    Some(RunEnd { how, sentence })
}

/// The sink of a slice.
struct SliceSink<'a> {
    left: u64,
    /// The steps whose weights are kept.
    kept: Vec<u64>,
    states: &'a mut States,
    wants_state: bool,
    slice: Slice,
}

impl Sink for SliceSink<'_> {
    type Error = Infallible;

    fn record(&mut self, record: &Record) -> Result<(), Infallible> {
        self.slice.rows.extend_from_slice(record.row);
        Ok(())
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Infallible> {
        self.slice.snapshots.push(step);
        self.slice.weights.push(params.to_vec());
        Ok(())
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.wants_state |= self.kept.binary_search(&progress.step).is_ok();
        self.left -= 1;
        match self.left {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.wants_state
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Infallible> {
        self.wants_state = false;
        if self.kept.binary_search(&checkpoint.state.step).is_ok() {
            self.states.keep(checkpoint);
        }
        Ok(())
    }
}

/// States of a run to go on from, as many as fit.
#[derive(Clone, Debug, Default)]
struct States {
    by_step: BTreeMap<u64, Checkpoint>,
    /// Numbers that they hold together.
    numbers: usize,
}

/// The most numbers to keep: 256 MiB of them.
const MOST_NUMBERS: usize = 64 << 20;

impl States {
    fn keep(&mut self, checkpoint: &Checkpoint) {
        let size = |checkpoint: &Checkpoint| {
            let moments = checkpoint.state.moments.iter().map(Vec::len);
            checkpoint.state.params.len() + moments.sum::<usize>()
        };
        let step = checkpoint.state.step;
        if self.by_step.insert(step, checkpoint.clone()).is_none() {
            self.numbers += size(checkpoint);
        }
        // Every other state is nearly as good to go on from.
        while self.numbers > MOST_NUMBERS && self.by_step.len() > 2 {
            let mut at = 0_usize;
            self.by_step.retain(|_, _| {
                at += 1;
                at % 2 == 1
            });
            self.numbers = self.by_step.values().map(size).sum();
        }
    }

    /// The last state before a step.
    fn before(&self, step: u64) -> Option<(u64, Checkpoint)> {
        let (&at, state) = self.by_step.range(..step).next_back()?;
        Some((at, state.clone()))
    }

    fn until(&self, step: u64) -> Self {
        let mut kept = Self::default();
        for state in self.by_step.range(..=step).map(|(_, state)| state) {
            kept.keep(state);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use induct::run::Recorder;

    use super::*;
    use crate::recipes::{Change, changed};

    fn recipe(overrides: &[&str]) -> Recipe {
        let small = [
            "task.length=12",
            "train.steps=60",
            "train.batch=8",
            "record.every=5",
            "record.snapshots=7",
            "record.test_sequences=16",
        ];
        let all = small.iter().chain(overrides);
        let all: Vec<String> = all.map(|&text| text.to_owned()).collect();
        Recipe::from_toml("", &all).unwrap()
    }

    /// The bits of all records, since some numbers are missing; and all snapshots.
    type Whole = (Vec<u64>, Vec<(u64, Vec<f32>)>);

    /// Trains to the end in slices of so many steps.
    fn in_slices(training: &mut Training, slice: u64) -> Whole {
        let (mut rows, mut snapshots) = (Vec::new(), Vec::new());
        loop {
            let slice = training.advance(slice);
            rows.extend(slice.rows.iter().map(|number| number.to_bits()));
            snapshots.extend(slice.snapshots.into_iter().zip(slice.weights));
            if let Some(ended) = slice.ended {
                assert_eq!(ended.how, "complete");
                return (rows, snapshots);
            }
        }
    }

    /// The same in one piece.
    fn recorded(recipe: &Recipe) -> Whole {
        let instruments = Arc::new(Instruments::new(recipe).unwrap());
        let whole = Recorder::record(recipe, instruments).unwrap();
        let rows = whole.history.rows().flatten().map(|n| n.to_bits());
        (rows.collect(), whole.snapshots)
    }

    #[test]
    fn slices_of_any_size_give_the_same_run() {
        let recipe = recipe(&[]);
        let whole = recorded(&recipe);
        for slice in [1, 7, 20, 1000] {
            let mut training = Training::begin(&recipe).unwrap();
            assert_eq!(in_slices(&mut training, slice), whole, "{slice}");
        }
    }

    #[test]
    fn a_branch_is_the_run_of_its_own_recipe() {
        let main = recipe(&[]);
        let mut first = Training::begin(&main).unwrap();
        in_slices(&mut first, 9);
        let changes = [
            Change::Rate { lr: 1e-2 },
            Change::Prior {
                prior: "{kind=\"iid\"}".into(),
            },
            Change::Intervene {
                entries: vec!["kind=\"ablate\", at=\"layers.0.heads.0\"".into()],
            },
        ];
        for (change, step) in changes.iter().zip([30, 33, 0]) {
            let other = changed(&main, step, change).unwrap();
            let (mut branch, from) = first.branch(&other, step).unwrap();
            assert_eq!(from, if step == 0 { 0 } else { 10 * ((step - 1) / 10) });
            let shared = branch.run.history().len();
            let (rows, snapshots) = in_slices(&mut branch, 8);
            let (whole, mut kept) = recorded(&other);
            let width = branch.run.history().columns().len();
            assert_eq!(rows, whole[shared * width..], "{change:?}");
            kept.retain(|(at, _)| shared == 0 || *at > from);
            assert_eq!(snapshots, kept, "{change:?}");
        }
    }

    #[test]
    fn a_diverging_run_says_so() {
        let wild = recipe(&["train.optimizer={kind=\"sgd\", lr=1e30}"]);
        let mut training = Training::begin(&wild).unwrap();
        let slice = training.advance(100);
        let ended = slice.ended.unwrap();
        assert_eq!(ended.how, "diverged");
        assert!(ended.sentence.unwrap().contains("learning rate"));
    }
}
