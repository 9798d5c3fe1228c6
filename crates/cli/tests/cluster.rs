//! Sweeps on a real Slurm: one controller and four nodes on this machine, which each test starts and stops.
//!
//! `./check cluster` runs them; they need Debian's `slurm-wlm`, `munge`, `faketime` and `parallel`, and root.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::program::{Shell, has, make_pipe, text};
use serde_json::Value;

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

/// A Slurm, stopped when it is dropped, and a folder in which its commands are run.
struct Cluster(Shell);

impl Deref for Cluster {
    type Target = Shell;

    fn deref(&self) -> &Shell {
        &self.0
    }
}

impl Cluster {
    fn start(settings: &[&str]) -> Self {
        // In a short path: sockets have room for a hundred characters.
        let mut shell = Shell::new_in("/tmp");
        shell.slurm_conf = Some(shell.path("slurm/slurm.conf"));
        let cluster = Self(shell);
        cluster.act("start", settings);
        cluster
    }

    fn script(&self, action: &str) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/slurm");
        let mut command = Command::new(script);
        command.arg(action).arg(self.path("slurm"));
        command
    }

    fn act(&self, action: &str, arguments: &[&str]) {
        done(&self.script(action).args(arguments).output().unwrap());
    }

    fn call(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm/slurm.conf"));
        done(&command.args(arguments).output().unwrap())
    }

    fn planned(&self, sweep: &str) {
        self.plan(sweep, &study(GRID, 5));
    }

    /// The bytes of the same sweep without a cluster.
    fn reference(&self) -> Vec<u8> {
        self.planned("alone");
        self.work("alone");
        self.gathered("alone")
    }

    /// Submits a sweep as four tasks whose messages nobody reads, and waits until all of them wait for that: after two
    /// runs each, because a worker says how far it is after each twentieth of its shard.
    fn submit_held(&self, sweep: &str) -> Held {
        let held = Held::new(&self.path("messages"));
        let messages = held.path.display();
        self.succeed(&format!(
            "sweep submit {sweep} --tasks 4 --sbatch=--error={messages}"
        ));
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
    path: PathBuf,
    /// Keeps it full: a pipe that nobody has open forgets what it holds.
    _pipe: File,
}

/// Runs that four held tasks have done.
const HELD: u64 = 8;

