//! Figures as files.

use induct_figure::Figure;
use induct_store::OwnFolder;

use crate::failure::Failure;

/// Writes a figure as SVG, PNG (twice as many pixels as `width`) and CSV, under one name with three endings.
pub fn write_figure(
    folder: &OwnFolder,
    name: &str,
    figure: &Figure,
    width: u32,
) -> Result<(), Failure> {
    let file = |ending: &str| format!("{name}.{ending}");
    folder.write(&file("svg"), figure.svg(width).as_bytes())?;
    folder.write(&file("png"), &figure.png(width, 2))?;
    folder.write(&file("csv"), figure.csv().as_bytes())?;
    Ok(())
}
