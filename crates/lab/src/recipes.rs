//! Recipes as the page writes them: a setting of the catalogue with overrides, or a whole text.

use std::collections::BTreeMap;

use induct::catalogue::{SETTINGS, Setting};
use induct::model::{BlockSpec, Kind, MlpSpec, Model, ModelSpec, TransformerSpec};
use induct::recipe::{InterveneSpec, Recipe, StageSpec, When};
use induct::settings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::problem::Problem;

/// A recipe in the page's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// The name of a setting; `main` if it is empty.
    pub base: String,
    /// The whole recipe as TOML, in place of a setting.
    pub text: Option<String>,
    /// Overrides, each `key.path=value`.
    pub sets: Vec<String>,
}

/// What a run is to do differently from a step on.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// Learn at another rate.
    Rate { lr: f64 },
    /// Train on chains from another prior, which is TOML.
    Prior { prior: String },
    /// More interventions: their entries in a recipe without a time, `kind="ablate", at="layers.1.heads.0"`.
    Intervene { entries: Vec<String> },
}

fn listed() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.listed)
}

/// The settings to choose from.
pub fn catalogue() -> Value {
    let about =
        |s: &Setting| json!({ "name": s.name, "about": s.about, "origin": s.origin.name() });
    listed().map(about).collect()
}

/// What the page makes fields of.
pub fn schema() -> Value {
    let keys = |blocks: &[BlockSpec]| {
        let blocks = blocks.to_vec();
        let text = as_toml(&TransformerSpec {
            blocks,
            ..TransformerSpec::default()
        });
        text.as_table().cloned().unwrap_or_default()
    };
    let (short, listed) = (keys(&[]), keys(&[BlockSpec::Mlp(MlpSpec::default())]));
    let replaced: Vec<&String> = short
        .keys()
        .filter(|key| !listed.contains_key(*key))
        .collect();
    let mut schema = json!(settings::schema());
    schema["replaced"] = json!(replaced);
    schema
}

impl Source {
    /// The recipe.
    pub fn recipe(&self) -> Result<Recipe, Problem> {
        if let Some(text) = &self.text {
            return Ok(Recipe::from_toml(text, &self.sets)?);
        }
        Ok(self.setting()?.recipe(&self.sets)?)
    }

    fn setting(&self) -> Result<&'static Setting, Problem> {
        let name = match self.base.as_str() {
            "" => "main",
            name => name,
        };
        Setting::named(name).ok_or_else(|| {
            let names: Vec<&str> = listed().map(|setting| setting.name).collect();
            Problem::new(format!(
                "there is no preset \"{name}\"; there are {}",
                names.join(", ")
            ))
        })
    }

    /// The same recipe in fewest words.
    fn shortest(&self, recipe: &Recipe) -> Self {
        let setting = match &self.text {
            Some(_) => Setting::named("main"),
            None => self.setting().ok(),
        };
        let named = setting.and_then(|setting| {
            let base = setting.recipe(&[]).ok()?;
            Some(Self {
                base: setting.name.to_owned(),
                text: None,
                sets: recipe.overrides_of(&base)?,
            })
        });
        named.unwrap_or_else(|| match (&self.text, setting) {
            // It leaves unset what the setting sets, such as layers beside a list of blocks.
            (None, Some(setting)) => Self {
                base: setting.name.to_owned(),
                ..self.clone()
            },
            _ => Self {
                text: Some(recipe.to_toml()),
                ..Self::default()
            },
        })
    }

    fn command(&self) -> String {
        let mut words: Vec<String> = ["induct", "--level", "portable", "train"]
            .map(String::from)
            .into();
        words.push(match self.text {
            Some(_) => "recipe.toml".to_owned(),
            None => self.base.clone(),
        });
        for set in &self.sets {
            words.extend(["--set".to_owned(), quoted(set)]);
        }
        words.join(" ")
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=.-_+,:/".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Reads a recipe: everything that the page needs to know of it.
pub fn describe(source: &Source) -> Result<Value, Problem> {
    let recipe = source.recipe()?;
    let model = recipe.model()?;
    let source = source.shortest(&recipe);
    let snapshots = recipe.record.snapshot_steps(recipe.train.steps).len() as f64;
    let parameters = model.layout().len();
    let sequences = recipe.train.batch as f64 * recipe.train.steps as f64;
    Ok(json!({
        // The command that repeats the run natively, to the byte.
        "command": source.command(),
        "values": values(&recipe),
        "toml": recipe.to_toml(),
        "parameters": parameters,
        "blocks": blocks(&recipe.model)?,
        "parts": parts(&model),
        "minimal": matches!(model.kind(), Kind::Minimal(_)),
        // The strategy that a model is to reach.
        "goal": recipe.task.ladder().last(),
        "cost": {
            // A snapshot is kept with the optimiser's moments, to go on from, and once more to look at.
            "bytes": recipe.memory()?.total() + 4.0 * 4.0 * snapshots * parameters as f64,
            "multiplications": model.multiplications() * sequences,
        },
        "source": source,
    }))
}

/// Every key of the complete recipe with its value as TOML; of tables and lists too.
fn values(recipe: &Recipe) -> BTreeMap<String, String> {
    fn collect(path: &str, value: &toml::Value, values: &mut BTreeMap<String, String>) {
        if let Some(table) = value.as_table() {
            let separator = if path.is_empty() { "" } else { "." };
            for (key, inner) in table {
                collect(&format!("{path}{separator}{key}"), inner, values);
            }
        }
        for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
            collect(&format!("{path}[{index}]"), inner, values);
        }
        values.insert(path.to_owned(), value.to_string());
    }
    let mut values = BTreeMap::new();
    collect("", &as_toml(recipe), &mut values);
    values.remove("");
    values
}

