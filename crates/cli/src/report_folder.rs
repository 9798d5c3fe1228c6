//! The folder that a reproduction leaves:
//!
//!     report.json                        what made it; by this a folder is known as one of ours
//!     index.html                         the report
//!     claims.json                        every claim with its measure and verdict
//!     figures/01-phases.svg .png .csv    each figure, and the numbers behind it
//!     recipes/main.toml                  the recipe of each experiment
//!     runs/main/000.safetensors          what is kept of each run, so that it need not be trained again

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use induct::probe::History;
use induct::train::Recipe;
use induct_paper::{Experiment, Level, Run};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use crate::failure::Failure;
use crate::whole_file::{cannot, is_empty_or_absent, write_whole};

/// A reproduction's folder.
pub struct ReportFolder {
    path: PathBuf,
}

/// Name of the file that marks it.
const MARK: &str = "report.json";

impl ReportFolder {
    /// Makes the folder, or goes on in one that an earlier reproduction left. Anything else there is not touched.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let folder = Self {
            path: path.to_owned(),
        };
        let mark = folder.path.join(MARK);
        let marked = fs::read(&mark).ok().and_then(|bytes| {
            let value: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
            Some(value["made_by"] == "induct reproduce")
        });
        if marked != Some(true) && !is_empty_or_absent(path)? {
            return Err(Failure::mistake(format!(
                "{} is not empty and holds no report of `induct reproduce`; give another --out",
                path.display()
            )));
        }
        for inner in ["", "figures", "recipes", "runs"] {
            let inner = path.join(inner);
            fs::create_dir_all(&inner)
                .map_err(|error| cannot("create", &inner, &error, Failure::Failed))?;
        }
        let made_by =
            json!({ "made_by": "induct reproduce", "version": env!("CARGO_PKG_VERSION") });
        write_whole(&mark, format!("{made_by:#}\n").as_bytes())?;
        Ok(folder)
    }

    /// Writes a file, by its path inside the folder.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        write_whole(&self.path.join(name), bytes)
    }

    /// Where a file is.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn run_path(&self, experiment: &Experiment, seed: u64) -> PathBuf {
        let runs = self.path.join("runs").join(&experiment.id);
        runs.join(format!("{seed:03}.safetensors"))
    }

    /// Whether an earlier sitting left any run.
    pub fn has_runs(&self) -> bool {
        let runs = fs::read_dir(self.path.join("runs"));
        runs.is_ok_and(|mut runs| runs.next().is_some())
    }

    /// A run of an earlier sitting, if there is one that this program would make again.
    pub fn run(&self, experiment: &Experiment, seed: u64) -> Option<Run> {
        let bytes = fs::read(self.run_path(experiment, seed)).ok()?;
        decode(&bytes, &identity(&experiment.with_seed(seed)))
    }

    /// Keeps a run.
    pub fn save_run(&self, experiment: &Experiment, seed: u64, run: &Run) -> Result<(), Failure> {
        let path = self.run_path(experiment, seed);
        let parent = path.parent().expect("it is inside the folder");
        fs::create_dir_all(parent)
            .map_err(|error| cannot("create", parent, &error, Failure::Failed))?;
        write_whole(&path, &encode(run, &identity(&experiment.with_seed(seed))))
    }
}

/// What determines a run's bytes: the recipe, the program, and the machine's vector instructions.
fn identity(recipe: &Recipe) -> String {
    let instructions = induct::model::instructions();
    let version = env!("CARGO_PKG_VERSION");
    format!("# induct {version}, {instructions}\n{}", recipe.to_toml())
}

// Names in the files of runs.
const IDENTITY: &str = "identity";
const COLUMNS: &str = "columns";
const LEVELS: &str = "levels";
const DIVERGED: &str = "diverged_at";

