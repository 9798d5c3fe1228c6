//! `induct bench`: how long a step takes, and where the time goes.

use std::ops::Range;
use std::time::{Duration, Instant};

use clap::Args;
use induct::chain::{LANES, Sampler, TokenBlock};
use induct::model::Lane;
use induct::train::{Recipe, Trainer, batch_address};
use serde_json::{Value, json};

use super::{Threads, note, print, print_json};
use crate::failure::Failure;

/// Measure how long a training step takes at standard settings, and where the time goes
#[derive(Args)]
pub struct Arguments {
    /// One setting only
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Time spent on each setting, in seconds
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// Print {"settings": [{"name": "main", "ms_per_step": x, "threads": n, …}, …]}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// The standard settings, as overrides of the default recipe.
const SETTINGS: [(&str, &[&str]); 6] = [
    ("main", &[]),
    ("three-states", &["task.states=3"]),
    (
        "trigram",
        &[
            "task.ngram=3",
            "task.length=200",
            "model.width=48",
            "model.heads=3",
        ],
    ),
    (
        "many-states",
        &["task.states=10", "task.length=200", "model.width=32"],
    ),
    (
        "one-layer-mlp",
        &[
            "model.layers=1",
            "model.mlp=true",
            "model.positions=absolute",
        ],
    ),
    (
        "minimal",
        &[
            "model.kind=minimal",
            "train.optimizer={kind=\"sgd\", lr=2e-3}",
        ],
    ),
];

/// Steps in one stretch of timing: the fastest stretch is the least disturbed one.
const STRETCH: u32 = 20;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let chosen: Vec<_> = SETTINGS
        .iter()
        .filter(|(name, _)| arguments.only.as_deref().is_none_or(|only| only == *name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
        let only = arguments.only.as_deref().unwrap_or_default();
        let known = names.join(", ");
        return Err(Failure::mistake(format!(
            "--only {only}: no such setting; there are {known}"
        )));
    }
    let allowed = arguments.seconds > 0.0 && arguments.seconds <= 3600.0;
    if !allowed {
        return Err(Failure::mistake(format!(
            "--seconds {}: a number above 0, at most 3600",
            arguments.seconds
        )));
    }
    let budget = Duration::from_secs_f64(arguments.seconds);
    let mut measured = Vec::new();
    for (name, overrides) in chosen {
        note(&format!("{name} …"));
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let recipe = Recipe::from_toml("train.steps = 1000000000", &overrides)?;
        let timing = arguments
            .threads
            .run(|| Timing::of_steps(&recipe, budget))?;
        measured.push((
            *name,
            recipe.train.batch,
            timing,
            Split::of_a_block(&recipe, budget)?,
        ));
    }
    if arguments.json {
        let settings: Vec<Value> = measured
            .iter()
            .map(|(name, batch, timing, split)| {
                json!({
                    "name": name,
                    "ms_per_step": timing.median,
                    "ms_per_step_best": timing.best,
                    "steps_per_second": 1e3 / timing.median,
                    "sequences_per_second": 1e3 * *batch as f64 / timing.median,
                    "threads": timing.threads,
                    "share_of_block": {
                        "sampling": split.sampling,
                        "forward": split.forward,
                        "loss": split.loss,
                        "backward": split.backward,
                    },
                })
            })
            .collect();
        let peak = peak_memory_mib();
        return print_json(&json!({ "settings": settings, "peak_memory_mib": peak }));
    }
    let mut text = format!(
        "{:<14} {:>8} {:>8} {:>11} {:>8} {:>9} {:>8} {:>6} {:>9}\n",
        "setting",
        "ms/step",
        "best",
        "sequences/s",
        "threads",
        "sampling",
        "forward",
        "loss",
        "backward"
    );
    for (name, batch, timing, split) in &measured {
        text += &format!(
            "{name:<14} {:>8.3} {:>8.3} {:>11.0} {:>8} {:>8.0}% {:>7.0}% {:>5.0}% {:>8.0}%\n",
            timing.median,
            timing.best,
            1e3 * *batch as f64 / timing.median,
            timing.threads,
            100.0 * split.sampling,
            100.0 * split.forward,
            100.0 * split.loss,
            100.0 * split.backward,
        );
    }
    if let Some(peak) = peak_memory_mib() {
        text += &format!("\npeak memory {peak:.0} MiB\n");
    }
    print(&text)
}

/// Milliseconds a step, over stretches of [`STRETCH`] steps.
struct Timing {
    median: f64,
    best: f64,
    threads: usize,
}

impl Timing {
    fn of_steps(recipe: &Recipe, budget: Duration) -> Result<Self, Failure> {
        let mut trainer = Trainer::new(recipe)?;
        let mut stretches = Vec::new();
        let started = Instant::now();
        while started.elapsed() < budget || stretches.len() < 3 {
            let stretch = Instant::now();
            for _ in 0..STRETCH {
                trainer
                    .advance()
                    .map_err(|diverged| Failure::failed(diverged.to_string()))?;
            }
            stretches.push(1e3 * stretch.elapsed().as_secs_f64() / f64::from(STRETCH));
        }
        stretches.sort_by(f64::total_cmp);
        Ok(Self {
            median: stretches[stretches.len() / 2],
            best: stretches[0],
            threads: rayon::current_num_threads(),
        })
    }
}

/// Shares of the time that one block takes on one thread.
struct Split {
    sampling: f64,
    forward: f64,
    loss: f64,
    backward: f64,
}

impl Split {
    fn of_a_block(recipe: &Recipe, budget: Duration) -> Result<Self, Failure> {
        let (model, prior) = (recipe.model()?, recipe.prior()?);
        let prepared = model.prepare(&model.start(recipe.seeds.init));
        let (mut sampler, mut work) = (Sampler::new(&prior), model.work());
        let mut tokens = TokenBlock::new(recipe.task.length + 1);
        let mut grads = vec![Lane::ZERO; model.gradient_len()];
        let mut spent = [Duration::ZERO; 4];
        let started = Instant::now();
        let mut step = 0;
        while step < 3 || started.elapsed() < budget / 4 {
            let start = Instant::now();
            sampler.block(&prior, batch_address(recipe, step), 0, LANES, &mut tokens);
            let sampled = Instant::now();
            let (inputs, targets) = (&tokens.rows()[..recipe.task.length], &tokens.rows()[1..]);
            model.forward(&prepared, inputs, &mut work);
            let forwarded = Instant::now();
            let mut lost = Duration::ZERO;
            let mut loss = |rows: Range<usize>, logits: &[Lane], d_logits: &mut [Lane]| {
                let start = Instant::now();
                let targets = &targets[rows];
                recipe
                    .train
                    .loss
                    .evaluate(logits, targets, LANES, 1.0, d_logits);
                lost += start.elapsed();
            };
            model.gradient(&prepared, inputs, &mut work, &mut loss, &mut grads);
            let all = forwarded.elapsed();
            let forward = forwarded - sampled;
            for (total, part) in spent.iter_mut().zip([
                sampled - start,
                forward,
                lost,
                all.saturating_sub(forward + lost),
            ]) {
                *total += part;
            }
            step += 1;
        }
        let all: f64 = spent.iter().map(Duration::as_secs_f64).sum();
        let [sampling, forward, loss, backward] = spent.map(|part| part.as_secs_f64() / all);
        Ok(Self {
            sampling,
            forward,
            loss,
            backward,
        })
    }
}

/// The most memory this process has held, where the system tells.
fn peak_memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
