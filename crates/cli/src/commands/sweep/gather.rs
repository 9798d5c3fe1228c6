//! `induct sweep gather`: one table of all results.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use induct_sweep::{RESULTS, Sweep, SweepResults};
use serde_json::json;

use crate::commands::note;
use crate::failure::Failure;
use crate::options::Json;
use crate::out_file::OutFile;
use crate::words::count;

/// Make one table of a sweep's results, as Parquet or CSV: a row per run
#[derive(Args)]
pub struct Arguments {
    /// Folder of the sweep, which may still be at work
    sweep: PathBuf,
    /// File to write, which ends in .parquet or .csv; results.parquet in the sweep's folder if not given
    #[arg(long, value_name = "FILE", value_parser = OutFile::table)]
    out: Option<OutFile>,
    /// Add how long each run took; without it, the same runs at the same level give the same bytes
    #[arg(long)]
    timings: bool,
    #[command(flatten)]
    json: Json,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let (gathered, out) = match &arguments.out {
        None => (
            write(&sweep, arguments.timings)?,
            sweep.path().join(RESULTS),
        ),
        Some(out) => {
            let gathered = sweep.gather(arguments.timings)?;
            remark(&sweep, &gathered);
            out.write(&match out.is_csv() {
                true => gathered.table.to_csv(),
                false => gathered.table.to_parquet(),
            })?;
            (gathered, out.path().to_owned())
        }
    };
    let runs = gathered.runs.len();
    let value = json!({
        "out": out.to_string_lossy(),
        "runs": runs,
        "missing": gathered.missing,
        "levels": gathered.levels,
    });
    let text = format!("{} in {}\n", count(runs, "run"), out.display());
    arguments.json.print(&value, &text)
}

/// Says what is missing, mixed or damaged.
pub fn remark(sweep: &Sweep, gathered: &SweepResults) {
    for remark in &gathered.remarks {
        note(remark);
    }
    if gathered.missing > 0 {
        note(&format!(
            "{} of {} without a result so far",
            gathered.missing,
            count(sweep.plan.runs().len(), "run")
        ));
    }
    if let Some(mixture) = mixture(&gathered.levels) {
        note(&format!(
            "{mixture}; plan with --level for the same bytes everywhere"
        ));
    }
}

/// Says at which levels results were computed, if there are several.
pub fn mixture(levels: &BTreeMap<String, u64>) -> Option<String> {
    let shown = levels
        .iter()
        .map(|(level, runs)| format!("{runs} at {level}"));
    let shown: Vec<String> = shown.collect();
    (shown.len() > 1).then(|| format!("computed at different levels: {}", shown.join(", ")))
}

/// Gathers everything into the sweep's folder.
pub fn write(sweep: &Sweep, timings: bool) -> Result<SweepResults, Failure> {
    let gathered = sweep.gather(timings)?;
    remark(sweep, &gathered);
    sweep
        .claim()?
        .write(RESULTS, &gathered.table.to_parquet())?;
    Ok(gathered)
}
