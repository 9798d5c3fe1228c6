//! The report: what was found, the verdict on every claim, the claims one by one, every figure, the theory in
//! short, and how all of it was made.
//!
//! It is one self-contained file: figures are inline, laid out for three widths, and the only script is the
//! slider's.

mod claims;
mod contents;
mod figures;
mod glance;
mod method;
mod page;
mod settings;

pub use contents::PageContents;
pub use page::{Making, report};

use maud::{Markup, html};

/// A table that scrolls sideways if the page is too narrow for it.
fn scrolling(name: &str, table: &Markup) -> Markup {
    html! { section.scroll aria-label=(name) tabindex="0" { (table) } }
}

/// A count with its noun: "1 run", "2 runs".
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// A number with three significant digits.
pub(crate) fn number(x: f64) -> String {
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
