//! What the documentation quotes is what the program prints.
//!
//! Quoted blocks stand between `<!-- name:begin -->` and `<!-- name:end -->`. After an intended change, renew them:
//! `INDUCT_WRITE_DOCS=1 cargo test --release -p induct-cli --test tests docs:: -- --include-ignored`.

use std::process::Command;
use std::sync::Mutex;
use std::{env, fs};

use induct::measure::{self, ALWAYS, BuiltIn, Column, DEFAULT, Measure, Scope};
use induct::settings::{Kind, Setting, Takes, schema};
use serde_json::Value;

use crate::program::{Shell, text};

pub const PAPER: &str = include_str!("../../../docs/reproduction/claims.json");
const PLATEAU: &str = include_str!("../../../docs/plateau/claims.json");

#[test]
fn pages_quote_what_the_program_prints() {
    let printed = |line: &str| Shell::new().succeed(line);
    let engines = printed("bench --engines");
    let (reproduction, recipes) = ("docs/reproduction/README.md", "docs/recipes.md");
    let files = "docs/files.md";
    for (page, name, made) in [
        ("README.md", "result", result()),
        ("docs/commands.md", "commands", fenced(&printed("--help"))),
        (
            "docs/commands.md",
            "strategies",
            fenced(&printed("eval --strategies --sequences 8192")),
        ),
        (recipes, "models", settings(&schema().model)),
        (recipes, "blocks", settings(&schema().block)),
        (recipes, "sources", settings(&schema().source)),
        (recipes, "priors", settings(&schema().prior)),
        (recipes, "optimizers", settings(&schema().optimizer)),
        (files, "measures", measures(true)),
        (files, "other-measures", measures(false)),
        (reproduction, "paper", verdicts(PAPER)),
        (reproduction, "plateau", verdicts(PLATEAU)),
        (reproduction, "plateau-numbers", plateau_numbers()),
        (
            "docs/performance.md",
            "engines",
            engines.split_once("\n\n").unwrap().0.to_owned(),
        ),
    ] {
        check(page, name, &made, 0.0);
    }
}

/// How a run of the main preset ends: its phases and its loss. Other machines round differently.
#[test]
#[ignore = "slow: trains the main preset"]
fn the_readme_s_run_ends_as_it_says() {
    let printed = Shell::new().succeed("train main");
    let lines: Vec<&str> = printed.lines().take(2).collect();
    check("README.md", "main-run", &fenced(&lines.join("\n")), 0.3);
}

/// Compares a block of a page with what the program prints, or renews it. Numbers may be off by a fraction.
pub fn check(page: &str, name: &str, made: &str, tolerance: f64) {
    static WRITING: Mutex<()> = Mutex::new(());
    let made = format!("{}\n", made.trim_end());
    let begin = format!("<!-- {name}:begin -->\n");
    let end = format!("<!-- {name}:end -->");
    let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
    let _alone = WRITING.lock();
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&begin).expect(&begin);
    let (quoted, after) = rest.split_once(&end).expect(&end);
    if env::var_os("INDUCT_WRITE_DOCS").is_some() {
        fs::write(path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert!(
        agree(quoted, &made, tolerance),
        "{page} quotes\n{quoted}\nand the program prints\n{made}\nTo renew it, see crates/cli/tests/docs.rs"
    );
}

/// Whether two texts have the same words, and numbers as close as that. Seconds belong to a machine.
fn agree(quoted: &str, made: &str, tolerance: f64) -> bool {
    let words = |text: &str| -> Vec<String> { text.split_whitespace().map(String::from).collect() };
    let number = |word: &str| -> Option<f64> { word.trim_end_matches(')').parse().ok() };
    let (quoted, made) = (words(quoted), words(made));
    let same = |(index, (a, b)): (usize, (&String, &String))| {
        let is_time = quoted
            .get(index + 1)
            .is_some_and(|unit| unit.trim_end_matches(':') == "s");
        let is_close = number(a)
            .zip(number(b))
            .is_some_and(|(a, b)| is_time || (a - b).abs() <= tolerance * b.abs());
        a == b || is_close
    };
    quoted.len() == made.len() && quoted.iter().zip(&made).enumerate().all(same)
}

pub fn fenced(text: &str) -> String {
    format!("```text\n{}\n```", text.trim_end())
}

/// Kinds with their settings, as tables.
fn settings(kinds: &[Kind]) -> String {
    let row = |setting: &Setting| {
        let takes = match &setting.takes {
            Takes::Count => "a whole number".to_owned(),
            Takes::Number => "a number".to_owned(),
            Takes::Flag => "`true`, `false`".to_owned(),
            Takes::Toml => String::new(),
            Takes::Choice(choices) => {
                let words = choices.iter().map(|choice| {
                    let meaning = choice.meaning.trim_end_matches('.');
                    format!("`{}`: {meaning}", choice.name)
                });
                words.collect::<Vec<_>>().join("<br>")
            }
        };
        let default = setting.default.as_ref();
        let default = default.map_or(String::new(), |default| format!("`{default}`"));
        format!(
            "| `{}` | {default} | {} | {takes} |\n",
            setting.key, setting.meaning
        )
    };
    let table = |kind: &Kind| {
        let head = format!("**`{}`**: {}\n", kind.kind, kind.meaning);
        if kind.settings.is_empty() {
            return head;
        }
        let rows: String = kind.settings.iter().map(row).collect();
        format!("{head}\n| key | default | meaning | takes |\n|---|---|---|---|\n{rows}")
    };
    let tables: Vec<String> = kinds.iter().map(table).collect();
    tables.join("\n")
}

/// Measures that are recorded always or by default, or all others, each with an example of its columns.
fn measures(by_default: bool) -> String {
    let is_default = |measure: &BuiltIn| {
        let always = ALWAYS.iter().any(|other| other.name() == measure.name);
        always || DEFAULT.contains(&measure.name)
    };
    let column = |measure: &BuiltIn| match measure.scope() {
        Scope::Run => Column::from(measure),
        Scope::Strategy => measure.of_strategy("unigram"),
        Scope::Test => measure.of_test("iid"),
        Scope::Head => measure.of_head(0, 0),
        Scope::Layer => measure.of_layer(0),
        Scope::Group => measure.of_group("layers.0.W_Q"),
        Scope::Lag | Scope::Position => measure.at(0),
    };
    let row = |measure: &BuiltIn| {
        let [name, meaning, unit] = [measure.name, measure.meaning, measure.unit];
        let meaning = meaning.replace('|', "\\|");
        format!(
            "| `{name}` | `{}` | {meaning} | {unit} |\n",
            column(measure)
        )
    };
    let chosen = measure::all().filter(|measure| is_default(measure) == by_default);
    let rows: String = chosen.map(row).collect();
    format!("| measure | column | meaning | unit |\n|---|---|---|---|\n{rows}")
}

/// The claims that a full run decided.
pub fn claims(stored: &str) -> Vec<Value> {
    let stored: Value = serde_json::from_str(stored).unwrap();
    stored["claims"].as_array().unwrap().clone()
}

pub fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

/// A list in a claim, such as its verdicts.
pub fn list<'a>(claim: &'a Value, key: &str) -> &'a [Value] {
    claim[key].as_array().unwrap()
}

