//! Sweeps as users make them: planned, done in shards, killed, damaged, grown, gathered and drawn.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::{fs::symlink, net::UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::program::{Shell, has, make_pipe, refused, text, wait_for};
use serde_json::{Value, json};

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

/// What these tests do with sweeps, by the names of their folders.
impl Shell {
    pub fn plan(&self, sweep: &str, study: &str) {
        self.write("study.toml", study);
        self.succeed(&format!("sweep plan study.toml --out {sweep}"));
    }

    /// The number of runs that a worker has done.
    pub fn work(&self, sweep: &str) -> u64 {
        let worked = self.json(&format!("sweep work {sweep}"));
        worked["done"].as_u64().unwrap()
    }

    fn planned_and_done(study: &str) -> Self {
        let shell = Self::new();
        shell.plan("sweep", study);
        shell.work("sweep");
        shell
    }

    /// The bytes of the gathered table.
    pub fn gathered(&self, sweep: &str) -> Vec<u8> {
        self.succeed(&format!("sweep gather {sweep} --out gathered.parquet"));
        fs::read(self.path("gathered.parquet")).unwrap()
    }

    pub fn status(&self, sweep: &str) -> Value {
        self.json(&format!("sweep status {sweep}"))
    }

    /// Waits until a sweep is as far as it has to be.
    fn wait_until(&self, sweep: &str, holds: impl Fn(&Value) -> bool) -> Value {
        wait_for("progress", || Some(self.status(sweep)).filter(&holds))
    }

