//! The runs of a sweep.

use induct::run::Identity;
use induct::train::Recipe;

use crate::failure::Failure;
use crate::recipes;

/// One run of a sweep.
pub struct Planned {
    /// Its folder's name.
    pub name: String,
    /// What was varied, as `key.path=value`.
    pub overrides: Vec<String>,
    /// Its seed.
    pub seed: u64,
    /// Its recipe.
    pub recipe: Recipe,
}

/// One key and the values it takes.
pub struct Variation {
    /// The key's path.
    pub key: String,
    values: Vec<String>,
}

/// The most runs per sweep.
const MAX_RUNS: usize = 100_000;

/// Number of digits of a run's identity that name its folder.
const NAME: usize = 16;

/// The name of a run's folder.
pub fn name(recipe: &Recipe) -> String {
    Identity::of(recipe).run[..NAME].to_owned()
}

/// Parses `--vary`: `key.path=v1;v2;…`.
pub fn variations(texts: &[String]) -> Result<Vec<Variation>, Failure> {
    let mut all: Vec<Variation> = Vec::new();
    for text in texts {
        let refuse = |why: &str| Err(Failure::mistake(format!("--vary {text}: {why}")));
        let Some((key, values)) = text.split_once('=') else {
            return refuse("expected KEY.PATH=VALUE;VALUE;…");
        };
        let key = key.trim().to_owned();
        let values: Vec<String> = values.split(';').map(|value| value.trim().into()).collect();
        if is_seed(&key) {
            return refuse("seeds cannot be varied here; choose their number with --seeds");
        }
        if all.iter().any(|other| other.key == key) {
            return refuse("this key is varied already; give all its values in one --vary");
        }
        if (1..values.len()).any(|index| values[..index].contains(&values[index])) {
            return refuse("a value is repeated; give each value once");
        }
        all.push(Variation { key, values });
    }
    Ok(all)
}

/// Whether a key is one that `--seeds` sets.
fn is_seed(key: &str) -> bool {
    ["seeds", "seeds.init", "seeds.data"].contains(&key)
}

/// All combinations of the variations, each with all seeds.
pub fn runs(
    source: &str,
    set: &[String],
    variations: &[Variation],
    seeds: u64,
) -> Result<Vec<Planned>, Failure> {
    let key = |set: &String| set.split('=').next().unwrap_or_default().trim().to_owned();
    if let Some(seeds) = set.iter().find(|set| is_seed(&key(set))) {
        return Err(Failure::mistake(format!(
            "--set {seeds}: a sweep runs with seeds 0, 1, …; choose how many with --seeds"
        )));
    }
    let counts = variations.iter().map(|variation| variation.values.len());
    let total = counts
        .chain([usize::try_from(seeds).unwrap_or(usize::MAX)])
        .try_fold(1_usize, usize::checked_mul);
    if total.is_none_or(|total| total > MAX_RUNS) {
        let shown = total.map_or("more than can be counted".into(), |total| total.to_string());
        return Err(Failure::mistake(format!(
            "--vary and --seeds make {shown} runs, but at most {MAX_RUNS} are allowed; \
             vary fewer keys, or give fewer values or seeds"
        )));
    }
    let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
    for Variation { key, values } in variations {
        let with = |combination: &Vec<String>| {
            let longer = |value: &String| {
                let mut longer = combination.clone();
                longer.push(format!("{key}={value}"));
                longer
            };
            values.iter().map(longer).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(with).collect();
    }
    let mut runs: Vec<Planned> = Vec::new();
    for overrides in combinations {
        let all: Vec<String> = set.iter().chain(&overrides).cloned().collect();
        let first = recipes::load(source, &all).map_err(|failure| match overrides.is_empty() {
            true => failure,
            // The base recipe was valid, so what varies is to blame.
            false => Failure::mistake(format!(
                "--vary {}: {}",
                overrides.join(", "),
                failure.to_string().trim_start_matches("--set ")
            )),
        })?;
        let same = |run: &Planned| {
            Recipe {
                name: first.name.clone(),
                seeds: first.seeds,
                ..run.recipe.clone()
            } == first
        };
        if let Some(same) = runs
            .iter()
            .filter(|run| run.seed == 0)
            .find(|run| same(run))
        {
            return Err(Failure::mistake(format!(
                "--vary {}: the same runs as {}; give each value once",
                overrides.join(", "),
                same.overrides.join(", ")
            )));
        }
        for seed in 0..seeds {
            let mut recipe = first.clone();
            (recipe.seeds.init, recipe.seeds.data) = (seed, seed);
            runs.push(Planned {
                name: name(&recipe),
                overrides: overrides.clone(),
                seed,
                recipe,
            });
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vary(texts: &[&str]) -> Result<Vec<Variation>, Failure> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        variations(&texts)
    }

    #[test]
    fn combinations_are_counted_before_they_are_made() {
        let ten = |key: &str| format!("{key}=0;1;2;3;4;5;6;7;8;9");
        let keys: Vec<String> = (0..9).map(|i| ten(&format!("k{i}"))).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let refused = runs("main", &[], &vary(&keys).unwrap(), 1).err().unwrap();
        assert!(refused.to_string().contains("1000000000 runs"), "{refused}");
    }

    #[test]
    fn what_varies_twice_or_not_at_all_is_refused() {
        for texts in [
            &["train.steps=1;2", "train.steps=3"][..],
            &["train.steps=1", "seeds.data=1;2"],
            &["train.steps=1;1"],
            &["train.steps"],
        ] {
            assert!(vary(texts).is_err(), "{texts:?}");
        }
    }

    #[test]
    fn a_run_keeps_its_name_when_the_sweep_grows() {
        let names = |values: &str, seeds| -> Vec<String> {
            let variations = vary(&[values]).unwrap();
            let runs = runs("main", &[], &variations, seeds).unwrap();
            runs.into_iter().map(|run| run.name).collect()
        };
        let (small, large) = (names("train.batch=8;16", 2), names("train.batch=4;8;16", 3));
        assert_eq!((small.len(), large.len()), (4, 9));
        assert!(small.iter().all(|name| large.contains(name)));
    }
}
