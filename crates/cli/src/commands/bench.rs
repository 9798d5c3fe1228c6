//! `induct bench`: how long a step takes, where the time goes, and how cost grows with size.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Args;
use induct::internal::{StepPart, multiply_at_peak};
use induct::lanes::{LANES, instructions};
use induct::probe::Instruments;
use induct::recipe::Recipe;
use induct::task::TokenBlock;
use induct::train::{Trainer, samples};
use serde_json::{Value, json};

use super::{engines, note, numbers};
use crate::failure::Failure;
use crate::options::{Json, Threads};
use crate::recipes;
use crate::table::Table;

/// Time a training step at standard settings: where the time goes, and how cost grows with size
#[derive(Args)]
pub struct Arguments {
    /// Time this setting only: any of the catalogue (see `induct presets --all`), or `growth` for the growth
    /// tables
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Override one key of that setting's recipe, such as model.layer_norm=true; may be repeated
    #[arg(long, value_name = "KEY.PATH=VALUE", requires = "only")]
    set: Vec<String>,
    /// Time nothing; print which engines and kernels there are, when each is used, and which compute each
    /// setting; with --only (and --set), which compute that model, and why
    #[arg(long)]
    engines: bool,
    /// Seconds to spend on each setting; each point of growth gets a sixth of it
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = numbers::number)]
    seconds: f64,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    threads: Threads,
}

/// The settings that are timed, by their names in the catalogue.
const SETTINGS: [&str; 13] = [
    "main",
    "three-states",
    "trigram-wide",
    "many-states",
    "one-layer-mlp",
    "minimal",
    "relative-query",
    "layer-norm",
    "layer-norm-relative-query",
    "layer-norm-mlp",
    "ten-states-mlp",
    "released-tables",
    "released",
];

/// What grows, starting from the main setting: a letter, its key and the values.
const GROWTH: [(&str, &str, &[usize]); 6] = [
    ("t", "task.length", &[100, 200, 400, 800, 1600]),
    ("k", "task.states", &[2, 4, 8, 16, 32]),
    ("d", "model.width", &[16, 32, 64, 128]),
    ("batch", "train.batch", &[16, 64, 256, 1024]),
    ("layers", "model.layers", &[1, 2, 3, 4]),
    ("heads", "model.heads", &[1, 2, 4, 8]),
];

const GROWTH_NAME: &str = "growth";

/// Length of one stretch of timing. The fastest stretch is the least disturbed one.
const STRETCH: Duration = Duration::from_millis(10);

