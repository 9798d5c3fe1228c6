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
    /// The file and its bytes. Of a run that was trained elsewhere, they are the bytes that it came with.
    pub fn of(self, run: &Shelved) -> Result<(Taken, Vec<u8>), Problem> {
        let name = match self {
            Take::Recipe => "recipe.toml".to_owned(),
            Take::Metrics => "metrics.csv".to_owned(),
            Take::Snapshot { step } => format!("step-{:06}.safetensors", run.snapshot(step)?.0),
            Take::Run => format!("{}.tar", run.recipe.name),
        };
        let bytes = match (&run.folder, self) {
            (Some(folder), Take::Run) => {
                if folder.recording()?.is_none() {
                    return Err(not_ended());
                }
                archive(&run.recipe.name, &folder.files()?).map_err(Problem::new)?
            }
            (Some(folder), _) => {
                let folder_name = match self {
                    Take::Snapshot { .. } => format!("snapshots/{name}"),
                    _ => name.clone(),
                };
                let files = folder.files()?;
                let found = files.get(&folder_name).map(<[u8]>::to_vec);
                found.ok_or_else(|| Problem::new(format!("there is no {folder_name}")))?
            }
            (None, _) => self.made(run)?,
        };
        let media = match self {
            Take::Recipe => "application/toml",
            Take::Metrics => "text/csv",
            Take::Snapshot { .. } => "application/octet-stream",
            Take::Run => "application/x-tar",
        };
        Ok((Taken { name, media }, bytes))
    }

    /// The bytes of a file of a run that was trained here.
    fn made(self, run: &Shelved) -> Result<Vec<u8>, Problem> {
        let recipe = &run.recipe;
        Ok(match self {
            Take::Recipe => RunFiles::recipe(recipe),
            Take::Metrics => RunFiles::metrics(recipe, &run.history),
            Take::Snapshot { step } => {
                let (step, weights) = run.snapshot(step)?;
                RunFiles::snapshot(recipe, step, weights)?
            }
            Take::Run => {
                let recording = run.recording().ok_or_else(not_ended)?;
                archive(&recipe.name, &RunFiles::of(&recording)?).map_err(Problem::new)?
            }
        })
    }
}

fn not_ended() -> Problem {
    Problem::new("this run has not ended: let it train to its end")
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
