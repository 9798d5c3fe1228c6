//! Training as a user runs it: what a run leaves, and repeating, interrupting and resuming it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{SMALL, fail, json, results, small_run, succeed, text, train_arguments};

#[test]
fn a_run_leaves_its_files_and_tells_its_story() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let mut names: Vec<String> = fs::read_dir(&run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            ".lock",
            "checkpoint.safetensors",
            "metrics.csv",
            "recipe.toml",
            "snapshots",
            "summary.json"
        ]
    );
    let metrics = fs::read_to_string(format!("{run}/metrics.csv")).unwrap();
    assert!(metrics.starts_with("step,sequences,kl_truth,train_loss,"));
    assert_eq!(metrics.lines().count(), 1 + 3); // steps 0, 20 and 30
    // Each snapshot falls on a recorded step, so there are no more snapshots than records.
    assert_eq!(fs::read_dir(format!("{run}/snapshots")).unwrap().count(), 3);
    assert!(Path::new(&format!("{run}/snapshots/step-000030.safetensors")).exists());
    let story = succeed(&["show", &run]);
    for part in [
        "Phases",
        "uniform",
        "KL(truth ‖ ·)",
        "layers.1.heads.0",
        "Induction head",
    ] {
        assert!(story.contains(part), "{story}");
    }
    let shown = json(&["show", &run, "--json"]);
    assert_eq!(shown["final"]["step"], 30.0);
    assert_eq!(shown["ended"], "complete");
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(format!("{run}/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["steps"], 30);
    assert!(summary["strategies"]["bigram"]["kl_truth"].is_f64());
}

#[test]
fn a_run_that_an_event_ended_says_so() {
    let folder = TempDir::new().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let stop = ["record.every=5", "train.stop={at=\"uniform\", after=1}"];
    let train = train_arguments("main", run, &[&SMALL[..], &stop].concat());
    let sentence = "Stopped at step 20 of 30 by train.stop: 1 step after the onset of uniform.";
    let trained = succeed(&train);
    assert!(trained.starts_with(sentence), "{trained}");
    let shown = succeed(&["show", run]);
    assert!(shown.starts_with(sentence), "{shown}");
    let shown = json(&["show", run, "--json"]);
    assert_eq!(
        (&shown["ended"], &shown["steps"]),
        (&"event".into(), &20.into())
    );
    let again = succeed(&[&train[..], &["--resume"]].concat());
    assert!(again.contains("is complete"), "{again}");
}

#[test]
fn a_run_s_own_recipe_repeats_it_for_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let recipe = format!("{run}/recipe.toml");
    for threads in ["1", "2", "3"] {
        let out = folder.path().join(threads);
        let out = out.to_str().unwrap();
        succeed(&["train", &recipe, "--out", out, "--threads", threads]);
        assert_eq!(results(Path::new(out)), results(Path::new(&run)));
    }
}

/// Starts a program that does not end on its own.
fn spawn(arguments: &[&str]) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a program has written a file.
fn wait_for(path: &Path, child: &mut std::process::Child) {
    let started = Instant::now();
    while !path.exists() && started.elapsed() < Duration::from_secs(120) {
        assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(path.exists(), "{} never appeared", path.display());
}

/// So many steps that no machine finishes before it is stopped, recorded so rarely that memory does not
/// matter.
const ENDLESS: [&str; 3] = [
    "train.steps=1000000000",
    "record.every=500",
    "record.snapshots=5",
];

/// Sends a signal to a run in training; returns its exit code and standard error.
fn signalled(arguments: &[&str], out: &Path, signal: &str) -> (Option<i32>, String) {
    let checkpoint = out.join("checkpoint.safetensors");
    let modified = || {
        fs::metadata(&checkpoint)
            .and_then(|about| about.modified())
            .ok()
    };
    let before = modified();
    let mut child = spawn(arguments);
    let started = Instant::now();
    while modified() == before {
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "no checkpoint"
        );
        assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
        std::thread::sleep(Duration::from_millis(2));
    }
    let kill = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

/// The last recorded step of an unfinished run, as `show` gives it.
fn recorded_until(run: &str) -> f64 {
    json(&["show", run, "--json"])["final"]["step"]
        .as_f64()
        .unwrap()
}

/// Whatever happens to a run (killed, stopped, killed again), it ends in the bytes of one that nothing
/// happened to. Its length follows from how far the machine got before the stop, so nothing here depends on
/// speed.
#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let (whole, cut) = (folder.path().join("whole"), folder.path().join("cut"));
    let (whole, cut) = (whole.to_str().unwrap(), cut.to_str().unwrap());
    let mut sets = SMALL.to_vec();
    sets.extend(ENDLESS);
    let mut arguments = train_arguments("main", cut, &sets);
    arguments.push("--resume"); // of a run that does not exist yet: starts it
    let (code, said) = signalled(&arguments, Path::new(cut), "-KILL");
    assert_eq!(code, None, "{said}");
    let mut child = spawn(&arguments);
    std::thread::sleep(Duration::from_millis(30));
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, said) = signalled(&arguments, Path::new(cut), "-TERM");
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("stopped after") && said.contains("--resume"),
        "{said}"
    );
    // Extended beyond what was done, it equals a run of this length from the start.
    let steps = format!("train.steps={}", recorded_until(cut) + 1500.0);
    sets.push(&steps);
    let mut to_the_end = train_arguments("main", cut, &sets);
    to_the_end.push("--resume");
    succeed(&to_the_end);
    succeed(&train_arguments("main", whole, &sets));
    assert_eq!(results(Path::new(cut)), results(Path::new(whole)));
    assert!(succeed(&to_the_end).contains("is complete"));
}

