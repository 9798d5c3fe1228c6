//! The sequences of a run's own test set, one at a time.

use induct::probe;
use induct::train::Recipe;

use crate::failure::Failure;

/// The context of sequence `number` of the run's in-distribution test set, without the symbol that follows.
pub fn test_sequence(recipe: &Recipe, number: u64) -> Result<Vec<u8>, Failure> {
    let count = recipe.record.test_sequences as u64;
    if number >= count {
        return Err(Failure::mistake(format!(
            "--sequence {number}: this run's test set has the sequences 0 to {} (record.test_sequences)",
            count.saturating_sub(1)
        )));
    }
    Ok(probe::test_sequence(recipe, number)?)
}

#[cfg(test)]
mod tests {
    use induct::probe::in_distribution;

    use super::*;

    #[test]
    fn sequences_are_those_that_the_run_is_measured_on() {
        let small = ["task.length=9", "record.test_sequences=12"].map(String::from);
        let recipe = Recipe::from_toml("", &small).unwrap();
        let set = in_distribution(&recipe).unwrap();
        for (number, sequence) in (0..).zip(set.sequences()) {
            assert_eq!(test_sequence(&recipe, number).unwrap(), sequence[..9]);
        }
        let refused = test_sequence(&recipe, 12).unwrap_err().to_string();
        assert!(refused.contains("0 to 11"), "{refused}");
    }
}
