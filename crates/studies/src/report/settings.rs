//! The experiments and their settings.

use induct::model::{Kind, ModelSpec};
use induct::train::Recipe;

use super::{scrolling, table_head};
use crate::html::escape;
use crate::results::{Results, Trained};
use crate::run::Run;

/// Every experiment with the main numbers of its recipe.
pub(super) fn table(results: &Results) -> String {
    let row = |trained: &Trained| {
        let Recipe { task, train, .. } = &trained.experiment.recipe;
        let (heads, width) = match (trained.model.kind(), &trained.experiment.recipe.model) {
            (Kind::Transformer(shape), ModelSpec::Transformer(spec)) => {
                let heads = (0..shape.layer_count()).map(|layer| shape.heads(layer).to_string());
                (
                    heads.collect::<Vec<_>>().join(" + "),
                    spec.width.to_string(),
                )
            }
            _ => ("–".into(), "–".into()),
        };
        let seconds: f64 = trained.runs.iter().map(Run::seconds).sum();
        let diverged = trained.runs.iter().filter(|run| !run.is_sound()).count();
        let seeds = match diverged {
            0 => trained.runs.len().to_string(),
            _ => format!("{} ({diverged} diverged)", trained.runs.len()),
        };
        format!(
            "<tr><th scope=\"row\"><a href=\"recipes/{id}.toml\">{id}</a></th>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{heads}</td><td>{width}</td>\
             <td>{}</td><td>{}</td><td>{}</td><td>{seeds}</td><td>{seconds:.0}</td></tr>\n",
            escape(trained.experiment.about),
            task.states,
            task.ngram,
            task.length,
            train.optimizer.lr().unwrap_or(f64::NAN),
            train.batch,
            train.steps,
            id = escape(trained.experiment.id),
        )
    };
    let heads = [
        "experiment",
        "what",
        "k",
        "n",
        "t",
        "heads",
        "d",
        "rate",
        "batch",
        "steps",
        "seeds",
        "s",
    ];
    let table = format!(
        "<table class=\"experiments\">\n{}<tbody>\n{}</tbody>\n</table>",
        table_head(&heads),
        results.all().iter().map(row).collect::<String>()
    );
    scrolling("Experiments", &table)
        + "<p class=\"place\">Heads: per layer. Rate: of AdamW with betas 0.9 and 0.95 and weight decay 0.1 \
           on matrices; for the minimal model, of plain SGD. s: seconds on one thread, for all seeds \
           together, including measurements. Links lead to complete recipes; <code>induct sweep \
           recipes/main.toml --seeds 10</code> trains one again.</p>\n"
}
