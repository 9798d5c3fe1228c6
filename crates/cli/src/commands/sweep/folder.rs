//! The folder of a sweep, which can grow from call to call.
//!
//! ```text
//! sweep.json              the base recipe, and which keys vary
//! sweep.csv               one row per run that has ended
//! figure.svg .png .csv    the runs in one picture
//! runs/0f3a…              each run, named by its identity, so that no run is trained twice
//! ```

use std::path::Path;

use induct::train::Recipe;
use induct_store::{Mark, OutputFolder};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Marks a folder as a sweep's.
const MARK: Mark = Mark {
    file: "sweep.json",
    made_by: "induct sweep",
    holds: "sweep",
};

/// A sweep's folder.
pub struct SweepFolder {
    /// The folder itself.
    pub files: OutputFolder,
    /// The keys that vary between its runs, in the order in which they were first varied.
    pub keys: Vec<String>,
}

impl SweepFolder {
    /// Locks a new folder for a sweep of `base`, or that of an earlier sweep of `base`. `keys` are those that
    /// vary now.
    pub fn claim(path: &Path, base: &Recipe, keys: &[String]) -> Result<Self, Failure> {
        // A refused attempt must write nothing, so check first.
        MARK.check(path)
            .map_err(|error| Failure::from(error).with_advice("choose another --out"))?;
        read_mark(path, base)?;
        let files = OutputFolder::claim(path, MARK)?;
        // Another process may have come between the check and the lock.
        let known = read_mark(path, base)?;
        let mut all = known.unwrap_or_default();
        for key in keys {
            if !all.contains(key) {
                all.push(key.clone());
            }
        }
        let about = json!({
            "made_by": MARK.made_by,
            "version": env!("CARGO_PKG_VERSION"),
            "vary": all,
            "base": base.to_toml(),
        });
        files.write(MARK.file, format!("{about:#}\n").as_bytes())?;
        Ok(Self { files, keys: all })
    }
}

/// The keys that vary in the sweep already in the folder; `None` if there is none. Refuses a sweep of another
/// recipe.
fn read_mark(path: &Path, base: &Recipe) -> Result<Option<Vec<String>>, Failure> {
    let Ok(bytes) = std::fs::read(path.join(MARK.file)) else {
        return Ok(None);
    };
    let about: Value = serde_json::from_slice(&bytes).map_err(|error| {
        let file = path.join(MARK.file);
        Failure::mistake(format!(
            "{} is damaged ({error}), so it is not known which keys vary; choose another --out",
            file.display()
        ))
    })?;
    // Only the mark: a first attempt was interrupted before it wrote its base recipe.
    let Some(there) = about["base"].as_str() else {
        return Ok(None);
    };
    if there != base.to_toml() {
        return Err(Failure::mistake(format!(
            "{} holds a sweep of another recipe; choose another --out",
            path.display()
        )));
    }
    let keys = about["vary"].as_array().into_iter().flatten();
    Ok(Some(
        keys.filter_map(|key| key.as_str().map(String::from))
            .collect(),
    ))
}