#[test]
fn ctrl_c_writes_a_checkpoint_and_says_how_to_continue() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let mut sets = SMALL.to_vec();
    sets.extend(ENDLESS);
    let arguments = train_arguments("main", out.to_str().unwrap(), &sets);
    let (code, said) = signalled(&arguments, &out, "-INT");
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("recipe.toml --resume"), "{said}");
    // A sweep too keeps the unfinished state of its runs.
    let sweep = folder.path().join("sweep");
    let mut arguments = vec![
        "sweep",
        "main",
        "--seeds",
        "1",
        "--out",
        sweep.to_str().unwrap(),
    ];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let mut child = spawn(&arguments);
    let started = Instant::now();
    let run = loop {
        let runs = fs::read_dir(sweep.join("runs")).into_iter().flatten();
        if let Some(run) = runs.flatten().next() {
            break run.path();
        }
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    };
    wait_for(&run.join("checkpoint.safetensors"), &mut child);
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("the same command again"), "{said}");
}

#[test]
fn a_finished_run_is_extended_where_its_schedule_allows() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let mut sets = SMALL.to_vec();
    sets.push("train.steps=50");
    let longer = folder.path().join("longer");
    succeed(&train_arguments("main", longer.to_str().unwrap(), &sets));
    let recipe_file = format!("{run}/recipe.toml");
    succeed(&["train", &recipe_file, "--resume", "--set", "train.steps=50"]);
    assert_eq!(results(Path::new(&run)), results(&longer));
    let refused = fail(
        2,
        &["train", &recipe_file, "--resume", "--set", "train.steps=40"],
    );
    assert!(refused.contains("has done 50 steps already"), "{refused}");
    let refused = fail(
        2,
        &["train", &recipe_file, "--resume", "--set", "train.batch=16"],
    );
    assert!(refused.contains("train.batch = 16, was 12"), "{refused}");
    // With a cosine schedule, a longer run differs from the start.
    let cosine = folder.path().join("cosine");
    let cosine = cosine.to_str().unwrap();
    sets.push("train.schedule=cosine");
    succeed(&train_arguments("main", cosine, &sets));
    let recipe_file = format!("{cosine}/recipe.toml");
    let refused = fail(
        2,
        &["train", &recipe_file, "--resume", "--set", "train.steps=60"],
    );
    assert!(refused.contains("cosine"), "{refused}");
}

