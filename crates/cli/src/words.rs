//! Numbers in sentences.

/// A count with its noun: `1 run`, `3 runs`.
pub fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// A number with a fixed number of decimals, and no minus sign before a zero.
pub fn fixed(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| c == '0' || c == '.') => zero.to_owned(),
        _ => text,
    }
}

/// A large count with its noun: `12,345 runs`.
pub fn many(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", thousands(number)),
    }
}

/// A whole number with commas: `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
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
    match size {
        b if b < 1e3 => format!("{b:.0} bytes"),
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(duration(0.0125), "12 ms");
        assert_eq!(duration(7_200.0), "2.0 h");
        assert_eq!(bytes(1.5e6), "1.5 MB");
    }

    #[test]
    fn zeros_have_no_sign_and_one_is_singular() {
        assert_eq!(fixed(-1e-9, 5), "0.00000");
        assert_eq!(fixed(-0.12, 1), "-0.1");
        assert_eq!(count(1, "run"), "1 run");
        assert_eq!(count(0, "run"), "0 runs");
    }
}
