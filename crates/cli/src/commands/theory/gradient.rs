//! `induct theory gradient`: the exact gradient for one chain.

use clap::Args;
use induct::internal::check_length;
use induct::theory::{Coupling, Weights, margin_needed};
use serde::Serialize;

use super::numbers::{
    Rounded, fraction, from_option, margin, margin_too_small, read_list, rounded, shown,
};
use crate::commands::numbers::size;
use crate::failure::Failure;
use crate::options::Json;

/// The exact gradient of the population loss for one chain of two states, at any weights
#[derive(Args)]
pub struct Arguments {
    /// Probability that symbol 0 follows itself
    #[arg(long, value_name = "A", value_parser = fraction, allow_negative_numbers = true)]
    a: f64,
    /// Probability that symbol 1 follows itself
    #[arg(long, value_name = "B", value_parser = fraction, allow_negative_numbers = true)]
    b: f64,
    /// Sequence length t; if not given, 100, or the number of values in --v
    #[arg(long, value_name = "T", value_parser = size, allow_negative_numbers = true)]
    length: Option<usize>,
    /// W_k: one number for every entry, or W_11,W_12,W_21,W_22
    #[arg(
        long,
        value_name = "LIST",
        default_value = "0.02",
        allow_hyphen_values = true
    )]
    w: String,
    /// v: one number for every lag, or v_1,v_2,…,v_t
    #[arg(
        long,
        value_name = "LIST",
        default_value = "0.02",
        allow_hyphen_values = true
    )]
    v: String,
    /// Margin of the loss: check that the loss is linear with it. If not given, it is taken to be large
    /// enough
    #[arg(long, value_name = "DELTA", value_parser = margin, allow_negative_numbers = true)]
    margin: Option<f64>,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Gradient {
    #[serde(flatten)]
    by: Rounded,
    stationary: [f64; 2],
    margin_needed: f64,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let weights = read_weights(arguments)?;
    let (a, b, length) = (arguments.a, arguments.b, weights.length());
    let bounds = margin_needed(&weights);
    let needed = bounds.sufficient;
    let too_small = |margin: &f64| bounds.short_by(*margin).is_some();
    if let Some(margin) = arguments.margin.filter(too_small) {
        return Err(margin_too_small(margin, needed, "these weights"));
    }
    let (x, y) = (1.0 - a, 1.0 - b);
    // A chain that never leaves its symbol has many stationary laws; take the limit along a = b.
    let stationary = match x + y {
        0.0 => [0.5, 0.5],
        sum => [y / sum, x / sum],
    };
    let coupling = Coupling::of_chain(&[a, x, y, b], &stationary, length).map_err(from_option)?;
    let gradient = coupling.gradient(&weights);
    let report = Gradient {
        by: Rounded::new(&gradient),
        stationary: stationary.map(rounded),
        margin_needed: rounded(needed),
    };
    let [first, second] = report.stationary.map(shown);
    let text = format!(
        "a = {a}, b = {b}, t = {length}; stationary law {first}, {second}; the loss is linear for margins from {} \
         up\n\n{}",
        shown(report.margin_needed),
        report.by.text("dL/dW_k", "dL/dv")
    );
    arguments.json.print(&report, &text)
}

fn read_weights(arguments: &Arguments) -> Result<Weights, Failure> {
    let w_k = match read_list("--w", &arguments.w)?[..] {
        [w] => vec![w; 4],
        [w_11, w_12, w_21, w_22] => vec![w_11, w_12, w_21, w_22],
        ref other => return Err(wrong_count("--w", other.len(), "1 or 4")),
    };
    let v = read_list("--v", &arguments.v)?;
    let length = match (arguments.length, v.len()) {
        (Some(length), _) => length,
        (None, 1) => 100,
        (None, count) => count,
    };
    // Before any work: computing the margin alone takes t² operations.
    check_length(length).map_err(from_option)?;
    let v = match v[..] {
        [v] => vec![v; length],
        _ if v.len() == length => v,
        _ => {
            let allowed = format!("1, or as many as --length says ({length})");
            return Err(wrong_count("--v", v.len(), &allowed));
        }
    };
    Ok(Weights { w_k, v })
}

fn wrong_count(option: &str, count: usize, allowed: &str) -> Failure {
    Failure::usage(format!(
        "{option} has {count} numbers: give {allowed}, separated by commas"
    ))
}
