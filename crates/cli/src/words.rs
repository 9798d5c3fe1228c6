//! Numbers in sentences.

use indicatif::{DecimalBytes, HumanCount};

/// A count with its noun: `1 run`, `12,345 runs`.
pub fn count<N: TryInto<u64>>(number: N, noun: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        number => format!("{} {noun}s", HumanCount(number)),
    }
}

pub fn thousands(number: usize) -> String {
    HumanCount(number as u64).to_string()
}

/// A number with a fixed number of decimals, and no minus sign before a zero.
pub fn fixed(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| c == '0' || c == '.') => zero.to_owned(),
        _ => text,
    }
}

/// A time in the unit that suits it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.9995 => format!("{:.0} ms", 1000.0 * s),
        s if s < 90.0 => format!("{s:.1} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3_600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// A size in the unit that suits it.
pub fn bytes(size: f64) -> String {
    DecimalBytes(size as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(duration(0.0125), "12 ms");
        assert_eq!(duration(7_200.0), "2.0 h");
        assert_eq!(bytes(1.5e6), "1.50 MB");
        assert_eq!(fixed(-1e-9, 5), "0.00000");
        assert_eq!(fixed(-0.12, 1), "-0.1");
        assert_eq!(count(1, "run"), "1 run");
        assert_eq!(count(12_345, "run"), "12,345 runs");
    }
}