fn encode(run: &Run, identity: &str) -> Vec<u8> {
    let doubles =
        |values: &[f64]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let floats =
        |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let rows = run.history.rows();
    let history: Vec<f64> = rows
        .iter()
        .flatten()
        .map(|v| v.unwrap_or(f64::NAN))
        .collect();
    let levels: Vec<f64> = run.levels.iter().map(|level| level.kl).collect();
    let steps: Vec<f64> = run.snapshots.iter().map(|(step, _)| *step as f64).collect();
    let snapshots: Vec<f32> = run
        .snapshots
        .iter()
        .flat_map(|(_, p)| p.iter().copied())
        .collect();
    let wide = |rows: usize, values: usize| vec![rows, values / rows.max(1)];
    let profiles = run.profiles.concat();
    let tensors = [
        (
            "history",
            Dtype::F64,
            wide(rows.len(), history.len()),
            doubles(&history),
        ),
        (LEVELS, Dtype::F64, vec![levels.len()], doubles(&levels)),
        (
            "profiles",
            Dtype::F64,
            wide(run.profiles.len(), profiles.len()),
            doubles(&profiles),
        ),
        (
            "params",
            Dtype::F32,
            vec![run.params.len()],
            floats(&run.params),
        ),
        (
            "snapshot_steps",
            Dtype::F64,
            vec![steps.len()],
            doubles(&steps),
        ),
        (
            "snapshots",
            Dtype::F32,
            wide(steps.len(), snapshots.len()),
            floats(&snapshots),
        ),
        ("seconds", Dtype::F64, vec![1], doubles(&[run.seconds])),
    ];
    let views = tensors.iter().map(|(name, kind, shape, bytes)| {
        let view = TensorView::new(*kind, shape.clone(), bytes).expect("shape fits the bytes");
        (*name, view)
    });
    let names = run
        .levels
        .iter()
        .map(|level| format!("{}/{}", level.set, level.strategy));
    let mut metadata = HashMap::from([
        (IDENTITY.to_owned(), identity.to_owned()),
        (COLUMNS.to_owned(), run.history.columns().join(",")),
        (LEVELS.to_owned(), names.collect::<Vec<_>>().join(",")),
    ]);
    if let Some(step) = run.diverged {
        metadata.insert(DIVERGED.to_owned(), step.to_string());
    }
    safetensors::serialize(views, Some(metadata)).expect("names are distinct")
}

/// The run in a file; none if it is damaged or not the one asked for.
fn decode(bytes: &[u8], identity: &str) -> Option<Run> {
    let file = SafeTensors::deserialize(bytes).ok()?;
    let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
    let metadata = header.metadata().as_ref()?;
    if metadata.get(IDENTITY)? != identity {
        return None;
    }
    let doubles = |name: &str| -> Option<Vec<f64>> {
        let (chunks, _) = file.tensor(name).ok()?.data().as_chunks();
        Some(
            chunks
                .iter()
                .map(|chunk| f64::from_le_bytes(*chunk))
                .collect(),
        )
    };
    let floats = |name: &str| -> Option<Vec<f32>> {
        let (chunks, _) = file.tensor(name).ok()?.data().as_chunks();
        Some(
            chunks
                .iter()
                .map(|chunk| f32::from_le_bytes(*chunk))
                .collect(),
        )
    };
    let names = |key: &str| -> Option<Vec<String>> {
        Some(metadata.get(key)?.split(',').map(str::to_owned).collect())
    };
    let columns = names(COLUMNS)?;
    let width = columns.len();
    let mut history = History::new(columns);
    for row in doubles("history")?.chunks_exact(width) {
        history.push(
            row.iter()
                .map(|&v| Some(v).filter(|v| !v.is_nan()))
                .collect(),
        );
    }
    let levels = names(LEVELS)?
        .into_iter()
        .zip(doubles(LEVELS)?)
        .map(|(name, kl)| {
            let (set, strategy) = name.split_once('/')?;
            Some(Level {
                set: set.to_owned(),
                strategy: strategy.to_owned(),
                kl,
            })
        });
    let lags = file.tensor("profiles").ok()?.shape()[1].max(1);
    let params = floats("params")?;
    let (steps, snapshots) = (doubles("snapshot_steps")?, floats("snapshots")?);
    let snapshots = steps
        .iter()
        .zip(snapshots.chunks_exact(params.len().max(1)));
    Some(Run {
        history,
        levels: levels.collect::<Option<_>>()?,
        profiles: doubles("profiles")?
            .chunks_exact(lags)
            .map(<[f64]>::to_vec)
            .collect(),
        snapshots: snapshots
            .map(|(step, params)| (*step as u64, params.to_vec()))
            .collect(),
        params,
        diverged: match metadata.get(DIVERGED) {
            Some(step) => Some(step.parse().ok()?),
            None => None,
        },
        seconds: doubles("seconds")?[0],
    })
}
