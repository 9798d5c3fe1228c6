//! A table of typed columns, and its form as a Parquet file.
//!
//! Text, whole numbers and numbers may be missing; a curve is a list of numbers per row. The bytes of a file follow
//! from the table alone.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{PrimitiveTypeBuilder, Type, TypePtr};

/// Columns of equal length, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, in order.
    pub columns: Vec<(String, Column)>,
}

/// A column. A value may be missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Text.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Real(Vec<Option<f64>>),
    /// A list of numbers per row.
    Curve(Vec<Option<Vec<Option<f64>>>>),
}

/// A file that is no table of ours.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It is not a Parquet file, or a damaged one.
    #[error("it is not a sound Parquet file: {0}")]
    Parquet(#[from] ParquetError),
    /// It has a column of a type that no table of ours has.
    #[error("its column {0} has a type that a sweep does not write")]
    ForeignType(String),
}

/// Rows per group of a file: what a reader takes into memory at once.
const GROUP: usize = 1 << 16;

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Text(values) => values.len(),
            Column::Whole(values) => values.len(),
            Column::Real(values) => values.len(),
            Column::Curve(values) => values.len(),
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A value as text; empty if it is missing. A curve is written as its numbers with spaces between them.
    pub fn shown(&self, row: usize) -> String {
        let number = |value: &Option<f64>| value.map_or("NaN".into(), written);
        match self {
            Column::Text(values) => values[row].clone().unwrap_or_default(),
            Column::Whole(values) => values[row].map_or(String::new(), |v| v.to_string()),
            Column::Real(values) => values[row].map_or(String::new(), written),
            Column::Curve(values) => match &values[row] {
                Some(curve) => curve.iter().map(number).collect::<Vec<_>>().join(" "),
                None => String::new(),
            },
        }
    }

    /// A value as a number, if it is one.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Column::Whole(values) => values[row].map(|value| value as f64),
            Column::Real(values) => values[row],
            Column::Text(_) | Column::Curve(_) => None,
        }
    }

    fn schema(&self, name: &str) -> Result<TypePtr, ParquetError> {
        let made = match self {
            Column::Text(_) => primitive(name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .build()?,
            Column::Whole(_) => primitive(name, Physical::INT64).build()?,
            Column::Real(_) => primitive(name, Physical::DOUBLE).build()?,
            Column::Curve(_) => {
                let element = Arc::new(primitive("element", Physical::DOUBLE).build()?);
                let list = Type::group_type_builder("list")
                    .with_repetition(Repetition::REPEATED)
                    .with_fields(vec![element])
                    .build()?;
                Type::group_type_builder(name)
                    .with_repetition(Repetition::OPTIONAL)
                    .with_logical_type(Some(LogicalType::List))
                    .with_fields(vec![Arc::new(list)])
                    .build()?
            }
        };
        Ok(Arc::new(made))
    }

    fn write<W: std::io::Write + Send>(
        &self,
        rows: std::ops::Range<usize>,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let mut column = group.next_column()?.expect("the schema has every column");
        match self {
            Column::Text(values) => {
                let bytes = |text: &String| ByteArray::from(text.as_str());
                let (values, levels) = flat(&values[rows], bytes);
                let writer = column.typed::<ByteArrayType>();
                writer.write_batch(&values, Some(&levels), None)?;
            }
            Column::Whole(values) => {
                let (values, levels) = flat(&values[rows], |&value| value);
                let writer = column.typed::<Int64Type>();
                writer.write_batch(&values, Some(&levels), None)?;
            }
            Column::Real(values) => {
                let (values, levels) = flat(&values[rows], |&value| value);
                let writer = column.typed::<DoubleType>();
                writer.write_batch(&values, Some(&levels), None)?;
            }
            Column::Curve(curves) => {
                let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
                for curve in &curves[rows] {
                    let points = curve.as_deref().unwrap_or_default();
                    if points.is_empty() {
                        levels.push(i16::from(curve.is_some()));
                        repeats.push(0);
                    }
                    for (index, point) in points.iter().enumerate() {
                        levels.push(if point.is_some() { VALUE } else { MISSING });
                        repeats.push(i16::from(index > 0));
                        values.extend(point);
                    }
                }
                let writer = column.typed::<DoubleType>();
                writer.write_batch(&values, Some(&levels), Some(&repeats))?;
            }
        }
        column.close()
    }

    /// Appends what a group of a file has in the column at `index`.
    fn read(
        &mut self,
        index: usize,
        group: &dyn RowGroupReader,
        rows: usize,
    ) -> Result<(), ParquetError> {
        let reader = group.get_column_reader(index)?;
        match self {
            Column::Text(into) => {
                let (values, levels, _) = read_all::<ByteArrayType>(reader, rows, false)?;
                let texts = values
                    .iter()
                    .map(|bytes| bytes.as_utf8().map(str::to_owned));
                let texts = texts.collect::<Result<Vec<_>, _>>()?;
                into.extend(with_gaps(texts, &levels));
            }
            Column::Whole(into) => {
                let (values, levels, _) = read_all::<Int64Type>(reader, rows, false)?;
                into.extend(with_gaps(values, &levels));
            }
            Column::Real(into) => {
                let (values, levels, _) = read_all::<DoubleType>(reader, rows, false)?;
                into.extend(with_gaps(values, &levels));
            }
            Column::Curve(into) => {
                let (values, levels, repeats) = read_all::<DoubleType>(reader, rows, true)?;
                let mut values = values.into_iter();
                for (&level, &repeat) in levels.iter().zip(&repeats) {
                    if repeat == 0 {
                        into.push((level > 0).then(Vec::new));
                    }
                    if level >= MISSING
                        && let Some(Some(curve)) = into.last_mut()
                    {
                        curve.push(if level == VALUE { values.next() } else { None });
                    }
                }
            }
        }
        Ok(())
    }
}

