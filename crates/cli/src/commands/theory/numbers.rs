//! Numbers and weights, as the theory commands read and print them.

use induct::Invalid;
use induct::theory::Weights;
use serde::Serialize;

use crate::commands::numbers::number;
use crate::failure::Failure;

fn number_where(text: &str, holds: impl Fn(f64) -> bool, allowed: &str) -> Result<f64, String> {
    let value = number(text)?;
    match holds(value) {
        true => Ok(value),
        false => Err(allowed.to_owned()),
    }
}

// For `value_parser`.

pub fn finite(text: &str) -> Result<f64, String> {
    number_where(text, f64::is_finite, "a finite number")
}

pub fn fraction(text: &str) -> Result<f64, String> {
    number_where(text, |x| (0.0..=1.0).contains(&x), "a number from 0 to 1")
}

pub fn rate(text: &str) -> Result<f64, String> {
    let holds = |x: f64| x >= 0.0 && x.is_finite();
    number_where(
        text,
        holds,
        "a learning rate is a finite number, at least 0",
    )
}

pub fn margin(text: &str) -> Result<f64, String> {
    let holds = |x: f64| x > 0.0 && x.is_finite();
    let allowed = "a finite number above 0; leave it out for one that is large enough";
    number_where(text, holds, allowed)
}

/// The error for a margin that leaves the linear region `at` some weights.
pub fn margin_too_small(margin: f64, needed: f64, at: &str) -> Failure {
    Failure::usage(format!(
        "--margin = {margin} is too small: at {at} the loss is linear from {} up, {} more; \
         give a larger --margin, or leave it out",
        rounded(needed),
        rounded(needed - margin)
    ))
}

/// A library error, with the option's name in place of the field's.
pub fn from_option(mut invalid: Invalid) -> Failure {
    invalid.field = format!("--{}", invalid.field);
    invalid.into()
}

pub fn read_list(option: &str, list: &str) -> Result<Vec<f64>, Failure> {
    let number = |text: &str| {
        let value: Option<f64> = text.trim().parse().ok();
        value.filter(|value| value.is_finite()).ok_or_else(|| {
            Failure::usage(format!(
                "{option} contains \"{}\": give finite numbers, separated by commas",
                text.trim()
            ))
        })
    };
    list.split(',').map(number).collect()
}

/// The number of digits to print: all of them are correct.
const DIGITS: usize = 12;

/// A number to twelve significant digits, for JSON.
pub fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().expect("a number that was just written")
}

/// A number to twelve significant digits, for people.
pub fn shown(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.*e}", DIGITS - 1);
    }
    let before = match value {
        0.0 => 0,
        _ => value.abs().log10().floor() as i32,
    };
    let decimals = (DIGITS as i32 - 1 - before).max(0) as usize;
    format!("{value:.decimals$}")
}

/// Averages are exact to 10⁻¹³ of the largest entry, so anything smaller than this fraction of it is rounding
/// error.
const NOISE: f64 = 1e-14;

/// Weights of the minimal model to twelve digits, with rounding errors replaced by zero.
#[derive(Serialize)]
pub struct Rounded {
    #[serde(rename = "W")]
    w_k: Vec<Vec<f64>>,
    v: Vec<f64>,
}

impl Rounded {
    /// The weights without what is not exact.
    pub fn new(weights: &Weights) -> Self {
        let clean = |values: &[f64]| -> Vec<f64> {
            let largest = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let clean = |&x: &f64| {
                if x.abs() < NOISE * largest {
                    0.0
                } else {
                    rounded(x)
                }
            };
            values.iter().map(clean).collect()
        };
        let rows = clean(&weights.w_k);
        Self {
            w_k: rows.chunks(weights.states()).map(<[f64]>::to_vec).collect(),
            v: clean(&weights.v),
        }
    }

    /// The rows of W, then v with `PER_LINE` numbers per line, after the index of the first.
    pub fn text(&self, w_name: &str, v_name: &str) -> String {
        const PER_LINE: usize = 5;
        let line = |name: &str, values: &[f64]| {
            let cells = values.iter().map(|&x| format!("  {:>17}", shown(x)));
            format!("{name:>9}{}\n", cells.collect::<String>())
        };
        let mut text = String::new();
        for (row, values) in self.w_k.iter().enumerate() {
            text += &line(if row == 0 { w_name } else { "" }, values);
        }
        for (index, values) in self.v.chunks(PER_LINE).enumerate() {
            text += &line(&format!("{v_name}_{}", index * PER_LINE + 1), values);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_errors_are_shown_as_zero() {
        let weights = Weights {
            w_k: vec![1e-4, 8e-20, -8e-20, 1e-4],
            v: vec![1e-12, 1e-15],
        };
        let shown = Rounded::new(&weights);
        assert_eq!(shown.w_k, [[1e-4, 0.0], [0.0, 1e-4]]);
        assert_eq!(shown.v, [1e-12, 1e-15]);
    }

    #[test]
    fn numbers_have_twelve_digits() {
        assert_eq!(shown(0.069_021_596_369_891_64), "0.0690215963699");
        assert_eq!(shown(-12.345_678_901_234_5), "-12.3456789012");
        assert_eq!(shown(1.0 / 3.0 * 1e-7), "3.33333333333e-8");
        assert_eq!(shown(0.0), "0.00000000000");
        assert_eq!(rounded(2.0 / 3.0), 0.666_666_666_667);
        assert_eq!(rounded(0.0), 0.0);
    }
}
