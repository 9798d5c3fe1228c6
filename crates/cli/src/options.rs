//! Options that several commands share.

use clap::Args;
use induct_figure::Figure;
use serde::Serialize;

use crate::commands::{in_json, numbers, print};
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::run_at::RunAt;

/// The option of commands that compute in parallel.
#[derive(Args)]
pub struct Threads {
    /// Number of threads; all cores if not given. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1024))]
    threads: Option<u64>,
}

impl Threads {
    /// Does `work` in a thread pool of this size.
    pub fn run<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.map_or(0, |threads| threads as usize))
            .build()
            .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?
            .install(work)
    }
}

/// The option of commands that read a recipe.
#[derive(Args)]
pub struct Overrides {
    /// Override one key of the recipe, such as train.steps=100; may be repeated. The value is TOML, or a
    /// plain word such as absolute
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    pub set: Vec<String>,
}

/// The option of commands that look at a trained model.
#[derive(Args)]
pub struct Interventions {
    /// Look at it under other interventions than those in force at that step; may be repeated. Written as for
    /// `induct train`, such as 'kind="clamp", at="layers.0", pattern="previous-token"' (see
    /// docs/interventions.md)
    #[arg(long, value_name = "KEY=VALUE, …")]
    pub intervene: Vec<String>,
}

/// The run that a command looks at, and its snapshot.
#[derive(Args)]
pub struct Snapshot {
    /// Folder of the run; the step of a snapshot may follow, as in runs/main@1500
    #[arg(value_name = "RUN[@STEP]")]
    run: String,
    /// Step of the snapshot to use; the last one if not given
    #[arg(long, value_name = "S", value_parser = numbers::whole, allow_negative_numbers = true)]
    step: Option<u64>,
}

impl Snapshot {
    pub fn at(&self) -> Result<RunAt, Failure> {
        RunAt::parse(&self.run)?.or_step(self.step)
    }
}

/// The option of commands that report something.
#[derive(Args)]
pub struct Json {
    /// Print JSON rather than text; docs/files.md describes it
    #[arg(long)]
    json: bool,
}

impl Json {
    /// Prints a value as JSON, which docs/files.md describes, or as the text that says the same.
    pub fn print(&self, value: &impl Serialize, text: &str) -> Result<(), Failure> {
        match self.json {
            true => print(&in_json(value)),
            false => print(text),
        }
    }
}

/// The options of commands that also draw what they report.
#[derive(Args)]
pub struct Output {
    /// Write a picture as well (.svg, .png)
    #[arg(long, value_name = "FILE", value_parser = OutFile::picture)]
    out: Option<OutFile>,
    #[command(flatten)]
    json: Json,
}

impl Output {
    /// Prints a value or its text. If a picture was asked for, writes it first: what `draw` gives, and its width.
    pub fn print(
        &self,
        value: &impl Serialize,
        text: &str,
        draw: impl FnOnce() -> Result<(Figure, u32), Failure>,
    ) -> Result<(), Failure> {
        let Some(out) = &self.out else {
            return self.json.print(value, text);
        };
        let (figure, width) = draw()?;
        out.write_figure(&figure, width)?;
        self.json.print(value, text)?;
        match self.json.json {
            true => Ok(()),
            false => print(&format!("\n{} is written\n", out.path().display())),
        }
    }
}
