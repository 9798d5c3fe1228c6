//! Curves as a chart in text.

use induct_pictures::curves::Group;
use induct_pictures::panels::Curves;

use crate::chart::{Chart, Line};

/// The letters that draw the lines of a chart.
const MARKS: &str = "*ox+#@%&=abcdefghijklmnpqrstuvwyz";

/// The medians as a chart, with a legend.
pub fn text(panel: &Curves) -> String {
    let lines = panel.drawn().map(|(line, _)| line);
    let drawn: Vec<(&Group, char)> = lines.zip(MARKS.chars().cycle()).collect();
    let lines: Vec<Line> = drawn
        .iter()
        .map(|(line, mark)| Line {
            mark: *mark,
            points: line.median_curve(),
        })
        .collect();
    let chart = Chart {
        lines: &lines,
        levels: &panel.levels,
    };
    let mut text = format!("{}: {}\n", panel.title, panel.meaning);
    text += match chart.draw() {
        chart if chart.is_empty() => "  no value other than zero is recorded\n".to_owned(),
        chart => chart,
    }
    .as_str();
    if drawn.len() > 1 {
        for (line, mark) in drawn {
            text += &format!("{:>9}{mark} {}\n", "", line.label);
        }
    }
    text
}
