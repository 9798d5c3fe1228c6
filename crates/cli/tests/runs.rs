//! Training as a user runs it: what a run leaves, and repeating, interrupting and resuming it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::program::{Shell, has, refused, small, text, wait_for};

#[test]
fn a_run_leaves_its_files_and_tells_its_story() {
    let shell = Shell::with_run();
    let entries = fs::read_dir(shell.path("run")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names.join(" "),
        ".lock checkpoint.safetensors metrics.csv recipe.toml snapshots summary.json"
    );
    let metrics = shell.read("run/metrics.csv");
    assert!(metrics.starts_with("step,sequences,kl_truth,train_loss,"));
    assert_eq!(metrics.lines().count(), 1 + 3); // steps 0, 20 and 30
    // Each snapshot falls on a recorded step, so there are no more snapshots than records.
    assert_eq!(
        fs::read_dir(shell.path("run/snapshots")).unwrap().count(),
        3
    );
    assert!(shell.path("run/snapshots/step-000030.safetensors").exists());
    let story = shell.succeed("show run");
    has(
        &story,
        "Phases | uniform | KL(truth ‖ ·) | layers.1.heads.0 | Induction head",
    );
    let shown = shell.json("show run");
    assert_eq!(shown["final"]["step"], 30.0);
    assert_eq!(shown["ended"], "complete");
    let summary: Value = serde_json::from_str(&shell.read("run/summary.json")).unwrap();
    assert_eq!(summary["steps"], 30);
    assert!(summary["strategies"]["bigram"]["kl_truth"].is_f64());
}

#[test]
fn a_run_that_an_event_ended_says_so() {
    let shell = Shell::new();
    let stop = "--set record.every=5 --set train.stop={at=\"uniform\",after=1}";
    let sentence = "Stopped at step 20 of 30 by train.stop: 1 step after the onset of uniform.";
    let trained = shell.train("run", stop);
    assert!(trained.starts_with(sentence), "{trained}");
    let shown = shell.succeed("show run");
    assert!(shown.starts_with(sentence), "{shown}");
    let shown = shell.json("show run");
    assert_eq!(
        (&shown["ended"], &shown["steps"]),
        (&"event".into(), &20.into())
    );
    let again = shell.train("run", &format!("{stop} --resume"));
    has(&again, "is complete");
}

/// What is not measured at every step is shown with the step that it was measured at.
#[test]
fn progress_says_at_which_step_a_strategy_was_the_nearest() {
    let shell = Shell::new();
    let (_, notes) = shell.output(&small("train main --out", "run", "--set record.every=10"));
    let near = |line: &str| Some(line.split_once("near uniform")?.1.to_owned());
    let steps: Vec<String> = notes.lines().filter_map(near).collect();
    assert!(!steps.is_empty(), "{notes}");
    for step in steps {
        let step = step
            .strip_prefix(" at step ")
            .and_then(|step| step.split(',').next());
        assert!(
            ["0", "10", "20"].contains(&step.unwrap_or_default()),
            "{notes}"
        );
    }
}

/// A program that does not end on its own.
struct Endless {
    child: Child,
}

/// So many steps that no machine finishes before it is stopped, recorded so rarely that memory does not
/// matter.
const ENDLESS: &str =
    "--set train.steps=1000000000 --set record.every=500 --set record.snapshots=5";

impl Endless {
    fn start(shell: &Shell, line: &str) -> Self {
        let mut command = shell.command(line);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        Self {
            child: command.spawn().unwrap(),
        }
    }

    /// Waits until the program has written a file, or written it anew.
    fn wait_for_new(&mut self, path: &Path) {
        let modified = || fs::metadata(path).and_then(|about| about.modified()).ok();
        let before = modified();
        wait_for(&path.display().to_string(), || {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "it ended too soon"
            );
            (modified() != before).then_some(())
        });
    }

    /// Sends a signal; returns the exit code and standard error.
    fn end(self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stderr))
    }
}

