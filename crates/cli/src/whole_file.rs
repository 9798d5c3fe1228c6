//! Files that are never half-written, and what goes wrong with files.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use induct_figure::Figure;

use crate::failure::Failure;

/// Prefix of temporary names.
pub const TEMPORARY: &str = ".induct-";

/// Writes a file under a temporary name and renames it.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let attempt = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY);
        // Temporary files are private by default; results are made to be shared.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    };
    attempt().map_err(|error| cannot("write", path, &error, Failure::Failed))
}

/// Writes a figure as SVG, PNG (twice as many pixels as `width`) and CSV, under one name with three endings.
pub fn write_figure(folder: &Path, name: &str, figure: &Figure, width: u32) -> Result<(), Failure> {
    let file = |ending: &str| folder.join(format!("{name}.{ending}"));
    write_whole(&file("svg"), figure.svg(width).as_bytes())?;
    write_whole(&file("png"), &figure.png(width, 2))?;
    write_whole(&file("csv"), figure.csv().as_bytes())
}

/// Whether nothing is there.
pub fn is_empty_or_absent(path: &Path) -> Result<bool, Failure> {
    match fs::read_dir(path).map(Iterator::count) {
        Ok(entries) => Ok(entries == 0),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(cannot("use", path, &error, Failure::Mistake)),
    }
}

/// The error for what cannot be done with a file or folder.
pub fn cannot(
    what: &str,
    path: &Path,
    error: &std::io::Error,
    kind: impl Fn(String) -> Failure,
) -> Failure {
    kind(format!("cannot {what} {}: {error}", path.display()))
}