    fn journals(&self, sweep: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(sweep).join("journals"));
        let entries = entries.into_iter().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    fn worker(&self, sweep: &str, shard: &str) -> Command {
        let mut command = self.command(&format!("sweep work {sweep} --shard {shard} --threads 1"));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// A worker that waits after each of its runs until somebody reads what it says.
    fn held(&self, sweep: &str) -> (Child, UnixStream) {
        let (reader, mut writer) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        for size in [4096, 1] {
            while writer.write(&vec![b' '; size]).is_ok() {}
        }
        writer.set_nonblocking(false).unwrap();
        let mut worker = self.worker(sweep, "0/1");
        let stderr = Stdio::from(OwnedFd::from(writer));
        (worker.stderr(stderr).spawn().unwrap(), reader)
    }
}

#[test]
fn shards_on_any_number_of_processes_give_the_bytes_of_one() {
    let shell = Shell::planned_and_done(STUDY);
    assert_eq!(shell.status("sweep")["done"], 18);
    let reference = shell.gathered("sweep");
    shell.plan("shared", STUDY);
    // Each shard twice, all at once.
    let start = |index: u32| shell.worker("shared", &format!("{}/4", index % 4)).spawn();
    for worker in (0..8).map(start).collect::<Vec<_>>() {
        let output = worker.unwrap().wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(shell.gathered("shared") == reference);
    // Done is done, and leaves no further journal.
    let before = shell.journals("shared");
    assert_eq!(shell.work("shared"), 0);
    assert_eq!(shell.journals("shared"), before);
    let status = shell.status("shared");
    assert_eq!(
        (&status["done"], &status["missing"]),
        (&json!(18), &json!(0))
    );
    // In one go, the same.
    shell.succeed("sweep study.toml --out once");
    let once = fs::read(shell.path("once/results.parquet")).unwrap();
    assert!(once == reference);
}

#[test]
fn a_killed_worker_loses_only_the_runs_in_flight() {
    let shell = Shell::planned_and_done(STUDY);
    let reference = shell.gathered("sweep");
    shell.plan("killed", STUDY);
    for deaths in 1..=3 {
        let (mut worker, _messages) = shell.held("killed");
        shell.wait_until("killed", |status| status["done"] == deaths);
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert_eq!(shell.status("killed")["done"], deaths);
    }
    assert_eq!(shell.work("killed"), 15);
    assert!(shell.gathered("killed") == reference);
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

/// Starts a worker on an endless sweep; returns once it has done the short run and begun a long one.
fn at_work(shell: &Shell) -> (Child, Value) {
    let worker = shell.worker("sweep", "0/1").spawn().unwrap();
    let at_work = |status: &Value| status["done"] == 1 && status["running"] == 1;
    (worker, shell.wait_until("sweep", at_work))
}

#[test]
fn a_run_that_kills_its_worker_is_given_up_and_tried_again_on_demand() {
    let shell = Shell::new();
    shell.plan("sweep", &endless());
    let mut seen = Vec::new();
    for _ in 0..4 {
        let (mut worker, status) = at_work(&shell);
        worker.kill().unwrap();
        worker.wait().unwrap();
        let mut workers = status["workers"].as_array().unwrap().iter();
        let living = workers.find(|worker| worker["alive"] == true);
        seen.push(living.unwrap()["runs"][0].clone());
    }
    // The first run is tried three times, then the next one.
    assert!(
        seen[0] == seen[1] && seen[1] == seen[2] && seen[2] != seen[3],
        "{seen:?}"
    );
    let failed = &shell.status("sweep")["failed"][0];
    assert_eq!(failed["overrides"][1], "train.steps=1000000000");
    assert!(failed["error"].as_str().unwrap().contains("died 3 times"));
    let said = shell.succeed("sweep status sweep");
    has(
        &said,
        "failed: train.batch=8 | --retry | 4 workers have died",
    );
}

#[test]
fn notice_and_interrupts_stop_in_good_order() {
    let shell = Shell::new();
    shell.plan("sweep", &endless());
    // The first worker finishes a run; a run that never fits into its time must not be queued again and again.
    for (signal, code, words) in [
        ("-USR1", 75, "stopped in time with 2 runs of shard 0/1 left"),
        ("-USR1", 1, "give more time"),
        ("-TERM", 130, "2 runs of shard 0/1 left"),
        ("-INT", 130, "2 runs of shard 0/1 left"),
    ] {
        let (worker, _) = at_work(&shell);
        let id = worker.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
        let output = worker.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal}");
        has(&text(&output.stderr), words);
        // Nothing counts as lost.
        let status = shell.status("sweep");
        let lost = (&status["failed"], &status["workers"]);
        assert_eq!(lost, (&json!([]), &json!([])));
    }
    let journals = shell.journals("sweep").len();
    assert_eq!(journals, 1, "one without rows is removed");
}

#[test]
fn a_damaged_line_costs_its_run_and_strange_files_cost_nothing() {
    let shell = Shell::planned_and_done(STUDY);
    let reference = shell.gathered("sweep");
    let journal = shell.journals("sweep").remove(0);
    let mut bytes = fs::read(&journal).unwrap();
    let row = bytes.windows(7).position(|bytes| bytes == b"{\"row\":");
    bytes[row.unwrap() + 9] ^= 1;
    fs::write(&journal, bytes).unwrap();
    has(&shell.succeed("sweep status sweep"), "has 1 damaged lines");
    assert_eq!(shell.work("sweep"), 1);
    assert!(shell.gathered("sweep") == reference);
    // The journal of another sweep, and what is no file at all.
    shell.plan("other", &STUDY.replace("train.steps=30", "train.steps=20"));
    shell.work("other");
    let below = |name: &str| shell.path(&format!("sweep/journals/{name}.journal"));
    fs::copy(&shell.journals("other")[0], below("other")).unwrap();
    make_pipe(&below("pipe"));
    symlink("/dev/zero", below("zero")).unwrap();
    has(
        &shell.succeed("sweep status sweep"),
        "pipe.journal is left out | zero.journal is left out",
    );
    assert_eq!(shell.work("sweep"), 0);
    assert!(shell.gathered("sweep") == reference);
}

#[test]
fn a_damaged_plan_is_read_from_its_copy_and_repaired() {
    let shell = Shell::planned_and_done(STUDY);
    let reference = shell.gathered("sweep");
    let files = ["sweep.json", "sweep.copy.json"].map(|name| shell.path("sweep").join(name));
    let [plan, copy] = &files;
    let whole = fs::read(plan).unwrap();
    let middle = whole.len() / 2;
    for (damaged, place) in [(plan, 4), (plan, middle), (copy, middle)] {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        fs::write(damaged, bytes).unwrap();
        let (said, _) = shell.output("sweep status sweep");
        assert_eq!(said.contains("its copy is whole"), damaged == plan);
        // Whatever would change the folder wants a whole plan first.
        if damaged == plan {
            shell.refuses(
                "
                sweep plan study.toml --out sweep -> `induct sweep repair
                sweep gather sweep -> `induct sweep repair
                ",
            );
        }
        assert!(shell.gathered("sweep") == reference);
        has(&shell.succeed("sweep repair sweep"), "written anew");
        assert!(files.iter().all(|file| fs::read(file).unwrap() == whole));
    }
    let said = shell.succeed("sweep repair sweep");
    has(&said, "both files of the plan are whole");
    fs::remove_file(plan).unwrap();
    symlink("/dev/zero", plan).unwrap();
    has(&shell.succeed("sweep status sweep"), "not a regular file");
    for file in &files {
        fs::remove_file(file).unwrap();
        fs::write(file, &whole[..middle]).unwrap();
    }
    shell.refuses("sweep repair sweep -> damaged");
}

/// Whoever packed a sweep's folder decides where its links lead.
#[test]
fn links_in_a_sweep_are_not_written_through() {
    let shell = Shell::planned_and_done(STUDY);
    fs::create_dir(shell.path("elsewhere")).unwrap();
    shell.write("elsewhere/.run.part", "mine");
    shell.write("elsewhere/file", "mine");
    for (name, target, line) in [
        ("plot.svg", "elsewhere/file", "sweep plot sweep"),
        (
            "slurm",
            "elsewhere",
            "sweep submit sweep --dry-run --tasks 2 --again",
        ),
        ("snapshots", "elsewhere", "sweep gather sweep"),
        ("journals", "elsewhere", "sweep status sweep"),
    ] {
        let link = shell.path("sweep").join(name);
        let moved = shell.path("moved");
        let was_there = fs::rename(&link, &moved).is_ok();
        symlink(shell.path(target), &link).unwrap();
        if name == "slurm" {
            // There must be something to submit.
            shell.write("study.toml", STUDY.replace("seeds = 3", "seeds = 4"));
            shell.succeed("sweep plan study.toml --out sweep --extend");
        }
        shell.refuses(&format!("{line} -> {name} | is a link"));
        fs::remove_file(&link).unwrap();
        if was_there {
            fs::rename(&moved, &link).unwrap();
        }
    }
    let names = fs::read_dir(shell.path("elsewhere")).unwrap();
    assert_eq!(names.count(), 2);
    assert_eq!(
        fs::read_to_string(shell.path("elsewhere/file")).unwrap(),
        "mine"
    );
}

#[test]
fn a_changed_plan_is_named_and_may_extend_the_sweep() {
    let shell = Shell::planned_and_done(STUDY);
    shell.succeed("sweep plan study.toml --out sweep");
    let more = STUDY.replace("[8, 16]", "[8, 16, 24]");
    shell.write("study.toml", more.replace("seeds = 3", "seeds = 4"));
    let refused = "a sweep of 18 runs | 18 more, the first with train.batch=8, train.optimizer.lr=0.001, seed 3 | --extend";
    shell.refuses(&format!("sweep plan study.toml --out sweep -> {refused}"));
    shell.succeed("sweep plan study.toml --out sweep --extend");
    assert_eq!(shell.work("sweep"), 18);
    // Other curves would be missing in what is there.
    for (from, to, words) in [
        (
            "curves = [\"kl_truth\"]",
            "curves = [\"kl_bigram\"]",
            "results.curves",
        ),
        (
            "train.steps=30",
            "train.steps=40",
            "train.steps: 30 there, 40 now",
        ),
    ] {
        shell.write("study.toml", STUDY.replace(from, to));
        shell.refuses(&format!(
            "sweep plan study.toml --out sweep --extend -> {words}"
        ));
    }
    // A plan changed by hand is not trusted.
    for file in ["sweep/sweep.json", "sweep/sweep.copy.json"] {
        shell.write(file, shell.read(file).replace("\"16\"", "\"32\""));
    }
    shell.refuses("sweep work sweep -> changed by hand");
}

#[test]
fn usage_errors_in_a_study_are_named_before_anything_is_made() {
    let shell = Shell::new();
    for case in [
        "\"train.batch\" => \"train.bach\" -> bach",
        "[8, 16] => [8, 9.5] -> train.batch",
        "seeds = 3 => seeds = 0 -> seeds = 0",
        "seeds = 3 => seeds = 1000000000 -> 6000000000 runs",
        "final = [\"kl_truth\" => final = [\"kl_thruth\" -> kl_thruth is not recorded",
        "base = \"main\" => base = \"mian\" -> mian is not a preset",
        "runs = \"none\" => runs = \"few\" -> few",
        "runs = \"none\" => rums = \"none\" -> rums",
    ] {
        let (change, words) = case.split_once(" -> ").unwrap();
        let (from, to) = change.split_once(" => ").unwrap();
        shell.write("study.toml", STUDY.replace(from, to));
        shell.refuses(&format!("sweep plan study.toml --out sweep -> {words}"));
        assert!(!shell.path("sweep").exists());
    }
    for action in [
        "work", "status", "gather", "plot", "repair", "submit", "resubmit", "cancel",
    ] {
        shell.refuses(&format!("sweep {action} absent -> holds no sweep"));
    }
}

#[test]
fn figures_of_keys_measures_and_steps() {
    let shell = Shell::new();
    shell.plan("sweep", STUDY);
    shell.refuses("sweep plot sweep -> no result to draw yet");
    shell.work("sweep");
    for case in [
        "--x train.batch --y train.optimizer.lr --colour kl_truth -> Final loss over train.batch and train.optimizer.lr.",
        "--x train.optimizer.lr --y final.kl_truth --colour train.batch -> train.batch = 16",
        "--x step --y kl_truth --colour train.batch --where train.optimizer.lr=1e-2 -> over training steps",
        " -> Final loss",
    ] {
        let (options, words) = case.split_once(" -> ").unwrap();
        shell.succeed(&format!("sweep plot sweep --out figure.svg {options}"));
        has(&shell.read("figure.svg"), words);
    }
    shell.refuses(
        "
        sweep plot sweep --colour train.batch -> coloured by a measure
        sweep plot sweep --x train.batch --y train.batch -> is the horizontal axis already
        sweep plot sweep --x train.bach -> no such key varies
        sweep plot sweep --y loss -> nor a measure that was kept
        sweep plot sweep --x step --y nothing -> no curve of it was kept; those kept are kl_truth
        sweep plot sweep --where train.batch=9 -> no run has this value
        sweep plot sweep --where batch -> expected KEY=VALUE
        ",
    );
}

#[test]
fn a_pinned_level_is_kept_and_a_mixture_is_named() {
    let shell = Shell::new();
    shell.write("study.toml", STUDY);
    shell.succeed("sweep plan study.toml --out pinned --level portable");
    shell.work("pinned");
    assert_eq!(shell.status("pinned")["levels"], json!({ "portable": 18 }));
    shell.refuses("sweep plan study.toml --out no --level abacus -> abacus");
    shell.plan("mixed", STUDY);
    shell.succeed("sweep work mixed --shard 0/2 --level portable");
    shell.succeed("sweep work mixed --shard 1/2");
    let levels = shell.status("mixed")["levels"].clone();
    if levels.as_object().unwrap().len() > 1 {
        let (_, notes) = shell.output("sweep gather mixed");
        has(&notes, "computed at different levels");
    }
}

#[test]
fn without_slurm_the_script_serves_other_launchers() {
    let shell = Shell::new();
    let sweep = "sweep it's 5%";
    shell.plan("plain", STUDY);
    fs::rename(shell.path("plain"), shell.path(sweep)).unwrap();
    let without = |action: &str, options: &[&str]| {
        let mut command = shell.command(&format!("sweep {action} \"{sweep}\""));
        command.args(options).env("PATH", "/nowhere");
        command.output().unwrap()
    };
    for (action, words) in [
        ("submit", "there is no Slurm here"),
        ("resubmit", "not submitted yet"),
    ] {
        has(&refused(2, action, &without(action, &[])), words);
    }
    // Nothing that is typed or read runs as a command.
    let submit = |option: &str| without("submit", &["--dry-run", "--tasks", "12", option]);
    for option in ["--mem", "--time", "--partition", "--sbatch"] {
        let output = submit(&format!("{option}=-1\ntouch pwned"));
        has(&refused(2, option, &output), "is no option of sbatch");
    }
    assert!(!shell.path(sweep).join("slurm").exists());
    let output = submit("--mem=1G");
    assert!(output.status.success(), "{}", text(&output.stderr));
    has(&text(&output.stdout), "sbatch --parsable --array=0-11");
    let script = shell.path(sweep).join("slurm/task.sh");
    has(&fs::read_to_string(&script).unwrap(), "#SBATCH --mem=1G");
    let task = |share: &str, first: &str| {
        let mut command = Command::new(&script);
        command.arg(share).env("INDUCT_FIRST_SHARE", first);
        command.output().unwrap()
    };
    let pwned = shell.path("pwned");
    let command = format!("a[$(touch {})]", pwned.display());
    let is_refused = |share: &str, first: &str| {
        assert_eq!(task(share, first).status.code(), Some(2), "{share} {first}");
    };
    for share in ["", "-1", "0:0", "12", &command] {
        is_refused(share, "0");
    }
    is_refused("0", &command);
    assert!(!pwned.exists());
    let done = |share: &str, first: &str| {
        let done = task(share, first);
        assert!(done.status.success(), "{}", text(&done.stderr));
    };
    // A leading zero means nothing.
    done("010", "0");
    let journal = shell.journals(sweep).remove(0);
    let name = journal.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("10-of-12"), "{name}");
    (0..10).for_each(|share| done(&share.to_string(), "0"));
    done("0", "10");
    done("1", "10");
    let status = format!("sweep status \"{sweep}\"");
    assert_eq!(shell.json(&status)["missing"], 0);
    // What a file says is checked like what is typed, and a pipe does not hang anybody.
    let jobs = shell.path(sweep).join("slurm/jobs.json");
    let option = "--mem=1G\ntouch pwned";
    let forged = json!({ "shares": 4, "options": [option], "at_once": null, "jobs": [] });
    fs::write(&jobs, forged.to_string()).unwrap();
    let resubmit = format!("sweep resubmit \"{sweep}\"");
    shell.refuses(&format!("{resubmit} -> is no option of sbatch"));
    fs::remove_file(&jobs).unwrap();
    make_pipe(&jobs);
    shell.refuses(&format!("{resubmit} -> not a regular file"));
}

#[test]
fn results_of_a_copy_that_grew_otherwise_count_where_they_belong() {
    let shell = Shell::new();
    for (sweep, batch) in [("one", "[8, 24]"), ("other", "[8, 32]")] {
        shell.plan(sweep, STUDY);
        shell.write("study.toml", STUDY.replace("[8, 16]", batch));
        shell.succeed(&format!("sweep study.toml --out {sweep}"));
    }
    let reference = shell.gathered("one");
    fs::remove_file(&shell.journals("one")[0]).unwrap();
    let taken = shell.path("one/journals/taken.journal");
    fs::copy(&shell.journals("other")[0], taken).unwrap();
    assert_eq!(shell.work("one"), 9);
    assert!(shell.gathered("one") == reference);
}

#[test]
fn the_same_point_in_other_words_is_no_new_run() {
    let shell = Shell::new();
    for (vary, runs) in [
        ("", 1),
        ("--vary task.prior=dirichlet;iid", 2),
        ("--vary task.prior='dirichlet';'iid'", 2),
        ("--vary train.optimizer.lr=1e-3;0.003", 3),
    ] {
        let sets = "--set train.steps=3 --set task.length=8 --set record.test_sequences=8";
        let line = format!("sweep main --seeds 1 --out sweep {sets} {vary}");
        let found = shell.json(&line)["runs"].as_array().unwrap().len();
        assert_eq!(found, runs, "{vary}");
    }
}

#[test]
fn a_damaged_run_folder_fails_alone_and_diverged_runs_have_no_final_loss() {
    let study = STUDY.replace("runs = \"none\"", "runs = \"all\"");
    let study = study.replace("[8, 16]", "[8]");
    let shell = Shell::planned_and_done(&study.replace("to = 1e-1", "to = 1e30"));
    shell.succeed("sweep gather sweep --out table.csv");
    let rows = shell.read("table.csv");
    let mut diverged = rows.lines().filter(|row| row.contains(",diverged,"));
    assert!(
        diverged.any(|row| row.contains(",1e30,") && row.contains(",uniform,0,,,,,")),
        "{rows}"
    );
    fs::remove_file(&shell.journals("sweep")[0]).unwrap();
    let run = fs::read_dir(shell.path("sweep/runs")).unwrap().next();
    let run = run.unwrap().unwrap().path();
    fs::remove_file(run.join("recipe.toml")).unwrap();
    has(&shell.fail(1, "sweep work sweep"), "to train it anew");
    assert_eq!(shell.status("sweep")["done"], 8);
    fs::remove_dir_all(run).unwrap();
    assert_eq!(shell.work("sweep"), 1);
}

/// A study takes runs that a sweep has kept whole, and trains only what is missing.
#[test]
fn a_study_can_name_a_sweep_as_its_source() {
    let shell = Shell::new();
    let reproduce = |out: &str, more: &str| {
        let sets = "--set train.steps=20 --set task.length=8 --set record.every=10 --set record.snapshots=2 --set record.test_sequences=20";
        let line = format!("reproduce --only C1 --seeds 2 --out {out} {sets} {more}");
        shell.output(&line).1
    };
    reproduce("first", "");
    shell.write(
        "study.toml",
        "base = \"first/recipes/main.toml\"\n\
         seeds = { first = 1000, count = 2, own_tests = true }\n\
         [results]\nruns = \"all\"\n",
    );
    shell.succeed("sweep study.toml --out sweep");
    let said = reproduce("second", "--sweep sweep");
    let taken = said.split_once(" taken from sweeps").unwrap().0;
    let taken = taken.lines().last().unwrap();
    assert!(["1 run", "2 runs"].contains(&taken), "{said}");
    assert!(!shell.path("second/runs/main/1000").exists());
    let verdicts = |out: &str| shell.read(&format!("{out}/claims.json"));
    assert!(verdicts("first") == verdicts("second"));
    shell.refuses("reproduce --sweep first -> holds no sweep");
}
