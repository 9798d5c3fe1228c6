//! A table of typed columns, and its form as a Parquet file.
//!
//! Text, whole numbers and numbers may be missing; a curve is a list of numbers per row. The bytes of a file follow
//! from the table alone.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
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

    /// The values of some rows.
    fn rows(&self, rows: &[usize]) -> Self {
        fn pick<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|&row| values[row].clone()).collect()
        }
        match self {
            Column::Text(values) => Column::Text(pick(values, rows)),
            Column::Whole(values) => Column::Whole(pick(values, rows)),
            Column::Real(values) => Column::Real(pick(values, rows)),
            Column::Curve(values) => Column::Curve(pick(values, rows)),
        }
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

    /// Some of its rows.
    #[must_use]
    pub fn rows(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter();
        let columns = columns.map(|(name, column)| (name.clone(), column.rows(rows)));
        Self {
            columns: columns.collect(),
        }
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
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
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

    /// The cells of a file, as the library's reader shows them.
    fn read(bytes: Vec<u8>) -> Vec<Vec<String>> {
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        let cell = |(_, cell): (&String, &Field)| cell.to_string();
        rows.map(|row| row.get_column_iter().map(cell).collect())
            .collect()
    }

    fn cells(table: &Table) -> Vec<Vec<String>> {
        let null = || Field::Null.to_string();
        let real = |value: &Option<f64>| value.map_or(null(), |v| Field::Double(v).to_string());
        let cell = |column: &Column, row: usize| match column {
            Column::Text(values) => {
                let text = values[row].clone();
                text.map_or(null(), |text| Field::Str(text).to_string())
            }
            Column::Whole(values) => values[row].map_or(null(), |v| Field::Long(v).to_string()),
            Column::Real(values) => real(&values[row]),
            Column::Curve(values) => values[row].as_ref().map_or(null(), |curve| {
                let points: Vec<String> = curve.iter().map(real).collect();
                format!("[{}]", points.join(", "))
            }),
        };
        let columns = || table.columns.iter();
        let of_row = |row| columns().map(|(_, column)| cell(column, row)).collect();
        (0..table.len()).map(of_row).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_file_has_the_cells_of_its_table(table in table()) {
            let bytes = table.to_parquet();
            prop_assert_eq!(&bytes, &table.to_parquet());
            prop_assert_eq!(read(bytes), cells(&table));
            let odd: Vec<usize> = (0..table.len()).filter(|row| row % 2 == 1).collect();
            let of_odd: Vec<_> = cells(&table).into_iter().skip(1).step_by(2).collect();
            prop_assert_eq!(cells(&table.rows(&odd)), of_odd);
        }
    }

    #[test]
    fn rows_beyond_a_group_are_kept() {
        let column = Column::Whole((0..GROUP as i64 + 5).map(Some).collect());
        let table = Table {
            columns: vec![("n".into(), column)],
        };
        assert_eq!(read(table.to_parquet()), cells(&table));
    }
}