fn as_toml(part: &impl Serialize) -> toml::Value {
    toml::Value::try_from(part).expect("a recipe is plain data")
}

/// The settings of every block of a transformer, each as TOML, whether the recipe lists them or not.
fn blocks(model: &ModelSpec) -> Result<Vec<BTreeMap<String, String>>, Problem> {
    let ModelSpec::Transformer(spec) = model else {
        return Ok(Vec::new());
    };
    let settings = |block: &BlockSpec| {
        let block = as_toml(block);
        let settings = block.as_table().into_iter().flatten();
        settings
            .map(|(key, value)| (key.clone(), value.to_string()))
            .collect()
    };
    Ok(spec.block_list()?.iter().map(settings).collect())
}

/// A part of a model that can be changed.
#[derive(Serialize)]
struct Part {
    /// Its name in an intervention.
    at: String,
    layer: usize,
    /// What its block calls it, and which one it is.
    name: String,
    index: Option<usize>,
    /// Whether it has a pattern, and whether it writes to a stream.
    pattern: bool,
    written: bool,
}

/// What each block of a transformer writes; the patterns of the minimal model.
fn parts(model: &Model) -> Vec<Part> {
    let Kind::Transformer(shape) = model.kind() else {
        let pattern = |layer| Part {
            at: format!("layers.{layer}"),
            layer,
            name: "heads".to_owned(),
            index: Some(0),
            pattern: true,
            written: false,
        };
        return (0..model.layer_count()).map(pattern).collect();
    };
    let of_slots = shape.slots.iter().flat_map(|slot| {
        slot.sources.iter().map(|source| Part {
            at: match slot.heads() {
                0 => slot.output_name(),
                _ => source.to_string(),
            },
            layer: slot.layer,
            name: source.part.to_string(),
            index: source.index,
            pattern: slot.heads() > 0,
            written: true,
        })
    });
    of_slots.collect()
}

/// The least number of steps that a run is made longer by, so that there is something to see.
const LEAST_MORE: u64 = 500;

/// A recipe that changes something from a step on. Up to there its run is that of `recipe`, to the byte.
///
/// A run that ends at that step is made longer, unless its schedule depends on its length.
pub fn changed(recipe: &Recipe, step: u64, change: &Change) -> Result<Recipe, Problem> {
    let mut changed = recipe.clone();
    if step >= recipe.train.steps && !recipe.train.schedule.depends_on_length() {
        let more = step.div_ceil(2).max(LEAST_MORE);
        changed.train.steps = (step + more).next_multiple_of(recipe.record.every.max(1));
    }
    match change {
        Change::Rate { lr } => {
            end_rates(&mut changed.intervene, step);
            changed.intervene.push(InterveneSpec::Rate {
                group: "all".into(),
                lr: *lr,
                from: When::Step(step),
                until: None,
            });
        }
        Change::Prior { prior } => {
            let only = Recipe::from_toml(&recipe.to_toml(), &[format!("task.prior={prior}")])?;
            let stages = &mut changed.train.curriculum;
            stages.retain(|stage| stage.from < step);
            stages.push(StageSpec {
                from: step,
                prior: only.task.prior,
            });
        }
        Change::Intervene { entries } => {
            let from = |entry: &String| format!("{entry}, from={step}");
            let entries: Vec<String> = entries.iter().map(from).collect();
            return with_entries(&changed, &entries);
        }
    }
    changed.check()?;
    Ok(changed)
}