/// A study's claims with a verdict per variant.
fn verdicts(stored: &str) -> String {
    let claims = claims(stored);
    let row = |claim: &Value, key: &str| -> String {
        let cells = list(claim, "verdicts")
            .iter()
            .map(|verdict| word(verdict, key));
        cells.collect::<Vec<_>>().join(" | ")
    };
    let variants = row(&claims[0], "variant");
    let rule = "---|".repeat(2 + variants.split(" | ").count());
    let mut text = format!("| claim | in short | {variants} |\n|{rule}\n");
    for claim in &claims {
        let (id, title) = (word(claim, "id"), word(claim, "title"));
        text += &format!("| {id} | {title} | {} |\n", row(claim, "verdict"));
    }
    let parts = claims.iter().flat_map(|claim| list(claim, "parts"));
    let core = parts.filter(|part| part["role"] == "core").count();
    text + &format!("\nThe verdicts come from {core} core parts.\n")
}

/// How many of the paper's claims hold in the settings that we recommend.
fn result() -> String {
    let claims = claims(PAPER);
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for claim in &claims {
        let verdicts = list(claim, "verdicts");
        let recommended = verdicts
            .iter()
            .find(|verdict| verdict["variant"] == "recommended");
        let verdict = word(recommended.unwrap(), "verdict");
        match counts.iter_mut().find(|(name, _)| *name == verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((verdict, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let counts: Vec<String> = counts
        .iter()
        .map(|(verdict, count)| format!("*{verdict}* for {count}"))
        .collect();
    let (last, others) = counts.split_last().unwrap();
    format!(
        "In the settings that we recommend, the verdict on its {} claims is\n{} and {last}.",
        claims.len(),
        others.join(", ")
    )
}

/// The core parts of the plateau's claims on the clamp and on the critical window.
fn plateau_numbers() -> String {
    let mut text = "| claim | intervention | task, settings | effect | interval | limit |\n\
                    |---|---|---|---:|---|---|\n"
        .to_owned();
    for claim in claims(PLATEAU) {
        let id = word(&claim, "id").to_owned();
        let parts = list(&claim, "parts");
        let core = parts
            .iter()
            .filter(|part| part["role"] == "core" && ["C1", "C3"].contains(&id.as_str()));
        for part in core {
            let (place, on, variant) =
                (word(part, "place"), word(part, "on"), word(part, "variant"));
            let number = |value: &Value| format!("{:.2}", value.as_f64().unwrap());
            let interval = &part["interval"];
            text += &format!(
                "| {id} | {place} | {on}, {variant} | {} | {} to {} | {} |\n",
                number(&part["effect"]),
                number(&interval[0]),
                number(&interval[1]),
                word(part, "limit"),
            );
        }
    }
    text + "\nThe effect is the step of the transition over that of the same seed without the intervention (C1), or\n\
            the fraction of 20 runs whose head forms (C3).\n"
}

/// The program parses a command that ends in `--help`, and does nothing.
#[test]
fn documented_commands_are_understood() {
    let pages = [
        include_str!("../../../README.md"),
        include_str!("../../../docs/commands.md"),
    ];
    let mut tried = 0;
    for line in pages.iter().flat_map(|page| page.lines()) {
        let command = line
            .strip_prefix("cargo run --release -- ")
            .or_else(|| line.strip_prefix("induct "));
        let Some(command) = command else { continue };
        let command = command.split(" # ").next().unwrap();
        // A shell knows what quotes mean.
        let script = format!("\"$0\" {command} --help");
        let asked = ["-c", &script, env!("CARGO_BIN_EXE_induct")];
        let output = Command::new("sh").args(asked).output().unwrap();
        assert!(
            output.status.success(),
            "{command}: {}",
            text(&output.stderr)
        );
        tried += 1;
    }
    assert!(tried > 25, "{tried}");
}
