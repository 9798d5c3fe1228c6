//! `induct ablate`, and models under interventions, as a user looks at them.

use std::fs;

use serde_json::json;

use crate::program::{Shell, has, names, numbers, small};

#[test]
fn every_part_of_models_with_one_two_and_three_layers_is_measured() {
    let shell = Shell::new();
    // Sources and, where there are several, their readers: those of each layer above, and the logits.
    let parts = [1 + 4 + 1, 1 + 7 + 1 + 4 + 1, 1 + 10 + 1 + 7 + 1 + 4 + 1];
    for (layers, parts) in (1..).zip(parts) {
        let run = format!("layers-{layers}");
        shell.train(&run, &format!("--set model.layers={layers}"));
        let shown = shell.json(&format!("ablate {run} --sequences 64"));
        let names = names(&shown["parts"], "part");
        assert_eq!(names.len(), parts, "{names:?}");
        assert!(names.contains(&"embed -> logits"));
        let worths = shown["parts"].as_array().unwrap().iter();
        let worths: Vec<f64> = worths.map(|part| numbers(&part["worth"])[0]).collect();
        assert!(worths.is_sorted_by(|a, b| a >= b), "{worths:?}");
        let text = shell.succeed(&format!("ablate {run} --sequences 64 --with mean"));
        has(&text, "after step 30 | its mean | layers.0.heads.0 | ±");
    }
}

#[test]
fn parts_that_are_not_there_or_read_nothing_else_are_not_listed() {
    let shell = Shell::new();
    shell.train("run", "--set model.mlp=true --set model.heads=[2,1]");
    let shown = shell.json("ablate run --sequences 64 --with resample");
    let names = names(&shown["parts"], "part");
    assert!(
        names.contains(&"layers.0.heads.1 -> layers.0.mlp"),
        "{names:?}"
    );
    assert!(names.contains(&"layers.0.mlp -> layers.1.keys"));
    assert!(!names.contains(&"layers.0.mlp -> layers.0.mlp"));
    assert!(!names.contains(&"layers.1.mlp -> logits"));
}

#[test]
fn the_worth_is_the_difference_that_eval_measures() {
    let shell = Shell::with_run();
    let eval = |more: &str| {
        let shown = shell.json(&format!("eval run --sequences 200 {more}"));
        shown["model"]["kl_truth"].as_f64().unwrap()
    };
    let shown = shell.json("ablate run --sequences 200");
    assert!((numbers(&shown["kl_truth"])[0] - eval("")).abs() < 1e-9);
    let without = eval("--intervene \"kind='ablate', at='layers.0.heads.0', to='logits'\"");
    let mut parts = shown["parts"].as_array().unwrap().iter();
    let part = parts
        .find(|part| part["part"] == "layers.0.heads.0 -> logits")
        .unwrap();
    assert!((numbers(&part["worth"])[0] - (without - eval(""))).abs() < 1e-6);
    assert_eq!(
        [&part["source"], &part["reader"]],
        ["layers.0.heads.0", "logits"]
    );
}

#[test]
fn all_steps_show_when_parts_start_to_matter() {
    let shell = Shell::new();
    shell.train("run", "--set record.every=10 --set train.optimizer.lr=1e-2");
    let shown = shell.json("ablate run --all-steps --sequences 64");
    assert_eq!(shown["steps"], json!([0, 10, 20, 30]));
    for part in shown["parts"].as_array().unwrap() {
        assert_eq!(
            (numbers(&part["worth"]).len(), numbers(&part["se"]).len()),
            (4, 4)
        );
    }
    for out in ["a.svg", "a.png"] {
        let text = shell.succeed(&format!(
            "ablate run --all-steps --sequences 64 --out {out}"
        ));
        has(&text, "matters from | is written");
        assert!(fs::metadata(shell.path(out)).unwrap().len() > 1000);
        shell.succeed(&format!("ablate run --sequences 64 --out {out}"));
    }
}

