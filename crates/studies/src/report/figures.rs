//! Every figure with its reading, its files and its runs.

use induct_figure::arc_stroke;
use maud::{Markup, PreEscaped, html};

use super::count;
use crate::figure::{Illustration, Slider, StudyFigure};
use crate::html::{files, layouts};
use crate::results::Results;

/// The widths for which inline figures are laid out, and the class that shows each.
const LAYOUTS: [(&str, u32); 3] = [("wide", 1000), ("middle", 660), ("narrow", 350)];

/// All figures.
pub(super) fn section(figures: &[(&StudyFigure, Illustration)], results: &Results) -> Markup {
    let sliders = figures.iter().any(|(_, drawn)| drawn.slider.is_some());
    html! {
        @if !figures.is_empty() {
            section id="figures" {
                h2 { "Figures" }
                @for (figure, drawn) in figures { (one(figure, drawn, results)) }
                @if sliders { script { (PreEscaped(include_str!("slider.js"))) } }
            }
        }
    }
}

fn one(figure: &StudyFigure, drawn: &Illustration, results: &Results) -> Markup {
    let trained = figure.needs().filter_map(|id| results.get(&id));
    let (mut runs, mut seconds) = (0, 0.0);
    for run in trained.flat_map(|trained| &trained.runs) {
        runs += 1;
        seconds += run.seconds();
    }
    html! {
        figure id={ "figure-" (figure.number) } {
            h3 {
                "Figure " (figure.number) @if figure.ours { " (ours)" }
                ". " (figure.title)
            }
            (layouts(&drawn.figure, &LAYOUTS))
            @if let Some(frames) = &drawn.slider { (slider(figure.number, frames)) }
            figcaption {
                (PreEscaped(&drawn.reading)) " "
                span.place {
                    "To reproduce it: " code { "induct reproduce --only " (figure.number) } ". "
                    @if runs > 0 { (count(runs, "run")) ", " (format!("{seconds:.0}")) " s on one thread. " }
                    span.files { (files(&format!("figures/{}", figure.file()))) }
                }
            }
        }
    }
}

/// A figure with a slider that moves through training. The script reads all frames from attributes.
fn slider(number: u8, slider: &Slider) -> Markup {
    // Two hexadecimal digits per arc, one word per frame.
    let hex = |frame: &Vec<u8>| -> String {
        frame.iter().map(|weight| format!("{weight:02x}")).collect()
    };
    let frames: Vec<String> = slider.weights.iter().map(hex).collect();
    // The appearance of an arc for each weight, so that the script does not need to know the rule.
    let stroke = |byte: u8| {
        let (opacity, width) = arc_stroke(f64::from(byte) / 255.0);
        format!("{opacity:.3},{width:.2}")
    };
    let strokes: Vec<String> = (0..=u8::MAX).map(stroke).collect();
    let first = slider.labels.get(slider.first).map_or("", String::as_str);
    html! {
        div.slider data-labels=(slider.labels.join("|")) data-frames=(frames.join(" "))
            data-strokes=(strokes.join(" ")) {
            p {
                label for={ "moment-" (number) } { "Move through training:" } " "
                output for={ "moment-" (number) } { (first) }
            }
            input type="range" id={ "moment-" (number) } min="0"
                max=(slider.weights.len().saturating_sub(1)) value=(slider.first);
            (layouts(&slider.figure, &LAYOUTS))
        }
    }
}
