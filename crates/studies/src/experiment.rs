//! What is trained: the paper's settings, each a recipe with a number of seeds.

use induct::Invalid;
use induct::catalogue::Setting;
use induct::measure;
use induct::train::{Recipe, RecipeError, RecordSpec};

/// The scale of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A few seeds, which takes minutes.
    Quick,
    /// At least twenty seeds per claim.
    Full,
}

/// One setting of the paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name, also of its runs and files.
    pub id: String,
    /// What it is, in one line.
    pub about: &'static str,
    /// The recipe of its first seed.
    pub recipe: Recipe,
    /// Number of seeds.
    pub seeds: u64,
}

impl Experiment {
    /// The recipe with another seed for both initialisation and data. Test sets stay the same. Snapshots
    /// during training are kept for the first seed only.
    pub fn with_seed(&self, seed: u64) -> Recipe {
        let mut recipe = self.recipe.clone();
        (recipe.seeds.init, recipe.seeds.data) = (seed, seed);
        if seed > 0 {
            recipe.record.snapshots = 1;
        }
        recipe
    }
}

/// The values of p for the interpolated priors.
pub const INTERPOLATED: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The names of the experiments that train on them, in the same order.
pub const INTERPOLATED_NAMES: [&str; 11] = [
    "interpolated-0.0",
    "interpolated-0.1",
    "interpolated-0.2",
    "interpolated-0.3",
    "interpolated-0.4",
    "interpolated-0.5",
    "interpolated-0.6",
    "interpolated-0.7",
    "interpolated-0.8",
    "interpolated-0.9",
    "interpolated-1.0",
];

/// The name of the experiment that trains on the prior interpolated at `p`.
pub fn interpolated(p: f64) -> String {
    format!("interpolated-{p:.1}")
}

/// The experiments that compare one layer with two.
pub const LAYERS: [&str; 5] = [
    ONE_LAYER[0].0,
    ONE_LAYER[1].0,
    ONE_LAYER[2].0,
    ONE_LAYER[3].0,
    "two-layers-short",
];

/// The four one-layer models: name and description.
pub const ONE_LAYER: [(&str, &str); 4] = [
    ("one-layer-relative", "one layer, relative positions"),
    (
        "one-layer-relative-mlp",
        "one layer with an MLP, relative positions",
    ),
    ("one-layer-absolute", "one layer, absolute positions"),
    (
        "one-layer-absolute-mlp",
        "one layer with an MLP, absolute positions",
    ),
];

/// A planned experiment: a setting of the catalogue, the number of seeds in a quick and in a full
/// reproduction, and what is recorded.
struct Plan {
    setting: &'static str,
    seeds: [u64; 2],
    /// Steps between records.
    every: u64,
    /// Snapshots of the first seed.
    snapshots: u64,
    /// Whether the positional profile is recorded.
    profile: bool,
}

const fn plan(setting: &'static str, seeds: [u64; 2], every: u64) -> Plan {
    Plan {
        setting,
        seeds,
        every,
        snapshots: 1,
        profile: false,
    }
}

const fn with_snapshots(plan: Plan) -> Plan {
    Plan {
        snapshots: 160,
        ..plan
    }
}

/// All experiments.
const PLANS: [Plan; 28] = [
    with_snapshots(plan("main", [17, 60], 25)),
    with_snapshots(plan("three-states", [3, 20], 25)),
    plan("three-states-more-heads", [2, 20], 50),
    with_snapshots(plan("minimal", [18, 60], 25)),
    Plan {
        profile: true,
        ..plan("minimal-start", [18, 60], 1)
    },
    with_snapshots(plan("minimal-three-states", [4, 20], 25)),
    plan("interpolated-0.0", [2, 20], 25),
    plan("interpolated-0.1", [2, 20], 25),
    plan("interpolated-0.2", [2, 20], 25),
    plan("interpolated-0.3", [2, 20], 25),
    plan("interpolated-0.4", [2, 20], 25),
    plan("interpolated-0.5", [2, 20], 25),
    plan("interpolated-0.6", [2, 20], 25),
    plan("interpolated-0.7", [2, 20], 25),
    plan("interpolated-0.8", [2, 20], 25),
    plan("interpolated-0.9", [2, 20], 25),
    plan("interpolated-1.0", [2, 20], 25),
    plan("trigram", [2, 20], 20),
    plan("trigram-one-head", [2, 20], 20),
    plan("five-states", [2, 20], 50),
    plan("eight-states", [2, 20], 50),
    plan("two-layers-short", [4, 20], 10),
    plan("one-layer-relative", [2, 20], 80),
    plan("one-layer-relative-mlp", [2, 20], 80),
    plan("one-layer-absolute", [2, 20], 80),
    plan("one-layer-absolute-mlp", [2, 20], 80),
    plan("printed-rate", [1, 1], 200),
    plan("released-rate", [1, 1], 25),
];

