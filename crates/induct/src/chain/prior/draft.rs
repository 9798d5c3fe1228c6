//! A table while it is being drawn.

use super::super::stationary::{NoLaw, StationarySolver};
use super::super::table::{TransitionTable, row_fault, shown_row};
use super::TaskPrior;
use crate::chain::Generator;

/// A table that a [`Prior`](super::Prior) fills. Its rows are unspecified beforehand.
#[derive(Debug)]
pub struct Draft<'a> {
    table: &'a mut TransitionTable,
    solver: &'a mut StationarySolver,
    state: State,
}

/// How far a draft has come.
#[derive(Debug)]
enum State {
    /// Its rows are unchecked, and it has no stationary law yet.
    Open,
    /// It is a complete table.
    Finished,
    /// Drawing failed.
    Failed(DrawError),
}

/// A prior from another crate drew something that is not a chain, or a task from there no sequence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum DrawError {
    /// A row is not a distribution.
    #[error(
        "prior \"{prior}\" drew {} after context {context}, {what}: a row must be finite, nowhere \
         negative, and sum to 1 within {ROW_TOLERANCE:e}",
        shown_row(.row)
    )]
    Row {
        prior: String,
        context: usize,
        row: Vec<f64>,
        what: String,
    },
    /// None of many tables drawn has a stationary law to start from.
    #[error(
        "prior \"{prior}\" drew {tries} tables in a row that sequences cannot start from: {no_law} \
         (the last one has {} after context {context}); let contexts reach one another",
        shown_row(.row)
    )]
    NoLaw {
        prior: String,
        tries: usize,
        no_law: NoLaw,
        context: usize,
        row: Vec<f64>,
    },
    /// A sequence is incomplete, or has a symbol that does not exist or follows no distribution.
    #[error(
        "task \"{task}\" gave {what} at position {position}: a sequence has t + 1 symbols below k, and the \
         law of each is finite, nowhere negative, and sums to 1 within {ROW_TOLERANCE:e}"
    )]
    Sequence {
        task: String,
        position: usize,
        what: String,
    },
}

/// How far a row's sum may be from one.
pub(crate) const ROW_TOLERANCE: f64 = 1e-9;

/// How many times a prior from another crate is asked for a table that has a stationary law.
const TRIES: usize = 100;

impl<'a> Draft<'a> {
    pub(super) fn new(table: &'a mut TransitionTable, solver: &'a mut StationarySolver) -> Self {
        Self {
            table,
            solver,
            state: State::Open,
        }
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        self.table.states()
    }

    /// Order of the process, n: the next symbol depends on the n−1 before it.
    pub fn ngram(&self) -> usize {
        self.table.ngram()
    }

    /// Number of contexts, k^(n−1).
    pub fn contexts(&self) -> usize {
        self.table.contexts()
    }

    /// The distribution of the symbol after `context`, to be written: `[k]`.
    pub fn row_mut(&mut self, context: usize) -> &mut [f64] {
        self.state = State::Open;
        self.table.row_mut(context)
    }

    /// The rows of the first `count` contexts, to be written: [count, k].
    pub fn first_rows_mut(&mut self, count: usize) -> &mut [f64] {
        self.state = State::Open;
        self.table.first_rows_mut(count)
    }

    /// Repeats the first `count` rows over all contexts. With `count` = k, the table then depends only on the
    /// last symbol of a context. With `count` = 1 it depends on nothing: symbols are independent.
    pub fn repeat_first_rows(&mut self, count: usize) {
        self.state = State::Open;
        self.table.repeat_first_rows(count);
    }

    /// Takes over a finished table with its stationary law: nothing is left to check or to solve.
    pub fn copy_from(&mut self, table: &TransitionTable) {
        assert_eq!(
            (table.states(), table.ngram()),
            (self.states(), self.ngram()),
            "the table must have this task's k and n"
        );
        self.table.clone_from(table);
        self.state = State::Finished;
    }

    /// Draws the table from another prior of the same task.
    pub fn draw_from(&mut self, prior: &TaskPrior, rng: &mut Generator) {
        assert_eq!(
            (prior.states(), prior.ngram()),
            (self.states(), self.ngram()),
            "the prior must have this task's k and n"
        );
        let mut tries = 0;
        loop {
            self.state = State::Open;
            prior.prior().draw(rng, self);
            if !matches!(self.state, State::Open) {
                return;
            }
            if let Some(name) = prior.custom()
                && let Some(error) = self.bad_row(name)
            {
                self.state = State::Failed(error);
                return;
            }
            tries += 1;
            match (self.table.settle(self.solver), prior.custom()) {
                (Ok(()), _) => {
                    self.state = State::Finished;
                    return;
                }
                // For the built-in kinds, a chain without a unique stationary law has probability zero.
                // Should rounding produce one, draw again.
                (Err(_), None) => {}
                (Err(_), Some(_)) if tries < TRIES => {}
                (Err(no_law), Some(name)) => {
                    self.state = State::Failed(self.no_law(name, no_law));
                    return;
                }
            }
        }
    }

