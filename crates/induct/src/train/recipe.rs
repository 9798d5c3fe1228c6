//! A recipe: everything that determines a run.

use serde::{Deserialize, Serialize};

use super::loss::Loss;
use super::optimizer::{FreezeSpec, GroupSpec, Optimizer, OptimizerSpec};
use super::record::RecordSpec;
use super::schedule::Schedule;
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
    /// Another run's snapshot that training starts from, instead of the model's own start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<FromSpec>,
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
            from: None,
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

/// A snapshot to start from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FromSpec {
    /// Where the run is that left it.
    pub run: String,
    /// After how many of its steps.
    pub step: u64,
    /// What the weights must be; see [`weights_digest`](crate::digest::weights).
    pub weights: String,
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

/// Longest context.
const MAX_LENGTH: usize = 1 << 16;
/// Most memory that gradients or test sets may take, each, in GiB.
const MAX_GIB: f64 = 4.0;
/// Largest batch.
const MAX_BATCH: usize = 1 << 20;

impl Recipe {
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
            .check(self.task.length)
            .map_err(|invalid| invalid.within("record"))?;
        for index in 0..self.record.tests.len() {
            self.test_prior(index)?;
        }
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
        Prior::new(&self.task.prior, self.task.states, self.task.ngram)
            .map_err(|invalid| invalid.within("task"))
    }

    /// The prior of test set `index` of `record.tests`.
    pub fn test_prior(&self, index: usize) -> Result<Prior, Invalid> {
        let spec = &self.record.tests[index].prior;
        Prior::new(spec, self.task.states, self.task.ngram)
            .map_err(|invalid| invalid.within(&format!("record.tests[{index}]")))
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
