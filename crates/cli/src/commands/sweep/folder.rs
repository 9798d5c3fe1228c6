//! The folder of a sweep, which can grow.
//!
//! ```text
//! sweep.json              the recipe it is a sweep of, and which keys vary
//! sweep.csv               one row per run that has ended
//! figure.svg .png .csv    the runs in one picture
//! runs/0f3a…              each run, named by its identity, so that a run that is there is never trained again
//! ```

use std::path::Path;

use induct::train::Recipe;
use induct_store::{Mark, OwnFolder};
use serde_json::{Value, json};

use crate::failure::Failure;

/// By this a folder is known as a sweep's.
const MARK: Mark = Mark {
    file: "sweep.json",
    made_by: "induct sweep",
    holds: "sweep",
};

/// A sweep's folder.
pub struct SweepFolder {
    /// The folder itself.
    pub files: OwnFolder,
    /// Keys that vary in any of its runs, in the order in which they were first varied.
    pub keys: Vec<String>,
}

impl SweepFolder {
    /// Takes hold of a folder for a sweep of `base`, or of one that an earlier sweep of it left. `keys` are those that vary now.
    pub fn claim(path: &Path, base: &Recipe, keys: &[String]) -> Result<Self, Failure> {
        // A refused attempt writes nothing: look first.
        MARK.check(path)
            .map_err(|error| Failure::from(error).with_advice("give another --out"))?;
        read_mark(path, base)?;
        let files = OwnFolder::claim(path, MARK)?;
        // Somebody may have come between the look and the lock.
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

/// The keys that vary in a sweep that is there already; none if there is none. Refuses a sweep of another recipe.
fn read_mark(path: &Path, base: &Recipe) -> Result<Option<Vec<String>>, Failure> {
    let Ok(bytes) = std::fs::read(path.join(MARK.file)) else {
        return Ok(None);
    };
    let about: Value = serde_json::from_slice(&bytes).map_err(|error| {
        let file = path.join(MARK.file);
        Failure::mistake(format!(
            "{} is damaged ({error}), so what varies here is not known; give another --out",
            file.display()
        ))
    })?;
    // The mark alone: a first attempt was broken off before it knew what it was a sweep of.
    let Some(there) = about["base"].as_str() else {
        return Ok(None);
    };
    if there != base.to_toml() {
        return Err(Failure::mistake(format!(
            "{} holds a sweep of another recipe; give another --out",
            path.display()
        )));
    }
    let keys = about["vary"].as_array().into_iter().flatten();
    Ok(Some(
        keys.filter_map(|key| key.as_str().map(String::from))
            .collect(),
    ))
}
