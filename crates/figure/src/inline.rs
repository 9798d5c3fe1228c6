//! A figure for a page, with the frames of its plots: where a page can place a cursor.

use crate::figure::Figure;

/// A figure as SVG for a page that has the font, and where its plots are.
#[derive(Clone, Debug, PartialEq)]
pub struct Inline {
    /// The picture, as [`Figure::svg_inline`] gives it.
    pub svg: String,
    /// Its height in pixels.
    pub height: f64,
    /// The frames of all [plots](crate::Plot), in the order of panels.
    pub frames: Vec<PlotFrame>,
}

/// The frame of a plot: its edges in pixels from the upper left corner of the figure, and what its horizontal
/// axis shows there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotFrame {
    /// The left edge.
    pub left: f64,
    /// The upper edge.
    pub top: f64,
    /// The right edge.
    pub right: f64,
    /// The lower edge.
    pub bottom: f64,
    /// The numbers at the left and the right edge.
    pub x: (f64, f64),
}

impl Figure {
    /// SVG for a page that already has the font, with its height and the frames of its plots: `width` pixels
    /// wide (at least 240), following the reader's light or dark colour scheme.
    pub fn inline(&self, width: u32) -> Inline {
        let (drawing, height) = self.draw(f64::from(width));
        Inline {
            svg: drawing.document(f64::from(width), height, &self.description, ""),
            height,
            frames: drawing.frames,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Colour, Mark, Panel, Plot, Sentence, Series};

    const XS: [f64; 3] = [1.0, 20.0, 100.0];

    /// Two plots of a line, between sentences, which have no frame.
    fn figure(x: Axis) -> Figure {
        let plot = Panel::Plot(Plot {
            x,
            series: vec![Series::new(
                "falls",
                Colour::Blue,
                Mark::Line,
                XS.map(|x| (x, 1.0 / x)),
            )],
            ..Plot::default()
        });
        Figure {
            panels: vec![
                Panel::Sentence(Sentence::default()),
                plot.clone(),
                Panel::Sentence(Sentence::default()),
                plot,
            ],
            ..Figure::default()
        }
    }

    /// The horizontal pixels of the points of every line in this colour.
    fn drawn(svg: &str) -> Vec<Vec<f64>> {
        let colour = format!("stroke=\"{}\"", Colour::Blue.light());
        let paths = svg.split("<path d=\"M").skip(1);
        let lines = paths.filter(|path| path.contains(&colour) && path.contains('L'));
        let points = |path: &str| -> Vec<f64> {
            let numbers = path.split('"').next().unwrap().split(['L', ' ']);
            numbers.step_by(2).map(|x| x.parse().unwrap()).collect()
        };
        lines.map(points).collect()
    }

    #[test]
    fn a_frame_is_inside_the_figure_and_numbers_are_where_the_line_is_drawn() {
        for width in [360, 1000] {
            for x in [Axis::linear("x"), Axis::linear("x").range(-7.0, 120.0)] {
                let inline = figure(x).inline(width);
                let lines = drawn(&inline.svg);
                assert_eq!((inline.frames.len(), lines.len()), (2, 2), "{}", inline.svg);
                for (frame, line) in inline.frames.iter().zip(lines) {
                    assert!(0.0 < frame.left && frame.left < frame.right);
                    assert!(frame.right < f64::from(width));
                    assert!(0.0 < frame.top && frame.top < frame.bottom);
                    assert!(frame.bottom < inline.height);
                    assert_eq!(line.len(), XS.len());
                    for (x, pixel) in XS.into_iter().zip(line) {
                        let share = (x - frame.x.0) / (frame.x.1 - frame.x.0);
                        let expected = frame.left + share * (frame.right - frame.left);
                        // Coordinates are written with one decimal.
                        assert!((expected - pixel).abs() < 0.06);
                    }
                }
            }
        }
    }
}