/// A number as text; very large and very small ones with an exponent.
fn written(value: f64) -> String {
    let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
    match plain {
        true => value.to_string(),
        false => format!("{value:?}"),
    }
}

fn primitive(name: &str, physical: Physical) -> PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL)
}

/// Definition level of a number in a curve.
const VALUE: i16 = 3;
/// Definition level of a missing number in a curve.
const MISSING: i16 = 2;

/// The values that are there, and for each row whether it has one.
fn flat<T, V>(values: &[Option<T>], of: impl Fn(&T) -> V) -> (Vec<V>, Vec<i16>) {
    let there = values.iter().flatten().map(of).collect();
    let levels = values.iter().map(|value| i16::from(value.is_some()));
    (there, levels.collect())
}

fn with_gaps<T>(values: Vec<T>, levels: &[i16]) -> Vec<Option<T>> {
    let mut values = values.into_iter();
    let value = |&level: &i16| if level > 0 { values.next() } else { None };
    levels.iter().map(value).collect()
}

type Read<T> = (Vec<T>, Vec<i16>, Vec<i16>);

fn read_all<T: DataType>(
    reader: parquet::column::reader::ColumnReader,
    rows: usize,
    repeated: bool,
) -> Result<Read<T::T>, ParquetError> {
    let mut reader: ColumnReaderImpl<T> =
        parquet::column::reader::get_typed_column_reader::<T>(reader);
    let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let more = repeated.then_some(&mut repeats);
        let (records, _, _) =
            reader.read_records(rows - read, Some(&mut levels), more, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General("a column ends early".into()));
        }
        read += records;
    }
    Ok((values, levels, repeats))
}

