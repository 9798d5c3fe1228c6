//! A recipe: everything that determines a run, and its text.

mod difference;
mod event;
mod intervene;
mod memory;
mod misfit;
mod objective;
mod reader;
mod record;
mod schedule;
mod task;
mod text;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Custom;
use crate::chain::{Prior, PriorSpec, TaskPrior, check_task};
use crate::model::{MAX_LENGTH, Model, ModelSpec};
use crate::optimizer::{GroupSpec, OptimizerSpec, Updater};
use crate::strategy::Strategy;
use crate::task::Task;
use crate::{Invalid, Within, require};
use induct_kernels::loss::Loss;
use memory::MEMORY_LIMIT;

pub use difference::Difference;
pub use event::Event;
pub(crate) use intervene::constructed;
pub use intervene::{
    Ablation, Construction, InterveneSpec, Part, PatchSpec, PatternSpec, WeightsSpec, When,
};
pub use memory::MemoryEstimate;
pub(crate) use memory::THOROUGH_SEQUENCES;
pub use objective::{Labels, LossPositions, NamedPositions, PositionRange};
pub use record::{RecordSpec, Spacing, TestSpec};
pub use schedule::Schedule;
pub use task::TaskSpec;
pub use text::RecipeError;

/// Everything that determines a run.
///
/// ```
/// use induct::recipe::Recipe;
///
/// let recipe = Recipe::from_toml("task.states = 3", &["train.steps=500".into()])?;
/// assert_eq!((recipe.task.states, recipe.train.steps), (3, 500));
/// let refused = Recipe::from_toml("task.statse = 3", &[]).unwrap_err();
/// assert!(refused.to_string().contains("statse"), "{refused}");
/// # Ok::<(), induct::recipe::RecipeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// The run's name.
    pub name: String,
    /// The sequences.
    pub task: TaskSpec,
    /// The model.
    pub model: ModelSpec,
    /// Another run's snapshot to start from, instead of the model's initial weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<FromSpec>,
    /// How it is trained.
    pub train: TrainSpec,
    /// The seeds.
    pub seeds: Seeds,
    /// What is recorded and kept.
    pub record: RecordSpec,
    /// What is changed in the model or its weights while it trains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervene: Vec<InterveneSpec>,
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
            intervene: Vec::new(),
        }
    }
}

/// A snapshot to start from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FromSpec {
    /// Folder of the run that left it.
    pub run: String,
    /// The step of that run.
    pub step: u64,
    /// Digest that the weights must have; see [`digest::weights`](crate::digest::weights). The command line
    /// fills it in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub weights: String,
}

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSpec {
    /// Number of steps.
    pub steps: u64,
    /// Sequences per step.
    pub batch: usize,
    /// What is minimised, averaged over positions and sequences.
    pub loss: Loss,
    /// What a prediction is compared with.
    #[serde(skip_serializing_if = "is_default")]
    pub labels: Labels,
    /// The positions whose predictions count: what is averaged over.
    #[serde(skip_serializing_if = "is_default")]
    pub positions: LossPositions,
    /// The optimiser.
    pub optimizer: OptimizerSpec,
    /// How the learning rate changes over the run.
    pub schedule: Schedule,
    /// The largest norm of the whole gradient: a longer one is scaled down to it. Unset, gradients stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Settings for particular groups of parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupSpec>,
    /// Priors that replace the task's from given steps on; for training only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curriculum: Vec<StageSpec>,
    /// The event that ends the run before its last step, if it comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Event>,
    /// The most memory that the run may take, in GiB. No result depends on it, and no identity.
    #[serde(skip_serializing_if = "is_usual_limit")]
    pub memory_limit: f64,
}

/// Whether a setting has its default, and so need not be written.
fn is_default<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}

fn is_usual_limit(limit: &f64) -> bool {
    *limit == MEMORY_LIMIT
}

