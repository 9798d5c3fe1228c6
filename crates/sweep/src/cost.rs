//! What a sweep takes: seconds, measured at a few points before it begins, and bytes on disk.

use std::time::{Duration, Instant};

use induct::probe::{Instruments, columns};
use induct::recipe::Recipe;
use induct::train::Trainer;

use crate::error::SweepError;
use crate::plan::{Grid, Plan};
use crate::study::Keep;

/// The most points of a grid that are measured.
const MEASURED: usize = 5;

/// How long the steps of one recipe are measured.
const LONG_ENOUGH: Duration = Duration::from_millis(100);

/// Seconds that a run of a grid takes on one thread: the mean over points that are evenly spread, the first and the
/// last among them.
pub(crate) fn seconds_per_run(base: &str, grid: &Grid) -> Result<f64, SweepError> {
    let points = grid.points.len();
    let wanted = points.min(MEASURED);
    let mut sum = 0.0;
    for step in 0..wanted {
        let point = step * (points - 1) / (wanted - 1).max(1);
        let recipe = grid.recipe(base, point, grid.seeds.first)?;
        sum += seconds(&recipe, grid.seeds.count)?;
    }
    Ok(sum / wanted as f64)
}

/// Measures how long a run takes on one thread. Its instruments are shared by `seeds` runs.
fn seconds(recipe: &Recipe, seeds: u64) -> Result<f64, SweepError> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = one.map_err(|error| SweepError::Failed(format!("cannot start threads: {error}")))?;
    pool.install(|| {
        let refuse = |error: &dyn std::fmt::Display| SweepError::usage(error.to_string());
        let started = Instant::now();
        let instruments = Instruments::new(recipe).map_err(|error| refuse(&error))?;
        let shared = started.elapsed().as_secs_f64() / seeds as f64;
        // Weights of snapshots are read from files, which takes no time worth measuring.
        let snapshots = induct_store::snapshot_weights;
        let started = Instant::now();
        let mut trainer =
            Trainer::with_snapshots(recipe, &snapshots).map_err(|error| refuse(&error))?;
        let setup = started.elapsed().as_secs_f64();
        let mut times = Vec::new();
        let begun = Instant::now();
        for step in 0..recipe.train.steps.min(200) {
            let started = Instant::now();
            // A run that cannot be trained from its first steps ends there.
            if trainer.advance().is_err() {
                break;
            }
            // The first step warms caches.
            if step > 0 || recipe.train.steps == 1 {
                times.push(started.elapsed().as_secs_f64());
            }
            if begun.elapsed() > LONG_ENOUGH && times.len() >= 3 {
                break;
            }
        }
        let (params, model) = (trainer.params().to_vec(), trainer.model().clone());
        let measure = || {
            let started = Instant::now();
            std::hint::black_box(instruments.measure(&model, &params, 0, None));
            started.elapsed().as_secs_f64()
        };
        let record = measure().min(measure());
        let step = match times.is_empty() {
            true => 0.0,
            false => induct::internal::median(&times),
        };
        let records = recipe.record.record_count(recipe.train.steps) as f64;
        Ok(shared + setup + step * recipe.train.steps as f64 + record * records)
    })
}

/// Bytes on disk that a plan's runs take, roughly: their rows, and the folders of those kept whole.
pub fn disk(plan: &Plan) -> Result<f64, SweepError> {
    let recipe = plan.recipe(&plan.runs()[0])?;
    let records = recipe.record.record_count(recipe.train.steps) as f64;
    let kept = &plan.kept;
    let cells = 8 + kept.last.len() + kept.strategies.len();
    let points = match kept.curves.len() {
        0 => 0.0,
        curves => (1 + curves) as f64 * records,
    };
    // About 30 characters with its name in a journal, and 8 bytes in the gathered table.
    let row = 38.0 * cells as f64 + 28.0 * points;
    let whole = match kept.runs {
        Keep::None => 0.0,
        Keep::All => plan.runs().len() as f64,
        Keep::First => plan.points() as f64,
    };
    let refuse = |error: induct::Invalid| SweepError::usage(error.to_string());
    let width = columns(&recipe).map_err(refuse)?.len() as f64;
    let parameters = recipe.model().map_err(refuse)?.layout().len() as f64;
    let snapshots = recipe.record.snapshot_steps(recipe.train.steps).len() as f64;
    // A number takes about 12 characters in metrics.csv; the checkpoint has two moments.
    let folder = 12.0 * width * records + 4.0 * parameters * (snapshots + 3.0) + 8_000.0;
    Ok(row * plan.runs().len() as f64 + folder * whole)
}
