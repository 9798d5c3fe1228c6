//! Figures: SVG and PNG of what was drawn, and its numbers.

use induct_figure::Figure;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A figure that is drawn when it is asked for.
#[pyclass(frozen, module = "induct._induct", name = "Figure")]
pub struct PyFigure {
    figure: Figure,
    width: u32,
}

/// Pixels of a PNG per pixel of its SVG.
const SCALE: u32 = 2;

impl PyFigure {
    /// A figure at a width in pixels.
    pub fn new(figure: Figure, width: u32) -> Self {
        Self { figure, width }
    }
}

#[pymethods]
impl PyFigure {
    /// A file of its own, with its fonts inside.
    fn svg(&self) -> String {
        self.figure.svg(self.width)
    }

    fn png<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let png = py.detach(|| self.figure.png(self.width, SCALE));
        PyBytes::new(py, &png)
    }

    /// Its numbers, as a table in text.
    fn csv(&self) -> String {
        self.figure.csv()
    }

    /// What it shows, in a sentence.
    #[getter]
    fn description(&self) -> &str {
        &self.figure.description
    }
}