/// Sends a signal to a run in training, after its next checkpoint; returns its exit code and standard error.
fn signalled(shell: &Shell, line: &str, run: &str, signal: &str) -> (Option<i32>, String) {
    let mut endless = Endless::start(shell, line);
    endless.wait_for_new(&shell.path(run).join("checkpoint.safetensors"));
    endless.end(signal)
}

/// Whatever happens to a run (killed twice, stopped), it ends in the bytes of one that nothing happened to.
/// Its length follows from how far the machine got before the stop, so nothing here depends on speed.
#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let shell = Shell::new();
    // Of a run that does not exist yet, --resume starts it.
    let line = small("train main --resume --out", "cut", ENDLESS);
    for _ in 0..2 {
        let (code, said) = signalled(&shell, &line, "cut", "-KILL");
        assert_eq!(code, None, "{said}");
    }
    let (code, said) = signalled(&shell, &line, "cut", "-TERM");
    assert_eq!(code, Some(130), "{said}");
    has(&said, "stopped after | recipe.toml --resume");
    // Extended beyond what was done, it equals a run of this length from the start.
    let recorded = shell.json("show cut")["final"]["step"].as_f64().unwrap();
    let longer = format!("{ENDLESS} --set train.steps={}", recorded + 600.0);
    let to_the_end = small("train main --resume --out", "cut", &longer);
    shell.succeed(&to_the_end);
    shell.train("whole", &longer);
    assert_eq!(shell.results("cut"), shell.results("whole"));
    has(&shell.succeed(&to_the_end), "is complete");
}

#[test]
fn ctrl_c_writes_a_checkpoint_and_says_how_to_continue() {
    let shell = Shell::new();
    let line = small("train main --out", "run", ENDLESS);
    let (code, said) = signalled(&shell, &line, "run", "-INT");
    assert_eq!(code, Some(130), "{said}");
    has(&said, "recipe.toml --resume");
    // A sweep too keeps the unfinished state of its runs.
    let mut sweep = Endless::start(
        &shell,
        &small("sweep main --seeds 1 --out", "sweep", ENDLESS),
    );
    let run = wait_for("a run", || {
        let runs = fs::read_dir(shell.path("sweep/runs")).ok()?;
        Some(runs.flatten().next()?.path())
    });
    sweep.wait_for_new(&run.join("checkpoint.safetensors"));
    let (code, said) = sweep.end("-INT");
    assert_eq!(code, Some(130), "{said}");
    has(&said, "the same command again");
}

#[test]
fn a_finished_run_is_extended_where_its_schedule_allows() {
    let shell = Shell::with_run();
    shell.train("longer", "--set train.steps=50");
    shell.succeed("train run/recipe.toml --resume --set train.steps=50");
    assert_eq!(shell.results("run"), shell.results("longer"));
    shell.train("cosine", "--set train.schedule=cosine");
    // With a cosine schedule, a longer run differs from the start.
    shell.refuses(
        "
        train run/recipe.toml --resume --set train.steps=40 -> has done 50 steps already
        train run/recipe.toml --resume --set train.batch=16 -> train.batch = 16, was 12
        train cosine/recipe.toml --resume --set train.steps=60 -> cosine
        ",
    );
}

#[test]
fn a_run_starts_from_another_s_snapshot() {
    let shell = Shell::with_run();
    shell.train("next", "--set seeds.data=7 --from run@20");
    let predict = |at: &str| shell.json(&format!("predict {at} --tokens 0110"))["model"].clone();
    assert_eq!(predict("next@0"), predict("run@20"));
    let recipe = shell.read("next/recipe.toml");
    has(&recipe, "[from] | step = 20");
    // The recipe repeats the run, as long as the snapshot has not changed.
    shell.succeed("train next/recipe.toml --out again --threads 3");
    assert_eq!(shell.results("next"), shell.results("again"));
    fs::remove_dir_all(shell.path("run")).unwrap();
    shell.train("run", "--set seeds.init=5");
    // Weights of another shape, a step without a snapshot, and not a run at all.
    let train = small("train main --out", "elsewhere", "--from");
    shell.refuses(&format!(
        "
        train next/recipe.toml --out elsewhere -> from.weights | digest
        {train} run --set model.width=4 -> embed.E | [2, 8] | [2, 4]
        {train} run@7 -> --from | step 7 | nearest
        {train} nowhere -> --from nowhere | not a run
        {train} run@x -> whole number
        "
    ));
}

