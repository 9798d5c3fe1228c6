//! What can be asked, and how it is answered.

use induct::probe::test_sequence;
use induct::recipe::Recipe;
use induct::run::NUMERICS;
use induct_store::RunFiles;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::numbers::{bytes_of_f32, bytes_of_f64, f32_of, f64_of};
use crate::picture::{Painter, Picture};
use crate::problem::Problem;
use crate::recipes::{self, Change, Source, catalogue, changed};
use crate::shelf::{Moment, RunId, Shelf};
use crate::take::Take;
use crate::talk::Strategies;
use crate::training::{Levels, Training};

/// What a page asks.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// Which settings have a name, and which version results belong to.
    Catalogue,
    /// Reads a recipe: everything about it, or what is wrong with it.
    Recipe {
        /// The recipe.
        source: Source,
    },
    /// The recipe that does something differently from a step on.
    Change {
        /// As TOML.
        recipe: String,
        /// The step.
        step: u64,
        /// What changes.
        change: Change,
    },
    /// A sequence of a task's test set.
    Sequence {
        /// As TOML.
        recipe: String,
        /// Its number, from 0.
        number: u64,
    },

    /// Begins to train a run.
    Begin {
        /// As TOML.
        recipe: String,
    },
    /// Trains it for some steps. Attached: the records, then the weights of every snapshot.
    Advance {
        /// The most steps.
        steps: u64,
    },
    /// Trains another run from here that shares the beginning of this one.
    Branch {
        /// As TOML.
        recipe: String,
        /// The step at which they part.
        step: u64,
    },
    /// The outcome of the run that has ended.
    Outcome {
        /// How long it took.
        seconds: f64,
    },

    /// Puts a new run on the shelf.
    Add {
        /// Its number.
        run: RunId,
        /// As TOML.
        recipe: String,
        /// How well the strategies do.
        levels: Levels,
    },
    /// Adds records and snapshots, attached as [`Request::Advance`] gives them.
    Extend {
        /// The run.
        run: RunId,
        /// The steps of the snapshots.
        snapshots: Vec<u64>,
    },
    /// Puts a run on the shelf that shares the beginning of another.
    Fork {
        /// Its number.
        run: RunId,
        /// The other run.
        of: RunId,
        /// As TOML.
        recipe: String,
        /// The last step that they share.
        step: u64,
    },
    /// Notes the outcome of a run.
    End {
        /// The run.
        run: RunId,
        /// As [`Request::Outcome`] gave it.
        outcome: Value,
    },
    /// Opens a run from its files, which are attached.
    Open {
        /// Its number.
        run: RunId,
        /// What its folder is called.
        name: String,
        /// The names of the files within it.
        files: Vec<String>,
    },
    /// Takes a run from the shelf.
    Remove {
        /// The run.
        run: RunId,
    },
    /// The phases of a run, and its loss.
    Course {
        /// The run.
        run: RunId,
    },

    /// Draws a picture. Attached, unless it is for the page: the file.
    Picture(Picture),
    /// What a model and the strategies expect next.
    Talk {
        /// The model.
        #[serde(flatten)]
        moment: Moment,
        /// The symbols so far.
        tokens: Vec<u8>,
    },
    /// What the interventions of a moment do to the loss.
    Effect(Moment),
    /// A file of a run, attached.
    Take {
        /// The run.
        run: RunId,
        /// The file.
        #[serde(flatten)]
        take: Take,
    },
}

/// An answer: `{"answer": …}` or `{"problem": {"field", "sentence"}}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// As JSON.
    pub text: String,
    /// Attachments.
    pub attachments: Vec<Vec<u8>>,
}

/// A laboratory: a run in training, and runs that are looked at.
#[derive(Default)]
pub struct Lab {
    training: Option<Training>,
    shelf: Shelf,
    strategies: Strategies,
    painter: Painter,
}

/// Bytes that go with an answer.
type Attachments = Vec<Vec<u8>>;

impl Lab {
    /// Answers a request.
    pub fn answer(&mut self, request: &[u8], attachments: Vec<Vec<u8>>) -> Answer {
        let answered = serde_json::from_slice(request)
            .map_err(|error| Problem::new(format!("not a request: {error}")))
            .and_then(|request| self.attend(request, attachments));
        let (answer, attachments) = match answered {
            Ok((answer, attachments)) => (json!({ "answer": answer }), attachments),
            Err(problem) => (json!({ "problem": problem }), Vec::new()),
        };
        Answer {
            text: answer.to_string(),
            attachments,
        }
    }