/// Steps after which weights are timed again: induction heads have formed, and some kernels depend on weights.
const TRAINED: u64 = 2000;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let only = arguments.only.as_deref();
    if arguments.engines {
        return match only {
            None => engines::run(&arguments.json),
            Some(only) => engines::run_for(only, &arguments.set, &arguments.json),
        };
    }
    if only == Some(GROWTH_NAME) && !arguments.set.is_empty() {
        return Err(Failure::usage(format!(
            "--set changes one setting, and --only {GROWTH_NAME} times a series: name a setting with --only"
        )));
    }
    let names: Vec<&'static str> = match only {
        None => SETTINGS.to_vec(),
        Some(GROWTH_NAME) => Vec::new(),
        Some(only) => {
            let unknown = || {
                Failure::usage(format!(
                    "--only {only}: no such setting; choose one of {}, {GROWTH_NAME}, \
                     or any setting that `induct presets --all` lists",
                    SETTINGS.join(", ")
                ))
            };
            let setting = induct::catalogue::Setting::named(only).ok_or_else(unknown)?;
            vec![setting.name]
        }
    };
    let allowed = arguments.seconds > 0.0 && arguments.seconds <= 3600.0;
    if !allowed {
        return Err(Failure::usage(format!(
            "--seconds {} is not allowed: give a number above 0 and at most 3600",
            arguments.seconds
        )));
    }
    let budget = Duration::from_secs_f64(arguments.seconds);
    let grows = only.is_none_or(|only| only == GROWTH_NAME);
    let peak = peak_multiplications();
    let mut settings = Vec::new();
    for name in names {
        note(&format!("{name} …"));
        let recipe = recipe(name, &arguments.set)?;
        let (timing, trained) = arguments.threads.run(|| time(&recipe, budget))?;
        settings.push(Setting {
            name,
            batch: recipe.train.batch,
            timing,
            trained,
            split: Split::of_a_step(&recipe, budget / 2)?,
            multiplications: recipe.model()?.multiplications(),
        });
    }
    let mut growth = Vec::new();
    for (letter, key, values) in GROWTH.iter().filter(|_| grows) {
        note(&format!("growth with {letter} …"));
        for value in *values {
            let recipe = recipe("main", &[format!("{key}={value}")])?;
            let measure = || Timing::here(&mut Trainer::new(&recipe)?, budget / 6);
            growth.push(Point {
                letter,
                value: *value,
                timing: arguments.threads.run(measure)?,
                peak_memory_mib: peak_memory_mib(),
            });
        }
    }
    let value = json!({
        "settings": settings.iter().map(|setting| setting.json(peak)).collect::<Vec<_>>(),
        "growth": growth.iter().map(Point::json).collect::<Vec<_>>(),
        "peak_gflops_per_core": 2e-9 * peak,
        "instructions": instructions(),
        "peak_memory_mib": peak_memory_mib(),
    });
    let mut text = String::new();
    if !settings.is_empty() {
        text += &table(&settings, peak);
    }
    if !growth.is_empty() {
        text += &growth_table(&growth);
    }
    if let Some(memory) = peak_memory_mib() {
        text += &format!("\npeak memory of this process: {memory:.0} MiB\n");
    }
    arguments.json.print(&value, &text)
}

fn recipe(name: &str, overrides: &[String]) -> Result<Recipe, Failure> {
    let endless = ["train.steps=1000000000", "record.every=1000000000"];
    let mut all = overrides.to_vec();
    all.extend(endless.map(str::to_owned));
    recipes::load(name, &all)
}

struct Setting {
    name: &'static str,
    batch: usize,
    timing: Timing,
    /// At weights after [`TRAINED`] steps, if they took no longer than was to be spent.
    trained: Option<Timing>,
    split: Split,
    /// Multiplications per sequence.
    multiplications: f64,
}

impl Setting {
    fn sequences_per_second(&self) -> f64 {
        1e3 * self.batch as f64 / self.timing.median
    }

    /// Multiplications per second, as a fraction of the peak of the threads in use.
    fn share_of_peak(&self, peak: f64) -> f64 {
        let done = self.multiplications * self.sequences_per_second();
        done / (peak * self.timing.threads as f64)
    }

    fn json(&self, peak: f64) -> Value {
        json!({
            "name": self.name,
            "ms_per_step": self.timing.median,
            "ms_per_step_best": self.timing.best,
            "ms_per_step_trained": self.trained.as_ref().map(|trained| trained.median),
            "steps_per_second": 1e3 / self.timing.median,
            "sequences_per_second": self.sequences_per_second(),
            "threads": self.timing.threads,
            "share_of_peak": self.share_of_peak(peak),
            "share_of_step": Value::from_iter(Split::NAMES.into_iter().zip(self.split.shares())),
            "ms_per_record_one_thread": 1e3 * self.split.record.as_secs_f64(),
        })
    }
}