#[test]
fn a_run_at_another_level_is_another_run() {
    let shell = Shell::new();
    shell.train("portable", "--level portable");
    shell.train("again", "--level portable --threads 1");
    shell.train("best", "");
    assert_eq!(shell.results("portable"), shell.results("again"));
    let summary = |run: &str| -> Value {
        serde_json::from_str(&shell.read(&format!("{run}/summary.json"))).unwrap()
    };
    assert_eq!(summary("portable")["arithmetic"], "portable");
    // Either level reads the other's runs.
    assert_eq!(shell.json("show portable")["steps"], 30);
    shell.succeed("--level portable eval best --sequences 9");
    let resumed = shell.train("portable", "--level portable --resume");
    has(&resumed, "is complete");
    if summary("best")["arithmetic"] == "portable" {
        return; // This machine has nothing better.
    }
    assert_ne!(summary("portable")["identity"], summary("best")["identity"]);
    for (run, more, advice) in [
        ("portable", "--resume", "--level portable"),
        (
            "portable",
            "--resume --set train.steps=40",
            "--level portable",
        ),
        ("best", "--resume --level portable", "--level "),
    ] {
        let before = shell.results(run);
        let line = small("train main --out", run, more);
        shell.refuses(&format!("{line} -> arithmetic | {advice}"));
        assert_eq!(shell.results(run), before);
    }
}

#[test]
fn a_loss_that_is_not_a_number_ends_the_run_and_keeps_its_records() {
    let shell = Shell::new();
    let line = small(
        "train main --out",
        "run",
        "--set train.optimizer={kind=\"sgd\",lr=1e30}",
    );
    let message = shell.fail(1, &line);
    has(&message, "at step  | run:");
    // A tenth of 1e30 would be useless advice.
    has(&message, "lr=2e-3");
    assert!(shell.read("run/metrics.csv").lines().count() >= 2);
    has(
        &shell.fail(1, &format!("{line} --resume")),
        "not a number at step",
    );
    let story = shell.succeed("show run");
    has(&story, "uniform | Diverged");
    // The weights that are kept are the last finite ones.
    shell.succeed("predict run --tokens 0,1");
    shell.succeed("eval run --sequences 9");
}

#[test]
fn a_run_survives_a_terminal_that_goes_away() {
    let shell = Shell::new();
    let mut command = shell.command(&small("train main --out", "run", ""));
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert!(child.wait().unwrap().success());
    assert!(shell.path("run/summary.json").exists());
}

/// Two processes start in one new folder, several times: every time one trains and the other is refused.
#[test]
fn of_two_that_start_at_once_one_is_refused() {
    let shell = Shell::new();
    for attempt in 0..8 {
        let out = attempt.to_string();
        let line = small("train main --out", &out, ENDLESS);
        let mut both = [(); 2].map(|()| Endless::start(&shell, &line));
        // The one that is refused ends on its own.
        let ended = wait_for("an end", || {
            both.iter_mut()
                .position(|one| one.child.try_wait().unwrap().is_some())
        });
        let [first, second] = both;
        let (ended, mut running) = if ended == 0 {
            (first, second)
        } else {
            (second, first)
        };
        let said = refused(2, &line, &ended.child.wait_with_output().unwrap());
        let known = ["another process", "already holds a run"];
        assert!(known.iter().any(|words| said.contains(words)), "{said}");
        let recipe = shell.path(&out).join("recipe.toml");
        wait_for("a recipe", || recipe.exists().then_some(()));
        // One that comes later is refused as well.
        let later = format!("{line} --resume");
        has(&shell.fail(2, &later), "another process");
        assert!(running.child.try_wait().unwrap().is_none());
        running.end("-KILL");
    }
}