#[test]
fn a_run_starts_from_another_s_snapshot() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let out = folder.path().join("next");
    let out = out.to_str().unwrap();
    let mut sets = SMALL.to_vec();
    sets.push("seeds.data=7");
    let from = format!("{run}@20");
    let mut arguments = train_arguments("main", out, &sets);
    arguments.extend(["--from", &from]);
    succeed(&arguments);
    let predict = |run: &str, step: &str| {
        json(&["predict", run, "--tokens", "0110", "--step", step, "--json"])["model"].clone()
    };
    assert_eq!(predict(out, "0"), predict(&run, "20"));
    let recipe = fs::read_to_string(format!("{out}/recipe.toml")).unwrap();
    assert!(
        recipe.contains("[from]") && recipe.contains("step = 20"),
        "{recipe}"
    );
    // The recipe repeats the run, as long as the snapshot has not changed.
    let again = folder.path().join("again");
    let recipe_file = format!("{out}/recipe.toml");
    succeed(&["train", &recipe_file, "--out", again.to_str().unwrap()]);
    assert_eq!(results(Path::new(out)), results(&again));
    fs::remove_dir_all(&run).unwrap();
    let mut other = SMALL.to_vec();
    other.push("seeds.init=5");
    succeed(&train_arguments("main", &run, &other));
    let elsewhere = folder.path().join("elsewhere");
    let refused = fail(
        2,
        &["train", &recipe_file, "--out", elsewhere.to_str().unwrap()],
    );
    assert!(
        refused.contains("from.weights") && refused.contains("digest"),
        "{refused}"
    );
    assert!(!elsewhere.exists());
    // Weights of another shape, a step without a snapshot, and not a run at all.
    for (from, sets, words) in [
        (
            run.as_str(),
            "model.width=4",
            &["embed.E", "[2, 8]", "[2, 4]"][..],
        ),
        (
            &format!("{run}@7"),
            "model.width=8",
            &["--from", "step 7", "nearest"],
        ),
        ("nowhere", "model.width=8", &["--from nowhere", "not a run"]),
        (&format!("{run}@x"), "model.width=8", &["whole number"]),
    ] {
        let mut arguments = train_arguments("main", elsewhere.to_str().unwrap(), &SMALL);
        arguments.extend(["--from", from, "--set", sets]);
        let refused = fail(2, &arguments);
        assert!(words.iter().all(|word| refused.contains(word)), "{refused}");
    }
}