#[test]
fn a_model_is_looked_at_under_the_interventions_in_force() {
    let shell = Shell::new();
    let clamp = "kind='clamp',at='layers.0',pattern='previous-token'";
    shell.train(
        "run",
        &format!("--set intervene=[{{{clamp},until=20}}] --set record.every=10"),
    );
    let same = format!("--intervene {clamp}");
    let predict = |more: &str| shell.json(&format!("predict run --tokens 0,1,1,0 {more}"));
    // In force at step 10 and over at step 30.
    assert_eq!(predict("--step 10"), predict(&format!("--step 10 {same}")));
    assert_ne!(predict("")["model"], predict(&same)["model"]);
    let shown = shell.json("attention run --step 10 --tokens 0,1,1,0");
    assert_eq!(
        shown["heads"][0]["attn_pattern"][3],
        json!([0.0, 0.0, 1.0, 0.0])
    );
    // eval finds what the run recorded, on other sequences.
    let eval = |more: &str| shell.json(&format!("eval run --step 10 --sequences 64 {more}"));
    assert_eq!(eval("")["model"], eval(&same)["model"]);
}

#[test]
fn a_part_under_an_intervention_is_not_ablated_again() {
    let shell = Shell::new();
    shell.train(
        "run",
        "--set intervene=[{kind='ablate',at='layers.0.heads.0'}]",
    );
    let text = shell.succeed("ablate run --sequences 64");
    let own = text
        .lines()
        .find(|line| line.starts_with("layers.0.heads.0 "))
        .unwrap();
    has(own, "under an intervention");
    shell.succeed("ablate run --sequences 64 --all-steps --out a.svg");
}

#[test]
fn weights_of_the_run_itself_are_trained_where_they_are_needed_only() {
    let shell = Shell::new();
    let own = "intervene=[{kind='clamp',at='layers.1',pattern={own=4},from=20}]";
    shell.train("run", &format!("--set {own} --set record.every=10"));
    let noted = |step: u64| {
        shell
            .output(&format!("predict run --tokens 01 --step {step}"))
            .1
    };
    assert_eq!(noted(10), "");
    let noted = noted(20);
    has(&noted, "training it for 4 steps");
}

#[test]
fn usage_errors_name_what_there_is() {
    let shell = Shell::with_run();
    shell.train("wide", "--set model.width=12");
    shell.succeed(
        "train minimal --out minimal --set task.length=16 --set train.steps=5 --set record.test_sequences=20",
    );
    let wide = shell.path("wide");
    let of_wide = format!("with={{run='{}', step=30}}", wide.display());
    for case in [
        "kind='ablate', at='layers.2.heads.0' -> intervene[0].at | layers.1.heads.0",
        "kind='ablate', at='layers.0.heads.1' -> intervene[0].at | layers.0.heads.0",
        "kind='ablate', at='layers.0.heads.0', to='layers.0.keys' -> intervene[0].to | layers.1.keys",
        "kind='ablate', at='embed', to='output' -> intervene[0].to | layers.0.queries | logits",
        "kind='clamp', at='layers.0', pattern='uniform', from=30 -> intervene[0].from = 30 | below train.steps = 30",
        "kind='clamp', at='layers.0', pattern={own=31} -> intervene[0].pattern.own = 31 | at most train.steps = 30",
        "kind='patch', at='embed', OF_WIDE -> intervene[0] | its model differs | embed.E [2, 12]",
    ] {
        let (entry, parts) = case.split_once(" -> ").unwrap();
        let intervene = format!("--intervene \"{}\"", entry.replace("OF_WIDE", &of_wide));
        let train = small("train main --out", "never", &intervene);
        shell.refuses(&format!(
            "
            {train} -> {parts}
            eval run --sequences 64 {intervene} -> {parts}
            "
        ));
    }
    let predict = "predict run --tokens 01 --intervene";
    let uniform = "kind='clamp', at='layers.0', pattern='uniform'";
    let lag = "kind='clamp', at='layers.0', pattern='lag:2'";
    let mean = "kind='ablate', at='embed', with='mean'";
    shell.refuses(&format!(
        r#"
        {predict} "{uniform}" --intervene "{lag}" -> intervene[1] | already uniform
        {predict} "kind='freeze', group='embed'" -> here it can be ablate, clamp, patch or stop-gradient
        {predict} "{uniform}, until=20" -> not in force at step 30
        {predict} "{mean}" -> a sequence alone
        eval run --sequences 63 --intervene "{mean}" -> multiple of 8
        ablate run --sequences 63 --with mean -> multiple of 8
        ablate run --step 31 -> nearest
        ablate run@20 --all-steps -> leave out the step
        ablate run --with noise -> resample
        ablate minimal -> the minimal model has no parts
        "#
    ));
    // A lag beyond the context is one that no position has: they attend to the first.
    let far = lag.replace("lag:2", "lag:1000");
    shell.succeed(&format!("{predict} \"{far}\""));
}