fn table(settings: &[Setting], peak: f64) -> String {
    let headings = [
        "setting",
        "ms/step",
        "best",
        "trained",
        "steps/s",
        "sequences/s",
        "of peak",
    ];
    let headings = headings.into_iter().chain(Split::NAMES).chain(["record"]);
    let mut table = Table::new(headings);
    let percent = |fraction: f64| format!("{:.0}%", 100.0 * fraction);
    for setting in settings {
        let mut cells = vec![
            setting.name.to_owned(),
            format!("{:.3}", setting.timing.median),
            format!("{:.3}", setting.timing.best),
            match &setting.trained {
                Some(trained) => format!("{:.3}", trained.median),
                None => "–".to_owned(),
            },
            format!("{:.0}", 1e3 / setting.timing.median),
            format!("{:.0}", setting.sequences_per_second()),
            percent(setting.share_of_peak(peak)),
        ];
        cells.extend(setting.split.shares().map(percent));
        cells.push(format!(
            "{:.1} ms",
            1e3 * setting.split.record.as_secs_f64()
        ));
        table.row(cells);
    }
    format!(
        "{} threads, {} instructions; measured peak {:.0} GFLOP/s per core\n\n{}\n\
         Times are at initial weights; `trained` is the time per step after {TRAINED} steps, where they do not take \
         too long.\nPercentages are shares of a step on one thread. A record measures the model on all test \
         sets, also on one thread.\n",
        settings[0].timing.threads,
        instructions(),
        2e-9 * peak,
        table.text("")
    )
}

struct Point {
    letter: &'static str,
    value: usize,
    timing: Timing,
    peak_memory_mib: Option<f64>,
}

impl Point {
    fn json(&self) -> Value {
        json!({
            "of": self.letter,
            "value": self.value,
            "ms_per_step": self.timing.median,
            "ms_per_step_best": self.timing.best,
            "peak_memory_mib": self.peak_memory_mib,
        })
    }
}

fn growth_table(points: &[Point]) -> String {
    let mut table = Table::default();
    for group in points.chunk_by(|a, b| a.letter == b.letter) {
        let points = group.iter();
        let points = points.map(|point| format!("{}: {:.3}", point.value, point.timing.median));
        table.row([group[0].letter.to_owned()].into_iter().chain(points));
    }
    format!(
        "\nGrowth from the main setting (k = 2, t = 100, d = 16, 2 layers, 1 head, batch 64), ms/step\n{}",
        table.text("  ")
    )
}

/// Milliseconds per step, over stretches of about [`STRETCH`].
struct Timing {
    median: f64,
    best: f64,
    threads: usize,
}

impl Timing {
    /// Times steps from where the trainer is: every stretch begins there, because a step may depend on the weights.
    fn here(trainer: &mut Trainer, budget: Duration) -> Result<Self, Failure> {
        let state = trainer.state();
        advance(trainer, 1)?;
        let step = advance(trainer, 1)?;
        let steps = (STRETCH.as_secs_f64() / step.as_secs_f64()).clamp(1.0, 100.0) as u32;
        let mut stretches = Vec::new();
        let started = Instant::now();
        while started.elapsed() < budget || stretches.len() < 3 {
            trainer.restore(state.clone());
            stretches.push(1e3 * advance(trainer, steps)?.as_secs_f64() / f64::from(steps));
        }
        stretches.sort_by(f64::total_cmp);
        Ok(Self {
            median: stretches[stretches.len() / 2],
            best: stretches[0],
            threads: rayon::current_num_threads(),
        })
    }
}

/// Times steps at initial weights and after [`TRAINED`] steps, if these take at most half of the budget.
fn time(recipe: &Recipe, budget: Duration) -> Result<(Timing, Option<Timing>), Failure> {
    let mut trainer = Trainer::new(recipe)?;
    let timing = Timing::here(&mut trainer, budget / 2)?;
    let started = Instant::now();
    while trainer.step() < TRAINED {
        if started.elapsed() > budget / 2 {
            return Ok((timing, None));
        }
        advance(&mut trainer, 1)?;
    }
    let trained = Timing::here(&mut trainer, budget / 4)?;
    Ok((timing, Some(trained)))
}

