//! A figure: panels next to or below each other, as SVG or PNG.

use crate::chain::Chain;
use crate::colour::dark_css;
use crate::font::font_face_css;
use crate::grid::Grid;
use crate::heatmap::Heatmap;
use crate::layout::{self, Part};
use crate::matrix::Matrix;
use crate::plot::Plot;
use crate::sentence::Sentence;
use crate::svg::Drawing;
use crate::symbols::Arcs;

/// A part of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// Lines, points, bands and bars over two axes.
    Plot(Plot),
    /// A small matrix with its numbers in the cells.
    Matrix(Matrix),
    /// A large matrix as a heat map.
    Heatmap(Heatmap),
    /// A number for every pair of values of two keys.
    Grid(Grid),
    /// Attention over a row of symbols.
    Arcs(Arcs),
    /// A Markov chain with a sequence drawn from it.
    Chain(Chain),
    /// A sentence in place of a plot.
    Sentence(Sentence),
}

impl Panel {
    pub(crate) fn title(&self) -> &str {
        self.part().title()
    }

    fn part(&self) -> &dyn Part {
        match self {
            Panel::Plot(plot) => plot,
            Panel::Matrix(matrix) => matrix,
            Panel::Heatmap(map) => map,
            Panel::Grid(grid) => grid,
            Panel::Arcs(arcs) => arcs,
            Panel::Chain(chain) => chain,
            Panel::Sentence(sentence) => sentence,
        }
    }
}

/// A figure made of panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows, in one sentence, for readers who cannot see it. A figure without panels shows this
    /// sentence instead.
    pub description: String,
    /// Its panels, in reading order.
    pub panels: Vec<Panel>,
    /// The number of panels in a row if the width allows; fewer if it does not, and one on a phone.
    pub columns: usize,
}

impl Default for Figure {
    fn default() -> Self {
        Self {
            description: String::new(),
            panels: Vec::new(),
            columns: 2,
        }
    }
}

impl Figure {
    pub(crate) fn draw(&self, width: f64) -> (Drawing, f64) {
        let mut out = Drawing::default();
        let parts: Vec<&dyn Part> = self.panels.iter().map(Panel::part).collect();
        let height = match parts.is_empty() {
            true => layout::draw_sentence(&self.description, width, &mut out),
            false => layout::draw(&parts, self.columns, width, &mut out),
        };
        (out, height)
    }

    /// SVG for a page that already has the font: `width` pixels wide (at least 240), following the reader's
    /// light or dark colour scheme. [`Figure::inline`] also says where the plots are.
    pub fn svg_inline(&self, width: u32) -> String {
        self.inline(width).svg
    }

    /// The CSS rules that a page with inline figures needs once.
    pub fn page_css() -> String {
        font_face_css() + &dark_css()
    }

    /// A self-contained SVG file with the font embedded.
    pub fn svg(&self, width: u32) -> String {
        let (drawing, height) = self.draw(f64::from(width));
        let style = Self::page_css();
        drawing.document(f64::from(width), height, &self.description, &style) + "\n"
    }

    /// The numbers behind it as CSV: one row per point or cell.
    pub fn csv(&self) -> String {
        crate::csv::csv(self)
    }
}

#[cfg(test)]
mod tests {
    use resvg::{tiny_skia, usvg};

    use super::*;
    use crate::font;
    use crate::png::rendered;
    use crate::svg::{Anchor, Style};
    use crate::{Axis, Colour, Mark, Note, Series};

    fn busy() -> Figure {
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
            Series::new("", Colour::Blue, Mark::Bars, [(1.0, 2.0), (2.0, -1e6)]),
            Series::new(
                "band",
                Colour::Amber,
                Mark::Band,
                [(1.0, 2.0), (2.0, f64::NAN)],
            ),
            Series::new("steps", Colour::Pink, Mark::Steps, [(1.0, 2.0), (2.0, 3.0)]),
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
        Figure {
            description: "a test".into(),
            panels: vec![Panel::Matrix(matrix), Panel::Plot(plot), Panel::Plot(bars)],
            ..Figure::default()
        }
    }

