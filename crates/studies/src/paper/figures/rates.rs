//! The learning rate: curves at four rates, which agree against rate × steps.

use induct::measure::KL_TRUTH;
use induct_figure::{Axis, Colour, Figure, Plot, Series};

use crate::curves::{self, SEEN};
use crate::figure::Illustration;
use crate::results::{Results, TrainedExperiment};
use crate::statistics::Measurement;

/// The largest number of sequences on the axes of the paper's figures, in thousands.
const AXIS_OF_THE_PAPER: f64 = 128.0;

/// An experiment at a learning rate.
struct AtRate<'a> {
    trained: &'a TrainedExperiment,
    rate: f64,
    label: &'static str,
    colour: Colour,
}

impl AtRate<'_> {
    /// The loss against steps, as `x` places them.
    fn lines(&self, x: impl Fn(&Self, f64) -> f64) -> Vec<Series> {
        let place = |step: f64| x(self, step);
        curves::lines(self.label, self.colour, self.trained, place, |run| {
            run.column(&KL_TRUTH)
        })
    }

    /// The onset of bigrams as rate × steps, in words.
    fn onset_in_words(&self) -> Option<String> {
        let onset = curves::time_of(self.trained, |run| run.onset("bigram"));
        let Measurement { seeds, missing, .. } = onset;
        let label = html(self.label);
        match onset.effect.is_finite() {
            true => Some(format!("{:.2} at {label}", self.rate * onset.effect)),
            false if seeds > 0 => Some(format!(
                "not reached at {label} by {missing} of {seeds} runs"
            )),
            false => None,
        }
    }
}

pub(super) fn rates(results: &Results) -> Illustration {
    let rates = [
        ("printed", "3·10^{−5} (the text)", Colour::Vermilion),
        ("rate-1e-4", "10^{−4}", Colour::Green),
        ("rate-3e-4", "3·10^{−4}", Colour::Pink),
        ("main", "10^{−3} (ours)", Colour::Ink),
    ]
    .map(|(id, label, colour)| {
        let trained = results.of(id);
        let rate = trained.experiment.recipe.train.optimizer.lr();
        AtRate {
            trained,
            rate: rate.unwrap_or(f64::NAN),
            label,
            colour,
        }
    });
    let main = results.of("main");
    let plot = |x: Axis, place: fn(&AtRate, f64) -> f64| {
        let series: Vec<Series> = rates.iter().flat_map(|rate| rate.lines(place)).collect();
        let levels = curves::levels(main, &["uniform", "unigram", "bigram"]);
        Plot {
            x,
            names_above: true,
            ..curves::losses(series, levels)
        }
    };
    let figure = Figure {
        description:
            "Loss over training at four learning rates: against the sequences seen, where the \
                      curves lie apart, and against learning rate × steps, where they agree."
                .into(),
        panels: vec![
            curves::panel(main, "Against the sequences seen", || {
                plot(Axis::log(SEEN), |at, step| at.trained.thousands(step))
            }),
            curves::panel(main, "Against learning rate × steps", || Plot {
                without_names: true,
                ..plot(Axis::linear("learning rate × steps"), |at, step| {
                    at.rate * step
                })
            }),
        ],
        columns: 2,
    };
    let onsets: Vec<String> = rates.iter().filter_map(AtRate::onset_in_words).collect();
    let mut reading = String::from(
        "Left: the lower the rate, the later the second drop. Right: against learning rate × steps the \
         curves agree, so that a rate of 10<sup>−3</sup> shows what the rate of the text shows in fewer \
         steps.",
    );
    if !onsets.is_empty() {
        reading += &format!(
            " Bigrams become the nearest strategy at a rate × steps (median) of {}.",
            onsets.join(", ")
        );
    }
    reading += &against_the_paper(&rates[0]);
    reading += " ";
    reading += &curves::legend(&rates.map(|at| at.trained));
    Illustration::new(figure, reading)
}

/// Whether the text's own rate gets to its transition within the axes of its figures.
fn against_the_paper(printed: &AtRate) -> String {
    let onset = curves::time_of(printed.trained, |run| run.onset("bigram"));
    let axes =
        format!("The axes of the paper's figures end at {AXIS_OF_THE_PAPER:.0} thousand sequences");
    match onset.effect {
        effect if effect.is_finite() => format!(
            " {axes}; at the rate of its text, the transition needs {:.1} million.",
            printed.trained.thousands(effect) / 1000.0
        ),
        _ if onset.seeds > 0 => format!(
            " {axes}; at the rate of its text, most runs have no transition within {:.1} million.",
            printed
                .trained
                .thousands(printed.trained.experiment.recipe.train.steps as f64)
                / 1000.0
        ),
        _ => String::new(),
    }
}

/// A label of the figure as HTML.
fn html(label: &str) -> String {
    label.replace("^{", "<sup>").replace('}', "</sup>")
}
