//! The study's figures, drawn from the trained models.

use std::sync::LazyLock;

use induct::measure::{COPY_STRENGTH, KL_TRUTH, PREVIOUS_TOKEN};
use induct_figure::{Axis, Colour, Figure, Mark, Panel, Plot, Series, Value};

use super::measures::{EARLY_QUANTITIES, closed, explained, formed, looks_back, onset, transition};
use crate::curves;
use crate::figure::{Draw, Illustration, StudyFigure};
use crate::gumbel::Gumbel;
use crate::results::{Results, TrainedExperiment};
use crate::run::Run;
use crate::statistics::{ERROR, Measurement};

/// All figures, by number.
pub static FIGURES: LazyLock<Vec<StudyFigure>> =
    LazyLock::new(|| StudyFigure::all_in(include_str!("figures.toml"), DRAW));

/// How each is drawn.
const DRAW: &[(&str, Draw)] = &[
    ("clamped", |results| {
        beside(results, "-clamped", "clamped", CLAMPED)
    }),
    ("dose", dose),
    ("window", window),
    ("without-uniform", |results| {
        beside(results, "-without-uniform", "without", WITHOUT)
    }),
    ("swapped", swapped),
    ("minimal", minimal),
    ("times", times),
];

/// A transformer of the study: the start of its experiments' names, and a title.
type Model = (&'static str, &'static str);

const MODELS: [Model; 4] = [
    ("plateau-two", "Two states"),
    ("plateau-three", "Three states"),
    ("plateau-released", "Released, two states"),
    ("plateau-released-three", "Released, three states"),
];

const CLAMPED: &str = "Black: as it is. Orange: layer 1 attends to the previous token from the first step on, whatever \
                       its weights say, and everything else learns as ever.";
const WITHOUT: &str = "Black: as it is. Orange: 1 / (i + 1) is subtracted from every weight of layer 2's attention, so \
                       that it cannot average over all symbols.";

/// The losses of every transformer as it is and under an intervention.
fn beside(results: &Results, suffix: &str, label: &str, reading: &str) -> Illustration {
    let pairs: Vec<(&str, &TrainedExperiment, &TrainedExperiment)> = MODELS
        .iter()
        .map(|(id, title)| (*title, results.of(id), results.of(&format!("{id}{suffix}"))))
        .collect();
    let figure = Figure {
        description: format!(
            "Loss over training of {} models, as they are and {label}.",
            pairs.len()
        ),
        panels: pairs.iter().map(|pair| losses(pair, label)).collect(),
        columns: 2,
    };
    Illustration::new(figure, in_words(reading, &pairs))
}

/// The losses of a model as it is and under an intervention.
fn losses(
    (title, free, changed): &(&str, &TrainedExperiment, &TrainedExperiment),
    label: &str,
) -> Panel {
    curves::panel(free, title, || {
        let lines = [
            curves::column("as it is", Colour::Ink, free, &KL_TRUTH),
            curves::column(label, Colour::Vermilion, changed, &KL_TRUTH),
        ];
        Plot {
            names_above: true,
            ..curves::losses(lines.concat(), curves::levels(free, &["unigram", "bigram"]))
        }
    })
}

/// How to read such panels.
fn in_words(reading: &str, pairs: &[(&str, &TrainedExperiment, &TrainedExperiment)]) -> String {
    let times = pairs
        .iter()
        .map(|(title, free, changed)| times_in_words(title, free, changed));
    let all: Vec<&TrainedExperiment> = pairs
        .iter()
        .flat_map(|(_, free, changed)| [*free, *changed])
        .collect();
    format!(
        "{reading}{} {}",
        times.collect::<String>(),
        curves::legend(&all)
    )
}

/// The median transition with and without an intervention, in words.
fn times_in_words(title: &str, free: &TrainedExperiment, changed: &TrainedExperiment) -> String {
    let [without, with] = [free, changed].map(|trained| curves::time_of(trained, transition));
    match (without.seeds.min(with.seeds), without.effect, with.effect) {
        (0, ..) => String::new(),
        (_, without, with) if without.is_finite() && with.is_finite() => {
            format!(
                " {title}: the transition comes after {with:.0} instead of {without:.0} steps (medians)."
            )
        }
        (_, without, _) if without.is_finite() => format!(
            " {title}: the transition, after {without:.0} steps, is missing in {} of {} runs with the intervention.",
            with.missing, with.seeds
        ),
        _ => format!(" {title}: most runs have no transition."),
    }
}

