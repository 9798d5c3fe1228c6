//! What `induct theory --out DIR` leaves.

use std::fs;
use std::io::Read;
use std::path::Path;

use induct::theory::ledger::Entry;
use induct_paper::chapter;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::whole_file::{cannot, is_empty_or_absent, write_figure, write_whole};

/// Width of figures in files, in pixels; PNGs have twice as many.
const WIDTH: u32 = 720;

/// The first lines of `ledger.json`: by them a folder is known as one of ours.
const MADE_BY: &str = "{\n  \"made_by\": \"induct theory\",";

/// Refuses a folder that holds something else.
pub fn check(path: &Path) -> Result<(), Failure> {
    if is_empty_or_absent(path)? {
        return Ok(());
    }
    let mut start = vec![0; MADE_BY.len()];
    let read = fs::File::open(path.join("ledger.json")).and_then(|mut f| f.read_exact(&mut start));
    match read.is_ok() && start == MADE_BY.as_bytes() {
        true => Ok(()),
        false => Err(Failure::mistake(format!(
            "{} is not empty and was not made by `induct theory`; give another --out",
            path.display()
        ))),
    }
}

/// Writes the ledger, the figures and the page into `path`.
pub fn write(path: &Path, entries: &[Entry], ledger: Value) -> Result<(), Failure> {
    check(path)?;
    fs::create_dir_all(path).map_err(|error| cannot("create", path, &error, Failure::Failed))?;
    let mut whole = json!({ "made_by": "induct theory", "version": env!("CARGO_PKG_VERSION") });
    if let (Value::Object(whole), Value::Object(ledger)) = (&mut whole, ledger) {
        whole.extend(ledger);
    }
    let text = serde_json::to_string_pretty(&whole).expect("plain data") + "\n";
    write_whole(&path.join("ledger.json"), text.as_bytes())?;
    let figures = chapter::figures(entries);
    for figure in &figures {
        write_figure(path, figure.name, &figure.drawn, WIDTH)?;
    }
    let html = chapter::page(entries, &figures);
    write_whole(&path.join("theory.html"), html.as_bytes())
}
