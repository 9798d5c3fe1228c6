//! A recorded run, and what can be read from its records.

use induct::internal::median;
use induct::measure::{BuiltIn, Column, KL_STRATEGY, KL_TRUTH};
use induct::probe::{IN_DISTRIBUTION, LossDrop, Phase};
use induct::run::{Ended, Recording};

use crate::results::Exam;

/// A run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    kept: Recording,
    exam: Option<Exam>,
}

impl From<Recording> for Run {
    fn from(kept: Recording) -> Self {
        Self { kept, exam: None }
    }
}

/// A plateau at a strategy, and the fall of KL(truth ‖ model) from there to the end of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// The step at which the strategy becomes the nearest one.
    pub onset: f64,
    /// Median loss of the phase.
    pub plateau: f64,
    /// Loss at the end of the run.
    pub reached: f64,
    /// The step after which at least a tenth of the fall is always complete.
    pub start: f64,
    /// The step after which at least nine tenths of it are always complete.
    pub end: f64,
}

impl Fall {
    /// The middle of the plateau.
    pub fn on_plateau(&self) -> f64 {
        0.5 * (self.onset + self.start)
    }

    /// The middle of the fall.
    pub fn half_way(&self) -> f64 {
        0.5 * (self.start + self.end)
    }
}

/// Index of the number closest to another; 0 if there are none.
fn nearest(numbers: &[f64], to: f64) -> usize {
    let distance = |index: &usize| (numbers[*index] - to).abs();
    (0..numbers.len())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(0)
}

impl Run {
    pub(crate) fn recording(&self) -> &Recording {
        &self.kept
    }

    /// The run with the result of its exam.
    pub(crate) fn examined(self, exam: Option<Exam>) -> Self {
        Self { exam, ..self }
    }

    /// The exam of its final model; `None` for a run that diverged.
    pub fn exam(&self) -> Option<&Exam> {
        self.exam.as_ref()
    }

    /// Whether it came to its end.
    pub fn completed(&self) -> bool {
        self.kept.summary.ended != Ended::Diverged
    }

    /// How long it took.
    pub fn seconds(&self) -> f64 {
        self.kept.summary.seconds
    }

    /// Steps and weights during training; the last one is at the end.
    pub fn snapshots(&self) -> &[(u64, Vec<f32>)] {
        &self.kept.snapshots
    }

    /// The final weights, if any were kept.
    pub fn params(&self) -> Option<&[f32]> {
        self.snapshots().last().map(|(_, params)| params.as_slice())
    }

    /// The last value of a measure.
    pub fn last(&self, column: impl Into<Column>) -> Option<f64> {
        self.kept.history.last(column)
    }

    /// The last value of a measure, the largest over the heads of a layer.
    pub fn best_head(&self, measure: &BuiltIn, layer: usize) -> Option<f64> {
        self.over_heads(measure, layer).last().copied()
    }

    /// For every record, the largest value over the heads of a layer; empty if there is none.
    pub fn over_heads(&self, measure: &BuiltIn, layer: usize) -> Vec<f64> {
        let columns = self.kept.history.columns().iter();
        let own = columns.filter(|c| c.is_of(measure) && c.head().is_some_and(|(l, _)| l == layer));
        let heads: Vec<Vec<f64>> = own
            .filter_map(|c| self.kept.history.column(c.clone()))
            .collect();
        let best = |row: usize| heads.iter().map(|head| head[row]).fold(f64::NAN, f64::max);
        match heads.first() {
            Some(first) => (0..first.len()).map(best).collect(),
            None => Vec::new(),
        }
    }

    /// The fall from a strategy's plateau; `None` if the run has no such plateau or does not fall from it.
    pub fn fall_from(&self, strategy: &str) -> Option<Fall> {
        let phase = self.phase(strategy)?;
        let (onset, end) = (phase.onset as f64, phase.end as f64);
        let plateau = median(&self.between(&KL_TRUTH, onset, end));
        let reached = self.last(&KL_TRUTH)?;
        let (steps, losses) = (self.steps(), self.column(&KL_TRUTH));
        // Always: a run may dip below a level before its plateau and come back.
        let below_for_good = |share: f64| {
            let level = plateau - share * (plateau - reached);
            let last_above = losses.iter().rposition(|&loss| loss > level)?;
            steps.get(last_above + 1).copied()
        };
        (reached < plateau).then_some(Fall {
            onset,
            plateau,
            reached,
            start: below_for_good(0.1)?,
            end: below_for_good(0.9)?,
        })
    }

