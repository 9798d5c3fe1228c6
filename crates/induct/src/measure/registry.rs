//! All measures of this crate, one per line.

use super::*;

/// Every built-in measure.
///
/// ```
/// use induct::measure::{INDUCTION, Measure, REGISTRY, named};
///
/// for measure in REGISTRY {
///     println!("{}: {} {}", measure.name(), measure.meaning(), measure.unit());
/// }
/// assert_eq!(named("induction").unwrap().meaning(), INDUCTION.meaning);
/// assert!(named("inductoin").is_none());
/// ```
pub static REGISTRY: &[&dyn Measure] = &[
    &STEP,
    &SEQUENCES,
    &TRAIN_LOSS,
    &TRAIN_LOSS_LAST,
    &KL_TRUTH,
    &KL_TRUTH_SE,
    &KL_TRUTH_ALL,
    &KL_STRATEGY,
    &KL_STRATEGY_ALL,
    &TEST_KL_TRUTH,
    &TEST_KL_TRUTH_SE,
    &KL_TRUTH_BY_POSITION,
    &LOSS_BY_POSITION,
    &PREVIOUS_TOKEN,
    &INDUCTION,
    &SAME_TOKEN,
    &NGRAM_MATCH,
    &ENTROPY,
    &POSITIONAL_PROFILE,
    &ODD_EVEN,
    &MATCHING_GAP,
    &DIAGONAL_DOMINANCE,
    &COPY_STRENGTH,
    &EMBED_COPY_STRENGTH,
    &CONSTRUCTION_OVERLAP,
    &GRADIENT_NORM,
];

/// Measures that every run records, before all others: phases and progress are read from them.
pub static ALWAYS: &[&dyn Measure] = &[&STEP, &SEQUENCES, &KL_TRUTH];

/// Names of the measures that a recipe records by default, in addition to [`ALWAYS`].
pub const DEFAULT: [&str; 11] = [
    "train_loss",
    "kl_truth_se",
    "kl_truth_all",
    "kl_strategy",
    "kl_strategy_all",
    "test.kl_truth",
    "previous_token",
    "induction",
    "odd_even",
    "matching_gap",
    "diagonal_dominance",
];

/// The measure of this crate with that name.
pub fn named(name: &str) -> Option<&'static dyn Measure> {
    let mut all = REGISTRY.iter().copied();
    all.find(|measure| measure.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for (index, measure) in REGISTRY.iter().enumerate() {
            let name = measure.name();
            let mut earlier = REGISTRY[..index].iter();
            assert!(earlier.all(|other| other.name() != name), "{name}");
            assert!(measure.range()[0] < measure.range()[1], "{name}");
            let found = named(name).expect("it is in the registry");
            assert_eq!(found.meaning(), measure.meaning());
            let is_of_heads = measure.scope() == Scope::Head;
            assert!(measure.head_score().is_none() || is_of_heads, "{name}");
        }
        assert!(named("kl_truht").is_none());
    }
}
