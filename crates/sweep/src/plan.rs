//! The plan of a sweep: which runs there are, and what is kept of them.
//!
//! A run is known by its [`Key`]: what is trained, and its seed. So a sweep grows by adding grids, and a run that
//! several grids have counts once.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use induct::internal::digest;
use induct::recipe::Recipe;
use induct::run::NUMERICS;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::check::{check_axes, check_count, check_points};
use crate::cost;
use crate::error::SweepError;
use crate::study::{Axis, Keep, MAX_AXES, Results, Seeds, Study};

/// The plan of a sweep, as `sweep.json` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Which command made it: marks the folder as a sweep's.
    pub made_by: String,
    /// The program's version.
    pub version: String,
    /// The numerics version: programs with another one compute other bytes.
    pub numerics: u32,
    /// The instructions to compute with; the best of each machine if unset.
    pub level: Option<String>,
    /// The recipe without what varies.
    pub base: String,
    /// What varies; a sweep grows by further grids.
    pub grids: Vec<Grid>,
    /// What is kept of every run.
    pub kept: Retention,
    /// What the study asks to keep.
    pub(crate) asked: Results,
    /// Digest of all the above, so that damage and changes by hand are noticed.
    pub digest: String,
    #[serde(skip)]
    keys: Vec<String>,
    #[serde(skip)]
    runs: Vec<PlannedRun>,
    /// By key, the index of the run.
    #[serde(skip)]
    indices: HashMap<Key, usize>,
}

/// Values of keys in all combinations, each with all seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The keys that vary, slowest first.
    pub vary: Vec<Axis>,
    /// The seeds.
    pub seeds: Seeds,
    /// Seconds that a run takes on one thread, on average over a few points.
    pub seconds: f64,
    /// What is trained at each point, as a digest: the first half of a [`Key`].
    pub points: Vec<String>,
}

/// What is kept of every run, by name of column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Columns kept at the end.
    #[serde(rename = "final")]
    pub last: Vec<String>,
    /// Columns kept at every record.
    pub curves: Vec<String>,
    /// Strategies whose phases may begin.
    pub strategies: Vec<String>,
    /// Which runs are kept whole.
    pub runs: Keep,
}

/// Which run is which, whatever machine computes it, and however its values are written.
///
/// The identity of a run also depends on the machine's arithmetic, and takes a digest of the whole recipe for every
/// seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Digest of the recipe without its seeds, and of the numerics version.
    pub point: u64,
    /// The seed.
    pub seed: u64,
}

/// A run of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// Which it is.
    pub key: Key,
    /// The index of its grid.
    pub grid: usize,
    /// The index of its point in the grid.
    pub point: usize,
}

pub const MAX_RUNS: u64 = 1_000_000;

/// The most runs of all grids together, those counted that several grids have.
const MAX_LISTED: u64 = 10 * MAX_RUNS;

/// The value of the plan's `made_by` entry.
pub const MADE_BY: &str = "induct sweep";

impl Grid {
    /// The number of points, and of runs; `None` if they cannot be counted.
    fn counts(&self) -> Option<(u64, u64)> {
        let mut counts = self.vary.iter().map(|axis| axis.values.len() as u64);
        let points = counts.try_fold(1, u64::checked_mul)?;
        Some((points, points.checked_mul(self.seeds.count)?))
    }

    /// What varies at a point, as `key.path=value`.
    pub fn overrides(&self, point: usize) -> Vec<String> {
        overrides(&self.vary, point)
    }

    /// The value of a key at a point, if the grid varies it.
    fn value(&self, key: &str, point: usize) -> Option<&String> {
        let axis = self.vary.iter().position(|axis| axis.key == key)?;
        Some(&self.vary[axis].values[places(&self.vary, point)[axis]])
    }

    /// The recipe at a point, with a seed.
    pub(crate) fn recipe(&self, base: &str, point: usize, seed: u64) -> Result<Recipe, SweepError> {
        let mut recipe = point_recipe(base, &self.overrides(point))?;
        (recipe.seeds.init, recipe.seeds.data) = (seed, seed);
        if self.seeds.own_tests {
            recipe.seeds.eval = seed;
        }
        Ok(recipe)
    }
}

