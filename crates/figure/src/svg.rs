//! Writing SVG: a few shapes, each with its colour as an attribute and as a class.

use crate::colour::Colour;
use crate::font::FAMILY;
use crate::text;

/// A drawing that grows.
#[derive(Default)]
pub(crate) struct Drawing {
    pub body: String,
    /// How far to the right text reaches, and how far to the left: for tests that nothing is clipped.
    pub reach: (f64, f64),
}

/// Where a text's coordinates are.
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
}

impl Style {
    pub fn new(size: f64, colour: Colour, anchor: Anchor) -> Self {
        Self {
            size,
            bold: false,
            colour,
            anchor,
        }
    }

    pub fn bold(mut self) -> Self {
        self.bold = true;
        self
    }
}

impl Drawing {
    /// A label with its baseline at `y`.
    pub fn text(&mut self, x: f64, y: f64, label: &str, style: Style) {
        let fill = format!(
            "class=\"f-{}\" fill=\"{}\"",
            style.colour.name(),
            style.colour.light()
        );
        self.text_filled(x, y, label, style, &fill);
    }

    /// The same with a fill that does not change on dark screens.
    pub fn text_fixed(&mut self, x: f64, y: f64, label: &str, style: Style, hex: &str) {
        self.text_filled(x, y, label, style, &format!("fill=\"{hex}\""));
    }

    fn text_filled(&mut self, x: f64, y: f64, label: &str, style: Style, fill: &str) {
        let width = text::width(label, style.size, style.bold);
        let (left, anchor) = match style.anchor {
            Anchor::Start => (x, ""),
            Anchor::Middle => (x - width / 2.0, " text-anchor=\"middle\""),
            Anchor::End => (x - width, " text-anchor=\"end\""),
        };
        self.reach.0 = self.reach.0.min(left);
        self.reach.1 = self.reach.1.max(left + width);
        let weight = if style.bold {
            " font-weight=\"600\""
        } else {
            ""
        };
        self.body += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\"{weight}{anchor} {fill}>{}</text>",
            style.size,
            text::spans(label, style.size)
        );
    }

    /// A path without fill.
    pub fn stroke(&mut self, path: &str, colour: Colour, width: f64, more: &str) {
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
            _ => format!(" fill-opacity=\"{opacity}\""),
        };
        self.body += &format!(
            "<{shape} class=\"f-{}\" fill=\"{}\"{opacity}/>",
            colour.name(),
            colour.light()
        );
    }

    /// A rectangle with a colour of its own, for cells.
    pub fn cell(&mut self, x: f64, y: f64, width: f64, height: f64, hex: &str) {
        self.body += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\" fill=\"{hex}\"/>"
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
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"induct-figure\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\" font-family=\"{FAMILY}\">\
             {style}<rect width=\"100%\" height=\"100%\" class=\"f-{}\" fill=\"{}\"/>{}</svg>",
            paper.name(),
            paper.light(),
            self.body
        )
    }
}
