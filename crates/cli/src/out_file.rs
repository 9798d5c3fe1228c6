//! The file that `--out` names: its ending says what to write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use induct_figure::Figure;

use crate::failure::Failure;

/// A file to write, in a format that its ending names.
#[derive(Clone, Debug)]
pub struct OutFile {
    path: PathBuf,
    /// In lower case, without a dot.
    ending: &'static str,
}

impl OutFile {
    /// Reads the name of a picture's file. For `value_parser`.
    pub fn picture(text: &str) -> Result<Self, String> {
        Self::with_ending(text, &["svg", "png"])
    }

    /// Reads the name of a page's file. For `value_parser`.
    pub fn page(text: &str) -> Result<Self, String> {
        Self::with_ending(text, &["html"])
    }

    /// Reads the name of a table's file. For `value_parser`.
    pub fn table(text: &str) -> Result<Self, String> {
        Self::with_ending(text, &["parquet", "csv"])
    }

    pub fn is_csv(&self) -> bool {
        self.ending == "csv"
    }

    fn with_ending(text: &str, endings: &[&'static str]) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let given = path.extension().map(|ending| ending.to_ascii_lowercase());
        let mut known = endings.iter().copied();
        match known.find(|ending| given.as_deref() == Some(ending.as_ref())) {
            Some(ending) => Ok(Self { path, ending }),
            None => {
                let names: Vec<String> = endings.iter().map(|name| format!(".{name}")).collect();
                let one_of = if names.len() == 1 { "" } else { "one of " };
                Err(format!("a file that ends in {one_of}{}", names.join(", ")))
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a picture, `width` pixels wide; PNGs have twice as many.
    pub fn write_figure(&self, figure: &Figure, width: u32) -> Result<(), Failure> {
        match self.ending {
            "svg" => self.write(figure.svg(width).as_bytes()),
            _ => self.write(&figure.png(width, 2)),
        }
    }

    /// Writes the file, in place of any earlier one, which stays until the new one is whole.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        write_whole(&self.path, bytes).map_err(|error| {
            Failure::failed(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one: the file that it leads to is written.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&path) {
        // Nothing can take the place of a pipe or a device.
        Ok(about) if !about.is_file() => return fs::write(&path, bytes),
        // A file that must not be written must not be replaced either.
        Ok(_) => drop(OpenOptions::new().append(true).open(&path)?),
        Err(_) => {}
    }
    remove_leftovers(&path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let write = || {
        // Nothing that is there already, such as a link to somewhere else, is written through.
        let mut file = File::create_new(&part)?;
        // Tells other processes that it is no leftover; where files cannot be locked, none are removed.
        let _ = file.try_lock();
        file.write_all(bytes)?;
        fs::rename(&part, &path)
    };
    let written = write();
    if written.is_err() {
        // What is half-written is of no use; that it cannot be removed matters less than the first error.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Removes what killed writes of a file left beside it: nobody holds their locks any more.
fn remove_leftovers(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let start = format!(".{name}.");
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name
            .strip_prefix(&start)
            .and_then(|rest| rest.strip_suffix(".part"));
        let is_part = process.is_some_and(|id| id.parse::<u32>().is_ok())
            && entry.file_type().is_ok_and(|kind| kind.is_file());
        let is_left = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_part && is_left() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides_and_others_are_refused() {
        let format = |text: &str| OutFile::picture(text).map(|file| file.ending);
        assert_eq!(format("a/b.svg"), Ok("svg"));
        assert_eq!(format("b.PNG"), Ok("png"));
        for text in ["b.npz", "b", "svg", "b.svg.gz"] {
            let refused = format(text).unwrap_err();
            assert_eq!(refused, "a file that ends in one of .svg, .png", "{text}");
        }
        let refused = OutFile::page("b.svg").unwrap_err();
        assert_eq!(refused, "a file that ends in .html");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_is_left() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("b.html");
        for text in ["a longer text", "short"] {
            write_whole(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        // A write that was killed leaves a part, and one that goes on holds its lock.
        let [killed, going_on] = [1, 2].map(|id| folder.path().join(format!(".b.html.{id}.part")));
        fs::write(&killed, "half").unwrap();
        let held = File::create(&going_on).unwrap();
        held.lock().unwrap();
        write_whole(&path, b"again").unwrap();
        assert!(!killed.exists() && going_on.exists());
        drop(held);
        write_whole(&path, b"again").unwrap();
        // A folder cannot be written.
        assert!(write_whole(folder.path(), b"text").is_err());
        assert!(write_whole(&folder.path().join("absent/b.html"), b"text").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
