//! Figures of the evidence in the ledger: deviations, lags, decisions.

use induct_figure::{Axis, Colour, Mark, Panel, Plot, Series};
use induct_pictures::strategy_colours;

use super::{ChapterFigure, entry};
use induct_ledger::{Entry, Kind};

/// The tolerance of equalities that must hold to rounding. A few are about measured powers or samples and
/// have a larger one.
const ROUNDING: f64 = 1e-9;

pub fn deviations(entries: &[Entry]) -> ChapterFigure {
    let equalities: Vec<&Entry> = entries
        .iter()
        .filter(|e| e.evidence.kind == Kind::Equality && e.evidence.tolerance <= ROUNDING)
        .collect();
    let count = equalities.len();
    let lines = [
        ("correct", "correct", Colour::Blue),
        ("misprint, as printed", "misprint", Colour::Vermilion),
        ("misprint, corrected", "misprint", Colour::Green),
        (
            "correct under a condition",
            "correct under a condition",
            Colour::Amber,
        ),
        ("does not follow", "does not follow", Colour::Pink),
    ];
    let series = lines.map(|(label, verdict, colour)| {
        let off = |entry: &Entry| match label {
            "misprint, corrected" => entry.evidence.corrected_off,
            _ => Some(entry.evidence.printed_off),
        };
        let numbered = (1..).map(f64::from).zip(&equalities);
        let chosen = numbered.filter(|(_, entry)| entry.verdict.name() == verdict);
        // Deviations of exactly zero cannot be shown on a log axis: they go to the bottom.
        let points = chosen.filter_map(|(at, entry)| Some((at, off(entry)?.max(1e-17))));
        Series::new(
            label,
            colour,
            Mark::Points,
            points.filter(|(_, off)| off.is_finite()),
        )
    });
    let plot = Plot {
        title: "Deviation of the printed formulas from the truth".into(),
        x: Axis::linear("equalities, in the order of the paper").range(0.0, count as f64 + 1.0),
        y: Axis::log("largest deviation on the grid, relative to the largest true value"),
        series: series
            .into_iter()
            .filter(|s| !s.values.is_empty())
            .collect(),
        aspect: 0.42,
        ..Plot::default()
    };
    ChapterFigure::new(
        "deviations",
        "summary",
        format!(
            "The largest deviation of each of {count} claimed equalities of closed forms from the truth, on \
             its grid of (a, b, t, j). Correct forms agree to rounding; misprints deviate by a visible \
             fraction of the quantity itself, and their corrected forms agree to rounding again. Deviations \
             of zero are shown at 10<sup>−17</sup>; forms without a finite value are not shown."
        ),
        "Largest deviations of the paper's equalities, by verdict, on a logarithmic axis.",
        vec![Panel::Plot(plot)],
    )
}

/// The points of a line in the evidence of an entry; none if there is no such line.
fn line(entries: &[Entry], id: &str, name: &str) -> Vec<(f64, f64)> {
    let found = entry(entries, id)
        .evidence
        .lines
        .iter()
        .find(|line| line.name == name);
    found.map_or(Vec::new(), |line| line.points.clone())
}

pub fn odd_even(entries: &[Entry]) -> ChapterFigure {
    let moments = line(entries, "second-step.odd-negative", "moment against j");
    let added = "diagonal contribution to v_j, t = 100";
    let added = line(entries, "second-step.even-over-odd", added);
    let of = |points: &[(f64, f64)], odd: bool| -> Vec<(f64, f64)> {
        let chosen = points.iter().filter(|(j, _)| (j % 2.0 == 1.0) == odd);
        chosen.map(|&(j, y)| (j, y.abs())).collect()
    };
    let even = of(&moments, false);
    let geometric: Vec<(f64, f64)> = match even[..] {
        [(_, first), (_, second), ..] => {
            let falls = |(n, &(j, _)): (i32, &(f64, f64))| (j, first * (second / first).powi(n));
            (0..)
                .zip(&even)
                .map(falls)
                .filter(|point| point.1 > 1e-6)
                .collect()
        }
        _ => Vec::new(),
    };
    let plot = |title: &str, y: &str, series: Vec<Series>| {
        Panel::Plot(Plot {
            title: title.into(),
            x: Axis::log("j"),
            y: Axis::log(y),
            series,
            aspect: 0.8,
            ..Plot::default()
        })
    };
    let pair = |points: &[(f64, f64)], odd_name: &str| {
        vec![
            Series::new(odd_name, Colour::Vermilion, Mark::Points, of(points, true)),
            Series::new("even j", Colour::Blue, Mark::Points, of(points, false)),
        ]
    };
    let mut left = pair(&moments, "odd j (negative from j = 3 on)");
    let right = pair(&added, "odd j");
    left.push(Series::new(
        "geometric",
        Colour::Muted,
        Mark::Dashed,
        geometric,
    ));
    ChapterFigure::new(
        "odd-even",
        "second-step",
        "Left: the magnitude of the moment of λ in what the diagonal of W<sub>k</sub> adds to \
                  v<sub>j</sub>. Even and odd lags fall along straight lines on log axes, like powers of j, \
                  and not like the geometric series (dashed) through the first two even lags. Right: \
                  everything that the diagonal adds at t = 100, where (t−j+1)(t−j+2) dominates the moments \
                  as j grows.",
        "Odd and even lags on log axes: both fall like a power of j.",
        vec![
            plot("The moments of λ", "magnitude of the moment", left),
            plot(
                "What the diagonal adds, t = 100",
                "addition to v_j over (ρ − c′) η",
                right,
            ),
        ],
    )
}

pub fn decisions(entries: &[Entry]) -> ChapterFigure {
    let id = "proposition.reaches-bigrams";
    let points = |name: &str| line(entries, id, name);
    let series = [
        Series::new(
            "counting transitions",
            strategy_colours(&["bigram"])[0],
            Mark::Line,
            points("bigrams, ε = 0.2"),
        ),
        Series::new(
            "two steps, w_{init} = 0",
            Colour::Green,
            Mark::Line,
            points("two steps, ε = 0.2, w_init = 0"),
        ),
        Series::new(
            "w_{init} = v_{init}",
            Colour::Vermilion,
            Mark::Line,
            points("two steps, ε = 0.2, w_init = v_init"),
        ),
    ];
    let dots = |series: &Series| Series {
        label: String::new(),
        mark: Mark::Points,
        ..series.clone()
    };
    let series: Vec<Series> = series
        .iter()
        .cloned()
        .chain(series.iter().map(dots))
        .collect();
    let plot = Plot {
        title: "Does the curriculum of the Proposition reach bigrams? (ε = 0.2)".into(),
        x: Axis::log("t").range(30.0, 270.0),
        y: Axis::linear("share of sequences after which the likelier symbol is ranked first")
            .range(0.4, 1.0),
        series,
        aspect: 0.5,
        ..Plot::default()
    };
    let right =
        |what: &str| entry(entries, id).number(&format!("right at t = 256, ε = 0.2, {what}"));
    ChapterFigure::new(
        "decisions",
        "proposition",
        format!(
            "Chains with a = b ~ U(0.3, 0.7), the second step's training distribution. At t = 256, two steps \
             are right with frequency {:.2} for w<sub>init</sub> = 0 and {:.2} for w<sub>init</sub> = \
             v<sub>init</sub>; counting transitions, {:.2}; a coin toss, ½.",
            right("w_init = 0"),
            right("w_init = v_init"),
            right("bigrams")
        ),
        "Share of correct decisions after the Proposition's two steps, against t.",
        vec![Panel::Plot(plot)],
    )
}