/// Doses of layer 2's final weights.
const DOSES: [(f64, &str); 5] = [
    (0.0, ""),
    (0.25, "-dose-0.25"),
    (0.5, "-dose-0.5"),
    (0.75, "-dose-0.75"),
    (1.0, "-dose-1.0"),
];

/// A median over runs as a point.
fn point(x: f64, trained: &TrainedExperiment, of: impl Fn(&Run) -> Option<f64>) -> Option<Value> {
    curves::point(x, &curves::time_of(trained, of), |y| y)
}

fn dose(results: &Results) -> Illustration {
    let models = [
        (MODELS[0], Colour::Ink),
        (MODELS[1], Colour::Vermilion),
        (MODELS[2], Colour::Blue),
    ];
    let series = |of: fn(&Run) -> Option<f64>| -> Vec<Series> {
        let of_model = |((id, title), colour): &(Model, Colour)| {
            let doses = DOSES.iter().filter_map(|(dose, suffix)| {
                let trained = results.get(&format!("{id}{suffix}"))?;
                point(*dose, trained, of)
            });
            Series::new(*title, *colour, Mark::Points, doses)
        };
        let all = models.iter().map(of_model);
        all.filter(|series| !series.values.is_empty()).collect()
    };
    let plot = |title: &str, label: &str, of: fn(&Run) -> Option<f64>| {
        let series = series(of);
        Panel::Plot(Plot {
            title: title.into(),
            x: Axis::linear("fraction of layer 2's final weights at the start").range(-0.05, 1.05),
            y: curves::from_zero(label, &series, &[]),
            series,
            names_above: true,
            ..Plot::default()
        })
    };
    let two = results.of("plateau-two");
    let title = "Two states: attention of layer 1 on the previous token";
    let score = curves::panel(two, title, || {
        let ramp = [
            Colour::Ink,
            Colour::Green,
            Colour::Blue,
            Colour::Pink,
            Colour::Vermilion,
        ];
        let lines = DOSES.iter().zip(ramp).map(|((dose, suffix), colour)| {
            let trained = results.of(&format!("plateau-two{suffix}"));
            let score = |run: &Run| run.over_heads(&PREVIOUS_TOKEN, 0);
            curves::median_line(format!("s = {dose}"), colour, trained, score)
        });
        curves::attention(lines.collect())
    });
    let figure = Figure {
        description: "Transition and the start of looking back against the fraction of layer 2's final weights \
                      that the run starts with, and layer 1's attention over training."
            .into(),
        panels: vec![
            plot("Transition", "steps", transition),
            plot("Layer 1 begins to look back", "steps", looks_back),
            score,
        ],
        columns: 3,
    };
    let mut words = String::from(
        "Layer 2 starts a fraction of the way from its initial weights to those that the same seed ends with; all \
         else starts as ever. Points are medians over seeds, with their intervals.",
    );
    let [none, all] = ["", "-dose-1.0"].map(|suffix| {
        let trained = results.of(&format!("plateau-two{suffix}"));
        curves::time_of(trained, transition).effect
    });
    if none.is_finite() && all.is_finite() {
        words += &format!(
            " With two states the transition comes after {none:.0} steps without, and after {all:.0} with all of \
             layer 2's final weights."
        );
    }
    Illustration::new(figure, words)
}

/// Windows from the start on, by their ends.
const FROM_START: [u32; 5] = [25, 50, 100, 200, 400];

/// Windows that begin later, by both ends.
const LATER: [(u32, u32); 5] = [(50, 150), (100, 200), (200, 400), (400, 800), (800, 1600)];

/// The fraction of the gap closed at the end, as a median with its interval.
fn outcome(x: f64, trained: &TrainedExperiment) -> Option<Value> {
    let measured = Measurement::of(&trained.numbers(closed), f64::NEG_INFINITY, ERROR);
    curves::point(x, &measured, |y| y)
}

/// What was frozen, and the experiment.
const FREEZES: &str = "\
layer 2 frozen for 100 steps: plateau-two-freeze-2-0-100
its values alone: plateau-two-freeze-values
its queries, keys and positions alone: plateau-two-freeze-scores
both layers: plateau-two-freeze-both
layer 2, with layer 1 set back at step 100: plateau-two-rescued-by-reset
layer 2, with layer 1 kept from the logits meanwhile: plateau-two-rescued-by-block
nothing frozen, but layer 1 never reaching the logits: plateau-two-blocked
three states, layer 2 for 100 steps: plateau-three-freeze-2-0-100
three states, layer 1 for 400 steps: plateau-three-freeze-1-0-400
released, layer 2 for 100 steps: plateau-released-freeze-2-0-100
released, layer 1 for 400 steps: plateau-released-freeze-1-0-400";

