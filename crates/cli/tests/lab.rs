//! `induct lab` as a user runs it, with a base page that has nothing but a place for runs.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use induct_store::{RunFiles, RunFolder};
use serde_json::json;

use crate::program::{Shell, has, refused, text};

const PAGE: &str = "<p>before</p><!--runs--><!--end of runs--><p>after</p>";

/// A shell in a folder with a base page, and small runs.
fn shell_with(runs: &[&str]) -> Shell {
    let shell = Shell::new();
    shell.write("lab.html", PAGE);
    runs.iter().for_each(|run| drop(shell.train(run, "")));
    shell
}

/// Reads the runs in a page, as its scripts do.
fn runs_in(shell: &Shell, page: &str) -> Vec<(String, RunFiles)> {
    let page = shell.read(page);
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
    let shell = shell_with(&["runs/main"]);
    let (printed, notes) = shell.output("lab runs/main");
    assert!(
        printed.starts_with("lab-main.html is written: 1 run, "),
        "{printed}"
    );
    assert_eq!(notes, "");
    let inside = runs_in(&shell, "lab-main.html");
    assert_eq!(inside.len(), 1);
    let (name, files) = &inside[0];
    assert_eq!(name, "runs/main");
    assert_eq!(read_as_a_page(name, files), [0, 20, 30]);
    let on_disk = RunFolder::open(&shell.path("runs/main")).unwrap();
    let mut expected = on_disk.files().unwrap();
    assert!(expected.remove("checkpoint.safetensors").is_some());
    assert_eq!(*files, expected);
    assert_eq!(shell.read("lab.html"), PAGE);
    // Nothing else is left, and the page can be written again.
    assert_eq!(shell.entries().len(), 3);
    shell.succeed("lab runs/main");
}

#[test]
fn several_runs_are_inside_in_order() {
    let shell = shell_with(&["runs/b", "runs/a", "other"]);
    let printed = shell.succeed("lab other runs");
    assert!(printed.starts_with("lab-runs.html is written: 3 runs, "));
    let inside = runs_in(&shell, "lab-runs.html");
    let names: Vec<&str> = inside.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["other", "runs/a", "runs/b"]);
    // A page with runs will do as well: they are replaced.
    let printed = shell.succeed("lab other --page lab-runs.html --out x.html");
    assert!(printed.starts_with("x.html is written: 1 run, "));
    assert_eq!(runs_in(&shell, "x.html").len(), 1);
}

#[test]
fn snapshots_are_left_out_evenly_and_the_page_reads_the_others() {
    let shell = shell_with(&["a"]);
    for (most, kept) in [("3", &[0, 20, 30][..]), ("2", &[0, 30]), ("1", &[30])] {
        let (_, notes) = shell.output(&format!("lab a --snapshots {most}"));
        let left_out = 3 - kept.len();
        let said = format!(
            "left out: {left_out} of 3 snapshots, so that those inside are evenly spread; --snapshots 3 keeps all\n"
        );
        assert_eq!(notes, if left_out > 0 { said } else { String::new() });
        let (name, files) = runs_in(&shell, "lab-a.html").remove(0);
        assert_eq!(read_as_a_page(&name, &files), kept);
    }
}

#[test]
fn many_snapshots_are_left_out_unless_all_are_asked_for() {
    let shell = shell_with(&[]);
    shell.train(
        "a",
        "--set record.every=1 --set train.steps=250 --set record.snapshots=251",
    );
    for (options, kept) in [("", 200), ("--snapshots 251", 251)] {
        let (printed, notes) = shell.output(&format!("lab a --json {options}"));
        let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed["runs"][0]["snapshots"], kept);
        assert_eq!(printed["runs"][0]["left_out"], 251 - kept);
        assert_eq!(notes.contains("--snapshots 251 keeps all"), kept == 200);
    }
}

#[test]
fn json_says_what_is_inside() {
    let shell = shell_with(&["a", "b"]);
    let printed = shell.json("lab a b --out x.html --snapshots 2");
    let entry = |run: &str| json!({ "run": run, "snapshots": 2, "left_out": 1 });
    let bytes = shell.read("x.html").len();
    let expected = json!({ "page": "x.html", "bytes": bytes, "runs": [entry("a"), entry("b")] });
    assert_eq!(printed, expected);
}

#[test]
fn a_run_that_has_not_ended_is_taken() {
    let shell = shell_with(&["a"]);
    fs::remove_file(shell.path("a/summary.json")).unwrap();
    fs::remove_file(shell.path("a/snapshots/step-000030.safetensors")).unwrap();
    shell.succeed("lab a");
    let (name, files) = runs_in(&shell, "lab-a.html").remove(0);
    let run = RunFolder::of_files(&name, files).unwrap();
    assert_eq!(run.snapshot_steps().unwrap(), [0, 20]);
}

