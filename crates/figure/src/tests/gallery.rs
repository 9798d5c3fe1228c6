//! A gallery of every kind of panel.

use crate::*;

/// Deterministic noise.
fn noise(at: usize) -> f64 {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed >> 40) as f64) / f64::from(1 << 24) - 0.5
}

fn falls(x: f64, at: f64, from: f64, to: f64) -> f64 {
    to + (from - to) / (1.0 + ((x - at) / (0.06 * at)).exp())
}

fn steps() -> impl Iterator<Item = f64> + Clone {
    (0..=200).map(|step| 250.0 * f64::from(step))
}

/// Training in phases: divergences with intervals over seeds, regions, moments, levels.
pub fn phases(title: &str, without_names: bool) -> Plot {
    let curve = |label: &str, colour, at: f64, to: f64| {
        let values = steps().enumerate().map(|(i, x)| {
            let y = falls(x, at, 0.25, to) * (1.0 + 0.1 * noise(i));
            Value::give_or_take(x, y, 0.25 * y)
        });
        Series::new(label, colour, Mark::Line, values)
    };
    let region = |from, to, label: &str, colour| Region {
        from,
        to,
        label: label.into(),
        colour,
    };
    let moment = |x, label: &str| Moment {
        x,
        label: label.into(),
    };
    Plot {
        title: title.into(),
        x: Axis::linear("sequences seen"),
        y: Axis::log("KL(strategy ‖ model), nats"),
        regions: vec![
            region(0.0, 9_000.0, "uniform", Colour::Grey),
            region(9_000.0, 28_000.0, "unigram", Colour::Amber),
            region(28_000.0, 50_000.0, "bigram", Colour::Blue),
        ],
        moments: vec![
            moment(8_000.0, "A"),
            moment(27_000.0, "B"),
            moment(28_500.0, "C"),
        ],
        levels: vec![Level {
            y: 0.009,
            label: "bigram 0.009".into(),
            colour: Colour::Ink,
        }],
        series: vec![
            curve("uniform", Colour::Grey, 60_000.0, 0.2),
            curve("unigram", Colour::Amber, 9_000.0, 0.04),
            curve("bigram", Colour::Blue, 28_000.0, 0.01),
        ],
        without_names,
        ..Plot::default()
    }
}

fn family() -> Plot {
    let series = (0..=10).map(|p| {
        let at = 8_000.0 + 3_000.0 * f64::from(p);
        let values = steps().map(|x| (x, falls(x, at, 0.3, 0.01)));
        Series::new(
            format!("p = 0.{p}"),
            Colour::Ramp(p as u8),
            Mark::Line,
            values,
        )
    });
    Plot {
        title: "A family in order".into(),
        x: Axis::linear("sequences seen"),
        y: Axis::linear("loss above Bayes"),
        series: series.collect(),
        family: Some(Family {
            low: "p = 0".into(),
            high: "p = 1".into(),
        }),
        ..Plot::default()
    }
}

/// Groups of faint runs behind their medians.
fn medians() -> Plot {
    let run = |group: u8, seed: usize| {
        let at = (12_000.0 + 4_000.0 * f64::from(group)) * (1.0 + 0.3 * noise(seed));
        steps().map(move |x| (x, falls(x, at, 0.25, 0.02)))
    };
    let colour = |group: u8| Colour::ramp(f64::from(group) / 5.0);
    let seeds = (0..6_u8).flat_map(|group| {
        let seed = move |seed| {
            let label = format!("layer\\_norm = {group}, run {seed}");
            Series::new(label, colour(group), Mark::Faint, run(group, seed))
        };
        (0..9).map(seed)
    });
    let medians = (0..6_u8).map(|group| {
        let label = plain(&format!("layer_norm = {group}"));
        Series::new(label, colour(group), Mark::Line, run(group, 16))
    });
    Plot {
        title: "Runs behind their medians".into(),
        x: Axis::linear("training steps"),
        y: Axis::linear("KL(truth ‖ model), nats").range(0.0, 0.3),
        levels: vec![Level {
            y: 0.06,
            label: "unigram".into(),
            colour: Colour::Amber,
        }],
        series: seeds.chain(medians).collect(),
        ..Plot::default()
    }
}

