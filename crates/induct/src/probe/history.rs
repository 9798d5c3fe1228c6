//! What a run recorded: a table with one row a recorded step.

use super::phases::{Course, Drop, Phase, drops, phases};

/// Named columns of numbers, one row a recorded step. A number may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    columns: Vec<String>,
    rows: Vec<Vec<Option<f64>>>,
}

/// Name of the column with the step.
pub const STEP: &str = "step";
/// Name of the column with KL(truth ‖ model) at the last position, in distribution.
pub const KL_TRUTH: &str = "kl_truth";

/// Name of the column with KL(strategy ‖ model) at the last position.
pub fn kl_column(strategy: &str) -> String {
    format!("kl_{strategy}")
}

impl History {
    /// An empty table.
    pub fn new(columns: Vec<String>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, in order of steps.
    pub fn rows(&self) -> &[Vec<Option<f64>>] {
        &self.rows
    }

    /// Appends a row.
    ///
    /// # Panics
    ///
    /// If it has not one number a column.
    pub fn push(&mut self, row: Vec<Option<f64>>) {
        assert_eq!(row.len(), self.columns.len(), "one number a column");
        self.rows.push(row);
    }

    /// Keeps the rows up to `step` only.
    pub fn truncate_after(&mut self, step: u64) {
        let Some(column) = self.index(STEP) else {
            return;
        };
        self.rows
            .retain(|row| row[column].is_some_and(|s| s <= step as f64));
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// A column by its name; missing numbers are NaN.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let index = self.index(name)?;
        Some(
            self.rows
                .iter()
                .map(|row| row[index].unwrap_or(f64::NAN))
                .collect(),
        )
    }

    /// The last number in a column.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.rows.last()?[self.index(name)?]
    }

    /// The recorded steps.
    pub fn steps(&self) -> Vec<u64> {
        let steps = self.column(STEP).unwrap_or_default();
        steps.into_iter().map(|step| step as u64).collect()
    }

    /// The strategy, out of the given ones, that the model is nearest to in the last row.
    pub fn nearest(&self, strategies: &[String]) -> Option<String> {
        let distance = |name: &String| self.last(&kl_column(name));
        strategies
            .iter()
            .filter_map(|name| Some((distance(name)?, name)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name.clone())
    }

    /// Phases and drops with respect to the given strategies. Strategies without a column are left out.
    pub fn phases(&self, strategies: &[String]) -> (Vec<Phase>, Vec<Drop>) {
        let distances: Vec<(String, Vec<f64>)> = strategies
            .iter()
            .filter_map(|name| Some((name.clone(), self.column(&kl_column(name))?)))
            .collect();
        let (steps, loss) = (self.steps(), self.column(KL_TRUTH).unwrap_or_default());
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

    #[test]
    fn rows_after_a_step_can_be_dropped() {
        let mut history = History::new(vec![STEP.into(), KL_TRUTH.into()]);
        for step in [0.0, 20.0, 40.0] {
            history.push(vec![Some(step), None]);
        }
        history.truncate_after(20);
        assert_eq!(history.steps(), [0, 20]);
        assert!(history.column(KL_TRUTH).unwrap()[1].is_nan());
        assert_eq!(history.column("absent"), None);
    }
}
