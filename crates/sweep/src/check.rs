//! What a study asks for, checked point by point before anything is made.

use std::collections::HashMap;

use induct::measure::{KL_TRUTH, Measure};
use induct::probe::columns;
use induct::recipe::Recipe;
use rayon::prelude::*;

use crate::error::SweepError;
use crate::plan::{MAX_RUNS, Retention, overrides, point_digest, point_recipe};
use crate::study::{Keep, Study};

/// Sweeps of up to this many runs keep all of them whole, unless told otherwise.
const SMALL: u64 = 1_000;

/// How many points are checked at a time.
const CHUNK: usize = 4_096;

/// Refuses keys that cannot be varied, or are varied twice.
pub fn check_axes(study: &Study) -> Result<(), SweepError> {
    let is_seed = |key: &str| key == "seeds" || key.starts_with("seeds.");
    for (index, axis) in study.vary.iter().enumerate() {
        let refuse = |why: &str| Err(SweepError::usage(format!("vary {}: {why}", axis.key)));
        if ["seeds", "seeds.init", "seeds.data"].contains(&axis.key.as_str()) {
            return refuse("seeds cannot be varied here; choose their number with seeds");
        }
        if axis.values.is_empty() {
            return refuse("it has no values; give at least one");
        }
        if study.vary[..index]
            .iter()
            .any(|other| other.key == axis.key)
        {
            return refuse("this key is varied already; give all its values at once");
        }
        let mut sorted: Vec<&String> = axis.values.iter().collect();
        sorted.sort();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse(&format!(
                "the value {} is repeated; give each value once",
                twice[0]
            ));
        }
    }
    let key = |set: &String| set.split('=').next().unwrap_or_default().trim().to_owned();
    let tests = "seeds.eval";
    let of_tests = study.vary.iter().any(|axis| axis.key == tests)
        || study.set.iter().any(|set| key(set) == tests);
    if study.seeds.own_tests && of_tests {
        return Err(SweepError::usage(
            "seeds.eval is chosen by seeds.own_tests already; leave one of them out",
        ));
    }
    match study
        .set
        .iter()
        .find(|set| is_seed(&key(set)) && key(set) != "seeds.eval")
    {
        Some(set) => Err(SweepError::usage(format!(
            "set {set}: a sweep chooses its seeds itself; choose how many, and from which on, with seeds"
        ))),
        None => Ok(()),
    }
}

pub fn check_count(study: &Study) -> Result<u64, SweepError> {
    if study.seeds.end().is_none() {
        return Err(SweepError::usage(format!(
            "seeds: {} seeds from {} on are not allowed: the last must be less than {}",
            study.seeds.count,
            study.seeds.first,
            i64::MAX
        )));
    }
    let counts = study.vary.iter().map(|axis| axis.values.len() as u64);
    let total = counts
        .chain([study.seeds.count])
        .try_fold(1_u64, u64::checked_mul);
    match total {
        Some(total) if total <= MAX_RUNS => Ok(total),
        total => {
            let shown = total.map_or("more than can be counted".into(), |total| total.to_string());
            Err(SweepError::usage(format!(
                "the keys that vary and the seeds make {shown} runs, but at most {MAX_RUNS} are allowed; \
                 vary fewer keys, or give fewer values or seeds"
            )))
        }
    }
}

/// Checks every point; returns their digests, and the columns to keep.
pub fn check_points(
    study: &Study,
    base: &str,
    runs: u64,
) -> Result<(Vec<String>, Retention), SweepError> {
    let points = runs.checked_div(study.seeds.count).unwrap_or(0) as usize;
    let recipe = |point: usize| -> Result<(Recipe, String), SweepError> {
        let recipe = point_recipe(base, &overrides(&study.vary, point))?;
        let digest = point_digest(recipe.clone(), study.seeds.own_tests);
        Ok((recipe, digest))
    };
    let mut digests: Vec<String> = Vec::with_capacity(points);
    let mut shapes: Vec<Recipe> = Vec::new();
    let mut all = HashMap::with_capacity(points);
    let (mut known, mut strategies): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut of_measure: HashMap<String, Vec<String>> = HashMap::new();
    // A few thousand recipes at a time fit into memory.
    let recipes = (0..points).step_by(CHUNK).flat_map(|first| {
        let chunk = first..points.min(first + CHUNK);
        chunk.into_par_iter().map(recipe).collect::<Vec<_>>()
    });
    for (point, recipe) in recipes.enumerate() {
        let (recipe, digest) = recipe?;
        let overrides = overrides(&study.vary, point);
        if let Some(same) = all.insert(digest.clone(), point) {
            return Err(SweepError::usage(format!(
                "vary {}: the same runs as {}; give each value once",
                overrides.join(", "),
                crate::plan::overrides(&study.vary, same).join(", ")
            )));
        }
        digests.push(digest);
        let alike = |other: &Recipe| {
            other.model == recipe.model
                && other.task == recipe.task
                && other.record == recipe.record
        };
        if shapes.iter().any(alike) {
            continue;
        }
        let new = columns(&recipe).map_err(|error| {
            SweepError::usage(format!("vary {}: {error}", overrides.join(", ")))
        })?;
        let measures = recipe.record.chosen();
        for column in &new {
            let name = column.to_string();
            if known.contains(&name) {
                continue;
            }
            let of = measures.iter().filter(|measure| column.is_of(**measure));
            for measure in of {
                let columns = of_measure.entry(measure.name().to_owned()).or_default();
                columns.push(name.clone());
            }
            known.push(name);
        }
        for name in recipe.record.strategy_names(&recipe.task) {
            if !strategies.contains(&name) {
                strategies.push(name);
            }
        }
        shapes.push(recipe);
        // Only the last few can be alike in a grid whose other keys vary faster.
        if shapes.len() > 64 {
            shapes.remove(0);
        }
    }
    let chosen = |field: &str, names: &[String]| -> Result<Vec<String>, SweepError> {
        let mut chosen: Vec<String> = Vec::new();
        for name in names {
            let columns = match known.contains(name) {
                true => vec![name.clone()],
                false => of_measure.get(name).cloned().unwrap_or_default(),
            };
            if columns.is_empty() {
                return Err(SweepError::usage(format!(
                    "results.{field}: {name} is not recorded; the columns are {}",
                    known.join(", ")
                )));
            }
            for column in columns {
                if !chosen.contains(&column) {
                    chosen.push(column);
                }
            }
        }
        Ok(chosen)
    };
    let last = match &study.results.last {
        Some(names) => chosen("final", names)?,
        None => known
            .iter()
            .filter(|name| *name != "step")
            .cloned()
            .collect(),
    };
    let small = runs <= SMALL;
    let curves = match &study.results.curves {
        Some(names) => chosen("curves", names)?,
        None if small => vec![KL_TRUTH.name().to_owned()],
        None => Vec::new(),
    };
    let kept = Retention {
        last,
        curves,
        strategies,
        runs: study
            .results
            .runs
            .unwrap_or(if small { Keep::All } else { Keep::None }),
    };
    Ok((digests, kept))
}
