//! The sequences that a model learns from.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize, Serializer};
use toml::Value;

use crate::chain::{PriorSpec, Start};
use crate::strategy::ladder_names;
use crate::task::SourceSpec;
use crate::{Invalid, Within, require};

/// The sequences a model learns from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSpec {
    /// Number of symbols, k.
    pub states: usize,
    /// Order of the process, n: 2 is a Markov chain. Of another source, those of the curriculum and of test sets.
    pub ngram: usize,
    /// Length of a context, t; a sequence has t+1 symbols.
    pub length: usize,
    /// The prior that chains are drawn from.
    pub prior: PriorSpec,
    /// How sequences start: those of the curriculum and of test sets too.
    pub start: Start,
    /// What is trained on in place of chains over the prior.
    pub source: SourceSpec,
}

impl Serialize for TaskSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Text<'a> {
            states: usize,
            ngram: usize,
            length: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            prior: Option<&'a PriorSpec>,
            #[serde(skip_serializing_if = "Start::is_stationary")]
            start: Start,
            #[serde(skip_serializing_if = "SourceSpec::is_chains")]
            source: &'a SourceSpec,
        }
        let text = Text {
            states: self.states,
            ngram: self.ngram,
            length: self.length,
            prior: self.source.is_chains().then_some(&self.prior),
            start: self.start,
            source: &self.source,
        };
        text.serialize(serializer)
    }
}

/// As the first line on a run says it: `2 states, n = 2, length 100`.
impl Display for TaskSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (states, length) = (self.states, self.length);
        match self.source.is_chains() {
            true => write!(f, "{states} states, n = {}, length {length}", self.ngram),
            false => write!(
                f,
                "{}, {states} states, length {length}",
                self.source.name()
            ),
        }
    }
}

impl TaskSpec {
    /// The names of the strategies that phases are read from, simplest first.
    pub fn ladder(&self) -> Vec<String> {
        let own = self.source.ladder();
        own.unwrap_or_else(|| ladder_names(self.ngram))
    }

    /// Checks that it contains no code that only another program has.
    pub(super) fn check_code(&self) -> Result<(), Invalid> {
        self.prior.check_code()?;
        self.source.check_code().within("source")
    }

    /// Checks that its source fits it, and that nothing is set that only chains have.
    pub(super) fn check_source(&self) -> Result<(), Invalid> {
        if self.source.is_chains() {
            return Ok(());
        }
        self.source.check(self.states, self.length)?;
        let unset = Self::default();
        let value = |set: Result<Value, _>| {
            set.map_or_else(|_: toml::ser::Error| String::new(), |set| set.to_string())
        };
        let allowed = format!(
            "of Markov chains alone; leave it unset, for task.source is \"{}\"",
            self.source.name()
        );
        require(
            self.prior == unset.prior,
            "prior",
            value(Value::try_from(&self.prior)),
            &allowed,
        )?;
        require(
            self.start == unset.start,
            "start",
            value(Value::try_from(self.start)),
            &allowed,
        )
    }
}

impl Default for TaskSpec {
    fn default() -> Self {
        Self {
            states: 2,
            ngram: 2,
            length: 100,
            prior: PriorSpec::default(),
            start: Start::default(),
            source: SourceSpec::default(),
        }
    }
}