fn grid(columns: usize, scale: Scale) -> Grid {
    let kinds = ["none", "absolute", "relative-key"];
    let values = (0..3 * columns).map(|cell| match cell % 7 {
        3 => f64::NAN,
        _ => 10_f64.powf(-2.0 * (noise(cell) + 0.5)),
    });
    Grid {
        title: format!("Final divergence, {columns} rates"),
        x_label: plain("train.optimizer.learning_rate"),
        y_label: "positions".into(),
        columns: (0..columns).map(|at| format!("{}e-4", at + 1)).collect(),
        rows: kinds.map(String::from).into(),
        values: values.collect(),
        value_label: "nats".into(),
        scale,
    }
}

fn attention(title: &str, back: usize) -> Heatmap {
    let values = (0..10_000).map(|cell| {
        let (row, column) = (cell / 100, cell % 100);
        match column {
            _ if column > row => f64::NAN,
            _ if column + back == row => 0.8,
            _ => 0.2 / (row + 1) as f64 + 0.02 * (noise(cell) + 0.5),
        }
    });
    Heatmap {
        title: title.into(),
        x: Axis::linear("looks at"),
        y: Axis::linear("position"),
        columns: 100,
        values: values.collect(),
        value_label: "attention".into(),
        range: Some((0.0, 1.0)),
        ..Heatmap::default()
    }
}

fn signed_map() -> Heatmap {
    let values = (0..60 * 40).map(|cell| {
        let (row, column) = (f64::from(cell / 60), f64::from(cell % 60));
        (row / 9.0).sin() * (column / 12.0).cos()
    });
    Heatmap {
        title: "A signed map that rises".into(),
        x: Axis::log("learning rate").range(1e-4, 1.0),
        y: Axis::linear("p").range(1.0, 0.0),
        columns: 60,
        values: values.collect(),
        signed: true,
        aspect: 0.67,
        ..Heatmap::default()
    }
}

fn symbols(count: usize) -> Vec<usize> {
    (0..count)
        .map(|i| usize::from(noise(i * 31) > 0.0))
        .collect()
}

pub fn arcs(every_pair: bool) -> Arcs {
    let symbols = symbols(24);
    let count = symbols.len();
    let above = (0..count * count).map(|cell| {
        let (from, to) = (cell / count, cell % count);
        if to + 1 == from {
            0.85
        } else {
            0.15 / (from + 1) as f64
        }
    });
    let last = symbols[count - 1];
    let follows: Vec<bool> = (0..count)
        .map(|to| to > 0 && symbols[to - 1] == last)
        .collect();
    let hits = follows.iter().filter(|hit| **hit).count() as f64;
    let below = follows
        .iter()
        .map(|hit| if *hit { 1.0 / hits } else { 0.0 });
    Arcs {
        title: "Attention of the two layers after training".into(),
        above: above.collect(),
        above_label: "layer 1".into(),
        below: below.collect(),
        below_label: "layer 2, from the last symbol".into(),
        symbols,
        every_pair,
        ..Arcs::default()
    }
}

pub fn chain(states: usize, transitions: &[f64]) -> Chain {
    Chain {
        title: format!("A chain of {states} states"),
        transitions: transitions.to_vec(),
        states,
        sequence: (0..60)
            .map(|i| ((noise(i) + 0.5) * states as f64) as usize)
            .collect(),
        sequence_label: "a sequence drawn from it; what comes next?".into(),
    }
}

pub fn matrix(rows: usize, columns: usize, signed: bool) -> Matrix {
    let names = |count: usize| (0..count).map(|name| name.to_string()).collect();
    let values = (0..rows * columns).map(|cell| match signed {
        true => 2.0 * noise(cell),
        false => noise(cell) + 0.5,
    });
    Matrix {
        title: format!("W_k, {rows} by {columns}"),
        row_label: "current symbol".into(),
        column_label: "symbol found".into(),
        rows: names(rows),
        columns: names(columns),
        values: values.map(|v| (v * 100.0).round() / 100.0).collect(),
        signed,
        ..Matrix::default()
    }
}