    /// A column of its records.
    ///
    /// # Panics
    ///
    /// If the recipe does not record it. Experiments are checked for everything that figures and claims read.
    pub fn column(&self, column: impl Into<Column>) -> Vec<f64> {
        let column = column.into();
        let found = self.kept.history.column(column.clone());
        found.unwrap_or_else(|| panic!("{column} was not recorded"))
    }

    /// The recorded steps.
    pub fn steps(&self) -> Vec<f64> {
        let steps = self.kept.history.steps();
        steps.into_iter().map(|step| step as f64).collect()
    }

    /// KL(truth ‖ strategy) on a test set; NaN if it was not measured.
    pub fn level_on(&self, test: &str, strategy: &str) -> f64 {
        let level = self.kept.summary.level(test, strategy);
        level.unwrap_or(f64::NAN)
    }

    /// KL(truth ‖ strategy) in distribution.
    pub fn level(&self, strategy: &str) -> f64 {
        self.level_on(IN_DISTRIBUTION, strategy)
    }

    /// The strategies that the model is compared with, simplest first.
    pub fn strategies(&self) -> Vec<String> {
        self.kept.history.strategies()
    }

    pub(crate) fn phases(&self) -> (&[Phase], &[LossDrop]) {
        (&self.kept.summary.phases, &self.kept.summary.drops)
    }

    /// Names of the phases in order.
    pub fn order(&self) -> Vec<String> {
        self.phases().0.iter().map(|p| p.strategy.clone()).collect()
    }

    /// The first phase at a strategy.
    pub fn phase(&self, strategy: &str) -> Option<Phase> {
        let (phases, _) = self.phases();
        phases
            .iter()
            .find(|phase| phase.strategy == strategy)
            .cloned()
    }

    /// The step at which a strategy first becomes the nearest one, if it ever does.
    pub fn onset(&self, strategy: &str) -> Option<f64> {
        self.phase(strategy).map(|phase| phase.onset as f64)
    }

    /// The number of steps at which a strategy is the nearest one.
    pub fn steps_at(&self, strategy: &str) -> f64 {
        let (phases, _) = self.phases();
        let end = self.steps().last().copied().unwrap_or(0.0);
        let onsets = phases.iter().skip(1).map(|next| next.onset as f64);
        let stays = phases.iter().zip(onsets.chain([end]));
        let stays = stays.filter(|(phase, _)| phase.strategy == strategy);
        stays.map(|(phase, until)| until - phase.onset as f64).sum()
    }

    /// The drop that leads to a strategy.
    pub fn drop_to(&self, strategy: &str) -> Option<LossDrop> {
        let (_, drops) = self.phases();
        drops.iter().find(|drop| drop.to == strategy).cloned()
    }

    /// A column's values at the records from step `from` to step `to`, both included.
    pub fn between(&self, column: impl Into<Column>, from: f64, to: f64) -> Vec<f64> {
        let steps = self.steps();
        let inside = steps.iter().zip(self.column(column));
        let inside = inside.filter(|(step, _)| (from..=to).contains(*step));
        inside.map(|(_, value)| value).collect()
    }

    /// Index of the record nearest to a step.
    pub fn record_at(&self, step: f64) -> usize {
        nearest(&self.steps(), step)
    }

    /// Index of the snapshot nearest to a step.
    pub fn snapshot_at(&self, step: f64) -> usize {
        let steps: Vec<f64> = self
            .snapshots()
            .iter()
            .map(|(step, _)| *step as f64)
            .collect();
        nearest(&steps, step)
    }

    /// The first recorded step at which a column's value satisfies `reached`.
    pub fn first(&self, column: impl Into<Column>, reached: impl Fn(f64) -> bool) -> Option<f64> {
        let at = self.column(column).into_iter().position(reached)?;
        Some(self.steps()[at])
    }

    /// KL(strategy ‖ model) over the run.
    pub fn distance(&self, strategy: &str) -> Vec<f64> {
        self.column(KL_STRATEGY.of_strategy(strategy))
    }
}