/// Ends the learning rates of all parameters that are in force at a step, and forgets those that begin later.
fn end_rates(all: &mut Vec<InterveneSpec>, step: u64) {
    let later = |when: &When| matches!(when, When::Step(other) if *other >= step);
    all.retain_mut(|spec| match spec {
        InterveneSpec::Rate {
            group, from, until, ..
        } if group == "all" => {
            if until.as_ref().is_none_or(later) {
                *until = Some(When::Step(step));
            }
            !later(from)
        }
        _ => true,
    });
}

/// A recipe with more interventions, each as its entry in a recipe without the braces.
pub fn with_entries(recipe: &Recipe, entries: &[String]) -> Result<Recipe, Problem> {
    if entries.is_empty() {
        return Ok(recipe.clone());
    }
    let own = recipe
        .intervene
        .iter()
        .map(|spec| as_toml(spec).to_string());
    let all: Vec<String> = own
        .chain(entries.iter().map(|entry| format!("{{{entry}}}")))
        .collect();
    let set = format!("intervene=[{}]", all.join(", "));
    Ok(Recipe::from_toml(&recipe.to_toml(), &[set])?)
}

#[cfg(test)]
mod tests {
    use induct::recipe::Schedule;

    use super::*;

    fn source(base: &str, sets: &[&str]) -> Source {
        Source {
            base: base.into(),
            text: None,
            sets: sets.iter().map(|&set| set.to_owned()).collect(),
        }
    }

    #[test]
    fn a_pasted_recipe_becomes_a_preset_with_overrides() {
        let pasted = Source {
            text: Some("train.batch = 32\ntask.prior = \"doubly-stochastic\"".into()),
            ..Source::default()
        };
        let described = describe(&pasted).unwrap();
        let sets = [
            "task.prior={ kind = \"doubly-stochastic\" }",
            "train.batch=32",
        ];
        let short = source("main", &sets);
        assert_eq!(described["source"], json!(short));
        assert_eq!(short.recipe().unwrap(), pasted.recipe().unwrap());
        assert_eq!(
            described["command"],
            "induct --level portable train main --set 'task.prior={ kind = \"doubly-stochastic\" }' \
             --set train.batch=32"
        );
    }

    #[test]
    fn problems_name_the_field() {
        let refused = |source: &Source| describe(source).unwrap_err();
        let field = |sets: &[&str]| refused(&source("main", sets)).field.unwrap();
        assert_eq!(field(&["model.width=15", "model.heads=2"]), "model.heads");
        assert_eq!(field(&["task.states=nine"]), "task.states");
        assert!(refused(&source("mian", &[])).sentence.contains("main"));
        let garbage = Source {
            text: Some("<script>".into()),
            ..Source::default()
        };
        assert!(refused(&garbage).sentence.contains("not valid TOML"));
    }

    #[test]
    fn changes_in_mid_run_are_in_the_recipe() {
        let main = source("main", &[]).recipe().unwrap();
        let rate = |lr| Change::Rate { lr };
        let twice = changed(&changed(&main, 100, &rate(1e-2)).unwrap(), 300, &rate(1e-4)).unwrap();
        assert_eq!(twice.intervene.len(), 2);
        let again = changed(&twice, 200, &rate(3e-3)).unwrap();
        let text = again.to_toml();
        assert!(
            text.contains("until = 200") && !text.contains("from = 300"),
            "{text}"
        );
        let prior = Change::Prior {
            prior: "{kind=\"iid\"}".into(),
        };
        let other = changed(&main, 500, &prior).unwrap();
        assert_eq!(other.train.curriculum[0].from, 500);
        assert_eq!(other.task, main.task);
        let ablate = Change::Intervene {
            entries: vec!["kind=\"ablate\", at=\"layers.0.heads.0\"".into()],
        };
        let ablated = changed(&again, 700, &ablate).unwrap();
        assert_eq!(ablated.intervene.len(), 3);
        let refused = changed(&ablated, 900, &ablate).unwrap_err();
        assert!(refused.sentence.contains("layers.0.heads.0"), "{refused:?}");
        assert_eq!(changed(&main, 4000, &rate(1e-2)).unwrap().train.steps, 6000);
        let mut cosine = main.clone();
        cosine.train.schedule = Schedule::Cosine {
            warmup: 0,
            floor: 0.0,
        };
        let late = changed(&cosine, 4000, &rate(1e-2)).unwrap_err();
        assert!(late.sentence.contains("train.steps"), "{late:?}");
    }
}
