//! The loss by position: why the mean over positions, which is trained, says less than the last, which is
//! examined.

use std::sync::Arc;

use induct::chain::{Purpose, address};
use induct::model::Evaluator;
use induct::probe::ProbeError;
use induct::strategy::{Scratch, Strategy};
use induct_figure::{Axis, Colour, Figure, Mark, Panel, Plot, Sentence, Series};
use induct_pictures::strategy_colours;
use rayon::prelude::*;

use crate::curves;
use crate::figure::Illustration;
use crate::results::{Results, TrainedExperiment};

/// Sequences that losses are averaged over.
const SEQUENCES: u64 = 1000;
/// The test set that they are from; no run or exam uses it.
const SET: u64 = 90;
/// The strategies to compare with.
const STRATEGIES: [&str; 3] = ["unigram", "bigram", "bayes"];

/// KL(truth ‖ ·) at every position.
struct ByPosition {
    name: String,
    losses: Vec<f64>,
}

impl ByPosition {
    /// The mean over positions.
    fn mean(&self) -> f64 {
        self.losses.iter().sum::<f64>() / self.losses.len() as f64
    }

    /// At the last position.
    fn last(&self) -> f64 {
        self.losses.last().copied().unwrap_or(f64::NAN)
    }

    /// Mean, last, and how much of the mean is due to the first tenth of the positions.
    fn in_words(&self) -> String {
        let first = self.losses.len().div_ceil(10);
        let early = self.losses[..first].iter().sum::<f64>() / self.losses.iter().sum::<f64>();
        format!(
            "{} {:.4} on average ({} of it from the first tenth of the positions), {:.4} at the last",
            self.name,
            self.mean(),
            curves::percent(early),
            self.last()
        )
    }
}

pub(super) fn by_position(results: &Results) -> Illustration {
    let settings = [
        ("main", "Two states"),
        ("three-states", "Three states"),
        (
            "three-states-from-construction",
            "Three states, from the hand-made weights",
        ),
    ];
    let settings = settings.map(|(id, title)| {
        let trained = results.of(id);
        (trained, title, losses(trained))
    });
    let panels = settings.iter().map(|(trained, title, found)| match found {
        Some(Ok(found)) => curves::panel(trained, title, || plot(found)),
        Some(Err(error)) => Panel::Sentence(Sentence {
            title: (*title).into(),
            text: format!("Not measured: {error}."),
        }),
        None => curves::panel(trained, title, Plot::default),
    });
    let figure = Figure {
        description: "KL(truth ‖ ·) at every position of a sequence, for final models and strategies, with \
                      two and three states, and for a model trained from hand-made weights before and after."
            .into(),
        panels: panels.collect(),
        columns: 3,
    };
    let mut reading = format!(
        "The loss at every position, over {SEQUENCES} fresh sequences: of the first run's final model, and \
         dashed of strategies. Training takes the mean over positions; the exam takes the last position, as \
         the paper does."
    );
    for (_, title, found) in &settings {
        if let Some(Ok(found)) = found {
            let compared = found.iter().filter(|of| {
                let is_strategy = STRATEGIES.contains(&of.name.as_str());
                !is_strategy || of.name == "bigram"
            });
            let compared: Vec<String> = compared.map(ByPosition::in_words).collect();
            reading += &format!(" {title}: {}.", compared.join("; "));
        }
    }
    Illustration::new(figure, reading)
}

/// The strategies' and the first run's losses by position; `None` if no run completed. For a run that starts
/// from set weights, before training too.
fn losses(trained: &TrainedExperiment) -> Option<Result<Vec<ByPosition>, ProbeError>> {
    let run = trained.completed().next()?;
    let params = run.params()?;
    let recipe = &run.recording().recipe;
    let seed = recipe.seeds.init;
    let models = match trained.experiment.id.ends_with("-from-construction") {
        true => vec![
            ("before training", trained.model.start(seed)),
            ("after training", params.to_vec()),
        ],
        false => vec![("model", params.to_vec())],
    };
    Some(measured(trained, &models))
}

