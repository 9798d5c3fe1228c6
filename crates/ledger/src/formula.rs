//! Formulas as readable plain text, and their translation to MathML.
//!
//! The notation is what one would write in an email: `x^2`, `v_j`, `(a + b)/2`, `Σ_(p=1)^t`, `⟦a, b; c, d⟧`
//! for a matrix. Parentheses that only group the argument of `^`, `_` or `/` do not appear in MathML. A run
//! of letters is one name, and `∂` and `√` apply to what follows them.

use std::fmt::{self, Display};
use std::iter::Peekable;
use std::str::Chars;

use serde::Serialize;

/// A formula in plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Formula(pub &'static str);

impl Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Formula {
    /// A `<math>` element.
    pub fn mathml(&self) -> String {
        let mut reader = Reader {
            rest: self.0.chars().peekable(),
        };
        let body = reader.row(&[]);
        format!(
            "<math xmlns=\"http://www.w3.org/1998/Math/MathML\" display=\"block\">{body}</math>"
        )
    }
}

/// Signs with limits above and below.
const LARGE: [char; 2] = ['Σ', '∫'];

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    /// Everything before one of the `ends`, or before the end of the text.
    fn row(&mut self, ends: &[char]) -> String {
        let mut out = String::new();
        loop {
            match self.rest.peek() {
                None => break,
                Some(c) if ends.contains(c) => break,
                Some(' ') => {
                    self.rest.next();
                }
                Some(_) => {
                    let comma = self.rest.peek() == Some(&',');
                    out.push_str(&self.quotient());
                    if comma && self.rest.peek() == Some(&' ') {
                        out.push_str("<mspace width=\"0.25em\"></mspace>");
                    }
                }
            }
        }
        format!("<mrow>{out}</mrow>")
    }

    /// A term or a fraction; a/b/c is read from the left.
    fn quotient(&mut self) -> String {
        let mut left = self.term();
        while self.rest.next_if_eq(&'/').is_some() {
            let right = self.term();
            left = Term::plain(format!("<mfrac>{}{}</mfrac>", left.bare, right.bare));
        }
        left.shown
    }

    /// An atom with its subscript and superscript.
    fn term(&mut self) -> Term {
        let large = self.rest.peek().is_some_and(|c| LARGE.contains(c));
        let base = self.atom();
        let (mut below, mut above) = (None, None);
        loop {
            if self.rest.next_if_eq(&'_').is_some() {
                below = Some(self.atom().bare);
            } else if self.rest.next_if_eq(&'^').is_some() {
                above = Some(self.atom().bare);
            } else {
                break;
            }
        }
        let (sub, sup, both) = match large {
            true => ("munder", "mover", "munderover"),
            false => ("msub", "msup", "msubsup"),
        };
        let shown = match (below, above) {
            (None, None) => return base,
            (Some(low), None) => format!("<{sub}>{}{low}</{sub}>", base.shown),
            (None, Some(high)) => format!("<{sup}>{}{high}</{sup}>", base.shown),
            (Some(low), Some(high)) => format!("<{both}>{}{low}{high}</{both}>", base.shown),
        };
        Term::plain(shown)
    }

    fn atom(&mut self) -> Term {
        let Some(first) = self.rest.next() else {
            return Term::default();
        };
        let close = match first {
            '(' => ')',
            '[' => ']',
            '⟦' => return self.matrix(),
            '∂' => {
                let of = self.term().shown;
                return Term::plain(format!("<mrow><mo>∂</mo>{of}</mrow>"));
            }
            '√' => {
                let of = self.term().bare;
                return Term::plain(format!("<msqrt>{of}</msqrt>"));
            }
            _ => return self.word(first),
        };
        let inside = self.row(&[close]);
        self.rest.next();
        Term {
            shown: format!("<mrow><mo>{first}</mo>{inside}<mo>{close}</mo></mrow>"),
            bare: inside,
        }
    }

    fn matrix(&mut self) -> Term {
        let mut rows = String::new();
        loop {
            let mut cells = String::new();
            let end = loop {
                let cell = self.row(&[',', ';', '⟧']);
                cells.push_str(&format!("<mtd>{cell}</mtd>"));
                match self.rest.next() {
                    Some(',') => {}
                    end => break end,
                }
            };
            rows.push_str(&format!("<mtr>{cells}</mtr>"));
            if end != Some(';') {
                break;
            }
        }
        Term::plain(format!(
            "<mrow><mo>(</mo><mtable>{rows}</mtable><mo>)</mo></mrow>"
        ))
    }

    /// A number, a name, or a sign.
    fn word(&mut self, first: char) -> Term {
        let mut text = String::from(first);
        let belongs: fn(char) -> bool = match first {
            c if c.is_ascii_digit() => |c| c.is_ascii_digit() || c == '.',
            c if is_letter(c) => |c| is_letter(c) || c == '′',
            _ => |_| false,
        };
        while let Some(c) = self.rest.next_if(|&c| belongs(c)) {
            text.push(c);
        }
        let tag = match first {
            c if c.is_ascii_digit() => "mn",
            c if is_letter(c) => "mi",
            _ => "mo",
        };
        if text.chars().count() > 1
            && let Some(pieces) = several(&text)
        {
            return Term::plain(format!("<mrow>{pieces}</mrow>"));
        }
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            // The summation sign grows with its argument; the letter does not.
            .replace('Σ', "∑");
        Term::plain(format!("<{tag}>{text}</{tag}>"))
    }
}

