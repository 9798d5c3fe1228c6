//! The page itself.

use induct_figure::arc_stroke;

use super::{claims, settings};
use crate::claim::Decided;
use crate::figure::{Drawn, Slider, StudyFigure};
use crate::html::{self, escape};
use crate::reproduction::Reproduction;
use crate::results::Results;

/// How a report was made.
pub struct Making {
    /// The command that reproduces it.
    pub command: String,
    /// Whether it is the full form.
    pub full: bool,
    /// How long this took, in seconds.
    pub seconds: f64,
    /// Whether some runs had been trained before.
    pub resumed: bool,
    /// The machine it ran on.
    pub machine: String,
    /// The version of the program.
    pub version: &'static str,
}

/// The widths for which inline figures are laid out, and the class that shows each.
const LAYOUTS: [(&str, u32); 3] = [("wide", 1000), ("middle", 660), ("narrow", 350)];

/// The whole page.
pub fn report(
    reproduction: &Reproduction,
    results: &Results,
    figures: &[(&StudyFigure, Drawn)],
    decided: &[Decided],
    making: &Making,
) -> String {
    let study = reproduction.study();
    let mut body = format!(
        "<h1>{}</h1>\n<p>{}</p>{}",
        study.title, study.text.lead, making.command
    );
    for (figure, drawn) in figures {
        body += &figure_section(figure, drawn, results);
    }
    decided
        .iter()
        .for_each(|claim| body += &claims::article(claim));
    body += &settings::table(results);
    html::document(
        study.title,
        "induct reproduce",
        include_str!("report.css"),
        &body,
    )
}

fn figure_section(figure: &StudyFigure, drawn: &Drawn, results: &Results) -> String {
    let trained = figure.needs.iter().map(|id| results.of(id));
    let (mut runs, mut seconds) = (0, 0.0);
    for run in trained.flat_map(|trained| &trained.runs) {
        runs += 1;
        seconds += run.seconds();
    }
    let time = match runs {
        0 => String::new(),
        1 => format!(" 1 run, {seconds:.0} s on one thread."),
        _ => format!(" {runs} runs, {seconds:.0} s on one thread."),
    };
    let whose = if figure.ours { " (ours)" } else { "" };
    format!(
        "<figure id=\"figure-{number}\">\n<h3>Figure {number}{whose}. {}</h3>\n{}{}<figcaption>{} <span \
         class=\"place\">To reproduce it: <code>induct reproduce --only {number}</code>.{time}\n\
         <span class=\"files\"><a href=\"figures/{file}.svg\">SVG</a>, <a \
         href=\"figures/{file}.png\">PNG</a>, <a \
         href=\"figures/{file}.csv\">CSV</a></span></span></figcaption>\n</figure>\n",
        escape(figure.title),
        html::layouts(&drawn.figure, &LAYOUTS),
        drawn.slider.as_ref().map(slider).unwrap_or_default(),
        drawn.reading,
        number = figure.number,
        file = figure.file(),
    )
}

/// A figure with a slider that moves through training.
fn slider(slider: &Slider) -> String {
    let labels: Vec<String> = slider
        .labels
        .iter()
        .map(|label| format!("\"{}\"", escape(label)))
        .collect();
    // Two hexadecimal digits per arc, one string per frame.
    let hex = |frame: &Vec<u8>| {
        frame
            .iter()
            .map(|weight| format!("{weight:02x}"))
            .collect::<String>()
    };
    // The appearance of an arc for each weight, so that the script does not need to know the rule.
    let stroke = |byte: u8| {
        let (opacity, width) = arc_stroke(f64::from(byte) / 255.0);
        format!("[{opacity:.3},{width:.2}],")
    };
    let strokes: Vec<String> = (0..=u8::MAX).map(stroke).collect();
    let frames: Vec<String> = slider
        .weights
        .iter()
        .map(|frame| format!("\"{}\"", hex(frame)))
        .collect();
    format!(
        "<div class=\"slider\" id=\"arcs\">\n<p><label for=\"moment\">Move through training:</label> <output \
         id=\"moment-label\" for=\"moment\">{}</output></p>\n\
         <input type=\"range\" id=\"moment\" min=\"0\" max=\"{}\" value=\"{}\">\n{}<script>\nconst LABELS = \
         [{}];\nconst FRAMES = [{}];\nconst STROKES = [{}];\n{}</script>\n</div>\n",
        escape(&slider.labels[slider.first]),
        slider.weights.len() - 1,
        slider.first,
        html::layouts(&slider.figure, &LAYOUTS),
        labels.join(","),
        frames.join(",\n"),
        strokes.concat(),
        include_str!("slider.js"),
    )
}
