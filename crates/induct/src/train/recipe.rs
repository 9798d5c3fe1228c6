//! A recipe: everything that determines a run, as TOML.
//!
//! Unset keys have defaults, unknown keys are errors. Where a setting is a table with a `kind`, the kind alone
//! may stand for it (`loss = "cross-entropy"`), and a table without one has the default kind.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::loss::Loss;
use super::optimizer::{FreezeSpec, GroupSpec, Optimizer, OptimizerSpec};
use super::schedule::{RecordSpec, Schedule};
use crate::chain::{LANES, Prior, PriorSpec};
use crate::invalid::{Invalid, require};
use crate::model::{Model, ModelSpec};

/// Everything that determines a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// What the run is called.
    pub name: String,
    /// The sequences.
    pub task: TaskSpec,
    /// The model.
    pub model: ModelSpec,
    /// How it is trained.
    pub train: TrainSpec,
    /// Where randomness starts.
    pub seeds: Seeds,
    /// What is kept.
    pub record: RecordSpec,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            name: "main".into(),
            task: TaskSpec::default(),
            model: ModelSpec::default(),
            train: TrainSpec::default(),
            seeds: Seeds::default(),
            record: RecordSpec::default(),
        }
    }
}

/// The sequences a model learns from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSpec {
    /// Number of symbols, k.
    pub states: usize,
    /// Order of the process, n: 2 is a Markov chain.
    pub ngram: usize,
    /// Length of a context, t; a sequence has t+1 symbols.
    pub length: usize,
    /// Where chains come from.
    pub prior: PriorSpec,
}

impl Default for TaskSpec {
    fn default() -> Self {
        Self {
            states: 2,
            ngram: 2,
            length: 100,
            prior: PriorSpec::default(),
        }
    }
}

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSpec {
    /// Number of steps.
    pub steps: u64,
    /// Sequences a step.
    pub batch: usize,
    /// What is minimised, averaged over positions and sequences.
    pub loss: Loss,
    /// How.
    pub optimizer: OptimizerSpec,
    /// Course of the learning rate.
    pub schedule: Schedule,
    /// Parameters with settings of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupSpec>,
    /// Parameters that stand still for some steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freeze: Vec<FreezeSpec>,
    /// Priors that replace the task's from given steps on, for training only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curriculum: Vec<StageSpec>,
}

impl Default for TrainSpec {
    fn default() -> Self {
        Self {
            steps: 4000,
            batch: 64,
            loss: Loss::default(),
            optimizer: OptimizerSpec::default(),
            schedule: Schedule::default(),
            groups: Vec::new(),
            freeze: Vec::new(),
            curriculum: Vec::new(),
        }
    }
}

/// One stage of a curriculum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSpec {
    /// First step of the stage.
    pub from: u64,
    /// Its prior.
    pub prior: PriorSpec,
}

/// Where randomness starts; the three share nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Seeds {
    /// Of the initial weights.
    pub init: u64,
    /// Of the training sequences.
    pub data: u64,
    /// Of the test sets.
    pub eval: u64,
}

