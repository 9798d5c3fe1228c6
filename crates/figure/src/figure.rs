//! A figure: panels next to or below each other, as SVG or PNG.

use crate::chain::Chain;
use crate::colour::dark_css;
use crate::font::font_face_css;
use crate::grid::Grid;
use crate::heatmap::Heatmap;
use crate::layout::{self, Titled};
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
    pub(crate) fn part(&self) -> Titled<'_> {
        match self {
            Panel::Plot(plot) => (&plot.title, plot),
            Panel::Matrix(matrix) => (&matrix.title, matrix),
            Panel::Heatmap(map) => (&map.title, map),
            Panel::Grid(grid) => (&grid.title, grid),
            Panel::Arcs(arcs) => (&arcs.title, arcs),
            Panel::Chain(chain) => (&chain.title, chain),
            Panel::Sentence(sentence) => (&sentence.title, sentence),
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
        let instead = Sentence {
            text: self.description.clone(),
            ..Sentence::default()
        };
        let mut parts: Vec<Titled> = self.panels.iter().map(Panel::part).collect();
        if parts.is_empty() {
            parts.push(("", &instead));
        }
        let height = layout::draw(&parts, self.columns, width, &mut out);
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
