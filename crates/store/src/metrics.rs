//! `metrics.csv`: a header and one line per recorded step. Each line has its own checksum, so that the file
//! can grow.

use std::fmt::Write;

use induct::internal::digest;
use induct::measure::Column;
use induct::probe::History;

/// Name of the last column.
const CHECK: &str = "checksum";
/// What is wrong with a file of another recipe.
pub const OTHER_COLUMNS: &str = "its columns are not the ones that the recipe records";
/// Number of digits of a line's checksum.
const DIGITS: usize = 8;

/// The first line.
pub fn header(columns: &[Column]) -> String {
    let mut line = String::new();
    for column in columns {
        write!(line, "{column},").expect("writing to memory");
    }
    line + CHECK + "\n"
}

/// The line of one row.
pub fn line(row: &[f64], lineage: &str) -> String {
    let mut line = String::new();
    for value in row {
        if !value.is_nan() {
            write!(line, "{value}").expect("writing to memory");
        }
        line.push(',');
    }
    let check = checksum(&line, lineage);
    line + &check + "\n"
}

/// Covers the lineage too: a line of another run is as wrong as a damaged one.
fn checksum(line: &str, lineage: &str) -> String {
    let mut digits = digest::hex(&[lineage.as_bytes(), line.as_bytes()]);
    digits.truncate(DIGITS);
    digits
}

/// The whole file.
pub fn file(history: &History, lineage: &str) -> String {
    let mut text = header(history.columns());
    for row in history.rows() {
        text += &line(row, lineage);
    }
    text
}

/// What could be read from a file.
pub struct Rows {
    /// The rows before the first damaged one.
    pub history: History,
    /// What is wrong with the damaged row, if there is one.
    pub wrong: Option<String>,
    /// Whether the damaged row is the last: then a write was interrupted.
    pub torn: bool,
}

/// The names of a file's columns.
pub fn names(bytes: &[u8]) -> Vec<&str> {
    let line = bytes.split(|&byte| byte == b'\n').next();
    let line = std::str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
    let columns = line
        .strip_suffix(CHECK)
        .and_then(|line| line.strip_suffix(','));
    columns.map_or(Vec::new(), |columns| columns.split(',').collect())
}

/// Reads a file with the given columns.
pub fn read(bytes: &[u8], columns: Vec<Column>, lineage: &str) -> Result<Rows, String> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err("it is not UTF-8 text".into());
    };
    let expected = header(&columns);
    let Some(body) = text.strip_prefix(&expected) else {
        return Err(OTHER_COLUMNS.into());
    };
    let mut history = History::new(columns);
    let mut lines = body.split_inclusive('\n').enumerate();
    let mut wrong = None;
    for (index, line) in lines.by_ref() {
        let row = parse(line, lineage);
        let taken = row.and_then(|row| history.push(&row).map_err(|bad| bad.to_string()));
        if let Err(what) = taken {
            wrong = Some(format!("line {}: {what}", index + 2));
            break;
        }
    }
    let torn = lines.next().is_none();
    Ok(Rows {
        history,
        wrong,
        torn,
    })
}

fn parse(line: &str, lineage: &str) -> Result<Vec<f64>, String> {
    let line = line.strip_suffix('\n').ok_or("it is cut off")?;
    let split = line.rfind(',').map_or(0, |comma| comma + 1);
    let (cells, check) = line.split_at(split);
    if checksum(cells, lineage) != check {
        return Err("its checksum does not match".into());
    }
    let number = |cell: &str| match cell {
        "" => Ok(f64::NAN),
        _ => cell
            .parse()
            .map_err(|_| format!("\"{cell}\" is not a number")),
    };
    let cells = cells.strip_suffix(',').unwrap_or(cells);
    cells.split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use induct::measure::{KL_TRUTH, STEP};

    use super::*;

    fn columns() -> Vec<Column> {
        vec![(&STEP).into(), (&KL_TRUTH).into()]
    }

    fn history() -> History {
        let mut history = History::new(columns());
        for (step, kl) in [(0.0, 0.2120412), (20.0, f64::NAN), (40.0, 1e-300)] {
            history.push(&[step, kl]).unwrap();
        }
        history
    }

    #[test]
    fn what_is_written_is_read() {
        let text = file(&history(), "abc");
        let read = read(text.as_bytes(), columns(), "abc").unwrap();
        assert_eq!(read.history, history());
        assert_eq!(read.wrong, None);
    }

    #[test]
    fn a_flipped_bit_is_found_wherever_it_is() {
        let text = file(&history(), "abc").into_bytes();
        for at in 0..text.len() {
            let mut damaged = text.clone();
            damaged[at] ^= 1;
            let sound = read(&damaged, columns(), "abc").is_ok_and(|read| read.wrong.is_none());
            assert!(!sound, "byte {at}");
        }
    }

    #[test]
    fn a_torn_last_line_is_distinguished_from_damage_before_it() {
        let text = file(&history(), "abc");
        let cut = read(&text.as_bytes()[..text.len() - 5], columns(), "abc").unwrap();
        assert_eq!((cut.history.len(), cut.torn), (2, true));
        let flipped = text.replacen("20,", "30,", 1);
        let flipped = read(flipped.as_bytes(), columns(), "abc").unwrap();
        assert_eq!((flipped.history.len(), flipped.torn), (1, false));
        assert!(
            read(text.as_bytes(), columns(), "another run")
                .unwrap()
                .wrong
                .is_some()
        );
    }
}
