//! `induct lab` as a user runs it, with a base page that has nothing but a place for runs.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use induct_store::{RunFiles, RunFolder};
use serde_json::json;
use tempfile::TempDir;

use crate::program::{SMALL, small_run, succeed, text, train_arguments};

const PAGE: &str = "<p>before</p><!--runs--><!--end of runs--><p>after</p>";

/// A folder with a base page, in which commands are run.
struct Here(TempDir);

impl Here {
    fn new() -> Self {
        let here = Self(TempDir::new().unwrap());
        fs::write(here.path("lab.html"), PAGE).unwrap();
        here
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A small run in this folder.
    fn train(&self, name: &str, sets: &[&str]) {
        let out = self.path(name);
        let sets = [&SMALL[..], sets].concat();
        succeed(&train_arguments("main", out.to_str().unwrap(), &sets));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command(
            Path::new(env!("CARGO_BIN_EXE_induct")),
            self.0.path(),
            arguments,
        )
    }

    /// What a command prints, and what it notes.
    fn succeed(&self, arguments: &[&str]) -> (String, String) {
        let output = self.command(arguments).output().unwrap();
        let notes = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {notes}");
        (text(&output.stdout), notes)
    }

    /// The message of a command that must fail, and leave nothing behind.
    fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let before = files_in(self.0.path());
        let message = refused(code, &self.command(arguments).output().unwrap());
        assert_eq!(files_in(self.0.path()), before, "{arguments:?}");
        message
    }

    /// The runs in a page.
    fn runs_in(&self, page: &str) -> Vec<(String, RunFiles)> {
        runs_in(&fs::read_to_string(self.path(page)).unwrap())
    }
}

fn command(program: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn refused(code: i32, output: &Output) -> String {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

/// The files directly in a folder, with their bytes.
fn files_in(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<(PathBuf, Vec<u8>)> = paths
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Reads the runs in a page, as its scripts do.
fn runs_in(page: &str) -> Vec<(String, RunFiles)> {
    let (before, rest) = page.split_once("<!--runs-->").unwrap();
    let (runs, after) = rest.split_once("<!--end of runs-->").unwrap();
    assert_eq!((before, after), ("<p>before</p>", "<p>after</p>"));
    let packed = runs
        .split("<script type=\"text/plain\" class=\"run\">")
        .skip(1);
    let unpacked = packed.map(|packed| {
        let (letters, _) = packed.split_once("</script>").unwrap();
        let bytes = BASE64_STANDARD.decode(letters).unwrap();
        let mut bundle = Vec::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut bundle)
            .unwrap();
        unbundled(&bundle)
    });
    unpacked.collect()
}

fn unbundled(mut bytes: &[u8]) -> (String, RunFiles) {
    let (count, run) = line(&mut bytes);
    let mut files = RunFiles::default();
    for _ in 0..count {
        let (length, name) = line(&mut bytes);
        let (file, rest) = bytes.split_at(length);
        files.insert(name, file.to_vec());
        bytes = rest;
    }
    assert!(bytes.is_empty());
    (run, files)
}

/// A number and a name, up to the end of a line.
fn line(bytes: &mut &[u8]) -> (usize, String) {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let line = text(&bytes[..end]);
    *bytes = &bytes[end + 1..];
    let (number, name) = line.split_once(' ').unwrap();
    (number.parse().unwrap(), name.to_owned())
}

/// Reads all that a page reads of a run: the steps of its snapshots.
fn read_as_a_page(name: &str, files: &RunFiles) -> Vec<u64> {
    let run = RunFolder::of_files(name, files.clone()).unwrap();
    assert_eq!(run.history().unwrap().steps(), [0, 20, 30]);
    assert!(run.summary().unwrap().is_some());
    let steps = run.snapshot_steps().unwrap();
    for &step in &steps {
        run.snapshot(Some(step)).unwrap();
    }
    run.snapshot(None).unwrap();
    steps
}

#[test]
fn a_run_is_inside_to_the_byte_and_the_base_page_stays() {
    let here = Here::new();
    here.train("runs/main", &[]);
    let (printed, notes) = here.succeed(&["lab", "runs/main"]);
    assert_eq!(printed, "lab-main.html is written: 1 run, 0.0 MB\n");
    assert_eq!(notes, "");
    let inside = here.runs_in("lab-main.html");
    assert_eq!(inside.len(), 1);
    let (name, files) = &inside[0];
    assert_eq!(name, "runs/main");
    assert_eq!(read_as_a_page(name, files), [0, 20, 30]);
    let on_disk = RunFolder::open(&here.path("runs/main")).unwrap();
    let mut expected = on_disk.files().unwrap();
    assert!(expected.remove("checkpoint.safetensors").is_some());
    assert_eq!(*files, expected);
    assert_eq!(fs::read_to_string(here.path("lab.html")).unwrap(), PAGE);
    // Nothing else is left, and the page can be written again.
    assert_eq!(files_in(here.0.path()).len(), 2);
    here.succeed(&["lab", "runs/main"]);
}

#[test]
fn several_runs_are_inside_in_order() {
    let here = Here::new();
    for name in ["runs/b", "runs/a", "other"] {
        here.train(name, &[]);
    }
    let (printed, _) = here.succeed(&["lab", "other", "runs"]);
    assert!(printed.starts_with("lab-runs.html is written: 3 runs, "));
    let inside = here.runs_in("lab-runs.html");
    let names: Vec<&str> = inside.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["other", "runs/a", "runs/b"]);
    // A page with runs will do as well: they are replaced.
    let again = ["lab", "other", "--page", "lab-runs.html", "--out", "x.html"];
    let (printed, _) = here.succeed(&again);
    assert!(printed.starts_with("x.html is written: 1 run, "));
    assert_eq!(here.runs_in("x.html").len(), 1);
}

#[test]
fn snapshots_are_left_out_evenly_and_the_page_reads_the_others() {
    let here = Here::new();
    here.train("a", &[]);
    for (most, kept) in [("3", &[0, 20, 30][..]), ("2", &[0, 30]), ("1", &[30])] {
        let (_, notes) = here.succeed(&["lab", "a", "--snapshots", most]);
        let left_out = 3 - kept.len();
        let said = format!(
            "left out: {left_out} of 3 snapshots, so that those inside are evenly spread; --snapshots 3 keeps all\n"
        );
        assert_eq!(notes, if left_out > 0 { said } else { String::new() });
        let (name, files) = here.runs_in("lab-a.html").remove(0);
        assert_eq!(read_as_a_page(&name, &files), kept);
    }
}

#[test]
fn many_snapshots_are_left_out_unless_all_are_asked_for() {
    let here = Here::new();
    here.train(
        "a",
        &["record.every=1", "train.steps=250", "record.snapshots=251"],
    );
    for (arguments, kept) in [(&[][..], 200), (&["--snapshots", "251"], 251)] {
        let (printed, notes) = here.succeed(&[&["lab", "a", "--json"], arguments].concat());
        let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed["runs"][0]["snapshots"], kept);
        assert_eq!(printed["runs"][0]["left_out"], 251 - kept);
        assert_eq!(notes.contains("--snapshots 251 keeps all"), kept == 200);
    }
}