fn measured(
    trained: &TrainedExperiment,
    models: &[(&str, Vec<f32>)],
) -> Result<Vec<ByPosition>, ProbeError> {
    let recipe = &trained.experiment.recipe;
    let (task, t) = (recipe.own_task()?, recipe.task.length);
    let k = task.states();
    let strategies: Result<Vec<Arc<dyn Strategy>>, _> =
        STRATEGIES.iter().map(|name| task.strategy(name)).collect();
    let strategies = strategies?;
    let evaluators: Result<Vec<Evaluator>, _> = models
        .iter()
        .map(|(_, params)| trained.model.evaluator(params))
        .collect();
    let evaluators = evaluators.expect("the weights are the model's");
    let address = address(Purpose::Test, recipe.seeds.eval, SET);
    let of_sequence = |scratch: &mut Scratch, index: u64| {
        let (mut tokens, mut truth) = (vec![0; t + 1], vec![0.0; t * k]);
        task.sequence(address, index, &mut tokens, Some(&mut truth), scratch)?;
        let mut predict = |strategy: &dyn Strategy| {
            let mut out = vec![0.0; t * k];
            strategy.predict(&tokens, 0..t, scratch, &mut out);
            out
        };
        let mut all: Vec<Vec<f64>> = strategies
            .iter()
            .map(|strategy| divergences(&truth, &predict(strategy.as_ref()), k))
            .collect();
        for evaluator in &evaluators {
            let seen = evaluator.probabilities(&tokens[..t]);
            let seen = seen.expect("sequences of the prior fit the model");
            let seen: Vec<f64> = seen.data().iter().map(|&p| f64::from(p)).collect();
            all.push(divergences(&truth, &seen, k));
        }
        Ok::<_, ProbeError>(all)
    };
    let by_sequence: Result<Vec<Vec<Vec<f64>>>, ProbeError> = (0..SEQUENCES)
        .into_par_iter()
        .map_init(Scratch::default, of_sequence)
        .collect();
    let by_sequence = by_sequence?;
    let names = STRATEGIES.into_iter().chain(models.iter().map(|(n, _)| *n));
    let mean = |(number, name): (usize, &str)| {
        let at = |position: usize| {
            let each = by_sequence.iter().map(|all| all[number][position]);
            each.sum::<f64>() / SEQUENCES as f64
        };
        ByPosition {
            name: name.to_owned(),
            losses: (0..t).map(at).collect(),
        }
    };
    Ok(names.enumerate().map(mean).collect())
}

/// KL(truth ‖ predicted) at every position; both are [t, k].
fn divergences(truth: &[f64], predicted: &[f64], k: usize) -> Vec<f64> {
    let rows = truth.chunks_exact(k).zip(predicted.chunks_exact(k));
    let one = |(p, q): (&f64, &f64)| if *p > 0.0 { p * (p / q).ln() } else { 0.0 };
    rows.map(|(p, q)| p.iter().zip(q).map(one).sum()).collect()
}

fn plot(found: &[ByPosition]) -> Plot {
    let colours = strategy_colours(&STRATEGIES);
    let line = |(index, of): (usize, &ByPosition)| {
        let (colour, mark) = match (colours.get(index), of.name.as_str()) {
            (Some(colour), _) => (*colour, Mark::Dashed),
            (None, "before training") => (Colour::Vermilion, Mark::Line),
            (None, _) => (Colour::Ink, Mark::Line),
        };
        let points = (1..).map(f64::from).zip(of.losses.iter().copied());
        Series::new(of.name.clone(), colour, mark, points)
    };
    Plot {
        x: Axis::log("position"),
        y: Axis::log("KL(truth ‖ ·), nats"),
        series: found.iter().enumerate().map(line).collect(),
        names_above: true,
        ..Plot::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divergences_are_zero_for_the_truth_alone() {
        let truth = [1.0, 0.0, 0.25, 0.75];
        assert_eq!(divergences(&truth, &truth, 2), [0.0, 0.0]);
        let even = divergences(&truth, &[0.5; 4], 2);
        assert!((even[0] - 2_f64.ln()).abs() < 1e-12, "{even:?}");
        assert!(even[1] > 0.1 && even[1] < even[0], "{even:?}");
    }
}
