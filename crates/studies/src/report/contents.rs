//! What a page shows.

use maud::{Markup, html};

use crate::claim::Decision;
use crate::results::Results;

/// What a page shows, for text that refers to it. A part of a study may lack any claim, figure or experiment.
pub struct PageContents<'a> {
    pub results: &'a Results,
    pub claims: &'a [Decision],
    /// The numbers of the figures.
    pub figures: &'a [u8],
}

impl PageContents<'_> {
    /// A link to a claim; just its number if the page does not show it.
    pub fn claim(&self, id: &str) -> Markup {
        html! {
            @if self.claims.iter().any(|claim| claim.id == id) {
                a href={ "#" (id) } { (id) }
            } @else {
                (id)
            }
        }
    }

    /// A link to a figure; just its number if the page does not show it.
    pub fn figure(&self, number: u8) -> Markup {
        html! {
            @if self.figures.contains(&number) {
                a href={ "#figure-" (number) } { "figure " (number) }
            } @else {
                "figure " (number)
            }
        }
    }
}
