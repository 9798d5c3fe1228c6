//! The page itself.

use induct_figure::arc_stroke;

use super::{claims, settings};
use crate::html::{self, escape};
use crate::paper::claims::Decided;
use crate::paper::figures::{Drawn, PaperFigure, Slider};
use crate::results::Results;

/// How a report was made.
pub struct Making {
    /// The command that reproduces it.
    pub command: String,
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
    results: &Results,
    figures: &[(&PaperFigure, Drawn)],
    decided: &[Decided],
    making: &Making,
) -> String {
    let mut body = head(decided, making);
    body += &contents(figures, decided);
    body += "<section id=\"figures\">\n<h2>Figures</h2>\n";
    for (figure, drawn) in figures {
        body += &figure_section(figure, drawn, results);
    }
    body += "</section>\n";
    if !decided.is_empty() {
        body += "<section id=\"measures\">\n<h2>How each claim was measured</h2>\n\
                 <p>A part holds if its whole 95 % interval over seeds is on the right side of its limit, \
                 does not hold if the whole interval is on the wrong side, and is undecided otherwise. A \
                 claim holds if all of its parts hold, holds in part if some do, and does not hold if all \
                 fail. Limits were fixed before the runs that they judge.</p>\n";
        decided
            .iter()
            .for_each(|claim| body += &claims::article(claim));
        body += "</section>\n";
    }
    body += &format!(
        "<section id=\"settings\">\n<h2>What was trained</h2>\n{}<h3>Our choices</h3>\n{}</section>\n",
        settings::table(results),
        settings::CHOICES
    );
    html::document(
        "Statistical induction heads, reproduced",
        "induct reproduce",
        include_str!("report.css"),
        &body,
    )
}

fn head(decided: &[Decided], making: &Making) -> String {
    let minutes = match making.seconds {
        s if s < 90.0 => format!("{s:.0} seconds"),
        s => format!("{:.1} minutes", s / 60.0),
    };
    let resumed = match making.resumed {
        true => ", with runs from an earlier session",
        false => "",
    };
    let claims = match decided.is_empty() {
        true => String::new(),
        false => format!(
            "<section id=\"claims\">\n<h2>Claims</h2>\n<p class=\"counts\">{}</p>\n{}<p \
             class=\"place\">Effects are those of each claim's first measure; all measures, limits and \
             verdicts are <a href=\"#measures\">below</a> and in <a \
             href=\"claims.json\">claims.json</a>.</p>\n</section>\n",
            claims::counts(decided),
            claims::table(decided)
        ),
    };
    format!(
        "<h1>Statistical induction heads, reproduced</h1>\n\
         <p class=\"lead\">Every figure and every claim of <cite>The Evolution of Statistical Induction \
         Heads: In-Context Learning Markov Chains</cite> (Edelman, Edelman, Goel, Malach, Tsilivis, 2024), \
         trained anew, with intervals over seeds.</p>\n\
         <p class=\"place\"><code>{}</code> took {minutes}{resumed} on {}; Induct {}. Losses are KL \
         divergences at the last position, in nats, as in the paper.</p>\n{claims}",
        escape(&making.command),
        escape(&making.machine),
        making.version,
    )
}

fn contents(figures: &[(&PaperFigure, Drawn)], decided: &[Decided]) -> String {
    let item = |(figure, _): &(&PaperFigure, Drawn)| {
        format!(
            "<li value=\"{number}\"><a href=\"#figure-{number}\">{}</a></li>\n",
            escape(figure.title),
            number = figure.number,
        )
    };
    let measures = match decided.is_empty() {
        true => "",
        false => "<li><a href=\"#measures\">How each claim was measured</a></li>\n",
    };
    format!(
        "<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n<ol>\n{}</ol>\n<ul>\n{measures}<li><a \
         href=\"#settings\">What was trained, and our choices</a></li>\n</ul>\n</nav>\n",
        figures.iter().map(item).collect::<String>()
    )
}

fn figure_section(figure: &PaperFigure, drawn: &Drawn, results: &Results) -> String {
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
    let whose = if figure.number > 13 { " (ours)" } else { "" };
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
