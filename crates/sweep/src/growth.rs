//! How a sweep grows: by a plan with other runs of the same recipe.

use std::collections::HashMap;

use induct::digest;
use induct::train::Recipe;

use crate::plan::{Grid, MAX_RUNS, Plan, point_recipe};
use crate::study::Seeds;

/// In what a plan differs from the one that a folder has, so that it cannot grow by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs(pub Vec<String>);

impl Grid {
    /// Leaves out those runs of a point whose seeds are known.
    fn leave_out(&mut self, point: u64, known: &[Seeds]) {
        let first = point * self.seeds.count;
        for index in 0..self.seeds.count {
            let same = |seeds: &&Seeds| seeds.own_tests == self.seeds.own_tests;
            if known
                .iter()
                .filter(same)
                .any(|seeds| seeds.contains(self.seeds.first + index))
            {
                let place = first + index;
                match self.without.last_mut() {
                    Some((_, after)) if *after == place => *after += 1,
                    _ => self.without.push((place, place + 1)),
                }
            }
        }
    }
}

impl Plan {
    /// The plan after it has grown by the grid of another one; `None` if it has all runs of it already.
    ///
    /// # Errors
    ///
    /// If it is not a plan of the same base recipe, or keeps other results.
    pub fn grown(&self, by: &Plan) -> Result<Option<Self>, Differs> {
        let differs = self.differences(by);
        if !differs.is_empty() {
            return Err(Differs(differs));
        }
        let mut grown = self.clone();
        let mut seen: HashMap<String, Vec<Seeds>> = HashMap::new();
        for grid in &self.grids {
            for point in 0..grid.points() {
                seen.entry(self.point_digest(grid, point))
                    .or_default()
                    .push(grid.seeds);
            }
        }
        for grid in &by.grids {
            let mut new = grid.clone();
            for point in 0..grid.points() {
                let known = seen.get(&self.point_digest(grid, point));
                new.leave_out(point, known.map_or(&[][..], |known| known));
            }
            grown.grids.push(new);
        }
        grown.costs.extend(by.costs.iter().cloned());
        for (own, new) in [
            (&mut grown.kept.last, &by.kept.last),
            (&mut grown.kept.strategies, &by.kept.strategies),
        ] {
            for name in new {
                if !own.contains(name) {
                    own.push(name.clone());
                }
            }
        }
        grown.settle();
        if grown.runs() > MAX_RUNS {
            let runs = grown.runs();
            return Err(Differs(vec![format!(
                "it would have {runs} runs, but at most {MAX_RUNS} are allowed"
            )]));
        }
        Ok((grown.runs() > self.runs()).then_some(grown))
    }

    /// Identifies what is trained at a point, however its values are written.
    fn point_digest(&self, grid: &Grid, point: u64) -> String {
        let recipe = point_recipe(&self.base, &grid.overrides(&grid.at(point)));
        let text = recipe.map_or_else(|error| error.to_string(), |recipe| recipe.to_toml());
        digest::hex(&[text.as_bytes()])
    }

    /// In what another plan differs apart from its grids, in words.
    fn differences(&self, other: &Plan) -> Vec<String> {
        let mut all = Vec::new();
        if self.numerics != other.numerics {
            all.push(format!(
                "numerics: {} here, {} in this program",
                self.numerics, other.numerics
            ));
        }
        let (own, new) = (entries(&self.base), entries(&other.base));
        let find = |entries: &[(String, String)], key: &str| {
            let found = entries.iter().find(|(own, _)| own == key);
            found.map_or("unset".to_owned(), |(_, value)| value.clone())
        };
        let mut keys: Vec<&String> = own.iter().chain(&new).map(|(key, _)| key).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let (here, there) = (find(&own, key), find(&new, key));
            if here != there {
                all.push(format!("{key}: {here} there, {there} now"));
            }
        }
        let level = |plan: &Plan| {
            plan.level
                .clone()
                .unwrap_or("the best of each machine".into())
        };
        if self.level != other.level {
            all.push(format!(
                "level: {} there, {} now",
                level(self),
                level(other)
            ));
        }
        // What a study does not ask for is as it was. Further keys and values may bring further columns.
        let within = |a: &[String], b: &[String]| a.iter().all(|name| b.contains(name));
        let (own, new) = (&self.kept.curves, &other.kept.curves);
        if other.asked.curves.is_some() && !(within(own, new) && within(new, own)) {
            all.push(format!("results.curves: {own:?} there, {new:?} now"));
        }
        let (own, new) = (&self.kept.last, &other.kept.last);
        let same_points = self
            .grids
            .iter()
            .any(|grid| grid.vary == other.grids[0].vary);
        if other.asked.last.is_some() && !(within(own, new) && (within(new, own) || !same_points)) {
            all.push(format!("results.final: {own:?} there, {new:?} now"));
        }
        all
    }
}

/// The keys and values of a recipe.
fn entries(text: &str) -> Vec<(String, String)> {
    Recipe::from_toml(text, &[]).map_or(Vec::new(), |recipe| recipe.entries())
}

/// What varies otherwise in a plan than in the last grid of another.
pub fn grid_differences(there: &Plan, plan: &Plan) -> Vec<String> {
    let (old, new) = (there.grids.last(), plan.grids.last());
    let (Some(old), Some(new)) = (old, new) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for axis in &new.vary {
        match old.vary.iter().find(|other| other.key == axis.key) {
            None => all.push(format!(
                "{}: not varied there, {} values now",
                axis.key,
                axis.values.len()
            )),
            Some(other) if other.values != axis.values => {
                let added = axis
                    .values
                    .iter()
                    .filter(|value| !other.values.contains(value));
                let gone = other
                    .values
                    .iter()
                    .filter(|value| !axis.values.contains(value));
                let some = |values: Vec<&String>| {
                    let shown: Vec<&str> =
                        values.iter().take(5).map(|value| value.as_str()).collect();
                    let more = if values.len() > 5 { ", …" } else { "" };
                    match shown.is_empty() {
                        true => "none".to_owned(),
                        false => format!("{}{more}", shown.join(", ")),
                    }
                };
                all.push(format!(
                    "{}: new values {}; values only there: {}",
                    axis.key,
                    some(added.collect()),
                    some(gone.collect())
                ));
            }
            Some(_) => {}
        }
    }
    for axis in &old.vary {
        if new.vary.iter().all(|other| other.key != axis.key) {
            all.push(format!("{}: varied there, not now", axis.key));
        }
    }
    let seeds = |seeds: Seeds| format!("{} from {} on", seeds.count, seeds.first);
    if old.seeds != new.seeds {
        all.push(format!(
            "seeds: {} there, {} now",
            seeds(old.seeds),
            seeds(new.seeds)
        ));
    }
    all
}
