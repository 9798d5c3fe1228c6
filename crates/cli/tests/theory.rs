//! `induct theory` and its subcommands as a user runs them.

use std::fs;
use std::sync::LazyLock;

use serde_json::Value;

use crate::docs;
use crate::program::{Shell, has, numbers, text};
use crate::reproduce::check_page;

/// What `--out` writes, in place of an unfinished earlier chapter, and the table that it prints.
static CHAPTER: LazyLock<(Shell, String)> = LazyLock::new(|| {
    let shell = Shell::new();
    fs::create_dir(shell.path("chapter")).unwrap();
    shell.write(
        "chapter/ledger.json",
        "{\n  \"made_by\": \"induct theory\",\n  \"ver",
    );
    let table = shell.succeed("theory --out chapter");
    (shell, table)
});

fn chapter(file: &str) -> Vec<u8> {
    fs::read(CHAPTER.0.path("chapter").join(file)).expect(file)
}

fn ledger() -> Value {
    serde_json::from_slice(&chapter("ledger.json")).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The digits are those of crates/induct/tests/theory.rs: two steps of η = 0.03 from c = 0.02 at t = 100.
#[test]
fn two_steps_are_shown_with_all_their_digits() {
    let shell = Shell::new();
    let steps = shell.json("theory step")["steps"].clone();
    let second = &steps[1];
    let w = [0, 1].map(|row| numbers(&second["W"][row]));
    let [diagonal, off] = [0.123_315_141_081, 0.043_073_315_516_7];
    assert_eq!(w, [[diagonal, off], [off, diagonal]]);
    assert_eq!(numbers(&second["v"])[0], 0.034_889_540_280_3);
    // The defaults are the paper's.
    let text = shell.succeed(
        "theory step --length 100 --init-w 0.02 --init-v 0.02 --eta 0.03 --steps 2 --prior dirichlet",
    );
    has(&text, "0.0690215963699 | 0.123315141081 | 0.0359126387220");
}

#[test]
fn the_propositions_curriculum_has_a_different_second_step() {
    let shell = Shell::new();
    let all = "theory step --length 50 --init-w 0 --init-v 0.1 --eta 4e-4 --eta2 0.02 --prior2 symmetric:0.2 --decay2 1";
    let only_w = shell.json(&format!("{all} --decayed w"));
    let all = shell.json(all);
    let [first, second] = [0, 1].map(|step| &all["steps"][step]);
    // With w_init = 0 the first step leaves v unchanged; the second erases it and adds something smaller.
    assert_eq!(number(&first["v"][7]), 0.1);
    assert!(number(&second["v"][7]).abs() < 0.1);
    assert_eq!(second["prior"], "symmetric:0.2");
    let apart = number(&only_w["steps"][1]["v"][7]) - number(&second["v"][7]);
    assert!((apart - 0.1).abs() < 1e-12);
    assert_eq!(only_w["steps"][1]["W"], second["W"]);
}

#[test]
fn a_gradient_of_one_chain_matches_a_calculation_by_hand() {
    // t = 1: C[0,m,m] = π_m (P_mm − ½), so ∂L/∂W_mm = −v π_m (P_mm − ½); a = 0.9, b = 0.7 has π = (¾, ¼).
    let shell = Shell::new();
    let shown = shell.json("theory gradient --a 0.9 --b 0.7 --w 1,2,3,-4 --v 0.5 --length 1");
    let close = |value: &Value, golden: f64| {
        assert!((number(value) - golden).abs() < 1e-12, "{value} {golden}");
    };
    close(&shown["W"][0][0], -0.5 * 0.75 * 0.4);
    close(&shown["W"][0][1], 0.0);
    close(&shown["W"][1][1], -0.5 * 0.25 * 0.2);
    close(&shown["v"][0], -(0.75 * 0.4 - 4.0 * 0.25 * 0.2));
    close(&shown["margin_needed"], 2.0);
    // A chain that never moves; the length is that of v.
    let stays = shell.json("theory gradient --a 1 --b 1 --v 1,-2,3");
    assert_eq!(stays["v"].as_array().unwrap().len(), 3);
    has(&shell.succeed("theory gradient --a 0 --b 1"), "dL/dv_96");
}

#[test]
fn impossible_numbers_are_named_with_what_is_allowed() {
    let shell = Shell::new();
    shell.refuses(
        r#"
        theory step --length 0 -> --length = 0 | from 1
        theory step --length -3 -> --length
        theory step --length 100000 -> --length = 100000 | 8192
        theory step --eta -1 -> --eta | at least 0
        theory step --eta2 NaN -> --eta2 | at least 0
        theory step --decay 1.5 -> --decay | from 0 to 1
        theory step --decay2 -1 -> --decay2 | from 0 to 1
        theory step --init-w inf -> --init-w | finite
        theory step --prior symmetric:0.5 -> epsilon = 0.5 | below 1/2 | symmetric:0.2
        theory step --prior2 symmetric:0 -> --prior2 | epsilon = 0 | above 0
        theory step --prior symmetric:-0.1 -> epsilon = -0.1
        theory step --prior symmetric -> --prior symmetric | symmetric:0.2
        theory step --prior iid -> iid | dirichlet
        theory step --steps 0 -> --steps
        theory step --margin 1 -> --margin = 1 | step 1 | 2.02 | 1.02 more | leave it out
        theory step --margin 2.5 -> step 2 | 7.59323284793 | 5.09323284793 more
        theory step --margin -1 -> --margin | above 0
        theory gradient --a 1.2 --b 0 -> --a | from 0 to 1
        theory gradient --a 0.5 --b -0.1 -> --b | from 0 to 1
        theory gradient --a 0.5 -> --b
        theory gradient --a 0.5 --b 0.5 --length 0 -> --length = 0
        theory gradient --a 0.5 --b 0.5 --w 1,2 -> --w has 2 numbers | 1 or 4
        theory gradient --a 0.5 --b 0.5 --v 1,2 --length 3 -> --v has 2 numbers | --length says (3)
        theory gradient --a 0.5 --b 0.5 --v 1,x -> --v contains "x" | commas
        theory gradient --a 0.5 --b 0.5 --length 3 --w 1 --v 1 --margin 5 -> from 6 up, 1 more
        theory gradient --a half --b 1 -> --a | a number, such as
        theory gradient --a 1 --b 1 --length x -> --length | a whole number, 0 or above
        theory gradient --a 1 --b 1 --length 40000 -> --length = 40000 | from 1 to 8192
        theory step --steps 0 -> --steps | a whole number from 1 to 100000
        theory step --steps 100000 --length 8192 -> --steps = 100000 | fewer
        "#,
    );
    // The bound itself is allowed, as in the paper's choice c² t(t+1)/2.
    shell.succeed("theory step --margin 2.02 --steps 1");
    let message = shell.fail(1, "theory step --length 3 --eta 10 --steps 10000");
    has(&message, "smaller --eta");
}

/// One test, because checking every formula takes seconds.
#[test]
#[ignore = "slow: checks all formulas, as the ledger's own tests do"]
fn the_chapter_is_whole_and_says_what_is_known() {
    the_table_shows_every_section_and_counts_verdicts();
    out_writes_a_page_the_ledger_and_figures();
    the_sampled_first_step_is_within_error_of_the_exact_one();
    let verdicts = CHAPTER.1.lines().last().unwrap();
    docs::check("docs/theory.md", "verdicts", &docs::fenced(verdicts), 0.0);
}

fn the_table_shows_every_section_and_counts_verdicts() {
    let table = CHAPTER.1.as_str();
    has(
        table,
        "Appendix A, second step\n | second-step.constant-v2  | change (5 − 8 ln 2)/6 → (8 ln 2 − 5)/6 | if t ≥ 220 | not a number",
    );
    let closing = table.lines().last().unwrap();
    let number_in =
        |part: &str| -> usize { part.trim().split(' ').next().unwrap().parse().unwrap() };
    let (all, by_verdict) = closing.split_once(" entries: ").unwrap();
    let sum: usize = by_verdict.split(',').map(number_in).sum();
    assert_eq!(sum, number_in(all), "{closing}");
    assert!(!closing.contains("open"), "{closing}");
}

#[test]
#[ignore = "slow: checks all formulas three times, for one option"]
fn a_part_of_the_ledger_can_be_printed_as_json() {
    let shell = Shell::new();
    shell.refuses("theory --only nonsense -> nonsense | second-step");
    let shown = shell.json("theory --only corollary");
    let ledger = ledger();
    let entries = ledger["entries"].as_array().unwrap().iter();
    let of_group = |entry: &&Value| entry["id"].as_str().unwrap().starts_with("corollary.");
    let expected: Vec<&Value> = entries.filter(of_group).collect();
    let entries = shown["entries"].as_array().unwrap();
    assert_eq!(entries.iter().collect::<Vec<_>>(), expected);
}

fn out_writes_a_page_the_ledger_and_figures() {
    let ledger = ledger();
    let entries = ledger["entries"].as_array().unwrap();
    let page = text(&chapter("theory.html"));
    check_page(&page, &CHAPTER.0.path("chapter"));
    for entry in entries {
        let id = entry["id"].as_str().unwrap();
        assert!(page.contains(&format!("<article id=\"{id}\">")), "{id}");
    }
    // A printed form without a finite value.
    let infinite = entries.iter().find(|e| e["id"] == "corollary.infinite");
    assert_eq!(infinite.unwrap()["evidence"]["printed_off"], Value::Null);
    assert_eq!(page.matches("<article").count(), entries.len());
    // The numbers in the summary come from the ledger.
    let misprints = ledger["counts"]["misprint"].as_u64().unwrap();
    assert!(page.contains(&format!("{misprints} are misprints")));
    let names = "deviations first-step ratio second-step threshold odd-even decisions";
    for name in names.split(' ') {
        assert!(
            text(&chapter(&format!("{name}.svg"))).starts_with("<svg "),
            "{name}"
        );
        assert_eq!(&chapter(&format!("{name}.png"))[1..4], b"PNG", "{name}");
        let csv = text(&chapter(&format!("{name}.csv")));
        assert!(csv.lines().count() > 5, "{name}");
        assert!(page.contains(&format!("id=\"figure-{name}\"")), "{name}");
    }
    let left = fs::read_dir(CHAPTER.0.path("chapter")).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(
        names
            .into_iter()
            .all(|name| !name.starts_with('.') || name == ".lock")
    );
}

fn the_sampled_first_step_is_within_error_of_the_exact_one() {
    let csv = text(&chapter("first-step.csv"));
    // panel,title,series,x,y,low,high from the right: titles and names may have commas.
    let rows: Vec<Vec<&str>> = csv
        .lines()
        .map(|line| line.rsplitn(5, ',').collect())
        .collect();
    let series = |name: &str| -> Vec<&Vec<&str>> {
        rows.iter().filter(|row| row[4].contains(name)).collect()
    };
    let number = |cell: &str| -> f64 { cell.parse().unwrap() };
    let (exact, drawn) = (series("exact"), series("10,000"));
    assert_eq!(exact.len(), 100);
    assert!(drawn.len() > 20);
    for row in drawn {
        let [high, low, y, j] = [row[0], row[1], row[2], row[3]].map(number);
        let truth = number(exact[j as usize - 1][2]);
        // The bar is two standard errors in each direction.
        let error = 0.25 * (high - low);
        assert!(
            (y - truth).abs() < 4.0 * error + 1e-7,
            "{j}: {y} {truth} ± {error}"
        );
    }
}

#[test]
fn a_foreign_folder_is_left_alone() {
    let shell = Shell::new();
    fs::create_dir(shell.path("foreign")).unwrap();
    shell.write("foreign/ledger.json", "{\"rent\": 800}");
    shell.write("file", "x");
    let foreign = "not empty | another --out";
    shell.refuses(&format!(
        "
        theory --out foreign -> {foreign}
        theory --out file -> cannot use
        theory --out foreign --only text -> --only
        "
    ));
    // It is refused before the work starts, and nothing is touched.
    assert!(!shell.fail(2, "theory --out foreign").contains("seconds"));
    assert_eq!(fs::read_dir(shell.path("foreign")).unwrap().count(), 1);
}
