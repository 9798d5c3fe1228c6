//! Chains that a prior draws: all there is to know of them with two states, a few tables otherwise.

use induct::chain::{Purpose, Sampler, TaskPrior, address};
use induct::recipe::Recipe;
use induct_figure::{Axis, Colour, Figure, Heatmap, Mark, Panel, Plot, Series};

use super::alone;
use crate::problem::Problem;

/// The number of chains whose two probabilities are points.
const POINTS: u64 = 300;
/// The number of chains whose tables are shown.
const TABLES: u64 = 4;

/// Chains of a task's prior.
pub fn chains(recipe: &str) -> Result<Figure, Problem> {
    let recipe = Recipe::from_toml(recipe, &[])?;
    let prior = recipe.prior()?;
    let panel = match (prior.states(), prior.ngram()) {
        (2, 2) => points(&prior, recipe.seeds.eval)?,
        _ => tables(&prior, recipe.seeds.eval)?,
    };
    Ok(alone("Chains that the prior draws.".into(), panel))
}

/// The tables of the first chains of the test set.
fn drawn(prior: &TaskPrior, seed: u64, count: u64) -> Result<Vec<Vec<f64>>, Problem> {
    let mut sampler = Sampler::new(prior);
    let address = address(Purpose::Test, seed, 0);
    let mut tokens = vec![0; prior.ngram()];
    let table = |index| {
        let table = sampler.sequence(prior, address, index, &mut tokens)?;
        Ok(table.rows().flatten().copied().collect())
    };
    (0..count).map(table).collect()
}

/// Every chain of two states as a point: how likely it is to leave each of them.
fn points(prior: &TaskPrior, seed: u64) -> Result<Panel, Problem> {
    let chains = drawn(prior, seed, POINTS)?;
    let leaving = chains.iter().map(|table| (table[1], table[2]));
    Ok(Panel::Plot(Plot {
        x: Axis::linear("probability of 1 after 0").range(0.0, 1.0),
        y: Axis::linear(format!("probability of 0 after 1, {POINTS} chains")).range(0.0, 1.0),
        series: vec![Series::new("", Colour::Blue, Mark::Points, leaving)],
        aspect: 0.85,
        ..Plot::default()
    }))
}

/// A few tables side by side: contexts are rows, next symbols are columns.
fn tables(prior: &TaskPrior, seed: u64) -> Result<Panel, Problem> {
    let chains = drawn(prior, seed, TABLES)?;
    let (states, contexts) = (prior.states(), chains[0].len() / prior.states());
    let row = |context: usize| {
        let of_chain = |table: &Vec<f64>| table[context * states..][..states].to_vec();
        let rows: Vec<Vec<f64>> = chains.iter().map(of_chain).collect();
        rows.join(&f64::NAN)
    };
    let columns = chains.len() * (states + 1) - 1;
    Ok(Panel::Heatmap(Heatmap {
        x: Axis::linear(format!("{TABLES} chains; columns: the next symbol")).range(0.0, 0.0),
        y: Axis::linear("rows: the symbols before it").range(0.0, (contexts - 1) as f64),
        columns,
        values: (0..contexts).flat_map(row).collect(),
        range: Some((0.0, 1.0)),
        without_bar: true,
        aspect: (contexts as f64 / columns as f64).clamp(0.25, 1.5),
        ..Heatmap::default()
    }))
}
