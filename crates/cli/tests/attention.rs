//! `induct attention` as a user runs it.

use std::fs;

use crate::program::{Shell, has, numbers};

#[test]
fn every_head_is_shown_with_its_scores() {
    let shell = Shell::with_run();
    let shown = shell.json("attention run --tokens 0,1,1,0,1");
    assert_eq!(shown["step"], 30);
    assert_eq!(numbers(&shown["tokens"]), [0.0, 1.0, 1.0, 0.0, 1.0]);
    let heads = shown["heads"].as_array().unwrap();
    assert_eq!(heads.len(), 2);
    for (layer, head) in heads.iter().enumerate() {
        assert_eq!((&head["layer"], &head["head"]), (&layer.into(), &0.into()));
        let pattern = head["attn_pattern"].as_array().unwrap();
        let (mut previous, mut sizes) = (0.0, Vec::new());
        for (i, row) in pattern.iter().enumerate() {
            let row = numbers(row);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-5);
            previous += if i > 0 { row[i - 1] } else { 0.0 };
            sizes.push(row.len());
        }
        assert_eq!(sizes, [1, 2, 3, 4, 5]);
        let score = head["previous_token"].as_f64().unwrap();
        assert!((score - previous / 4.0).abs() < 1e-5);
        assert!(head["induction"].is_f64());
        assert_eq!(head["attn_scores"].as_array().unwrap().len(), 5);
    }
    let text = shell.succeed("attention run --tokens 0,1,1,0,1");
    has(
        &text,
        "after step 30 | 01101 | layers.1.heads.0 | previous_token | all positions",
    );
    let only = shell.json("attention run --tokens 011 --layer 1");
    assert_eq!(only["heads"].as_array().unwrap().len(), 1);
    assert_eq!(only["heads"][0]["layer"], 1);
}

#[test]
fn a_line_of_sample_and_a_test_sequence_can_be_looked_at() {
    let shell = Shell::with_run();
    let attention = |of: &str| shell.json(&format!("attention run{of}"));
    let sample = shell.succeed("sample run/recipe.toml");
    // 17 symbols: those that the model sees, and the one that it is to predict.
    let shown = attention(&format!(" --tokens {}", sample.lines().nth(1).unwrap()));
    assert_eq!(numbers(&shown["tokens"]).len(), 16);
    let row = &shell.json("sample run/recipe.toml")["tokens"][0];
    assert_eq!(attention(&format!(" --tokens \"{row:#}\"")), shown);
    let test = attention(" --sequence 3");
    assert_eq!(numbers(&test["tokens"]).len(), 16);
    let start = attention("@0 --sequence 3");
    assert_eq!(
        (&start["step"], &start["tokens"]),
        (&0.into(), &test["tokens"])
    );
    assert_ne!(start["heads"], test["heads"]);
    assert_eq!(attention(" --step 0 --sequence 3"), start);
}

#[test]
fn pictures_of_any_model_are_written() {
    let shell = Shell::new();
    shell.train("deep", "--set model.layers=3 --set model.heads=2");
    shell.succeed("train minimal --out minimal --set task.length=16 --set train.steps=30");
    let picture = |of: &str| {
        let printed = shell.succeed(&format!("attention {of} --out picture.svg"));
        assert!(printed.contains("picture.svg is written"));
        shell.read("picture.svg")
    };
    let svg = picture("deep --tokens 0110100110");
    has(&svg, "layers.0.heads.0 | layers.2.heads.1");
    assert!(svg.contains("class=\"arc"));
    // A single symbol has no arcs, and is drawn all the same.
    assert!(!picture("deep --tokens 0").contains("class=\"arc"));
    let svg = picture("minimal --tokens 0110100110");
    has(&svg, "layers.1.heads.0 | score");
    has(
        &shell.succeed("attention minimal --tokens 0110"),
        "no pattern",
    );
    shell.succeed("attention deep --sequence 0 --out picture.png");
    assert_eq!(&fs::read(shell.path("picture.png")).unwrap()[1..4], b"PNG");
}

#[test]
fn usage_errors_say_what_is_expected() {
    let shell = Shell::with_run();
    let too_long = format!("attention run --tokens {}", "0".repeat(18));
    shell.refuses(&format!(
        r#"
        attention run -> --tokens | --sequence
        attention run --tokens 0,2 -> "2" | from 0 to 1
        {too_long} -> 18 symbols | at most 16
        attention run --sequence 20 -> --sequence 20 | 0 to 19
        attention run --sequence 0 --layer 2 -> --layer 2 | last is 1
        attention run --sequence 0 --head 1 -> --head 1 | last is 0
        attention run@77 --sequence 0 -> step 77 | nearest: 30
        attention run@x --sequence 0 -> after @ | whole number
        attention run --tokens 0 --out a.gif -> a.gif | .svg | .png
        attention absent --tokens 0 -> absent | not a run
        "#
    ));
    let message = shell.fail(1, "attention run --tokens 0 --out no/such/a.svg");
    has(&message, "cannot write");
}