    #[test]
    fn no_text_leaves_the_figure() {
        for width in [340, 360, 720, 1000] {
            let (drawing, _) = busy().draw(f64::from(width));
            for word @ [left, _, right, _] in &drawing.words {
                let inside = *left >= 0.0 && *right <= f64::from(width);
                assert!(inside, "{width}: {word:?}");
            }
        }
    }

    #[test]
    fn files_are_well_formed_and_self_contained() {
        for svg in [busy().svg(720), busy().svg_inline(360)] {
            let parsed = usvg::roxmltree::Document::parse(&svg).unwrap();
            let root = parsed.root_element();
            assert_eq!(root.tag_name().name(), "svg");
            assert!(root.attribute("viewBox").is_some());
            let without_namespace = svg.replace("http://www.w3.org/2000/svg", "");
            assert!(!without_namespace.contains("http"));
        }
        assert!(busy().svg(720).contains("base64,"));
        let inline = busy().svg_inline(720);
        assert!(!inline.contains("base64,") && !inline.contains("NaN") && !inline.contains("inf"));
    }

    #[test]
    fn a_png_has_the_size_of_the_layout_times_the_scale() {
        let png = busy().png(720, 2);
        assert_eq!(&png[1..4], b"PNG");
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        let (_, height) = busy().draw(720.0);
        assert_eq!((number(16), number(20)), (1440, 2 * height as u32));
    }

    /// The difference between two images relative to the ink of the first: 0 if equal, 1 if the second is
    /// blank.
    fn apart(a: &tiny_skia::Pixmap, b: &tiny_skia::Pixmap) -> f64 {
        let ink = |pixels: &tiny_skia::Pixmap| -> Vec<f64> {
            let bytes = pixels.pixels().iter().map(|pixel| pixel.green());
            bytes.map(|green| 255.0 - f64::from(green)).collect()
        };
        let (a, b) = (ink(a), ink(b));
        let difference: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum();
        difference / a.iter().sum::<f64>()
    }

    #[test]
    fn text_is_drawn_with_the_bundled_font() {
        for (letter, bold) in [
            ("R", false),
            ("g", false),
            ("2", false),
            ("R", true),
            ("η", true),
        ] {
            // The outline taken straight from the font file and filled by the rasterizer.
            let outline = font::outline(letter, 80.0, bold);
            let outline = format!("path d=\"{outline}\" transform=\"translate(20 90)\"");
            let mut known = Drawing::default();
            known.fill(&outline, Colour::Ink, 1.0);
            let known = rendered(&known.document(120.0, 120.0, "", ""), 1);

            let mut style = Style::new(80.0, Colour::Ink, Anchor::Start);
            style.bold = bold;
            let mut written = Drawing::default();
            written.text(20.0, 90.0, letter, style);
            let written = written.document(120.0, 120.0, "", "");
            let off = apart(&known, &rendered(&written, 1));
            assert!(off < 0.02, "{letter}: {off}");

            // A different family or weight is detected.
            let other_family = written.replace("Inter", "Arial");
            assert_ne!(other_family, written);
            let off = apart(&known, &rendered(&other_family, 1));
            assert!(off > 0.1, "{letter} in another family: {off}");
            let other_weight = match bold {
                true => written.replace("600", "400"),
                false => written.replace("<text", "<text font-weight=\"600\""),
            };
            let off = apart(&known, &rendered(&other_weight, 1));
            assert!(off > 0.05, "{letter} in another weight: {off}");
        }
    }

    #[test]
    fn the_numbers_are_exported() {
        let csv = busy().csv();
        assert!(csv.starts_with(
            "panel,title,series,x,y,low,high\n1,\"W_k after the first step\",\"\",\"0,0\",0.069,,\n"
        ));
        let title = "A title that is so long that it must be broken into several lines";
        let row = format!("2,\"{title}\",\"drawn & counted\",2,0.5,0.375,inf\n");
        assert!(csv.contains(&row));
    }
}
