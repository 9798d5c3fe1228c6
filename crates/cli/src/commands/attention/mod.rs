//! `induct attention`: what every head of a run's model attends to on a sequence.

mod text;

use clap::Args;
use induct::model::{Kind as ModelKind, Model};
use induct::probe;
use induct::recipe::Recipe;
use induct_pictures::attention::{Attention, Head, Rows, figure};
use induct_store::RunFolder;
use serde::Serialize;

use super::{not_a_number, numbers};
use crate::failure::Failure;
use crate::options::{Output, Snapshot};
use crate::report::object;
use crate::stored_model::{StoredModel, StoredModels};
use crate::tokens;
use crate::words::count;

/// Show what the heads of a run's model attend to on a sequence: patterns, scores, a picture
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    snapshot: Snapshot,
    /// The symbols: 0,1,1,0, or as `induct sample` prints them: 0110, "0 11 3" with more than ten states,
    /// [0, 1]. Of a whole line of `sample` the last symbol, which the model is to predict, is left out
    #[arg(long, value_name = "LIST")]
    tokens: Option<String>,
    /// A sequence of the run's own in-distribution test set, counted from 0: the first 32 are those on which
    /// records score the heads
    #[arg(long, value_name = "N", value_parser = numbers::whole, allow_negative_numbers = true,
          conflicts_with = "tokens")]
    sequence: Option<u64>,
    /// Only this layer, counted from 0
    #[arg(long, value_name = "L", value_parser = numbers::size, allow_negative_numbers = true)]
    layer: Option<usize>,
    /// Only this head of every layer, counted from 0
    #[arg(long, value_name = "H", value_parser = numbers::size, allow_negative_numbers = true)]
    head: Option<usize>,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct HeadReport<'a> {
    run: String,
    step: u64,
    tokens: &'a [u8],
    heads: Vec<HeadEntry<'a>>,
    #[serde(skip)]
    attention: &'a Attention,
}

#[derive(Serialize)]
struct HeadEntry<'a> {
    layer: usize,
    head: usize,
    #[serde(flatten, serialize_with = "object")]
    scores: Vec<(&'static str, Option<f64>)>,
    attn_pattern: Option<Vec<&'a [f32]>>,
    attn_scores: Option<Vec<&'a [f32]>>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = arguments.snapshot.at()?;
    let folder = RunFolder::open(&run.path)?;
    let recipe = folder.recipe();
    let StoredModel {
        step,
        model,
        params,
    } = StoredModels::new(&folder, &[])?.at(run.step)?;
    let tokens = match (&arguments.tokens, arguments.sequence) {
        (Some(list), _) => tokens::read_line(list, &model)?,
        (None, Some(number)) => test_sequence(recipe, number)?,
        (None, None) => {
            return Err(Failure::usage(
                "give the symbols to look at: --tokens 0,1,1,0, or --sequence N of the run's test set",
            ));
        }
    };
    check_size(&model, tokens.len())?;
    let mut seen = Attention::of(&model, &params, &tokens, recipe.task.ngram)?;
    let mut shown = seen.heads.iter().filter_map(Head::shown);
    if shown.any(|rows| rows.iter().flatten().any(|number| number.is_nan())) {
        return Err(not_a_number(folder.path(), step));
    }
    keep_chosen(&mut seen.heads, "layer", arguments.layer, |head| head.layer)?;
    keep_chosen(&mut seen.heads, "head", arguments.head, |head| head.head)?;
    let run = run.path.display().to_string();
    seen.title = format!("{run} after step {step}, {}", count(tokens.len(), "symbol"));
    let report = HeadReport {
        run,
        step,
        tokens: &tokens,
        heads: seen.heads.iter().map(|head| entry(&seen, head)).collect(),
        attention: &seen,
    };
    arguments
        .output
        .print(&report, &report.text(), || Ok(figure(&seen)))
}

fn entry<'a>(seen: &Attention, head: &'a Head) -> HeadEntry<'a> {
    let rows = |rows: &'a Option<Rows>| rows.as_ref().map(|rows| rows.iter().collect());
    HeadEntry {
        layer: head.layer,
        head: head.head,
        scores: seen.scores(head),
        attn_pattern: rows(&head.pattern),
        attn_scores: rows(&head.scores),
    }
}

/// The context of sequence `number` of the run's in-distribution test set, without the symbol that follows.
fn test_sequence(recipe: &Recipe, number: u64) -> Result<Vec<u8>, Failure> {
    let count = recipe.record.test_sequences as u64;
    if number >= count {
        return Err(Failure::usage(format!(
            "--sequence {number}: this run's test set has the sequences 0 to {} (record.test_sequences)",
            count.saturating_sub(1)
        )));
    }
    Ok(probe::test_sequence(recipe, number)?)
}

/// The most numbers to keep in memory, per kind of array.
const MOST_NUMBERS: usize = 50_000_000;

/// Refuses a sequence so long that its patterns, of t² numbers per head, would not fit into memory.
fn check_size(model: &Model, t: usize) -> Result<(), Failure> {
    let heads = match model.kind() {
        ModelKind::Transformer(shape) => (0..shape.layer_count()).map(|l| shape.heads(l)).sum(),
        ModelKind::Minimal(_) => 2_usize,
    };
    let longest = (MOST_NUMBERS / heads.max(1)).isqrt();
    if t <= longest {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{t} symbols are too many: with {}, patterns of at most {longest} fit; give that many with --tokens",
        count(heads, "head")
    )))
}

/// Keeps the heads with the number that an option asks for, if it does.
fn keep_chosen(
    heads: &mut Vec<Head>,
    option: &str,
    asked: Option<usize>,
    number: impl Fn(&Head) -> usize,
) -> Result<(), Failure> {
    let Some(asked) = asked else { return Ok(()) };
    let last = heads.iter().map(&number).max().unwrap_or(0);
    heads.retain(|head| number(head) == asked);
    match heads.is_empty() {
        true => Err(Failure::usage(format!(
            "--{option} {asked}: there is none; {option}s are counted from 0, and the last is {last}"
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_those_that_the_run_is_measured_on() {
        let small = ["task.length=9", "record.test_sequences=12"].map(String::from);
        let recipe = Recipe::from_toml("", &small).unwrap();
        let set = probe::in_distribution(&recipe).unwrap();
        for (number, sequence) in (0..).zip(set.sequences()) {
            assert_eq!(test_sequence(&recipe, number).unwrap(), sequence[..9]);
        }
    }
}
