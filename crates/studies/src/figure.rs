//! A study's figures.

use induct_figure::Figure;

use crate::claim::words;
use crate::results::Results;

/// A figure of a study, and how to draw it.
pub struct StudyFigure {
    /// Its number.
    pub number: u8,
    /// Its name, also of its files.
    pub id: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Whether the study adds it to those of its source.
    pub ours: bool,
    /// The experiments it needs; braces as in a shell: `main{,-clamped}`.
    pub needs: &'static [&'static str],
    /// How it is drawn.
    pub draw: fn(&Results) -> Illustration,
}

/// A figure, drawn.
pub struct Illustration {
    /// The figure itself.
    pub figure: Figure,
    /// How to read it, in about two sentences of HTML.
    pub reading: String,
    /// Frames for a slider that moves through training.
    pub slider: Option<Slider>,
}

/// Frames for a slider that moves through training: the weights of all arcs of a figure, one frame per
/// snapshot.
pub struct Slider {
    /// The figure whose arcs the frames set.
    pub figure: Figure,
    pub labels: Vec<String>,
    /// The weight of each arc in 255ths, in the order in which the figure draws them; one row per frame.
    pub weights: Vec<Vec<u8>>,
    pub first: usize,
}

impl Illustration {
    /// A figure without a slider.
    pub fn new(figure: Figure, reading: impl Into<String>) -> Self {
        Self {
            figure,
            reading: reading.into(),
            slider: None,
        }
    }
}

impl StudyFigure {
    /// The names of the experiments it needs.
    pub fn needs(&self) -> impl Iterator<Item = String> {
        self.needs.iter().flat_map(|pattern| words(pattern))
    }

    /// The stem of its file names, such as `01-phases`.
    pub fn file(&self) -> String {
        format!("{:02}-{}", self.number, self.id)
    }
}
