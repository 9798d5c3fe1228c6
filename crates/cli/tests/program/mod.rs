//! Runs the program as a user does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

/// A task small enough to train in an instant.
pub const SMALL: [&str; 5] = [
    "task.length=16",
    "model.width=8",
    "train.batch=12",
    "record.test_sequences=20",
    "train.steps=30",
];

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// The error message of a command that must have failed with `code`.
pub fn refused(code: i32, line: &str, output: &Output) -> String {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

/// Checks that a text has every part of a list: `Phases | uniform | layers.1.heads.0`.
#[track_caller]
pub fn has(text: &str, parts: &str) {
    for part in parts.split(" | ").map(str::trim) {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// Makes a pipe that nobody writes to.
pub fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The words of a command line. Those between double quotes are one, and have no space around it.
fn words(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let end = |c: char| {
        quoted ^= c == '"';
        c == ' ' && !quoted
    };
    let words = line.split(end).filter(|word| !word.is_empty());
    words.map(|word| word.trim_matches('"')).collect()
}

/// A folder in which command lines are run. Without the program's name: `train main --out run`.
pub struct Shell {
    folder: TempDir,
    /// Where commands of Slurm find theirs.
    pub slurm_conf: Option<PathBuf>,
}

impl Shell {
    pub fn new() -> Self {
        Self::new_in(env::temp_dir().to_str().expect("UTF-8"))
    }

    /// With its folder in another one.
    pub fn new_in(folder: &str) -> Self {
        Self {
            folder: TempDir::new_in(folder).expect("a temporary folder"),
            slurm_conf: None,
        }
    }

    /// With a finished small run in `run`.
    pub fn with_run() -> Self {
        let shell = Self::new();
        shell.train("run", "");
        shell
    }

    /// Trains a small run in a folder, with further options.
    pub fn train(&self, name: &str, options: &str) -> String {
        self.succeed(&small("train main --out", name, options))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect(name);
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_induct"));
        command.args(words(line)).current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command.envs(self.slurm_conf.iter().map(|path| ("SLURM_CONF", path)));
        command
    }

    /// What a command prints, and what it notes.
    pub fn output(&self, line: &str) -> (String, String) {
        let output = self.command(line).output().expect("the binary runs");
        let notes = text(&output.stderr);
        assert!(output.status.success(), "{line}: {notes}");
        (text(&output.stdout), notes)
    }

    pub fn succeed(&self, line: &str) -> String {
        self.output(line).0
    }

    /// What a command prints with `--json`.
    pub fn json(&self, line: &str) -> Value {
        let printed = self.succeed(&format!("{line} --json"));
        serde_json::from_str(&printed).expect("output is JSON")
    }

    /// The message of a command that must fail with `code`. A usage error leaves the folder as it was.
    pub fn fail(&self, code: i32, line: &str) -> String {
        let before = self.entries();
        let output = self.command(line).output().expect("the binary runs");
        let message = refused(code, line, &output);
        if code == 2 {
            assert_eq!(self.entries(), before, "{line}");
        }
        message
    }

    /// Checks usage errors: on each line a command, and what its message has to say, such as
    /// `train nonsense -> nonsense | not a preset`. Lines may be comments.
    pub fn refuses(&self, cases: &str) {
        let cases = cases.lines().map(str::trim);
        for case in cases.filter(|case| !case.is_empty() && !case.starts_with("//")) {
            let (line, parts) = case.split_once(" -> ").expect(case);
            has(&self.fail(2, line.trim()), parts);
        }
    }

    /// What is directly in the folder, with the bytes of files.
    pub fn entries(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let entries = fs::read_dir(self.folder.path()).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let bytes = |path: &PathBuf| path.is_file().then(|| fs::read(path).expect("readable"));
        let mut entries: Vec<_> = paths.map(|path| (path.clone(), bytes(&path))).collect();
        entries.sort();
        entries
    }

    /// All files of a run that must be reproduced to the byte.
    pub fn results(&self, run: &str) -> Vec<(PathBuf, Vec<u8>)> {
        results(&self.path(run))
    }
}

/// A command on the small task.
pub fn small(command: &str, name: &str, options: &str) -> String {
    let sets = SMALL.map(|set| format!("--set {set}")).join(" ");
    format!("{command} {name} {sets} {options}")
}

pub fn results(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let names = ["recipe.toml", "metrics.csv", "checkpoint.safetensors"];
    let mut paths: Vec<PathBuf> = names.iter().map(|name| run.join(name)).collect();
    let snapshots = fs::read_dir(run.join("snapshots")).expect("snapshots");
    paths.extend(snapshots.map(|entry| entry.expect("readable").path()));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(run).expect("inside").to_owned();
        (name, fs::read(path).expect("readable"))
    };
    paths.into_iter().map(read).collect()
}

/// Polls until there is an answer, with a patience that no machine exhausts.
pub fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = poll() {
            return answer;
        }
        assert!(
            started.elapsed() < Duration::from_secs(600),
            "{what} never came"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The numbers of a list.
pub fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|number| number.as_f64().expect("a number"))
        .collect()
}

/// A name from every entry of a list.
pub fn names<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|entry| entry[key].as_str().expect("a name"))
        .collect()
}
