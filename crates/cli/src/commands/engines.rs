//! `induct bench --engines`: which engines and kernels there are, and what computes each setting.

use std::collections::HashSet;

use induct::catalogue::SETTINGS;
use induct::internal::{RULES, Rule};
use induct::model::Model;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::options::Json;
use crate::recipes;

pub fn run(json: &Json) -> Result<(), Failure> {
    let mut text = table(RULES) + "\n| setting | computed by |\n|---|---|\n";
    let mut settings = Vec::new();
    for setting in SETTINGS.iter() {
        let uses = uses(&setting.recipe(&[])?.model()?);
        text += &format!("| {} | {} |\n", setting.name, uses.join(", "));
        settings.push(json!({ "name": setting.name, "uses": uses }));
    }
    let rules: Vec<Value> = RULES.iter().map(rule_in_json).collect();
    json.print(&json!({ "rules": rules, "settings": settings }), &text)
}

/// Runs the command for one model: a recipe with overrides.
pub fn run_for(recipe: &str, overrides: &[String], json: &Json) -> Result<(), Failure> {
    let recipe = recipes::load(recipe, overrides)?;
    let reasons = recipe.model()?.reasons();
    let rules: Vec<Value> = reasons.iter().copied().map(rule_in_json).collect();
    let value = json!({ "name": recipe.name, "rules": rules });
    json.print(&value, &table(reasons))
}

fn rule_in_json(rule: &Rule) -> Value {
    json!({
        "part": rule.part.name(),
        "choice": rule.name,
        "module": rule.module,
        "when": rule.when,
    })
}

/// The table of rules, as in the documentation.
fn table<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> String {
    let mut text = "| part | choice | module | when |\n|---|---|---|---|\n".to_owned();
    for rule in rules {
        let (part, name) = (rule.part.name(), rule.name);
        text += &format!("| {part} | {name} | `{}` | {} |\n", rule.module, rule.when);
    }
    text
}

/// The names of the engines and kernels that compute a model, each once.
fn uses(model: &Model) -> Vec<&'static str> {
    let mut names: Vec<&str> = model.reasons().iter().map(|rule| rule.name).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No kernel is in the table without a setting that uses it.
    #[test]
    fn every_kernel_computes_some_setting() {
        let mut used = Vec::new();
        for setting in SETTINGS.iter() {
            let model = setting.recipe(&[]).unwrap().model().unwrap();
            used.extend(uses(&model));
        }
        for rule in RULES {
            assert!(used.contains(&rule.name), "{}", rule.name);
        }
    }
}
