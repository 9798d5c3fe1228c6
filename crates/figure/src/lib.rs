//! Figures: data in, SVG and PNG out. This crate knows nothing of experiments, models or strategies.
//!
//! A [`Figure`] consists of rows of [`Panel`]s: a [`Plot`] with axes, a small [`Matrix`] with its numbers in
//! the cells, a [`Heatmap`] of a large one, a [`Grid`] over the values of two keys, attention as [`Arcs`]
//! over symbols, a Markov [`Chain`] with its sequence, or a [`Sentence`] that says why there is none of
//! these. It is laid out for a width in pixels. If panels would become too narrow, fewer share a row, so the
//! same figure fits a text column and a phone with text of the same size. The frames of a row are aligned.
//!
//! All figures share one visual language: the colours of [`Colour`], which are distinct with any colour
//! vision, lines named where they end, horizontal axis labels, one font. The font is bundled: PNGs are drawn
//! with it and SVG files embed it, so a figure looks the same everywhere. SVGs follow the reader's light or
//! dark colour scheme. Without the feature `png`, which is on by default, there is no rasterizer to compile.

mod annotate;
mod axis;
mod chain;
mod colour;
mod csv;
mod figure;
mod font;
mod grid;
mod heatmap;
mod inline;
mod layout;
mod legend;
mod marks;
mod matrix;
mod path;
mod plot;
#[cfg(feature = "png")]
mod png;
mod scale;
mod sentence;
mod shade;
mod svg;
mod symbols;
#[cfg(test)]
mod tests;
mod text;

pub use annotate::{Level, Moment, Note, Region};
pub use axis::Axis;
pub use chain::Chain;
pub use colour::Colour;
pub use figure::{Figure, Panel};
pub use font::font_face_css;
pub use grid::Grid;
pub use heatmap::Heatmap;
pub use inline::{Inline, PlotFrame};
pub use marks::{Mark, Series, Value};
pub use matrix::Matrix;
pub use plot::{Family, Plot};
pub use scale::Scale;
pub use sentence::Sentence;
pub use symbols::{Arcs, arc_stroke};
pub use text::plain;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