#[test]
fn a_run_resumes_by_its_own_recipe() {
    let shell = Shell::with_run();
    fs::remove_file(shell.path("run/summary.json")).unwrap();
    let before = shell.results("run");
    shell.succeed("train run/recipe.toml --resume");
    assert_eq!(shell.results("run"), before);
    // From inside the folder too.
    let mut inside = shell.command("train recipe.toml --resume");
    let inside = inside.current_dir(shell.path("run")).output().unwrap();
    assert!(
        text(&inside.stdout).contains("is complete"),
        "{}",
        text(&inside.stderr)
    );
}

/// Trains a small sweep.
fn sweep(shell: &Shell, out: &str, options: &str) -> Value {
    shell.json(&small("sweep main --out", out, options))
}

/// The table of a sweep, as CSV.
fn gathered(shell: &Shell) -> String {
    shell.succeed("sweep gather sweep --out table.csv");
    shell.read("table.csv")
}

/// The folder of a sweep's run with this override and seed.
fn run_of(shown: &Value, set: &str, seed: u64) -> String {
    let runs = shown["runs"].as_array().unwrap().iter();
    let mut found =
        runs.filter(|run| run["seed"] == seed && run["overrides"].to_string().contains(set));
    format!(
        "sweep/runs/{}",
        found.next().unwrap()["run"].as_str().unwrap()
    )
}

