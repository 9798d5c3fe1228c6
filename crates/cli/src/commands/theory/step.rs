//! `induct theory step`: exact gradient steps of the minimal model on the population loss.

use clap::{Args, ValueEnum};
use induct::Invalid;
use induct::chain::prior::Symmetric;
use induct::chain::{PriorSpec, TaskPrior};
use induct::internal::check_length;
use induct::theory::{Coupling, Step, StepError, Weights, descend, margin_needed};
use serde::Serialize;

use super::numbers::{
    Rounded, finite, fraction, from_option, margin, margin_too_small, rate, rounded, shown,
};
use crate::commands::numbers::{size, whole_within};
use crate::failure::Failure;
use crate::options::Json;

/// Exact W_k and v after each gradient step from a constant start, for two states
#[derive(Args)]
pub struct Arguments {
    /// Sequence length t
    #[arg(long, value_name = "T", default_value_t = 100, value_parser = size,
          allow_negative_numbers = true)]
    length: usize,
    /// Every entry of W_k at the start
    #[arg(long, value_name = "C", default_value_t = 0.02, value_parser = finite,
          allow_negative_numbers = true)]
    init_w: f64,
    /// Every entry of v at the start
    #[arg(long, value_name = "C", default_value_t = 0.02, value_parser = finite,
          allow_negative_numbers = true)]
    init_v: f64,
    /// Learning rate
    #[arg(long, value_name = "ETA", default_value_t = 0.03, value_parser = rate,
          allow_negative_numbers = true)]
    eta: f64,
    /// Learning rate from the second step on, if different
    #[arg(long, value_name = "ETA", value_parser = rate, allow_negative_numbers = true)]
    eta2: Option<f64>,
    /// Weight decay from 0 to 1, not multiplied by the learning rate: 1 erases the weights
    #[arg(long, value_name = "D", default_value_t = 0.0, value_parser = fraction,
          allow_negative_numbers = true)]
    decay: f64,
    /// Weight decay from the second step on, if different
    #[arg(long, value_name = "D", value_parser = fraction, allow_negative_numbers = true)]
    decay2: Option<f64>,
    /// The layer that is decayed
    #[arg(long, value_name = "LAYER", default_value = "both")]
    decayed: Decayed,
    /// Prior over chains: dirichlet (a, b ~ U(0, 1)) or symmetric:E (a = b ~ U(1/2 - E, 1/2 + E))
    #[arg(long, value_name = "PRIOR", default_value = "dirichlet")]
    prior: String,
    /// Prior from the second step on, if different
    #[arg(long, value_name = "PRIOR")]
    prior2: Option<String>,
    /// Number of steps
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = whole_within(1..=100_000))]
    steps: u64,
    /// Margin of the loss: check that the loss is linear with it. If not given, it is taken to be large
    /// enough
    #[arg(long, value_name = "DELTA", value_parser = margin, allow_negative_numbers = true)]
    margin: Option<f64>,
    #[command(flatten)]
    json: Json,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Decayed {
    Both,
    W,
    V,
}

#[derive(Serialize)]
struct Path<'a> {
    length: usize,
    init_w: f64,
    init_v: f64,
    steps: Vec<StepReport<'a>>,
}

#[derive(Serialize)]
struct StepReport<'a> {
    #[serde(flatten)]
    weights: Rounded,
    #[serde(flatten)]
    setting: &'a Setting,
    margin_needed: f64,
}

#[derive(Serialize)]
struct Setting {
    prior: String,
    #[serde(skip)]
    coupling: Coupling,
    eta: f64,
    decay_w: f64,
    decay_v: f64,
}

