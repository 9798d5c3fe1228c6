//! The task as a picture, and the phases of learning it.

use induct::chain::{Purpose, Sampler, address};
use induct_figure::{Chain, Figure, Panel};

use crate::curves;
use crate::figure::Illustration;
use crate::results::{Results, TrainedExperiment};

/// The number of symbols of a sequence to show.
const SYMBOLS: usize = 24;

/// A chain of the task, and a sequence drawn from it.
pub(super) struct Example {
    /// Its transition table, row by row.
    pub transitions: Vec<f64>,
    /// The first symbols of the sequence.
    pub symbols: Vec<usize>,
    /// All symbols of a context.
    pub whole: Vec<usize>,
}

/// The number of sequences to search for an example.
const TRIED: u64 = 1000;

/// The first test sequence whose chain is easy to see: every transition has a probability of at least 0.1,
/// and the first two rows differ by at least 0.5. If there is none, the last one tried.
pub(super) fn example(trained: &TrainedExperiment) -> Example {
    let recipe = &trained.experiment.recipe;
    let prior = recipe.prior().expect("a trained recipe has a prior");
    let mut sampler = Sampler::new(&prior);
    let address = address(Purpose::Test, recipe.seeds.eval, 0);
    let mut tokens = vec![0; recipe.task.length + 1];
    let mut transitions: Vec<f64> = Vec::new();
    for index in 0..TRIED {
        let table = sampler.sequence(&prior, address, index, &mut tokens);
        let table = table.expect("the recipe was trained");
        transitions = table.rows().flatten().copied().collect();
        let apart = (transitions[0] - transitions[table.states()]).abs();
        if transitions.iter().all(|&p| p >= 0.1) && apart >= 0.5 {
            break;
        }
    }
    let whole = tokens[..recipe.task.length].iter();
    let whole: Vec<usize> = whole.map(|&symbol| usize::from(symbol)).collect();
    Example {
        transitions,
        symbols: whole.iter().copied().take(SYMBOLS).collect(),
        whole,
    }
}

pub(super) fn phases(results: &Results) -> Illustration {
    let main = results.of("main");
    let Example {
        transitions,
        symbols,
        ..
    } = example(main);
    let chain = Chain {
        title: "Every sequence has its own chain".into(),
        states: main.model.states(),
        transitions,
        // As many as fit in one row next to a plot.
        sequence: symbols.into_iter().take(21).collect(),
        sequence_label: "a sequence from it: what comes next?".into(),
    };
    let figure = Figure {
        description: "Left: a Markov chain with two states, its transition table and a sequence from it. \
                      Right: distance of the model from the uniform, unigram and bigram strategies over \
                      training.".into(),
        panels: vec![
            Panel::Chain(chain),
            curves::panel(main, "Distance from each strategy over training", || {
                curves::similarity(main)
            }),
        ],
        columns: 2,
    };
    Illustration::new(
        figure,
        format!(
            "The model is nearest to uniform predictions first, to counting symbols {}, and to counting \
             pairs {} (medians over seeds). The background has the colour of the nearest strategy. {}",
            curves::onset_in_words(main, "unigram"),
            curves::onset_in_words(main, "bigram"),
            curves::legend(&[main])
        ),
    )
}