#[test]
fn a_run_at_another_level_is_another_run() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (portable, again, best) = (place("portable"), place("again"), place("best"));
    let at = |out: &str, more: &[&str]| {
        let mut arguments: Vec<String> = train_arguments("main", out, &SMALL)
            .into_iter()
            .map(str::to_owned)
            .collect();
        arguments.extend(more.iter().map(|&text| text.to_owned()));
        arguments
    };
    let run = |out: &str, more: &[&str]| {
        let arguments = at(out, more);
        succeed(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    run(&portable, &["--level", "portable"]);
    run(&again, &["--level", "portable", "--threads", "1"]);
    run(&best, &[]);
    assert_eq!(results(Path::new(&portable)), results(Path::new(&again)));
    let summary = |run: &str| json(&["show", run, "--json"]);
    let read = |run: &str| -> Value {
        let text = fs::read_to_string(format!("{run}/summary.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(read(&portable)["arithmetic"], "portable");
    // Either level reads the other's runs.
    assert_eq!(summary(&portable)["steps"], 30);
    succeed(&["--level", "portable", "eval", &best, "--sequences", "9"]);
    let resumed = run(&portable, &["--level", "portable", "--resume"]);
    assert!(resumed.contains("is complete"), "{resumed}");
    if read(&best)["arithmetic"] == "portable" {
        return; // This machine has nothing better.
    }
    assert_ne!(read(&portable)["identity"], read(&best)["identity"]);
    let longer = ["--resume", "--set", "train.steps=40"];
    for (out, more, advice) in [
        (&portable, &longer[..1], "--level portable"),
        (&portable, &longer, "--level portable"),
        (&best, &["--resume", "--level", "portable"], "--level "),
    ] {
        let before = results(Path::new(out));
        let arguments = at(out, more);
        let message = fail(2, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            message.contains("arithmetic") && message.contains(advice),
            "{message}"
        );
        assert_eq!(results(Path::new(out)), before);
    }
}

#[test]
fn a_loss_that_is_not_a_number_ends_the_run_and_keeps_its_records() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let mut sets = SMALL.to_vec();
    sets.push("train.optimizer={kind=\"sgd\", lr=1e30}");
    let message = fail(1, &train_arguments("main", out, &sets));
    assert!(
        message.contains("at step ") && message.contains(out),
        "{message}"
    );
    let metrics = fs::read_to_string(format!("{out}/metrics.csv")).unwrap();
    assert!(metrics.lines().count() >= 2);
    assert!(succeed(&["show", out]).contains("uniform"));
    // A tenth of 1e30 would be useless advice.
    assert!(message.contains("lr=2e-3"), "{message}");
    let mut again = train_arguments("main", out, &sets);
    again.push("--resume");
    assert!(fail(1, &again).contains("not a number at step"));
    assert!(succeed(&["show", out]).contains("Diverged"));
    // The weights that are kept are the last sound ones.
    succeed(&["predict", out, "--tokens", "0,1"]);
    succeed(&["eval", out, "--sequences", "9"]);
}

#[test]
fn a_run_survives_a_terminal_that_goes_away() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(train_arguments("main", out, &SMALL))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert!(child.wait().unwrap().success());
    assert!(Path::new(&format!("{out}/summary.json")).exists());
}

#[test]
fn two_trainers_do_not_share_a_folder() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let mut sets = SMALL.to_vec();
    sets.extend(ENDLESS);
    let mut arguments = train_arguments("main", out.to_str().unwrap(), &sets);
    arguments.push("--resume");
    let mut first = spawn(&arguments);
    wait_for(&out.join("recipe.toml"), &mut first);
    let message = fail(2, &arguments);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(message.contains("another process"), "{message}");
}

/// Two processes start in one new folder, many times: every time one trains and the other is refused.
#[test]
fn of_two_that_start_at_once_one_is_refused() {
    let folder = TempDir::new().unwrap();
    for attempt in 0..25 {
        let out = folder.path().join(format!("{attempt}"));
        let mut sets = SMALL.to_vec();
        sets.extend(ENDLESS);
        let arguments = train_arguments("main", out.to_str().unwrap(), &sets);
        let mut both = [spawn(&arguments), spawn(&arguments)];
        // The one that is refused ends on its own.
        let started = Instant::now();
        let refused = loop {
            let ended = both
                .iter_mut()
                .position(|child| child.try_wait().unwrap().is_some());
            if let Some(ended) = ended {
                break ended;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "both run");
            std::thread::sleep(Duration::from_millis(1));
        };
        let [first, second] = both;
        let (refused, mut running) = if refused == 0 {
            (first, second)
        } else {
            (second, first)
        };
        let output = refused.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "attempt {attempt}: {said}");
        assert!(
            said.contains("another process") || said.contains("already holds a run"),
            "{said}"
        );
        wait_for(&out.join("recipe.toml"), &mut running);
        running.kill().unwrap();
        running.wait().unwrap();
    }
}

#[test]
fn a_run_resumes_by_its_own_recipe() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    fs::remove_file(format!("{run}/summary.json")).unwrap();
    let before = results(Path::new(&run));
    succeed(&["train", &format!("{run}/recipe.toml"), "--resume"]);
    assert_eq!(results(Path::new(&run)), before);
    // From inside the folder too.
    let inside = Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(["train", "recipe.toml", "--resume"])
        .current_dir(&run)
        .output()
        .unwrap();
    assert!(
        text(&inside.stdout).contains("is complete"),
        "{}",
        text(&inside.stderr)
    );
}

/// Arguments of a small sweep.
fn sweep_arguments(out: &str) -> Vec<&str> {
    let mut arguments = vec!["sweep", "main", "--seeds", "2", "--out", out];
    for set in &SMALL {
        arguments.extend(["--set", set]);
    }
    arguments
}

/// The table of a sweep, as CSV.
fn gathered(out: &str) -> String {
    let file = format!("{out}-table.csv");
    succeed(&["sweep", "gather", out, "--out", &file]);
    fs::read_to_string(file).unwrap()
}

