use induct_figure::Mark;

use super::*;

/// Reproducible noise from −0.5 to 0.5.
fn noise(at: usize) -> f64 {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed >> 40) as f64) / f64::from(1 << 24) - 0.5
}

/// Curves with two drops, the second at a step that depends on group and seed, as in real runs.
fn sweep(groups: usize, seeds: usize) -> Vec<Group> {
    let falls = |step: f64, at: f64| 1.0 / (1.0 + ((step - at) / (0.05 * at)).exp());
    let run = |group: usize, seed: usize| {
        let id = 100 * group + seed;
        let late = 1500.0 + 4000.0 * group as f64 / groups as f64;
        let second = late * (1.0 + 0.5 * noise(id));
        let loss = move |at: usize| {
            let step = 20.0 * at as f64;
            let level = 0.012 + 0.075 * falls(step, second) + 0.16 * falls(step, 400.0);
            (step, level * (1.0 + 0.05 * noise(1000 * id + at)))
        };
        (0..400).map(loss).collect()
    };
    let group = |group: usize| Group {
        label: format!("model.layer_norm = {group}"),
        seeds: (0..seeds).map(|seed| run(group, seed)).collect(),
    };
    (0..groups).map(group).collect()
}

fn levels() -> Vec<(String, f64)> {
    [("uniform", 0.24), ("unigram", 0.088), ("bigram", 0.009)]
        .map(|(name, level)| (name.to_owned(), level))
        .into()
}

/// The number of paths with this stroke width.
fn strokes(svg: &str, width: &str) -> usize {
    svg.matches(&format!("stroke-width=\"{width}\"")).count()
}

#[test]
fn every_seed_is_a_line_and_every_group_has_a_median_and_a_name() {
    let figure = curves(&sweep(3, 5), &levels());
    let svg = figure.svg_inline(900);
    assert_eq!(strokes(&svg, "0.8"), 15);
    assert_eq!(svg.matches("stroke-width=\"2\" stroke-linejoin").count(), 3);
    for name in [
        "model.layer_norm = 0",
        "model.layer_norm = 2",
        "uniform",
        "unigram",
        "bigram",
    ] {
        assert!(svg.contains(&format!(">{name}</text>")), "{name}");
    }
    assert!(!svg.contains(", run 1<"));
    let csv = figure.csv();
    assert!(csv.contains(",\"model.layer_norm = 1, run 3\",0,"));
    assert!(csv.contains(",\"model.layer_norm = 1\",0,"));
}

#[test]
fn an_unknown_strategy_has_a_level_with_a_name_and_a_colour() {
    let mut levels = levels();
    levels.push(("my-own".into(), 0.05));
    levels.push(("not-known-yet".into(), f64::NAN));
    let figure = curves(&sweep(1, 2), &levels);
    let drawn = &plot(&figure.panels[0]).levels;
    let colours: Vec<Colour> = drawn.iter().map(|level| level.colour).collect();
    assert_eq!(drawn[3].label, "my-own");
    // Ink is the colour of the model's line.
    assert!(!colours[..3].contains(&colours[3]) && colours[3] != Colour::Ink);
    assert!(figure.svg_inline(720).contains(">my-own<"));
}

#[test]
fn many_groups_are_split_into_panels_with_one_scale() {
    for (groups, panels) in [(1, 1), (8, 1), (9, 2), (12, 2), (20, 3)] {
        let figure = curves(&sweep(groups, 2), &levels());
        assert_eq!(figure.panels.len(), panels, "{groups}");
        let plots: Vec<&Plot> = figure.panels.iter().map(plot).collect();
        assert!(plots.iter().all(|p| p.x == plots[0].x && p.y == plots[0].y));
        let lines = plots.iter().flat_map(|plot| &plot.series);
        assert_eq!(lines.count(), 3 * groups);
        for plot in plots {
            let medians = plot.series.iter().filter(|s| s.mark == Mark::Line);
            let colours: Vec<Colour> = medians.map(|s| s.colour).collect();
            let distinct = |at: usize| !colours[..at].contains(&colours[at]);
            assert!((0..colours.len()).all(distinct));
        }
    }
}

