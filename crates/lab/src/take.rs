//! What can be taken away from the page: files, as the command line writes them.

use induct_store::RunFiles;
use serde::{Deserialize, Serialize};
use tar::{Builder, Header};

use crate::problem::Problem;
use crate::shelf::Shelved;

/// A file to take.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "file", rename_all = "kebab-case")]
pub enum Take {
    /// `recipe.toml`.
    Recipe,
    /// `metrics.csv`.
    Metrics,
    /// The snapshot at a step.
    Snapshot {
        /// The step; the last snapshot that is not later is taken.
        step: u64,
    },
    /// The whole folder of a run that has ended, as an archive.
    Run,
}

/// A file, whose bytes are attached.
#[derive(Debug, Serialize)]
pub struct Taken {
    /// Its name.
    name: String,
    /// Its media type.
    media: &'static str,
}

impl Take {
    /// The file and its bytes.
    pub fn of(self, run: &Shelved) -> Result<(Taken, Vec<u8>), Problem> {
        let recipe = &run.recipe;
        let taken = |name: String, media| Taken { name, media };
        Ok(match self {
            Take::Recipe => (
                taken("recipe.toml".into(), "application/toml"),
                RunFiles::recipe(recipe),
            ),
            Take::Metrics => (
                taken("metrics.csv".into(), "text/csv"),
                RunFiles::metrics(recipe, &run.history),
            ),
            Take::Snapshot { step } => {
                let (step, weights) = run.snapshot(step)?;
                (
                    taken(
                        format!("step-{step:06}.safetensors"),
                        "application/octet-stream",
                    ),
                    RunFiles::snapshot(recipe, step, weights)?,
                )
            }
            Take::Run => {
                let recording = run.recording();
                let recording = recording.ok_or_else(|| {
                    Problem::new("this run has not ended: let it train to its end")
                })?;
                let name = &recipe.name;
                let bytes = archive(name, &RunFiles::of(&recording)?).map_err(Problem::new)?;
                (taken(format!("{name}.tar"), "application/x-tar"), bytes)
            }
        })
    }
}

/// The folder of a run as an archive. Nothing in it depends on when or by whom it is made.
fn archive(name: &str, files: &RunFiles) -> std::io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for (file, bytes) in files.iter() {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("{name}/{file}"), bytes)?;
    }
    archive.into_inner()
}
