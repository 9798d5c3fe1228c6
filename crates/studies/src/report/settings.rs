//! The experiments and their settings.

use induct::model::{Kind, ModelSpec};
use maud::{Markup, html};

use super::scrolling;
use crate::html::prose;
use crate::results::{Results, TrainedExperiment};
use crate::run::Run;

const COLUMNS: &str = "experiment what variant k n t heads d rate batch steps seeds s";

/// Every experiment with the main numbers of its recipe.
pub(super) fn section(results: &Results) -> Markup {
    let table = html! {
        table.experiments {
            thead { tr { @for name in COLUMNS.split(' ') { th scope="col" { (name) } } } }
            tbody { @for trained in results.all() { (row(trained)) } }
        }
    };
    html! {
        section id="experiments" {
            h2 { "Experiments" }
            (scrolling("Experiments", &table))
            p.place {
                "Heads: per layer. Rate: of AdamW with betas 0.9 and 0.95 and weight decay 0.1 on matrices; "
                "for the minimal model, of plain SGD. s: seconds on one thread, for all seeds together, "
                "including measurements. Links lead to complete recipes; "
                code { "induct sweep recipes/main.toml --seeds 10" } " trains one again."
            }
        }
    }
}

fn row(trained: &TrainedExperiment) -> Markup {
    let experiment = &trained.experiment;
    let (task, train) = (&experiment.recipe.task, &experiment.recipe.train);
    let (heads, width) = match (trained.model.kind(), &experiment.recipe.model) {
        (Kind::Transformer(shape), ModelSpec::Transformer(spec)) => {
            let heads = (0..shape.layer_count()).map(|layer| shape.heads(layer).to_string());
            (
                heads.collect::<Vec<_>>().join(" + "),
                spec.width.to_string(),
            )
        }
        _ => ("–".into(), "–".into()),
    };
    let rate = train.optimizer.lr().map(|rate| format!("{rate:e}"));
    let seconds: f64 = trained.runs.iter().map(Run::seconds).sum();
    let diverged = trained.runs.iter().filter(|run| !run.completed()).count();
    html! {
        tr {
            th scope="row" { a href={ "recipes/" (experiment.id) ".toml" } { (experiment.id) } }
            td { (prose(experiment.about)) }
            td { (experiment.origin) }
            td { (task.states) }
            td { (task.ngram) }
            td { (task.length) }
            td { (heads) }
            td { (width) }
            td { (rate.as_deref().unwrap_or("–")) }
            td { (train.batch) }
            td { (train.steps) }
            td { (trained.runs.len()) @if diverged > 0 { " (" (diverged) " diverged)" } }
            td { (format!("{seconds:.0}")) }
        }
    }
}