/// Changes to the planned experiments.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The number of seeds of each experiment.
    pub seeds: Option<u64>,
    /// Overrides for every recipe, as on the command line: `train.steps=100`.
    pub set: Vec<String>,
}

/// Why an experiment cannot be trained with the requested changes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("experiment {experiment}: {error}")]
pub struct Unsound {
    /// The name of the experiment.
    pub experiment: &'static str,
    /// What is wrong with its recipe.
    pub error: RecipeError,
}

/// The experiments whose names are wanted, at a scale.
pub fn experiments(
    scale: Scale,
    changes: &Changes,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Experiment>, Unsound> {
    let wanted = PLANS.iter().filter(|plan| wanted(plan.setting));
    let make = |plan: &Plan| plan.experiment(scale, changes);
    wanted.map(make).collect()
}

impl Plan {
    fn experiment(&self, scale: Scale, changes: &Changes) -> Result<Experiment, Unsound> {
        let setting = Setting::named(self.setting).expect("plans name settings of the catalogue");
        let mut overrides = vec![
            format!("record.every={}", self.every),
            format!("record.snapshots={}", self.snapshots),
        ];
        if self.profile {
            let mut measures: Vec<&str> = measure::DEFAULT.to_vec();
            measures.push(measure::POSITIONAL_PROFILE.name);
            overrides.push(format!("record.measures={measures:?}"));
        }
        overrides.extend(changes.set.iter().cloned());
        let unsound = |error| Unsound {
            experiment: self.setting,
            error,
        };
        let recipe = setting.recipe(&overrides).map_err(unsound)?;
        check_records(&recipe).map_err(|invalid| unsound(invalid.into()))?;
        let [quick, full] = self.seeds;
        let planned = if scale == Scale::Quick { quick } else { full };
        Ok(Experiment {
            id: self.setting.to_owned(),
            about: setting.about,
            recipe,
            seeds: changes.seeds.unwrap_or(planned),
        })
    }
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
    fn every_recipe_is_sound_and_has_its_own_name() {
        let all = experiments(Scale::Full, &Changes::default(), |_| true).unwrap();
        for (index, experiment) in all.iter().enumerate() {
            experiment.recipe.check().unwrap();
            assert_eq!(experiment.recipe.name, experiment.id);
            assert!(all[..index].iter().all(|other| other.id != experiment.id));
        }
        let lone = |e: &&Experiment| e.seeds < 20;
        let lone: Vec<&str> = all.iter().filter(lone).map(|e| e.id.as_str()).collect();
        assert_eq!(lone, ["printed-rate", "released-rate"]);
    }

    #[test]
    fn interpolated_priors_have_their_names() {
        assert_eq!(INTERPOLATED.map(interpolated), INTERPOLATED_NAMES);
    }

    #[test]
    fn a_seed_changes_nothing_but_seeds() {
        let changes = Changes {
            seeds: Some(2),
            set: vec!["train.steps=100".into()],
        };
        let main = &experiments(Scale::Quick, &changes, |id| id == "main").unwrap()[0];
        assert_eq!(main.recipe.train.steps, 100);
        let mut other = main.with_seed(7);
        assert_ne!(other, main.recipe);
        other.seeds = main.recipe.seeds;
        // Snapshots during training are kept for the first seed only.
        assert_eq!(other.record.snapshots, 1);
        other.record.snapshots = main.recipe.record.snapshots;
        assert_eq!(other, main.recipe);
        assert_eq!(main.with_seed(0), main.recipe);
        assert_eq!(main.seeds, 2);
    }
}
