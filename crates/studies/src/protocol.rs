//! The protocol: every claim's measures, limits and their reasons, as they stand before the runs.

use std::fmt::Write;

use induct::recipe::RecordSpec;

use crate::claim::Part;
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
    for question in study.questions() {
        let asked = study
            .claims()
            .iter()
            .filter(|claim| claim.question == question);
        let _ = write!(text, "\n## {question}\n");
        for claim in asked {
            let _ = write!(
                text,
                "\n### {}. {}\n\n{}\n\n",
                claim.id, claim.title, claim.statement
            );
            text += &table(["core part", "in the paper"], &claim.core);
            text += &table(["probe", "the question"], &claim.probes);
            for (variant, why) in &claim.not_run {
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

fn table([name, place]: [&str; 2], parts: &'static [Part]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let rows: String = parts.iter().map(rows).collect();
    format!(
        "\n| {name} | measure | holds if | why this limit | {place} | experiments |\n\
         |---|---|---|---|---|---|\n{rows}"
    )
}

/// A row for each thing that a part is measured on.
fn rows(part: &'static Part) -> String {
    let mut text = String::new();
    for rows in part.rows().chunk_by(|a, b| a.on == b.on) {
        let runs = rows.iter().map(|row| match &row.experiments[..] {
            [] => "not trained".into(),
            [first, _, .., last] => format!("{}: `{first}` … `{last}`", row.variant),
            few => format!("{}: `{}`", row.variant, few.join("`, `")),
        });
        let runs: Vec<String> = runs.collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            rows[0].on,
            part.measure,
            part.limit.text(),
            part.why,
            part.place,
            runs.join("; ")
        );
    }
    text
}
