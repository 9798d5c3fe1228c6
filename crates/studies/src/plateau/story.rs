//! What the page says beyond its claims and figures. Every number is taken from the runs.

use maud::{Markup, html};

use super::measures::{closed, formed, transition};
use crate::curves::time_of;
use crate::report::PageContents;
use crate::results::TrainedExperiment;

/// What is studied.
pub(super) fn lead() -> Markup {
    html! {
        "Between unigrams and bigrams, two-layer transformers stay on a plateau. What do they wait for? Here parts of "
        "them are clamped, frozen, set back, cut off or made final while they learn, and the wait is measured again."
    }
}

/// What was found. A sentence is missing if nothing was trained for it.
pub(super) fn found(shown: &PageContents) -> Vec<Markup> {
    let sentences = [clamped, window, values, uniform, matching];
    sentences.iter().filter_map(|say| say(shown)).collect()
}

fn trained<'a>(shown: &'a PageContents, id: &str) -> Option<&'a TrainedExperiment> {
    let found = shown.results.get(id)?;
    (found.completed().count() > 0).then_some(found)
}

/// The median transition, in steps.
fn steps(shown: &PageContents, id: &str) -> Option<f64> {
    let time = time_of(trained(shown, id)?, transition).effect;
    time.is_finite().then_some(time)
}

/// How many runs form a head, and how many there are.
fn heads(shown: &PageContents, id: &str) -> Option<String> {
    let trained = trained(shown, id)?;
    let count = trained.completed().filter(|run| formed(run)).count();
    Some(format!("{count} of {}", trained.completed().count()))
}

fn clamped(shown: &PageContents) -> Option<Markup> {
    let pair = |id: &str| Some((steps(shown, id)?, steps(shown, &format!("{id}-clamped"))?));
    let (free, with) = pair("plateau-two")?;
    let (three, three_with) = pair("plateau-three")?;
    let (released, released_with) = pair("plateau-released")?;
    Some(html! {
        strong { "The plateau is mostly layer 1's." }
        (format!(
            " Clamped to the previous token from the start, the transition comes after {with:.0} instead of {free:.0} \
             steps with two states, {three_with:.0} instead of {three:.0} with three, {released_with:.0} instead of \
             {released:.0} in the released model ("
        ))
        (shown.claim("C1")) ", " (shown.figure(1)) ")."
    })
}

fn window(shown: &PageContents) -> Option<Markup> {
    let spoiled = heads(shown, "plateau-two-freeze-2-0-100")?;
    let unharmed = heads(shown, "plateau-two-freeze-1-0-400")?;
    let three = heads(shown, "plateau-three-freeze-2-0-100")?;
    let three_first = heads(shown, "plateau-three-freeze-1-0-400")?;
    let released = heads(shown, "plateau-released-freeze-2-0-100")?;
    Some(html! {
        strong { "A critical window, but not everywhere." }
        (format!(
            " With two states of the text's model, freezing layer 2 for the first 100 steps leaves {spoiled} heads \
             that form, freezing layer 1 for 400 leaves {unharmed}. With three states it is the other way round: \
             {three} and {three_first}. In the released model, freezing layer 2 leaves {released} ("
        ))
        (shown.claim("C3")) ", " (shown.figure(3)) ")."
    })
}

fn values(shown: &PageContents) -> Option<Markup> {
    let values = heads(shown, "plateau-two-freeze-values")?;
    let scores = heads(shown, "plateau-two-freeze-scores")?;
    let reset = heads(shown, "plateau-two-rescued-by-reset")?;
    let both = heads(shown, "plateau-two-freeze-both")?;
    let spoiled = trained(shown, "plateau-two-freeze-2-0-100")?.median(closed);
    Some(html! {
        strong { "The harm is copying." }
        (format!(
            " Frozen for those 100 steps, layer 2's values alone leave {values} heads, its queries, keys and positions \
             {scores}, both layers together {both}; setting layer 1 back at step 100 brings back {reset}. What layer 1 \
             has learned to copy in the meantime keeps layer 2 from it: runs end with {spoiled:.2} of the gap closed ("
        ))
        (shown.figure(3)) ")."
    })
}

fn uniform(shown: &PageContents) -> Option<Markup> {
    let free = steps(shown, "plateau-two")?;
    let without = time_of(trained(shown, "plateau-two-without-uniform")?, transition).effect;
    let without = match without.is_finite() {
        true => format!("after {without:.0} instead of {free:.0} steps"),
        false => "in a minority of runs".into(),
    };
    Some(html! {
        strong { "Unigrams: obstacle or help?" }
        (format!(
            " Without the uniform part of layer 2's attention, which counts symbols, the transition comes {without} with \
             two states ("
        ))
        (shown.claim("C4")) ", " (shown.figure(4)) ")."
    })
}

fn matching(shown: &PageContents) -> Option<Markup> {
    let free = steps(shown, "plateau-two")?;
    let reset = steps(shown, "plateau-two-matching-reset")?;
    let first = steps(shown, "plateau-two-first-final")?;
    let second = steps(shown, "plateau-two-second-final")?;
    Some(html! {
        strong { "On the plateau there is no matching to lose." }
        (format!(
            " Setting layer 2's queries and keys back on the plateau moves the transition from {free:.0} to {reset:.0} \
             steps; giving layer 1 its final weights there, to {first:.0}, and layer 2, to {second:.0} ("
        ))
        (shown.claim("C5")) ", " (shown.figure(5)) ")."
    })
}
