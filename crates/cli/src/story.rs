//! A run's story, told from its records: phases, losses beside those of the strategies, what the heads do.

use induct::measure::{
    BuiltIn, Column, CustomMeasure, INDUCTION, KL_TRUTH, KL_TRUTH_SE, MATCHING_GAP, Measure,
    NGRAM_MATCH, ODD_EVEN, PREVIOUS_TOKEN, Scope, TEST_KL_TRUTH,
};
use induct::probe::History;
use induct::recipe::{Event, Recipe};
use induct::run::{Ended, Summary};
use serde::Serialize;

use crate::chart::{Chart, Line};
use crate::recorded::RecordedRun;
use crate::report::object;
use crate::table::Table;
use crate::words::{count, fixed};

/// A run's records and outcome, told as a story.
#[derive(Serialize)]
pub struct Story<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// The best head of each kind in any layer, by the measure that finds it.
    #[serde(serialize_with = "object")]
    heads: Vec<(&'static str, HeadScore)>,
    /// How the run ended, in place of the summary's answer for a run that has not.
    ended: Option<Ended>,
    #[serde(skip)]
    path: String,
    #[serde(skip)]
    recipe: &'a Recipe,
    #[serde(skip)]
    history: &'a History,
}

static KINDS: [(&str, &BuiltIn); 3] = [
    ("Previous-token head", &PREVIOUS_TOKEN),
    ("Induction head", &INDUCTION),
    ("N-gram head", &NGRAM_MATCH),
];

/// A head's score at the start and at the end.
#[derive(Serialize)]
struct HeadScore {
    layer: usize,
    head: usize,
    start: f64,
    end: f64,
    /// Whether the head has come to do what the score measures.
    formed: bool,
}

impl HeadScore {
    fn new(column: &Column, start: f64, end: f64) -> Self {
        let (layer, head) = column.head().unwrap_or_default();
        let mut score = Self {
            layer,
            head,
            start,
            end,
            formed: false,
        };
        // It closed at least half of the gap to one, or had a high score from start to end.
        score.formed = score.gap_closed() >= 0.5 || start.min(end) >= 0.8;
        score
    }

    /// The fraction of the gap to a score of one that was closed since the start.
    fn gap_closed(&self) -> f64 {
        match self.start < 1.0 {
            true => (self.end - self.start) / (1.0 - self.start),
            false => 0.0,
        }
    }
}

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
    pub fn text(&self) -> String {
        let (task, train) = (&self.recipe.task, &self.recipe.train);
        let done = self.history.steps().last().copied().unwrap_or(0);
        let mut text = self.ending();
        text += &format!(
            "{}: {task}, {done} of {}, {} per step\n",
            self.recipe.name,
            count(train.steps, "step"),
            count(train.batch, "sequence"),
        );
        text += &self.phases();
        text += &self.losses();
        text += &self.heads();
        text += &self.others();
        text + &self.chart()
    }
}

impl<'a> Story<'a> {
    /// The story of a run, which may not have ended.
    pub fn new(run: &'a RecordedRun, summary: &'a Summary, ended: Option<Ended>) -> Self {
        let mut story = Self {
            summary,
            heads: Vec::new(),
            ended,
            path: run.path(),
            recipe: run.folder.recipe(),
            history: &run.history,
        };
        for (_, measure) in &KINDS {
            let better = |a: &HeadScore, b: &HeadScore| {
                let by_gain = a.gap_closed().total_cmp(&b.gap_closed());
                by_gain.then(a.end.total_cmp(&b.end))
            };
            let best = story.scores(*measure).into_iter().max_by(better);
            story.heads.extend(best.map(|best| (measure.name, best)));
        }
        story
    }

    /// How the run ended, unless all of its steps are done.
    fn ending(&self) -> String {
        let path = &self.path;
        match self.ended {
            Some(Ended::Complete) => String::new(),
            Some(Ended::Event) => stopped(self.recipe, self.summary) + "\n\n",
            Some(Ended::Diverged) => format!(
                "Diverged: the loss was not a number at step {}.\n\n",
                self.summary.diverged_at.unwrap_or_default()
            ),
            None => match self.recipe.check_parts() {
                Ok(()) => format!(
                    "Not ended: `induct train {path}/recipe.toml --resume` goes on with it.\n\n"
                ),
                Err(missing) => {
                    format!("Not ended: only the program that made it can go on ({missing}).\n\n")
                }
            },
        }
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
        let cell = |mean: Option<f64>, se: Option<f64>| match (mean, se) {
            (Some(mean), Some(se)) => format!("{} ± {}", fixed(mean, 4), fixed(se, 4)),
            (Some(mean), None) => fixed(mean, 4),
            _ => "-".to_owned(),
        };
        let (kl, se) = (
            self.history.last(&KL_TRUTH),
            self.history.last(&KL_TRUTH_SE),
        );
        let mut table = Table::new(["", "KL(truth ‖ ·)", "KL(strategy ‖ model)"]);
        table.row(["model".to_owned(), cell(kl, se)]);
        for (name, level) in &self.summary.strategies {
            let (truth, to_model) = (
                cell(level.kl_truth, level.se),
                cell(level.kl_to_model, None),
            );
            table.row([name.clone(), truth, to_model]);
        }
        format!(
            "\nAt the end, in nats at the last position, ± one standard error over the same {}\n{}",
            count(self.recipe.record.test_sequences, "test sequence"),
            table.text("  ")
        )
    }

