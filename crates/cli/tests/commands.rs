//! The commands besides training as a user runs them, and usage errors.

use std::fs;

use serde_json::Value;

use crate::program::{SMALL, Shell, has, make_pipe, numbers, refused};

#[test]
fn sample_shows_sequences_and_tables() {
    let shell = Shell::new();
    let sample =
        |step: u64| shell.json(&format!("sample trigram --step {step} --set train.batch=3"));
    let shown = sample(7);
    let tokens = shown["tokens"].as_array().unwrap();
    assert_eq!(
        tokens
            .iter()
            .map(|row| numbers(row).len())
            .collect::<Vec<_>>(),
        [201; 3]
    );
    let tables = shown["tables"].as_array().unwrap();
    assert_eq!((tables.len(), tables[0].as_array().unwrap().len()), (3, 4));
    for row in tables[0].as_array().unwrap() {
        assert!((numbers(row).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    assert_eq!(sample(7), shown);
    assert_ne!(sample(8), shown);
}

/// With dropout, `sample` prints the keys that all masks follow from; without, there are none.
#[test]
fn sample_shows_the_keys_of_masks() {
    let shell = Shell::new();
    let keys = |dropout: &str, step: u64| {
        let set = format!("--set train.batch=3 --set model.dropout={dropout}");
        let shown = shell.json(&format!("sample main --step {step} {set}"));
        // The batch has two of its own, for masks that its sequences share.
        let of_batch = shown["batch_dropout_keys"].as_array().map(Vec::len);
        assert_eq!(of_batch, shown["dropout_keys"].as_array().map(|_| 2));
        shown["dropout_keys"].clone()
    };
    let shown = keys("0.1", 7);
    let pairs = shown.as_array().expect("two keys per sequence");
    assert_eq!(pairs.len(), 3);
    for pair in pairs {
        let pair = pair.as_array().unwrap();
        let fits = |key: &Value| key.as_u64().is_some_and(|key| key <= u64::from(u32::MAX));
        assert!(pair.len() == 2 && pair.iter().all(fits), "{pair:?}");
    }
    // They do not depend on the rate, but on the step.
    assert_eq!(keys("{attention=0.5}", 7), shown);
    assert_ne!(keys("0.1", 8), shown);
    assert_eq!(keys("0.0", 7), Value::Null);
}

#[test]
fn predict_shows_the_model_beside_the_strategies() {
    let shell = Shell::with_run();
    let shown = shell.json("predict run --tokens 0,1,1,0 --step 0");
    assert!((numbers(&shown["model"]).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let strategies = &shown["strategies"];
    assert_eq!(numbers(&strategies["uniform"]), [0.5, 0.5]);
    assert_eq!(numbers(&strategies["unigram"]), [0.5, 0.5]);
    // Once, a 1 followed a 0: (0 + 1) / (1 + 2) and (1 + 1) / (1 + 2).
    assert_eq!(numbers(&strategies["bigram"]), [1.0 / 3.0, 2.0 / 3.0]);
    for name in ["bayes", "unigram-and-current"] {
        assert!((numbers(&strategies[name]).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    has(&shell.succeed("predict run --tokens 1"), "model @30");
    // As `sample` prints them, and with the step after the run.
    for same in [
        "run@0 --tokens 0110",
        "run@0 --tokens \"0 1 1 0\"",
        "run@0 --tokens \" 0, 1, 1, 0 \"",
    ] {
        assert_eq!(shell.json(&format!("predict {same}")), shown, "{same}");
    }
}

#[test]
fn eval_gives_divergences_with_errors() {
    let shell = Shell::with_run();
    let eval = |options: &str| shell.json(&format!("eval run --sequences 300 {options}"));
    let shown = eval("");
    for field in ["kl_truth", "se", "kl_truth_all", "se_all"] {
        assert!(shown["model"][field].as_f64().unwrap() > 0.0, "{field}");
    }
    for strategy in [
        "uniform",
        "unigram",
        "bigram",
        "bayes",
        "unigram-and-current",
    ] {
        for field in ["kl_truth", "se", "kl_to_model", "kl_to_model_se"] {
            assert!(
                shown["strategies"][strategy][field].is_f64(),
                "{strategy} {field}"
            );
        }
    }
    // A shorter context is a different task for the same model.
    let shorter = eval("--length 5");
    assert_eq!(shorter["length"], 5);
    assert_eq!(eval("--set task.length=5"), shorter);
    // Every snapshot can be measured, since it falls on a recorded step.
    for step in [0, 20, 30] {
        assert_eq!(eval(&format!("--step {step}"))["step"], step);
    }
    // An override changes the task on which the model is measured.
    assert_ne!(eval("--set task.prior=iid")["model"], shown["model"]);
    // Strategies need no model.
    let alone = shell.json("eval --strategies --sequences 16");
    assert!(alone["model"].is_null() && alone["step"].is_null());
    let table = shell.succeed("eval run --sequences 16");
    has(&table, "KL(strategy ‖ model)");
}

#[test]
fn a_task_without_chains_is_trained_and_measured_by_every_command() {
    let shell = Shell::new();
    let small = SMALL.map(|set| format!(" --set {set}")).concat();
    let small = format!("{small} --set task.source=causal-graph");
    shell.succeed(&format!("train main --out run{small}"));
    has(
        &shell.succeed("show run"),
        "causal-graph, 2 states, length 16",
    );
    let shown = shell.json("show run");
    let ladder = ["uniform", "unigram", "parent"];
    let names = |of: &Value| -> Vec<String> { of.as_object().unwrap().keys().cloned().collect() };
    assert!(ladder.contains(&shown["phases"][0]["strategy"].as_str().unwrap()));
    // The truth is above none, and what counts by parents is the best of all.
    for line in [
        "eval run",
        "eval main --strategies --set task.source=causal-graph",
    ] {
        let shown = shell.json(&format!("{line} --sequences 2000"));
        let mut found = names(&shown["strategies"]);
        found.sort_by_key(|name| ladder.iter().position(|other| other == name));
        assert_eq!(found, ladder, "{line}");
        let kl = |name: &str| shown["strategies"][name]["kl_truth"].as_f64().unwrap();
        assert!(
            kl("uniform") > kl("unigram") && kl("unigram") > kl("parent"),
            "{shown}"
        );
        assert!(kl("parent") > 0.0, "{shown}");
    }
    assert_eq!(
        names(&shell.json("predict run --tokens 0110")["strategies"]).len(),
        3
    );
    let sample = shell.json("sample run/recipe.toml");
    assert!(sample["tables"].is_null());
    let (tokens, laws) = (&sample["tokens"], &sample["laws"]);
    assert_eq!(
        (
            tokens[11].as_array().unwrap().len(),
            laws[11].as_array().unwrap().len()
        ),
        (17, 16)
    );
    has(
        &shell.succeed("sample run/recipe.toml"),
        "after position 15: ",
    );
    shell.succeed("plot run --out curves.svg");
    shell.succeed(&format!("sweep main --seeds 2 --out sweep{small}"));
    shell.succeed("train run/recipe.toml --out again --set train.stop={at=\"parent\"}");
}

#[test]
fn a_model_tells_why_it_is_computed_as_it_is() {
    let shell = Shell::new();
    let reasons = |of: &str| {
        let shown = shell.json(&format!("bench --engines --only {of}"));
        let rules = shown["rules"].as_array().unwrap().iter();
        let reason = |rule: &Value| format!("{}: {}", rule["choice"], rule["when"]);
        rules.map(reason).collect::<Vec<_>>()
    };
    let released = reasons("released");
    assert!(released[0].contains("stream") && released[0].contains("dropout"));
    let without = reasons("released --set model.dropout=0.0");
    assert!(without[0].starts_with("\"coordinates\""), "{without:?}");
    assert!(without.iter().any(|rule| rule.contains("one-hot")));
    let table = shell.succeed("bench --engines --only layer-norm-mlp");
    has(&table, "up to the first MLP");
}

#[test]
fn bench_times_the_settings() {
    let shell = Shell::new();
    let bench = |options: &str| shell.json(&format!("bench --seconds 0.001 --only {options}"));
    let main = &bench("main --threads 1")["settings"][0];
    assert!(main["name"] == "main" && main["threads"] == 1);
    assert!(main["ms_per_step"].as_f64().unwrap() > 0.0);
    // There is no time to train in.
    assert!(main["ms_per_step_trained"].is_null());
    let shares = main["share_of_step"].as_object().unwrap();
    let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert!(main["share_of_peak"].as_f64().unwrap() > 0.0);
    let batch = |set: &str| {
        let timed = &bench(&format!("main --set {set}"))["settings"][0];
        let [sequences, steps] =
            ["sequences_per_second", "steps_per_second"].map(|key| timed[key].as_f64());
        (sequences.unwrap() / steps.unwrap()).round()
    };
    assert_eq!(batch("train.batch=8"), 8.0);
    // A bench has no end, whatever the recipe says.
    assert_eq!(batch("train.steps=1"), 64.0);
}

#[test]
#[ignore = "slow: steps of large models, which `bench` times as it does small ones"]
fn bench_times_growth() {
    let growth = Shell::new().json("bench --only growth --seconds 0.001");
    let points = growth["growth"].as_array().unwrap();
    assert!(points.iter().any(|p| p["of"] == "t" && p["value"] == 1600));
}

#[test]
fn presets_are_listed_and_can_be_copied() {
    let shell = Shell::new();
    let list = shell.succeed("presets");
    has(&list, "main  | trigram ");
    shell.write("mine.toml", shell.succeed("presets main"));
    assert_eq!(shell.json("sample mine.toml"), shell.json("sample main"));
}

#[test]
fn usage_errors_get_one_sentence_and_code_2() {
    let shell = Shell::with_run();
    fs::create_dir(shell.path("other")).unwrap();
    shell.write("other/notes.txt", "mine");
    make_pipe(&shell.path("pipe"));
    let too_deep = format!("sample main --set {}a=1", "a.".repeat(32_500));
    let too_long = format!("predict run --tokens {}", ["0"; 17].join(","));
    shell.refuses(&format!(r#"
        train nonsense -> nonsense | not a preset | main
        train main --out run -> already holds a run | --resume
        train main --out other -> not empty | --out
        train main --out run --resume -> another recipe
        train main --set task.states=1 -> task.states = 1 | from 2
        train main --threads 0 -> --threads | 0
        train main --threads two -> --threads | a whole number from 1 to 1024
        train /dev/null -> /dev/null | not a regular file
        train other -> not a regular file
        train pipe -> not a regular file
        bench --level abacus -> --level abacus | this machine has | portable
        bench --seconds x -> --seconds | a number
        bench --only mian -> many-states
        bench --only main --set model.widht=8 -> widht
        bench --set train.batch=8 -> --only
        bench --only growth --set train.batch=8 -> --only growth
        bench --engines --only mian -> main
        presets mian -> main
        show absent -> not a run | recipe.toml
        show other -> not a run
        predict run --tokens 0,2 -> --tokens | "2" | from 0 to 1
        predict run --tokens "" -> --tokens | ""
        predict run --tokens 0,x -> "x"
        {too_long} -> 17 symbols | at most 16
        predict run --tokens 0 --step 77 -> step 77 | nearest: 30
        eval -> --strategies
        eval run --length 17 -> task.length = 17 | at most 16
        eval run --length x -> --length | whole number
        eval run --set model.width=4 -> --set | trained model
        eval --strategies --set task.prior.p=1 -> task.prior.p: no such key
        eval --strategies --step 3 -> --strategies | --step
        sweep main --seeds x -> --seeds | a whole number from 1
        sample main --step -1 -> --step | a whole number, 0 or above
        sample main --step x -> 'x' | --step | a whole number, 0 or above
        sample main --set train.stepz=1 -> train.stepz: no such key | did you mean
        sample main --set steps -> --set steps: expected key.path=value
        {too_deep} -> --set a.a. | more than 32 parts
        sample construction --set model.layers=9223372036854775807 -> model.layers = 9223372036854775807 | from 1 to 64
        sample main --set train.batch=1000000 --set model.kind=minimal -> train.batch = 1000000 | smaller
        "#));
    assert_eq!(fs::read_dir(shell.path("other")).unwrap().count(), 1);
}

/// A name from elsewhere must not steer the terminal that it is printed to.
#[test]
fn control_characters_are_shown_and_not_printed() {
    let shell = Shell::new();
    let name = "a\u{1b}[2Jb\u{9b}c";
    let (shown, escaped) = ("a\\u001b[2Jb\\u009bc", ["\u{1b}", "\u{9b}"]);
    let check = |printed: &str| {
        assert!(printed.contains(shown), "{printed:?}");
        assert!(escaped.iter().all(|c| !printed.contains(c)), "{printed:?}");
    };
    check(&shell.fail(2, &format!("show {name}")));
    let refused = shell.fail(2, &format!("show run --{name}"));
    assert!(escaped.iter().all(|c| !refused.contains(c)), "{refused:?}");
    check(&shell.train(name, ""));
    // JSON still gives the name itself.
    let seen = format!("attention {name} --tokens 01");
    check(&shell.succeed(&seen));
    assert_eq!(shell.json(&seen)["run"], name);
}

/// Neither is waited for, and no memory is taken for what cannot be a recipe or a page.
#[test]
fn pipes_devices_and_huge_files_are_refused_at_once() {
    let shell = Shell::new();
    make_pipe(&shell.path("pipe"));
    let huge = fs::File::create(shell.path("huge.toml")).unwrap();
    huge.set_len(4 << 30).unwrap();
    for line in [
        "train pipe",
        "train /dev/zero",
        "sample huge.toml",
        "sweep huge.toml",
        "lab runs --out out.html --page pipe",
        "lab runs --out out.html --page /dev/zero",
        "lab runs --out out.html --page huge.toml",
    ] {
        let message = refused(2, line, &shell.command(line).output().unwrap());
        let huge = message.contains("huge.toml") && message.contains("it has more than");
        assert!(huge || message.contains("not a regular file"), "{message}");
    }
    for (folder, mark, line) in [
        ("chapter", "ledger.json", "theory --out chapter"),
        (
            "report",
            "report.json",
            "reproduce --out report --only C2 --seeds 1",
        ),
    ] {
        fs::create_dir(shell.path(folder)).unwrap();
        let mark = fs::File::create(shell.path(folder).join(mark)).unwrap();
        mark.set_len(1 << 40).unwrap();
        let message = refused(2, line, &shell.command(line).output().unwrap());
        has(&message, "not empty");
    }
}
