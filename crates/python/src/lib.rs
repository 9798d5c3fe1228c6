//! Induct as a Python package.
//!
//! This crate is the part of it that is not Python: objects for recipes, runs, models, tables and figures, training
//! that Ctrl-C can stop, and the command line. `python/induct` is what people see.

mod errors;
mod figure;
mod model;
mod parts;
mod recipe;
mod run;
mod table;
mod threads;
mod training;
mod watch;
mod weights;

use std::ffi::OsString;

use induct::lanes;
use pyo3::prelude::*;

use crate::errors::Failure;

/// Does what the command line says, and returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| induct_cli::main(arguments))
}

/// The level of instructions that this process computes with.
#[pyfunction]
fn level() -> &'static str {
    lanes::instructions()
}

/// The levels that this machine has, best first.
#[pyfunction]
fn levels() -> Vec<&'static str> {
    lanes::levels().collect()
}

/// Makes this process compute at a level.
#[pyfunction]
fn use_level(name: &str) -> Result<(), Failure> {
    let used = lanes::use_level(name);
    used.map_err(|invalid| Failure::input(invalid.to_string()))
}

/// The native part of the package.
#[pymodule]
mod _induct {
    #[pymodule_export]
    use super::{
        command,
        figure::PyFigure,
        level, levels,
        model::{PyModel, model_of},
        parts::Part,
        recipe::{PyRecipe, columns, schema_json, settings},
        run::{PyRun, curves, diagram},
        table::Table,
        training::{train, train_many},
        use_level,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("version", env!("CARGO_PKG_VERSION"))?;
        module.add("numerics", induct::run::NUMERICS)
    }
}
