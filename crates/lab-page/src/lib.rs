//! Induct's page as one HTML file that needs nothing else: no server, no network, no installation.
//!
//! [`assemble`] puts scripts, styles, the font and the engine (a WebAssembly module) into the page.
//! [`with_runs`] puts files of runs into a page that was assembled before.
//!
//! Scripts are modules, as they stand in `crates/lab/page`: an import map leads from their names to their
//! texts. What is binary is compressed and written in letters.

use std::io::Write;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

/// What a page is made of.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// The page itself, with a place for each of the others.
    pub html: &'a str,
    /// Its style sheet.
    pub css: &'a str,
    /// The scripts of the page by their names, such as `state`; `main` is the one that starts.
    pub scripts: &'a [(&'a str, &'a str)],
    /// The script of its workers, which imports nothing.
    pub worker: &'a str,
    /// The engine.
    pub engine: &'a [u8],
    /// Rules for fonts and figures.
    pub figure_css: &'a str,
}

/// A run to put into a page: the files of its folder by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What the run is called.
    pub name: String,
    /// Names and bytes.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Why a page cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The page has no place for a part, or more than one.
    #[error("the page has no single place for {0}")]
    NoPlace(&'static str),
    /// A text would end the element that it is put into.
    #[error("{0} contains \"</script\" or \"</style\", which would end it too early")]
    EndsEarly(&'static str),
}

/// The most snapshots of a run, unless the user says otherwise: a scrubber has hardly room for more.
const MOST: usize = 200;

/// The most bytes that they take, unless the user says otherwise: such a page can still be sent to somebody.
const MOST_BYTES: usize = 8_000_000;

/// How many of a run's `count` snapshots, which take `bytes` together, a page has room for: two at least, the first
/// and the last.
pub fn room(count: usize, bytes: usize) -> usize {
    let each = bytes.div_ceil(count.max(1)).max(1);
    (MOST_BYTES / each).clamp(2, MOST)
}

/// The places in the page.
const CSS: &str = "/*css*/";
const FIGURE_CSS: &str = "/*figure-css*/";
const IMPORTS: &str = "/*imports*/";
const WORKER: &str = "/*worker*/";
const ENGINE: &str = "<!--engine-->";
/// Runs are between these two, so that they can be replaced.
const RUNS_BEGIN: &str = "<!--runs-->";
const RUNS_END: &str = "<!--end of runs-->";

/// The page with all its parts inside.
pub fn assemble(parts: &Parts) -> Result<String, PageError> {
    let imports: Vec<String> = parts
        .scripts
        .iter()
        .map(|(name, text)| {
            let text = BASE64_STANDARD.encode(text);
            format!("\"lab/{name}\":\"data:text/javascript;base64,{text}\"")
        })
        .collect();
    let imports = format!("{{\"imports\":{{{}}}}}", imports.join(","));
    let engine = format!(
        "<script type=\"text/plain\" id=\"engine\">{}</script>",
        packed(parts.engine)
    );
    let mut page = parts.html.to_owned();
    for (place, name, text) in [
        (CSS, "the style sheet", parts.css),
        (FIGURE_CSS, "the style of figures", parts.figure_css),
        (IMPORTS, "the scripts", &imports),
        (WORKER, "the script of workers", parts.worker),
        (ENGINE, "the engine", &engine),
    ] {
        let ends = |tag: &str| place != ENGINE && text.contains(tag);
        if ends("</script") || ends("</style") {
            return Err(PageError::EndsEarly(name));
        }
        page = put(&page, place, name, text)?;
    }
    with_runs(&page, &[])
}

/// An assembled page with these runs inside, in place of those that it has.
pub fn with_runs(page: &str, runs: &[Run]) -> Result<String, PageError> {
    let missing = || PageError::NoPlace("runs");
    let (before, rest) = page.split_once(RUNS_BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(RUNS_END).ok_or_else(missing)?;
    let mut inside = String::new();
    for run in runs {
        inside += &format!(
            "<script type=\"text/plain\" class=\"run\">{}</script>\n",
            packed(&bundle(run))
        );
    }
    Ok([before, RUNS_BEGIN, &inside, RUNS_END, after].concat())
}

fn put(page: &str, place: &str, name: &'static str, text: &str) -> Result<String, PageError> {
    match page.matches(place).count() {
        1 => Ok(page.replacen(place, text, 1)),
        _ => Err(PageError::NoPlace(name)),
    }
}

/// Bytes, compressed and in letters.
fn packed(bytes: &[u8]) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let written = packer.write_all(bytes).and_then(|()| packer.finish());
    BASE64_STANDARD.encode(written.expect("writing to memory"))
}

/// The files of a run one after another, each behind a line with its name and length: the first line is
/// that of the run, with the number of files.
fn bundle(run: &Run) -> Vec<u8> {
    let mut bytes = format!("{} {}\n", run.files.len(), one_line(&run.name)).into_bytes();
    for (name, file) in &run.files {
        bytes.extend(format!("{} {}\n", file.len(), one_line(name)).into_bytes());
        bytes.extend(file);
    }
    bytes
}

fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<style>/*figure-css*/\n/*css*/</style><script type=importmap>/*imports*/</script>\
                        <script id=worker>/*worker*/</script><!--engine--><!--runs--><!--end of runs-->";

    fn parts<'a>() -> Parts<'a> {
        Parts {
            html: PAGE,
            css: "body{}",
            scripts: &[
                ("main", "import 'lab/state';"),
                ("state", "export const x = 1;"),
            ],
            worker: "onmessage = () => {};",
            engine: b"\0asm",
            figure_css: "@font-face{}",
        }
    }

    #[test]
    fn all_parts_are_inside() {
        let page = assemble(&parts()).unwrap();
        let main = BASE64_STANDARD.encode("import 'lab/state';");
        for part in [
            "body{}",
            "@font-face{}",
            &main,
            "onmessage",
            "id=\"engine\">H4sI",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("/*"), "{page}");
    }

    #[test]
    fn runs_replace_those_that_were_there() {
        let run = |name: &str| Run {
            name: name.into(),
            files: vec![("recipe.toml".into(), b"name = 1".to_vec())],
        };
        let page = assemble(&parts()).unwrap();
        let two = with_runs(&page, &[run("a"), run("b")]).unwrap();
        assert_eq!(two.matches("class=\"run\"").count(), 2);
        assert_eq!(with_runs(&two, &[]).unwrap(), page);
        assert_eq!(with_runs("<p>", &[]), Err(PageError::NoPlace("runs")));
    }

    #[test]
    fn a_text_that_would_end_its_element_is_refused() {
        let mut parts = parts();
        parts.worker = "'</script>'";
        let name = "the script of workers";
        assert_eq!(assemble(&parts), Err(PageError::EndsEarly(name)));
        parts.html = "<p>";
        assert_eq!(assemble(&parts), Err(PageError::NoPlace("the style sheet")));
    }

    #[test]
    fn a_bundle_tells_names_and_lengths() {
        let run = Run {
            name: "a\nrun".into(),
            files: vec![("x".into(), vec![0, 1]), ("y/z".into(), vec![])],
        };
        assert_eq!(bundle(&run), b"2 a run\n2 x\n\0\x010 y/z\n");
    }

    #[test]
    fn there_is_room_for_a_few_megabytes() {
        assert_eq!(room(100, 100_000), MOST);
        assert_eq!(room(400, 4_000_000), MOST);
        assert_eq!(room(200, 16_000_000), 100);
        assert_eq!(room(3, 90_000_000), 2);
        assert_eq!(room(0, 0), MOST);
    }
}
