//! Records as a table: columns that NumPy and Arrow read where they lie.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use induct::measure::{Measure, SEQUENCES, STEP};
use induct::probe::History;
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::Failure;

/// One row per recorded step, by column.
#[pyclass(frozen, module = "induct._induct")]
pub struct Table {
    #[pyo3(get)]
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

enum Column {
    Whole(ScalarBuffer<i64>),
    /// A missing number is NaN.
    Real(ScalarBuffer<f64>),
}

impl Table {
    /// The records of a run, transposed once.
    pub fn of(history: &History) -> Self {
        let is_whole = |name: &str| [STEP.name(), SEQUENCES.name()].contains(&name);
        let column = |(index, name): (usize, &String)| {
            let values = history.rows().map(|row| row[index]);
            match is_whole(name) {
                true => Column::Whole(values.map(|value| value as i64).collect()),
                false => Column::Real(values.collect()),
            }
        };
        let names: Vec<String> = history.columns().iter().map(ToString::to_string).collect();
        Self {
            columns: names.iter().enumerate().map(column).collect(),
            rows: history.len(),
            names,
        }
    }

    fn schema(&self) -> SchemaRef {
        let field = |(name, column): (&String, &Column)| match column {
            Column::Whole(_) => Field::new(name, DataType::Int64, false),
            Column::Real(_) => Field::new(name, DataType::Float64, true),
        };
        let fields: Vec<Field> = self.names.iter().zip(&self.columns).map(field).collect();
        Arc::new(Schema::new(fields))
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let array = |column: &Column| -> ArrayRef {
            match column {
                Column::Whole(values) => Arc::new(Int64Array::new(values.clone(), None)),
                Column::Real(values) => {
                    let there: NullBuffer = values.iter().map(|value| !value.is_nan()).collect();
                    let missing = (there.null_count() > 0).then_some(there);
                    Arc::new(Float64Array::new(values.clone(), missing))
                }
            }
        };
        RecordBatch::try_new(self.schema(), self.columns.iter().map(array).collect())
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.rows
    }

    /// A column where it lies: nothing is copied, and nothing can be written.
    fn column<'py>(slf: &Bound<'py, Self>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let owner = slf.clone().into_any();
        match slf.get().columns.get(index) {
            Some(Column::Whole(values)) => Ok(view(values, owner)),
            Some(Column::Real(values)) => Ok(view(values, owner)),
            None => Err(Failure::input(format!("there is no column {index}")).into()),
        }
    }

    /// The columns through Arrow's C interface: `pyarrow`, pandas and polars take them as they are.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A request may be ignored: whoever asks converts what it gets.
        let _ = requested_schema;
        let batch = self.batch();
        let batch = batch.map_err(|error| PyErr::from(Failure::run(error.to_string())))?;
        let batches = RecordBatchIterator::new([Ok(batch)], self.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c_str!("arrow_array_stream"))
    }
}

/// An array for reading only, over numbers that `owner` holds.
#[expect(unsafe_code, reason = "NumPy's view keeps its owner alive")]
pub fn view<'py, T: Element>(numbers: &[T], owner: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    let seen = ArrayView1::from(numbers);
    // SAFETY: callers pass the object that owns the numbers, which never change; the array keeps it alive.
    let array = unsafe { PyArray1::borrow_from_array(&seen, owner) };
    array.readwrite().make_nonwriteable();
    array.into_any()
}
