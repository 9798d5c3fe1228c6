//! Labels: plain text with `_` and `^` for subscripts and superscripts.
//!
//! `v_2`, `W_k`, `10^{−3}`: a script is one character, or whatever is in braces. A backslash escapes the next
//! character: `layer\_norm`.

use crate::font;

/// A part of a label at one height.
struct Run {
    text: String,
    /// −1 for a subscript, 0 on the line, 1 for a superscript.
    level: i32,
}

/// The size of scripts relative to the text.
const SCRIPT: f64 = 0.74;

fn runs(label: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    // The font lacks the double bar of divergences.
    let label = label.replace('‖', "||");
    let mut letters = label.chars();
    let mut plain = String::new();
    while let Some(c) = letters.next() {
        let level = match c {
            '_' => -1,
            '^' => 1,
            '\\' => {
                plain.extend(letters.next());
                continue;
            }
            _ => {
                plain.push(c);
                continue;
            }
        };
        let text = match letters.next() {
            Some('{') => letters.by_ref().take_while(|&c| c != '}').collect(),
            Some(c) => String::from(c),
            None => String::new(),
        };
        if !plain.is_empty() {
            let text = std::mem::take(&mut plain);
            runs.push(Run { text, level: 0 });
        }
        runs.push(Run { text, level });
    }
    if !plain.is_empty() {
        runs.push(Run {
            text: plain,
            level: 0,
        });
    }
    runs
}

/// A label that shows the text literally, such as the name of a key with `_` in it.
pub fn plain(text: &str) -> String {
    let mut label = String::new();
    for c in text.chars() {
        if matches!(c, '_' | '^' | '\\') {
            label.push('\\');
        }
        label.push(c);
    }
    label
}

/// The text of a label made by [`plain`]; other labels are unchanged.
pub(crate) fn without_backslashes(label: &str) -> String {
    let mut text = String::new();
    let mut letters = label.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => text.extend(letters.next()),
            _ => text.push(c),
        }
    }
    text
}

/// The width of a label.
pub(crate) fn width(label: &str, size: f64, bold: bool) -> f64 {
    let of = |run: &Run| match run.level {
        0 => font::width(&run.text, size, bold),
        _ => font::width(&run.text, size * SCRIPT, bold),
    };
    runs(label).iter().map(of).sum()
}

/// The width of the widest of some labels; zero if there are none.
pub(crate) fn widest<'a>(labels: impl IntoIterator<Item = &'a String>, size: f64) -> f64 {
    let widths = labels.into_iter().map(|label| width(label, size, false));
    widths.fold(0.0, f64::max)
}

/// A label as the content of a `<text>` element.
pub(crate) fn spans(label: &str, size: f64) -> String {
    let mut out = String::new();
    let mut shift = 0.0;
    for run in runs(label) {
        let text = escape(&run.text);
        if run.level == 0 && shift == 0.0 {
            out += &text;
            continue;
        }
        // A shift applies to everything that follows, so each part undoes the shift of the one before it.
        let wanted = -f64::from(run.level) * 0.3 * size;
        let dy = wanted - shift;
        shift = wanted;
        let script = match run.level {
            0 => String::new(),
            _ => format!(" font-size=\"{:.1}\"", size * SCRIPT),
        };
        out += &format!("<tspan dy=\"{dy:.1}\"{script}>{text}</tspan>");
    }
    out
}

/// Text that is safe inside an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Lines of at most `room` pixels, broken between words.
pub(crate) fn wrap(label: &str, size: f64, bold: bool, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in label.split(' ') {
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} {word}");
            if width(&longer, size, bold) <= room {
                *line = longer;
                continue;
            }
        }
        lines.push(word.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_come_back_to_the_line() {
        let shown = spans("v_2 + 10^{−3} < 1", 10.0);
        assert_eq!(
            shown,
            "v<tspan dy=\"3.0\" font-size=\"7.4\">2</tspan><tspan dy=\"-3.0\"> + 10</tspan>\
             <tspan dy=\"-3.0\" font-size=\"7.4\">−3</tspan><tspan dy=\"3.0\"> &lt; 1</tspan>"
        );
        assert_eq!(spans("KL(p ‖ q)", 10.0), "KL(p || q)");
        assert!(width("v_2", 12.0, false) < width("v2", 12.0, false));
    }

    #[test]
    fn a_plain_label_shows_every_character() {
        for text in ["layer_norm", "a\\b^2", "p = 1"] {
            assert_eq!(spans(&plain(text), 10.0), text);
            assert_eq!(without_backslashes(&plain(text)), text);
        }
        assert_eq!(without_backslashes("W_k"), "W_k");
        assert_eq!(width("a\\", 10.0, false), width("a", 10.0, false));
    }

    #[test]
    fn lines_fit_or_are_single_words() {
        let text = "exact against Monte Carlo with 10,000 draws";
        let lines = wrap(text, 12.0, false, 120.0);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| width(line, 12.0, false) <= 120.0));
        assert_eq!(lines.join(" "), text);
    }
}
