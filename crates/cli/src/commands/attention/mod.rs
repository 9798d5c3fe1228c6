//! `induct attention`: what every head of a run's model attends to on a sequence.

mod sequence;
mod text;

use clap::Args;
use induct::model::{Kind as ModelKind, Model};
use induct_pictures::attention::{Attention, Head, Rows, figure};
use induct_store::RunFolder;
use serde_json::{Map, Value, json};

use super::{not_a_number, numbers, print, print_json};
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::run_at::RunAt;
use crate::stored_model::{StoredModel, StoredModels};
use crate::tokens;
use crate::words::count;

/// Show what the heads of a run's model attend to on a sequence: patterns, scores, a picture
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run; the step of a snapshot may follow, as in runs/main@1500
    #[arg(value_name = "RUN[@STEP]")]
    run: String,
    /// Step of the snapshot to use; the last one if not given
    #[arg(long, value_name = "S", value_parser = numbers::whole, allow_negative_numbers = true)]
    step: Option<u64>,
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
    /// Write a picture (.svg, .png)
    #[arg(long, value_name = "FILE", value_parser = OutFile::picture)]
    out: Option<OutFile>,
    /// Print {"step": s, "tokens": […], "heads": [{"layer", "head", "attn_pattern": [[…], …], …}, …]}
    #[arg(long)]
    json: bool,
}

/// A run's heads on a sequence.
struct Looked {
    run: String,
    step: u64,
    seen: Attention,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = RunAt::parse(&arguments.run)?.or_step(arguments.step)?;
    let folder = RunFolder::open(&run.path)?;
    let recipe = folder.recipe();
    let StoredModel {
        step,
        model,
        params,
    } = StoredModels::new(&folder, &[])?.at(run.step)?;
    let tokens = match (&arguments.tokens, arguments.sequence) {
        (Some(list), _) => tokens::read_line(list, &model)?,
        (None, Some(number)) => sequence::test_sequence(recipe, number)?,
        (None, None) => {
            return Err(Failure::mistake(
                "give the symbols to look at: --tokens 0,1,1,0, or --sequence N of the run's test set",
            ));
        }
    };
    check_size(&model, tokens.len())?;
    let mut seen = Attention::of(&model, &params, &tokens, recipe.task.ngram)?;
    let patterns = seen.heads.iter().filter_map(Head::shown);
    if patterns
        .flat_map(Rows::iter)
        .flatten()
        .any(|number| number.is_nan())
    {
        return Err(not_a_number(folder.path(), step));
    }
    seen.heads = chosen(seen.heads, arguments)?;
    let run = run.path.display().to_string();
    seen.title = format!("{run} after step {step}, {}", count(tokens.len(), "symbol"));
    let looked = Looked { run, step, seen };
    if let Some(out) = &arguments.out {
        let (figure, width) = figure(&looked.seen);
        out.write_figure(&figure, width)?;
    }
    if arguments.json {
        return print_json(&looked.json());
    }
    print(&text::text(&looked.seen))?;
    match &arguments.out {
        Some(out) => print(&format!("\n{} is written\n", out.path().display())),
        None => Ok(()),
    }
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
    match t <= longest {
        true => Ok(()),
        false => Err(Failure::mistake(format!(
            "{t} symbols are too many: with {}, patterns of at most {longest} fit; \
             give that many with --tokens",
            count(heads, "head")
        ))),
    }
}

/// The heads that were asked for.
fn chosen(mut heads: Vec<Head>, arguments: &Arguments) -> Result<Vec<Head>, Failure> {
    let missing = |option: &str, asked: usize, there: Vec<usize>| {
        let last = there.into_iter().max().unwrap_or(0);
        Failure::mistake(format!(
            "--{option} {asked}: there is none; {option}s are counted from 0, and the last is {last}"
        ))
    };
    if let Some(layer) = arguments.layer {
        let there = heads.iter().map(|head| head.layer).collect();
        heads.retain(|head| head.layer == layer);
        if heads.is_empty() {
            return Err(missing("layer", layer, there));
        }
    }
    if let Some(number) = arguments.head {
        let there = heads.iter().map(|head| head.head).collect();
        heads.retain(|head| head.head == number);
        if heads.is_empty() {
            return Err(missing("head", number, there));
        }
    }
    Ok(heads)
}

impl Looked {
    fn json(&self) -> Value {
        let rows = |rows: &Option<Rows>| {
            let rows = rows.as_ref()?;
            Some(rows.iter().map(<[f32]>::to_vec).collect::<Vec<_>>())
        };
        let head = |head: &Head| {
            let mut entry = Map::new();
            entry.insert("layer".into(), json!(head.layer));
            entry.insert("head".into(), json!(head.head));
            for (name, score) in self.seen.scores(head) {
                entry.insert(name.into(), json!(score));
            }
            entry.insert("attn_pattern".into(), json!(rows(&head.pattern)));
            entry.insert("attn_scores".into(), json!(rows(&head.scores)));
            Value::Object(entry)
        };
        json!({
            "run": self.run,
            "step": self.step,
            "tokens": self.seen.tokens,
            "heads": self.seen.heads.iter().map(head).collect::<Vec<_>>(),
        })
    }
}
