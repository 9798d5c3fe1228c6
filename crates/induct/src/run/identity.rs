//! Which run is which, so that nothing stale is taken for current.

use induct_kernels::lanes::{instructions, levels};

use crate::digest;
use crate::recipe::{Recipe, TrainSpec};

/// The numerics version: an integer that goes up whenever the bits of any result change. A test over all
/// settings of the catalogue forces it up.
pub const NUMERICS: u32 = 5;

/// The arithmetic that this process computes with. Equal arithmetic gives equal bytes: AVX2 and AVX-512 both
/// compute with fused multiply-add on the same vectors of eight numbers.
pub fn arithmetic() -> &'static str {
    of_level(instructions())
}

/// The best level of this machine that computes with the given arithmetic, by name; `None` if there is no
/// such level.
pub fn level_with(arithmetic: &str) -> Option<&'static str> {
    levels().find(|level| of_level(level) == arithmetic)
}

fn of_level(level: &str) -> &str {
    match level {
        "avx2+fma" | "avx512vl+fma" => "x86-64+fma",
        other => other,
    }
}

/// What determines a run's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Identifies the whole run: a digest of the recipe (but not of the memory that it may take), the numerics
    /// version and the arithmetic.
    pub run: String,
    /// Identifies its records and weights at any given step. Runs share it if they differ only in their name,
    /// in when they record, and in when they end (unless the schedule depends on their number of steps).
    pub lineage: String,
}

impl Identity {
    /// The identity of a run of `recipe` by this program on this machine.
    pub fn of(recipe: &Recipe) -> Self {
        Self::with(recipe, NUMERICS, arithmetic())
    }

    /// The identity of a run with another numerics version or arithmetic.
    pub fn with(recipe: &Recipe, numerics: u32, arithmetic: &str) -> Self {
        let digest = |recipe: &Recipe| {
            let computed_by = format!("numerics {numerics}, {arithmetic}\n");
            digest::hex(&[computed_by.as_bytes(), recipe.to_toml().as_bytes()])
        };
        let mut recipe = recipe.clone();
        recipe.train.memory_limit = TrainSpec::default().memory_limit;
        let mut steps_alike = recipe.clone();
        steps_alike.name = String::new();
        if !recipe.train.schedule.depends_on_length() {
            steps_alike.train.steps = 0;
        }
        steps_alike.train.stop = None;
        // Events take effect at recorded steps.
        if recipe.awaited().is_empty() {
            steps_alike.record.every = 0;
        }
        steps_alike.record.snapshots = 0;
        if let Some(from) = &mut steps_alike.from {
            // The weights count, not the folder they come from.
            (from.run, from.step) = (String::new(), 0);
        }
        steps_alike.record.spacing = crate::recipe::Spacing::Linear;
        Self {
            run: digest(&recipe),
            lineage: digest(&steps_alike),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(overrides: &[&str]) -> Identity {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
        Identity::of(&Recipe::from_toml("", &overrides).unwrap())
    }

    #[test]
    fn every_setting_changes_the_run_and_some_not_the_lineage() {
        let main = identity(&[]);
        assert_eq!(identity(&[]), main);
        assert_eq!(identity(&["train.memory_limit=64"]), main);
        let of_the_lineage = "name=other train.steps=8000 train.stop={at=\"bigram\"} record.every=10 \
                              record.snapshots=3 record.spacing=logarithmic";
        for set in of_the_lineage.split(' ') {
            let other = identity(&[set]);
            assert_ne!(other.run, main.run, "{set}");
            assert_eq!(other.lineage, main.lineage, "{set}");
        }
        let of_another = "seeds.data=1 seeds.eval=1 task.length=99 train.batch=32 record.test_sequences=10 \
                          train.schedule={kind=\"warmup\",steps=10} record.measures=[] record.tests=[]";
        for set in of_another.split(' ') {
            let other = identity(&[set]);
            assert_ne!(other.run, main.run, "{set}");
            assert_ne!(other.lineage, main.lineage, "{set}");
        }
        let recipe = Recipe::default();
        let next = Identity::with(&recipe, NUMERICS + 1, arithmetic());
        assert_ne!(next.lineage, main.lineage);
    }

    #[test]
    fn runs_of_other_arithmetic_are_others() {
        let recipe = Recipe::default();
        let of = |level: &str| Identity::with(&recipe, NUMERICS, of_level(level));
        let [avx2, portable, neon] = ["avx2+fma", "portable", "neon"].map(of);
        assert_eq!(avx2, of("avx512vl+fma"));
        assert_ne!(avx2.run, portable.run);
        assert_ne!(avx2.lineage, portable.lineage);
        assert_ne!(neon.lineage, portable.lineage);
        assert_ne!(neon.lineage, avx2.lineage);
        assert_eq!(level_with("portable"), Some("portable"));
        assert_eq!(level_with(arithmetic()), levels().next());
        assert_eq!(level_with("abacus"), None);
    }

    #[test]
    fn a_schedule_that_depends_on_the_length_ties_the_lineage_to_it() {
        let cosine = "train.schedule={kind=\"cosine\"}";
        assert_ne!(
            identity(&[cosine, "train.steps=100"]).lineage,
            identity(&[cosine, "train.steps=200"]).lineage
        );
    }
}
