//! Runs in groups: those of one recipe that differ only in their seeds belong together.

use std::cmp::Ordering;
use std::collections::HashSet;

use induct::recipe::{InterveneSpec, Recipe};

use crate::panels::{RunCurves, Runs};

/// A run with its recipe and records, wherever they are kept.
pub trait Recorded {
    /// Its curves, for plots.
    fn curves(&self) -> RunCurves<'_>;
}

/// Runs of one recipe with different seeds.
#[derive(Clone, Debug)]
pub struct RunGroup<R> {
    /// The keys in which the recipe differs from those of other groups; the recipe's name if there is none.
    pub label: String,
    /// The runs; at least one.
    pub runs: Vec<R>,
}

impl<R: Recorded> RunGroup<R> {
    /// Their curves, for plots.
    pub fn curves(&self) -> Runs<'_> {
        Runs {
            label: self.label.clone(),
            runs: self.runs.iter().map(Recorded::curves).collect(),
        }
    }
}

/// The most keys that a label names, unless it takes more to tell all groups apart.
const NAMED: usize = 3;

/// Groups runs by recipe, ordered by what differs between recipes.
pub fn grouped<R: Recorded>(runs: Vec<R>) -> Vec<RunGroup<R>> {
    let mut groups: Vec<Vec<R>> = Vec::new();
    for run in runs {
        let of_group = |group: &&mut Vec<R>| {
            comparable(group[0].curves().recipe) == comparable(run.curves().recipe)
        };
        match groups.iter_mut().find(of_group) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    labelled(groups)
}

/// Groups as they are, with labels, ordered by what differs between their recipes.
pub fn labelled<R: Recorded>(groups: Vec<Vec<R>>) -> Vec<RunGroup<R>> {
    let entries: Vec<Vec<(String, String)>> = groups
        .iter()
        .map(|group| entries(group[0].curves().recipe))
        .collect();
    let keys = differing_keys(&entries);
    let telling =
        (0..=keys.len()).find(|&first| distinct(&entries, &keys[..first]) == groups.len());
    let named = telling.unwrap_or(keys.len()).max(NAMED);
    let value = |entries: &Vec<(String, String)>, key: &String| {
        let found = entries.iter().find(|(other, _)| other == key);
        found
            .map_or("", |(_, value)| value.trim_matches('"'))
            .to_owned()
    };
    let values = |entries| keys.iter().map(|key| value(entries, key)).collect();
    let mut groups: Vec<(Vec<String>, Vec<R>)> = entries.iter().map(values).zip(groups).collect();
    groups.sort_by(|(a, _), (b, _)| {
        let orders = a.iter().zip(b).map(|(a, b)| by_size(a, b));
        orders.fold(Ordering::Equal, |first, next| first.then(next))
    });
    let group = |(values, runs): (Vec<String>, Vec<R>)| RunGroup {
        label: match keys.is_empty() {
            true => runs[0].curves().recipe.name.clone(),
            false => label(&keys, &values, named),
        },
        runs,
    };
    groups.into_iter().map(group).collect()
}

/// The recipe without what makes no difference to what is learned, or only by chance: name, seeds, and which
/// snapshots are kept.
fn comparable(recipe: &Recipe) -> Recipe {
    let (mut comparable, default) = (recipe.clone(), Recipe::default());
    (comparable.name, comparable.seeds) = (default.name, default.seeds);
    comparable.record.snapshots = default.record.snapshots;
    comparable.record.spacing = default.record.spacing;
    comparable
}

/// What a label for all interventions together is called.
const INTERVENE: &str = "intervene";

/// The keys and values that tell recipes apart. All interventions together are one: a key for each of their settings
/// would say less in more words.
fn entries(recipe: &Recipe) -> Vec<(String, String)> {
    let recipe = comparable(recipe);
    let mut entries = recipe.entries();
    entries.retain(|(key, _)| !key.starts_with("intervene["));
    if !recipe.intervene.is_empty() {
        let all: Vec<String> = recipe.intervene.iter().map(in_words).collect();
        entries.push((INTERVENE.to_owned(), all.join(" + ")));
    }
    entries
}

/// An intervention as its settings in a row: `clamp layers.0 previous-token`.
fn in_words(spec: &InterveneSpec) -> String {
    let alone = Recipe {
        intervene: vec![spec.clone()],
        ..Recipe::default()
    };
    let settings = alone.entries().into_iter();
    let (mut names, mut times) = (Vec::new(), Vec::new());
    for (key, value) in settings {
        let value = value.trim_matches('"').to_owned();
        match key.strip_prefix("intervene[0].") {
            Some("kind") => names.insert(0, value),
            Some(key @ ("from" | "until" | "step")) => times.push(format!("{key} {value}")),
            // What identifies weights says nothing to people.
            Some(key) if !key.ends_with("weights") => names.push(value),
            _ => {}
        }
    }
    names.extend(times);
    names.join(" ")
}

/// The keys that do not have the same value everywhere. Kinds come first, because other keys follow from
/// them; then keys that tell groups apart which those before them do not.
fn differing_keys(entries: &[Vec<(String, String)>]) -> Vec<String> {
    let mut all: Vec<&(String, String)> = entries.iter().flatten().collect();
    all.sort();
    let everywhere = |same: &&[&(String, String)]| same.len() == entries.len();
    let same = all.chunk_by(|a, b| a == b).filter(|same| !everywhere(same));
    let mut keys: Vec<String> = same.map(|same| same[0].0.clone()).collect();
    keys.dedup();
    keys.sort_by_key(|key| !key.ends_with("kind"));
    let (mut telling, mut others) = (Vec::new(), Vec::new());
    for key in keys {
        let before = distinct(entries, &telling);
        telling.push(key);
        if distinct(entries, &telling) == before {
            others.extend(telling.pop());
        }
    }
    telling.extend(others);
    telling
}

/// The number of groups that can be told apart by some keys.
fn distinct(entries: &[Vec<(String, String)>], keys: &[String]) -> usize {
    let chosen = |entries: &Vec<(String, String)>| -> Vec<(String, String)> {
        let of_keys = entries.iter().filter(|(key, _)| keys.contains(key));
        of_keys.cloned().collect()
    };
    let all: HashSet<Vec<(String, String)>> = entries.iter().map(chosen).collect();
    all.len()
}

/// The first `named` keys with their values.
fn label(keys: &[String], values: &[String], named: usize) -> String {
    let word = |(key, value): (&String, &String)| match (key.as_str(), value.is_empty()) {
        (INTERVENE, true) => "no interventions".to_owned(),
        (INTERVENE, false) => value.clone(),
        (key, true) => format!("no {key}"),
        (key, false) => format!("{key} = {value}"),
    };
    let words: Vec<String> = keys.iter().zip(values).take(named).map(word).collect();
    let words = words.join(", ");
    match keys.len().saturating_sub(named) {
        0 => words,
        more => format!("{words} and {more} more"),
    }
}

/// The order of values as text: numbers first, by size; everything else alphabetically.
pub fn by_size(a: &str, b: &str) -> Ordering {
    let order = match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => Ordering::Equal,
    };
    order.then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interventions_are_named_in_words() {
        let label_of = |set: &[String]| {
            let recipe = Recipe::from_toml("", set).unwrap();
            let all = [entries(&Recipe::default()), entries(&recipe)];
            let keys = differing_keys(&all);
            let value = all[1].iter().find(|(key, _)| *key == keys[0]);
            let value = value.map_or(String::new(), |(_, value)| value.clone());
            (label(&keys, &[String::new()], 3), label(&keys, &[value], 3))
        };
        let clamp = "{kind=\"clamp\", at=\"layers.0\", pattern=\"previous-token\", until=500}";
        let freeze = "{kind=\"freeze\", group=\"embed\"}";
        let (without, with) = label_of(&[format!("intervene=[{clamp}, {freeze}]")]);
        assert_eq!(without, "no interventions");
        let words = "clamp layers.0 previous-token until 500 + freeze embed";
        assert_eq!(with, words);
    }

    #[test]
    fn labels_name_the_keys_that_differ() {
        let entries = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
            super::entries(&Recipe::from_toml("", &sets).unwrap())
        };
        let all = [
            entries(&["seeds.data=3", "record.snapshots=5"]),
            entries(&["train.batch=8"]),
        ];
        assert_eq!(differing_keys(&all), ["train.batch"]);
        let all = [entries(&[]), entries(&["task.prior=doubly-stochastic"])];
        let keys = ["task.prior.kind", "task.prior.alpha"];
        assert_eq!(differing_keys(&all), keys);
        // Three groups need two keys; the others follow.
        let all = [
            entries(&[]),
            entries(&["model.kind=minimal"]),
            entries(&["model.layers=1", "train.batch=8"]),
        ];
        let keys = differing_keys(&all);
        assert_eq!(keys[..2], ["model.kind", "model.layers"]);
        assert_eq!([1, 2].map(|count| distinct(&all, &keys[..count])), [2, 3]);
        let keys = ["a", "b", "c", "d"].map(String::from);
        let values = ["1", "", "x", "y"].map(String::from);
        assert_eq!(label(&keys, &values, 3), "a = 1, no b, c = x and 1 more");
    }
}