#[test]
fn json_says_what_is_inside() {
    let here = Here::new();
    for name in ["a", "b"] {
        here.train(name, &[]);
    }
    let arguments = [
        "lab",
        "a",
        "b",
        "--out",
        "x.html",
        "--snapshots",
        "2",
        "--json",
    ];
    let (printed, _) = here.succeed(&arguments);
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let expected = json!({
        "page": "x.html",
        "bytes": fs::metadata(here.path("x.html")).unwrap().len(),
        "runs": [
            { "run": "a", "snapshots": 2, "left_out": 1 },
            { "run": "b", "snapshots": 2, "left_out": 1 },
        ],
    });
    assert_eq!(printed, expected);
}

#[test]
fn a_run_that_has_not_ended_is_taken() {
    let here = Here::new();
    here.train("a", &[]);
    fs::remove_file(here.path("a/summary.json")).unwrap();
    fs::remove_file(here.path("a/snapshots/step-000030.safetensors")).unwrap();
    here.succeed(&["lab", "a"]);
    let (name, files) = here.runs_in("lab-a.html").remove(0);
    let run = RunFolder::of_files(&name, files).unwrap();
    assert_eq!(run.snapshot_steps().unwrap(), [0, 20]);
}

#[test]
fn damaged_runs_are_refused_or_left_out_of_a_folder() {
    let here = Here::new();
    for name in ["runs/a", "runs/b"] {
        here.train(name, &[]);
    }
    let snapshot = "runs/a/snapshots/step-000020.safetensors";
    let mut bytes = fs::read(here.path(snapshot)).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(here.path(snapshot), bytes).unwrap();
    // Also if it would be left out.
    for arguments in [&[][..], &["--snapshots", "2"]] {
        let message = here.fail(2, &[&["lab", "runs/a"], arguments].concat());
        assert!(message.contains(snapshot), "{message}");
        assert!(message.contains("checksum"), "{message}");
    }
    let (printed, notes) = here.succeed(&["lab", "runs"]);
    assert!(printed.contains("1 run,"), "{printed}");
    assert!(
        notes.contains("left out:") && notes.contains(snapshot),
        "{notes}"
    );
    assert_eq!(here.runs_in("lab-runs.html")[0].0, "runs/b");
    fs::remove_file(here.path("lab-runs.html")).unwrap();
    // Of a run that has ended, nothing may be missing.
    let missing = "runs/b/snapshots/step-000020.safetensors";
    fs::remove_file(here.path(missing)).unwrap();
    let message = here.fail(2, &["lab", "runs/b"]);
    assert!(message.contains(missing), "{message}");
    let message = here.fail(2, &["lab", "runs"]);
    assert!(message.contains("runs holds no sound run"), "{message}");
}

