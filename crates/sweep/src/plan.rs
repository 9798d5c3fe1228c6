//! The plan of a sweep: which runs there are, and what is kept of them.
//!
//! Runs are numbered: grid by grid, point by point, seed by seed. A sweep grows by further grids, so a run keeps its
//! number; runs that an earlier grid has are left out of a later one.

use std::collections::HashSet;

use induct::digest;
use induct::run::NUMERICS;
use induct::train::Recipe;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::check::{check_axes, check_count, kept};
use crate::cost::Cost;
use crate::error::SweepError;
use crate::study::{Axis, Keep, Results, Seeds, Study};

/// The plan of a sweep, as `sweep.json` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub kept: Kept,
    /// The measured cost of each grid's runs, by which times are estimated.
    pub costs: Vec<Cost>,
    /// Digest of all the above, so that a change by hand is noticed.
    pub digest: String,
    /// What the study asks for, where it says so.
    #[serde(skip)]
    pub(crate) asked: Results,
    #[serde(skip)]
    layout: Layout,
}

/// Values of keys in all combinations, each with all seeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The keys that vary, slowest first.
    pub vary: Vec<Axis>,
    /// The seeds.
    pub seeds: Seeds,
    /// Places that are no runs of this grid, because an earlier one has them: first ones, and those after the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<(u64, u64)>,
}

/// What is kept of every run, by name of column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
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

/// Where in the grids a number is.
#[derive(Clone, Debug, Default, PartialEq)]
struct Layout {
    /// All keys that vary, in the order in which they were first varied.
    keys: Vec<String>,
    /// For each grid the number of its first run, and its places, unless all of them are runs.
    grids: Vec<(u64, Option<Vec<u64>>)>,
    runs: u64,
}

/// A run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its number.
    pub number: u64,
    /// Its grid.
    pub grid: usize,
    /// The index of its value on each axis of the grid.
    pub at: Vec<usize>,
    /// Its seed.
    pub seed: u64,
}

/// The most runs of a sweep.
pub const MAX_RUNS: u64 = 1_000_000;

/// The value of the plan's `made_by` entry.
pub const MADE_BY: &str = "induct sweep";

impl Grid {
    /// The number of points.
    pub fn points(&self) -> u64 {
        let counts = self.vary.iter().map(|axis| axis.values.len() as u64);
        counts.product()
    }

    /// The places of its runs: point by point, seed by seed.
    fn places(&self) -> Option<Vec<u64>> {
        if self.without.is_empty() {
            return None;
        }
        let all = 0..self.points() * self.seeds.count;
        let mut without = self.without.iter().copied().peekable();
        let left = all.filter(|place| {
            while without.next_if(|(_, after)| after <= place).is_some() {}
            without.peek().is_none_or(|(first, _)| place < first)
        });
        Some(left.collect())
    }

    /// The index on each axis of a point.
    pub(crate) fn at(&self, mut point: u64) -> Vec<usize> {
        let mut at = vec![0; self.vary.len()];
        for (axis, index) in self.vary.iter().zip(&mut at).rev() {
            let count = axis.values.len() as u64;
            *index = (point % count) as usize;
            point /= count;
        }
        at
    }

    /// What varies at a point, as `key.path=value`.
    pub fn overrides(&self, at: &[usize]) -> Vec<String> {
        let axes = self.vary.iter().zip(at);
        axes.map(|(axis, &index)| format!("{}={}", axis.key, axis.values[index]))
            .collect()
    }
}

