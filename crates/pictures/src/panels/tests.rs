//! Tests of panels over histories made by hand.

use induct::measure::{INDUCTION, KL_STRATEGY, STEP};

use super::*;

/// A history with these columns, each falling from its number, counted from 1.
fn history(columns: Vec<Column>) -> History {
    let columns: Vec<Column> = std::iter::once((&STEP).into()).chain(columns).collect();
    let count = columns.len();
    let mut history = History::new(columns);
    for step in 0..5 {
        let values = (1..count).map(|at| at as f64 / f64::from(1 + step));
        let row: Vec<f64> = std::iter::once(f64::from(step)).chain(values).collect();
        history.push(&row).unwrap();
    }
    history
}

fn of_strategies(names: &[&str]) -> Vec<Column> {
    let distances = names.iter().map(|name| KL_STRATEGY.of_strategy(name));
    std::iter::once((&KL_TRUTH).into())
        .chain(distances)
        .collect()
}

fn runs<'a>(label: &str, history: &'a History, recipe: &'a Recipe) -> Runs<'a> {
    Runs {
        label: label.into(),
        runs: vec![RunCurves { history, recipe }],
    }
}

#[test]
fn a_run_has_a_panel_per_measure_and_recipes_have_one_per_column() {
    let recipe = Recipe::default();
    let history = history(of_strategies(&["uniform", "bigram"]));
    let levels = [("bigram".to_owned(), 0.1)];
    let titles = |groups: &[Runs]| -> Vec<(String, usize, usize)> {
        let chosen = chosen(groups, &[]).unwrap();
        let panels = panels(groups, &chosen, &levels).unwrap();
        assert_eq!(figure(&panels).panels.len(), panels.len());
        let shape = |panel: &Curves| (panel.title.clone(), panel.lines.len(), panel.levels.len());
        panels.iter().map(shape).collect()
    };
    let one = titles(&[runs("one", &history, &recipe)]);
    assert_eq!(
        one,
        [("kl_truth".into(), 1, 1), ("kl_strategy".into(), 2, 0)]
    );
    let two = titles(&[runs("a", &history, &recipe), runs("b", &history, &recipe)]);
    let expected = [("kl_truth", 1), ("kl_uniform", 0), ("kl_bigram", 0)];
    assert_eq!(
        two,
        expected.map(|(title, levels)| (title.to_owned(), 2, levels))
    );
}

#[test]
fn a_run_without_strategies_still_has_a_loss() {
    let (recipe, history) = (Recipe::default(), history(of_strategies(&[])));
    let chosen = chosen(&[runs("", &history, &recipe)], &[]).unwrap();
    let names: Vec<&str> = chosen.iter().map(|chosen| chosen.name.as_str()).collect();
    assert_eq!(names, ["kl_truth"]);
    assert!(chosen[0].meaning.ends_with("nats"), "{}", chosen[0].meaning);
}

#[test]
fn errors_say_what_there_is() {
    let (recipe, short) = (Recipe::default(), history(of_strategies(&["bigram"])));
    let refused = |name: &str| {
        let groups = [runs("", &short, &recipe)];
        chosen(&groups, &[name.to_owned()]).unwrap_err().to_string()
    };
    let there = "; there are step, kl_truth, kl_strategy (or one column, such as kl_bigram)";
    assert_eq!(
        refused("kl_truht"),
        format!("kl_truht: no such measure or column{there}")
    );
    assert_eq!(
        refused("entropy"),
        format!("entropy: not recorded (record.measures){there}")
    );
    let heads = (0..30).map(|head| INDUCTION.of_head(0, head));
    let long = history(heads.collect());
    let groups = [runs("a", &long, &recipe), runs("b", &long, &recipe)];
    let chosen = chosen(&groups, &["induction".into()]).unwrap();
    let refused = panels(&groups, &chosen, &[]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "30 columns, and runs of several recipes have a panel for each (at most 24); name single columns, \
         such as layers.0.heads.0.induction"
    );
}

#[test]
fn a_column_without_values_is_a_sentence() {
    let recipe = Recipe::default();
    let mut empty = History::new(vec![(&STEP).into(), (&KL_TRUTH).into()]);
    empty.push(&[0.0, f64::NAN]).unwrap();
    let groups = [runs("", &empty, &recipe)];
    let panels = panels(&groups, &chosen(&groups, &[]).unwrap(), &[]).unwrap();
    assert!(matches!(panels[0].panel(false), Panel::Sentence(_)));
}
