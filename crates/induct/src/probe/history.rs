//! What a run recorded: a table with one row per recorded step.

use super::phases::{Course, LossDrop, Phase, drops, phases};
use crate::measure::{Column, KL_STRATEGY, KL_TRUTH, Of, STEP};

/// Columns of numbers, one row per recorded step. A missing number is NaN.
#[derive(Clone, Debug, Default)]
pub struct History {
    columns: Vec<Column>,
    /// [rows, columns]
    values: Vec<f64>,
}

/// Histories are equal if their rows are equal bit for bit, missing numbers included.
impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.values.iter(), other.values.iter());
        self.columns == other.columns && own.map(|v| v.to_bits()).eq(others.map(|v| v.to_bits()))
    }
}

/// Why a row cannot be added to a history.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum BadRow {
    /// It does not have one number per column.
    #[error("it has {found} numbers, and there are {expected} columns")]
    Width { found: usize, expected: usize },
    /// Its step is missing, not a whole number, or not larger than the one before.
    #[error("its step is {found}, after step {before}")]
    Step { found: f64, before: f64 },
}

impl History {
    /// An empty table. Its first column is the step.
    pub fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            values: Vec::new(),
        }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows, in order of steps.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns.len().max(1))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }

    /// Whether there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends a row.
    pub fn push(&mut self, row: &[f64]) -> Result<(), BadRow> {
        if row.len() != self.columns.len() || row.is_empty() {
            return Err(BadRow::Width {
                found: row.len(),
                expected: self.columns.len(),
            });
        }
        let before = self.rows().next_back().map_or(-1.0, |last| last[0]);
        let step = row[0];
        if step.fract() != 0.0 || step <= before || !step.is_finite() {
            return Err(BadRow::Step {
                found: step,
                before,
            });
        }
        self.values.extend_from_slice(row);
        Ok(())
    }

    /// Keeps only the rows whose step satisfies `keep`.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let kept = self.rows().filter(|row| keep(row[0] as u64));
        self.values = kept.flatten().copied().collect();
    }

    fn index(&self, column: &Column) -> Option<usize> {
        self.columns.iter().position(|other| other == column)
    }

    /// A column's numbers; `None` if it was not recorded.
    pub fn column(&self, column: impl Into<Column>) -> Option<Vec<f64>> {
        let index = self.index(&column.into())?;
        Some(self.rows().map(|row| row[index]).collect())
    }

    /// The last number of a column; `None` if it is missing.
    pub fn last(&self, column: impl Into<Column>) -> Option<f64> {
        let index = self.index(&column.into())?;
        let last = self.rows().next_back()?[index];
        (!last.is_nan()).then_some(last)
    }

    /// The last row, by column; `None` for a missing number.
    pub fn last_row(&self) -> impl Iterator<Item = (&Column, Option<f64>)> {
        let last = self.rows().next_back().unwrap_or_default();
        let numbers = last.iter().map(|&v| (!v.is_nan()).then_some(v));
        self.columns.iter().zip(numbers)
    }

    /// The last recorded step.
    pub fn last_step(&self) -> Option<u64> {
        self.rows().next_back().map(|row| row[0] as u64)
    }

    /// The recorded steps.
    pub fn steps(&self) -> Vec<u64> {
        debug_assert!(self.columns.first().is_none_or(|c| c.is_of(&STEP)));
        self.rows().map(|row| row[0] as u64).collect()
    }

    /// Names of the strategies that the model is compared with, the simplest first.
    pub fn strategies(&self) -> Vec<String> {
        let name = |column: &Column| match &column.of {
            Of::Strategy(name) if column.is_of(&KL_STRATEGY) => Some(name.clone()),
            _ => None,
        };
        self.columns.iter().filter_map(name).collect()
    }

    /// The strategy of a task's ladder that is nearest to the model in the last row.
    pub fn nearest(&self, ladder: &[String]) -> Option<&str> {
        let last = self.len().checked_sub(1)?;
        let (_, nearest) = self.nearest_from(last, ladder).next()?;
        nearest
    }

    /// The steps of the rows from `first` on, each with the strategy of the ladder that is nearest to the
    /// model there.
    pub fn nearest_from(
        &self,
        first: usize,
        ladder: &[String],
    ) -> impl Iterator<Item = (u64, Option<&str>)> {
        let compared = |(index, column): (usize, &'_ Column)| match &column.of {
            Of::Strategy(name) if column.is_of(&KL_STRATEGY) && ladder.contains(name) => {
                Some(index)
            }
            _ => None,
        };
        let compared: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(compared)
            .collect();
        self.rows().skip(first).map(move |row| {
            let present = compared.iter().filter(|&&index| !row[index].is_nan());
            let nearest = present.min_by(|&&a, &&b| row[a].total_cmp(&row[b]));
            let name = nearest.and_then(|&index| self.columns[index].strategy());
            (row[0] as u64, name)
        })
    }

    /// Phases and drops with respect to a task's ladder of strategies. Others that the model is compared with do
    /// not count: what phases a run has must not depend on what else is looked
    /// at.
    pub fn phases(&self, ladder: &[String]) -> (Vec<Phase>, Vec<LossDrop>) {
        let distance = |name: &String| {
            let column = self.column(KL_STRATEGY.of_strategy(name))?;
            Some((name.clone(), column))
        };
        let distances: Vec<(String, Vec<f64>)> = ladder.iter().filter_map(distance).collect();
        let (steps, loss) = (self.steps(), self.column(&KL_TRUTH).unwrap_or_default());
        let course = Course {
            steps: &steps,
            loss: &loss,
            distances: &distances,
        };
        if steps.is_empty() || loss.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let found = phases(&course);
        let falls = drops(&course, &found);
        (found, falls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ENTROPY;

    fn history(steps: &[f64]) -> History {
        let mut history = History::new(vec![(&STEP).into(), (&KL_TRUTH).into()]);
        for &step in steps {
            history.push(&[step, f64::NAN]).unwrap();
        }
        history
    }

    #[test]
    fn rows_can_be_dropped_by_step() {
        let mut history = history(&[0.0, 20.0, 40.0]);
        history.retain(|step| step <= 20);
        assert_eq!(history.steps(), [0, 20]);
        assert!(history.column(&KL_TRUTH).unwrap()[1].is_nan());
        assert_eq!(history.last(&KL_TRUTH), None);
        assert_eq!(history.column(ENTROPY.of_head(0, 0)), None);
    }

    #[test]
    fn phases_are_read_from_the_ladder_only() {
        let names = ["uniform", "unigram", "bigram", "trigram", "mine"];
        let compared = names.map(|name| KL_STRATEGY.of_strategy(name));
        let first = [(&STEP).into(), (&KL_TRUTH).into()];
        let mut history = History::new(first.into_iter().chain(compared).collect());
        for step in [0.0, 10.0, 20.0] {
            history.push(&[step, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1]).unwrap();
        }
        assert_eq!(history.strategies(), names);
        for (length, nearest) in [(3, "bigram"), (4, "trigram")] {
            let ladder = names[..length].iter().map(ToString::to_string);
            let ladder: Vec<String> = ladder.collect();
            assert_eq!(history.nearest(&ladder), Some(nearest));
            let (phases, _) = history.phases(&ladder);
            assert_eq!(phases.len(), 1);
            assert_eq!(phases[0].strategy, nearest);
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let mut history = history(&[0.0, 20.0]);
        for row in [
            &[40.0][..],
            &[20.0, 0.1],
            &[f64::NAN, 0.1],
            &[40.5, 0.1],
            &[],
        ] {
            assert!(history.push(row).is_err(), "{row:?}");
        }
        assert_eq!(history.len(), 2);
    }
}