impl Plan {
    /// The plan of a study whose base recipe is `base`. Every point is checked. The cost is not measured yet.
    ///
    /// # Errors
    ///
    /// If there are too many runs, a key or value that no recipe has, a point twice, or a column that no run records.
    pub fn new(study: &Study, base: &Recipe) -> Result<Self, SweepError> {
        check_axes(study)?;
        let runs = check_count(study)?;
        let grid = Grid {
            vary: study.vary.clone(),
            seeds: study.seeds,
            without: Vec::new(),
        };
        let base = base.to_toml();
        let kept = kept(study, &grid, &base, runs)?;
        let mut plan = Self {
            made_by: MADE_BY.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            numerics: NUMERICS,
            level: study.level.clone(),
            base,
            grids: vec![grid],
            kept,
            costs: vec![Cost::default()],
            digest: String::new(),
            asked: study.results.clone(),
            layout: Layout::default(),
        };
        plan.settle();
        Ok(plan)
    }

    /// Reads `sweep.json`.
    ///
    /// # Errors
    ///
    /// If it is damaged or was changed by hand.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let mut plan: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if plan.digest != plan.own_digest() {
            return Err("it was changed by hand".into());
        }
        plan.arrange();
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

    /// Identifies the sweep as it is now; the last of [`ids`](Self::ids).
    pub fn id(&self) -> String {
        self.ids().pop().unwrap_or_default()
    }

    /// Identifies the sweep as it was after each grid: results of an earlier one are results of a later one.
    pub fn ids(&self) -> Vec<String> {
        let mut chain = format!("{}{}", self.numerics, self.base);
        let mut ids = Vec::new();
        for grid in &self.grids {
            chain += &serde_json::to_string(grid).expect("plain data");
            ids.push(digest::hex(&[chain.as_bytes()])[..8].to_owned());
        }
        ids
    }

    /// Chooses which runs are kept whole from now on.
    pub fn keep(&mut self, runs: Keep) {
        self.kept.runs = runs;
        self.settle();
    }

    /// Notes the measured cost of the last grid.
    pub fn set_cost(&mut self, cost: Cost) {
        if let Some(last) = self.costs.last_mut() {
            *last = cost;
        }
        self.settle();
    }

    /// Seconds that a run is expected to take on one thread.
    pub fn seconds(&self, run: &Planned) -> f64 {
        self.costs
            .get(run.grid)
            .map_or(0.0, |cost| cost.at(&run.at))
    }

    /// Numbers the runs, and notes the digest.
    pub(crate) fn settle(&mut self) {
        self.digest = self.own_digest();
        self.arrange();
    }

    /// Numbers the runs.
    fn arrange(&mut self) {
        let mut layout = Layout::default();
        for grid in &self.grids {
            for axis in &grid.vary {
                if !layout.keys.contains(&axis.key) {
                    layout.keys.push(axis.key.clone());
                }
            }
        }
        for grid in &self.grids {
            let places = grid.places();
            let all = grid.points() * grid.seeds.count;
            let count = places.as_ref().map_or(all, |places| places.len() as u64);
            layout.grids.push((layout.runs, places));
            layout.runs += count;
        }
        self.layout = layout;
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.layout.runs
    }

    /// All keys that vary, in the order in which they were first varied.
    pub fn keys(&self) -> &[String] {
        &self.layout.keys
    }

    /// The number of points: runs that differ in more than their seeds.
    pub fn points(&self) -> u64 {
        if let [only] = self.grids.as_slice() {
            return only.points();
        }
        let of_grid = |grid: &Grid| {
            (0..grid.points())
                .map(|point| grid.overrides(&grid.at(point)))
                .collect::<Vec<_>>()
        };
        let all: HashSet<Vec<String>> = self.grids.iter().flat_map(of_grid).collect();
        all.len() as u64
    }

    /// A run by its number, which is less than [`runs`](Self::runs).
    pub fn run(&self, number: u64) -> Planned {
        let after = self
            .layout
            .grids
            .partition_point(|(first, _)| *first <= number);
        // Grids without runs of their own share a first number with the next: the last of them has the run.
        let grid = after.saturating_sub(1);
        let (first, places) = &self.layout.grids[grid];
        let index = number - first;
        let place = places
            .as_ref()
            .map_or(index, |places| places[index as usize]);
        let own = &self.grids[grid];
        Planned {
            number,
            grid,
            at: own.at(place / own.seeds.count),
            seed: own.seeds.first + place % own.seeds.count,
        }
    }

    /// What varies in a run, as `key.path=value`.
    pub fn overrides(&self, run: &Planned) -> Vec<String> {
        self.grids[run.grid].overrides(&run.at)
    }

    /// The value of every key that varies in a run; that of its recipe, if the run's grid does not vary it.
    pub fn values(&self, run: &Planned) -> Vec<String> {
        let grid = &self.grids[run.grid];
        let varied = |key: &String| grid.vary.iter().position(|axis| axis.key == *key);
        let recipe: Table = match self.keys().iter().all(|key| varied(key).is_some()) {
            true => Table::new(),
            false => {
                let recipe = self.recipe(run).map(|recipe| recipe.to_toml());
                recipe.unwrap_or_default().parse().unwrap_or_default()
            }
        };
        let value = |key: &String| match varied(key) {
            Some(axis) => grid.vary[axis].values[run.at[axis]].clone(),
            None => value_in(&recipe, key),
        };
        self.keys().iter().map(value).collect()
    }

    /// The recipe of a run.
    ///
    /// # Errors
    ///
    /// If the program that planned the sweep knew keys that this one does not.
    pub fn recipe(&self, run: &Planned) -> Result<Recipe, SweepError> {
        let mut recipe = point_recipe(&self.base, &self.overrides(run))?;
        (recipe.seeds.init, recipe.seeds.data) = (run.seed, run.seed);
        if self.grids[run.grid].seeds.own_tests {
            recipe.seeds.eval = run.seed;
        }
        Ok(recipe)
    }

    /// Whether a run is kept whole.
    pub fn keeps(&self, run: &Planned) -> bool {
        match self.kept.runs {
            Keep::All => true,
            Keep::First => run.seed == self.grids[run.grid].seeds.first,
            Keep::None => false,
        }
    }
}