    /// Every head's score by a measure.
    fn scores(&self, measure: &dyn Measure) -> Vec<HeadScore> {
        let columns = self.history.columns().iter();
        let of_measure = columns.filter(|column| column.is_of(measure));
        let score = |column: &Column| {
            let values = self.history.column(column.clone())?;
            Some(HeadScore::new(column, *values.first()?, *values.last()?))
        };
        let scores = of_measure.filter_map(score);
        scores.filter(|score| score.end.is_finite()).collect()
    }

    fn heads(&self) -> String {
        let chosen = self.recipe.record.chosen().into_iter();
        let of_heads = chosen.filter(|measure| measure.scope() == Scope::Head);
        let scores = of_heads.map(|measure| (measure.name(), self.scores(measure)));
        let scores: Vec<_> = scores.filter(|(_, scores)| !scores.is_empty()).collect();
        if scores.is_empty() {
            return String::new();
        }
        let all = scores.iter().flat_map(|(_, scores)| scores);
        let mut places: Vec<(usize, usize)> = all.map(|score| (score.layer, score.head)).collect();
        places.sort_unstable();
        places.dedup();
        let names = scores.iter().map(|(name, _)| *name);
        let mut table = Table::new([""].into_iter().chain(names));
        for (layer, head) in places {
            let cell = |(_, scores): &(&str, Vec<HeadScore>)| {
                let score = scores.iter().find(|s| (s.layer, s.head) == (layer, head));
                score.map_or("-".to_owned(), |s| {
                    format!("{:.3} -> {:.3}", s.start, s.end)
                })
            };
            let place = format!("layers.{layer}.heads.{head}");
            table.row([place].into_iter().chain(scores.iter().map(cell)));
        }
        let mut text = format!("\nHeads, at the start -> at the end\n{}", table.text("  "));
        for (name, found) in &self.heads {
            let (layer, head) = (found.layer, found.head);
            let kind = KINDS.iter().find(|(_, measure)| measure.name == *name);
            let what = kind.map_or(*name, |(what, _)| *what);
            let place = format!(
                "layers.{layer}.heads.{head} (layer {}, head {})",
                layer + 1,
                head + 1
            );
            text += &match found.formed {
                true => format!("  {what}: {place}, {name} {:.2}\n", found.end),
                false => format!(
                    "  {what}: none has formed; the closest is {place}, {name} {:.2}, {:.2} at the start\n",
                    found.end, found.start
                ),
            };
        }
        text
    }

    /// Test sets, two measures of the model, and those that another program added: but its measures of heads
    /// are shown with the heads, and those of positions would fill pages.
    fn others(&self) -> String {
        let tests = self.recipe.record.tests.iter().map(|test| {
            let meaning = format!("on test set {}, KL(truth ‖ model)", test.name);
            (TEST_KL_TRUTH.of_test(&test.name), meaning)
        });
        let of_model = [
            (
                &ODD_EVEN,
                "excess of odd over even lags in the positional profile",
            ),
            (
                &MATCHING_GAP,
                "layer 2, attention score of an equal symbol minus that of another",
            ),
        ];
        let of_model =
            of_model.map(|(measure, meaning)| (Column::from(measure), meaning.to_owned()));
        let custom = self.recipe.record.custom_measures.iter();
        let few = |measure: &&CustomMeasure| {
            matches!(measure.scope(), Scope::Run | Scope::Strategy | Scope::Test)
        };
        let custom = custom.filter(few).flat_map(|measure| {
            let columns = self.history.columns().iter();
            let of_measure = columns.filter(move |column| column.is_of(measure));
            of_measure
                .map(move |column| (column.clone(), format!("{column}: {}", measure.meaning())))
        });
        let mut text = String::new();
        for (column, meaning) in tests.chain(of_model).chain(custom) {
            let values = self.history.column(column).unwrap_or_default();
            if let (Some(first), Some(last)) = (values.first(), values.last())
                && last.is_finite()
            {
                let (first, last) = (fixed(*first, 4), fixed(*last, 4));
                text += &format!("  {first:>8} {last:>8}  {meaning}\n");
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
