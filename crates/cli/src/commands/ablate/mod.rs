//! `induct ablate`: what each head, MLP and path of a run's model is worth.

mod figure;
mod measure;

use clap::{Args, ValueEnum};
use induct_store::RunFolder;
use serde::Serialize;

use self::measure::{CERTAIN, MATTERS, Part, Worths, by_worth};
use super::{not_a_number, numbers};
use crate::failure::Failure;
use crate::options::{Output, Snapshot, Threads};
use crate::recorded::RecordedRun;
use crate::stored_model::StoredModels;
use crate::table::Table;
use crate::words::{count, fixed};

/// Measure what each head, MLP and path of a run's model is worth: how much worse it predicts without it
///
/// Pictures show sources and readers as a table; with --all-steps, curves over training.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    snapshot: Snapshot,
    /// All snapshots, one after another: when each part starts to matter
    #[arg(long, conflicts_with = "step")]
    all_steps: bool,
    /// What is put in place of a part: zero, its mean over the sequences at each position, or what it is on
    /// another sequence
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = With::Zero)]
    with: With,
    /// Number of test sequences, drawn as `induct eval` draws them; a multiple of 8 for mean and resample
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = numbers::whole_within(2..=1_000_000))]
    sequences: u64,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    threads: Threads,
}

/// What is put in place of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum With {
    /// Zero.
    Zero,
    /// The mean over sequences.
    Mean,
    /// That of another sequence.
    Resample,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = arguments.snapshot.at()?;
    if arguments.all_steps && run.step.is_some() {
        return Err(Failure::usage(
            "--all-steps takes every snapshot: leave out the step after @",
        ));
    }
    let folder = RunFolder::open(&run.path)?;
    let steps: Vec<Option<u64>> = match arguments.all_steps {
        true => folder.snapshot_steps()?.into_iter().map(Some).collect(),
        false => vec![run.step],
    };
    let mut worths = Worths {
        run: run.path.display().to_string(),
        all_steps: arguments.all_steps,
        with: arguments.with,
        sequences: arguments.sequences,
        steps: Vec::new(),
        kl_truth: Vec::new(),
        kl_truth_se: Vec::new(),
        parts: Vec::new(),
    };
    arguments.threads.run(|| {
        let mut models = StoredModels::new(&folder, &[])?;
        worths.measure(folder.recipe(), &steps, &mut models)
    })?;
    if let Some(at) = worths.kl_truth.iter().position(|kl| !kl.is_finite()) {
        return Err(not_a_number(folder.path(), worths.steps[at]));
    }
    arguments.output.print(&worths, &worths.text(), || {
        let figure = match arguments.all_steps {
            true => figure::over_training(&worths, &RecordedRun::open(&run.path)?),
            false => figure::sources_and_readers(&worths),
        };
        Ok((figure, 1000))
    })
}

fn with_error(mean: f64, se: f64) -> String {
    format!("{} ± {}", fixed(mean, 5), fixed(se, 5))
}

fn worth(part: &Part, index: usize) -> String {
    let at = |values: &[Option<f64>]| values.get(index).copied().flatten();
    match (at(&part.worth), at(&part.se)) {
        (Some(mean), Some(se)) => with_error(mean, se),
        _ => "under an intervention".to_owned(),
    }
}

impl Worths {
    fn text(&self) -> String {
        let instead = match self.with {
            With::Zero => "at zero",
            With::Mean => "at its mean over the sequences",
            With::Resample => "as it is on another sequence",
        };
        let of = match self.steps[..] {
            [step] => format!(
                " after step {step}: KL(truth ‖ model) {} nats at the last position",
                with_error(self.kl_truth[0], self.kl_truth_se[0])
            ),
            _ => format!(", {}", count(self.steps.len(), "snapshot")),
        };
        let text = format!(
            "{}{of}\nworth: how much higher KL(truth ‖ model) is with that part {instead}; nats, ± one standard error, \
             on the same {} fresh sequences\n\n",
            self.run, self.sequences
        );
        let last = self.steps.len().saturating_sub(1);
        if !self.all_steps {
            let mut table = Table::new(["part", "worth"]);
            for part in by_worth(&self.parts) {
                table.row([part.part.clone(), worth(part, last)]);
            }
            return text + &table.text("");
        }
        let headings = [
            "part",
            "matters from",
            "largest worth",
            "at step",
            "at the end",
        ];
        let mut table = Table::new(headings);
        for part in by_worth(&self.parts) {
            let step = |step: Option<u64>| step.map_or("-".to_owned(), |step| step.to_string());
            let is_largest = |worth: &Option<f64>| *worth == Some(part.largest());
            let largest = part.worth.iter().position(is_largest);
            table.row([
                part.part.clone(),
                step(part.matters_from),
                worth(part, largest.unwrap_or(last)),
                step(largest.map(|index| self.steps[index])),
                worth(part, last),
            ]);
        }
        text + &table.text("")
            + &format!(
                "\nA part matters where its worth is at least {MATTERS} nats and {CERTAIN} standard errors.\n"
            )
    }
}