fn plot(panel: &Panel) -> &Plot {
    match panel {
        Panel::Plot(plot) => plot,
        _ => panic!("not a plot"),
    }
}

#[test]
fn a_run_that_diverges_does_not_set_the_scale() {
    let mut groups = sweep(2, 3);
    groups[0].seeds[1][50..]
        .iter_mut()
        .for_each(|point| point.1 = 1e9);
    groups[1].seeds[0][9].1 = f64::NAN;
    groups[1].seeds[1].push((f64::INFINITY, f64::INFINITY));
    let mut levels = levels();
    levels.push(("oracle".into(), f64::NAN));
    let figure = curves(&groups, &levels);
    let (_, top) = plot(&figure.panels[0]).y.range.unwrap();
    assert!((0.24..1.0).contains(&top), "{top}");
    let svg = figure.svg_inline(700);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn an_empty_figure_says_so() {
    let axis = |values: &[&str]| KeyAxis {
        key: "p".into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let map = Map {
        title: "Final KL".into(),
        unit: "nats".into(),
        cells: Vec::new(),
    };
    let without_records = Group {
        label: "p = 1".into(),
        seeds: vec![Vec::new(), vec![(0.0, f64::NAN)]],
    };
    let figures = [
        curves(&[], &levels()),
        curves(&[without_records], &[]),
        phase_diagram(&axis(&["1"]), &axis(&["1"]), &[]),
        phase_diagram(&axis(&[]), &axis(&["1"]), &[map]),
    ];
    for figure in figures {
        assert!(figure.svg_inline(500).contains(">Nothing to show: "));
        assert!(!figure.png(500, 1).is_empty());
    }
}

#[test]
fn a_single_record_can_be_drawn() {
    for loss in [0.0, 0.3] {
        let group = Group {
            label: "just begun".into(),
            seeds: vec![vec![(0.0, loss)]],
        };
        let svg = curves(&[group], &[]).svg_inline(500);
        assert!(svg.contains("just begun") && !svg.contains("NaN"));
    }
}

#[test]
fn a_diagram_increases_upwards_and_marks_missing_values() {
    let axis = |key: &str, values: [&str; 2]| KeyAxis {
        key: key.into(),
        values: values.map(String::from).into(),
    };
    let map = Map {
        title: "Final KL".into(),
        unit: "nats".into(),
        cells: vec![vec![Some(0.5), None], vec![Some(f64::NAN)]],
    };
    let figure = phase_diagram(
        &axis("model.layer_norm", ["true", "false"]),
        &axis("model.positions", ["none", "absolute"]),
        &[map],
    );
    let Panel::Grid(grid) = &figure.panels[0] else {
        panic!("not a grid")
    };
    assert_eq!(grid.rows, ["absolute", "none"]);
    assert_eq!(grid.values[2], 0.5);
    assert!([0, 1, 3].iter().all(|&at| grid.values[at].is_nan()));
    let svg = figure.svg_inline(500);
    // Three cells, and the legend of the hatching.
    assert_eq!(svg.matches("class=\"gap\"").count(), 4);
    for word in [
        "model.layer_norm",
        "model.positions",
        "absolute",
        "false",
        "no value",
        "0.5",
    ] {
        assert!(svg.contains(&format!(">{word}</text>")), "{word}");
    }
    assert!(!svg.contains(">0</text>"));
}

#[test]
fn values_far_apart_are_coloured_by_their_logarithm() {
    assert_eq!(scale_of(&[0.001, 0.2, f64::NAN], LINEAR), Scale::Log);
    assert_eq!(scale_of(&[0.1, 0.2, f64::INFINITY], LINEAR), Scale::Linear);
    assert_eq!(scale_of(&[0.0, 0.2], LINEAR), Scale::Linear);
    assert_eq!(scale_of(&[], LINEAR), Scale::Linear);
}
