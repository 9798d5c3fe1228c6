//! A figure for a page, with the frames of its plots: where a page can place a cursor.

use crate::figure::{Figure, Panel};
use crate::scale::Scale;

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
    /// Which of [`Figure::panels`] it belongs to.
    pub panel: usize,
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
    /// How the numbers between them map to pixels.
    pub x_scale: Scale,
}

impl PlotFrame {
    /// The pixel at which a number of the horizontal axis is; `None` if it has no position.
    pub fn pixel_of(&self, x: f64) -> Option<f64> {
        let share = self.x_scale.place(self.x, x)?;
        Some(self.left + share * (self.right - self.left))
    }

    /// The number of the horizontal axis at a pixel.
    pub fn x_at(&self, pixel: f64) -> f64 {
        let share = (pixel - self.left) / (self.right - self.left);
        let (low, high) = self.x;
        match self.x_scale {
            Scale::Linear => low + share * (high - low),
            Scale::Log => low * (high / low).powf(share),
        }
    }
}

impl Figure {
    /// SVG for a page that already has the font, with its height and the frames of its plots: `width` pixels
    /// wide (at least 240), following the reader's light or dark colour scheme.
    pub fn inline(&self, width: u32) -> Inline {
        let (drawing, height) = self.draw(f64::from(width));
        let plots = self.panels.iter().enumerate();
        let plots = plots.filter_map(|(index, panel)| match panel {
            Panel::Plot(plot) => Some((index, plot)),
            _ => None,
        });
        // Panels are drawn in their order, and every plot draws one frame.
        let frames = plots.zip(&drawing.frames).map(|((panel, plot), frame)| {
            let ([left, top, right, bottom], x) = *frame;
            PlotFrame {
                panel,
                left,
                top,
                right,
                bottom,
                x,
                x_scale: plot.x.scale,
            }
        });
        Inline {
            svg: drawing.document(f64::from(width), height, &self.description, ""),
            height,
            frames: frames.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Colour, Mark, Plot, Sentence, Series};

    const XS: [f64; 3] = [1.0, 20.0, 100.0];

    /// A line between a sentence and another plot, so that panels and frames are not counted alike.
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
            for x in [
                Axis::linear("x"),
                Axis::linear("x").range(-7.0, 120.0),
                Axis::log("x"),
            ] {
                let inline = figure(x).inline(width);
                let panels: Vec<usize> = inline.frames.iter().map(|frame| frame.panel).collect();
                assert_eq!(panels, [1, 3]);
                let lines = drawn(&inline.svg);
                assert_eq!(lines.len(), 2, "{}", inline.svg);
                for (frame, line) in inline.frames.iter().zip(lines) {
                    assert!(0.0 < frame.left && frame.left < frame.right);
                    assert!(frame.right < f64::from(width));
                    assert!(0.0 < frame.top && frame.top < frame.bottom);
                    assert!(frame.bottom < inline.height);
                    assert_eq!(line.len(), XS.len());
                    for (x, pixel) in XS.into_iter().zip(line) {
                        // Coordinates are written with one decimal.
                        assert!((frame.pixel_of(x).unwrap() - pixel).abs() < 0.06);
                        let known = frame.x_at(frame.pixel_of(x).unwrap());
                        assert!((known - x).abs() < 1e-9 * x, "{known} {x}");
                    }
                }
            }
        }
    }

    #[test]
    fn frames_of_a_row_have_one_height_and_those_below_are_lower() {
        let mut figure = figure(Axis::linear("x"));
        figure
            .panels
            .retain(|panel| matches!(panel, Panel::Plot(_)));
        let frames = figure.inline(1000).frames;
        assert_eq!(
            (frames[0].top, frames[0].bottom),
            (frames[1].top, frames[1].bottom)
        );
        assert!(frames[0].right < frames[1].left);
        let frames = figure.inline(360).frames;
        assert!(frames[0].bottom < frames[1].top && frames[0].left == frames[1].left);
    }

    #[test]
    fn numbers_without_a_position_have_no_pixel() {
        let inline = figure(Axis::log("x")).inline(720);
        assert_eq!(inline.frames[0].pixel_of(0.0), None);
        assert_eq!(inline.frames[0].pixel_of(f64::NAN), None);
        assert!(Figure::default().inline(720).frames.is_empty());
    }
}
