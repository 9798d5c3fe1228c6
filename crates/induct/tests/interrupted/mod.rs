//! Whole runs, and runs that are interrupted and resumed.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use induct::probe::{History, Instruments};
use induct::recipe::Recipe;
use induct::run::{Checkpoint, Ending, Progress, Record, Recorder, Run, Sink, Summary};
use induct::train::no_snapshots;

/// A recipe by two lists of overrides.
pub fn recipe(small: &[&str], overrides: &[&str]) -> Recipe {
    let all = small.iter().chain(overrides).map(|&text| text.to_owned());
    Recipe::from_toml("", &all.collect::<Vec<_>>()).unwrap()
}

/// Steps and weights.
pub type Snapshots = Vec<(u64, Vec<f32>)>;

/// A whole run on some threads.
pub fn recorded(recipe: &Recipe, threads: usize) -> (History, Summary, Snapshots) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(|| {
        let instruments = Arc::new(Instruments::new(recipe).unwrap());
        let run = Recorder::record(recipe, instruments).unwrap();
        (run.history, run.summary, run.snapshots)
    })
}

/// Stops a run at some step, and keeps what it would resume from.
#[derive(Default)]
struct Interrupt {
    at: u64,
    checkpoint: Option<Checkpoint>,
    snapshots: Vec<(u64, Vec<f32>)>,
}

impl Sink for Interrupt {
    type Error = Infallible;

    fn record(&mut self, _: &Record) -> Result<(), Infallible> {
        Ok(())
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Infallible> {
        self.snapshots.push((step, params.to_vec()));
        Ok(())
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        match progress.step == self.at {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Infallible> {
        self.checkpoint = Some(checkpoint.clone());
        Ok(())
    }
}

/// What a run left that was interrupted and resumed.
pub struct End {
    pub ending: Ending,
    pub history: History,
    pub snapshots: Snapshots,
}

/// Stops a run at a step, and resumes it: how its first session ended, and what is there at the end.
pub fn interrupted(recipe: &Recipe, instruments: &Arc<Instruments>, at: u64) -> (Ending, End) {
    let mut first = Run::new(recipe, Arc::clone(instruments)).unwrap();
    let mut sink = Interrupt {
        at,
        ..Interrupt::default()
    };
    let Ok(stopped) = first.drive(&mut sink);
    let (checkpoint, records) = (sink.checkpoint.take().unwrap(), first.history().clone());
    let instruments = Arc::clone(instruments);
    let second = Run::resumed(recipe, instruments, checkpoint, records, &no_snapshots);
    let mut second = second.unwrap();
    let Ok(ending) = second.drive(&mut sink);
    let end = End {
        ending,
        history: second.history().clone(),
        snapshots: sink.snapshots,
    };
    (stopped, end)
}
