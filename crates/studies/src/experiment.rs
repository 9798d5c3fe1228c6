//! What is trained: settings, each with its seeds and what is recorded.

use induct::Invalid;
use induct::catalogue::Setting;
use induct::measure;
use induct::recipe::{Recipe, RecipeError, RecordSpec};
use serde::Deserialize;

use crate::claim::words;
use crate::plateau;
use crate::reproduction::LOOKS;

/// The setting called `name`, of the catalogue or of a study.
pub fn setting(name: &str) -> Option<&'static Setting> {
    let of_study = || {
        plateau::SETTINGS
            .iter()
            .find(|setting| setting.name == name)
    };
    Setting::named(name).or_else(of_study)
}

/// One or more experiments as a study plans them: a row of its `experiments.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The names of the [`setting`]s, and of their runs and files; braces as in a shell: `main{,-clamped}`.
    settings: String,
    /// Number of seeds in a quick reproduction.
    pub quick: u64,
    /// The most seeds in a full one: it stops earlier when all core parts are decided.
    most: u64,
    /// Whether a full one has all of them, decided or not.
    #[serde(default)]
    all_seeds: bool,
    /// Steps between records.
    every: u64,
    /// Snapshots of the first seed, and of every other seed: of the final weights only, if not given.
    #[serde(default = "last_only")]
    snapshots: [u64; 2],
    /// Whether the positional profile is recorded.
    #[serde(default)]
    profile: bool,
    /// Strategies that the final models are compared with, beside the ladder.
    #[serde(default)]
    exam: Vec<String>,
    /// Further ones that only the first seed's model is compared with, since they take long.
    #[serde(default)]
    first_exam: Vec<String>,
}

fn last_only() -> [u64; 2] {
    [1, 1]
}

impl Plan {
    /// The fewest seeds in a full reproduction.
    pub fn least(&self) -> u64 {
        match self.all_seeds {
            true => self.most,
            false => LOOKS[0].min(self.most),
        }
    }

    /// Its settings.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &'static Setting> {
        let names = words(&self.settings).into_iter();
        names.map(|name| setting(&name).expect("plans name settings"))
    }

    /// The experiment that trains one of its settings, with changes.
    pub(crate) fn experiment(
        &'static self,
        setting: &'static Setting,
        changes: &Changes,
    ) -> Result<Experiment, InvalidExperiment> {
        let mut overrides = vec![
            format!("record.every={}", self.every),
            format!("record.snapshots={}", self.snapshots[0]),
        ];
        if self.profile {
            let mut measures: Vec<&str> = measure::DEFAULT.to_vec();
            measures.push(measure::POSITIONAL_PROFILE.name);
            overrides.push(format!("record.measures={measures:?}"));
        }
        overrides.extend(changes.set.iter().cloned());
        let refuse = |error| InvalidExperiment {
            experiment: setting.name,
            error,
        };
        let mut recipe = setting.recipe(&overrides).map_err(refuse)?;
        check_records(&recipe).map_err(|invalid| refuse(invalid.into()))?;
        // Refuse before the work rather than after it.
        let task = recipe
            .own_task()
            .map_err(|invalid| refuse(invalid.into()))?;
        for name in self.exam.iter().chain(&self.first_exam) {
            task.strategy(name)
                .map_err(|invalid| refuse(invalid.into()))?;
        }
        let snapshots = recipe.record.snapshots;
        seed(&mut recipe, changes.first_seed);
        Ok(Experiment {
            id: setting.name,
            about: setting.about,
            origin: setting.origin.name(),
            recipe,
            later_snapshots: self.snapshots[1].min(snapshots),
            exam: &self.exam,
            first_exam: &self.first_exam,
            most: self.most,
        })
    }
}

/// An experiment of a reproduction.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name, also of its runs and files.
    pub id: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Where its setting comes from, in a word.
    pub origin: &'static str,
    /// The recipe of its first seed.
    pub recipe: Recipe,
    exam: &'static [String],
    first_exam: &'static [String],
    /// The most seeds of a full reproduction.
    pub most: u64,
    later_snapshots: u64,
}

impl Experiment {
    /// The recipe of run number `index`. Every run has its own seed, for initialisation, data and test sets
    /// alike, so that differences between runs include the test sets' error.
    pub fn recipe(&self, index: u64) -> Recipe {
        let mut recipe = self.recipe.clone();
        if index > 0 {
            seed(&mut recipe, self.recipe.seeds.init + index);
            recipe.record.snapshots = self.later_snapshots;
        }
        recipe
    }

    /// The strategies in the exam of run number `index`, beside the ladder.
    pub(crate) fn exam(&self, index: u64) -> Vec<&'static str> {
        let first = if index == 0 { self.first_exam } else { &[] };
        let names = self.exam.iter().chain(first);
        names.map(String::as_str).collect()
    }

    /// The seed of run number `index`.
    pub fn seed(&self, index: u64) -> u64 {
        self.recipe.seeds.init + index
    }
}

fn seed(recipe: &mut Recipe, seed: u64) {
    let seeds = &mut recipe.seeds;
    (seeds.init, seeds.data, seeds.eval) = (seed, seed, seed);
}

/// The scale of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A few seeds, which takes minutes.
    Quick,
    /// Batches of seeds, until every core part is decided or an experiment has all its seeds.
    Full,
}

/// Changes to the planned experiments.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The number of seeds of each experiment.
    pub seeds: Option<u64>,
    /// The first seed of each experiment.
    pub first_seed: u64,
    /// Overrides for every recipe, as on the command line: `train.steps=100`.
    pub set: Vec<String>,
}

/// Why an experiment cannot be trained with the requested changes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("experiment {experiment}: {error}")]
pub struct InvalidExperiment {
    /// The name of the experiment.
    pub experiment: &'static str,
    /// What is wrong with its recipe.
    pub error: RecipeError,
}

/// Checks that the recipe records the measures and test sets that figures and claims read.
fn check_records(recipe: &Recipe) -> Result<(), Invalid> {
    let needed = RecordSpec::default();
    for name in &needed.measures {
        if !recipe.record.measures.contains(name) {
            let shown = format!("{:?}", recipe.record.measures);
            let allowed = format!("figures and claims need \"{name}\" among them");
            return Err(Invalid::new("record.measures", shown, allowed));
        }
    }
    for test in &needed.tests {
        if !recipe.record.tests.contains(test) {
            let names: Vec<&str> = recipe
                .record
                .tests
                .iter()
                .map(|t| t.name.as_str())
                .collect();
            let allowed = format!("figures and claims need the test set \"{}\"", test.name);
            return Err(Invalid::new("record.tests", format!("{names:?}"), allowed));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_studies_are_valid_recipes_under_names_of_their_own() {
        for own in plateau::SETTINGS.iter() {
            assert!(setting(own.name).is_some_and(|found| std::ptr::eq(found, own)));
            assert_eq!(own.recipe(&[]).unwrap().name, own.name);
        }
    }
}
