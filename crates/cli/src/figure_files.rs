//! Figures as files.

use induct_figure::Figure;
use induct_store::OutputFolder;

use crate::failure::Failure;

/// Writes a figure as SVG, PNG (at twice the resolution) and CSV, under one name with three extensions.
pub fn write_figure(
    folder: &OutputFolder,
    name: &str,
    figure: &Figure,
    width: u32,
) -> Result<(), Failure> {
    let file = |extension: &str| format!("{name}.{extension}");
    folder.write(&file("svg"), figure.svg(width).as_bytes())?;
    folder.write(&file("png"), &figure.png(width, 2))?;
    folder.write(&file("csv"), figure.csv().as_bytes())?;
    Ok(())
}
