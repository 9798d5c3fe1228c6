//! A prior that fits its task.

use std::sync::Arc;

use induct_kernels::tokens::MAX_STATES;

use super::super::start::Start;
use super::super::stationary::StationarySolver;
use super::super::table::{MAX_CONTEXTS, TransitionTable};
use super::{Draft, DrawError, Law, Prior, PriorSpec};
use crate::chain::{Address, Generator};
use crate::{Invalid, Within, require};

/// A prior that has been checked against its task and can draw tables.
///
/// ```
/// use induct::chain::prior::Symmetric;
/// use induct::chain::{Address, PriorSpec, Purpose, TaskPrior};
///
/// let spec = PriorSpec::from(Symmetric { epsilon: 0.1 });
/// let prior = TaskPrior::new(&spec, 2, 2)?;
/// let address = Address { purpose: Purpose::Fresh, seed: 0, step: 0 };
/// for table in prior.draw_many(100, address)? {
///     assert!((0.4..0.6).contains(&table.row(0)[0]));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TaskPrior {
    states: usize,
    ngram: usize,
    start: Start,
    prior: Arc<dyn Prior>,
    /// The name, if another program supplies the prior: its draws are then checked.
    custom: Option<String>,
}

/// Checks that tables of this n-gram order and number of states can be handled.
pub(crate) fn check_task(states: usize, ngram: usize) -> Result<(), Invalid> {
    require(
        (2..=MAX_STATES).contains(&states),
        "states",
        states,
        &format!("a number of states from 2 to {MAX_STATES}"),
    )?;
    let contexts = TransitionTable::context_count(states, ngram);
    require(
        ngram >= 2 && contexts.is_some_and(|count| count <= MAX_CONTEXTS),
        "ngram",
        ngram,
        &format!("at least 2, with at most {MAX_CONTEXTS} contexts (states^(ngram-1))"),
    )
}

impl TaskPrior {
    /// Checks `spec` against the task's k and n and prepares it.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, does not fit the task, or belongs to a prior of another
    /// program whose code is not available.
    pub fn new(spec: &PriorSpec, states: usize, ngram: usize) -> Result<Self, Invalid> {
        // The chains of pools are drawn when the prior is prepared, so their memory must be known before.
        spec.check(states, ngram)?;
        Self::prepare(spec, states, ngram).within("prior")
    }

    /// The same for a spec that has been checked. Errors name settings relative to it.
    pub(super) fn prepare(spec: &PriorSpec, states: usize, ngram: usize) -> Result<Self, Invalid> {
        let prior = spec.settings().prepare(states, ngram)?;
        let custom = match spec {
            PriorSpec::Custom(custom) => Some(custom.name.clone()),
            _ => None,
        };
        prior.law().check(states, ngram)?;
        Ok(Self {
            states,
            ngram,
            start: Start::default(),
            prior,
            custom,
        })
    }

    /// The same prior, for sequences that start in another way.
    pub fn starting(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// How sequences start; from the stationary law, unless [`starting`](Self::starting) has changed it.
    pub fn start(&self) -> Start {
        self.start
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Order of the process, n.
    pub fn ngram(&self) -> usize {
        self.ngram
    }

    /// What is known about the form of its draws.
    pub fn law(&self) -> Law<'_> {
        self.prior.law()
    }

    pub(super) fn prior(&self) -> &dyn Prior {
        self.prior.as_ref()
    }

    pub(super) fn custom(&self) -> Option<&str> {
        self.custom.as_deref()
    }

    /// Draws a table of the prior's k and n in place.
    ///
    /// # Errors
    ///
    /// If a prior from another crate draws something that is not a chain; the built-in kinds never do.
    pub fn draw(
        &self,
        rng: &mut Generator,
        solver: &mut StationarySolver,
        table: &mut TransitionTable,
    ) -> Result<(), DrawError> {
        let mut draft = Draft::new(table, solver);
        draft.draw_from(self, rng);
        draft.finish()?;
        table.set_start(self.start);
        Ok(())
    }

    /// `count` tables; table `i` is drawn from stream `i` of `address`.
    pub fn draw_many(
        &self,
        count: usize,
        address: Address,
    ) -> Result<Vec<TransitionTable>, DrawError> {
        let mut solver = StationarySolver::default();
        let draw = |index: usize| {
            let mut table = TransitionTable::unset(self.states, self.ngram);
            let mut rng = address.generator(index as u64);
            self.draw(&mut rng, &mut solver, &mut table)?;
            Ok(table)
        };
        (0..count).map(draw).collect()
    }
}

/// Reports a prior that draws no chains as a setting that cannot be used.
impl From<DrawError> for Invalid {
    fn from(error: DrawError) -> Self {
        let (field, name) = match &error {
            DrawError::Row { prior, .. } | DrawError::NoLaw { prior, .. } => ("prior", prior),
            DrawError::Sequence { task, .. } => ("source", task),
        };
        Invalid::new(field, format!("\"{name}\""), error.to_string())
    }
}