impl Default for TrainSpec {
    fn default() -> Self {
        Self {
            steps: 4000,
            batch: 64,
            loss: Loss::default(),
            labels: Labels::default(),
            positions: LossPositions::default(),
            optimizer: OptimizerSpec::default(),
            schedule: Schedule::default(),
            clip: None,
            groups: Vec::new(),
            curriculum: Vec::new(),
            stop: None,
            memory_limit: MEMORY_LIMIT,
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

/// The tasks of training with their first steps, in order; the first starts at step 0.
#[derive(Clone, Debug)]
pub struct Stages(Vec<(u64, Arc<dyn Task>)>);

impl Stages {
    /// The task in force at `step`.
    pub fn at(&self, step: u64) -> &dyn Task {
        let current = self.0.iter().rev().find(|(from, _)| *from <= step);
        &*current.expect("the first stage starts at step 0").1
    }
}

/// Seeds of the random streams, which are independent of one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Seeds {
    /// Seed of the initial weights.
    pub init: u64,
    /// Seed of the training sequences.
    pub data: u64,
    /// Seed of the test sets.
    pub eval: u64,
}

/// The largest batch.
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
        let train = &self.train;
        // Text that another program wrote can be read, if not trained.
        let model = match self.model.check_code() {
            Ok(()) => Some(self.model()?),
            Err(_) => None,
        };
        train.loss.check().within("train.loss")?;
        let of_tokens = train.labels == Labels::Token || train.loss == Loss::default();
        let allowed = "\"token\" with this loss: only the cross-entropy compares with a law";
        require(of_tokens, "train.labels", "\"law\"", allowed)?;
        train.positions.resolve(self.task.length).within("train")?;
        train.schedule.check(train.steps).within("train.schedule")?;
        require(
            (1..=MAX_BATCH).contains(&train.batch),
            "train.batch",
            train.batch,
            &format!("from 1 to {MAX_BATCH} sequences"),
        )?;
        if let Some(clip) = train.clip {
            let allowed = "a norm above 0 (at most 1e30); leave it unset to scale nothing";
            require(clip > 0.0 && clip <= 1e30, "train.clip", clip, allowed)?;
        }
        self.record.check(&self.task).within("record")?;
        if let Some(stop) = &train.stop {
            stop.check("train.stop", self)?;
        }
        // Nothing so far allocates memory in proportion to a setting; what follows does.
        let limit = train.memory_limit;
        let allowed = "a number of GiB above 0";
        require(limit > 0.0, "train.memory_limit", limit, allowed)?;
        if let Some(model) = &model {
            MemoryEstimate::new(self, model).check(limit)?;
            Updater::check(&train.optimizer, &train.groups, model.layout()).within("train")?;
            self.check_interventions(model)?;
        }
        self.task.check_source().within("task")?;
        self.check_priors(|prior| prior.check(self.task.states, self.task.ngram))?;
        self.check_curriculum()?;
        if !self.record.strategies.is_empty() && self.task.check_code().is_ok() {
            self.record
                .check_defined(&*self.own_task()?)
                .within("record")?;
        }
        Ok(())
    }

    /// Checks that every part is at hand: a recipe that was read from text has none of those that another
    /// program brings. It can be shown, but neither trained nor measured.
    ///
    /// # Errors
    ///
    /// Names the first part that is missing.
    pub fn check_parts(&self) -> Result<(), Invalid> {
        self.task.check_code().within("task")?;
        self.model.check_code().within("model")?;
        self.check_priors(PriorSpec::check_code)?;
        for (index, custom) in self.record.custom_strategies.iter().enumerate() {
            let field = format!("record.custom_strategies[{index}]");
            custom.part().within(&field)?;
        }
        Ok(())
    }

    /// The priors of other programs: those of the task, the curriculum and the test sets. A program that reads a
    /// recipe from text can give them their code.
    pub fn custom_priors_mut(&mut self) -> Vec<&mut Custom<dyn Prior>> {
        let stages = self.train.curriculum.iter_mut();
        let tests = self.record.tests.iter_mut();
        let priors = std::iter::once(&mut self.task.prior)
            .chain(stages.map(|stage| &mut stage.prior))
            .chain(tests.map(|test| &mut test.prior));
        priors.flat_map(PriorSpec::customs_mut).collect()
    }

