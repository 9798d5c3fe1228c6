//! How deep a TOML text nests, checked before a recursive parser reads it.

use toml::{Table, Value};

/// The most levels of tables and lists in a recipe, and the most parts of a key.
pub(super) const MAX_DEPTH: usize = 32;

/// Whether a key of the text has more than [`MAX_DEPTH`] parts, or more brackets than that are open at once.
///
/// It understands only strings and comments; anything else that is not TOML is left to the parser.
pub(super) fn text_is_too_deep(text: &str) -> bool {
    let (mut open, mut dots) = (0_usize, 0_usize);
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'#' => skip_until(after, |tail| tail[0] == b'\n'),
            b'"' | b'\'' => skip_string(rest, byte),
            _ => after,
        };
        match byte {
            b'[' | b'{' => (open, dots) = (open + 1, 0),
            b']' | b'}' => (open, dots) = (open.saturating_sub(1), 0),
            b'=' | b',' | b'\n' => dots = 0,
            b'.' => dots += 1,
            _ => {}
        }
        if open > MAX_DEPTH || dots >= MAX_DEPTH {
            return true;
        }
    }
    false
}

/// Whether tables and lists are nested more than [`MAX_DEPTH`] deep. It recurses as deep as they nest, so
/// call it only after [`text_is_too_deep`] has accepted the text.
pub(super) fn table_is_too_deep(table: &Table) -> bool {
    table
        .values()
        .any(|value| depth_exceeds(value, MAX_DEPTH - 1))
}

fn depth_exceeds(value: &Value, levels: usize) -> bool {
    let deeper = |value: &Value| depth_exceeds(value, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(deeper),
        Value::Table(table) => levels == 0 || table.values().any(deeper),
        _ => false,
    }
}

/// The rest of `text` after the string it starts with.
fn skip_string(text: &[u8], quote: u8) -> &[u8] {
    let escapes = quote == b'"';
    let long = [quote; 3];
    let (mut rest, is_long) = match text.strip_prefix(&long) {
        Some(rest) => (rest, true),
        None => (&text[1..], false),
    };
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'\\' && escapes {
            rest = after.get(1..).unwrap_or_default();
        } else if is_long && rest.starts_with(&long) {
            return &rest[3..];
        } else if !is_long && (byte == quote || byte == b'\n') {
            return after;
        } else {
            rest = after;
        }
    }
    rest
}

fn skip_until(mut text: &[u8], end: impl Fn(&[u8]) -> bool) -> &[u8] {
    while !text.is_empty() && !end(text) {
        text = &text[1..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nests_counts() {
        let many = |part: &str, count: usize| part.repeat(count);
        for text in [
            format!("x = \"{}\"", many("[", 100)),
            format!("x = '{}'", many("a.", 100)),
            format!("x = \"\"\"\n{}\"\"\"", many("{\n", 100)),
            format!("# {}", many("[", 100)),
            format!("x = [{}]", many("1.5, ", 100)),
            format!("x = [{}]", many("[1.5], ", 100)),
            format!("x = \"\\\"{}\"", many("[", 100)),
            many("a.b = 1\n", 100),
            many("a.", MAX_DEPTH - 1) + "a = 1",
        ] {
            assert!(!text_is_too_deep(&text), "{text}");
        }
        for text in [
            format!("x = {}", many("[", 33)),
            format!("x = {}", many("{a=", 33)),
            format!("x = \"\" {}", many("[", 33)),
            many("a.", MAX_DEPTH) + "a = 1",
            many("a . ", MAX_DEPTH) + "a = 1",
            many("'a'.", MAX_DEPTH) + "a = 1",
            format!("[{}a]", many("a.", MAX_DEPTH)),
        ] {
            assert!(text_is_too_deep(&text), "{text}");
        }
    }
}
