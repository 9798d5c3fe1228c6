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
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::Failure;
use crate::tensors::{bytes, numbers};
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

/// What a run's file says in words: the one entry of its metadata, since the order of several would not be the same every time.
#[derive(Serialize, Deserialize)]
struct About {
    identity: String,
    columns: Vec<String>,
    /// Test set and strategy of each level.
    levels: Vec<(String, String)>,
    diverged_at: Option<u64>,
}

const ABOUT: &str = "about";

fn encode(run: &Run, identity: &str) -> Vec<u8> {
    let doubles = |values: &[f64]| bytes(values, f64::to_le_bytes);
    let floats = |values: &[f32]| bytes(values, f32::to_le_bytes);
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
        ("levels", Dtype::F64, vec![levels.len()], doubles(&levels)),
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
    let names = run.levels.iter();
    let about = About {
        identity: identity.to_owned(),
        columns: run.history.columns().to_vec(),
        levels: names
            .map(|level| (level.set.clone(), level.strategy.clone()))
            .collect(),
        diverged_at: run.diverged,
    };
    let about = serde_json::to_string(&about).expect("plain data");
    let metadata = HashMap::from([(ABOUT.to_owned(), about)]);
    safetensors::serialize(views, Some(metadata)).expect("names are distinct")
}

/// The run in a file; none if it is damaged or not the one asked for.
fn decode(bytes: &[u8], identity: &str) -> Option<Run> {
    let file = SafeTensors::deserialize(bytes).ok()?;
    let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
    let about: About = serde_json::from_str(header.metadata().as_ref()?.get(ABOUT)?).ok()?;
    if about.identity != identity {
        return None;
    }
    let doubles = |name: &str| -> Option<Vec<f64>> {
        Some(numbers(file.tensor(name).ok()?.data(), f64::from_le_bytes))
    };
    let floats = |name: &str| -> Option<Vec<f32>> {
        Some(numbers(file.tensor(name).ok()?.data(), f32::from_le_bytes))
    };
    let width = about.columns.len().max(1);
    let mut history = History::new(about.columns);
    for row in doubles("history")?.chunks_exact(width) {
        history.push(
            row.iter()
                .map(|&v| Some(v).filter(|v| !v.is_nan()))
                .collect(),
        );
    }
    let levels = about.levels.into_iter().zip(doubles("levels")?);
    let levels = levels.map(|((set, strategy), kl)| Level { set, strategy, kl });
    let lags = file.tensor("profiles").ok()?.shape()[1].max(1);
    let params = floats("params")?;
    let (steps, snapshots) = (doubles("snapshot_steps")?, floats("snapshots")?);
    let snapshots = steps
        .iter()
        .zip(snapshots.chunks_exact(params.len().max(1)));
    Some(Run {
        history,
        levels: levels.collect(),
        profiles: doubles("profiles")?
            .chunks_exact(lags)
            .map(<[f64]>::to_vec)
            .collect(),
        snapshots: snapshots
            .map(|(step, params)| (*step as u64, params.to_vec()))
            .collect(),
        params,
        diverged: about.diverged_at,
        seconds: doubles("seconds")?[0],
    })
}
