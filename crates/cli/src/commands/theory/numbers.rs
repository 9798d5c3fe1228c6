//! Numbers and weights, as the theory commands read and print them.

use induct::Invalid;
use induct::theory::Weights;
use serde::Serialize;

use crate::failure::Failure;

/// Fails with an error that names the option, unless `holds`.
pub fn check(holds: bool, option: &str, value: f64, allowed: &str) -> Result<(), Failure> {
    match holds {
        true => Ok(()),
        false => Err(Invalid::new(option, value, allowed).into()),
    }
}

/// Refuses infinities and NaN.
pub fn check_finite(option: &str, value: f64) -> Result<(), Failure> {
    check(value.is_finite(), option, value, "a finite number")
}

/// Refuses an impossible margin, if one is given.
pub fn check_margin(margin: Option<f64>) -> Result<(), Failure> {
    let Some(margin) = margin else { return Ok(()) };
    check(
        margin > 0.0 && margin.is_finite(),
        "--margin",
        margin,
        "give a finite number above 0, or leave it out for one that is large enough",
    )
}

/// The error for a margin that leaves the linear region `at` some weights.
pub fn margin_too_small(margin: f64, needed: f64, at: &str) -> Failure {
    Failure::mistake(format!(
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

/// Numbers separated by commas.
pub fn read_list(option: &str, list: &str) -> Result<Vec<f64>, Failure> {
    let number = |text: &str| {
        let value: Option<f64> = text.trim().parse().ok();
        value.filter(|value| value.is_finite()).ok_or_else(|| {
            Failure::mistake(format!(
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
