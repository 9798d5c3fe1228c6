//! Sweeps on a real Slurm: one controller and four nodes on this machine, which each test starts and stops.
//!
//! `./check cluster` runs them; they need Debian's `slurm-wlm`, `munge`, `faketime` and `parallel`, and root.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::program::text;
use serde_json::Value;
use tempfile::TempDir;

/// A study of small runs.
fn study(vary: &str, seeds: u64) -> String {
    format!(
        r#"
base = "main"
set = ["task.length=16", "model.width=8", "record.test_sequences=20", "train.steps=30", "record.every=1000000000"]
seeds = {seeds}

[vary]
{vary}

[results]
final = ["kl_truth"]
runs = "none"
"#
    )
}

/// 24 points.
const GRID: &str = r#"
"train.batch" = [8, 16, 24, 32]
"train.optimizer.lr" = { from = 1e-3, to = 1e-1, count = 6, spacing = "logarithmic" }
"#;

/// Four runs that are done in an instant, and four that no machine finishes.
const ENDLESS: &str = r#"
"train.steps" = [30, 31, 32, 33, 1000000000, 1000000001, 1000000002, 1000000003]
"#;

/// Runs of the grid with five seeds.
const RUNS: u64 = 120;

/// A Slurm, stopped when it is dropped.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    fn start(settings: &[&str]) -> Self {
        // In a short path: sockets have room for a hundred characters.
        let folder = tempfile::Builder::new()
            .prefix("slurm-")
            .tempdir_in("/tmp")
            .unwrap();
        let cluster = Self { folder };
        let mut command = cluster.script();
        command.arg("start").arg(cluster.slurm()).args(settings);
        done(&command.output().unwrap());
        cluster
    }

    fn slurm(&self) -> PathBuf {
        self.folder.path().join("slurm")
    }

    fn script(&self) -> Command {
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/slurm"))
    }

    fn act(&self, arguments: &[&str]) {
        let mut command = self.script();
        command
            .arg(arguments[0])
            .arg(self.slurm())
            .args(&arguments[1..]);
        done(&command.output().unwrap());
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.slurm().join("slurm.conf"));
        command
    }

    fn call(&self, program: &str, arguments: &[&str]) -> String {
        done(&self.command(program).args(arguments).output().unwrap())
    }

    fn induct(&self, arguments: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_induct"))
            .args(arguments)
            .output()
            .unwrap()
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        done(&self.induct(arguments))
    }

    fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.induct(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.succeed(arguments)).unwrap()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn planned(&self, name: &str) -> String {
        self.planned_with(name, GRID, 5)
    }

    fn planned_with(&self, name: &str, vary: &str, seeds: u64) -> String {
        let (file, out) = (self.path("study.toml"), self.path(name));
        fs::write(&file, study(vary, seeds)).unwrap();
        self.succeed(&["sweep", "plan", &file, "--out", &out]);
        out
    }

    fn gathered(&self, sweep: &str) -> Vec<u8> {
        let file = self.path("gathered.parquet");
        self.succeed(&["sweep", "gather", sweep, "--out", &file]);
        fs::read(file).unwrap()
    }

    /// The bytes of the same sweep without a cluster.
    fn reference(&self) -> Vec<u8> {
        let alone = self.planned("alone");
        self.succeed(&["sweep", "work", &alone]);
        self.gathered(&alone)
    }

    fn status(&self, sweep: &str) -> Value {
        self.json(&["sweep", "status", sweep, "--json"])
    }

    /// Submits a sweep as four tasks whose messages nobody reads, and waits until all of them wait for that: after two
    /// runs each, because a worker says how far it is after each twentieth of its shard.
    fn submit_held(&self, sweep: &str) -> Held {
        let held = Held::new(&self.path("messages"));
        let messages = format!("--sbatch=--error={}", held.path);
        self.succeed(&["sweep", "submit", sweep, "--tasks", "4", &messages]);
        self.wait(sweep, HELD);
        held
    }

    /// Waits until a sweep has so many runs done.
    fn wait(&self, sweep: &str, runs: u64) {
        self.until(&format!("{runs} runs of {sweep}"), || {
            self.status(sweep)["done"].as_u64().unwrap() >= runs
        });
    }

    /// Waits until no job is queued or at work.
    fn wait_idle(&self) {
        self.until("an empty queue", || {
            self.call("squeue", &["--noheader"]).trim().is_empty()
        });
    }

    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let patience = Instant::now() + Duration::from_secs(900);
        while !holds() {
            assert!(
                Instant::now() < patience,
                "no {what}: {}",
                self.call("squeue", &[])
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A pipe that is full, so that whoever writes to it waits.
struct Held {
    path: String,
    /// Keeps it full: a pipe that nobody has open forgets what it holds.
    _pipe: File,
}

/// Runs that four held tasks have done.
const HELD: u64 = 8;

impl Held {
    fn new(path: &str) -> Self {
        const NONBLOCK: i32 = 0o4000;
        let _ = fs::remove_file(path);
        done(&Command::new("mkfifo").arg(path).output().unwrap());
        // Open for both, so that opening it waits for nobody.
        let mut both = File::options();
        let mut pipe = both
            .read(true)
            .write(true)
            .custom_flags(NONBLOCK)
            .open(path)
            .unwrap();
        for size in [4096, 1] {
            while pipe.write(&vec![b' '; size]).is_ok() {}
        }
        Self {
            path: path.to_owned(),
            _pipe: pipe,
        }
    }

    /// Reads what is written from now on.
    fn release(&self) {
        let mut pipe = File::open(&self.path).unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            while pipe.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.script().arg("stop").arg(self.slurm()).output();
    }
}

fn done(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_cluster_gives_the_bytes_of_a_laptop_and_a_second_submission_does_no_harm() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    let sweep = cluster.planned("sweep");
    let held = cluster.submit_held(&sweep);
    let refused = cluster.fail(2, &["sweep", "submit", &sweep, "--tasks", "8"]);
    assert!(
        refused.contains("still queued or at work") && refused.contains("--again"),
        "{refused}"
    );
    let again = ["--tasks", "5", "--partition", "main", "--again", "--json"];
    let submitted = cluster.json(&[&["sweep", "submit", &sweep], &again[..]].concat());
    assert_eq!(submitted["tasks"], 5);
    held.release();
    cluster.wait(&sweep, RUNS);
    cluster.wait_idle();
    assert!(cluster.gathered(&sweep) == reference);
    // There is nothing left to submit.
    assert!(
        cluster
            .succeed(&["sweep", "submit", &sweep])
            .contains("nothing to do")
    );
    assert!(
        cluster
            .succeed(&["sweep", "resubmit", &sweep])
            .contains("nothing to do")
    );
    assert!(
        cluster
            .succeed(&["sweep", "cancel", &sweep])
            .contains("no job")
    );
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_dying_node_and_a_restarted_controller_lose_nothing() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    let sweep = cluster.planned("sweep");
    let held = cluster.submit_held(&sweep);
    cluster.act(&["kill-node", "2"]);
    assert_eq!(cluster.status(&sweep)["done"], HELD);
    // A controller notes its jobs every few seconds; one that is killed before forgets them.
    let noted = cluster.slurm().join("state/job_state");
    cluster.until("note of the jobs", || noted.exists());
    cluster.act(&["kill-controller"]);
    held.release();
    // The other nodes go on without it.
    cluster.wait(&sweep, HELD + 4);
    cluster.act(&["start-controller"]);
    cluster.act(&["start-node", "2"]);
    // Slurm itself gives the lost share to a node again.
    cluster.wait(&sweep, RUNS);
    assert!(cluster.gathered(&sweep) == reference);
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_task_without_time_is_queued_again_and_one_without_memory_is_resubmitted() {
    let cluster = Cluster::start(&[]);
    let sweep = cluster.planned_with("sweep", ENDLESS, 1);
    // A minute's notice of the end of a minute comes as soon as Slurm looks, within half a minute.
    let options = ["--tasks", "2", "--time", "1", "--partition", "main"];
    cluster.succeed(&[&["sweep", "submit", &sweep], &options[..]].concat());
    cluster.until("a task that was queued again", || {
        // One that gets its notice before it has finished a run is not, so it may take another attempt.
        if cluster.call("squeue", &["--noheader"]).trim().is_empty() {
            cluster.succeed(&["sweep", "resubmit", &sweep]);
        }
        let shown = cluster.call("scontrol", &["show", "job"]);
        shown.contains("Restarts=1")
    });
    cluster.succeed(&["sweep", "cancel", &sweep]);
    cluster.wait_idle();
    assert_eq!(
        cluster.status(&sweep)["failed"],
        serde_json::json!([]),
        "a notice counts as no death"
    );
    // A megabyte is too little for any task.
    cluster.succeed(&["sweep", "resubmit", &sweep, "--mem", "1M", "--time", "10"]);
    cluster.wait_idle();
    assert!(cluster.status(&sweep)["missing"].as_u64().unwrap() >= 4);
    cluster.succeed(&["sweep", "resubmit", &sweep, "--mem", "500M"]);
    // What is not given again is as it was.
    let script = fs::read_to_string(format!("{sweep}/slurm/task.sh")).unwrap();
    assert!(
        script.contains("--partition=main") && script.contains("--mem=500M"),
        "{script}"
    );
    cluster.until("two runs in progress", || {
        cluster.status(&sweep)["running"] == 2
    });
    cluster.succeed(&["sweep", "cancel", &sweep]);
    cluster.wait_idle();
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_full_disk_stops_a_task_and_spoils_nothing() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    let disk = cluster.path("disk");
    fs::create_dir(&disk).unwrap();
    let small = ["-t", "tmpfs", "-o", "size=2m", "tmpfs", &disk];
    if !Command::new("mount")
        .args(small)
        .status()
        .unwrap()
        .success()
    {
        eprintln!("NOT CHECKED: a full disk, because this machine lets nobody mount a small one");
        return;
    }
    let sweep = cluster.planned("disk/sweep");
    let ballast = format!("{disk}/ballast");
    let result = std::panic::catch_unwind(|| {
        let held = cluster.submit_held(&sweep);
        // Whatever is free now.
        let mut file = fs::File::create(&ballast).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
        held.release();
        cluster.wait_idle();
        // A journal still has room up to the end of its page.
        let done = cluster.status(&sweep)["done"].as_u64().unwrap();
        assert!(
            (HELD..RUNS).contains(&done),
            "{done} runs done on a full disk"
        );
        drop(file);
        fs::remove_file(&ballast).unwrap();
        cluster.succeed(&["sweep", "resubmit", &sweep]);
        cluster.wait(&sweep, RUNS);
        cluster.wait_idle();
        assert!(cluster.gathered(&sweep) == reference);
    });
    cluster.call("umount", &["-l", &disk]);
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn more_tasks_than_an_array_may_have_become_several_arrays() {
    let cluster = Cluster::start(&["MaxArraySize=20"]);
    let reference = cluster.reference();
    let sweep = cluster.planned("sweep");
    let submitted = cluster.json(&["sweep", "submit", &sweep, "--tasks", "50", "--json"]);
    assert_eq!(submitted["jobs"].as_array().unwrap().len(), 3);
    cluster.wait(&sweep, RUNS);
    cluster.wait_idle();
    assert!(cluster.gathered(&sweep) == reference);
    // What a site refuses is said in its words.
    let other = cluster.planned("other");
    let refused = cluster.fail(1, &["sweep", "submit", &other, "--partition", "nowhere"]);
    assert!(
        refused.contains("Slurm refuses") && refused.contains("partition"),
        "{refused}"
    );
    cluster.act(&["kill-controller"]);
    let refused = cluster.fail(1, &["sweep", "submit", &other]);
    assert!(
        refused.contains("Unable to contact slurm controller"),
        "{refused}"
    );
    cluster.act(&["start-controller"]);
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_cancelled_sweep_goes_on_where_it_was() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    let sweep = cluster.planned("sweep");
    let held = cluster.submit_held(&sweep);
    let said = cluster.succeed(&["sweep", "cancel", &sweep]);
    assert!(said.contains("cancelled job"), "{said}");
    cluster.wait_idle();
    let status = cluster.status(&sweep);
    assert_eq!(status["done"], HELD);
    assert_eq!(status["failed"], serde_json::json!([]));
    cluster.succeed(&["sweep", "resubmit", &sweep]);
    held.release();
    cluster.wait(&sweep, RUNS);
    assert!(cluster.gathered(&sweep) == reference);
}

/// Machines whose clocks are days apart, and another launcher.
#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn clocks_that_differ_and_other_launchers() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    let sweep = cluster.planned("sweep");
    cluster.succeed(&["sweep", "submit", &sweep, "--tasks", "4", "--dry-run"]);
    let held = Held::new(&cluster.path("messages"));
    let script = format!("{sweep}/slurm/task.sh");
    let mut workers: Vec<_> = [("0", "-3 days"), ("1", "+400 days"), ("2", "-30 years")]
        .map(|(share, off)| {
            Command::new("faketime")
                .args(["-f", off, &script, share])
                .stderr(File::options().write(true).open(&held.path).unwrap())
                .spawn()
                .unwrap()
        })
        .into();
    cluster.wait(&sweep, 6);
    let mut status = Command::new("faketime");
    status.args(["-f", "+9 days", env!("CARGO_BIN_EXE_induct")]);
    let status = status.args(["sweep", "status", &sweep, "--json"]).output();
    let status: Value = serde_json::from_str(&done(&status.unwrap())).unwrap();
    let workers_seen = status["workers"].as_array().unwrap().iter();
    assert_eq!(
        workers_seen
            .filter(|worker| worker["alive"] == true)
            .count(),
        3
    );
    held.release();
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    // GNU parallel does the rest.
    cluster.call(
        "sh",
        &["-c", &format!("seq 0 3 | parallel -j 2 {script} {{}}")],
    );
    assert!(cluster.gathered(&sweep) == reference);
}
