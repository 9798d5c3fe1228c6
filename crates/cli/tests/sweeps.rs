//! Sweeps as users make them: planned, done in shares, killed, damaged, grown, gathered and drawn.

use std::fs;
#[cfg(unix)]
use std::io::Write;
#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::os::unix::{fs::symlink, net::UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{fail, induct, json, succeed, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A study of small runs.
const STUDY: &str = r#"
base = "main"
set = ["task.length=16", "model.width=8", "record.test_sequences=20", "train.steps=30"]
seeds = 3

[vary]
"train.batch" = [8, 16]
"train.optimizer.lr" = { from = 1e-3, to = 1e-1, count = 3, spacing = "logarithmic" }

[results]
final = ["kl_truth", "kl_bigram"]
curves = ["kl_truth"]
runs = "none"
"#;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn study(&self, text: &str) -> String {
        let path = self.path("study.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// A planned sweep.
    fn planned(&self, name: &str, text: &str) -> String {
        let out = self.path(name);
        succeed(&["sweep", "plan", &self.study(text), "--out", &out]);
        out
    }

    /// The gathered table's bytes.
    fn gathered(&self, sweep: &str) -> Vec<u8> {
        let file = self.path("gathered.parquet");
        succeed(&["sweep", "gather", sweep, "--out", &file]);
        fs::read(file).unwrap()
    }
}