impl Table {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let found = self.columns.iter().find(|(own, _)| own == name);
        found.map(|(_, column)| column)
    }

    /// Appends a column.
    pub fn push(&mut self, name: impl Into<String>, column: Column) {
        debug_assert!(self.columns.is_empty() || column.len() == self.len());
        self.columns.push((name.into(), column));
    }

    /// The column called `name` of rows picked from several tables, by table and row; missing where a table has no such
    /// column. `None` if no table has it.
    pub fn picked(tables: &[Self], picks: &[(usize, usize)], name: &str) -> Option<Column> {
        let columns: Vec<Option<&Column>> = tables.iter().map(|table| table.column(name)).collect();
        macro_rules! pick {
            ($kind:ident) => {
                Column::$kind(
                    picks
                        .iter()
                        .map(|&(table, row)| match columns[table] {
                            Some(Column::$kind(values)) => values[row].clone(),
                            _ => None,
                        })
                        .collect(),
                )
            };
        }
        Some(match columns.iter().flatten().next()? {
            Column::Text(_) => pick!(Text),
            Column::Whole(_) => pick!(Whole),
            Column::Real(_) => pick!(Real),
            Column::Curve(_) => pick!(Curve),
        })
    }

    /// Rows picked from several tables, with all columns that any of them has.
    pub fn joined(tables: &[Self], picks: &[(usize, usize)]) -> Self {
        let mut joined = Self::default();
        for (name, _) in tables.iter().flat_map(|table| &table.columns) {
            if joined.column(name).is_none() {
                let column = Self::picked(tables, picks, name).expect("a table has it");
                joined.push(name.clone(), column);
            }
        }
        joined
    }

    /// The table as a Parquet file.
    pub fn to_parquet(&self) -> Vec<u8> {
        self.write_parquet()
            .expect("writing to memory, in the types of the schema")
    }

    fn write_parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self
            .columns
            .iter()
            .map(|(name, column)| column.schema(name));
        let schema = Type::group_type_builder("sweep")
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("induct ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
        let rows = self.len();
        let mut first = 0;
        while first < rows {
            let last = rows.min(first + GROUP);
            let mut group = writer.next_row_group()?;
            for (_, column) in &self.columns {
                column.write(first..last, &mut group)?;
            }
            group.close()?;
            first = last;
        }
        writer.close()?;
        Ok(bytes)
    }

    /// Reads those columns of a Parquet file that `wants` names. The bytes must be as they were written: the format's
    /// reader may panic on damaged ones.
    pub fn from_parquet(bytes: Vec<u8>, wants: impl Fn(&str) -> bool) -> Result<Self, TableError> {
        let reader = SerializedFileReader::new(Bytes::from(bytes))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let mut table = Self::default();
        for index in 0..schema.num_columns() {
            let leaf = schema.column(index);
            let name = leaf.path().parts()[0].clone();
            if !wants(&name) {
                continue;
            }
            let mut column = match (leaf.physical_type(), leaf.max_rep_level()) {
                (Physical::BYTE_ARRAY, 0) => Column::Text(Vec::new()),
                (Physical::INT64, 0) => Column::Whole(Vec::new()),
                (Physical::DOUBLE, 0) => Column::Real(Vec::new()),
                (Physical::DOUBLE, 1) => Column::Curve(Vec::new()),
                _ => return Err(TableError::ForeignType(name)),
            };
            for group in 0..reader.num_row_groups() {
                let group = reader.get_row_group(group)?;
                let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
                column.read(index, &*group, rows)?;
            }
            table.push(name, column);
        }
        Ok(table)
    }

    /// The table as CSV.
    pub fn to_csv(&self) -> Vec<u8> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names = self.columns.iter().map(|(name, _)| name);
        writer.write_record(names).expect("writing to memory");
        for row in 0..self.len() {
            let cells = self.columns.iter().map(|(_, column)| column.shown(row));
            writer.write_record(cells).expect("writing to memory");
        }
        writer.into_inner().expect("writing to memory")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table() -> impl Strategy<Value = Table> {
        (0_usize..40).prop_flat_map(|rows| {
            let text = prop::collection::vec(prop::option::of("[a-zé ,\"]{0,6}"), rows);
            let whole = prop::collection::vec(prop::option::of(any::<i64>()), rows);
            let real = || prop::collection::vec(prop::option::of(-1e300..1e300), rows);
            let point = prop::option::of(-1e9..1e9);
            let curve =
                prop::collection::vec(prop::option::of(prop::collection::vec(point, 0..5)), rows);
            (text, whole, real(), curve).prop_map(|(text, whole, real, curve)| Table {
                columns: vec![
                    ("text".into(), Column::Text(text)),
                    ("whole".into(), Column::Whole(whole)),
                    ("final.kl_truth".into(), Column::Real(real)),
                    ("curve.kl_truth".into(), Column::Curve(curve)),
                ],
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_table_comes_back_from_its_file(table in table()) {
            let bytes = table.to_parquet();
            prop_assert_eq!(&bytes, &table.to_parquet());
            let back = Table::from_parquet(bytes.clone(), |_| true).unwrap();
            prop_assert_eq!(&back, &table);
            let some = Table::from_parquet(bytes, |name| name == "whole").unwrap();
            prop_assert_eq!(some.columns.len(), 1);
            prop_assert_eq!(some.column("whole"), table.column("whole"));
        }
    }

    #[test]
    fn rows_beyond_a_group_are_kept() {
        let column = Column::Whole((0..GROUP as i64 + 5).map(Some).collect());
        let table = Table {
            columns: vec![("n".into(), column)],
        };
        let back = Table::from_parquet(table.to_parquet(), |_| true).unwrap();
        assert_eq!(back, table);
    }
}
