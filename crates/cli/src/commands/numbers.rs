//! Parsers for the numbers that options take, with errors that say what is allowed.
//!
//! For `value_parser`: clap puts the option and the value before these messages.

use std::ops::RangeInclusive;

/// Reads a whole number, 0 or above.
pub fn whole(text: &str) -> Result<u64, String> {
    whole_within(0..=u64::MAX)(text)
}

pub fn size(text: &str) -> Result<usize, String> {
    let number = whole(text)?;
    usize::try_from(number).map_err(|_| allowed(&(0..=usize::MAX as u64)))
}

pub fn whole_within(
    limits: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.trim().parse().ok();
        number
            .filter(|number| limits.contains(number))
            .ok_or_else(|| allowed(&limits))
    }
}

/// Reads a number. The command decides whether it may be infinite.
pub fn number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse();
    number.map_err(|_| "a number, such as 0.5 or 1e-3".into())
}

fn allowed(limits: &RangeInclusive<u64>) -> String {
    match (limits.start(), limits.end()) {
        (least, &u64::MAX) => format!("a whole number, {least} or above"),
        (least, most) => format!("a whole number from {least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_which_numbers_are_allowed() {
        for text in ["x", "", "-1", "1.5", "1e3", "99999999999999999999", "nan"] {
            assert_eq!(whole(text).unwrap_err(), "a whole number, 0 or above");
        }
        assert_eq!(whole("18446744073709551615"), Ok(u64::MAX));
        let seeds = whole_within(1..=5);
        assert_eq!(seeds("6").unwrap_err(), "a whole number from 1 to 5");
        assert_eq!(seeds("5"), Ok(5));
        assert_eq!(number("-1e-3"), Ok(-1e-3));
        assert!(number("half").unwrap_err().starts_with("a number"));
    }
}
