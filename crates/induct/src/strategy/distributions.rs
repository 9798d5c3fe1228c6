//! Predictions on a single sequence, for callers of the library.

use super::{Scratch, Strategy};
use crate::chain::{row_fault, shown_row};

/// A strategy's predictions at every position of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Distributions {
    states: usize,
    /// [t, k]
    probs: Vec<f64>,
    effective_samples: Option<f64>,
}

impl Distributions {
    /// Number of positions.
    pub fn positions(&self) -> usize {
        self.probs.len() / self.states
    }

    /// The distribution of the symbol after the one at `position`, `[k]`.
    pub fn row(&self, position: usize) -> &[f64] {
        &self.probs[position * self.states..][..self.states]
    }

    /// The distributions in the order of positions.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &[f64]> {
        self.probs.chunks_exact(self.states)
    }

    /// The smallest effective sample size over the positions, if the strategy samples.
    pub fn effective_samples(&self) -> Option<f64> {
        self.effective_samples
    }
}

/// Why a sequence has no predictions.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum PredictError {
    /// The sequence is empty.
    #[error("the sequence is empty: a strategy predicts what follows at least one symbol")]
    Empty,
    /// A symbol that does not exist.
    #[error("the sequence has symbol {symbol} at position {position}: symbols are 0 to {}", states - 1)]
    Symbol {
        position: usize,
        symbol: u8,
        states: usize,
    },
    /// The strategy's answer is not a distribution.
    #[error(transparent)]
    Answer(#[from] BadAnswer),
}

/// A strategy's answer that is not a distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "strategy \"{strategy}\" answered {} at position {position}, {what}: an answer must be finite, \
     nowhere negative, and sum to 1 within {ANSWER_TOLERANCE:e}",
    shown_row(.row)
)]
pub struct BadAnswer {
    /// The strategy's name.
    pub strategy: String,
    /// The position at which it predicts the next symbol.
    pub position: usize,
    /// What it answered, `[k]`.
    pub row: Vec<f64>,
    /// What is wrong with it.
    pub what: String,
}

/// How far an answer's sum may be from one.
const ANSWER_TOLERANCE: f64 = 1e-6;

impl BadAnswer {
    /// The first of a strategy's answers, from position `first` on ([positions,
    /// k]), that is not a distribution.
    pub(crate) fn find(strategy: &dyn Strategy, first: usize, answers: &[f64]) -> Option<Self> {
        let rows = answers.chunks_exact(strategy.states()).enumerate();
        let mut faults = rows.filter_map(|(index, row)| {
            let what = row_fault(row, ANSWER_TOLERANCE)?;
            Some(Self {
                strategy: strategy.name(),
                position: first + index,
                row: row.to_vec(),
                what,
            })
        });
        faults.next()
    }
}

/// What any strategy can be asked about a single sequence.
impl dyn Strategy + '_ {
    /// The predictions at every position of a sequence: at position i, the distribution of x_{i+1}.
    ///
    /// ```
    /// use induct::chain::{PriorSpec, TaskPrior};
    /// use induct::strategy;
    ///
    /// let prior = TaskPrior::new(&PriorSpec::default(), 2, 2)?;
    /// let unigram = strategy::named("unigram", &prior)?;
    /// let answers = unigram.distributions(&[0, 0, 1])?;
    /// assert_eq!(answers.row(1), [0.75, 0.25]);
    /// assert_eq!(answers.positions(), 3);
    /// assert!(unigram.distributions(&[0, 2]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the sequence is empty or has symbols that do not exist, or an answer is not a distribution.
    pub fn distributions(&self, tokens: &[u8]) -> Result<Distributions, PredictError> {
        self.answers(tokens, 0)
    }

    /// The distribution of the symbol that follows a sequence, `[k]`: the last of its
    /// `distributions`, at a fraction of the cost.
    pub fn next_distribution(&self, tokens: &[u8]) -> Result<Vec<f64>, PredictError> {
        let last = self.answers(tokens, tokens.len().saturating_sub(1))?;
        Ok(last.probs)
    }

    /// The predictions from position `first` on.
    fn answers(&self, tokens: &[u8], first: usize) -> Result<Distributions, PredictError> {
        let states = self.states();
        if tokens.is_empty() {
            return Err(PredictError::Empty);
        }
        let unknown = |&symbol: &u8| usize::from(symbol) >= states;
        if let Some(position) = tokens.iter().position(unknown) {
            return Err(PredictError::Symbol {
                position,
                symbol: tokens[position],
                states,
            });
        }
        let positions = first..tokens.len();
        let mut probs = vec![0.0; positions.len() * states];
        let mut scratch = Scratch::default();
        let effective_samples = self.predict(tokens, positions, &mut scratch, &mut probs);
        match BadAnswer::find(self, first, &probs) {
            Some(bad) => Err(bad.into()),
            None => Ok(Distributions {
                states,
                probs,
                effective_samples,
            }),
        }
    }
}
