//! Every named setting. Presets, the report's experiments and the benchmark's settings all come from here, so
//! that one name means one thing.

mod plateau;

use crate::train::{Recipe, RecipeError};

/// A named setting.
///
/// ```
/// use induct::catalogue::Setting;
///
/// let setting = Setting::named("three-states").expect("it is in the catalogue");
/// assert_eq!(setting.recipe(&[])?.task.states, 3);
/// # Ok::<(), induct::train::RecipeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it is or shows, in one line.
    pub about: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether `induct presets` lists it. The others are points of a series, or settings of the benchmark.
    pub listed: bool,
    /// What differs from [`Recipe::default`], as `key.path=value`.
    differs: &'static [&'static str],
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// As printed in the paper.
    Printed,
    /// As in the authors' released code.
    Released,
    /// As we recommend it: the paper's model and task, with rates and sizes that show the same in less time.
    Recommended,
}

impl Origin {
    /// The origin in one word.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Printed => "printed",
            Origin::Released => "released",
            Origin::Recommended => "recommended",
        }
    }
}

impl Setting {
    /// The setting called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|setting| setting.name == name)
    }

    /// All settings: those of the catalogue proper, then those that a study's interventions multiply.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        SETTINGS.iter().chain(plateau::settings())
    }

    /// Its recipe, with overrides.
    pub fn recipe(&self, overrides: &[String]) -> Result<Recipe, RecipeError> {
        let mut all = vec![format!("name=\"{}\"", self.name)];
        all.extend(self.differs.iter().map(|&text| text.to_owned()));
        all.extend(overrides.iter().cloned());
        Recipe::from_toml("", &all)
    }
}

const fn preset(
    name: &'static str,
    about: &'static str,
    origin: Origin,
    differs: &'static [&'static str],
) -> Setting {
    Setting {
        name,
        about,
        origin,
        listed: true,
        differs,
    }
}

/// A setting that `induct presets` does not list.
const fn further(
    name: &'static str,
    about: &'static str,
    origin: Origin,
    differs: &'static [&'static str],
) -> Setting {
    Setting {
        listed: false,
        ..preset(name, about, origin, differs)
    }
}

use Origin::{Printed, Recommended, Released};

const SGD: &str = "train.optimizer={kind=\"sgd\", lr=2e-3}";
const RELEASED_TASK: &str = "task.start=uniform";
const RELEASED_MODEL: &str = "model={positions=\"relative-query\", layer_norm=true, dropout=0.1, \
                              output_projection=\"always\", init_std={default=0.02, W_O=0.01}}";
const NOT_TRAINED: &str = "train.steps=0";

/// A point of the series of priors with ever less unigram signal: trained on the interpolated prior, measured
/// on the task's prior.
macro_rules! interpolated {
    ($p:literal) => {
        further(
            concat!("interpolated-", $p),
            "two states, chains from an interpolated prior",
            Recommended,
            &[
                concat!(
                    "train.curriculum=[{from=0, prior={kind=\"interpolated\", p=",
                    $p,
                    "}}]"
                ),
                "train.steps=1400",
                "train.optimizer.lr=3e-3",
            ],
        )
    };
}

/// The same for what the released code trains.
macro_rules! released_interpolated {
    ($p:literal) => {
        further(
            concat!("released-interpolated-", $p),
            "what the released code trains, on chains from an interpolated prior",
            Released,
            &[
                RELEASED_TASK,
                RELEASED_MODEL,
                concat!(
                    "train.curriculum=[{from=0, prior={kind=\"interpolated\", p=",
                    $p,
                    "}}]"
                ),
                "train.optimizer.lr=5e-4",
                "train.steps=2000",
            ],
        )
    };
}

