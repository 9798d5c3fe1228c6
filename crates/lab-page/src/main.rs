//! Assembles the page: `induct-lab-page ENGINE.wasm OUT.html`.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use induct_lab_page::{Parts, assemble};

/// Scripts of the page, by their names.
macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../lab/page/", $name, ".js")))),*]
    };
}

/// The scripts of the page.
const SCRIPTS: &[(&str, &str)] = scripts![
    "main",
    "blocks",
    "engine",
    "fields",
    "form",
    "intervene",
    "learning",
    "link",
    "model",
    "now",
    "page",
    "pictures",
    "recipe",
    "runs",
    "scrubber",
    "state",
    "stops",
    "take",
    "talk",
    "tour",
];

/// The largest page without runs that can still be sent by mail without a thought.
const LARGEST: usize = 4_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, out] = arguments.as_slice() else {
        eprintln!("induct-lab-page: give the engine and the page to write: ENGINE.wasm OUT.html");
        return ExitCode::from(2);
    };
    match write(Path::new(engine), Path::new(out)) {
        Ok(bytes) => {
            println!("{out} is written: {:.1} MB", bytes as f64 / 1e6);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("induct-lab-page: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(engine: &Path, out: &Path) -> Result<usize, Box<dyn Error>> {
    let read = std::fs::read(engine);
    let engine = read.map_err(|error| format!("cannot read {}: {error}", engine.display()))?;
    let page = assemble(&Parts {
        html: include_str!("../../lab/page/index.html"),
        css: include_str!("../../lab/page/style.css"),
        scripts: SCRIPTS,
        worker: include_str!("../../lab/page/worker.js"),
        engine: &engine,
        figure_css: &induct_figure::Figure::page_css(),
    })?;
    if page.len() > LARGEST {
        let size = page.len();
        return Err(format!("the page has {size} bytes; at most {LARGEST} are allowed").into());
    }
    let written = std::fs::write(out, &page);
    written.map_err(|error| format!("cannot write {}: {error}", out.display()))?;
    Ok(page.len())
}
