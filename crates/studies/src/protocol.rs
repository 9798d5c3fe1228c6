//! The protocol: every claim's measures, limits and their reasons, as they stand before the runs.

use std::fmt::Write;

use induct::train::RecordSpec;

use crate::claim::{Part, Role};
use crate::reproduction::LOOKS;
use crate::results::exam_sizes;
use crate::statistics::{ERROR, FEWEST};
use crate::study::Study;

/// The protocol of a study, in Markdown.
pub fn protocol(study: &Study) -> String {
    let mut text = study.text.protocol.to_owned();
    text += "\n## Rules\n\n";
    for rule in rules() {
        let _ = writeln!(text, "- {rule}");
    }
    for &question in study.questions {
        let claims = study.claims();
        let asked = claims.iter().filter(|claim| claim.question == question);
        let _ = write!(text, "\n## {question}\n");
        for claim in asked {
            let _ = write!(
                text,
                "\n### {}. {}\n\n{}\n\n",
                claim.id, claim.title, claim.statement
            );
            text += &table("core part", claim.parts, Role::Core);
            text += &table("probe", claim.parts, Role::Probe);
            for (variant, why) in claim.not_run {
                let _ = write!(text, "\nNot run, or not all of it, as {variant}: {why}.\n");
            }
        }
    }
    text
}

/// The rules that hold for all claims.
pub(crate) fn rules() -> [String; 6] {
    let [all, of_slow] = exam_sizes(&RecordSpec::default());
    let looks = LOOKS.map(|look| look.to_string()).join(", ");
    let share = 100.0 * ERROR / LOOKS.len() as f64;
    [
        format!(
            "Every run has its own seed, for initialisation, data and test sets alike, so that differences \
             between runs include the error of the test sets. The final model of a run is examined on {all} \
             sequences of its own that nothing else uses, and the strategies on the same. Exact Bayes and \
             the predictor from symbol counts and the current symbol, which take long, are asked on the first \
             {of_slow} of them. Their loss there is corrected by the difference that the nearest other strategy \
             shows between these sequences and all."
        ),
        "An effect is the median over seeds with the interval of the sign test, or the share of seeds with \
         the interval of Clopper and Pearson. Neither assumes a distribution, and neither can leave the range \
         of what is measured."
            .into(),
        "A run without the measured event, a diverged one included, counts as the worst value, and the report \
         says how many there are."
            .into(),
        format!(
            "A part holds if its whole interval is on the right side of its limit, does not hold if the whole \
             interval is on the wrong side, and is undecided otherwise. With fewer than {FEWEST} seeds, which \
             have no 95 % interval, it is not judged."
        ),
        "A claim holds in a variant if all its core parts do, does not hold if all fail, and holds in part if \
         some hold and some fail. Probes decide nothing."
            .into(),
        format!(
            "A full reproduction looks at its results after {looks} seeds, and goes on with the experiments \
             of undecided core parts, up to the most seeds that an experiment is given. Each look uses \
             intervals that miss the truth with probability {share} % at most, so that a part is decided \
             wrongly with probability {:.0} % at most, all looks together. That is per part: the report says \
             how many parts it judges, and how many wrong decisions to expect at most.",
            100.0 * ERROR
        ),
    ]
}

fn table(name: &str, parts: &[Part], role: Role) -> String {
    let rows: String = parts
        .iter()
        .filter(|part| part.role == role)
        .map(row)
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let place = match role {
                Role::Core => "in the paper",
                Role::Probe => "the question",
            };
            format!(
                "\n| {name} | measure | holds if | why this limit | {place} | experiments |\n\
                 |---|---|---|---|---|---|\n{rows}"
            )
        }
    }
}

fn row(part: &Part) -> String {
    let runs = part.runs.iter().map(|(variant, runs)| match runs {
        [first, .., last] if runs.len() > 2 => format!("{variant}: `{first}` … `{last}`"),
        _ => format!("{variant}: `{}`", runs.join("`, `")),
    });
    let runs: Vec<String> = runs.collect();
    let runs = match runs.is_empty() {
        true => "not trained".into(),
        false => runs.join("; "),
    };
    format!(
        "| {} | {} | {} | {} | {} | {runs} |\n",
        part.on,
        part.measure,
        part.limit.text(),
        part.why,
        part.place
    )
}
