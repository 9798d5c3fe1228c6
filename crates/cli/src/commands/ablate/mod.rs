//! `induct ablate`: what each head, MLP and path of a run's model is worth.

mod figure;
mod measure;
mod text;

use clap::{Args, ValueEnum};
use induct::model::Instead;
use induct_store::RunFolder;
use serde_json::{Value, json};

use self::measure::{Measured, Part};
use super::{Threads, not_a_number, numbers, print, print_json};
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::recorded::Recorded;
use crate::run_at::RunAt;
use crate::stored_model::StoredModels;

/// Measure what each head, MLP and path of a run's model is worth: how much worse it predicts without it
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run; the step of a snapshot may follow, as in runs/main@1500
    #[arg(value_name = "RUN[@STEP]")]
    run: String,
    /// Step of the snapshot to use; the last one if not given
    #[arg(long, value_name = "S", value_parser = numbers::whole, allow_negative_numbers = true)]
    step: Option<u64>,
    /// All snapshots, one after another: when each part starts to matter
    #[arg(long, conflicts_with = "step")]
    all_steps: bool,
    /// What is put in place of a part: zero, its mean over the sequences at each position, or what it is on another
    /// sequence
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = With::Zero)]
    with: With,
    /// Number of test sequences, drawn as `induct eval` draws them; a multiple of 8 for mean and resample
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = numbers::whole_within(2..=1_000_000))]
    sequences: u64,
    /// Write a picture (.svg, .png): sources and readers as a table; with --all-steps, curves over training
    #[arg(long, value_name = "FILE", value_parser = OutFile::picture)]
    out: Option<OutFile>,
    /// Print {"steps": […], "kl_truth": […], "parts": [{"part", "worth": […], "se": […], …}, …], …}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// What is put in place of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum With {
    /// Zero.
    Zero,
    /// The mean over sequences.
    Mean,
    /// That of another sequence.
    Resample,
}

impl With {
    fn instead(self) -> Instead {
        match self {
            With::Zero => Instead::Zero,
            With::Mean => Instead::Mean,
            With::Resample => Instead::Resampled,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = RunAt::parse(&arguments.run)?.or_step(arguments.step)?;
    if arguments.all_steps && run.step.is_some() {
        return Err(Failure::mistake(
            "--all-steps takes every snapshot: leave out the step after @",
        ));
    }
    let folder = RunFolder::open(&run.path)?;
    let steps: Vec<Option<u64>> = match arguments.all_steps {
        true => folder.snapshot_steps()?.into_iter().map(Some).collect(),
        false => vec![run.step],
    };
    let measured = arguments.threads.run(|| {
        let mut models = StoredModels::new(&folder, &[])?;
        let asked = measure::Asked {
            recipe: folder.recipe(),
            sequences: arguments.sequences,
            instead: arguments.with.instead(),
        };
        measure::measure(&asked, &steps, &mut models)
    })?;
    if let Some(at) = measured.whole.iter().position(|kl| !kl.mean.is_finite()) {
        return Err(not_a_number(folder.path(), measured.steps[at]));
    }
    if let Some(out) = &arguments.out {
        let figure = match arguments.all_steps {
            true => figure::over_training(&measured, &Recorded::open(&run.path)?),
            false => figure::sources_and_readers(&measured),
        };
        out.write_figure(&figure, 1000)?;
    }
    if arguments.json {
        return print_json(&in_json(arguments, &measured));
    }
    let title = text::title(&run.path.display().to_string(), arguments, &measured);
    let table = match arguments.all_steps {
        true => text::over_training(&measured),
        false => text::at_one_step(&measured),
    };
    print(&format!("{title}\n{table}"))?;
    match &arguments.out {
        Some(out) => print(&format!("\n{} is written\n", out.path().display())),
        None => Ok(()),
    }
}

fn in_json(arguments: &Arguments, measured: &Measured) -> Value {
    let part = |part: &Part| {
        let mean: Vec<Option<f64>> = part.worth.iter().map(|w| w.map(|w| w.mean)).collect();
        let se: Vec<Option<f64>> = part.worth.iter().map(|w| w.map(|w| w.se)).collect();
        json!({
            "part": part.name(),
            "source": part.source.to_string(),
            "reader": part.reader.map(|reader| reader.to_string()),
            "worth": mean,
            "se": se,
            "matters_from": part.matters_from(&measured.steps),
        })
    };
    json!({
        "with": arguments.with.to_possible_value().map(|value| value.get_name().to_owned()),
        "sequences": arguments.sequences,
        "steps": measured.steps,
        "kl_truth": measured.whole.iter().map(|kl| kl.mean).collect::<Vec<_>>(),
        "kl_truth_se": measured.whole.iter().map(|kl| kl.se).collect::<Vec<_>>(),
        "parts": measured.by_worth().into_iter().map(part).collect::<Vec<_>>(),
    })
}