    fn bad_row(&self, prior: &str) -> Option<DrawError> {
        let mut rows = self.table.rows().enumerate();
        rows.find_map(|(context, row)| {
            row_fault(row, ROW_TOLERANCE).map(|what| DrawError::Row {
                prior: prior.to_owned(),
                context,
                row: row.to_vec(),
                what,
            })
        })
    }

    fn no_law(&self, prior: &str, no_law: NoLaw) -> DrawError {
        let certain = |row: &[f64]| row.contains(&1.0);
        let context = self.table.rows().position(certain).unwrap_or(0);
        DrawError::NoLaw {
            prior: prior.to_owned(),
            tries: TRIES,
            no_law,
            context,
            row: self.table.row(context).to_vec(),
        }
    }

    /// The outcome, once the table has been drawn.
    pub(super) fn finish(self) -> Result<(), DrawError> {
        match self.state {
            State::Failed(error) => Err(error),
            State::Open | State::Finished => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::checks::draws;
    use super::super::{Mixture, MixturePart, Prior, PriorSpec, Symmetric};
    use super::*;
    use crate::Custom;
    use crate::chain::{Purpose, address};

    /// A prior that draws what it is told to, and counts how often it is asked.
    #[derive(Debug, Default)]
    struct Script {
        rows: Vec<[f64; 2]>,
        asked: AtomicUsize,
    }

    impl Prior for Script {
        fn draw(&self, _: &mut Generator, table: &mut Draft<'_>) {
            self.asked.fetch_add(1, Ordering::Relaxed);
            table
                .first_rows_mut(2)
                .copy_from_slice(self.rows.as_flattened());
        }
    }

    fn draw(spec: &PriorSpec) -> Result<TransitionTable, DrawError> {
        let prior = TaskPrior::new(spec, 2, 2).unwrap();
        let address = address(Purpose::Test, 0, 0);
        let drawn = prior.draw_many(1, address);
        drawn.map(|mut tables| tables.remove(0))
    }

    fn told(rows: [[f64; 2]; 2]) -> (Arc<Script>, PriorSpec) {
        let told = Arc::new(Script {
            rows: rows.to_vec(),
            ..Script::default()
        });
        let custom = Custom::<dyn Prior>::new("told", told.clone());
        (told, PriorSpec::Custom(custom))
    }

    #[test]
    fn rows_that_are_no_distributions_are_refused_at_once() {
        for (bad, what) in [
            ([f64::NAN, 0.5], "NaN at symbol 0"),
            ([0.5, f64::INFINITY], "inf at symbol 1"),
            ([-0.5, 1.5], "-0.5 at symbol 0"),
            ([0.5, 0.5 + 2e-9], "sums to 1.000000002"),
        ] {
            let (told, spec) = told([[0.5, 0.5], bad]);
            let error = draw(&spec).unwrap_err();
            let DrawError::Row { prior, context, .. } = &error else {
                panic!("{error}")
            };
            assert_eq!((prior.as_str(), *context), ("told", 1));
            let text = error.to_string();
            assert!(text.contains(what) && text.contains("context 1"), "{text}");
            assert_eq!(told.asked.load(Ordering::Relaxed), 1);
        }
        // Within the tolerance, and left unchanged.
        let (_, spec) = told([[0.5, 0.5], [0.5, 0.5 + 5e-10]]);
        assert_eq!(draw(&spec).unwrap().row(1), [0.5, 0.5 + 5e-10]);
    }

    #[test]
    fn a_part_of_a_mixture_answers_for_itself() {
        let (told, custom) = told([[1.0, 0.0], [0.0, 1.0]]);
        let part = |prior| MixturePart { weight: 1.0, prior };
        let symmetric = Symmetric { epsilon: 0.1 }.into();
        let mixture = Mixture {
            parts: vec![part(symmetric), part(custom)],
        };
        let prior = TaskPrior::new(&mixture.into(), 2, 2).unwrap();
        let address = address(Purpose::Test, 0, 0);
        let error = prior.draw_many(50, address).unwrap_err();
        assert!(error.to_string().contains("prior \"told\""), "{error}");
        assert_eq!(told.asked.load(Ordering::Relaxed), TRIES);
    }

    #[test]
    fn a_table_that_is_changed_after_it_was_copied_gets_a_law_of_its_own() {
        #[derive(Debug)]
        struct Changed(TransitionTable);
        impl Prior for Changed {
            fn draw(&self, _: &mut Generator, table: &mut Draft<'_>) {
                table.copy_from(&self.0);
                table.row_mut(0).copy_from_slice(&[0.25, 0.75]);
            }
        }
        let rows = [vec![0.5, 0.5], vec![0.75, 0.25]];
        let source = TransitionTable::from_rows(2, 2, &rows).unwrap();
        let custom = Custom::<dyn Prior>::new("changed", Arc::new(Changed(source)));
        let prior = TaskPrior::new(&custom.into(), 2, 2).unwrap();
        for table in draws(&prior, 3) {
            assert_eq!(table.stationary(), [0.5, 0.5]);
        }
    }
}
