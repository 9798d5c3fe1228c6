//! `induct lab`: runs in a page, to look at in a browser.

mod base_page;
mod page_run;

use std::path::{Path, PathBuf};

use clap::Args;
use induct_lab_page::Run;
use serde_json::json;

use super::{note, numbers};
use crate::browser;
use crate::failure::Failure;
use crate::options::Json;
use crate::out_file::OutFile;
use crate::recorded::RecordedRun;
use crate::words::{bytes, count};
use base_page::BasePage;
use page_run::RunEntry;

/// Write a page for the browser with runs inside: go through their training, talk to the model, change it
#[derive(Args)]
pub struct Arguments {
    /// Folders of runs, of sweeps, or of several runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The file to write (.html). Without it: lab-NAME.html in this folder, with the name of RUN's folder;
    /// lab-runs.html for more than one RUN
    #[arg(long, value_name = "FILE", value_parser = OutFile::page)]
    out: Option<OutFile>,
    /// The page to put them into, which stays as it is: `./lab` in a clone of Induct makes it. Without it:
    /// lab.html in this folder, beside this program, or in the clone that this program was built in
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Keep at most N snapshots of each run, evenly spread, the last one always. Without it: 200, or as many
    /// as fit into 8 MB
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1_000_000))]
    snapshots: Option<u64>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    json: Json,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let base = BasePage::find(arguments.page.as_deref())?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => default_out(&arguments.runs),
    };
    base.check_stays(out.path())?;
    let (entries, runs): (Vec<RunEntry>, Vec<Run>) = gather(arguments)?.into_iter().unzip();
    note_left_out(&entries);
    let page = base.with(&runs)?;
    out.write(page.as_bytes())?;
    let (place, size) = (out.path().display().to_string(), page.len());
    let runs = count(runs.len(), "run");
    let text = format!("{place} is written: {runs}, {}\n", bytes(size as f64));
    let value = json!({ "page": place, "bytes": size, "runs": entries });
    arguments.json.print(&value, &text)?;
    if arguments.open {
        open(out.path());
    }
    Ok(())
}

/// The runs that were asked for. One that was named must be intact; one in a folder of others is left out with
/// a note if it is not.
fn gather(arguments: &Arguments) -> Result<Vec<(RunEntry, Run)>, Failure> {
    let mut all = Vec::new();
    for path in &arguments.runs {
        let mut last_why = None;
        let before = all.len();
        for run in RecordedRun::find(path)? {
            match page_run::read(&run, arguments.snapshots) {
                Ok(run) => all.push(run),
                Err(why) if run.folder.path() == path => return Err(why),
                Err(why) => {
                    note(&format!("left out: {why}"));
                    last_why = Some(why);
                }
            }
        }
        if let Some(why) = last_why
            && all.len() == before
        {
            return Err(why.while_at(&format!("{} holds no sound run", path.display())));
        }
    }
    Ok(all)
}

fn note_left_out(runs: &[RunEntry]) {
    let left_out: usize = runs.iter().map(|run| run.left_out).sum();
    if left_out > 0 {
        let all = runs.iter().map(|run| run.snapshots + run.left_out);
        let together: usize = all.clone().sum();
        let most = all.max().unwrap_or_default();
        note(&format!(
            "left out: {left_out} of {together} snapshots, so that those inside are evenly spread; --snapshots {most} \
             keeps all"
        ));
    }
}

/// Where the page goes if nobody says so: never to lab.html, which is the page without runs.
fn default_out(runs: &[PathBuf]) -> OutFile {
    let name = match runs {
        // `induct lab .` is called after the folder that it is in.
        [run] => run.file_name().map(ToOwned::to_owned).or_else(|| {
            let whole = run.canonicalize().ok()?;
            Some(whole.file_name()?.to_owned())
        }),
        _ => None,
    };
    let name = name.map_or("runs".into(), |name| name.to_string_lossy().into_owned());
    OutFile::page(&format!("lab-{name}.html")).expect("its ending is right")
}

fn open(page: &Path) {
    let whole = page.canonicalize().unwrap_or_else(|_| page.to_owned());
    if !browser::open(&whole) {
        note(&format!(
            "none of {} opens it: open {} in a browser",
            browser::OPENERS.join(", "),
            whole.display()
        ));
    }
}
