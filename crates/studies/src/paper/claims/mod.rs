//! The paper's claims, each with the measures that decide it.
//!
//! Limits and their reasons stand beside the measures; `docs/reproduction/protocol.md` is made from them.

mod construction;
mod final_loss;
mod heads;
mod minimal;
mod phases;
mod signal;

pub(super) use final_loss::allowed_by_counts;
pub(super) use heads::by_symbol;

use crate::claim::{Claim, Runs};
use crate::statistics::Statistic;

/// All claims, by topic.
pub const CLAIMS: &[&[Claim]] = &[
    final_loss::CLAIMS,
    phases::CLAIMS,
    heads::CLAIMS,
    signal::CLAIMS,
    minimal::CLAIMS,
];

/// What the claims are about, in the order of the page.
pub const QUESTIONS: &[&str] = &[LEARNED, PHASES, MECHANISM, SIGNAL, MINIMAL, BEYOND];

const LEARNED: &str = "What is learned?";
const PHASES: &str = "In which phases?";
const MECHANISM: &str = "By which mechanism?";
const SIGNAL: &str = "What delays it?";
const MINIMAL: &str = "What does the minimal model explain?";
const BEYOND: &str = "How far does it extend?";

const PRINTED: &str = "printed";
const RELEASED: &str = "released";
const RECOMMENDED: &str = "recommended";

/// Two layers of one head, with two states.
const TWO_STATES: Runs = &[
    (PRINTED, "printed"),
    (RELEASED, "released"),
    (RECOMMENDED, "main"),
];

/// The same with three states.
const THREE_STATES: Runs = &[
    (PRINTED, "printed-three-states"),
    (RELEASED, "released-three-states"),
    (RECOMMENDED, "three-states"),
];

const BOTH: &[Runs] = &[TWO_STATES, THREE_STATES];

/// The minimal model, for which the text's setting is also ours.
const MINIMAL_TWO: Runs = &[(PRINTED, "minimal"), (RECOMMENDED, "minimal")];
const MINIMAL_THREE: Runs = &[
    (PRINTED, "minimal-three-states"),
    (RECOMMENDED, "minimal-three-states"),
];

const RELEASED_MINIMAL: (&str, &str) = (
    RELEASED,
    "the released minimal model sees the future: its causal mask is computed and dropped",
);

const PRINTED_COLLAPSE: &str = "a rate of 3e-5 takes thirty times the steps, for which a full reproduction has no time; curves \
     depend on rate × steps alone (figure 14), so that the recommended rate speaks for it";

/// A reason for a limit.
const KEPT: &str = "the limit of the first round";

const TO_BIGRAM: Statistic = Statistic::number(
    "fraction of the gap between the unigram and the bigram strategy's loss that the final model closed, on \
     fresh sequences",
    |run| run.exam()?.gap_closed("unigram", "bigram"),
);