fn window(results: &Results) -> Illustration {
    let layers = [("1", Colour::Vermilion), ("2", Colour::Blue)];
    let share = "fraction of the gap to bigrams closed";
    let plot = |title: &str, x: Axis, of: &dyn Fn(&str) -> Vec<Value>| {
        let series = layers.iter().map(|(layer, colour)| {
            Series::new(
                format!("layer {layer} frozen"),
                *colour,
                Mark::Points,
                of(layer),
            )
        });
        Panel::Plot(Plot {
            title: title.into(),
            x,
            y: Axis::linear(share).range(0.0, 1.0),
            series: series.filter(|series| !series.values.is_empty()).collect(),
            names_above: true,
            ..Plot::default()
        })
    };
    let from_start = |layer: &str| -> Vec<Value> {
        let ends = FROM_START.iter().filter_map(|end| {
            let id = format!("plateau-two-freeze-{layer}-0-{end}");
            outcome(f64::from(*end), results.of(&id))
        });
        ends.collect()
    };
    let later = |layer: &str| -> Vec<Value> {
        let windows = LATER.iter().filter_map(|(from, until)| {
            let id = format!("plateau-two-freeze-{layer}-{from}-{until}");
            outcome(f64::from(*from), results.of(&id))
        });
        windows.collect()
    };
    let who = |id: &str, title: &str| {
        let trained = results.of(id);
        curves::panel(trained, title, || {
            let layers = [("layer 1", Colour::Vermilion), ("layer 2", Colour::Blue)];
            let series = layers
                .iter()
                .enumerate()
                .flat_map(|(layer, (label, colour))| {
                    curves::over_heads(label, *colour, trained, &COPY_STRENGTH, layer)
                });
            Plot {
                y: Axis::linear("copy strength, logits"),
                ..curves::attention(series.collect())
            }
        })
    };
    let figure = Figure {
        description: "Fraction of the gap closed after a layer was frozen for some steps, against the end or the \
                      start of the window; and what each layer copies over training."
            .into(),
        panels: vec![
            plot(
                "Two states: frozen from the start on",
                Axis::log("first step that is no longer frozen"),
                &from_start,
            ),
            plot(
                "Two states: frozen later, for as long again or more",
                Axis::log("first frozen step"),
                &later,
            ),
            who("plateau-two", "Two states: who copies"),
            who("plateau-two-freeze-2-0-100", "Layer 2 frozen for 100 steps: who copies"),
        ],
        columns: 2,
    };
    let mut words = String::from(
        "A head has formed where three quarters of the gap to bigrams are closed at the end. Copy strength is what a \
         layer's values add, directly, to the logit of the symbol that is attended to.",
    );
    let said = FREEZES.lines().filter_map(|line| {
        let (what, id) = line.split_once(": ")?;
        let trained = results.of(id);
        let runs = trained.completed().count();
        let forms = trained.completed().filter(|run| formed(run)).count();
        (runs > 0).then(|| format!("{what}: {forms} of {runs}"))
    });
    let said: Vec<String> = said.collect();
    if !said.is_empty() {
        words += &format!(" Heads that form: {}.", said.join("; "));
    }
    Illustration::new(figure, words)
}

fn swapped(results: &Results) -> Illustration {
    let mut words = String::from(
        "200 steps after the onset of unigrams took effect, layer 2's queries and keys are set back to the start \
         (green), layer 1 gets the weights that the same seed ends with (orange), or layer 2 does (blue). Black: as it \
         is.",
    );
    let panels = MODELS[..3].iter().map(|(id, title)| {
        let free = results.of(id);
        let of = |suffix: &str| results.of(&format!("{id}{suffix}"));
        let lines = [
            ("as it is", Colour::Ink, free),
            ("matching set back", Colour::Green, of("-matching-reset")),
            ("layer 1 final", Colour::Vermilion, of("-first-final")),
            ("layer 2 final", Colour::Blue, of("-second-final")),
        ];
        for (label, _, trained) in &lines[1..] {
            let said = times_in_words(&format!("{title}, {label}"), free, trained);
            words += &said;
        }
        curves::panel(free, title, || {
            let middle = lines.iter().map(|(label, colour, trained)| {
                curves::median_line(*label, *colour, trained, |run| run.column(&KL_TRUTH))
            });
            let series: Vec<Series> = middle.filter(|series| !series.values.is_empty()).collect();
            Plot {
                names_above: true,
                ..curves::losses(series, curves::levels(free, &["unigram", "bigram"]))
            }
        })
    });
    let figure = Figure {
        description: "Median loss over training with parts of the model set back or made final on the plateau.".into(),
        panels: panels.collect(),
        columns: 3,
    };
    words += " Lines are pointwise medians over seeds.";
    Illustration::new(figure, words)
}

