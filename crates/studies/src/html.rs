//! Building blocks of pages. All HTML is made with `maud`, which escapes text.

use induct_figure::Figure;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A complete, self-contained page; `styles` follow those that all pages share.
pub(crate) fn document(title: &str, made_by: &str, styles: &str, body: &Markup) -> String {
    let css = [&Figure::page_css(), "\n", include_str!("page.css"), styles].concat();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(made_by);
                title { (title) }
                style { (PreEscaped(css)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string() + "\n"
}

/// A figure, laid out for several widths; the style sheet shows one of them, by its class.
pub(crate) fn layouts(figure: &Figure, widths: &[(&str, u32)]) -> Markup {
    html! {
        @for &(class, width) in widths {
            div class=(class) { (PreEscaped(figure.svg_inline(width))) }
        }
    }
}

/// Links to the files of a figure.
pub(crate) fn files(stem: &str) -> Markup {
    let link = |(name, extension): (&str, &str)| {
        html! { a href={ (stem) "." (extension) } { (name) } }
    };
    joined(
        [("SVG", "svg"), ("PNG", "png"), ("CSV", "csv")].map(link),
        ", ",
    )
}

/// A verdict as a coloured badge, with a text of its own: colour alone is not accessible.
pub(crate) fn badge(verdict: &str, text: &str) -> Markup {
    html! { span class={ "badge " (verdict.replace(' ', "-")) } { (text) } }
}

/// Parts with a separator between them.
pub(crate) fn joined(parts: impl IntoIterator<Item = Markup>, separator: &str) -> Markup {
    html! {
        @for (index, part) in parts.into_iter().enumerate() {
            @if index > 0 { (separator) }
            (part)
        }
    }
}

/// Plain text as HTML, with subscripts and superscripts for `v_2` and `ε^(2k)`.
pub(crate) fn prose(text: &str) -> Markup {
    let mut parts = Vec::new();
    let mut letters = text.chars().peekable();
    let mut plain = String::new();
    while let Some(c) = letters.next() {
        let is_sub = c == '_' && plain.ends_with(char::is_alphanumeric);
        if c != '^' && !is_sub {
            plain.push(c);
            continue;
        }
        let inside: String = match letters.next_if_eq(&'(') {
            Some(_) => letters.by_ref().take_while(|&c| c != ')').collect(),
            None => {
                let mut word = String::new();
                while let Some(c) = letters.next_if(|c| c.is_alphanumeric()) {
                    word.push(c);
                }
                word
            }
        };
        let inside = prose(&inside);
        parts.push(html! { (std::mem::take(&mut plain)) });
        parts.push(match is_sub {
            true => html! { sub { (inside) } },
            false => html! { sup { (inside) } },
        });
    }
    parts.push(html! { (plain) });
    joined(parts, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_stand_where_they_belong() {
        let shown = |text: &str| prose(text).into_string();
        assert_eq!(shown("v_2 < w_init"), "v<sub>2</sub> &lt; w<sub>init</sub>");
        assert_eq!(
            shown("ε^(2k)/2 and x_(i−1)"),
            "ε<sup>2k</sup>/2 and x<sub>i−1</sub>"
        );
    }
}