/// Why a text is no recipe.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// Not TOML at all.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A key or value that a recipe does not have.
    #[error("{path}: {message}")]
    Key {
        /// Where.
        path: String,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// An override that is not `key.path=value`.
    #[error("--set {text}: {message}")]
    Override {
        /// As given.
        text: String,
        /// What is wrong.
        message: String,
    },
    /// A value that is impossible.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Longest context.
const MAX_LENGTH: usize = 1 << 16;
/// Most memory that gradients or test sets may take, each, in GiB.
const MAX_GIB: f64 = 4.0;
/// Largest batch.
const MAX_BATCH: usize = 1 << 20;

impl Recipe {
    /// Reads a recipe and checks all of it; each override is `key.path=value`, its value in TOML.
    pub fn from_toml(text: &str, overrides: &[String]) -> Result<Self, RecipeError> {
        let mut table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| RecipeError::Syntax(error.to_string()))?;
        spell_out_kinds(&mut table);
        for text in overrides {
            apply_override(&mut table, text)?;
        }
        spell_out_kinds(&mut table);
        let recipe = deserialize(&table).map_err(|error| error.at_its_key(&table))?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The recipe as TOML, complete: enough to repeat the run.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a recipe is plain data")
    }

    /// Checks every setting, alone and together.
    pub fn check(&self) -> Result<(), Invalid> {
        let fit = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        require(
            !self.name.is_empty() && !self.name.starts_with('.') && self.name.chars().all(fit),
            "name",
            format!("\"{}\"", self.name),
            "letters, digits, '-', '_' and '.', not empty, and no '.' in front: it names a folder",
        )?;
        self.prior()?;
        let model = self.model()?;
        self.optimizer(&model)?;
        self.stages()?;
        let within_train = |invalid: Invalid| invalid.within("train");
        self.train
            .loss
            .check()
            .map_err(|invalid| invalid.within("loss").within("train"))?;
        self.train
            .schedule
            .check(self.train.steps)
            .map_err(|invalid| invalid.within("schedule").within("train"))?;
        require(
            (1..=MAX_BATCH).contains(&self.train.batch),
            "batch",
            self.train.batch,
            &format!("from 1 to {MAX_BATCH} sequences"),
        )
        .map_err(within_train)?;
        self.record
            .check()
            .map_err(|invalid| invalid.within("record"))?;
        self.check_memory(&model)
    }

    /// Refuses what no laptop could hold: gradients of all blocks, and predictions on the test sets.
    fn check_memory(&self, model: &Model) -> Result<(), Invalid> {
        let gib = |count: f64, bytes: f64| count * bytes / f64::from(1 << 30);
        let size = model.gradient_len().max(model.layout().len()) as f64;
        let blocks = self.train.batch.div_ceil(LANES) as f64;
        let gradients = gib(blocks * size, 4.0) + gib(size, 8.0 * LANES as f64);
        let task = &self.task;
        let rows = self.record.test_sequences as f64 * task.length as f64;
        // Three truths and n + 1 strategies, k probabilities and an entropy each.
        let predictions = gib(
            rows * (4 + task.ngram) as f64 * (task.states + 1) as f64,
            8.0,
        );
        for (field, value, needed) in [
            ("train.batch", self.train.batch, gradients),
            (
                "record.test_sequences",
                self.record.test_sequences,
                predictions,
            ),
        ] {
            let allowed = format!(
                "with this task and model it needs {needed:.1} GiB, and {MAX_GIB} are allowed; \
                 make one of them smaller"
            );
            require(needed <= MAX_GIB, field, value, &allowed)?;
        }
        Ok(())
    }

    /// The task's prior, ready to draw.
    pub fn prior(&self) -> Result<Prior, Invalid> {
        self.prior_of(&self.task.prior)
    }

    /// Another prior for the task's k and n.
    pub fn prior_of(&self, spec: &PriorSpec) -> Result<Prior, Invalid> {
        Prior::new(spec, self.task.states, self.task.ngram)
            .map_err(|invalid| invalid.within("task"))
    }

    /// The model.
    pub fn model(&self) -> Result<Model, Invalid> {
        require(
            (1..=MAX_LENGTH).contains(&self.task.length),
            "task.length",
            self.task.length,
            &format!("a context length from 1 to {MAX_LENGTH}"),
        )?;
        Model::new(&self.model, self.task.states, self.task.length)
            .map_err(|invalid| invalid.within("model"))
    }

    /// The optimiser for `model`, at its start.
    pub fn optimizer(&self, model: &Model) -> Result<Optimizer, Invalid> {
        let train = &self.train;
        Optimizer::new(
            &train.optimizer,
            &train.groups,
            &train.freeze,
            model.layout(),
        )
        .map_err(|invalid| invalid.within("train"))
    }

    /// The priors of training with their first steps, in order; the first starts at step 0.
    pub fn stages(&self) -> Result<Vec<(u64, Prior)>, Invalid> {
        let mut stages = vec![(0, self.prior()?)];
        for (index, stage) in self.train.curriculum.iter().enumerate() {
            let field = format!("train.curriculum[{index}]");
            let earliest = if index == 0 { 0 } else { stages[index].0 + 1 };
            require(
                stage.from >= earliest,
                &format!("{field}.from"),
                stage.from,
                "later than the stage before it",
            )?;
            let prior = Prior::new(&stage.prior, self.task.states, self.task.ngram)
                .map_err(|invalid| invalid.within(&field))?;
            stages.push((stage.from, prior));
        }
        Ok(stages)
    }
}

/// A recipe from its table, or where and why it is none.
fn deserialize(table: &Table) -> Result<Recipe, RecipeError> {
    serde_path_to_error::deserialize(Value::Table(table.clone())).map_err(|error| {
        RecipeError::Key {
            path: error.path().to_string(),
            // The TOML reader repeats the path on lines of its own.
            message: error
                .inner()
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        }
    })
}