fn minimal(results: &Results) -> Illustration {
    let [free, clamped] = ["minimal", "plateau-minimal-clamped"].map(|id| results.of(id));
    let pair = ("Minimal model, two states", free, clamped);
    let figure = Figure {
        description: "Loss of the minimal model over training, free and clamped.".into(),
        panels: vec![losses(&pair, "M clamped")],
        columns: 1,
    };
    let reading = "Black: as the paper trains it. Orange: M has a one wherever a position looks at the one before it, \
                   and zeros elsewhere, from the first step on.";
    Illustration::new(figure, in_words(reading, &[pair]))
}

/// The fewest times that a law is fitted to.
const FITTED: usize = 20;

fn times(results: &Results) -> Illustration {
    let trained = results.of("plateau-times");
    let mut times: Vec<f64> = trained.completed().filter_map(onset).collect();
    times.sort_by(f64::total_cmp);
    let runs = trained.runs.len();
    let law = Gumbel::fit(&times).filter(|_| times.len() >= FITTED);
    let share = |count: usize| count as f64 / runs.max(1) as f64;
    let distribution = curves::panel(trained, "Share of runs past their transition", || {
        let steps = times.iter().enumerate();
        let steps = steps.map(|(index, &time)| (time, share(index + 1)));
        let mut series = vec![Series::new("runs", Colour::Ink, Mark::Steps, steps)];
        if let (Some(law), Some(first), Some(last)) = (law, times.first(), times.last()) {
            let points = (0..=100).map(|at| {
                let x = first + f64::from(at) / 100.0 * (last - first);
                (x, share(times.len()) * law.below(x))
            });
            series.push(Series::new(
                "Gumbel law",
                Colour::Vermilion,
                Mark::Dashed,
                points,
            ));
        }
        Plot {
            x: Axis::linear("step at which bigrams become nearest"),
            y: Axis::linear("share of runs").range(0.0, 1.0),
            series,
            names_above: true,
            ..Plot::default()
        }
    });
    let first = &EARLY_QUANTITIES[0];
    let scatter = curves::panel(
        trained,
        "An early quantity, and when the transition comes",
        || {
            let points = trained
                .completed()
                .filter_map(|run| Some(((first.of)(run)?, onset(run)?)));
            let series = vec![Series::new("runs", Colour::Ink, Mark::Points, points)];
            Plot {
                x: Axis::linear(first.label),
                y: curves::from_zero("step at which bigrams become nearest", &series, &[]),
                series,
                without_names: true,
                ..Plot::default()
            }
        },
    );
    let mut words = match (times.first(), times.last()) {
        (Some(least), Some(most)) => format!(
            "In {} of {runs} runs bigrams become the nearest strategy, after {least:.0} to {most:.0} steps.",
            times.len()
        ),
        _ => "In none of these runs do bigrams become the nearest strategy.".to_owned(),
    };
    if let Some(law) = law {
        let [normal, lognormal] = law.gains(&times);
        words += &format!(
            " Dashed: the Gumbel law of maximum likelihood, location {:.0} and scale {:.0} steps. Its log likelihood \
             exceeds that of a normal law by {normal:.1}, and that of a lognormal law by {lognormal:.1}.",
            law.location, law.scale
        );
    }
    let told: Vec<String> = EARLY_QUANTITIES
        .iter()
        .filter_map(|early| {
            let sample = explained(trained, early.of);
            let measured = Measurement::of(&sample, f64::NEG_INFINITY, ERROR);
            let known = measured.effect.is_finite();
            known.then(|| format!("{} {:.0} %", early.label, 100.0 * measured.effect))
        })
        .collect();
    if !told.is_empty() {
        words += &format!(
            " Share of the variance of ranks that early quantities explain, medians over groups of 50 runs: {}.",
            told.join(", ")
        );
    }
    let figure = Figure {
        description:
            "Distribution of transition times, and transition time against an early quantity."
                .into(),
        panels: vec![distribution, scatter],
        columns: 2,
    };
    Illustration::new(figure, words)
}
