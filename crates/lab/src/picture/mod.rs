//! Pictures of runs, models and tasks: the same as in reports, from the same crates.

mod chains;
mod over_training;
mod weights;

use induct_figure::{Figure, Panel, PlotFrame};
use induct_pictures::attention::Attention;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::shelf::{Moment, RunId, Shelf};

/// A picture to draw.
#[derive(Clone, Debug, Deserialize)]
pub struct Picture {
    pub subject: Subject,
    /// Its width in pixels.
    pub width: u32,
    #[serde(default)]
    pub form: Form,
}

/// What a picture is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// To be put into the page.
    #[default]
    Inline,
    Svg,
    Png,
    /// The numbers behind it, as CSV.
    Csv,
}

/// What a picture shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Subject {
    /// Curves of runs: the loss and the distance to strategies, or other measures.
    Curves {
        groups: Vec<Group>,
        #[serde(default)]
        measures: Vec<String>,
        /// Whether it is drawn while a run goes on: axes then reach to its end, and the transition is marked.
        #[serde(default)]
        live: bool,
        /// Steps to mark while it is, with what to call them.
        #[serde(default)]
        marks: Vec<(u64, String)>,
    },
    /// Attention as arcs over a sequence: of a head of the first layer, and of one of the last.
    Arcs {
        #[serde(flatten)]
        moment: Moment,
        tokens: Vec<u8>,
        #[serde(default)]
        heads: [usize; 2],
    },
    /// What a head attends to, as a map.
    Map {
        #[serde(flatten)]
        moment: Moment,
        tokens: Vec<u8>,
        layer: usize,
        head: usize,
        /// Whether to show scores before the softmax.
        #[serde(default)]
        scores: bool,
    },
    /// What position adds to attention, by lag.
    Profile {
        #[serde(flatten)]
        moment: Moment,
    },
    /// What symbols look for, as small matrices.
    Weights {
        #[serde(flatten)]
        moment: Moment,
    },
    /// Chains that a prior draws; the recipe is TOML.
    Chains { recipe: String },
}

/// Runs that differ only in their seeds.
#[derive(Clone, Debug, Deserialize)]
pub struct Group {
    pub label: String,
    pub runs: Vec<RunId>,
}

/// Pixels per layout pixel of a PNG, as the command line draws it.
const SCALE: u32 = 2;
/// The widths that are drawn.
const WIDTHS: std::ops::RangeInclusive<u32> = 240..=4000;

/// Draws pictures, and remembers the last attention: every head of it is asked for on its own.
#[derive(Default)]
pub struct Painter {
    seen: Option<(Moment, Vec<u8>, Attention)>,
}

impl Painter {
    pub fn forget(&mut self) {
        self.seen = None;
    }

    /// Draws a picture: what the page gets to know of it, and the file unless it is for the page.
    pub fn draw(
        &mut self,
        shelf: &Shelf,
        picture: &Picture,
    ) -> Result<(Value, Option<Vec<u8>>), Problem> {
        let figure = self.figure(shelf, &picture.subject)?;
        let width = picture.width.clamp(*WIDTHS.start(), *WIDTHS.end());
        let file = match picture.form {
            Form::Inline => {
                let inline = figure.inline(width);
                let frame = |f: &PlotFrame| json!({ "left": f.left, "top": f.top, "right": f.right, "bottom": f.bottom, "x": f.x });
                let answer = json!({
                    "svg": inline.svg,
                    "height": inline.height,
                    "description": figure.description,
                    "frames": inline.frames.iter().map(frame).collect::<Value>(),
                });
                return Ok((answer, None));
            }
            Form::Svg => figure.svg(width).into_bytes(),
            Form::Png => figure.png(width, SCALE),
            Form::Csv => figure.csv().into_bytes(),
        };
        Ok((json!({ "description": figure.description }), Some(file)))
    }

    fn figure(&mut self, shelf: &Shelf, subject: &Subject) -> Result<Figure, Problem> {
        match subject {
            Subject::Curves {
                groups,
                measures,
                live,
                marks,
            } => over_training::curves(shelf, groups, measures, live.then_some(marks)),
            Subject::Arcs {
                moment,
                tokens,
                heads,
            } => self.arcs(shelf, moment, tokens, *heads),
            Subject::Map {
                moment,
                tokens,
                layer,
                head,
                scores,
            } => {
                let attention = self.attention(shelf, moment, tokens)?;
                let found = attention.head(*layer, *head);
                let found = found.ok_or_else(|| no_head(*layer, *head))?;
                let (pattern, raw) = (attention.pattern_map(found), attention.score_map(found));
                let map = match scores {
                    true => raw.or(pattern),
                    false => pattern.or(raw),
                };
                let mut map = map.ok_or_else(|| no_head(*layer, *head))?;
                map.title.clear();
                map.without_bar = true;
                let description = format!("Attention of head {head} in layer {layer}.");
                Ok(alone(description, Panel::Heatmap(map)))
            }
            Subject::Profile { moment } => weights::profile(shelf.get(moment.run)?, moment),
            Subject::Weights { moment } => weights::matrices(shelf.get(moment.run)?, moment),
            Subject::Chains { recipe } => chains::chains(recipe),
        }
    }

    fn arcs(
        &mut self,
        shelf: &Shelf,
        moment: &Moment,
        tokens: &[u8],
        heads: [usize; 2],
    ) -> Result<Figure, Problem> {
        let attention = self.attention(shelf, moment, tokens)?;
        let last = attention.heads.iter().map(|head| head.layer).max();
        let last = last.unwrap_or(0);
        let of = |layer, head| attention.head(layer, head).or(attention.head(layer, 0));
        let (first, second) = (of(0, heads[0]), of(last, heads[1]));
        let both = first.zip(second).filter(|_| last > 0);
        let arcs = both.and_then(|(first, second)| attention.two_layers([first, second]));
        let arcs = arcs.or_else(|| attention.arcs(second?));
        let arcs = arcs.ok_or_else(|| no_head(last, heads[1]))?;
        let description = "Attention as arcs over the sequence.".to_owned();
        Ok(alone(description, Panel::Arcs(arcs)))
    }

    fn attention(
        &mut self,
        shelf: &Shelf,
        moment: &Moment,
        tokens: &[u8],
    ) -> Result<&Attention, Problem> {
        let same = |(at, of, _): &(Moment, Vec<u8>, Attention)| at == moment && of == tokens;
        if !self.seen.as_ref().is_some_and(same) {
            let run = shelf.get(moment.run)?;
            let (_, weights) = run.snapshot(moment.step)?;
            let model = run.model(moment.step, &moment.under)?;
            let attention = Attention::of(&model, weights, tokens, run.recipe.task.ngram)?;
            self.seen = Some((moment.clone(), tokens.to_vec(), attention));
        }
        let (_, _, attention) = self.seen.as_ref().expect("just seen");
        Ok(attention)
    }
}

fn no_head(layer: usize, head: usize) -> Problem {
    Problem::new(format!("layer {layer} has no head {head} with a pattern"))
}

/// A head as the page calls it: people count from 1.
fn head_in_words(layer: usize, head: usize, several: bool) -> String {
    match several {
        true => format!("layer {}, head {}", layer + 1, head + 1),
        false => format!("layer {}", layer + 1),
    }
}

/// A figure of one panel.
fn alone(description: String, panel: Panel) -> Figure {
    Figure {
        description,
        panels: vec![panel],
        columns: 1,
    }
}