    /// The strategies that the model is compared with: the ladder of the task, then what `record` adds to it.
    ///
    /// # Errors
    ///
    /// If one is not defined for the task, or belongs to another program.
    pub fn strategies(&self, task: &dyn Task) -> Result<Vec<Arc<dyn Strategy>>, Invalid> {
        self.record.strategies(task).within("record")
    }

    /// Checks the priors of the task, of the curriculum and of test sets, and says which one an error is
    /// about.
    fn check_priors(
        &self,
        check: impl Fn(&PriorSpec) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        check(&self.task.prior).within("task")?;
        for (index, stage) in self.train.curriculum.iter().enumerate() {
            let field = format!("train.curriculum[{index}]");
            check(&stage.prior).within(&field)?;
        }
        for (index, test) in self.record.tests.iter().enumerate() {
            let field = format!("record.tests[{index}]");
            check(&test.prior).within(&field)?;
        }
        Ok(())
    }

    /// Checks that the stages of the curriculum follow one another.
    fn check_curriculum(&self) -> Result<(), Invalid> {
        let mut earliest = 0;
        for (index, stage) in self.train.curriculum.iter().enumerate() {
            require(
                stage.from >= earliest,
                &format!("train.curriculum[{index}].from"),
                stage.from,
                "later than the stage before it",
            )?;
            earliest = stage.from.saturating_add(1);
        }
        Ok(())
    }

    /// The memory that a run takes.
    pub fn memory(&self) -> Result<MemoryEstimate, Invalid> {
        Ok(MemoryEstimate::new(self, &self.model()?))
    }

    /// Where the sequences come from that the model is trained and measured on.
    pub fn own_task(&self) -> Result<Arc<dyn Task>, Invalid> {
        let TaskSpec { states, length, .. } = self.task;
        match self
            .task
            .source
            .task(states, length)
            .within("task.source")?
        {
            Some(task) => Ok(task),
            None => Ok(Arc::new(self.prior()?)),
        }
    }

    /// The task's prior over chains, ready to draw from.
    ///
    /// # Errors
    ///
    /// If it cannot be made, or the task has none.
    pub fn prior(&self) -> Result<TaskPrior, Invalid> {
        let source = &self.task.source;
        let name = format!("\"{}\"", source.name());
        let allowed = "\"chains\": this needs a prior over Markov chains";
        require(source.is_chains(), "task.source", name, allowed)?;
        self.task_prior(&self.task.prior).within("task")
    }

    /// A prior over the task's chains, whose sequences start as the task says.
    fn task_prior(&self, spec: &PriorSpec) -> Result<TaskPrior, Invalid> {
        let prior = TaskPrior::new(spec, self.task.states, self.task.ngram)?;
        Ok(prior.starting(self.task.start))
    }

    /// The prior of test set `index` of `record.tests`.
    pub fn test_prior(&self, index: usize) -> Result<TaskPrior, Invalid> {
        self.task_prior(&self.record.tests[index].prior)
            .within(&format!("record.tests[{index}]"))
    }

    /// The model.
    pub fn model(&self) -> Result<Model, Invalid> {
        check_task(self.task.states, self.task.ngram).within("task")?;
        require(
            (1..=MAX_LENGTH).contains(&self.task.length),
            "task.length",
            self.task.length,
            &format!("a context length from 1 to {MAX_LENGTH}"),
        )?;
        Model::new(&self.model, self.task.states, self.task.length).within("model")
    }

    /// The tasks of training: its own, then those of the curriculum.
    pub fn stages(&self) -> Result<Stages, Invalid> {
        self.check_curriculum()?;
        let mut stages = Stages(vec![(0, self.own_task()?)]);
        for (index, stage) in self.train.curriculum.iter().enumerate() {
            let field = format!("train.curriculum[{index}]");
            let prior = self.task_prior(&stage.prior).within(&field)?;
            stages.0.push((stage.from, Arc::new(prior)));
        }
        Ok(stages)
    }
}