/// Trains for some steps, and returns how long they took.
fn advance(trainer: &mut Trainer, steps: u32) -> Result<Duration, Failure> {
    let started = Instant::now();
    for _ in 0..steps {
        trainer
            .advance()
            .map_err(|diverged| Failure::failed(diverged.to_string()))?;
    }
    Ok(started.elapsed())
}

/// Where the time of a step goes, and how long a record takes, both on one thread.
struct Split {
    /// Time per part, in the order of [`Split::NAMES`].
    parts: [Duration; 5],
    record: Duration,
}

impl Split {
    const NAMES: [&str; 5] = ["sampling", "forward", "loss", "backward", "optimiser"];

    fn shares(&self) -> [f64; 5] {
        let all: Duration = self.parts.iter().sum();
        self.parts
            .map(|part| part.as_secs_f64() / all.as_secs_f64())
    }

    fn of_a_step(recipe: &Recipe, budget: Duration) -> Result<Self, Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool =
            pool.map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))?;
        pool.install(|| Self::on_this_thread(recipe, budget))
    }

    fn on_this_thread(recipe: &Recipe, budget: Duration) -> Result<Self, Failure> {
        let mut trainer = Trainer::new(recipe)?;
        let blocks = first_batch(recipe)?;
        let clock = Mutex::new(Clock {
            last: Instant::now(),
            parts: [Duration::ZERO; 5],
        });
        let lap = |part: usize| {
            let clock = &mut *clock.lock().expect("one thread");
            let now = Instant::now();
            clock.parts[part] += now - clock.last;
            clock.last = now;
        };
        let started = Instant::now();
        while trainer.step() < 2 || started.elapsed() < budget {
            let evaluator = trainer.model().evaluator(trainer.params());
            let evaluator = evaluator.map_err(|error| Failure::failed(error.to_string()))?;
            clock.lock().expect("one thread").last = Instant::now();
            for block in &blocks {
                let inputs = &block.rows()[..recipe.task.length];
                evaluator.forward(inputs, 0, &mut |_| {});
            }
            lap(1);
            let observe = |part: StepPart| {
                lap(match part {
                    StepPart::Draw => 0,
                    StepPart::Loss => 2,
                    StepPart::Gradient => 3,
                    StepPart::Update => 4,
                });
            };
            (trainer.advance_observed(false, &observe))
                .map_err(|error| Failure::failed(error.to_string()))?;
        }
        let instruments = Instruments::new(recipe)?;
        let start = Instant::now();
        instruments.measure(trainer.model(), trainer.params(), trainer.step(), None);
        let record = start.elapsed();
        let mut parts = clock.into_inner().expect("one thread").parts;
        // The gradient includes a forward pass.
        parts[3] = parts[3].saturating_sub(parts[1]);
        Ok(Self { parts, record })
    }
}

/// When the last part of a step was done, and how long each has taken.
struct Clock {
    last: Instant,
    parts: [Duration; 5],
}

/// The blocks of the first batch of a recipe.
fn first_batch(recipe: &Recipe) -> Result<Vec<TokenBlock>, Failure> {
    let stages = recipe.stages()?;
    let drawn: Result<Vec<_>, _> = samples(recipe, &stages, 0).collect();
    let drawn = drawn.map_err(|error| Failure::failed(error.to_string()))?;
    let blocks = drawn.chunks(LANES).map(|eight| {
        let eight: Vec<&[u8]> = eight.iter().map(|one| &one.tokens[..]).collect();
        TokenBlock::from_sequences(&eight)
    });
    Ok(blocks.collect())
}

/// Peak multiplications per second of one core, each with an addition: the best of a few tries.
fn peak_multiplications() -> f64 {
    let tries = (0..10).map(|_| {
        let started = Instant::now();
        let done = multiply_at_peak();
        done as f64 / started.elapsed().as_secs_f64()
    });
    tries.fold(0.0, f64::max)
}

/// The peak memory of this process, where the system tells.
fn peak_memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