/// The name of a sweep's run with this override and seed.
fn run_of(shown: &Value, set: &str, seed: u64) -> String {
    let runs = shown["runs"].as_array().unwrap().iter();
    let mut found =
        runs.filter(|run| run["seed"] == seed && run["overrides"].to_string().contains(set));
    found.next().unwrap()["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_sweep_trains_every_variation_as_a_run_of_its_own() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("sweep");
    let out = out.to_str().unwrap();
    let mut arguments = sweep_arguments(out);
    arguments.extend(["--vary", "train.optimizer.lr=1e-3;1e30", "--json"]);
    let first = json(&arguments);
    let runs = first["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs[0]["final.kl_truth"].is_f64() && runs[0]["diverged_at"].is_null());
    assert!(runs[3]["diverged_at"].is_u64(), "{}", runs[3]);
    // The same run trained alone.
    let alone = folder.path().join("alone");
    let mut sets = SMALL.to_vec();
    sets.extend(["seeds.init=1", "seeds.data=1"]);
    succeed(&train_arguments("main", alone.to_str().unwrap(), &sets));
    let in_sweep = Path::new(out).join("runs").join(run_of(&first, "1e-3", 1));
    assert_eq!(results(&in_sweep), results(&alone));
    // A run of a sweep is a run like any other.
    let in_sweep_name = in_sweep.to_str().unwrap();
    assert!(succeed(&["show", in_sweep_name]).contains("Phases"));
    succeed(&["predict", in_sweep_name, "--tokens", "0110"]);
    succeed(&["eval", in_sweep_name, "--sequences", "9"]);
    // Existing runs are not trained again.
    let modified = |path: &Path| fs::metadata(path.join("summary.json")).unwrap().modified();
    let before = modified(&in_sweep).unwrap();
    let second = json(&arguments);
    assert_eq!(first, second);
    assert_eq!(before, modified(&in_sweep).unwrap());
    let table = succeed(&sweep_arguments(&format!("{out}-2")));
    assert!(
        table.contains("2 seeds, KL") && table.contains("in 2 of 2 runs"),
        "{table}"
    );
}

#[test]
fn a_sweep_tells_which_runs_an_event_ended() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("sweep");
    let mut arguments = sweep_arguments(out.to_str().unwrap());
    arguments.extend([
        "--set",
        "record.every=5",
        "--set",
        "train.stop={at=\"uniform\"}",
    ]);
    for _ in 0..2 {
        succeed(&arguments);
        let table = gathered(out.to_str().unwrap());
        assert_eq!(table.matches(",event,15,,").count(), 2, "{table}");
    }
}

#[test]
fn a_sweep_grows_by_seeds_values_and_keys_and_keeps_its_table_and_figure() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("sweep");
    let out = out.to_str().unwrap();
    let sweep = |seeds: &str, vary: &[&str]| {
        let mut arguments = vec!["sweep", "main", "--seeds", seeds, "--out", out, "--json"];
        SMALL
            .iter()
            .for_each(|set| arguments.extend(["--set", set]));
        vary.iter()
            .for_each(|vary| arguments.extend(["--vary", vary]));
        json(&arguments)
    };
    let table = || gathered(out);
    let modified = |run: &str| {
        let summary = format!("{out}/runs/{run}/summary.json");
        fs::metadata(summary).unwrap().modified().unwrap()
    };
    let first = sweep("1", &["train.batch=8;16"]);
    let kept = run_of(&first, "train.batch=8", 0);
    let before = modified(&kept);
    assert_eq!(table().lines().count(), 1 + 2);
    assert!(
        table().starts_with("run,train.batch,seed,ended,steps,diverged_at,phases,onset.uniform")
    );
    assert!(table().contains("final.kl_truth"));
    for (seeds, vary, rows) in [
        ("2", &["train.batch=8;16"][..], 4),
        ("2", &["train.batch=8;16;24"], 6),
        ("1", &["train.batch=8;16", "model.heads=1;2"], 8),
    ] {
        sweep(seeds, vary);
        assert_eq!(table().lines().count(), 1 + rows, "{}", table());
        assert_eq!(modified(&kept), before, "trained again");
    }
    assert!(table().starts_with("run,train.batch,model.heads,seed,"));
    for name in ["figure.svg", "figure.png", "figure.csv"] {
        assert!(Path::new(out).join(name).is_file(), "{name}");
    }
}

