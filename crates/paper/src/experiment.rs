//! What is trained: the paper's settings, each a recipe with a number of seeds.

use induct::train::{Recipe, RecipeError};

/// How much is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A few seeds: minutes.
    Quick,
    /// At least twenty seeds a claim.
    Full,
}

/// One setting of the paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name; runs and files carry it.
    pub id: String,
    /// What it is, in a line.
    pub about: &'static str,
    /// The recipe of its first seed.
    pub recipe: Recipe,
    /// Number of seeds.
    pub seeds: u64,
}

impl Experiment {
    /// The recipe with another seed, for the weights' start and the data alike. Test sets stay the same.
    pub fn with_seed(&self, seed: u64) -> Recipe {
        let mut recipe = self.recipe.clone();
        (recipe.seeds.init, recipe.seeds.data) = (seed, seed);
        recipe
    }
}

/// The values of p of the interpolated priors.
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

/// One layer, all four ways: name, what it is, what differs.
pub const ONE_LAYER: [(&str, &str, &[&str]); 4] = [
    ("one-layer-relative", "one layer, relative positions", &[]),
    (
        "one-layer-relative-mlp",
        "one layer with an MLP, relative positions",
        &["model.mlp=true"],
    ),
    (
        "one-layer-absolute",
        "one layer, absolute positions",
        &["model.positions=absolute"],
    ),
    (
        "one-layer-absolute-mlp",
        "one layer with an MLP, absolute positions",
        &["model.mlp=true", "model.positions=absolute"],
    ),
];

/// The minimal model as the paper trains it: plain SGD, W_k = 0 and v constant at the start.
const MINIMAL: [&str; 4] = [
    "train.steps=3000",
    "model.kind=minimal",
    "model.start={kind=\"constant\", w=0.0, v=0.01}",
    "train.optimizer={kind=\"sgd\", lr=2e-3}",
];

/// Trigrams with the paper's context length.
const TRIGRAM: [&str; 7] = [
    "record.every=20",
    "task.ngram=3",
    "task.length=200",
    "model.width=24",
    "train.batch=32",
    "train.steps=2400",
    "train.optimizer.lr=5e-3",
];

/// More states with the paper's context length.
const MORE_STATES: [&str; 4] = [
    "record.every=50",
    "task.length=200",
    "model.width=32",
    "train.batch=32",
];

/// How experiments are to differ from what is planned.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// This many seeds of each.
    pub seeds: Option<u64>,
    /// Keys of every recipe that are set otherwise, as on the command line: `train.steps=100`.
    pub set: Vec<String>,
}

/// Those that are wanted by name, at a scale.
pub fn experiments(
    scale: Scale,
    changes: &Changes,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Experiment>, RecipeError> {
    let mut all = Vec::new();
    // What is not set is as in the main recipe, which is that of `Recipe::default`.
    let mut add = |id: &str, about: &'static str, [quick, full]: [u64; 2], set: &[&[&str]]| {
        if !wanted(id) {
            return;
        }
        let mut overrides = vec![
            format!("name=\"{id}\""),
            "record.snapshots=1".into(),
            "record.every=25".into(),
        ];
        overrides.extend(set.concat().iter().map(|&set| set.to_owned()));
        overrides.extend(changes.set.iter().cloned());
        let planned = if scale == Scale::Quick { quick } else { full };
        let recipe = Recipe::from_toml("", &overrides);
        all.push(recipe.map(|recipe| Experiment {
            id: id.to_owned(),
            about,
            recipe,
            seeds: changes.seeds.unwrap_or(planned),
        }));
    };
    let snapshots: &[&str] = &["record.snapshots=160"];
    add(
        "main",
        "two states, two layers of one head",
        [17, 60],
        &[snapshots],
    );
    let three: &[&str] = &["task.states=3"];
    add(
        "three-states",
        "three states, the paper's single head",
        [3, 20],
        &[three, &["train.steps=3000"]],
    );
    add(
        "three-states-more-heads",
        "three states, three heads in the second layer",
        [2, 20],
        &[
            three,
            &[
                "model.heads=[1, 3]",
                "model.width=24",
                "train.steps=2000",
                "record.every=50",
            ],
            &["train.optimizer.lr=3e-3"],
            &["train.schedule={kind=\"cosine\", floor=0.1}"],
        ],
    );
    add(
        "minimal",
        "the minimal model, two states",
        [18, 60],
        &[&MINIMAL, snapshots],
    );
    add(
        "minimal-start",
        "the minimal model, two states: the first steps, each recorded",
        [18, 60],
        &[&MINIMAL, &["train.steps=60", "record.every=1"]],
    );
    add(
        "minimal-three-states",
        "the minimal model, three states",
        [4, 20],
        &[&MINIMAL, three],
    );
    for p in INTERPOLATED {
        // Trained on the interpolated prior, measured on the task's own.
        let curriculum =
            format!("train.curriculum=[{{from=0, prior={{kind=\"interpolated\", p={p:.1}}}}}]");
        add(
            &interpolated(p),
            "two states, chains from an interpolated prior",
            [2, 20],
            &[&[&curriculum, "train.steps=1400", "train.optimizer.lr=3e-3"]],
        );
    }
    add(
        "trigram",
        "trigrams, three heads a layer",
        [2, 20],
        &[&TRIGRAM, &["model.heads=3"]],
    );
    add(
        "trigram-one-head",
        "trigrams, one head a layer",
        [2, 20],
        &[&TRIGRAM],
    );
    add(
        "five-states",
        "five states",
        [2, 20],
        &[
            &MORE_STATES,
            &[
                "task.states=5",
                "train.optimizer.lr=5e-3",
                "train.steps=1500",
            ],
        ],
    );
    add(
        "eight-states",
        "eight states",
        [2, 20],
        &[
            &MORE_STATES,
            &[
                "task.states=8",
                "train.optimizer.lr=1e-2",
                "train.steps=1200",
            ],
        ],
    );
    // One layer, eight times as long as two layers take in the same setting.
    let short: &[&str] = &["train.batch=32", "train.optimizer.lr=1e-2"];
    add(
        "two-layers-short",
        "two layers, for comparison with one",
        [4, 20],
        &[short, &["train.steps=400", "record.every=10"]],
    );
    for (id, about, set) in ONE_LAYER {
        add(
            id,
            about,
            [2, 20],
            &[
                short,
                set,
                &["model.layers=1", "train.steps=3200", "record.every=80"],
            ],
        );
    }
    add(
        "printed-rate",
        "the main setting at the learning rate of the paper's text, 3e-5",
        [1, 1],
        &[&[
            "train.optimizer.lr=3e-5",
            "train.steps=12000",
            "record.every=200",
        ]],
    );
    add(
        "released-rate",
        "the main setting at the learning rate of the released code, 5e-4",
        [1, 1],
        &[&["train.optimizer.lr=5e-4", "train.steps=5000"]],
    );
    all.into_iter().collect()
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
        assert_eq!(other, main.recipe);
        assert_eq!(main.seeds, 2);
    }
}