/// All settings.
pub const SETTINGS: &[Setting] = &[
    preset(
        "main",
        "two states, two layers of one head: uniform, then unigram, then a sudden drop to bigram",
        Recommended,
        &[],
    ),
    preset(
        "three-states",
        "three states with the paper's single head, which ends farther from bigram",
        Recommended,
        &["task.states=3", "train.steps=3000"],
    ),
    preset(
        "three-states-more-heads",
        "three states, three heads in the second layer: comes nearer to bigram",
        Recommended,
        &[
            "task.states=3",
            "model.heads=[1, 3]",
            "model.width=24",
            "train.steps=2000",
            "train.optimizer.lr=3e-3",
            "train.schedule={kind=\"cosine\", floor=0.1}",
        ],
    ),
    preset(
        "three-states-three-heads",
        "three states, three heads per layer: ends near bigram",
        Recommended,
        &[
            "task.states=3",
            "model.heads=3",
            "model.width=24",
            "train.optimizer.lr=2e-3",
            "train.schedule={kind=\"cosine\", warmup=100, floor=0.1}",
        ],
    ),
    preset(
        "five-states",
        "five states and a longer context",
        Recommended,
        &[
            "task.states=5",
            "task.length=200",
            "model.width=32",
            "train.batch=32",
            "train.optimizer.lr=3e-3",
            "train.steps=4000",
        ],
    ),
    preset(
        "eight-states",
        "eight states and a longer context",
        Recommended,
        &[
            "task.states=8",
            "task.length=200",
            "model.width=32",
            "train.batch=32",
            "train.optimizer.lr=2e-3",
            "train.steps=6000",
        ],
    ),
    preset(
        "trigram",
        "trigrams, three heads per layer: uniform, unigram, bigram, trigram",
        Recommended,
        &[
            "task.ngram=3",
            "task.length=200",
            "model.width=24",
            "model.heads=3",
            "train.batch=32",
            "train.steps=2400",
            "train.optimizer.lr=5e-3",
        ],
    ),
    preset(
        "trigram-one-head",
        "trigrams, one head per layer: hardly passes bigrams",
        Recommended,
        &[
            "task.ngram=3",
            "task.length=200",
            "model.width=24",
            "train.batch=32",
            "train.steps=2400",
            "train.optimizer.lr=5e-3",
        ],
    ),
    preset(
        "printed-trigram",
        "trigrams at the learning rate of the paper's text, 3e-2",
        Printed,
        &[
            "task.ngram=3",
            "task.length=200",
            "model.width=24",
            "model.heads=3",
            "train.optimizer.lr=3e-2",
            "train.steps=1200",
        ],
    ),
    preset(
        "printed-trigram-one-head",
        "the same with one head per layer",
        Printed,
        &[
            "task.ngram=3",
            "task.length=200",
            "model.width=24",
            "train.optimizer.lr=3e-2",
            "train.steps=1200",
        ],
    ),
    preset(
        "one-layer",
        "one layer: ends a little below the unigram level, and never drops to bigram",
        Recommended,
        &["model.layers=1"],
    ),
    preset(
        "minimal",
        "the paper's minimal model, two states",
        Printed,
        &[
            "model.kind=minimal",
            "model.start={kind=\"constant\", w=0.0, v=0.01}",
            SGD,
            "train.steps=3000",
        ],
    ),
    preset(
        "minimal-three-states",
        "the paper's minimal model, three states",
        Printed,
        &[
            "task.states=3",
            "model.kind=minimal",
            "model.start={kind=\"constant\", w=0.0, v=0.01}",
            SGD,
            "train.steps=3000",
        ],
    ),
    preset(
        "construction",
        "the hand-made two-layer transformer that counts bigrams (not trained)",
        Printed,
        &[
            "model.width=6",
            "model.start={kind=\"bigram\", sharpness=100.0, output_scale=2.5}",
            NOT_TRAINED,
        ],
    ),
    preset(
        "construction-minimal-unigram",
        "the minimal model's weights that count symbols (not trained; logits are raw counts)",
        Printed,
        &["model.kind=minimal", "model.start=unigram", NOT_TRAINED],
    ),
    preset(
        "construction-minimal-bigram",
        "the minimal model's weights that count transitions (not trained; logits are raw counts)",
        Printed,
        &["model.kind=minimal", "model.start=bigram", NOT_TRAINED],
    ),
    preset(
        "printed",
        "the main setting at the learning rate of the paper's text, 3e-5",
        Printed,
        &["train.optimizer.lr=3e-5", "train.steps=80000"],
    ),
    preset(
        "printed-three-states",
        "the same for three states",
        Printed,
        &[
            "task.states=3",
            "train.optimizer.lr=3e-5",
            "train.steps=80000",
        ],
    ),
    preset(
        "released",
        "what the released code trains: layer norm, dropout, a projection after every head, uniform starts",
        Released,
        &[
            RELEASED_TASK,
            RELEASED_MODEL,
            "train.optimizer.lr=5e-4",
            "train.steps=2000",
        ],
    ),
    preset(
        "released-three-states",
        "the same for three states",
        Released,
        &[
            "task.states=3",
            RELEASED_TASK,
            RELEASED_MODEL,
            "train.optimizer.lr=5e-4",
            "train.steps=4000",
        ],
    ),
    further(
        "minimal-start",
        "the minimal model, two states: the first steps, each recorded",
        Printed,
        &[
            "model.kind=minimal",
            "model.start={kind=\"constant\", w=0.0, v=0.01}",
            SGD,
            "train.steps=60",
            "record.every=1",
        ],
    ),
    interpolated!("0.0"),
    interpolated!("0.1"),
    interpolated!("0.2"),
    interpolated!("0.3"),
    interpolated!("0.4"),
    interpolated!("0.5"),
    interpolated!("0.6"),
    interpolated!("0.7"),
    interpolated!("0.8"),
    interpolated!("0.9"),
    interpolated!("1.0"),
    released_interpolated!("0.5"),
    released_interpolated!("1.0"),
    further(
        "one-layer-relative",
        "one layer, relative positions",
        Recommended,
        &["model.layers=1", "train.steps=16000"],
    ),
    further(
        "one-layer-relative-mlp",
        "one layer with an MLP, relative positions",
        Recommended,
        &["model.layers=1", "model.mlp=true", "train.steps=16000"],
    ),
    further(
        "one-layer-absolute",
        "one layer, absolute positions",
        Recommended,
        &[
            "model.layers=1",
            "model.positions=absolute",
            "train.steps=16000",
        ],
    ),
    further(
        "one-layer-absolute-mlp",
        "one layer with an MLP, absolute positions",
        Recommended,
        &[
            "model.layers=1",
            "model.mlp=true",
            "model.positions=absolute",
            "train.steps=16000",
        ],
    ),
    further(
        "released-one-layer",
        "one layer of what the released code trains",
        Released,
        &[
            RELEASED_TASK,
            RELEASED_MODEL,
            "model.layers=1",
            "train.optimizer.lr=5e-4",
            "train.steps=16000",
        ],
    ),
    further(
        "eight-states-two-heads",
        "eight states, two heads in the second layer",
        Recommended,
        &[
            "task.states=8",
            "task.length=200",
            "model.width=32",
            "model.heads=[1, 2]",
            "train.batch=32",
            "train.optimizer.lr=2e-3",
            "train.steps=6000",
        ],
    ),
    further(
        "three-states-from-construction",
        "three states, trained from the hand-made weights that count bigrams",
        Recommended,
        &[
            "task.states=3",
            "model.width=9",
            "model.start={kind=\"bigram\", sharpness=20.0, output_scale=2.5}",
            "train.steps=3000",
        ],
    ),
    further(
        "rate-1e-4",
        "the main setting at a learning rate of 1e-4",
        Recommended,
        &["train.optimizer.lr=1e-4", "train.steps=24000"],
    ),
    further(
        "rate-3e-4",
        "the main setting at a learning rate of 3e-4",
        Recommended,
        &["train.optimizer.lr=3e-4", "train.steps=8000"],
    ),
    further(
        "minimal-uniform-start",
        "the minimal model from constant W_k and v, as in the lemma",
        Printed,
        &[
            "model.kind=minimal",
            "model.start={kind=\"constant\", w=0.01, v=0.01}",
            SGD,
            "train.steps=3000",
        ],
    ),
    further(
        "minimal-slow-second-layer",
        "the same with a tenth of the learning rate for W_k",
        Printed,
        &[
            "model.kind=minimal",
            "model.start={kind=\"constant\", w=0.01, v=0.01}",
            SGD,
            "train.groups=[{name=\"W_k\", lr=2e-4}]",
            "train.steps=3000",
        ],
    ),
    further(
        "trigram-wide",
        "trigrams with a width of 48, to be timed",
        Recommended,
        &[
            "task.ngram=3",
            "task.length=200",
            "model.width=48",
            "model.heads=3",
        ],
    ),
    further(
        "many-states",
        "ten states and a longer context, to be timed",
        Recommended,
        &["task.states=10", "task.length=200", "model.width=32"],
    ),
    further(
        "one-layer-mlp",
        "one layer with an MLP and absolute positions at the main rate and batch, to be timed",
        Recommended,
        &[
            "model.layers=1",
            "model.mlp=true",
            "model.positions=absolute",
        ],
    ),
    further(
        "relative-query",
        "positions that meet the query, to be timed",
        Recommended,
        &["model.positions=relative-query"],
    ),
    further(
        "layer-norm",
        "the main setting with layer norm, to be timed",
        Recommended,
        &["model.layer_norm=true"],
    ),
    preset(
        "clamped",
        "two states, layer 1 clamped to the previous token: what is left of the plateau",
        Recommended,
        &["intervene=[{kind=\"clamp\", at=\"layers.0\", pattern=\"previous-token\"}]"],
    ),
    preset(
        "critical-window",
        "two states, layer 2 frozen for the first 100 steps: the head does not form well",
        Recommended,
        &["intervene=[{kind=\"freeze\", group=\"layers.1\", until=100}]"],
    ),
    further(
        "many-interventions",
        "two states, interventions of many kinds at once",
        Recommended,
        &[
            "intervene=[{kind=\"ablate\", at=\"embed\", to=\"layers.1.keys\", with=\"mean\"}, \
           {kind=\"patch\", at=\"layers.0.heads.0\", to=\"layers.1.values\", with=\"resample\"}, \
           {kind=\"stop-gradient\", at=\"layers.0.attn_pattern\", until=30}, \
           {kind=\"clamp\", at=\"layers.1\", pattern=\"induction\", from=20, until=60}, \
           {kind=\"ablate\", at=\"layers.1.attn_pattern\", part=\"uniform\", from=60}, \
           {kind=\"reset\", group=\"layers.1.W_Q\", step=40}, \
           {kind=\"rate\", group=\"embed\", lr=1e-4, from=50}, \
           {kind=\"transplant\", group=\"unembed\", source={own=10}, fraction=0.5, step=70}]",
        ],
    ),
    further(
        "layer-norm-relative-query",
        "layer norm, and positions that meet the query, to be timed",
        Recommended,
        &["model.layer_norm=true", "model.positions=relative-query"],
    ),
    further(
        "layer-norm-mlp",
        "layer norm and MLPs, to be timed",
        Recommended,
        &["model.layer_norm=true", "model.mlp=true"],
    ),
    further(
        "ten-states-mlp",
        "ten states, four heads per layer, layer norm and MLPs, as models of mixtures of chains have \
         them, to be timed",
        Recommended,
        &[
            "task.states=10",
            "task.length=128",
            "model.width=64",
            "model.heads=4",
            "model.layer_norm=true",
            "model.mlp=true",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_a_sound_recipe_under_one_name() {
        let all: Vec<&Setting> = Setting::all().collect();
        for (index, &setting) in all.iter().enumerate() {
            let recipe = setting
                .recipe(&[])
                .unwrap_or_else(|error| panic!("{}: {error}", setting.name));
            assert_eq!(recipe.name, setting.name);
            let mut earlier = all[..index].iter();
            assert!(earlier.all(|other| other.name != setting.name));
            let again = Recipe::from_toml(&recipe.to_toml(), &[]).unwrap();
            assert_eq!(
                again, recipe,
                "{} does not survive being written",
                setting.name
            );
            assert_eq!(Setting::named(setting.name), Some(setting));
        }
        assert_eq!(Setting::named("mian"), None);
    }

    #[test]
    fn no_two_settings_are_the_same_model_on_the_same_task_trained_alike() {
        let nameless = |setting: &Setting| Recipe {
            name: String::new(),
            ..setting.recipe(&[]).unwrap()
        };
        let all: Vec<(&Setting, Recipe)> = Setting::all().map(|s| (s, nameless(s))).collect();
        for (index, (setting, recipe)) in all.iter().enumerate() {
            for (other, theirs) in &all[..index] {
                assert_ne!(recipe, theirs, "{} {}", setting.name, other.name);
            }
        }
    }
}
