//! What was trained, and with which settings.

use induct::model::{Kind, ModelSpec};
use induct::train::Recipe;

use super::{scrolling, table_head};
use crate::html::escape;
use crate::results::{Results, Trained};
use crate::run::Run;

/// Every experiment with the numbers of its recipe.
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
            "<tr><th scope=\"row\"><a href=\"recipes/{id}.toml\">{id}</a></th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{heads}</td><td>{width}</td><td>{}</td><td>{}</td><td>{}</td><td>{seeds}</td><td>{seconds:.0}</td></tr>\n",
            escape(trained.experiment.about),
            task.states,
            task.ngram,
            task.length,
            train.optimizer.lr(),
            train.batch,
            train.steps,
            id = escape(&trained.experiment.id),
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
        + "<p class=\"place\">Heads: of each layer. Rate: AdamW with betas 0.9 and 0.95 and weight decay 0.1 on matrices, for the minimal model plain SGD. \
           s: seconds of one thread, all seeds together, measuring included. Links lead to complete recipes; \
           <code>induct sweep recipes/main.toml --seeds 10</code> repeats one.</p>\n"
}

/// Where the paper's text, its figures and its released code do not agree, and what we do.
pub(super) const CHOICES: &str = "\
<p>The paper's text, its figures and the released code do not agree on everything. What we use:</p>
<section class=\"scroll\" aria-label=\"Choices\" tabindex=\"0\"><table>
<thead><tr><th scope=\"col\"></th><th scope=\"col\">paper's text</th><th scope=\"col\">released code</th><th scope=\"col\">here, and why</th></tr></thead>
<tbody>
<tr><th scope=\"row\">learning rate</th><td>3·10<sup>−5</sup></td><td>5·10<sup>−4</sup></td><td>10<sup>−3</sup> in the main setting: the same phases in fewer steps (<a href=\"#figure-14\">figure 14</a>, which shows the printed rate too); higher in settings that take many more steps, see the table of experiments</td></tr>
<tr><th scope=\"row\">layer norm, dropout</th><td>none</td><td>both</td><td>none: as the formulas are written</td></tr>
<tr><th scope=\"row\">relative positions</th><td>added to queries, meet keys</td><td>meet queries</td><td>as in the text (<code>relative-key</code>); the other form is there, too</td></tr>
<tr><th scope=\"row\">trigrams</th><td>rate 3·10<sup>−2</sup>, t = 200</td><td>–</td><td>5·10<sup>−3</sup>, t = 200</td></tr>
<tr><th scope=\"row\">minimal model</th><td>SGD, 2·10<sup>−3</sup></td><td>–</td><td>as in the text; v starts at 0.01, W<sub>k</sub> at 0</td></tr>
<tr><th scope=\"row\">interpolated priors</th><td>caption: 0 has no unigram signal</td><td>–</td><td>the appendix's definition, by which 1 has none</td></tr>
<tr><th scope=\"row\">three states</th><td>one head</td><td>one head</td><td>both: one head, and three in the second layer, since logits are linear in what a head averages</td></tr>
<tr><th scope=\"row\">one layer</th><td>eight times longer</td><td>–</td><td>eight times as many steps as two layers in the same setting, which are past their transition by then</td></tr>
</tbody>
</table></section>
";