/// The index of the value on each axis at a point; the last axis varies fastest.
fn places(vary: &[Axis], mut point: usize) -> Vec<usize> {
    let mut places = vec![0; vary.len()];
    for (axis, place) in vary.iter().zip(&mut places).rev() {
        *place = point % axis.values.len();
        point /= axis.values.len();
    }
    places
}

/// What varies at a point, as `key.path=value`.
pub(crate) fn overrides(vary: &[Axis], point: usize) -> Vec<String> {
    let axes = vary.iter().zip(places(vary, point));
    axes.map(|(axis, place)| format!("{}={}", axis.key, axis.values[place]))
        .collect()
}

impl Plan {
    /// The plan of a study whose base recipe is `base`. Every point is checked. The cost is not measured yet.
    pub fn new(study: &Study, base: &Recipe) -> Result<Self, SweepError> {
        check_axes(study)?;
        let runs = check_count(study)?;
        let base = base.to_toml();
        let (points, kept) = check_points(study, &base, runs)?;
        let grid = Grid {
            vary: study.vary.clone(),
            seeds: study.seeds,
            seconds: 0.0,
            points,
        };
        let mut plan = Self {
            made_by: MADE_BY.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            numerics: NUMERICS,
            level: study.level.clone(),
            base,
            grids: vec![grid],
            kept,
            asked: study.results.clone(),
            digest: String::new(),
            keys: Vec::new(),
            runs: Vec::new(),
            indices: HashMap::new(),
        };
        plan.settle().map_err(SweepError::usage)?;
        Ok(plan)
    }

    /// Reads `sweep.json`.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let mut plan: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if plan.digest != plan.own_digest() {
            return Err("it is damaged, or was changed by hand".into());
        }
        plan.list()?;
        Ok(plan)
    }

    /// The plan as `sweep.json`.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        text + "\n"
    }

    fn own_digest(&self) -> String {
        let mut without = self.clone();
        without.digest = String::new();
        digest::hex(&[without.to_json().as_bytes()])
    }

    /// Chooses which runs are kept whole from now on.
    pub(crate) fn keep(&mut self, runs: Keep) {
        self.kept.runs = runs;
        self.digest = self.own_digest();
    }

    /// Measures how long the runs of the last grid take.
    pub(crate) fn measure(&mut self) -> Result<(), SweepError> {
        if let Some(grid) = self.grids.last_mut() {
            grid.seconds = cost::seconds_per_run(&self.base, grid)?;
        }
        self.digest = self.own_digest();
        Ok(())
    }

    /// Seconds that a run is expected to take on one thread.
    pub fn seconds(&self, run: &PlannedRun) -> f64 {
        self.grids[run.grid].seconds
    }

    pub(crate) fn settle(&mut self) -> Result<(), String> {
        self.list()?;
        self.digest = self.own_digest();
        Ok(())
    }

    /// Lists the runs: grid by grid, point by point, seed by seed.
    fn list(&mut self) -> Result<(), String> {
        let mut listed = 0;
        for grid in &self.grids {
            let (points, runs) = grid.counts().unwrap_or((0, u64::MAX));
            listed = runs.saturating_add(listed);
            if runs > MAX_RUNS || listed > MAX_LISTED {
                return Err(format!(
                    "it claims more runs than a sweep may have, which is {MAX_RUNS}"
                ));
            }
            let seeds = grid.seeds.end().filter(|_| grid.seeds.count > 0);
            if grid.vary.len() > MAX_AXES
                || points == 0
                || points != grid.points.len() as u64
                || seeds.is_none()
            {
                return Err("its grids contradict themselves".into());
            }
        }
        (self.keys, self.runs, self.indices) = (Vec::new(), Vec::new(), HashMap::new());
        for (index, grid) in self.grids.iter().enumerate() {
            for axis in &grid.vary {
                if !self.keys.contains(&axis.key) {
                    self.keys.push(axis.key.clone());
                }
            }
            for (point, id) in grid.points.iter().enumerate() {
                let id = u64::from_str_radix(id, 16).map_err(|_| format!("{id} is no digest"))?;
                for seed in grid.seeds.first..grid.seeds.first + grid.seeds.count {
                    let key = Key { point: id, seed };
                    let next = self.runs.len();
                    if *self.indices.entry(key).or_insert(next) == next {
                        let grid = index;
                        self.runs.push(PlannedRun { key, grid, point });
                    }
                }
            }
        }
        match self.runs.len() as u64 {
            runs if runs > MAX_RUNS => Err(format!(
                "it would have {runs} runs, but at most {MAX_RUNS} are allowed"
            )),
            0 => Err("it has no runs".into()),
            _ => Ok(()),
        }
    }

    /// All runs, at least one. Those of later grids come last, so that a run keeps its index when the sweep grows.
    pub fn runs(&self) -> &[PlannedRun] {
        &self.runs
    }

    /// The index of a run, if it is one of this sweep.
    pub fn index(&self, key: Key) -> Option<usize> {
        self.indices.get(&key).copied()
    }

    /// All keys that vary, in the order in which they were first varied.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The number of points: runs that differ in more than their seeds.
    pub fn points(&self) -> u64 {
        let all: HashSet<&String> = self.grids.iter().flat_map(|grid| &grid.points).collect();
        all.len() as u64
    }

    /// What varies in a run, as `key.path=value`.
    pub fn overrides(&self, run: &PlannedRun) -> Vec<String> {
        self.grids[run.grid].overrides(run.point)
    }

    /// The value of every key that varies in a run; that of its recipe, if the run's grid does not vary it.
    pub fn values(&self, run: &PlannedRun) -> Vec<String> {
        let grid = &self.grids[run.grid];
        let recipe = LazyCell::new(|| {
            let recipe = self.recipe(run).map(|recipe| recipe.to_toml());
            Value::Table(recipe.unwrap_or_default().parse().unwrap_or_default())
        });
        let value = |key: &String| match grid.value(key, run.point) {
            Some(value) => value.clone(),
            None => value_in(&recipe, key),
        };
        self.keys.iter().map(value).collect()
    }

    /// The recipe of a run.
    pub fn recipe(&self, run: &PlannedRun) -> Result<Recipe, SweepError> {
        self.grids[run.grid].recipe(&self.base, run.point, run.key.seed)
    }

    /// Whether a run is kept whole.
    pub fn keeps(&self, run: &PlannedRun) -> bool {
        match self.kept.runs {
            Keep::All => true,
            Keep::First => run.key.seed == self.grids[run.grid].seeds.first,
            Keep::None => false,
        }
    }
}

