//! Tasks as a recipe writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Sequence, SourceSpec, Task};
use crate::chain::Generator;
use crate::strategy::{Strategy, TRUTH};
use crate::{Custom, is_name};
use crate::{Invalid, Within, require};

/// The settings of a built-in kind of task, as a recipe writes them.
pub(super) trait TaskSettings {
    /// The names of its ladder, simplest first.
    fn ladder(&self) -> Vec<String>;

    /// Checks them against k and t. Draws nothing, so that checking a recipe costs nothing.
    fn check(&self, states: usize, length: usize) -> Result<(), Invalid>;

    /// The task of k and t, from settings that have been checked.
    fn task(&self, states: usize, length: usize) -> Result<Arc<dyn Task>, Invalid>;
}

impl Default for SourceSpec {
    fn default() -> Self {
        Self::Chains {}
    }
}

impl From<Custom<dyn Task>> for SourceSpec {
    fn from(custom: Custom<dyn Task>) -> Self {
        let ladder = custom.part().map(|task| names(&**task));
        Self::Custom(CustomTask {
            ladder: ladder.unwrap_or_default(),
            custom,
        })
    }
}

impl SourceSpec {
    /// Whether it is chains.
    pub fn is_chains(&self) -> bool {
        *self == Self::Chains {}
    }

    /// The names of the strategies that phases are read from; `None` for chains, whose prior has them.
    pub fn ladder(&self) -> Option<Vec<String>> {
        Some(self.settings()?.ladder())
    }

    /// The task of another program, if it is one: a program that reads a recipe from text can give it its code.
    pub fn custom_mut(&mut self) -> Option<&mut Custom<dyn Task>> {
        match self {
            Self::Custom(custom) => Some(&mut custom.custom),
            _ => None,
        }
    }

    /// Checks that it contains no code that only another program has.
    pub(crate) fn check_code(&self) -> Result<(), Invalid> {
        match self {
            Self::Custom(custom) => custom.custom.part().map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Checks what the recipe's text says and, if there is code, that it fits a task of k and t.
    pub(crate) fn check(&self, states: usize, length: usize) -> Result<(), Invalid> {
        let checked = self.settings().map(|own| own.check(states, length));
        checked.unwrap_or(Ok(())).within("source")?;
        match self {
            Self::Custom(custom) if custom.custom.part().is_ok() => custom.check_length(length),
            _ => Ok(()),
        }
    }

    /// The task of k and t, unless it is chains, which need a prior.
    ///
    /// # Errors
    ///
    /// If only another program has its code.
    pub(crate) fn task(
        &self,
        states: usize,
        length: usize,
    ) -> Result<Option<Arc<dyn Task>>, Invalid> {
        self.check_code()?;
        let task = self.settings().map(|own| own.task(states, length));
        task.transpose()
    }
}

/// A task that another program brings, as a recipe writes it: with the names of its ladder, so that any program
/// can read the phases of its runs. What it draws is checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Text", into = "Text")]
pub struct CustomTask {
    pub(super) custom: Custom<dyn Task>,
    ladder: Vec<String>,
}

/// Its form in a recipe.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    ladder: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, f64>,
}

impl From<Text> for CustomTask {
    fn from(text: Text) -> Self {
        Self {
            custom: Custom::named(text.name, text.settings),
            ladder: text.ladder,
        }
    }
}

impl From<CustomTask> for Text {
    fn from(task: CustomTask) -> Self {
        Self {
            name: task.custom.name,
            ladder: task.ladder,
            settings: task.custom.settings,
        }
    }
}

/// The names of a task's ladder.
fn names(task: &dyn Task) -> Vec<String> {
    task.ladder().iter().map(|s| s.name()).collect()
}

impl TaskSettings for CustomTask {
    fn ladder(&self) -> Vec<String> {
        self.ladder.clone()
    }

    fn check(&self, states: usize, _length: usize) -> Result<(), Invalid> {
        self.custom.check_text("-")?;
        let ladder = |holds: bool, allowed: &str| {
            require(holds, "ladder", format!("{:?}", self.ladder), allowed)
        };
        let is_new = |(place, name): (usize, &String)| {
            is_name(name, "-") && !TRUTH.contains(&&**name) && !self.ladder[..place].contains(name)
        };
        ladder(
            !self.ladder.is_empty() && self.ladder.iter().enumerate().all(is_new),
            "strategies, at least one, each with a name of its own: letters, digits and '-', a letter first, and not \
             \"truth\" or \"oracle\"",
        )?;
        // Text that another program wrote can be read, if not trained.
        let Ok(task) = self.custom.part() else {
            return Ok(());
        };
        let fits = |found: usize, of: &str| {
            let name = format!("\"{}\"", self.custom.name);
            let allowed = format!("a task over task.states = {states} symbols; {of} has {found}");
            require(found == states, "name", name, &allowed)
        };
        fits(task.states(), "it")?;
        for strategy in task.ladder() {
            fits(strategy.states(), &strategy.name())?;
        }
        let own = names(&**task);
        ladder(own == self.ladder, &format!("the task's own, {own:?}"))
    }

    fn task(&self, _states: usize, _length: usize) -> Result<Arc<dyn Task>, Invalid> {
        Ok(Arc::new(self.clone()))
    }
}

impl CustomTask {
    /// Only a task that has its code is drawn from.
    fn part(&self) -> &dyn Task {
        &**self.custom.part().expect("checked when it was prepared")
    }
}

impl Task for CustomTask {
    fn states(&self) -> usize {
        self.part().states()
    }

    fn check_length(&self, length: usize) -> Result<(), Invalid> {
        self.part().check_length(length)
    }

    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence<'_>) {
        self.part().draw(rng, sequence);
        sequence.check(&self.custom.name);
    }

    fn ladder(&self) -> Vec<Arc<dyn Strategy>> {
        self.part().ladder()
    }
}
