//! A study's figures.

use induct_figure::Figure;
use serde::Deserialize;

use crate::claim::words;
use crate::results::Results;
use crate::study::tables;

/// A figure of a study, and how to draw it.
pub struct StudyFigure {
    /// Its number.
    pub number: u8,
    /// Its name, also of its files.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Whether the study adds it to those of its source.
    pub ours: bool,
    /// The experiments it needs; braces as in a shell: `main{,-clamped}`.
    needs: Vec<String>,
    /// How it is drawn.
    pub draw: Draw,
}

/// How a figure is drawn.
pub(crate) type Draw = fn(&Results) -> Illustration;

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
    /// All figures in a text like `figures.toml`, which is part of the program, numbered in their order; with
    /// how each is drawn, by its name.
    ///
    /// # Panics
    ///
    /// If it is not such a text.
    pub(crate) fn all_in(text: &str, draw: &[(&str, Draw)]) -> Vec<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Text {
            id: String,
            title: String,
            #[serde(default)]
            ours: bool,
            #[serde(default)]
            needs: Vec<String>,
        }
        let figure = |(number, text): (u8, Text)| Self {
            number,
            draw: draw
                .iter()
                .find(|(id, _)| *id == text.id)
                .expect(&text.id)
                .1,
            id: text.id,
            title: text.title,
            ours: text.ours,
            needs: text.needs,
        };
        (1..).zip(tables(text)).map(figure).collect()
    }

    /// The names of the experiments it needs.
    pub fn needs(&self) -> impl Iterator<Item = String> {
        self.needs.iter().flat_map(|pattern| words(pattern))
    }

    /// The stem of its file names, such as `01-phases`.
    pub fn file(&self) -> String {
        format!("{:02}-{}", self.number, self.id)
    }
}