/// The digest of what is trained at a point. Seeds do not count, but whether test sets have those of the runs does.
pub(crate) fn point_digest(mut recipe: Recipe, own_tests: bool) -> String {
    (recipe.seeds.init, recipe.seeds.data) = (0, 0);
    if own_tests {
        recipe.seeds.eval = 0;
    }
    let computed_by = format!("numerics {NUMERICS}, own tests: {own_tests}\n");
    let text = recipe.to_toml();
    digest::hex(&[computed_by.as_bytes(), text.as_bytes()])[..16].to_owned()
}

/// The recipe at a point.
pub(crate) fn point_recipe(base: &str, overrides: &[String]) -> Result<Recipe, SweepError> {
    let varied = || overrides.join(", ");
    Recipe::from_toml(base, overrides)
        .map_err(|error| SweepError::usage(format!("vary {}: {error}", varied())))
}

/// The value of a key in a recipe; empty if it is unset.
fn value_in(recipe: &Value, key: &str) -> String {
    match key
        .split('.')
        .try_fold(recipe, |place, part| place.get(part))
    {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(table @ Value::Table(inner)) if inner.len() == 1 => match inner.get("kind") {
            Some(Value::String(kind)) => kind.clone(),
            _ => table.to_string(),
        },
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use induct::run::Identity;

    use super::*;

    type Vary<'a> = &'a [(&'a str, &'a [&'a str])];

    fn plan(vary: Vary, seeds: u64) -> Result<Plan, SweepError> {
        let mut study = Study::new("main", Seeds::first(seeds));
        study.vary = vary
            .iter()
            .map(|(key, values)| Axis {
                key: (*key).to_owned(),
                values: values.iter().map(|&value| value.to_owned()).collect(),
            })
            .collect();
        Plan::new(&study, &Recipe::default())
    }

    fn identities(plan: &Plan) -> Vec<String> {
        let identity = |run: &PlannedRun| Identity::of(&plan.recipe(run).unwrap()).run;
        plan.runs().iter().map(identity).collect()
    }

    fn distinct(all: &[String]) -> usize {
        all.iter().collect::<HashSet<_>>().len()
    }

    #[test]
    fn runs_come_in_the_order_of_the_grid() {
        let plan = plan(
            &[
                ("train.batch", &["8", "16"]),
                ("train.optimizer.lr", &["1e-3", "1e-2"]),
            ],
            3,
        )
        .unwrap();
        assert_eq!((plan.runs().len(), plan.points()), (12, 4));
        let run = plan.runs()[7];
        assert_eq!(
            plan.overrides(&run),
            ["train.batch=16", "train.optimizer.lr=1e-3"]
        );
        assert_eq!(run.key.seed, 1);
        assert_eq!(plan.index(run.key), Some(7));
        let recipe = plan.recipe(&run).unwrap();
        assert_eq!(
            (recipe.train.batch, recipe.seeds.data, recipe.seeds.init),
            (16, 1, 1)
        );
        assert_eq!(distinct(&identities(&plan)), 12);
    }

    #[test]
    fn a_sweep_grows_and_every_run_keeps_its_key_and_place() {
        let first = plan(&[("train.batch", &["8", "16"])], 2).unwrap();
        let before = identities(&first);
        // More seeds, another value, another key with the base's value among its own.
        let seeds = plan(&[("train.batch", &["8", "16"])], 3).unwrap();
        let grown = first.grown(&seeds).unwrap().unwrap();
        assert_eq!(grown.runs().len(), 6);
        let value = plan(&[("train.batch", &["24", "16", "8"])], 3).unwrap();
        let grown = grown.grown(&value).unwrap().unwrap();
        assert_eq!(grown.runs().len(), 9);
        let key = plan(
            &[("train.batch", &["8", "16"]), ("model.heads", &["1", "2"])],
            1,
        )
        .unwrap();
        let grown = grown.grown(&key).unwrap().unwrap();
        assert_eq!(grown.runs().len(), 11);
        assert_eq!(grown.keys(), ["train.batch", "model.heads"]);
        assert_eq!(grown.values(&grown.runs()[0]), ["8", "1"]);
        assert_eq!(grown.values(&grown.runs()[10]), ["16", "2"]);
        let all = identities(&grown);
        assert_eq!(all[..before.len()], before);
        assert_eq!(grown.runs()[..4], first.runs()[..]);
        assert_eq!(distinct(&all), all.len());
        // Nothing new, nothing grown.
        assert!(grown.grown(&seeds).unwrap().is_none());
        let again = Plan::from_json(&grown.to_json()).unwrap();
        assert_eq!(identities(&again), all);
    }

    #[test]
    fn damaged_plans_and_boundless_claims_are_refused() {
        let plan = plan(&[("train.batch", &["8", "16"])], 2).unwrap();
        let text = plan.to_json();
        assert!(Plan::from_json(&text.replace("\"16\"", "\"17\"")).is_err());
        assert!(Plan::from_json(&text[..text.len() / 2]).is_err());
        // Claims whose digest is right.
        for (first, count) in [(0, u64::MAX), (0, 1_000_000_000_000), (u64::MAX, 2)] {
            let mut claims = plan.clone();
            (claims.grids[0].seeds.first, claims.grids[0].seeds.count) = (first, count);
            claims.digest = claims.own_digest();
            assert!(
                Plan::from_json(&claims.to_json()).is_err(),
                "{first} {count}"
            );
        }
        let mut claims = plan.clone();
        claims.grids = vec![
            Grid {
                seeds: Seeds::first(500_000),
                ..plan.grids[0].clone()
            };
            100
        ];
        claims.digest = claims.own_digest();
        let refused = Plan::from_json(&claims.to_json()).unwrap_err();
        assert!(refused.contains("more runs"), "{refused}");
    }

    #[test]
    fn axes_without_values_or_with_one_twice_are_refused() {
        for (values, word) in [(&["1", "1"][..], "repeated"), (&[], "no values")] {
            let refused = plan(&[("train.steps", values)], 1).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }
}
