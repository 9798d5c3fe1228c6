//! A sentence in place of a plot.

use crate::axis::LABEL;
use crate::colour::Colour;
use crate::layout::{Part, Place};
use crate::legend::LINE;
use crate::svg::{Anchor, Drawing, Style};
use crate::text;

/// A sentence where a plot would be, to say why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// What would be shown.
    pub title: String,
    /// The sentence.
    pub text: String,
}

impl Part for Sentence {
    fn title(&self) -> &str {
        &self.title
    }

    fn draw_lead(&self, _: Place, _: &mut Drawing) -> f64 {
        0.0
    }

    fn height(&self, _: f64) -> Option<f64> {
        None
    }

    fn draw_body(&self, place: Place, _: f64, out: &mut Drawing) -> f64 {
        let style = Style::new(LABEL, Colour::Muted, Anchor::Start);
        let mut y = place.top;
        for line in text::wrap(&self.text, LABEL, false, place.width) {
            y += LINE;
            out.text(place.left, y, &line, style);
        }
        y + 8.0 - place.top
    }
}