fn journals(sweep: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(sweep).join("journals"));
    let mut paths: Vec<PathBuf> = (entries.into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

fn worker(sweep: &str, shard: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_induct"));
    command
        .args(["sweep", "work", sweep, "--shard", shard, "--threads", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// A worker that waits after each of its runs until somebody reads what it says.
#[cfg(unix)]
fn held(sweep: &str) -> (Child, UnixStream) {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    for size in [4096, 1] {
        while writer.write(&vec![b' '; size]).is_ok() {}
    }
    writer.set_nonblocking(false).unwrap();
    let stderr = Stdio::from(OwnedFd::from(writer));
    (worker(sweep, "0/1").stderr(stderr).spawn().unwrap(), reader)
}

fn status(sweep: &str) -> Value {
    json(&["sweep", "status", sweep, "--json"])
}

/// Waits until a sweep is as far as it has to be.
fn wait_until(sweep: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let patience = Instant::now() + Duration::from_secs(600);
    loop {
        let status = status(sweep);
        if holds(&status) {
            return status;
        }
        assert!(Instant::now() < patience, "{status}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn shares_on_any_number_of_processes_give_the_bytes_of_one() {
    let place = Place::new();
    let alone = place.planned("alone", STUDY);
    let said = json(&["sweep", "work", &alone, "--json"]);
    assert_eq!(said["done"], 18);
    let reference = place.gathered(&alone);
    let shared = place.planned("shared", STUDY);
    // Each share twice, all at once.
    let workers: Vec<Child> = (0..8)
        .map(|index| {
            worker(&shared, &format!("{}/4", index % 4))
                .spawn()
                .unwrap()
        })
        .collect();
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(place.gathered(&shared) == reference);
    // Done is done, and leaves no further journal.
    let before = journals(&shared);
    assert_eq!(json(&["sweep", "work", &shared, "--json"])["done"], 0);
    assert_eq!(journals(&shared), before);
    let status = status(&shared);
    assert_eq!(
        (&status["done"], &status["missing"]),
        (&json!(18), &json!(0))
    );
    // In one go, the same.
    let out = place.path("once");
    succeed(&["sweep", &place.path("study.toml"), "--out", &out]);
    assert_eq!(
        fs::read(format!("{out}/results.parquet")).unwrap(),
        reference
    );
}

#[cfg(unix)]
#[test]
fn a_killed_worker_loses_only_the_runs_in_flight() {
    let place = Place::new();
    let alone = place.planned("alone", STUDY);
    succeed(&["sweep", "work", &alone]);
    let reference = place.gathered(&alone);
    let killed = place.planned("killed", STUDY);
    for deaths in 1..=3 {
        let (mut worker, _messages) = held(&killed);
        wait_until(&killed, |status| status["done"] == deaths);
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert_eq!(status(&killed)["done"], deaths);
    }
    assert_eq!(json(&["sweep", "work", &killed, "--json"])["done"], 15);
    assert!(place.gathered(&killed) == reference);
}

/// A study of a short run, and two that no machine finishes.
fn endless() -> String {
    STUDY
        .replace("[8, 16]", "[8]")
        .replace("seeds = 3", "seeds = 1")
        .replace("\"train.steps=30\"", "\"record.every=1000000000\"")
        .replace("\"train.optimizer.lr\"", "\"train.steps\"")
        .replace(
            "{ from = 1e-3, to = 1e-1, count = 3, spacing = \"logarithmic\" }",
            "[30, 1000000000, 1000000001]",
        )
}

#[cfg(unix)]
#[test]
fn a_run_that_kills_its_worker_is_given_up_and_tried_again_on_demand() {
    let place = Place::new();
    let sweep = place.planned("endless", &endless());
    let mut seen = Vec::new();
    for _ in 0..4 {
        let mut worker = worker(&sweep, "0/1").spawn().unwrap();
        let at_work = wait_until(&sweep, |status| {
            status["done"] == 1 && status["running"] == 1
        });
        worker.kill().unwrap();
        worker.wait().unwrap();
        let living = at_work["workers"].as_array().unwrap().iter();
        let living: Vec<&Value> = living.filter(|worker| worker["alive"] == true).collect();
        seen.push(living[0]["runs"][0].clone());
    }
    // The first run is tried three times, then the next one.
    assert!(
        seen[0] == seen[1] && seen[1] == seen[2] && seen[2] != seen[3],
        "{seen:?}"
    );
    let failed = &status(&sweep)["failed"][0];
    assert_eq!(failed["overrides"][1], "train.steps=1000000000");
    assert!(failed["error"].as_str().unwrap().contains("died 3 times"));
    let said = succeed(&["sweep", "status", &sweep]);
    for words in ["failed: train.batch=8", "--retry", "4 workers have died"] {
        assert!(said.contains(words), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn notice_and_interrupts_stop_in_good_order() {
    let place = Place::new();
    let sweep = place.planned("endless", &endless());
    let stopped = |signal: &str| {
        let worker = worker(&sweep, "0/1").spawn().unwrap();
        wait_until(&sweep, |status| {
            status["done"] == 1 && status["running"] == 1
        });
        let id = worker.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
        let output = worker.wait_with_output().unwrap();
        // Nothing counts as lost.
        let status = status(&sweep);
        assert_eq!(
            (&status["failed"], &status["workers"]),
            (&json!([]), &json!([]))
        );
        (output.status.code(), self::text(&output.stderr))
    };
    // The first worker finishes a run; a run that never fits into its time must not be queued again and again.
    for (signal, code, words) in [
        ("-USR1", 75, "stopped in time with 2 runs of share 0/1 left"),
        ("-USR1", 1, "give more time"),
        ("-TERM", 130, "2 runs of share 0/1 left"),
        ("-INT", 130, "2 runs of share 0/1 left"),
    ] {
        let (found, said) = stopped(signal);
        assert_eq!(found, Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(journals(&sweep).len(), 1, "one without rows is removed");
}

#[test]
fn a_damaged_line_costs_its_run_and_strange_files_cost_nothing() {
    let place = Place::new();
    let sweep = place.planned("sweep", STUDY);
    succeed(&["sweep", "work", &sweep]);
    let reference = place.gathered(&sweep);
    let journal = journals(&sweep).remove(0);
    let mut bytes = fs::read(&journal).unwrap();
    let row = bytes.windows(7).position(|bytes| bytes == b"{\"row\":");
    bytes[row.unwrap() + 9] ^= 1;
    fs::write(&journal, bytes).unwrap();
    assert!(succeed(&["sweep", "status", &sweep]).contains("has 1 damaged lines"));
    assert_eq!(json(&["sweep", "work", &sweep, "--json"])["done"], 1);
    assert!(place.gathered(&sweep) == reference);
    // The journal of another sweep, and what is no file at all.
    let other = place.planned("other", &STUDY.replace("train.steps=30", "train.steps=20"));
    succeed(&["sweep", "work", &other]);
    let below = |name: &str| Path::new(&sweep).join("journals").join(name);
    fs::copy(&journals(&other)[0], below("other.journal")).unwrap();
    #[cfg(unix)]
    {
        let made = Command::new("mkfifo").arg(below("pipe.journal")).status();
        assert!(made.unwrap().success());
        symlink("/dev/zero", below("zero.journal")).unwrap();
        let said = succeed(&["sweep", "status", &sweep]);
        for name in ["pipe", "zero"] {
            assert!(
                said.contains(&format!("{name}.journal is left out")),
                "{said}"
            );
        }
    }
    assert_eq!(json(&["sweep", "work", &sweep, "--json"])["done"], 0);
    assert!(place.gathered(&sweep) == reference);
}

#[test]
fn a_damaged_plan_is_read_from_its_copy_and_repaired() {
    let place = Place::new();
    let sweep = place.planned("sweep", STUDY);
    succeed(&["sweep", "work", &sweep]);
    let reference = place.gathered(&sweep);
    let (plan, copy) = (
        format!("{sweep}/sweep.json"),
        format!("{sweep}/sweep.copy.json"),
    );
    let whole = fs::read(&plan).unwrap();
    let middle = whole.len() / 2;
    for (damaged, place_of_damage) in [(&plan, 4), (&plan, middle), (&copy, middle)] {
        let mut bytes = whole.clone();
        bytes[place_of_damage] ^= 1;
        fs::write(damaged, bytes).unwrap();
        let said = text(&induct(&["sweep", "status", &sweep]).stdout);
        assert_eq!(
            said.contains("its copy is whole"),
            *damaged == plan,
            "{said}"
        );
        // Whatever would change the folder wants a whole plan first.
        if *damaged == plan {
            let study = place.path("study.toml");
            for refused in [
                &["sweep", "plan", &study, "--out", &sweep][..],
                &["sweep", "gather", &sweep],
            ] {
                assert!(
                    fail(2, refused).contains("`induct sweep repair"),
                    "{refused:?}"
                );
            }
        }
        assert!(place.gathered(&sweep) == reference);
        assert!(succeed(&["sweep", "repair", &sweep]).contains("written anew"));
        assert!(fs::read(&plan).unwrap() == whole && fs::read(&copy).unwrap() == whole);
    }
    assert!(succeed(&["sweep", "repair", &sweep]).contains("both files of the plan are whole"));
    #[cfg(unix)]
    {
        fs::remove_file(&plan).unwrap();
        symlink("/dev/zero", &plan).unwrap();
        assert!(succeed(&["sweep", "status", &sweep]).contains("not a regular file"));
    }
    for file in [&plan, &copy] {
        let _ = fs::remove_file(file);
        fs::write(file, &whole[..middle]).unwrap();
    }
    assert!(fail(2, &["sweep", "repair", &sweep]).contains("damaged"));
}

#[test]
fn a_changed_plan_is_named_and_may_extend_the_sweep() {
    let place = Place::new();
    let sweep = place.planned("sweep", STUDY);
    succeed(&["sweep", "work", &sweep]);
    let plan = |text: &str| [place.study(text), sweep.clone()];
    let [same, out] = plan(STUDY);
    succeed(&["sweep", "plan", &same, "--out", &out]);
    let [more, out] = plan(
        &STUDY
            .replace("[8, 16]", "[8, 16, 24]")
            .replace("seeds = 3", "seeds = 4"),
    );
    let refused = fail(2, &["sweep", "plan", &more, "--out", &out]);
    for word in [
        "a sweep of 18 runs",
        "18 more, the first with train.batch=8, train.optimizer.lr=0.001, seed 3",
        "--extend",
    ] {
        assert!(refused.contains(word), "{refused}");
    }
    succeed(&["sweep", "plan", &more, "--out", &out, "--extend"]);
    assert_eq!(json(&["sweep", "work", &out, "--json"])["done"], 18);
    // Other curves would be missing in what is there.
    let [curves, out] = plan(&STUDY.replace("curves = [\"kl_truth\"]", "curves = [\"kl_bigram\"]"));
    let refused = fail(2, &["sweep", "plan", &curves, "--out", &out, "--extend"]);
    assert!(refused.contains("results.curves"), "{refused}");
    let [other, out] = plan(&STUDY.replace("train.steps=30", "train.steps=40"));
    let refused = fail(2, &["sweep", "plan", &other, "--out", &out, "--extend"]);
    assert!(
        refused.contains("train.steps: 30 there, 40 now"),
        "{refused}"
    );
    // A plan changed by hand is not trusted.
    for file in ["sweep.json", "sweep.copy.json"] {
        let file = format!("{sweep}/{file}");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("\"16\"", "\"32\"")).unwrap();
    }
    assert!(fail(2, &["sweep", "work", &sweep]).contains("changed by hand"));
}

#[test]
fn usage_errors_in_a_study_are_named_before_anything_is_made() {
    let place = Place::new();
    let out = place.path("sweep");
    for (from, to, words) in [
        ("\"train.batch\"", "\"train.bach\"", "bach"),
        ("[8, 16]", "[8, 9.5]", "train.batch"),
        ("seeds = 3", "seeds = 0", "seeds = 0"),
        ("seeds = 3", "seeds = 1000000000", "6000000000 runs"),
        (
            "final = [\"kl_truth\"",
            "final = [\"kl_thruth\"",
            "kl_thruth is not recorded",
        ),
        ("base = \"main\"", "base = \"mian\"", "mian is not a preset"),
        ("runs = \"none\"", "runs = \"few\"", "few"),
        ("runs = \"none\"", "rums = \"none\"", "rums"),
    ] {
        let study = place.study(&STUDY.replace(from, to));
        let refused = fail(2, &["sweep", "plan", &study, "--out", &out]);
        assert!(refused.contains(words), "{to}: {refused}");
        assert!(!Path::new(&out).exists());
    }
    for action in [
        "work", "status", "gather", "plot", "repair", "submit", "resubmit", "cancel",
    ] {
        assert!(
            fail(2, &["sweep", action, &out]).contains("holds no sweep"),
            "{action}"
        );
    }
}

#[test]
fn figures_of_keys_measures_and_steps() {
    let place = Place::new();
    let sweep = place.planned("sweep", STUDY);
    assert!(fail(2, &["sweep", "plot", &sweep]).contains("no result to draw yet"));
    succeed(&["sweep", "work", &sweep]);
    let figure = |arguments: &[&str]| {
        let out = place.path("figure.svg");
        let mut all = vec!["sweep", "plot", &sweep, "--out", &out];
        all.extend(arguments);
        succeed(&all);
        fs::read_to_string(out).unwrap()
    };
    let diagram = [
        "--x",
        "train.batch",
        "--y",
        "train.optimizer.lr",
        "--colour",
        "kl_truth",
    ];
    assert!(figure(&diagram).contains("Final loss over train.batch and train.optimizer.lr."));
    let family = [
        "--x",
        "train.optimizer.lr",
        "--y",
        "final.kl_truth",
        "--colour",
        "train.batch",
    ];
    assert!(figure(&family).contains("train.batch = 16"));
    let steps = [
        "--x",
        "step",
        "--y",
        "kl_truth",
        "--colour",
        "train.batch",
        "--where",
        "train.optimizer.lr=1e-2",
    ];
    assert!(figure(&steps).contains("over training steps"));
    assert!(figure(&[]).contains("Final loss"));
    for (arguments, words) in [
        (&["--colour", "train.batch"][..], "coloured by a measure"),
        (
            &["--x", "train.batch", "--y", "train.batch"],
            "is the horizontal axis already",
        ),
        (&["--x", "train.bach"], "no such key varies"),
        (&["--y", "loss"], "nor a measure that was kept"),
        (
            &["--x", "step", "--y", "nothing"],
            "no curve of it was kept; those kept are kl_truth",
        ),
        (&["--where", "train.batch=9"], "no run has this value"),
        (&["--where", "batch"], "expected KEY=VALUE"),
    ] {
        let mut all = vec!["sweep", "plot", &sweep];
        all.extend(arguments);
        assert!(
            fail(2, &all).contains(words),
            "{arguments:?}: {}",
            fail(2, &all)
        );
    }
}

#[test]
fn a_pinned_level_is_kept_and_a_mixture_is_named() {
    let place = Place::new();
    let out = place.path("pinned");
    let study = place.study(STUDY);
    succeed(&[
        "sweep", "plan", &study, "--out", &out, "--level", "portable",
    ]);
    succeed(&["sweep", "work", &out]);
    assert_eq!(status(&out)["levels"], json!({ "portable": 18 }));
    assert!(
        fail(
            2,
            &[
                "sweep",
                "plan",
                &study,
                "--out",
                &place.path("no"),
                "--level",
                "abacus"
            ]
        )
        .contains("abacus")
    );
    let mixed = place.planned("mixed", STUDY);
    succeed(&[
        "sweep", "work", &mixed, "--shard", "0/2", "--level", "portable",
    ]);
    succeed(&["sweep", "work", &mixed, "--shard", "1/2"]);
    if status(&mixed)["levels"].as_object().unwrap().len() > 1 {
        let output = induct(&["sweep", "gather", &mixed]);
        assert!(text(&output.stderr).contains("computed at different levels"));
    }
}

#[cfg(unix)]
#[test]
fn without_slurm_the_script_serves_other_launchers() {
    let place = Place::new();
    let sweep = place.planned("sweep it's 5%", STUDY);
    let without = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_induct"));
        command
            .args(arguments)
            .env("PATH", "/nowhere")
            .output()
            .unwrap()
    };
    for action in ["submit", "resubmit"] {
        let output = without(&["sweep", action, &sweep]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(
            said.contains("there is no Slurm here") || said.contains("not submitted yet"),
            "{said}"
        );
    }
    assert!(!Path::new(&sweep).join("slurm").exists());
    let submit = |more: &[&str]| {
        without(
            &[
                &["sweep", "submit", &sweep, "--dry-run", "--tasks", "12"],
                more,
            ]
            .concat(),
        )
    };
    // Nothing that is typed or read runs as a command.
    for option in ["--mem", "--time", "--partition", "--sbatch"] {
        let output = submit(&[&format!("{option}=-1\ntouch pwned")]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("is no option of sbatch"), "{option}: {said}");
    }
    assert!(!Path::new(&sweep).join("slurm").exists());
    let output = submit(&["--mem", "1G"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("sbatch --parsable --array=0-11"));
    let script = format!("{sweep}/slurm/task.sh");
    let written = fs::read_to_string(&script).unwrap();
    assert!(written.contains("#SBATCH --mem=1G"), "{written}");
    let task = |share: &str, first: &str| {
        let mut command = Command::new(&script);
        command.arg(share).env("INDUCT_FIRST_SHARE", first);
        command.output().unwrap()
    };
    let pwned = place.path("pwned");
    for (share, first) in [
        ("", "0"),
        ("-1", "0"),
        ("0:0", "0"),
        ("12", "0"),
        ("0", &format!("a[$(touch {pwned})]")),
        (&format!("a[$(touch {pwned})]"), "0"),
    ] {
        assert_eq!(task(share, first).status.code(), Some(2), "{share} {first}");
    }
    assert!(!Path::new(&pwned).exists());
    // A leading zero means nothing.
    let done = task("010", "0");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let journal = journals(&sweep).remove(0);
    assert!(
        journal
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("10-of-12")
    );
    let shares = (0..10).map(|share| (share.to_string(), "0"));
    for (share, first) in shares.chain([("0".into(), "10"), ("1".into(), "10")]) {
        let done = task(&share, first);
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    assert_eq!(status(&sweep)["missing"], 0);
    // What a file says is checked like what is typed, and a pipe does not hang anybody.
    let jobs = format!("{sweep}/slurm/jobs.json");
    let text_of =
        |option: &str| json!({ "shares": 4, "options": [option], "at_once": null, "jobs": [] });
    fs::write(&jobs, text_of("--mem=1G\ntouch pwned").to_string()).unwrap();
    assert!(fail(2, &["sweep", "resubmit", &sweep]).contains("is no option of sbatch"));
    fs::remove_file(&jobs).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&jobs)
            .status()
            .unwrap()
            .success()
    );
    assert!(fail(2, &["sweep", "resubmit", &sweep]).contains("not a regular file"));
}

#[test]
fn results_of_a_copy_that_grew_otherwise_count_where_they_belong() {
    let place = Place::new();
    let one = place.planned("one", STUDY);
    let other = place.planned("other", STUDY);
    let grow = |sweep: &str, batch: &str| {
        let study = place.study(&STUDY.replace("[8, 16]", batch));
        succeed(&["sweep", &study, "--out", sweep]);
    };
    grow(&one, "[8, 24]");
    grow(&other, "[8, 32]");
    let reference = place.gathered(&one);
    let (own, taken) = (journals(&one).remove(0), journals(&other).remove(0));
    fs::remove_file(own).unwrap();
    fs::copy(&taken, Path::new(&one).join("journals/taken.journal")).unwrap();
    assert_eq!(json(&["sweep", "work", &one, "--json"])["done"], 9);
    assert!(place.gathered(&one) == reference);
}

#[test]
fn the_same_point_in_other_words_is_no_new_run() {
    let place = Place::new();
    let out = place.path("sweep");
    let sweep = |vary: &[&str]| {
        let mut arguments = vec!["sweep", "main", "--seeds", "1", "--out", &out, "--json"];
        for set in ["train.steps=3", "task.length=8", "record.test_sequences=8"] {
            arguments.extend(["--set", set]);
        }
        for vary in vary {
            arguments.extend(["--vary", vary]);
        }
        json(&arguments)["runs"].as_array().unwrap().len()
    };
    assert_eq!(sweep(&[]), 1);
    assert_eq!(sweep(&["task.prior=dirichlet;iid"]), 2);
    assert_eq!(sweep(&["task.prior=\"dirichlet\";\"iid\""]), 2);
    assert_eq!(sweep(&["train.optimizer.lr=1e-3;0.003"]), 3);
}

#[test]
fn a_damaged_run_folder_fails_alone_and_diverged_runs_have_no_final_loss() {
    let place = Place::new();
    let study = STUDY.replace("runs = \"none\"", "runs = \"all\"");
    let study = study
        .replace("[8, 16]", "[8]")
        .replace("to = 1e-1", "to = 1e30");
    let sweep = place.planned("sweep", &study);
    succeed(&["sweep", "work", &sweep]);
    let table = place.path("table.csv");
    succeed(&["sweep", "gather", &sweep, "--out", &table]);
    let rows = fs::read_to_string(&table).unwrap();
    let mut diverged = rows.lines().filter(|row| row.contains(",diverged,"));
    assert!(
        diverged.any(|row| row.contains(",1e30,") && row.contains(",uniform,0,,,,,")),
        "{rows}"
    );
    fs::remove_file(journals(&sweep).remove(0)).unwrap();
    let run = fs::read_dir(format!("{sweep}/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::remove_file(run.join("recipe.toml")).unwrap();
    let said = fail(1, &["sweep", "work", &sweep]);
    assert!(said.contains("to train it anew"), "{said}");
    assert_eq!(status(&sweep)["done"], 8);
    fs::remove_dir_all(run).unwrap();
    assert_eq!(json(&["sweep", "work", &sweep, "--json"])["done"], 1);
}

/// A study takes runs that a sweep has kept whole, and trains only what is missing.
#[test]
fn a_study_can_name_a_sweep_as_its_source() {
    let place = Place::new();
    let small = [
        "train.steps=20",
        "task.length=8",
        "record.every=10",
        "record.snapshots=2",
    ];
    let reproduce = |out: &str, more: &[&str]| {
        let mut arguments = vec!["reproduce", "--only", "C1", "--seeds", "2", "--out", out];
        small
            .iter()
            .for_each(|set| arguments.extend(["--set", set]));
        arguments.extend(more);
        let output = induct(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let (first, second, sweep) = (
        place.path("first"),
        place.path("second"),
        place.path("sweep"),
    );
    reproduce(&first, &[]);
    let study = format!(
        "base = \"{first}/recipes/main.toml\"\nseeds = {{ first = 1000, count = 2, own_tests = true }}\n\
         [results]\nruns = \"all\"\n"
    );
    succeed(&["sweep", &place.study(&study), "--out", &sweep]);
    let said = reproduce(&second, &["--sweep", &sweep]);
    let taken = said
        .lines()
        .find_map(|line| line.split_once(" taken from sweeps"));
    assert!(["1 run", "2 runs"].contains(&taken.unwrap().0), "{said}");
    assert!(!Path::new(&second).join("runs/main/1000").exists());
    let verdicts = |out: &str| fs::read(format!("{out}/claims.json")).unwrap();
    assert!(verdicts(&first) == verdicts(&second));
    assert!(fail(2, &["reproduce", "--sweep", &first]).contains("holds no sweep"));
}
