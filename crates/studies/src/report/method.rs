//! How claims are decided, and what the settings choose.

use maud::{Markup, html};

use crate::html::prose;
use crate::protocol::rules;
use crate::study::Study;

/// The rules by which claims are decided.
pub(super) fn protocol(study: &Study) -> Markup {
    html! {
        section id="protocol" {
            h2 { "The protocol" }
            p {
                "Measures and limits were fixed in advance, with runs of seeds below " (study.first_seed) ". "
                code { "induct reproduce --protocol" } " prints all of them."
            }
            ul { @for rule in rules() { li { (prose(&rule)) } } }
        }
    }
}

/// What each variant does where sources disagree, and why.
pub(super) fn choices(study: &Study) -> Markup {
    html! {
        section id="choices" {
            h2 { "Choices" }
            p { "Where the text and the code disagree, or say nothing:" }
            table.choices {
                thead {
                    tr {
                        th scope="col" { "choice" }
                        @for variant in study.variants { th scope="col" { (variant.name) } }
                        th scope="col" { "why" }
                    }
                }
                tbody {
                    @for choice in study.choices() {
                        tr {
                            th scope="row" { (choice.what) }
                            @for (variant, does) in study.variants.iter().zip(&choice.does) {
                                td data-of=(variant.name) { (prose(does)) }
                            }
                            td data-of="why" { (prose(&choice.why)) }
                        }
                    }
                }
            }
        }
    }
}
