//! A sentence in place of a plot.

use crate::axis::LABEL;
use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::svg::{Anchor, Drawing, Style};

/// A sentence where a plot would be, to say why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// What would be shown.
    pub title: String,
    /// The sentence.
    pub text: String,
}

impl Part for Sentence {
    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        let style = Style::new(LABEL, Colour::Muted, Anchor::Start);
        let corner = (place.left, place.top + 4.0);
        out.paragraph(&self.text, corner, place.width, style) + 8.0
    }
}
