//! Writing SVG: a few shapes, each with its colour as an attribute and as a class.
//!
//! No element has an id, so that a page can contain any number of figures.

use crate::colour::Colour;
use crate::font::FAMILY;
use crate::inline::PlotFrame;
use crate::text;

/// A drawing under construction.
#[derive(Default)]
pub(crate) struct Drawing {
    pub body: String,
    /// The boxes of texts (left, top, right, bottom), one per `<text>` element, so that later texts can avoid
    /// earlier ones.
    pub words: Vec<[f64; 4]>,
    pub frames: Vec<PlotFrame>,
}

/// Line height of all texts but titles.
pub(crate) const LINE: f64 = 17.0;

/// Whether two boxes overlap by more than an edge.
pub(crate) fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// Which point of a text its coordinates refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub size: f64,
    pub bold: bool,
    pub colour: Colour,
    pub anchor: Anchor,
    /// Whether it has a halo that hides what is behind its letters.
    pub halo: bool,
}

impl Style {
    pub fn new(size: f64, colour: Colour, anchor: Anchor) -> Self {
        Self {
            size,
            bold: false,
            colour,
            anchor,
            halo: false,
        }
    }

    pub fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    /// The box of a label with its baseline at `y`.
    pub fn edges(&self, x: f64, y: f64, label: &str) -> [f64; 4] {
        let width = text::width(label, self.size, self.bold);
        let left = match self.anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        [
            left,
            y - 0.76 * self.size,
            left + width,
            y + 0.2 * self.size,
        ]
    }
}

/// A coordinate with one decimal, or none if that is zero.
pub(crate) fn num(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A rectangle: element name and geometry.
pub(crate) fn rect(x: f64, y: f64, width: f64, height: f64) -> String {
    format!(
        "rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        num(x),
        num(y),
        num(width),
        num(height)
    )
}

/// A circle: element name and geometry.
pub(crate) fn circle(x: f64, y: f64, radius: f64) -> String {
    format!(
        "circle cx=\"{}\" cy=\"{}\" r=\"{}\"",
        num(x),
        num(y),
        num(radius)
    )
}

impl Drawing {
    /// Whether a box contains no text.
    pub fn is_free(&self, edges: &[f64; 4]) -> bool {
        !self.words.iter().any(|word| overlap(word, edges))
    }

    /// A label with its baseline at `y`.
    pub fn text(&mut self, x: f64, y: f64, label: &str, style: Style) {
        if label.is_empty() {
            return;
        }
        self.words.push(style.edges(x, y, label));
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = match style.bold {
            true => " font-weight=\"600\"",
            false => "",
        };
        let (behind, halo) = match style.halo {
            true => (
                " s-paper",
                format!(
                    " stroke=\"{}\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
                    Colour::Paper.light()
                ),
            ),
            false => ("", String::new()),
        };
        self.body += &format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{weight}{anchor} class=\"f-{}{behind}\" \
             fill=\"{}\"{halo}>{}</text>",
            num(x),
            num(y),
            num(style.size),
            style.colour.name(),
            style.colour.light(),
            text::spans(label, style.size)
        );
    }

    /// A label on lines of at most `room` pixels below `top`; returns their height.
    pub fn paragraph(&mut self, label: &str, (x, top): (f64, f64), room: f64, style: Style) -> f64 {
        if label.is_empty() {
            return 0.0;
        }
        let mut y = top;
        for line in text::wrap(label, style.size, style.bold, room) {
            self.text(x, y + style.size, &line, style);
            y += LINE;
        }
        y - top
    }

    /// A path without fill.
    pub fn stroke(&mut self, path: &str, colour: Colour, width: f64, more: &str) {
        if path.is_empty() {
            return;
        }
        self.body += &format!(
            "<path d=\"{path}\" fill=\"none\" class=\"s-{}\" stroke=\"{}\" stroke-width=\"{width}\"{more}/>",
            colour.name(),
            colour.light()
        );
    }

    /// A filled shape given by its element and geometry, such as `rect x="1" …`.
    pub fn fill(&mut self, shape: &str, colour: Colour, opacity: f64) {
        let opacity = match opacity {
            1.0 => String::new(),
            _ => format!(" fill-opacity=\"{}\"", (opacity * 1000.0).round() / 1000.0),
        };
        self.body += &format!(
            "<{shape} class=\"f-{}\" fill=\"{}\"{opacity}/>",
            colour.name(),
            colour.light()
        );
    }

    /// The whole document. `style` goes into a `<style>` element.
    pub fn document(&self, width: f64, height: f64, title: &str, style: &str) -> String {
        let (title, paper) = (text::escape(title), Colour::Paper);
        let style = match style {
            "" => String::new(),
            rules => format!("<style>{rules}</style>"),
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"induct-figure\" viewBox=\"0 0 {width:.0} \
             {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"{FAMILY}\">\
             {style}<rect width=\"100%\" height=\"100%\" class=\"f-{}\" fill=\"{}\"/>{}</svg>",
            paper.name(),
            paper.light(),
            self.body
        )
    }
}
