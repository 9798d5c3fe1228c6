//! What parts are worth, as tables.

use induct::probe::Estimate;

use super::measure::{CERTAIN, MATTERS, Measured, Part};
use super::{Arguments, With};
use crate::words::{count, fixed};

/// What is shown, above the table.
pub fn title(run: &str, arguments: &Arguments, measured: &Measured) -> String {
    let instead = match arguments.with {
        With::Zero => "at zero",
        With::Mean => "at its mean over the sequences",
        With::Resample => "as it is on another sequence",
    };
    let of = match (&measured.steps[..], &measured.whole[..]) {
        ([step], [kl]) => format!(
            "{run} after step {step}: KL(truth ‖ model) {} nats at the last position",
            text(Some(kl))
        ),
        (steps, _) => format!("{run}, {}", count(steps.len(), "snapshot")),
    };
    format!(
        "{of}\nworth: how much higher KL(truth ‖ model) is with that part {instead}; \
         nats, ± one standard error, on the same {} fresh sequences\n",
        arguments.sequences
    )
}

fn text(estimate: Option<&Estimate>) -> String {
    match estimate {
        Some(worth) => format!("{} ± {}", fixed(worth.mean, 5), fixed(worth.se, 5)),
        None => "under an intervention".to_owned(),
    }
}

fn width(measured: &Measured) -> usize {
    let names = measured.parts.iter().map(|part| part.name().len());
    names.max().unwrap_or(0).max("part".len())
}

/// One line per part, the most important first.
pub fn at_one_step(measured: &Measured) -> String {
    let width = width(measured);
    let mut table = format!("{:<width$}  {:>19}\n", "part", "worth");
    for part in measured.by_worth() {
        let worth = text(part.worth.last().and_then(Option::as_ref));
        table += &format!("{:<width$}  {worth:>19}\n", part.name());
    }
    table
}

/// When each part starts to matter, where it is worth most, and what it is worth at the end.
pub fn over_training(measured: &Measured) -> String {
    let width = width(measured);
    let mut table = format!(
        "{:<width$}  {:>12}  {:>19}  {:>8}  {:>19}\n",
        "part", "matters from", "largest worth", "at step", "at the end"
    );
    for part in measured.by_worth() {
        let matters = part.matters_from(&measured.steps);
        let matters = matters.map_or("-".to_owned(), |step| step.to_string());
        let (at, largest) = largest(part, &measured.steps);
        let end = text(part.worth.last().and_then(Option::as_ref));
        table += &format!(
            "{:<width$}  {matters:>12}  {:>19}  {at:>8}  {end:>19}\n",
            part.name(),
            text(largest),
        );
    }
    table
        + &format!(
            "\nA part matters where its worth is at least {MATTERS} nats and {CERTAIN} standard errors.\n"
        )
}

/// The largest worth, and its step.
fn largest<'a>(part: &'a Part, steps: &[u64]) -> (String, Option<&'a Estimate>) {
    let known = steps.iter().zip(&part.worth);
    let known = known.filter_map(|(step, worth)| Some((step, worth.as_ref()?)));
    let largest = known.max_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean));
    match largest {
        Some((step, worth)) => (step.to_string(), Some(worth)),
        None => ("-".to_owned(), None),
    }
}