#[test]
fn a_sweep_over_nothing_or_into_another_one_is_refused() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("sweep");
    let out = out.to_str().unwrap();
    let ten: Vec<String> = (0..9)
        .map(|i| format!("k{i}=0;1;2;3;4;5;6;7;8;9"))
        .collect();
    let mut many = vec!["sweep", "main", "--out", out];
    ten.iter().for_each(|vary| many.extend(["--vary", vary]));
    assert!(fail(2, &many).contains("5000000000 runs"));
    let refused = fail(2, &["sweep", "main", "--out", out, "--vary", "lr"]);
    assert!(refused.contains("KEY.PATH=VALUE"), "{refused}");
    let refused = fail(
        2,
        &["sweep", "main", "--out", out, "--vary", "train.rate=1;2"],
    );
    assert!(
        refused.contains("--vary train.rate=1") && !refused.contains("--set"),
        "{refused}"
    );
    fail(
        2,
        &["sweep", "main", "--out", out, "--vary", "seeds.data=1;2"],
    );
    fail(2, &["sweep", "main", "--out", out, "--set", "seeds.data=1"]);
    // The same value written differently would be the same run twice.
    let twice = "train.optimizer.lr=1e-3;0.001";
    let refused = fail(2, &["sweep", "main", "--out", out, "--vary", twice]);
    assert!(refused.contains("the same runs"), "{refused}");
    assert!(!Path::new(out).exists());
    succeed(&sweep_arguments(out));
    let mut other = sweep_arguments(out);
    other.extend(["--set", "train.batch=8"]);
    assert!(fail(2, &other).contains("another recipe"));
}

/// Folder names need not be UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn a_sweep_into_a_folder_whose_name_is_not_utf8_prints_json() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = TempDir::new().unwrap();
    let out = folder.path().join(OsStr::from_bytes(b"sweep-\xff"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_induct"));
    command
        .args(["sweep", "main", "--seeds", "1", "--json", "--out"])
        .arg(&out);
    for set in &SMALL {
        command.args(["--set", set]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(out.join("results.parquet").is_file());
}

/// `show` names the induction head in whichever layer it is: here, weights set by hand put it into the last
/// layer.
#[test]
fn show_names_the_heads_that_formed_and_their_layers() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let sets = [
        "task.states=4",
        "model.layers=3",
        "model.heads=2",
        "model.width=16",
        "task.length=32",
        "train.steps=20",
        "record.test_sequences=40",
        "record.measures=[\"previous_token\", \"induction\", \"same_token\", \"entropy\"]",
    ];
    succeed(&train_arguments("main", out, &sets));
    let story = succeed(&["show", out]);
    for place in [
        "layers.0.heads.0",
        "layers.2.heads.1",
        "Induction head: none has formed",
    ] {
        assert!(story.contains(place), "{story}");
    }
    let shown = json(&["show", out, "--json"]);
    assert_eq!(shown["heads"]["induction"]["formed"], false);
    assert!(shown["final"]["layers.2.heads.1.entropy"].is_f64());
    // The construction: layer 1 looks at the previous symbol, layer 2 at what followed the current one
    // before.
    let by_hand = folder.path().join("by-hand");
    let by_hand = by_hand.to_str().unwrap();
    succeed(&train_arguments(
        "construction",
        by_hand,
        &["record.test_sequences=40", "model.start.sharpness=40.0"],
    ));
    let heads = &json(&["show", by_hand, "--json"])["heads"];
    assert_eq!(
        (
            &heads["induction"]["layer"],
            &heads["previous_token"]["layer"]
        ),
        (&1.into(), &0.into()),
        "{heads}"
    );
}

/// A run on a few chains is measured on fresh chains while it trains.
#[test]
fn a_run_on_a_pool_records_fresh_chains() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let recipe = folder.path().join("pool.toml");
    fs::write(
        &recipe,
        "name = \"pool\"\n\
         [task]\nlength = 16\nprior = { kind = \"pool\", size = 3, of = \"dirichlet\" }\n\
         [[record.tests]]\nname = \"fresh\"\nprior = \"dirichlet\"\n\
         [[record.tests]]\nname = \"short\"\nlength = 5\nprior = \"iid\"\n",
    )
    .unwrap();
    succeed(&train_arguments(recipe.to_str().unwrap(), out, &SMALL));
    let shown = json(&["show", out, "--json"]);
    for column in ["kl_truth", "fresh.kl_truth", "short.kl_truth"] {
        assert!(shown["final"][column].is_f64(), "{shown}");
    }
    assert_ne!(shown["final"]["kl_truth"], shown["final"]["fresh.kl_truth"]);
    assert!(shown["tests"]["fresh"]["strategies"]["bigram"]["kl_truth"].is_f64());
    assert!(succeed(&["show", out]).contains("on test set fresh"));
}