/// Every mark and annotation that the other figures lack, and a matrix with its own text in the cells.
fn marks() -> Vec<Panel> {
    let xs = (1..=60).map(f64::from);
    let curve = |power: i32| xs.clone().map(move |x| (x, x.powi(power)));
    let mut drawn = Series::new(
        "drawn & counted",
        Colour::Vermilion,
        Mark::Points,
        curve(-1),
    );
    for value in &mut drawn.values {
        value.interval = Some([0.75 * value.y, f64::INFINITY]);
    }
    let series = vec![
        Series::new("above", Colour::Green, Mark::Above, curve(-2)),
        Series::new("exact", Colour::Blue, Mark::Line, curve(-1)),
        Series::new("compared <with> it", Colour::Muted, Mark::Dashed, curve(-2)),
        drawn,
    ];
    let plot = Plot {
        title: "A title that is so long that it must be broken into several lines".into(),
        x: Axis::log("lag j"),
        y: Axis::log("weight v_j after two steps, in units of the start"),
        series,
        notes: vec![Note {
            x: 60.0,
            y: 0.01,
            text: "a remark at the very end".into(),
            dot: true,
        }],
        aspect: 0.6,
        ..Plot::default()
    };
    let mut bars = plot.clone();
    (bars.x, bars.y) = (Axis::linear("x"), Axis::linear("y"));
    bars.series = vec![
        Series::new("bars", Colour::Blue, Mark::Bars, [(1.0, 2.0), (2.0, -1e6)]),
        Series::new(
            "band",
            Colour::Amber,
            Mark::Band,
            [(1.0, 2.0), (2.0, f64::NAN)],
        ),
        Series::new("steps", Colour::Pink, Mark::Steps, [(1.0, 2.0), (2.0, 3.0)]),
        Series::new("runs", Colour::Green, Mark::Thin, [(1.0, 1.0), (2.0, 2.0)]),
        Series::new("runs", Colour::Green, Mark::Thin, [(1.0, 3.0), (2.0, 4.0)]),
    ];
    let matrix = Matrix {
        title: "W_k after the first step".into(),
        row_label: "the current symbol".into(),
        column_label: "the symbol found".into(),
        rows: vec!["0".into(), "1".into()],
        columns: vec!["0".into(), "1".into()],
        values: vec![0.069, 0.031, 0.031, 0.069],
        cells: vec![vec!["0.06902".into(), "drawn 0.0691 ± 0.0004".into()]; 4],
        signed: false,
    };
    vec![Panel::Matrix(matrix), Panel::Plot(plot), Panel::Plot(bars)]
}

/// One of each, by name.
pub fn all() -> Vec<(&'static str, Figure)> {
    let six = (0..6).map(|at| {
        let title = match at {
            1 => "A title that is so long that it goes over two lines",
            _ => "Doubly stochastic",
        };
        phases(title, at % 3 != 2)
    });
    let three = [0.6, 0.3, 0.1, 0.15, 0.05, 0.8, 0.34, 0.33, 0.33];
    let maps = [
        attention("Layer 1, head 1", 1),
        attention("Layer 2, after ten thousand sequences", 12),
        signed_map(),
    ];
    let chains = [chain(2, &[0.9, 0.1, 0.123, 0.877]), chain(3, &three)];
    let matrices = [
        matrix(10, 10, true),
        matrix(3, 6, false),
        matrix(2, 2, true),
    ];
    let grids = [grid(6, Scale::Log), grid(14, Scale::Linear)];
    let plots = |plots: Vec<Plot>| plots.into_iter().map(Panel::Plot).collect::<Vec<_>>();
    let figures = [
        (
            "phases",
            1,
            plots(vec![phases("Training in phases", false)]),
        ),
        ("grid", 3, plots(six.collect())),
        ("family", 1, plots(vec![family()])),
        ("heatmaps", 3, maps.map(Panel::Heatmap).into()),
        ("marks", 2, marks()),
        ("medians", 1, plots(vec![medians()])),
        ("grids", 2, grids.map(Panel::Grid).into()),
        (
            "arcs",
            2,
            [true, false].map(|every| Panel::Arcs(arcs(every))).into(),
        ),
        ("chain", 1, chains.clone().map(Panel::Chain).into()),
        ("chains", 2, chains.map(Panel::Chain).into()),
        ("matrices", 3, matrices.map(Panel::Matrix).into()),
    ];
    let figure = |(name, columns, panels)| {
        let description = "a test".into();
        let figure = Figure {
            description,
            panels,
            columns,
        };
        (name, figure)
    };
    figures.map(figure).into()
}
