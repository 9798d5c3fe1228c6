//! Building blocks of pages.

use induct_figure::Figure;

/// Text that is safe inside an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A complete, self-contained page; `styles` follow those that all pages share.
pub(crate) fn document(title: &str, made_by: &str, styles: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"{made_by}\">\n\
         <title>{}</title>\n<style>\n{}\n{}{styles}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title),
        Figure::page_css(),
        include_str!("page.css"),
    )
}

/// A figure, laid out for several widths; the style sheet shows one of them, by its class.
pub(crate) fn layouts(figure: &Figure, widths: &[(&str, u32)]) -> String {
    let layout = |(class, width): &(&str, u32)| {
        format!(
            "<div class=\"{class}\">{}</div>\n",
            figure.svg_inline(*width)
        )
    };
    widths.iter().map(layout).collect()
}
