//! The report: claims first, then every figure with an explanation, what was trained, and how.
//!
//! It is one self-contained file: figures are inline, laid out for three widths, and the only script is the
//! slider's.

mod claims;
mod page;
mod settings;

pub use page::{Making, report};

use crate::html::escape;

/// The head of a table.
fn table_head(names: &[&str]) -> String {
    let cell = |name: &&str| format!("<th scope=\"col\">{name}</th>");
    let cells: String = names.iter().map(cell).collect();
    format!("<thead><tr>{cells}</tr></thead>\n")
}

/// A table that scrolls sideways if the page is too narrow for it.
fn scrolling(name: &str, table: &str) -> String {
    format!(
        "<section class=\"scroll\" aria-label=\"{}\" tabindex=\"0\">{table}</section>\n",
        escape(name)
    )
}

/// A number with three significant digits.
fn number(x: f64) -> String {
    let places = match x.abs() {
        a if a >= 100.0 => 0,
        a if a >= 10.0 => 1,
        a if a >= 1.0 => 2,
        a if a >= 0.095 => 3,
        _ => 4,
    };
    let text = format!("{x:.places$}").replace('-', "−");
    match text.trim_matches(['0', '.', '−']).is_empty() {
        true => "0".into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let shown = [276.66, 0.9063, -0.987, 0.0042, 1.2534, 0.0, -0.00001].map(number);
        assert_eq!(
            shown,
            ["277", "0.906", "−0.987", "0.0042", "1.25", "0", "0"]
        );
    }
}
