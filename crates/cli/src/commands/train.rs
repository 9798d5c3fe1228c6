//! `induct train`: a run from its recipe to its folder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use induct::probe::Instruments;
use induct::train::{Recipe, Trainer};

use super::{Threads, note, print};
use crate::failure::Failure;
use crate::recipes;
use crate::run_folder::{Ending, RunFolder};
use crate::training::{Progress, Training, check_same};

/// Train a model and keep what is measured on the way
#[derive(Args)]
pub struct Arguments {
    /// A recipe's file, or the name of a preset (see `induct presets`)
    recipe: String,
    /// Override one key of the recipe, such as train.steps=100; may be given many times. The value is TOML, or a
    /// plain word such as absolute
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Folder of the run; runs/NAME if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with an interrupted run in the same folder
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let recipe = recipes::load(&arguments.recipe, &arguments.set)?;
    let out = out_folder(arguments, &recipe);
    let mut earlier = None;
    if arguments.resume {
        earlier = RunFolder::reopen(&out)?;
        match &earlier {
            Some(folder) => check_same(folder, &recipe)?,
            None => note(&format!(
                "nothing to resume in {}: starting anew",
                out.display()
            )),
        }
    }
    match earlier.as_ref().and_then(RunFolder::ending) {
        None => {}
        Some(Ending::Complete) => {
            return print(&format!(
                "{} is complete; see `induct show`\n",
                out.display()
            ));
        }
        Some(Ending::Diverged(step)) => {
            return Err(Failure::failed(format!(
                "{} has ended: its loss became no number at step {step}",
                out.display()
            )));
        }
    }
    arguments.threads.run(|| {
        // Whatever may be refused or not fit into memory comes before the folder.
        let trainer = Trainer::new(&recipe)?;
        let instruments = Instruments::new(&recipe)?;
        let folder = match earlier {
            Some(folder) => folder,
            None => RunFolder::create(&out, &recipe)?,
        };
        let mut training = Training::start(folder, trainer, instruments)?;
        let bar = Bar::new(recipe.train.steps, training.trainer().step());
        let result = training.run(|progress| bar.show(progress));
        bar.finish();
        result?;
        print(&format!(
            "{}`induct show {}` tells the story\n",
            training.report(),
            out.display()
        ))
    })
}

/// Where the run goes: `--out`, or runs/NAME; to resume a run by its own recipe.toml, the folder of that.
fn out_folder(arguments: &Arguments, recipe: &Recipe) -> PathBuf {
    let source = Path::new(&arguments.recipe);
    let own_recipe = source.file_name().is_some_and(|name| name == "recipe.toml");
    match (&arguments.out, source.parent()) {
        (Some(out), _) => out.clone(),
        (None, Some(folder)) if arguments.resume && own_recipe => Path::new(".").join(folder),
        _ => Path::new("runs").join(&recipe.name),
    }
}

/// A bar on a terminal; a line now and then elsewhere.
struct Bar {
    bar: ProgressBar,
    steps: u64,
    first: u64,
    started: Instant,
}

impl Bar {
    fn new(steps: u64, first: u64) -> Self {
        let template = "{bar:30} {pos}/{len} steps, {msg}, {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        let bar = ProgressBar::new(steps)
            .with_style(style)
            .with_position(first);
        bar.reset_eta();
        Self {
            bar,
            steps,
            first,
            started: Instant::now(),
        }
    }

    fn show(&self, progress: &Progress) {
        let (step, loss) = (progress.step, progress.loss.unwrap_or(f64::NAN));
        let near = progress
            .nearest
            .map_or(String::new(), |strategy| format!(", near {strategy}"));
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("loss {loss:.3}{near}"));
            self.bar.set_position(step);
        } else if step.is_multiple_of((self.steps / 10).max(1)) {
            let pace = self.started.elapsed().as_secs_f64() / (step - self.first) as f64;
            let left = pace * (self.steps - step) as f64;
            note(&format!(
                "{step}/{} steps, loss {loss:.3}{near}, {left:.0} s left",
                self.steps
            ));
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
