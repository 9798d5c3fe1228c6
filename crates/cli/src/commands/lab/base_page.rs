//! The page that runs are put into.

use std::env;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use induct_lab_page::{Run, with_runs};

use crate::failure::Failure;
use crate::recipes::read_text;

/// What `./lab` calls it.
const NAME: &str = "lab.html";

const MOST_BYTES: u64 = 1 << 30;

const HOW: &str = "`./lab` in a clone of Induct makes one, and --page FILE says where it is";

pub struct BasePage {
    path: PathBuf,
    text: String,
}

impl BasePage {
    /// The page at a path; without one, that at the first place where it may be.
    pub fn find(given: Option<&Path>) -> Result<Self, Failure> {
        if let Some(path) = given {
            return Self::read(path);
        }
        let places = places();
        if let Some(path) = places.iter().find(|place| place.is_file()) {
            return Self::read(path);
        }
        let names: Vec<_> = places.iter().map(|place| place.to_string_lossy()).collect();
        Err(Failure::usage(format!(
            "there is no page to put runs into (looked for {}): {HOW}",
            names.join(", ")
        )))
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_text(path, MOST_BYTES).map_err(|error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::FileTooLarge => {
                refused(path, &error)
            }
            ErrorKind::NotFound => Failure::usage(format!(
                "--page {}: there is no such file; {HOW}",
                path.display()
            )),
            _ => Failure::usage(format!("cannot read {}: {error}", path.display())),
        })?;
        let path = path.to_owned();
        let page = Self { path, text };
        page.with(&[]).map(|_| page)
    }

    /// The page with runs inside.
    pub fn with(&self, runs: &[Run]) -> Result<String, Failure> {
        with_runs(&self.text, runs).map_err(|error| refused(&self.path, &error))
    }

    /// Refuses to write over this page, or over another one without runs: making it anew takes a build.
    pub fn check_stays(&self, out: &Path) -> Result<(), Failure> {
        let same = match (self.path.canonicalize(), out.canonicalize()) {
            (Ok(page), Ok(out)) => page == out,
            _ => false,
        };
        let base = |text: &str| with_runs(text, &[]).as_deref() == Ok(text);
        if same || read_text(out, MOST_BYTES).is_ok_and(|text| base(&text)) {
            let what = match same {
                true => "the page that runs are put into",
                false => "a page without runs, as `./lab` makes it",
            };
            return Err(Failure::usage(format!(
                "{} is {what}, and stays as it is: give another --out",
                out.display()
            )));
        }
        Ok(())
    }
}

fn refused(path: &Path, why: &dyn Display) -> Failure {
    Failure::usage(format!(
        "{} is not a page that runs can be put into ({why}): {HOW}",
        path.display()
    ))
}

/// Where the page may be: in this folder, beside this program, and at the root of the clone whose `target` folder
/// this program is in.
fn places() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from(NAME)];
    if let Ok(program) = env::current_exe() {
        places.extend(program.parent().map(|folder| folder.join(NAME)));
        let target = program.ancestors().find(|above| above.ends_with("target"));
        let clone = target.and_then(Path::parent);
        places.extend(clone.map(|clone| clone.join(NAME)));
    }
    places
}
