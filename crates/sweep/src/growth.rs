//! How a sweep grows: by a plan with other runs of the same recipe.

use induct::recipe::Recipe;

use crate::plan::Plan;

impl Plan {
    /// The plan after it has grown by the grids of another one; `None` if it has all their runs already.
    ///
    /// # Errors
    ///
    /// In what the other plan differs, if it is of another base recipe, keeps other results, or has too many runs.
    pub fn grown(&self, by: &Plan) -> Result<Option<Self>, Vec<String>> {
        let differs = self.differences(by);
        if !differs.is_empty() {
            return Err(differs);
        }
        let mut grown = self.clone();
        grown.grids.extend(by.grids.iter().cloned());
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
        grown.settle().map_err(|why| vec![why])?;
        Ok((grown.runs().len() > self.runs().len()).then_some(grown))
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
        if self.level != other.level {
            let level = |plan: &Plan| {
                let level = plan.level.as_deref();
                level.unwrap_or("the best of each machine").to_owned()
            };
            let (here, there) = (level(self), level(other));
            all.push(format!("level: {here} there, {there} now"));
        }
        // What a study does not ask for is as it was.
        let (own, new) = (&self.asked, &other.asked);
        for (field, own, kept, new) in [
            ("curves", &own.curves, &self.kept.curves, &new.curves),
            ("final", &own.last, &self.kept.last, &new.last),
        ] {
            let own = own.as_ref().unwrap_or(kept);
            if let Some(new) = new.as_ref().filter(|new| *new != own) {
                all.push(format!("results.{field}: {own:?} there, {new:?} now"));
            }
        }
        all
    }
}

/// The keys and values of a recipe.
fn entries(text: &str) -> Vec<(String, String)> {
    Recipe::from_toml(text, &[]).map_or(Vec::new(), |recipe| recipe.entries())
}
