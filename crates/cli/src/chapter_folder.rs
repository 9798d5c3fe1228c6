//! What `induct theory --out DIR` writes.

use std::path::Path;

use induct_ledger::Entry;
use induct_store::{Mark, OutputFolder};
use induct_studies::paper::chapter;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::figure_files::write_figure;

/// Width of figures in files, in pixels; PNGs have twice as many.
const WIDTH: u32 = 720;

const MARK: Mark = Mark {
    file: "ledger.json",
    made_by: "induct theory",
    holds: "chapter of `induct theory`",
};

pub fn check(path: &Path) -> Result<(), Failure> {
    let elsewhere = "give another --out";
    MARK.check(path)
        .map_err(|error| Failure::from(error).with_advice(elsewhere))
}

pub fn write(path: &Path, entries: &[Entry], ledger: Value) -> Result<(), Failure> {
    check(path)?;
    let folder = OutputFolder::claim(path, MARK)?;
    let mut whole = json!({ "made_by": MARK.made_by, "version": env!("CARGO_PKG_VERSION") });
    if let (Value::Object(whole), Value::Object(ledger)) = (&mut whole, ledger) {
        whole.extend(ledger);
    }
    let text = serde_json::to_string_pretty(&whole).expect("plain data") + "\n";
    folder.write(MARK.file, text.as_bytes())?;
    let figures = chapter::figures(entries);
    for figure in &figures {
        write_figure(&folder, figure.name, &figure.drawn, WIDTH)?;
    }
    let html = chapter::page(entries, &figures);
    folder.write("theory.html", html.as_bytes())?;
    Ok(())
}
