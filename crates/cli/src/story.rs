//! A run's story, told from its records: phases, losses beside those of the strategies, what the heads do.

use induct::measure::{
    BuiltIn, Column, CustomMeasure, INDUCTION, KL_TRUTH, KL_TRUTH_SE, MATCHING_GAP, Measure,
    NGRAM_MATCH, ODD_EVEN, PREVIOUS_TOKEN, Scope, TEST_KL_TRUTH,
};
use induct::probe::History;
use induct::run::Summary;
use induct::train::{Event, Recipe};
use serde_json::{Value, json};

use crate::chart::{Chart, Line};
use crate::words::{count, fixed};

/// A run's records and outcome, told as a story.
pub struct Story<'a> {
    /// What was trained.
    pub recipe: &'a Recipe,
    /// What was recorded.
    pub history: &'a History,
    /// The outcome.
    pub summary: &'a Summary,
}

/// A head's score at the start and at the end.
struct Scored {
    column: Column,
    first: f64,
    last: f64,
}

impl Scored {
    /// The fraction of the gap to a score of one that was closed since the start.
    fn gap_closed(&self) -> f64 {
        match self.first < 1.0 {
            true => (self.last - self.first) / (1.0 - self.first),
            false => 0.0,
        }
    }

    /// Whether the head has come to do what the score measures: it closed at least half of the gap to one, or
    /// had a high score from start to end.
    fn is_formed(&self) -> bool {
        self.gap_closed() >= 0.5 || self.first.min(self.last) >= 0.8
    }

    fn place(&self) -> (usize, usize) {
        self.column.head().unwrap_or_default()
    }
}

/// The sentence on a run that its event ended.
pub fn stopped(recipe: &Recipe, summary: &Summary) -> String {
    let event = recipe.train.stop.as_ref().map(Event::to_string);
    format!(
        "Stopped at step {} of {} by train.stop: {}.",
        summary.steps,
        recipe.train.steps,
        event.unwrap_or_default()
    )
}