#[test]
fn pages_without_runs_are_never_written_over() {
    let here = Here::new();
    here.train("a", &[]);
    fs::create_dir(here.path("inner")).unwrap();
    fs::write(here.path("other.html"), PAGE).unwrap();
    for out in ["lab.html", "./lab.html", "inner/../lab.html"] {
        let message = here.fail(2, &["lab", "a", "--out", out]);
        assert!(message.contains("that runs are put into"), "{message}");
        assert!(message.contains("give another --out"), "{message}");
    }
    let message = here.fail(2, &["lab", "a", "--out", "other.html"]);
    assert!(message.contains("a page without runs"), "{message}");
    // A page with runs stays too while another one is made of it.
    here.succeed(&["lab", "a"]);
    let message = here.fail(2, &["lab", "a", "--page", "lab-a.html"]);
    assert!(message.contains("lab-a.html is the page"), "{message}");
}

#[test]
fn the_page_is_looked_for_here_beside_the_program_and_in_its_clone() {
    // In the same file system as the program, so that a link will do: a program that was just copied may still be
    // open for writing in a process that another test starts.
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| folder.path().join(name);
    let built = Path::new(env!("CARGO_BIN_EXE_induct"));
    fs::create_dir_all(path("clone/target/release")).unwrap();
    fs::create_dir(path("here")).unwrap();
    let program = path("clone/target/release").join(built.file_name().unwrap());
    fs::hard_link(built, &program).unwrap();
    let run = small_run(&folder);
    let lab = || {
        command(&program, &path("here"), &["lab", &run])
            .output()
            .unwrap()
    };
    let message = refused(2, &lab());
    let beside = path("clone/target/release/lab.html");
    for part in [
        beside.to_str().unwrap(),
        path("clone/lab.html").to_str().unwrap(),
        "`./lab`",
        "--page FILE",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    // The later it is written, the sooner it is found.
    for (place, name) in [
        (path("clone/lab.html"), "clone"),
        (beside, "beside"),
        (path("here/lab.html"), "here"),
    ] {
        fs::write(place, format!("{name}{PAGE}")).unwrap();
        let output = lab();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let page = fs::read_to_string(path("here/lab-run.html")).unwrap();
        assert!(page.starts_with(&format!("{name}<p>")), "{page}");
    }
}

#[test]
fn mistakes_are_named_with_what_is_allowed() {
    let here = Here::new();
    here.train("a", &[]);
    fs::write(here.path("other.html"), "<p>not such a page</p>").unwrap();
    fs::write(here.path("bytes.html"), b"\xff\xfe").unwrap();
    fs::create_dir(here.path("empty")).unwrap();
    for (arguments, expected) in [
        (&["lab"][..], &["RUN"][..]),
        (&["lab", "absent"], &["absent", "not a run"]),
        (&["lab", "empty"], &["holds none", "recipe.toml"]),
        (&["lab", "a", "--out", "a.svg"], &["a.svg", "ends in .html"]),
        (
            &["lab", "a", "--page", "other.html"],
            &["other.html", "no single place for runs", "`./lab`"],
        ),
        (
            &["lab", "a", "--page", "bytes.html"],
            &["bytes.html", "not text", "`./lab`"],
        ),
        (
            &["lab", "a", "--page", "absent.html"],
            &["absent.html", "no such file", "`./lab`"],
        ),
        (
            &["lab", "a", "--snapshots", "0"],
            &["--snapshots", "from 1 to"],
        ),
    ] {
        let message = here.fail(2, arguments);
        for part in expected {
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }
    let message = here.fail(1, &["lab", "a", "--out", "absent/x.html"]);
    assert!(message.contains("cannot write absent/x.html"), "{message}");
}

#[test]
fn what_takes_weights_of_another_run_is_noted() {
    let here = Here::new();
    here.train("a", &[]);
    let source = here.path("a");
    let source = source.to_str().unwrap();
    let patch = format!(
        "intervene=[{{kind=\"patch\", at=\"layers.0.heads.0\", with={{run=\"{source}\", step=20}}}}]"
    );
    here.train("b", &[&patch]);
    let (_, notes) = here.succeed(&["lab", "b"]);
    let said = "b: the page shows its records, but cannot compute anew with it: intervene[0]";
    assert!(notes.starts_with(said), "{notes}");
}

/// A program that removes what it is to open shows that it was given the page.
#[cfg(unix)]
#[test]
fn the_page_is_opened_or_the_user_is_told_its_path() {
    let here = Here::new();
    here.train("a", &[]);
    fs::create_dir(here.path("programs")).unwrap();
    let opened = || {
        let mut lab = here.command(&["lab", "a", "--open"]);
        let output = lab.env("PATH", here.path("programs")).output().unwrap();
        assert!(output.status.success());
        assert!(text(&output.stdout).starts_with("lab-a.html is written"));
        (text(&output.stderr), here.path("lab-a.html").exists())
    };
    let page = here.0.path().canonicalize().unwrap().join("lab-a.html");
    let said = format!(
        "none of xdg-open, open, wslview opens it: open {} in a browser\n",
        page.display()
    );
    assert_eq!(opened(), (said, true));
    std::os::unix::fs::symlink("/bin/rm", here.path("programs/open")).unwrap();
    assert_eq!(opened(), (String::new(), false));
}
