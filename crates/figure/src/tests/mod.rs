//! Tests that apply to every kind of panel.

mod gallery;

use resvg::{tiny_skia, usvg};

use crate::png::rendered;
use crate::svg::{Anchor, Drawing, Style};
use crate::*;
use gallery::{all, arcs, chain, matrix, phases};

const WIDTHS: [u32; 4] = [340, 360, 720, 1000];

/// Lists what is wrong with the texts of a figure at a width.
fn troubles(figure: &Figure, width: u32) -> Vec<String> {
    let (drawing, height) = figure.draw(f64::from(width));
    let texts: Vec<&str> = drawing.body.split("<text ").skip(1).collect();
    assert_eq!(texts.len(), drawing.words.len());
    let text = |at: usize| texts[at].split("</text>").next().unwrap();
    let mut troubles = Vec::new();
    for (index, word) in drawing.words.iter().enumerate() {
        let [left, top, right, bottom] = *word;
        if left < 0.0 || top < 0.0 || right > f64::from(width) || bottom > height {
            troubles.push(format!("{width}: {} leaves", text(index)));
        }
        for other in (0..index).filter(|&other| svg::overlap(word, &drawing.words[other])) {
            troubles.push(format!("{width}: {} on {}", text(index), text(other)));
        }
    }
    troubles
}

fn named(name: &str) -> Figure {
    let found = all().into_iter().find(|(other, _)| *other == name);
    found.unwrap().1
}

#[test]
fn no_text_leaves_a_figure_or_covers_another() {
    for (name, figure) in all() {
        for width in WIDTHS {
            let found = troubles(&figure, width);
            assert!(found.is_empty(), "{name}: {found:#?}");
        }
    }
}

#[test]
fn degenerate_panels_are_drawn() {
    let broken = Plot {
        x: Axis::log("").range(1.0, 1.0),
        y: Axis::linear("").range(f64::NAN, 0.0),
        series: vec![Series::new(
            "one",
            Colour::Ramp(99),
            Mark::Bars,
            [(f64::NAN, 1.0), (1.0, f64::INFINITY)],
        )],
        ..phases("", false)
    };
    let panels = vec![
        Panel::Plot(Plot::default()),
        Panel::Plot(broken),
        Panel::Matrix(Matrix::default()),
        Panel::Matrix(Matrix {
            rows: Vec::new(),
            ..matrix(2, 3, true)
        }),
        Panel::Heatmap(Heatmap::default()),
        Panel::Heatmap(Heatmap {
            columns: 0,
            values: vec![f64::NAN, f64::INFINITY, 1.0],
            ..Heatmap::default()
        }),
        Panel::Grid(Grid::default()),
        Panel::Grid(Grid {
            columns: vec![String::new(), "a".into()],
            rows: vec!["b".into(); 3],
            values: vec![f64::NAN, -1.0, f64::INFINITY],
            scale: Scale::Log,
            ..Grid::default()
        }),
        Panel::Arcs(Arcs::default()),
        Panel::Arcs(Arcs {
            symbols: vec![7],
            ..arcs(true)
        }),
        Panel::Sentence(Sentence::default()),
        Panel::Sentence(Sentence {
            title: "A plot".into(),
            text: "There is nothing to show, for reasons that take more than one line to explain."
                .into(),
        }),
        Panel::Chain(Chain::default()),
        Panel::Chain(chain(1, &[])),
        Panel::Chain(chain(5, &[0.2; 25])),
    ];
    for width in [0, 100, 360, 1000] {
        let figure = Figure {
            panels: panels.clone(),
            ..Figure::default()
        };
        let svg = figure.svg_inline(width);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        figure.csv();
    }
}

#[test]
fn a_figure_without_panels_shows_its_sentence() {
    let figure = Figure {
        description: "Nothing to show: no run has ended, and so there is nothing to draw.".into(),
        ..Figure::default()
    };
    for width in WIDTHS {
        assert!(troubles(&figure, width).is_empty());
        assert!(figure.svg_inline(width).contains(">Nothing to show: "));
    }
    assert!(!Figure::default().png(360, 1).is_empty());
}

#[test]
fn faint_runs_are_drawn_but_not_named() {
    let figure = named("medians");
    for width in WIDTHS {
        let svg = figure.svg_inline(width);
        assert_eq!(svg.matches("stroke-width=\"0.8\"").count(), 54);
        assert!(svg.contains(">layer_norm = 5</text>") && !svg.contains("run 8"));
    }
}