#[test]
fn damaged_runs_are_refused_or_left_out_of_a_folder() {
    let shell = shell_with(&["runs/a", "runs/b"]);
    let snapshot = "runs/a/snapshots/step-000020.safetensors";
    let mut bytes = fs::read(shell.path(snapshot)).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(shell.path(snapshot), bytes).unwrap();
    // Also if it would be left out.
    shell.refuses(&format!(
        "
        lab runs/a -> {snapshot} | checksum
        lab runs/a --snapshots 2 -> {snapshot} | checksum
        "
    ));
    let (printed, notes) = shell.output("lab runs");
    has(&printed, "1 run,");
    assert!(
        notes.contains("left out:") && notes.contains(snapshot),
        "{notes}"
    );
    assert_eq!(runs_in(&shell, "lab-runs.html")[0].0, "runs/b");
    fs::remove_file(shell.path("lab-runs.html")).unwrap();
    // Of a run that has ended, nothing may be missing.
    let missing = "runs/b/snapshots/step-000020.safetensors";
    fs::remove_file(shell.path(missing)).unwrap();
    shell.refuses(&format!(
        "
        lab runs/b -> {missing}
        lab runs -> runs holds no sound run
        "
    ));
}

#[test]
fn pages_without_runs_are_never_written_over() {
    let shell = shell_with(&["a"]);
    fs::create_dir(shell.path("inner")).unwrap();
    shell.write("other.html", PAGE);
    let kept = "that runs are put into | give another --out";
    // A page with runs stays too while another one is made of it.
    shell.succeed("lab a");
    shell.refuses(&format!(
        "
        lab a --out lab.html -> {kept}
        lab a --out ./lab.html -> {kept}
        lab a --out inner/../lab.html -> {kept}
        lab a --out other.html -> a page without runs
        lab a --page lab-a.html -> lab-a.html is the page
        "
    ));
}

#[test]
fn the_page_is_looked_for_here_beside_the_program_and_in_its_clone() {
    // In the same file system as the program, so that a link will do: a program that was just copied may
    // still be open for writing in a process that another test starts.
    let shell = Shell::new_in(env!("CARGO_TARGET_TMPDIR"));
    let built = Path::new(env!("CARGO_BIN_EXE_induct"));
    let release = shell.path("clone/target/release");
    fs::create_dir_all(&release).unwrap();
    fs::create_dir(shell.path("here")).unwrap();
    let program = release.join(built.file_name().unwrap());
    fs::hard_link(built, &program).unwrap();
    shell.train("run", "");
    let lab = || {
        let mut lab = Command::new(&program);
        lab.args(["lab", "../run"])
            .current_dir(shell.path("here"))
            .output()
            .unwrap()
    };
    let message = refused(2, "lab", &lab());
    for place in [release.join("lab.html"), shell.path("clone/lab.html")] {
        assert!(message.contains(place.to_str().unwrap()), "{message}");
    }
    has(&message, "`./lab` | --page FILE");
    // The later it is written, the sooner it is found.
    for place in ["clone", "clone/target/release", "here"] {
        shell.write(&format!("{place}/lab.html"), format!("{place}{PAGE}"));
        let output = lab();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            shell
                .read("here/lab-run.html")
                .starts_with(&format!("{place}<p>"))
        );
    }
}

#[test]
fn usage_errors_say_what_is_expected() {
    let shell = shell_with(&["a"]);
    shell.write("other.html", "<p>not such a page</p>");
    shell.write("bytes.html", b"\xff\xfe");
    fs::create_dir(shell.path("empty")).unwrap();
    shell.refuses(
        "
        lab -> RUN
        lab absent -> absent | not a run
        lab empty -> holds none | recipe.toml
        lab a --out a.svg -> a.svg | ends in .html
        lab a --page other.html -> other.html | no single place for runs | `./lab`
        lab a --page bytes.html -> bytes.html | not text | `./lab`
        lab a --page absent.html -> absent.html | no such file | `./lab`
        lab a --snapshots 0 -> --snapshots | from 1 to
        ",
    );
    let message = shell.fail(1, "lab a --out absent/x.html");
    has(&message, "cannot write absent/x.html");
}

#[test]
fn what_takes_weights_of_another_run_is_noted() {
    let shell = shell_with(&["a"]);
    let source = shell.path("a");
    let with = format!("{{run=\"{}\",step=20}}", source.display());
    shell.train(
        "b",
        &format!("--set intervene=[{{kind=\"patch\",at=\"layers.0.heads.0\",with={with}}}]"),
    );
    let (_, notes) = shell.output("lab b");
    let said = "b: the page shows its records, but cannot compute anew with it: intervene[0]";
    assert!(notes.starts_with(said), "{notes}");
}

/// A program that removes what it is to open shows that it was given the page.
#[cfg(unix)]
#[test]
fn the_page_is_opened_or_the_user_is_told_its_path() {
    let shell = shell_with(&["a"]);
    fs::create_dir(shell.path("programs")).unwrap();
    let opened = || {
        let mut lab = shell.command("lab a --open");
        let output = lab.env("PATH", shell.path("programs")).output().unwrap();
        assert!(output.status.success());
        assert!(text(&output.stdout).starts_with("lab-a.html is written"));
        (text(&output.stderr), shell.path("lab-a.html").exists())
    };
    let page = shell.path("").canonicalize().unwrap().join("lab-a.html");
    let said = format!(
        "none of xdg-open, open, wslview opens it: open {} in a browser\n",
        page.display()
    );
    assert_eq!(opened(), (said, true));
    std::os::unix::fs::symlink("/bin/rm", shell.path("programs/open")).unwrap();
    assert_eq!(opened(), (String::new(), false));
}