impl Held {
    fn new(path: &Path) -> Self {
        const NONBLOCK: i32 = 0o4000;
        let _ = fs::remove_file(path);
        make_pipe(path);
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
        let _ = self.script("stop").output();
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
    cluster.planned("sweep");
    let held = cluster.submit_held("sweep");
    let refused = cluster.fail(2, "sweep submit sweep --tasks 8");
    has(&refused, "still queued or at work | --again");
    let submitted = cluster.json("sweep submit sweep --tasks 5 --partition main --again");
    assert_eq!(submitted["tasks"], 5);
    held.release();
    cluster.wait("sweep", RUNS);
    cluster.wait_idle();
    assert!(cluster.gathered("sweep") == reference);
    // There is nothing left to submit.
    has(&cluster.succeed("sweep submit sweep"), "nothing to do");
    has(&cluster.succeed("sweep resubmit sweep"), "nothing to do");
    has(&cluster.succeed("sweep cancel sweep"), "no job");
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_dying_node_and_a_restarted_controller_lose_nothing() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    cluster.planned("sweep");
    let held = cluster.submit_held("sweep");
    cluster.act("kill-node", &["2"]);
    assert_eq!(cluster.status("sweep")["done"], HELD);
    // A controller notes its jobs every few seconds; one that is killed before forgets them.
    let noted = cluster.path("slurm/state/job_state");
    cluster.until("note of the jobs", || noted.exists());
    cluster.act("kill-controller", &[]);
    held.release();
    // The other nodes go on without it.
    cluster.wait("sweep", HELD + 4);
    cluster.act("start-controller", &[]);
    cluster.act("start-node", &["2"]);
    // Slurm itself gives the lost shard to a node again.
    cluster.wait("sweep", RUNS);
    assert!(cluster.gathered("sweep") == reference);
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_task_without_time_is_queued_again_and_one_without_memory_is_resubmitted() {
    let cluster = Cluster::start(&[]);
    cluster.plan("sweep", &study(ENDLESS, 1));
    // A minute's notice of the end of a minute comes as soon as Slurm looks, within half a minute.
    cluster.succeed("sweep submit sweep --tasks 2 --time 1 --partition main");
    cluster.until("a task that was queued again", || {
        // One that gets its notice before it has finished a run is not, so it may take another attempt.
        if cluster.call("squeue", &["--noheader"]).trim().is_empty() {
            cluster.succeed("sweep resubmit sweep");
        }
        let shown = cluster.call("scontrol", &["show", "job"]);
        shown.contains("Restarts=1")
    });
    cluster.succeed("sweep cancel sweep");
    cluster.wait_idle();
    assert_eq!(
        cluster.status("sweep")["failed"],
        serde_json::json!([]),
        "a notice counts as no death"
    );
    // A megabyte is too little for any task.
    cluster.succeed("sweep resubmit sweep --mem 1M --time 10");
    cluster.wait_idle();
    assert!(cluster.status("sweep")["missing"].as_u64().unwrap() >= 4);
    cluster.succeed("sweep resubmit sweep --mem 500M");
    // What is not given again is as it was.
    let script = cluster.read("sweep/slurm/task.sh");
    has(&script, "--partition=main | --mem=500M");
    cluster.until("two runs in progress", || {
        cluster.status("sweep")["running"] == 2
    });
    cluster.succeed("sweep cancel sweep");
    cluster.wait_idle();
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_full_disk_stops_a_task_and_spoils_nothing() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    let disk = cluster.path("disk");
    fs::create_dir(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&disk);
    if !mount.status().unwrap().success() {
        eprintln!("NOT CHECKED: a full disk, because this machine lets nobody mount a small one");
        return;
    }
    cluster.planned("disk/sweep");
    let ballast = disk.join("ballast");
    let result = catch_unwind(AssertUnwindSafe(|| {
        let held = cluster.submit_held("disk/sweep");
        // Whatever is free now.
        let mut file = fs::File::create(&ballast).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
        held.release();
        cluster.wait_idle();
        // A journal still has room up to the end of its page.
        let done = cluster.status("disk/sweep")["done"].as_u64().unwrap();
        assert!(
            (HELD..RUNS).contains(&done),
            "{done} runs done on a full disk"
        );
        drop(file);
        fs::remove_file(&ballast).unwrap();
        cluster.succeed("sweep resubmit disk/sweep");
        cluster.wait("disk/sweep", RUNS);
        cluster.wait_idle();
        assert!(cluster.gathered("disk/sweep") == reference);
    }));
    cluster.call("umount", &["-l", disk.to_str().unwrap()]);
    if let Err(panic) = result {
        resume_unwind(panic);
    }
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn more_tasks_than_an_array_may_have_become_several_arrays() {
    let cluster = Cluster::start(&["MaxArraySize=20"]);
    let reference = cluster.reference();
    cluster.planned("sweep");
    let submitted = cluster.json("sweep submit sweep --tasks 50");
    assert_eq!(submitted["jobs"].as_array().unwrap().len(), 3);
    cluster.wait("sweep", RUNS);
    cluster.wait_idle();
    assert!(cluster.gathered("sweep") == reference);
    // What a site refuses is said in its words.
    cluster.planned("other");
    let refused = cluster.fail(1, "sweep submit other --partition nowhere");
    has(&refused, "Slurm refuses | partition");
    cluster.act("kill-controller", &[]);
    let refused = cluster.fail(1, "sweep submit other");
    has(&refused, "Unable to contact slurm controller");
    cluster.act("start-controller", &[]);
}

#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn a_cancelled_sweep_goes_on_where_it_was() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    cluster.planned("sweep");
    let held = cluster.submit_held("sweep");
    let said = cluster.succeed("sweep cancel sweep");
    has(&said, "cancelled job");
    cluster.wait_idle();
    let status = cluster.status("sweep");
    assert_eq!(status["done"], HELD);
    assert_eq!(status["failed"], serde_json::json!([]));
    cluster.succeed("sweep resubmit sweep");
    held.release();
    cluster.wait("sweep", RUNS);
    assert!(cluster.gathered("sweep") == reference);
}

/// Machines whose clocks are days apart, and another launcher.
#[test]
#[ignore = "needs Slurm: ./check cluster"]
fn clocks_that_differ_and_other_launchers() {
    let cluster = Cluster::start(&[]);
    let reference = cluster.reference();
    cluster.planned("sweep");
    cluster.succeed("sweep submit sweep --tasks 4 --dry-run");
    let held = Held::new(&cluster.path("messages"));
    let script = cluster.path("sweep/slurm/task.sh");
    let mut workers: Vec<_> = [("0", "-3 days"), ("1", "+400 days"), ("2", "-30 years")]
        .map(|(share, off)| {
            Command::new("faketime")
                .args(["-f", off])
                .arg(&script)
                .arg(share)
                .stderr(File::options().write(true).open(&held.path).unwrap())
                .spawn()
                .unwrap()
        })
        .into();
    cluster.wait("sweep", 6);
    let mut status = Command::new("faketime");
    status.args(["-f", "+9 days", env!("CARGO_BIN_EXE_induct")]);
    status.args(["sweep", "status", "--json"]);
    let status = status.arg(cluster.path("sweep")).output();
    let status: Value = serde_json::from_str(&done(&status.unwrap())).unwrap();
    let seen = status["workers"].as_array().unwrap().iter();
    let living = seen.filter(|worker| worker["alive"] == true);
    assert_eq!(living.count(), 3);
    held.release();
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    // GNU parallel does the rest.
    let rest = format!("seq 0 3 | parallel -j 2 {} {{}}", script.display());
    cluster.call("sh", &["-c", &rest]);
    assert!(cluster.gathered("sweep") == reference);
}