#[test]
fn names_above_keep_the_order_of_series() {
    let flat =
        |label: &str, y: f64| Series::new(label, Colour::Blue, Mark::Line, [(0.0, y), (1.0, y)]);
    let figure = |names_above| Figure {
        panels: vec![Panel::Plot(Plot {
            series: vec![flat("first", 0.1), flat("second", 0.2)],
            names_above,
            ..Plot::default()
        })],
        ..Figure::default()
    };
    let place = |svg: &str, name: &str| svg.find(&format!(">{name}</text>")).unwrap();
    let svg = figure(true).svg_inline(720);
    assert!(place(&svg, "first") < place(&svg, "second"));
    // Above the frame; its tick labels come later.
    assert!(place(&svg, "second") < place(&svg, "0"));
    let svg = figure(false).svg_inline(720);
    assert!(place(&svg, "second") > place(&svg, "0"));
}

#[test]
fn every_figure_is_well_formed_and_has_no_ids() {
    for (name, figure) in all() {
        let svg = figure.svg_inline(720);
        let parsed = usvg::roxmltree::Document::parse(&svg).unwrap();
        let root = parsed.root_element();
        assert_eq!(root.tag_name().name(), "svg");
        assert!(root.attribute("viewBox").is_some());
        assert!(
            parsed
                .descendants()
                .all(|node| node.attribute("id").is_none())
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
        assert!(svg.len() < 200_000, "{name}: {}", svg.len());
    }
}

#[test]
fn frames_of_a_row_are_aligned() {
    let frames = named("grid").inline(1000).frames;
    let heights: Vec<_> = frames.iter().map(|f| (f.top, f.bottom)).collect();
    let [first, second] = [&heights[..3], &heights[3..]];
    for row in [first, second] {
        assert!(row.iter().all(|height| *height == row[0]), "{heights:?}");
    }
    assert!(first[0].1 < second[0].0 && frames[0].right < frames[1].left);
    let narrow = named("grid").inline(360).frames;
    for pair in narrow.windows(2) {
        assert!(pair[0].bottom < pair[1].top && pair[0].left == pair[1].left);
    }
}

#[test]
fn the_numbers_of_every_panel_are_exported() {
    let csv = |name: &str| named(name).csv();
    assert!(csv("family").contains(",\"p = 0.10\",0,"));
    let heat = csv("heatmaps");
    assert!(heat.contains("1,\"Layer 1, head 1\",\"\",\"2,1\",0.8,,\n") && !heat.contains("NaN"));
    let medians = csv("medians");
    assert!(
        medians.contains("\"layer_norm = 5, run 8\",0,")
            && medians.contains("\"layer_norm = 5\",0,")
    );
    let grids = csv("grids");
    assert!(grids.contains("1,\"Final divergence, 6 rates\",\"\",\"absolute,1e-4\","));
    assert!(!grids.contains("\"none,4e-4\"") && !grids.contains("NaN"));
    assert!(csv("arcs").contains(",\"layer 1\",\"24,23\",0.85,"));
    assert!(csv("chain").contains(",\"transitions\",\"1,0\",0.123,"));
    assert!(csv("phases").contains(",\"A\",8000,,,\n"));
    let marks = csv("marks");
    assert!(marks.starts_with(
        "panel,title,series,x,y,low,high\n1,\"W_k after the first step\",\"\",\"0,0\",0.069,,\n"
    ));
    assert!(marks.contains(",\"drawn & counted\",2,0.5,0.375,inf\n"));
    assert!(marks.contains(",\"runs 2\",1,3,,\n"));
}

/// It loads nothing, and brings its fonts unless a page has them.
#[test]
fn files_are_self_contained() {
    let figure = named("marks");
    let (file, inline) = (figure.svg(720), figure.svg_inline(720));
    for svg in [&file, &inline] {
        let without_namespace = svg.replace("http://www.w3.org/2000/svg", "");
        assert!(!without_namespace.contains("http"));
    }
    assert!(file.contains("base64,") && !inline.contains("base64,"));
}

#[test]
fn a_png_has_the_size_of_the_layout_times_the_scale() {
    let figure = named("marks");
    let png = figure.png(720, 2);
    assert_eq!(&png[1..4], b"PNG");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    let (_, height) = figure.draw(720.0);
    assert_eq!((number(16), number(20)), (1440, 2 * height as u32));
}

/// No other font is at hand, so a family or weight that is not bundled would draw nothing or the same.
#[test]
fn text_is_drawn_with_the_bundled_font() {
    let drawn = |style: Style, family: &str| {
        let mut drawing = Drawing::default();
        drawing.text(20.0, 90.0, "Rg2η", style);
        let svg = drawing.document(240.0, 120.0, "", "");
        rendered(&svg.replace("Inter", family), 1)
    };
    let regular = Style::new(80.0, Colour::Ink, Anchor::Start);
    let ink =
        |pixels: &tiny_skia::Pixmap| pixels.pixels().iter().filter(|p| p.green() < 128).count();
    let [thin, bold] = [regular, regular.bold()].map(|style| drawn(style, "Inter"));
    assert!(ink(&thin) > 1000 && ink(&bold) > ink(&thin) + 200);
    assert_eq!(ink(&drawn(regular, "Arial")), 0);
}