#[test]
fn a_sweep_trains_every_variation_as_a_run_of_its_own() {
    let shell = Shell::new();
    let options = "--seeds 2 --vary train.optimizer.lr=1e-3;1e30";
    let first = sweep(&shell, "sweep", options);
    let runs = first["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs[0]["final.kl_truth"].is_f64() && runs[0]["diverged_at"].is_null());
    assert!(runs[3]["diverged_at"].is_u64(), "{}", runs[3]);
    // The same run trained alone.
    shell.train("alone", "--set seeds.init=1 --set seeds.data=1");
    let run = run_of(&first, "1e-3", 1);
    assert_eq!(shell.results(&run), shell.results("alone"));
    // A run of a sweep is a run like any other.
    has(&shell.succeed(&format!("show {run}")), "Phases");
    shell.succeed(&format!("predict {run} --tokens 0110"));
    shell.succeed(&format!("eval {run} --sequences 9"));
    // Existing runs are not trained again.
    let summary = shell.path(&run).join("summary.json");
    let modified = || fs::metadata(&summary).unwrap().modified().unwrap();
    let before = modified();
    assert_eq!(sweep(&shell, "sweep", options), first);
    assert_eq!(modified(), before);
    let table = shell.succeed(&small("sweep main --seeds 2 --out", "other", ""));
    has(&table, "2 seeds, KL | in 2 of 2 runs");
}

#[test]
fn a_sweep_tells_which_runs_an_event_ended() {
    let shell = Shell::new();
    for _ in 0..2 {
        let stop = "--seeds 2 --set record.every=5 --set train.stop={at=\"uniform\"}";
        sweep(&shell, "sweep", stop);
        let table = gathered(&shell);
        assert_eq!(table.matches(",event,15,,").count(), 2, "{table}");
    }
}

#[test]
fn a_sweep_grows_by_seeds_values_and_keys_and_keeps_its_table_and_figure() {
    let shell = Shell::new();
    let first = sweep(&shell, "sweep", "--seeds 1 --vary train.batch=8;16");
    let kept = shell
        .path(&run_of(&first, "train.batch=8", 0))
        .join("summary.json");
    let modified = || fs::metadata(&kept).unwrap().modified().unwrap();
    let before = modified();
    let table = gathered(&shell);
    assert_eq!(table.lines().count(), 1 + 2);
    assert!(table.starts_with("run,train.batch,seed,ended,steps,diverged_at,phases,onset.uniform"));
    assert!(table.contains("final.kl_truth"));
    for (options, rows) in [
        ("--seeds 2 --vary train.batch=8;16", 4),
        ("--seeds 2 --vary train.batch=8;16;24", 6),
        (
            "--seeds 1 --vary train.batch=8;16 --vary model.heads=1;2",
            8,
        ),
    ] {
        sweep(&shell, "sweep", options);
        let table = gathered(&shell);
        assert_eq!(table.lines().count(), 1 + rows, "{table}");
        assert_eq!(modified(), before, "trained again");
    }
    assert!(gathered(&shell).starts_with("run,train.batch,model.heads,seed,"));
    for name in ["figure.svg", "figure.png", "figure.csv"] {
        assert!(shell.path("sweep").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_sweep_over_nothing_or_into_another_one_is_refused() {
    let shell = Shell::new();
    let vary = |i: usize| format!(" --vary k{i}=0;1;2;3;4;5;6;7;8;9");
    let many = format!(
        "sweep main --out sweep{}",
        (0..9).map(vary).collect::<String>()
    );
    let line = "sweep main --out sweep";
    // The same value written differently would be the same run twice.
    shell.refuses(&format!(
        "
        {many} -> 5000000000 runs
        {line} --vary lr -> KEY.PATH=VALUE
        {line} --vary train.rate=1;2 -> --vary train.rate=1
        {line} --vary seeds.data=1;2 -> seeds
        {line} --set seeds.data=1 -> seeds
        {line} --vary train.optimizer.lr=1e-3;0.001 -> the same runs
        "
    ));
    let refused = shell.fail(2, &format!("{line} --vary train.rate=1;2"));
    assert!(!refused.contains("--set"));
    sweep(&shell, "sweep", "--seeds 1");
    let other = small("sweep main --out", "sweep", "--set train.batch=8");
    shell.refuses(&format!("{other} -> another recipe"));
}

/// Folder names need not be UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn a_sweep_into_a_folder_whose_name_is_not_utf8_prints_json() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let shell = Shell::new();
    let name = OsStr::from_bytes(b"sweep-\xff");
    let mut command = shell.command(&small("sweep main --json --seeds", "1", "--out"));
    let output = command.arg(name).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(shell.path("").join(name).join("results.parquet").is_file());
}

/// `show` names the induction head in whichever layer it is: here, weights set by hand put it into the last
/// layer.
#[test]
fn show_names_the_heads_that_formed_and_their_layers() {
    let shell = Shell::new();
    let measures = "[\"previous_token\",\"induction\",\"same_token\",\"entropy\"]";
    shell.train(
        "run",
        &format!("--set model.layers=3 --set model.heads=2 --set record.measures={measures}"),
    );
    let story = shell.succeed("show run");
    has(
        &story,
        "layers.0.heads.0 | layers.2.heads.1 | Induction head: none has formed",
    );
    let shown = shell.json("show run");
    assert_eq!(shown["heads"]["induction"]["formed"], false);
    assert!(shown["final"]["layers.2.heads.1.entropy"].is_f64());
    // The construction: layer 1 looks at the previous symbol, layer 2 at what followed the current one
    // before.
    shell.succeed(
        "train construction --out by-hand --set record.test_sequences=40 --set model.start.sharpness=40.0",
    );
    let heads = &shell.json("show by-hand")["heads"];
    let layers = ["induction", "previous_token"].map(|name| heads[name]["layer"].as_u64());
    assert_eq!(layers, [Some(1), Some(0)], "{heads}");
}

/// A run on a few chains is measured on fresh chains while it trains.
#[test]
fn a_run_on_a_pool_records_fresh_chains() {
    let shell = Shell::new();
    shell.write(
        "pool.toml",
        "name = \"pool\"\n\
         [task]\nlength = 16\nprior = { kind = \"pool\", size = 3, of = \"dirichlet\" }\n\
         [[record.tests]]\nname = \"fresh\"\nprior = \"dirichlet\"\n\
         [[record.tests]]\nname = \"short\"\nlength = 5\nprior = \"iid\"\n",
    );
    shell.succeed(&small("train pool.toml --out", "run", ""));
    let shown = shell.json("show run");
    for column in ["kl_truth", "fresh.kl_truth", "short.kl_truth"] {
        assert!(shown["final"][column].is_f64(), "{shown}");
    }
    assert_ne!(shown["final"]["kl_truth"], shown["final"]["fresh.kl_truth"]);
    assert!(shown["tests"]["fresh"]["strategies"]["bigram"]["kl_truth"].is_f64());
    has(&shell.succeed("show run"), "on test set fresh");
}
