//! What can be asked, and how it is answered.

use induct::probe::test_sequence;
use induct::recipe::Recipe;
use induct::run::NUMERICS;
use induct_store::RunFiles;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::picture::{Painter, Picture};
use crate::problem::Problem;
use crate::recipes::{self, Change, Source, catalogue, changed};
use crate::shelf::{Moment, RunId, Shelf};
use crate::take::Take;
use crate::training::{Levels, Training};

/// What a page asks. Recipes are TOML, but for `Source`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// Which settings have a name, and which version results belong to.
    Catalogue,
    /// Everything that has a kind in a recipe, with the settings of every kind, and which of them a list of blocks
    /// stands in place of.
    Schema,
    /// Reads a recipe: everything about it, or what is wrong with it.
    Recipe { source: Source },
    /// The recipe that does something differently from a step on.
    Change {
        recipe: String,
        step: u64,
        change: Change,
    },
    /// A sequence of a task's test set, by its number from 0.
    Sequence { recipe: String, number: u64 },

    /// Begins to train a run.
    Begin { recipe: String },
    /// Trains it for at most so many steps. Attached: the records, then the weights of every snapshot.
    Advance { steps: u64 },
    /// Trains another run from here that shares the beginning of this one, up to a step.
    Branch { recipe: String, step: u64 },
    /// The outcome of the run that has ended, and took so long.
    Outcome { seconds: f64 },

    /// Puts a new run on the shelf.
    Add {
        run: RunId,
        recipe: String,
        levels: Levels,
    },
    /// Adds records and the snapshots of these steps, attached as [`Request::Advance`] gives them.
    Extend { run: RunId, snapshots: Vec<u64> },
    /// Puts a run on the shelf that shares the beginning of another, up to and including a step.
    Fork {
        run: RunId,
        of: RunId,
        recipe: String,
        step: u64,
    },
    /// Notes the outcome of a run, as [`Request::Outcome`] gave it.
    End { run: RunId, outcome: Value },
    /// Opens a run from its folder, by its name and the names of its files, which are attached.
    Open {
        run: RunId,
        name: String,
        files: Vec<String>,
    },
    /// Takes a run from the shelf.
    Remove { run: RunId },
    /// The phases of a run, and its loss.
    Course { run: RunId },

    /// Draws a picture. Attached, unless it is for the page: the file.
    Picture(Picture),
    /// What a model and the strategies expect after these symbols.
    Talk {
        #[serde(flatten)]
        moment: Moment,
        tokens: Vec<u8>,
    },
    /// What the interventions of a moment do to the loss.
    Effect(Moment),
    /// A file of a run, attached.
    Take {
        run: RunId,
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
            Request::Schema => alone(recipes::schema()),
            Request::Recipe { source } => alone(recipes::describe(&source)?),
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
                let mut attachments =
                    vec![slice.rows.iter().flat_map(|n| n.to_le_bytes()).collect()];
                let bytes =
                    |weights: &Vec<f32>| weights.iter().flat_map(|n| n.to_le_bytes()).collect();
                attachments.extend(slice.weights.iter().map(bytes));
                Ok((json!(slice), attachments))
            }
            Request::Branch { recipe, step } => {
                let (branch, from) = self.training()?.branch(&read(&recipe)?, step)?;
                let levels = branch.levels();
                self.training = Some(branch);
                alone(json!({ "from": from, "levels": levels }))
            }
            Request::Outcome { seconds } => alone(json!(self.training()?.summary(seconds))),
            Request::Add {
                run,
                recipe,
                levels,
            } => {
                self.painter.forget();
                alone(json!(self.shelf.add(run, read(&recipe)?, levels)?))
            }
            Request::Extend { run, snapshots } => {
                let mut attached = attached.into_iter();
                let rows = numbers(&attached.next().unwrap_or_default(), f64::from_le_bytes)?;
                let weights = attached.map(|bytes| numbers(&bytes, f32::from_le_bytes));
                let weights = weights.collect::<Result<Vec<_>, _>>()?;
                let run = self.shelf.get_mut(run)?;
                run.extend(&rows, snapshots.into_iter().zip(weights).collect())?;
                alone(run.course())
            }
            Request::Fork {
                run,
                of,
                recipe,
                step,
            } => {
                self.painter.forget();
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
                self.painter.forget();
                let files: RunFiles = files.into_iter().zip(attached).collect();
                alone(self.shelf.open(run, &name, files)?)
            }
            Request::Remove { run } => {
                self.painter.forget();
                self.shelf.remove(run);
                alone(Value::Null)
            }
            Request::Course { run } => alone(self.shelf.get(run)?.course()),
            Request::Picture(picture) => {
                let (answer, file) = self.painter.draw(&self.shelf, &picture)?;
                Ok((answer, file.into_iter().collect()))
            }
            Request::Talk { moment, tokens } => {
                let run = self.shelf.get_mut(moment.run)?;
                alone(run.next_symbol(moment.step, &moment.under, &tokens)?)
            }
            Request::Effect(Moment { run, step, under }) => {
                alone(self.shelf.get_mut(run)?.effect(step, &under)?)
            }
            Request::Take { run, take } => {
                let (download, bytes) = take.of(self.shelf.get(run)?)?;
                Ok((download, vec![bytes]))
            }
        }
    }

    fn training(&mut self) -> Result<&mut Training, Problem> {
        let none = || Problem::new("nothing is in training here");
        self.training.as_mut().ok_or_else(none)
    }
}

fn read(recipe: &str) -> Result<Recipe, Problem> {
    Ok(Recipe::from_toml(recipe, &[])?)
}

/// The numbers of an attachment, which is little-endian.
fn numbers<T, const N: usize>(bytes: &[u8], of: fn([u8; N]) -> T) -> Result<Vec<T>, Problem> {
    match bytes.as_chunks() {
        (chunks, []) => Ok(chunks.iter().copied().map(of).collect()),
        _ => Err(Problem::new("an attachment ends within a number")),
    }
}