/// Words that may appear within a formula.
const WORDS: [&str; 7] = ["for", "odd", "even", "the", "same", "right", "side"];

/// Runs of letters that are not one name: words, pairs of indices, differences, a letter with a prime.
fn several(text: &str) -> Option<String> {
    if WORDS.contains(&text) {
        return Some(format!("<mtext>&#160;{text}&#160;</mtext>"));
    }
    let letters: Vec<char> = text.chars().collect();
    match letters[..] {
        [first, second] if [first, second].iter().all(|c| "ijlm".contains(*c)) => {
            Some(format!("<mi>{first}</mi><mi>{second}</mi>"))
        }
        ['Δ', letter] => Some(format!("<mi>Δ</mi><mi>{letter}</mi>")),
        [letter, '′'] => Some(format!("<mi>{letter}</mi><mo>′</mo>")),
        _ => None,
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && !LARGE.contains(&c)
}

/// A part of a formula, with its parentheses and without them where they are not needed.
#[derive(Default)]
struct Term {
    shown: String,
    bare: String,
}

impl Term {
    /// A part that looks the same with and without.
    fn plain(shown: String) -> Self {
        Self {
            bare: shown.clone(),
            shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &'static str) -> String {
        let all = Formula(text).mathml();
        let start = all.find("<mrow>").unwrap() + "<mrow>".len();
        all[start..all.len() - "</mrow></math>".len()].to_owned()
    }

    #[test]
    fn scripts_and_fractions_lose_their_parentheses() {
        assert_eq!(
            body("(a)/(2 b)"),
            "<mfrac><mrow><mi>a</mi></mrow><mrow><mn>2</mn><mi>b</mi></mrow></mfrac>"
        );
        assert_eq!(
            body("λ^(t+1)"),
            "<msup><mi>λ</mi><mrow><mi>t</mi><mo>+</mo><mn>1</mn></mrow></msup>"
        );
        assert_eq!(
            body("(a)^2"),
            "<msup><mrow><mo>(</mo><mrow><mi>a</mi></mrow><mo>)</mo></mrow><mn>2</mn></msup>"
        );
        assert_eq!(
            body("v_j^2"),
            "<msubsup><mi>v</mi><mi>j</mi><mn>2</mn></msubsup>"
        );
    }

    #[test]
    fn adjacent_letters_are_told_apart() {
        assert_eq!(
            body("c_ij"),
            "<msub><mi>c</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>"
        );
        assert_eq!(body("ln 2"), "<mi>ln</mi><mn>2</mn>");
        assert_eq!(body("t′"), "<mrow><mi>t</mi><mo>′</mo></mrow>");
        assert!(body("0 for c").contains("<mtext>&#160;for&#160;</mtext>"));
        assert!(body("a, b").contains("<mo>,</mo><mspace"));
    }

    #[test]
    fn derivatives_and_roots_apply_to_what_follows() {
        assert_eq!(
            body("∂f/∂v_j"),
            "<mfrac><mrow><mo>∂</mo><mi>f</mi></mrow>\
             <mrow><mo>∂</mo><msub><mi>v</mi><mi>j</mi></msub></mrow></mfrac>"
        );
        assert_eq!(
            body("c/√d"),
            "<mfrac><mi>c</mi><msqrt><mi>d</mi></msqrt></mfrac>"
        );
    }

    #[test]
    fn sums_have_limits_and_matrices_rows() {
        assert_eq!(
            body("Σ_(p=1)^t p"),
            "<munderover><mo>∑</mo><mrow><mi>p</mi><mo>=</mo><mn>1</mn></mrow>\
             <mi>t</mi></munderover><mi>p</mi>"
        );
        assert!(body("⟦a, b; c, d⟧").contains("<mtr><mtd><mrow><mi>c</mi></mrow></mtd>"));
        assert_eq!(body("a < b"), "<mi>a</mi><mo>&lt;</mo><mi>b</mi>");
    }
}