const MOST_NUMBERS: f64 = 2e7;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    check_length(arguments.length).map_err(from_option)?;
    let numbers = arguments.steps as f64 * arguments.length as f64;
    if numbers > MOST_NUMBERS {
        let allowed =
            "every step is kept and printed, which is too much at this --length; take fewer steps";
        return Err(Invalid::new("--steps", arguments.steps, allowed).into());
    }
    let settings = settings(arguments)?;
    let of_step = |step: u64| &settings[usize::from(step > 0)];
    let steps: Vec<Step> = (0..arguments.steps)
        .map(|step| {
            let setting = of_step(step);
            Step {
                coupling: &setting.coupling,
                eta: setting.eta,
                decay_w: setting.decay_w,
                decay_v: setting.decay_v,
                margin: arguments.margin,
            }
        })
        .collect();
    let start = Weights::constant(2, arguments.length, arguments.init_w, arguments.init_v);
    let path = descend(&start, &steps).map_err(|error| match error {
        StepError::Invalid(_) => {
            Failure::failed("the weights overflowed: take fewer --steps or a smaller --eta")
        }
        StepError::OutsideLinearRegion {
            step,
            margin,
            bounds,
            ..
        } => margin_too_small(margin, bounds.sufficient, &format!("step {step}")),
    })?;
    let starts = std::iter::once(&start).chain(&path);
    let report = |((step, from), to): ((u64, &Weights), &Weights)| StepReport {
        weights: Rounded::new(to),
        setting: of_step(step),
        margin_needed: rounded(margin_needed(from).sufficient),
    };
    let path = Path {
        length: arguments.length,
        init_w: arguments.init_w,
        init_v: arguments.init_v,
        steps: (0..arguments.steps)
            .zip(starts)
            .zip(&path)
            .map(report)
            .collect(),
    };
    arguments.json.print(&path, &path.text())
}

/// The settings of the first step, and of all later ones.
fn settings(arguments: &Arguments) -> Result<[Setting; 2], Failure> {
    let coupling = |option, name: &str| {
        let prior = read_prior(option, name)?;
        Coupling::of_prior(&prior, arguments.length).map_err(from_option)
    };
    let setting = |name: &str, coupling, eta, decay| {
        let of_layer = |layer| match arguments.decayed {
            Decayed::Both => decay,
            decayed if decayed == layer => decay,
            _ => 0.0,
        };
        Setting {
            prior: name.to_owned(),
            coupling,
            eta,
            decay_w: of_layer(Decayed::W),
            decay_v: of_layer(Decayed::V),
        }
    };
    let first = coupling("--prior", &arguments.prior)?;
    let (name, later) = match &arguments.prior2 {
        Some(name) => (name, coupling("--prior2", name)?),
        None => (&arguments.prior, first.clone()),
    };
    let eta = arguments.eta2.unwrap_or(arguments.eta);
    let decay = arguments.decay2.unwrap_or(arguments.decay);
    Ok([
        setting(&arguments.prior, first, arguments.eta, arguments.decay),
        setting(name, later, eta, decay),
    ])
}

/// `dirichlet` or `symmetric:ε`.
fn read_prior(option: &str, name: &str) -> Result<TaskPrior, Failure> {
    let spec = match name.split_once(':') {
        None if name == "dirichlet" => PriorSpec::default(),
        Some(("symmetric", epsilon)) => {
            let value: Option<f64> = epsilon.parse().ok();
            // At ε = ½ the prior includes a = b = 1, which the paper's proposition excludes.
            let value = value.filter(|value| 0.0 < *value && *value < 0.5);
            let Some(epsilon) = value else {
                return Err(Failure::usage(format!(
                    "{option} {name}: epsilon = {epsilon} is not allowed: \
                     give a number above 0 and below 1/2, as in symmetric:0.2"
                )));
            };
            PriorSpec::from(Symmetric { epsilon })
        }
        _ => {
            return Err(Failure::usage(format!(
                "{option} {name}: no such prior; give dirichlet, \
                 or symmetric:E with E between 0 and 1/2, as in symmetric:0.2"
            )));
        }
    };
    Ok(TaskPrior::new(&spec, 2, 2)?)
}

impl Path<'_> {
    fn text(&self) -> String {
        let mut text = format!(
            "minimal model, 2 states, t = {}; start: W_k = {}, v = {}\n",
            self.length, self.init_w, self.init_v
        );
        for (index, step) in self.steps.iter().enumerate() {
            let setting = step.setting;
            let decay = match (setting.decay_w, setting.decay_v) {
                (0.0, 0.0) => String::new(),
                (w, v) => format!(", decay {w} of W_k and {v} of v"),
            };
            text += &format!(
                "\nstep {}: prior {}, eta = {}{decay}; the loss is linear for margins from {} up\n{}",
                index + 1,
                setting.prior,
                setting.eta,
                shown(step.margin_needed),
                step.weights.text("W_k", "v")
            );
        }
        text
    }
}
