//! What can be taken away from the page: files, as the command line writes them.

use induct_store::{RunFiles, RunFolder};
use serde::Deserialize;
use serde_json::{Value, json};
use tar::{Builder, Header};

use crate::problem::Problem;
use crate::shelf::LabRun;

/// A file to take.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "file", rename_all = "kebab-case")]
pub enum Take {
    Recipe,
    Metrics,
    /// The last snapshot that is not later than a step.
    Snapshot {
        step: u64,
    },
    /// The whole folder of a run that has ended, as an archive.
    Run,
}

impl Take {
    /// The name and media type of the file, and its bytes. Of a run that was trained elsewhere, they are the bytes that it came with.
    pub fn of(self, run: &LabRun) -> Result<(Value, Vec<u8>), Problem> {
        let mut files = run.files()?;
        let (name, media) = match self {
            Take::Recipe => ("recipe.toml".to_owned(), "application/toml"),
            Take::Metrics => ("metrics.csv".to_owned(), "text/csv"),
            Take::Snapshot { step } => (
                format!("snapshots/step-{:06}.safetensors", run.snapshot(step)?.0),
                "application/octet-stream",
            ),
            Take::Run => (format!("{}.tar", run.recipe.name), "application/x-tar"),
        };
        let bytes = match self {
            Take::Run => {
                let whole = RunFolder::of_files(&run.recipe.name, files.clone())?;
                if whole.recording()?.is_none() {
                    let sentence = "this run has not ended: let it train to its end";
                    return Err(Problem::new(sentence));
                }
                archive(&run.recipe.name, &files).map_err(Problem::new)?
            }
            _ => {
                let none = || Problem::new(format!("there is no {name}"));
                files.remove(&name).ok_or_else(none)?
            }
        };
        let name = name.trim_start_matches("snapshots/").to_owned();
        Ok((json!({ "name": name, "media": media }), bytes))
    }
}

/// The folder of a run as an archive. Nothing in it depends on when or by whom it is made.
fn archive(name: &str, files: &RunFiles) -> std::io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for (file, bytes) in files {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("{name}/{file}"), bytes.as_slice())?;
    }
    archive.into_inner()
}
