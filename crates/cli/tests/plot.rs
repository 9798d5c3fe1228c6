//! `induct plot` and `induct compare` as a user runs them.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Shell, has, names, small};

fn picture(shell: &Shell, line: &str) -> String {
    let printed = shell.succeed(&format!("{line} --out picture.svg"));
    has(&printed, "picture.svg is written");
    shell.read("picture.svg")
}

#[test]
fn a_run_is_plotted_with_the_levels_of_strategies() {
    let shell = Shell::with_run();
    let chart = shell.succeed("plot run");
    has(
        &chart,
        "kl_truth: | kl_strategy: | * uniform | o unigram | bigram 0.",
    );
    let svg = picture(&shell, "plot run");
    has(
        &svg,
        ">kl_truth< | >kl_strategy< | >model< | >uniform< | >bigram< | >training steps<",
    );
    let shown = shell.json("plot run --measure kl_truth --measure induction");
    let heads = [0, 1].map(|layer| format!("layers.{layer}.heads.0.induction"));
    assert_eq!(
        names(&shown["series"], "column"),
        ["kl_truth", &heads[0], &heads[1]]
    );
    assert_eq!(shown["series"][0]["steps"], json!([0, 20, 30]));
    assert_eq!(shown["series"][0]["values"].as_array().unwrap().len(), 3);
    assert!(shown["strategies"]["bigram"].is_f64());
    let one = shell.json(&format!("plot run --measure {}", heads[1]));
    assert_eq!(one["series"].as_array().unwrap().len(), 1);
}

#[test]
fn seeds_are_one_group_and_recipes_are_told_apart() {
    let shell = Shell::new();
    shell.succeed(&small("sweep main --seeds 3 --out", "sweep", ""));
    let groups = |of: &str| shell.json(&format!("plot {of}"))["groups"].clone();
    let seeds = groups("sweep");
    assert_eq!(seeds.as_array().unwrap().len(), 1);
    assert_eq!(seeds[0]["runs"].as_array().unwrap().len(), 3);
    assert!(picture(&shell, "plot sweep").contains("thin: each seed"));
    shell.train("other", "--set train.batch=24");
    let labels = ["train.batch = 12", "train.batch = 24"];
    assert_eq!(names(&groups("sweep other"), "label"), labels);
    let svg = picture(&shell, "plot sweep other");
    has(&svg, ">train.batch = 24< | >kl_bigram<");
    // Any folder of runs will do.
    assert_eq!(groups(".").as_array().unwrap().len(), 2);
}

#[test]
fn a_run_that_has_not_ended_is_plotted() {
    let shell = Shell::with_run();
    let known = shell.json("plot run");
    fs::remove_file(shell.path("run/summary.json")).unwrap();
    assert_eq!(shell.json("plot run"), known);
    let shown = shell.json("show run");
    assert_eq!(
        (&shown["ended"], &shown["final"]["step"]),
        (&Value::Null, &30.0.into())
    );
    assert!(
        shell
            .succeed("show run")
            .starts_with("Not ended: `induct train run/recipe.toml")
    );
}

#[test]
fn two_runs_are_compared() {
    let shell = Shell::with_run();
    shell.train("b", "--set train.batch=24 --set seeds.data=1");
    let shown = shell.json("compare run b");
    assert_eq!((&shown["a"], &shown["b"]), (&"run".into(), &"b".into()));
    assert_eq!(shown["identical"], false);
    let keys = shown["keys"].as_array().unwrap();
    let batch = json!({ "key": "train.batch", "a": "12", "b": "24" });
    assert!(keys.len() == 2 && keys.contains(&batch), "{keys:?}");
    let named = |list: &Value, name: &str| -> Value {
        let mut list = list.as_array().unwrap().iter();
        list.find(|entry| entry["name"] == name)
            .expect(name)
            .clone()
    };
    let kl = named(&shown["final"], "kl_truth");
    let number = |key: &str| kl[key].as_f64().unwrap();
    assert_eq!(number("difference"), number("b") - number("a"));
    assert_eq!(named(&shown["phases"], "uniform")["difference"], 0.0);
    // Weights start alike, so nothing but what depends on the batch differs at step 0.
    assert_eq!(shown["parting"][0]["step"], 20, "{shown}");
    let text = shell.succeed("compare run b");
    has(
        &text,
        "train.batch: 12 -> 24 | Last record | kl_truth | step     20: | b - a",
    );
    let svg = picture(&shell, "compare run b");
    has(&svg, ">train.batch = 12< | >train.batch = 24<");
}

#[test]
fn identical_runs_say_so_and_seeds_are_told_apart_by_folder() {
    let shell = Shell::with_run();
    shell.train("again", "");
    has(&shell.succeed("compare run again"), "identical");
    assert_eq!(shell.json("compare run again")["identical"], true);
    shell.train("seed", "--set seeds.init=1");
    let svg = picture(&shell, "compare run seed");
    has(&svg, ">run< | >seed<");
}

#[test]
fn usage_errors_say_what_is_expected() {
    let shell = Shell::with_run();
    fs::create_dir(shell.path("empty")).unwrap();
    shell.refuses(
        "
        plot run --measure kl_truht -> --measure kl_truht | kl_truth | induction | kl_uniform
        plot run --measure entropy -> entropy | not recorded
        plot run --out a.npz -> a.npz | .svg, .png
        plot empty -> holds none | recipe.toml
        plot absent -> absent | not a run
        plot -> RUN
        compare run -> <B>
        compare run absent -> absent | not a run
        ",
    );
}
