//! Sweeps as users make them: planned, done in shares, killed, damaged, grown, gathered and drawn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{fail, induct, json, succeed, text};
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

fn parts(sweep: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(sweep).join("parts"))
        .into_iter()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_str().unwrap().ends_with(ending));
    paths.sort();
    paths
}

fn work(sweep: &str, shard: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(["sweep", "work", sweep, "--shard", shard, "--threads", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a sweep has some runs done, and returns how many.
fn wait_for(sweep: &str, runs: u64) -> u64 {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let done = json(&["sweep", "status", sweep, "--json"])["done"]
            .as_u64()
            .unwrap();
        if done >= runs {
            return done;
        }
        assert!(
            Instant::now() < patience,
            "{done} of {runs} done after a minute"
        );
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
        .map(|index| work(&shared, &format!("{}/4", index % 4)))
        .collect();
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(place.gathered(&shared) == reference);
    // Small parts are joined, and no journal is left.
    succeed(&["sweep", "work", &shared]);
    assert_eq!(parts(&shared, ".parquet").len(), 1);
    assert_eq!(parts(&shared, ".journal").len(), 0);
    // Done is done.
    assert_eq!(json(&["sweep", "work", &shared, "--json"])["done"], 0);
    let status = json(&["sweep", "status", &shared, "--json"]);
    assert_eq!(
        (&status["done"], &status["missing"]),
        (&18.into(), &0.into())
    );
    // In one go, the same.
    let out = place.path("once");
    succeed(&["sweep", &place.path("study.toml"), "--out", &out]);
    assert_eq!(
        fs::read(format!("{out}/results.parquet")).unwrap(),
        reference
    );
}

/// A study whose runs take a while.
fn slower() -> String {
    STUDY
        .replace("train.steps=30", "train.steps=6000")
        .replace("seeds = 3", "seeds = 2")
}

#[cfg(unix)]
#[test]
fn a_killed_process_loses_only_the_runs_in_flight() {
    let place = Place::new();
    let alone = place.planned("alone", &slower());
    succeed(&["sweep", "work", &alone]);
    let reference = place.gathered(&alone);
    let killed = place.planned("killed", &slower());
    let mut done = 0;
    let mut deaths = 0;
    while done < 12 {
        let mut worker = work(&killed, "0/1");
        done = wait_for(&killed, (done + 2).min(12));
        worker.kill().unwrap();
        worker.wait().unwrap();
        let after = json(&["sweep", "status", &killed, "--json"]);
        assert!(
            after["done"].as_u64().unwrap() >= done,
            "lost what was done"
        );
        deaths += 1;
    }
    assert!(deaths >= 2);
    succeed(&["sweep", "work", &killed]);
    assert!(place.gathered(&killed) == reference);
    assert_eq!(parts(&killed, ".journal").len(), 0);
}

#[cfg(unix)]
#[test]
fn a_run_that_kills_its_process_is_given_up_and_tried_again_on_demand() {
    let place = Place::new();
    let long = slower()
        .replace("train.steps=6000", "train.steps=200000")
        .replace("seeds = 2", "seeds = 1");
    let sweep = place.planned("long", &long);
    // The journal of a process has its number in its name.
    let running = |id: u32| {
        let mine = parts(&sweep, ".journal").into_iter();
        let mut mine = mine.filter(|path| path.to_str().unwrap().contains(&format!("-{id}-")));
        let text = fs::read_to_string(mine.next()?).ok()?;
        let (_, after) = text.split_once("{\"begin\":")?;
        after.split_once('}')?.0.parse::<u64>().ok()
    };
    let mut seen = Vec::new();
    for _ in 0..4 {
        let mut worker = work(&sweep, "0/1");
        let patience = Instant::now() + Duration::from_secs(30);
        let run = loop {
            if let Some(run) = running(worker.id()) {
                break run;
            }
            assert!(Instant::now() < patience);
            std::thread::sleep(Duration::from_millis(5));
        };
        worker.kill().unwrap();
        worker.wait().unwrap();
        seen.push(run);
    }
    // The first run is tried three times, then the next one.
    assert_eq!(seen, [0, 0, 0, 1]);
    let status = json(&["sweep", "status", &sweep, "--json"]);
    assert!(
        status["failed"]["0"]
            .as_str()
            .unwrap()
            .contains("died 3 times")
    );
    assert!(succeed(&["sweep", "status", &sweep]).contains("failed: train.batch=8"));
    assert!(succeed(&["sweep", "status", &sweep]).contains("--retry"));
}

#[cfg(unix)]
#[test]
fn notice_and_interrupts_stop_in_good_order() {
    let place = Place::new();
    let stopped = |name: &str, text: &str, runs: u64, signal: &str| {
        let sweep = place.planned(name, text);
        let worker = work(&sweep, "0/1");
        wait_for(&sweep, runs);
        let journal = || !parts(&sweep, ".journal").is_empty();
        let patience = Instant::now() + Duration::from_secs(30);
        while !journal() {
            assert!(Instant::now() < patience);
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = worker.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
        let output = worker.wait_with_output().unwrap();
        // Nothing counts as lost, and no journal is left.
        let status = json(&["sweep", "status", &sweep, "--json"]);
        assert_eq!(status["failed"], serde_json::json!({}));
        assert_eq!(parts(&sweep, ".journal").len(), 0);
        (output.status.code(), self::text(&output.stderr))
    };
    for (signal, code) in [("-USR1", 75), ("-TERM", 130), ("-INT", 130)] {
        let (found, said) = stopped(signal, &slower(), 1, signal);
        assert_eq!(found, Some(code), "{said}");
        assert!(said.contains("left"), "{said}");
    }
    // A run that never fits into its time must not be queued again and again.
    let long = slower().replace("train.steps=6000", "train.steps=1000000");
    let (found, said) = stopped("long", &long, 0, "-USR1");
    assert_eq!(found, Some(1), "{said}");
    assert!(said.contains("give more time"), "{said}");
}

#[test]
fn a_damaged_part_is_put_aside_and_its_runs_done_again() {
    let place = Place::new();
    let sweep = place.planned("sweep", STUDY);
    succeed(&["sweep", "work", &sweep]);
    let reference = place.gathered(&sweep);
    let part = parts(&sweep, ".parquet").remove(0);
    let mut bytes = fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, bytes).unwrap();
    assert!(succeed(&["sweep", "status", &sweep]).contains("is damaged"));
    let output = induct(&["sweep", "work", &sweep]);
    assert!(text(&output.stderr).contains("is damaged, and its runs will be done again"));
    assert!(output.status.success());
    assert_eq!(parts(&sweep, ".damaged").len(), 1);
    assert!(place.gathered(&sweep) == reference);
    // A part of another sweep is named and left out.
    let other = place.planned("other", &STUDY.replace("train.steps=30", "train.steps=20"));
    succeed(&["sweep", "work", &other]);
    let foreign = parts(&other, ".parquet").remove(0);
    let here = Path::new(&sweep)
        .join("parts")
        .join(foreign.file_name().unwrap());
    fs::copy(foreign, here).unwrap();
    assert!(succeed(&["sweep", "status", &sweep]).contains("belongs to another sweep"));
    assert!(place.gathered(&sweep) == reference);
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
        "new values 24",
        "seeds: 3 from 0 on there, 4 from 0 on now",
        "--extend",
        "18 more",
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
    let file = format!("{sweep}/sweep.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"16\"", "\"32\"")).unwrap();
    assert!(fail(2, &["sweep", "work", &sweep]).contains("changed by hand"));
}

#[test]
fn mistakes_in_a_study_are_named_before_anything_is_made() {
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
        "work", "status", "gather", "plot", "submit", "resubmit", "cancel",
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
    let status = json(&["sweep", "status", &out, "--json"]);
    assert_eq!(status["levels"], serde_json::json!({ "portable": 18 }));
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
    if json(&["sweep", "status", &mixed, "--json"])["levels"]
        .as_object()
        .unwrap()
        .len()
        > 1
    {
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
    let output = without(&[
        "sweep",
        "submit",
        &sweep,
        "--dry-run",
        "--tasks",
        "3",
        "--mem",
        "1G",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("sbatch --parsable --array=0-2"));
    let script = format!("{sweep}/slurm/task.sh");
    assert!(
        fs::read_to_string(&script)
            .unwrap()
            .contains("#SBATCH --mem=1G")
    );
    for share in ["0", "1", "2", "2"] {
        let done = Command::new(&script).arg(share).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    assert_eq!(json(&["sweep", "status", &sweep, "--json"])["missing"], 0);
    assert_eq!(
        Command::new(&script).output().unwrap().status.code(),
        Some(2)
    );
}

/// Copies of a sweep that grew differently have other runs under the same numbers.
#[test]
fn results_of_a_copy_that_grew_otherwise_are_left_out() {
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
    for part in parts(&other, ".parquet") {
        let name = part.file_name().unwrap().to_owned();
        fs::copy(&part, Path::new(&one).join("parts").join(name)).unwrap();
    }
    assert!(place.gathered(&one) == reference);
    assert!(succeed(&["sweep", "status", &one]).contains("belongs to another sweep"));
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
    for part in parts(&sweep, ".parquet") {
        fs::remove_file(part).unwrap();
    }
    let run = fs::read_dir(format!("{sweep}/runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::remove_file(run.join("recipe.toml")).unwrap();
    let said = fail(1, &["sweep", "work", &sweep]);
    assert!(said.contains("to train it anew"), "{said}");
    assert_eq!(json(&["sweep", "status", &sweep, "--json"])["done"], 8);
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
