//! A run's story, from its records: phases, losses against strategies, what the heads do.

use induct::probe::{History, KL_TRUTH, TestSet, kl_column};
use induct::train::Recipe;
use serde_json::{Value, json};

use crate::chart::Chart;

/// What a run's records say.
pub struct Story<'a> {
    history: &'a History,
    /// Name and KL(truth ‖ strategy) at the last position, on the run's own test set.
    strategies: Vec<(String, f64)>,
}

impl<'a> Story<'a> {
    /// From the records and the in-distribution test set they were made on.
    pub fn new(set: &TestSet, history: &'a History) -> Self {
        let divergences = set.truth_divergences();
        let strategies = set.references().iter().zip(divergences).skip(1);
        let strategies = strategies
            .map(|(reference, kl)| (reference.name.clone(), kl.last.estimate().mean))
            .collect();
        Self {
            history,
            strategies,
        }
    }

    fn names(&self) -> Vec<String> {
        self.strategies
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn last(&self, column: &str) -> f64 {
        self.history.last(column).unwrap_or(f64::NAN)
    }

    /// For a reader at a terminal.
    pub fn text(&self, recipe: &Recipe) -> String {
        let task = &recipe.task;
        let done = self.history.steps().last().copied().unwrap_or(0);
        let mut text = format!(
            "{}: {} states, n = {}, length {}, {done} of {} steps of {} sequences\n",
            recipe.name,
            task.states,
            task.ngram,
            task.length,
            recipe.train.steps,
            recipe.train.batch
        );
        let (phases, drops) = self.history.phases(&self.names());
        text += "\nPhases (nearest strategy at the last position)\n";
        for phase in &phases {
            text += &format!(
                "  {:<10} steps {:>6} to {:>6}, KL(truth || model) settles at {:.4}\n",
                phase.strategy, phase.onset, phase.end, phase.plateau
            );
        }
        for drop in &drops {
            text += &format!(
                "  {} -> {}: half done at step {:.0}, a tenth to nine tenths in {:.0} steps\n",
                drop.from, drop.to, drop.midpoint, drop.width
            );
        }
        text += "\nAt the end, in nats at the last position\n";
        text += &format!(
            "  {:<10} {:>18} {:>22}\n",
            "", "KL(truth || it)", "KL(it || model)"
        );
        text += &format!("  {:<10} {:>18.4}\n", "model", self.last(KL_TRUTH));
        for (name, kl_truth) in &self.strategies {
            let kl_model = self.last(&kl_column(name));
            text += &format!("  {name:<10} {kl_truth:>18.4} {kl_model:>22.4}\n");
        }
        let others = [
            ("iid.kl_truth", "on independent symbols, KL(truth || model)"),
            (
                "doubly_stochastic.kl_truth",
                "on doubly stochastic chains, KL(truth || model)",
            ),
            ("previous_token", "layer 1, mass on the previous position"),
            (
                "induction",
                "layer 2, mass on what followed the current symbol",
            ),
            (
                "odd_even",
                "odd lags above even ones in the positional profile",
            ),
            (
                "matching_gap",
                "layer 2, how much more an equal symbol attracts (score)",
            ),
        ];
        text += "\nAlso, at the start and at the end\n";
        for (column, meaning) in others {
            let values = self.history.column(column).unwrap_or_default();
            if let (Some(first), Some(last)) = (values.first(), values.last())
                && last.is_finite()
            {
                text += &format!("  {first:>8.4} {last:>8.4}  {meaning}\n");
            }
        }
        let steps: Vec<f64> = self
            .history
            .steps()
            .iter()
            .map(|&step| step as f64)
            .collect();
        let losses = self.history.column(KL_TRUTH).unwrap_or_default();
        let chart = Chart {
            x: &steps,
            y: &losses,
            levels: &self.strategies,
        };
        text += "\nKL(truth || model) over training steps\n";
        text + &chart.draw()
    }

    /// For machines: `phases`, `drops`, `strategies`, `final`.
    pub fn json(&self) -> Value {
        let (phases, drops) = self.history.phases(&self.names());
        let strategies: serde_json::Map<String, Value> = self
            .strategies
            .iter()
            .map(|(name, kl)| {
                let kl_to_model = self.history.last(&kl_column(name));
                (
                    name.clone(),
                    json!({ "kl_truth": kl, "kl_to_model": kl_to_model }),
                )
            })
            .collect();
        let last: serde_json::Map<String, Value> = self
            .history
            .columns()
            .iter()
            .map(|column| (column.clone(), json!(self.history.last(column))))
            .collect();
        json!({
            "phases": phases.iter().map(|phase| json!({
                "strategy": phase.strategy,
                "onset": phase.onset,
                "end": phase.end,
                "plateau": phase.plateau,
            })).collect::<Vec<_>>(),
            "drops": drops.iter().map(|drop| json!({
                "from": drop.from,
                "to": drop.to,
                "midpoint": drop.midpoint,
                "width": drop.width,
            })).collect::<Vec<_>>(),
            "strategies": strategies,
            "final": last,
        })
    }
}