    fn attend(
        &mut self,
        request: Request,
        attached: Attachments,
    ) -> Result<(Value, Attachments), Problem> {
        let alone = |answer: Value| Ok((answer, Vec::new()));
        match request {
            Request::Catalogue => alone(json!({
                "settings": catalogue(),
                "numerics": NUMERICS,
                "version": env!("CARGO_PKG_VERSION"),
            })),
            Request::Recipe { source } => alone(plain(&recipes::told(&source)?)),
            Request::Change {
                recipe,
                step,
                change,
            } => alone(json!(changed(&read(&recipe)?, step, &change)?.to_toml())),
            Request::Sequence { recipe, number } => {
                alone(json!(test_sequence(&read(&recipe)?, number)?))
            }
            Request::Begin { recipe } => {
                // The old run's memory is free before the new one takes its own.
                self.training = None;
                let training = Training::begin(&read(&recipe)?)?;
                let levels = training.levels();
                self.training = Some(training);
                alone(json!({ "levels": levels }))
            }
            Request::Advance { steps } => {
                let slice = self.training()?.advance(steps);
                let mut attachments = vec![bytes_of_f64(&slice.rows)];
                attachments.extend(slice.weights.iter().map(|weights| bytes_of_f32(weights)));
                Ok((plain(&slice), attachments))
            }
            Request::Branch { recipe, step } => {
                let (branch, from) = self.training()?.branch(&read(&recipe)?, step)?;
                let levels = branch.levels();
                self.training = Some(branch);
                alone(json!({ "from": from, "levels": levels }))
            }
            Request::Outcome { seconds } => alone(plain(&self.training()?.summary(seconds))),
            Request::Add {
                run,
                recipe,
                levels,
            } => {
                self.forget(run);
                alone(json!(self.shelf.add(run, read(&recipe)?, levels)?))
            }
            Request::Extend { run, snapshots } => {
                let mut attached = attached.into_iter();
                let rows = f64_of(&attached.next().unwrap_or_default())?;
                let weights: Result<Vec<_>, _> = attached.map(|bytes| f32_of(&bytes)).collect();
                let snapshots = snapshots.into_iter().zip(weights?).collect();
                let run = self.shelf.get_mut(run)?;
                run.extend(&rows, snapshots)?;
                alone(plain(&run.course()))
            }
            Request::Fork {
                run,
                of,
                recipe,
                step,
            } => {
                self.forget(run);
                self.shelf.fork(run, of, read(&recipe)?, step)?;
                let forked = self.shelf.get(run)?;
                alone(json!({ "course": forked.course(), "snapshots": forked.snapshot_steps() }))
            }
            Request::End { run, outcome } => {
                self.shelf.get_mut(run)?.summary =
                    serde_json::from_value(outcome).map_err(Problem::new)?;
                alone(Value::Null)
            }
            Request::Open { run, name, files } => {
                self.forget(run);
                let files: RunFiles = files.into_iter().zip(attached).collect();
                alone(plain(&self.shelf.open(run, &name, files)?))
            }
            Request::Remove { run } => {
                self.forget(run);
                self.shelf.remove(run);
                alone(Value::Null)
            }
            Request::Course { run } => alone(plain(&self.shelf.get(run)?.course())),
            Request::Picture(picture) => {
                let drawn = self.painter.draw(&self.shelf, &picture)?;
                Ok((plain(&drawn.answer), drawn.file.into_iter().collect()))
            }
            Request::Talk { moment, tokens } => alone(plain(&self.strategies.talk(
                &self.shelf,
                &moment,
                &tokens,
            )?)),
            Request::Effect(Moment { run, step, under }) => {
                alone(plain(&self.shelf.get_mut(run)?.effect(step, &under)?))
            }
            Request::Take { run, take } => {
                let (download, bytes) = take.of(self.shelf.get(run)?)?;
                Ok((plain(&download), vec![bytes]))
            }
        }
    }

    fn training(&mut self) -> Result<&mut Training, Problem> {
        let none = || Problem::new("nothing is in training here");
        self.training.as_mut().ok_or_else(none)
    }

    /// Forgets what was computed for a run.
    fn forget(&mut self, run: RunId) {
        self.strategies.forget(run);
        self.painter.forget();
    }
}

fn read(recipe: &str) -> Result<Recipe, Problem> {
    Ok(Recipe::from_toml(recipe, &[])?)
}

fn plain(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).expect("answers are plain data")
}