/// The recipe at a point.
pub(crate) fn point_recipe(base: &str, overrides: &[String]) -> Result<Recipe, SweepError> {
    let varied = || overrides.join(", ");
    Recipe::from_toml(base, overrides)
        .map_err(|error| SweepError::mistake(format!("vary {}: {error}", varied())))
}

/// The value of a key in a table; empty if it is unset.
fn value_in(table: &Table, key: &str) -> String {
    let mut place: Option<&Value> = None;
    for part in key.split('.') {
        let inner = match place {
            None => table.get(part),
            Some(value) => value.get(part),
        };
        match inner {
            Some(inner) => place = Some(inner),
            None => return String::new(),
        }
    }
    match place {
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
    use crate::growth::Differs;

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
        let recipe = |number| plan.recipe(&plan.run(number)).unwrap();
        (0..plan.runs())
            .map(|number| Identity::of(&recipe(number)).run)
            .collect()
    }

    #[test]
    fn runs_are_numbered_in_the_order_of_the_grid() {
        let plan = plan(
            &[
                ("train.batch", &["8", "16"]),
                ("train.optimizer.lr", &["1e-3", "1e-2"]),
            ],
            3,
        )
        .unwrap();
        assert_eq!((plan.runs(), plan.points()), (12, 4));
        let run = plan.run(7);
        assert_eq!(
            plan.overrides(&run),
            ["train.batch=16", "train.optimizer.lr=1e-3"]
        );
        assert_eq!(run.seed, 1);
        let recipe = plan.recipe(&run).unwrap();
        assert_eq!(
            (recipe.train.batch, recipe.seeds.data, recipe.seeds.init),
            (16, 1, 1)
        );
        let mut all = identities(&plan);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 12);
    }

    #[test]
    fn a_sweep_grows_and_no_run_changes_its_number() {
        let first = plan(&[("train.batch", &["8", "16"])], 2).unwrap();
        let before = identities(&first);
        // More seeds, another value, another key with the base's value among its own.
        let seeds = plan(&[("train.batch", &["8", "16"])], 3).unwrap();
        let grown = first.grown(&seeds).unwrap().unwrap();
        assert_eq!(grown.runs(), 6);
        let value = plan(&[("train.batch", &["24", "16", "8"])], 3).unwrap();
        let grown = grown.grown(&value).unwrap().unwrap();
        assert_eq!(grown.runs(), 9);
        let key = plan(
            &[("train.batch", &["8", "16"]), ("model.heads", &["1", "2"])],
            1,
        )
        .unwrap();
        let grown = grown.grown(&key).unwrap().unwrap();
        assert_eq!(grown.runs(), 11);
        assert_eq!(grown.keys(), ["train.batch", "model.heads"]);
        assert_eq!(grown.values(&grown.run(0)), ["8", "1"]);
        assert_eq!(grown.values(&grown.run(10)), ["16", "2"]);
        let all = identities(&grown);
        assert_eq!(all[..before.len()], before);
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
        // Nothing new, nothing grown.
        assert_eq!(grown.grown(&seeds).unwrap(), None);
        let again = Plan::from_json(&grown.to_json()).unwrap();
        assert_eq!(identities(&again), all);
    }

    #[test]
    fn every_grid_has_the_cost_that_was_measured_for_it() {
        let cost = |seconds, factors| Cost {
            seconds,
            factors: vec![factors],
            level: String::new(),
        };
        let mut small = plan(&[("train.batch", &["8", "16"])], 1).unwrap();
        small.set_cost(cost(1.0, vec![1.0, 2.0]));
        let mut large = plan(&[("train.steps", &["1000", "90000"])], 1).unwrap();
        large.set_cost(cost(7.0, vec![1.0, 90.0]));
        let grown = small.grown(&large).unwrap().unwrap();
        let seconds = |number| grown.seconds(&grown.run(number));
        assert_eq!([0, 1, 2, 3].map(seconds), [1.0, 2.0, 7.0, 630.0]);
    }

    #[test]
    fn another_recipe_is_refused_with_what_differs() {
        let here = plan(&[("train.batch", &["8", "16"])], 2).unwrap();
        let mut study = Study::new("main", Seeds::first(2));
        study.vary = here.grids[0].vary.clone();
        let mut base = Recipe::default();
        base.train.steps = 77;
        let Differs(differs) = here.grown(&Plan::new(&study, &base).unwrap()).unwrap_err();
        assert_eq!(differs.len(), 1);
        assert!(
            differs[0].contains("train.steps") && differs[0].contains("77"),
            "{differs:?}"
        );
    }

    #[test]
    fn a_plan_changed_by_hand_is_noticed() {
        let text = plan(&[("train.batch", &["8", "16"])], 2).unwrap().to_json();
        assert!(Plan::from_json(&text.replace("\"16\"", "\"17\"")).is_err());
        assert!(Plan::from_json(&text[..text.len() / 2]).is_err());
    }

    #[test]
    fn mistakes_are_found_before_anything_is_made() {
        let ten: Vec<String> = (0..10).map(|value| value.to_string()).collect();
        let ten: Vec<&str> = ten.iter().map(String::as_str).collect();
        let names: Vec<String> = (0..9).map(|key| format!("k{key}")).collect();
        let many: Vec<(&str, &[&str])> =
            names.iter().map(|name| (name.as_str(), &ten[..])).collect();
        let cases: [(Vary, &str); 6] = [
            (&many, "1000000000 runs"),
            (&[("train.rate", &["1"])], "train.rate"),
            (&[("train.steps", &["1", "1"])], "repeated"),
            (
                &[("train.optimizer.lr", &["1e-3", "0.001"])],
                "the same runs",
            ),
            (&[("seeds.data", &["1"])], "seeds"),
            (&[("train.steps", &[])], "no values"),
        ];
        for (vary, word) in cases {
            let refused = plan(vary, 1).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }
}