impl Story<'_> {
    /// The story as text for a terminal.
    pub fn text(&self) -> String {
        let (task, train) = (&self.recipe.task, &self.recipe.train);
        let done = self.history.steps().last().copied().unwrap_or(0);
        let mut text = format!(
            "{}: {} states, n = {}, length {}, {done} of {}, {} per step\n",
            self.recipe.name,
            task.states,
            task.ngram,
            task.length,
            count(train.steps as usize, "step"),
            count(train.batch, "sequence"),
        );
        text += &self.phases();
        text += &self.losses();
        text += &self.heads();
        text += &self.others();
        text + &self.chart()
    }

    fn phases(&self) -> String {
        let mut text = String::from("\nPhases (nearest strategy at the last position)\n");
        for phase in &self.summary.phases {
            text += &format!(
                "  {:<10} steps {:>6} to {:>6}, KL(truth ‖ model) settles at {}\n",
                phase.strategy,
                phase.onset,
                phase.end,
                fixed(phase.plateau, 4)
            );
        }
        for drop in &self.summary.drops {
            text += &format!(
                "  {} -> {}: halfway at step {:.0}, from 10 % to 90 % in {:.0} steps\n",
                drop.from, drop.to, drop.midpoint, drop.width
            );
        }
        text
    }

    fn losses(&self) -> String {
        let sequences = self.recipe.record.test_sequences;
        let names = self.summary.strategies.iter().map(|(name, _)| name.len());
        let width = names.max().unwrap_or(0).max(10);
        let mut text = format!(
            "\nAt the end, in nats at the last position, ± one standard error over the same {}\n  \
             {:<width$} {:>18} {:>22}\n",
            count(sequences, "test sequence"),
            "",
            "KL(truth ‖ ·)",
            "KL(strategy ‖ model)"
        );
        let with_error = |mean: Option<f64>, se: Option<f64>| match (mean, se) {
            (Some(mean), Some(se)) => format!("{} ± {}", fixed(mean, 4), fixed(se, 4)),
            (Some(mean), None) => fixed(mean, 4),
            _ => "-".to_owned(),
        };
        let model = with_error(
            self.history.last(&KL_TRUTH),
            self.history.last(&KL_TRUTH_SE),
        );
        text += &format!("  {:<width$} {model:>18}\n", "model");
        for (name, level) in &self.summary.strategies {
            let truth = with_error(level.kl_truth, level.se);
            let to_model = with_error(level.kl_to_model, None);
            text += &format!("  {name:<width$} {truth:>18} {to_model:>22}\n");
        }
        text
    }

    /// Every head's score by a measure.
    fn scores(&self, measure: &dyn Measure) -> Vec<Scored> {
        let columns = self.history.columns().iter();
        let of_measure = columns.filter(|column| column.is_of(measure));
        let scored = of_measure.filter_map(|column| {
            let values = self.history.column(column.clone())?;
            Some(Scored {
                column: column.clone(),
                first: *values.first()?,
                last: *values.last()?,
            })
        });
        scored.filter(|scored| scored.last.is_finite()).collect()
    }

    /// The head measures that were recorded, in order.
    fn head_measures(&self) -> Vec<&dyn Measure> {
        let chosen = self.recipe.record.chosen().into_iter();
        let of_heads = chosen.filter(|measure| measure.scope() == Scope::Head);
        of_heads
            .filter(|measure| !self.scores(*measure).is_empty())
            .collect()
    }

    fn heads(&self) -> String {
        let measures = self.head_measures();
        if measures.is_empty() {
            return String::new();
        }
        let mut text = String::from("\nHeads, at the start -> at the end\n");
        text += &format!("  {:<18}", "");
        for measure in &measures {
            text += &format!(" {:>18}", measure.name());
        }
        text.push('\n');
        let scores: Vec<Vec<Scored>> = measures.iter().map(|m| self.scores(*m)).collect();
        let mut places: Vec<(usize, usize)> = scores.iter().flatten().map(Scored::place).collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let (layer, head) = place;
            text += &format!("  {:<18}", format!("layers.{layer}.heads.{head}"));
            for scores in &scores {
                let scored = scores.iter().find(|scored| scored.place() == place);
                let cell = scored.map_or("-".to_owned(), |scored| {
                    format!("{:.3} -> {:.3}", scored.first, scored.last)
                });
                text += &format!(" {cell:>18}");
            }
            text.push('\n');
        }
        for (what, found) in self.found() {
            let (layer, head) = found.place();
            let place = format!(
                "layers.{layer}.heads.{head} (layer {}, head {})",
                layer + 1,
                head + 1
            );
            let name = &found.column.measure;
            text += &match found.is_formed() {
                true => format!("  {what}: {place}, {name} {:.2}\n", found.last),
                false => format!(
                    "  {what}: none has formed; the closest is {place}, {name} {:.2}, {:.2} at the start\n",
                    found.last, found.first
                ),
            };
        }
        text
    }

    /// The kinds of head looked for, and the best head of each kind in any layer.
    fn found(&self) -> Vec<(&'static str, Scored)> {
        let kinds = [
            ("Previous-token head", &PREVIOUS_TOKEN),
            ("Induction head", &INDUCTION),
            ("N-gram head", &NGRAM_MATCH),
        ];
        let best = |(what, measure): (&'static str, &BuiltIn)| {
            let scores = self.scores(measure).into_iter();
            let better = |a: &Scored, b: &Scored| {
                let by_gain = a.gap_closed().total_cmp(&b.gap_closed());
                by_gain.then(a.last.total_cmp(&b.last))
            };
            let best = scores.max_by(better)?;
            Some((what, best))
        };
        kinds.into_iter().filter_map(best).collect()
    }

    /// The same as JSON: `{"previous_token": {"layer", "head", "start", "end", "formed"}, …}`. Layers and
    /// heads count from 0.
    pub fn heads_json(&self) -> Value {
        let entry = |(_, found): (&str, Scored)| {
            let (layer, head) = found.place();
            let value = json!({
                "layer": layer,
                "head": head,
                "start": found.first,
                "end": found.last,
                "formed": found.is_formed(),
            });
            (found.column.measure.clone(), value)
        };
        Value::Object(self.found().into_iter().map(entry).collect())
    }

    /// The columns of measures that another program added, with their meaning. Measures of heads are shown
    /// with the heads, and those of positions would fill pages.
    fn custom(&self) -> Vec<(Column, String)> {
        let custom = self.recipe.record.custom_measures.iter();
        let few = |measure: &&CustomMeasure| {
            matches!(measure.scope(), Scope::Run | Scope::Strategy | Scope::Test)
        };
        let listed = custom.filter(few).flat_map(|measure| {
            let columns = self.history.columns().iter();
            let of_measure = columns.filter(move |column| column.is_of(measure));
            of_measure
                .map(move |column| (column.clone(), format!("{column}: {}", measure.meaning())))
        });
        listed.collect()
    }

    fn others(&self) -> String {
        let tests = self.recipe.record.tests.iter().map(|test| {
            let column = TEST_KL_TRUTH.of_test(&test.name);
            (
                column,
                format!("on test set {}, KL(truth ‖ model)", test.name),
            )
        });
        let of_model = [
            (
                Column::from(&ODD_EVEN),
                "excess of odd over even lags in the positional profile".to_owned(),
            ),
            (
                Column::from(&MATCHING_GAP),
                "layer 2, attention score of an equal symbol minus that of another".to_owned(),
            ),
        ];
        let mut text = String::new();
        for (column, meaning) in tests.chain(of_model).chain(self.custom()) {
            let values = self.history.column(column).unwrap_or_default();
            if let (Some(first), Some(last)) = (values.first(), values.last())
                && last.is_finite()
            {
                text += &format!(
                    "  {:>8} {:>8}  {meaning}\n",
                    fixed(*first, 4),
                    fixed(*last, 4)
                );
            }
        }
        match text.is_empty() {
            true => text,
            false => format!("\nOther measures, at the start and at the end\n{text}"),
        }
    }

    fn chart(&self) -> String {
        let steps = self.history.steps().into_iter().map(|step| step as f64);
        let losses = self.history.column(&KL_TRUTH).unwrap_or_default();
        let line = Line {
            mark: '*',
            points: steps.zip(losses).collect(),
        };
        let chart = Chart {
            lines: &[line],
            levels: &self.summary.levels(),
        };
        format!("\nKL(truth ‖ model) over training steps\n{}", chart.draw())
    }
}