impl RecipeError {
    /// Settings with a kind are read as a whole, so an error inside one names the whole. The key that is to blame
    /// is the one without which the error is another.
    fn at_its_key(self, table: &Table) -> Self {
        let RecipeError::Key { path, message } = &self else {
            return self;
        };
        let without = |key: &str| {
            let mut rest = table.clone();
            let inner = path.split('.').try_fold(&mut rest, |place, part| {
                place.get_mut(part).and_then(Value::as_table_mut)
            })?;
            let value = inner.remove(key)?;
            (deserialize(&rest) != Err(self.clone())).then_some(value)
        };
        let place = path.split('.').try_fold(table, |place, part| {
            place.get(part).and_then(Value::as_table)
        });
        let mut keys = place
            .into_iter()
            .flat_map(Table::keys)
            .filter(|key| *key != "kind");
        match keys.find_map(|key| Some((key, without(key)?))) {
            Some((key, value)) if !message.contains(&format!("`{key}`")) => RecipeError::Key {
                path: format!("{path}.{key} = {value}"),
                message: message.clone(),
            },
            _ => self,
        }
    }
}

/// Sets one key of a table from `key.path=value`.
fn apply_override(table: &mut Table, text: &str) -> Result<(), RecipeError> {
    let refuse = |message: String| RecipeError::Override {
        text: text.to_owned(),
        message,
    };
    let (path, value) = text
        .split_once('=')
        .ok_or_else(|| refuse("expected key.path=value, such as train.steps=100".into()))?;
    let value = value.trim();
    // A bare word is a string: `--set model.positions=absolute` needs no quotes inside quotes.
    let value = format!("value = {value}")
        .parse::<Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .or_else(|| is_word(value).then(|| Value::String(value.to_owned())))
        .ok_or_else(|| refuse("the value is neither TOML nor a plain word".into()))?;
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys.pop().filter(|key| !key.is_empty());
    let last = last.ok_or_else(|| refuse("the key is empty".into()))?;
    let mut place = table;
    for key in keys {
        let inner = place
            .entry(key)
            .or_insert_with(|| Value::Table(Table::new()));
        // `--set train.optimizer.lr=…` on a recipe with `optimizer = "adamw"`.
        if let Value::String(kind) = inner {
            *inner = kind_table(kind);
        }
        place = inner
            .as_table_mut()
            .ok_or_else(|| refuse(format!("{key} is not a table")))?;
    }
    // Settings of another kind do not belong to the new one.
    if last == "kind" && place.get(last).is_some_and(|kind| *kind != value) {
        place.clear();
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

fn is_word(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(word)
}

fn kind_table(kind: &str) -> Value {
    let kind = ("kind".to_owned(), Value::String(kind.to_owned()));
    Value::Table(Table::from_iter([kind]))
}

/// Keys whose values are tables with a kind, wherever they stand.
const WITH_KIND: [&str; 7] = [
    "prior",
    "of",
    "model",
    "start",
    "loss",
    "optimizer",
    "schedule",
];

/// The kind of the main settings, if none is given.
const DEFAULT_KINDS: [(&str, &str, &str); 5] = [
    ("task", "prior", "dirichlet"),
    ("", "model", "transformer"),
    ("train", "loss", "cross-entropy"),
    ("train", "optimizer", "adamw"),
    ("train", "schedule", "constant"),
];

/// Turns `loss = "margin"` into a table, and gives main settings without a kind the default one.
fn spell_out_kinds(table: &mut Table) {
    spell_out_names(table);
    for (outer, key, default) in DEFAULT_KINDS {
        let place = match outer {
            "" => Some(&mut *table),
            _ => table.get_mut(outer).and_then(Value::as_table_mut),
        };
        let setting = place.and_then(|place| place.get_mut(key)?.as_table_mut());
        if let Some(setting) = setting.filter(|setting| !setting.contains_key("kind")) {
            setting.insert("kind".into(), Value::String(default.into()));
        }
    }
}

fn spell_out_names(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::String(kind) if WITH_KIND.contains(&key.as_str()) => *value = kind_table(kind),
            Value::Table(inner) => spell_out_names(inner),
            Value::Array(items) => {
                items
                    .iter_mut()
                    .filter_map(Value::as_table_mut)
                    .for_each(spell_out_names);
            }
            _ => {}
        }
    }
}
