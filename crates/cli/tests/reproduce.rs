//! `induct reproduce` as a user runs it, with runs far too short to show anything.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use induct_studies::paper::STUDY;
use scraper::{Html, Selector};
use serde_json::Value;

use crate::docs::{PAPER, claims, list, word};
use crate::program::{Shell, has, text};

/// A reproduction into `report`, with runs short enough for a test.
const REPRODUCE: &str = "reproduce --out report --first-seed 0 --seeds 2 --set train.steps=10 \
    --set record.test_sequences=16 --set task.length=16 --set record.every=5";

/// Claims that need no training. Deciding them takes most of the time of a report with runs as short as these.
const UNTRAINED: [&str; 2] = ["C15", "C22"];

/// The claims of the study that are trained.
fn trained() -> Vec<&'static str> {
    let ids = STUDY.claims().iter().map(|claim| claim.id.as_str());
    ids.filter(|id| !UNTRAINED.contains(id)).collect()
}

fn claims_in(shell: &Shell) -> Vec<Value> {
    let found: Value = serde_json::from_str(&shell.read("report/claims.json")).unwrap();
    assert_eq!(keys(&found), "study claims");
    assert_eq!(found["study"], STUDY.name);
    found["claims"].as_array().unwrap().clone()
}

/// The names in an object, in their order.
fn keys(object: &Value) -> String {
    let keys = object.as_object().expect("an object").keys();
    keys.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// A report on all figures and on the claims that are trained. One test, because it has runs of forty experiments.
#[test]
fn a_report_has_its_claims_page_figures_and_recipes() {
    let shell = Shell::new();
    let figures = STUDY.figures.iter().map(|figure| figure.number.to_string());
    let figures: Vec<String> = figures.collect();
    let only = format!("{},{}", trained().join(","), figures.join(","));
    shell.succeed(&format!(
        "{REPRODUCE} --set record.snapshots=3 --only {only}"
    ));
    check_report(&shell, &trained());
    check_figures(&shell);
    check_recipes(&shell);
}

#[test]
#[ignore = "slow: decides the two claims that need no training"]
fn the_whole_study_has_every_claim_and_judges_what_needs_no_training() {
    let shell = Shell::new();
    shell.succeed(REPRODUCE);
    let numbered = (1..=STUDY.claims().len()).map(|n| format!("C{n}"));
    let numbered: Vec<String> = numbered.collect();
    let numbered: Vec<&str> = numbered.iter().map(String::as_str).collect();
    check_report(&shell, &numbered);
    has(&shell.read("report/index.html"), "badge holds");
}

fn check_report(shell: &Shell, ids: &[&str]) {
    let found = claims_in(shell);
    check_criteria(&found);
    check_claims(&found, ids);
    check_whole_page(shell, ids.len());
}

/// As docs/files.md names them.
const VERDICTS: [&str; 6] = [
    "not run",
    "not judged",
    "holds",
    "holds in part",
    "does not hold",
    "undecided",
];

/// Their shape is exactly that of docs/files.md.
fn check_claims(claims: &[Value], expected_ids: &[&str]) {
    let ids: Vec<&str> = claims.iter().map(|claim| word(claim, "id")).collect();
    assert_eq!(ids, expected_ids);
    for claim in claims {
        let shape = "id title statement question figure verdicts parts remark";
        assert_eq!(keys(claim), shape);
        let verdicts = list(claim, "verdicts").iter();
        let variants: Vec<&str> = verdicts.map(|found| word(found, "variant")).collect();
        assert_eq!(variants, STUDY.variants());
        for found in list(claim, "verdicts") {
            assert_eq!(keys(found), "variant verdict why_not");
            assert!(VERDICTS.contains(&word(found, "verdict")), "{found}");
        }
        for part in list(claim, "parts") {
            let shape =
                "role variant on place measure effect interval seeds missing limit why verdict";
            assert_eq!(keys(part), shape);
            assert!(["core", "probe"].contains(&word(part, "role")), "{part}");
            assert!(VERDICTS.contains(&word(part, "verdict")), "{part}");
            let [seeds, missing] = ["seeds", "missing"].map(|key| part[key].as_u64().unwrap());
            assert!(missing <= seeds, "{part}");
            let [low, high] = [0, 1].map(|end| part["interval"][end].as_f64());
            if let (Some(effect), Some(low), Some(high)) = (part["effect"].as_f64(), low, high) {
                assert!(low <= effect && effect <= high && seeds >= 6, "{part}");
            }
        }
    }
}

/// Parses a page that a command wrote into a folder. Its links lead somewhere, it fetches nothing, and no number is
/// missing.
pub fn check_page(page: &str, folder: &Path) -> Html {
    let html = Html::parse_document(page);
    assert!(html.errors.is_empty(), "{:?}", html.errors);
    let mut ids = BTreeSet::new();
    for element in html.select(&Selector::parse("[id]").unwrap()) {
        assert!(ids.insert(element.attr("id").unwrap()));
    }
    for link in html.select(&Selector::parse("a[href]").unwrap()) {
        let target = link.attr("href").unwrap();
        match target.strip_prefix('#') {
            Some(id) => assert!(ids.contains(id), "{target}"),
            None => assert!(folder.join(target).is_file(), "{target}"),
        }
    }
    // The only addresses are the namespaces of SVG and MathML.
    let addresses = page
        .replace("http://www.w3.org/2000/svg", "")
        .replace("http://www.w3.org/1998/Math/MathML", "");
    for address in ["http:", "https:", "@import"] {
        assert!(!addresses.contains(address), "{address}");
    }
    let fetched = Selector::parse("[src], link, iframe, object, embed").unwrap();
    assert!(html.select(&fetched).next().is_none());
    let (_, body) = page.split_once("</style>").unwrap();
    assert!(!body.contains("NaN"), "a number is missing");
    html
}

fn check_whole_page(shell: &Shell, claims: usize) {
    let page = shell.read("report/index.html");
    let html = check_page(&page, &shell.path("report"));
    let all = |selector: &str| -> Vec<_> {
        let selector = Selector::parse(selector).unwrap();
        html.select(&selector).map(|e| e.value().clone()).collect()
    };
    assert_eq!(all("figure").len(), STUDY.figures.len());
    assert_eq!(all("article").len(), claims);
    // Every verdict is there: at a glance, and in its claim.
    let verdicts = claims * STUDY.variants.len();
    assert_eq!(all(".glance .badge").len(), verdicts);
    assert_eq!(all(".whole .badge").len(), verdicts);
    assert!(all(".part .values li").len() > verdicts);
    // Every figure has a description, and every control has a label.
    assert!(
        all("svg")
            .iter()
            .all(|svg| svg.attr("aria-label").is_some())
    );
    assert_eq!(all("input").len(), 1);
    for input in all("input") {
        let label = format!("label[for={}]", input.attr("id").unwrap());
        assert_eq!(all(&label).len(), 1);
    }
    assert!(page.len() < 10_000_000);
}

/// A part of a study has no link to what it lacks.
#[test]
fn a_part_of_the_study_stands_alone() {
    let shell = Shell::new();
    shell.succeed(&format!("{REPRODUCE} --only C2,6"));
    let page = shell.read("report/index.html");
    check_page(&page, &shell.path("report"));
    has(&page, "This is a part of the study");
}

/// The verdicts that the documentation quotes are on the claims that the program decides.
fn check_criteria(decided: &[Value]) {
    let stored = claims(PAPER);
    assert_eq!(stored.len(), STUDY.claims().len());
    for now in decided {
        let claim = stored.iter().find(|claim| claim["id"] == now["id"]);
        let claim = claim.expect("a stored claim");
        assert_eq!(claim["title"], now["title"]);
        let criteria = |claim: &Value| -> Vec<[Value; 4]> {
            let criterion =
                |part: &Value| ["variant", "on", "measure", "limit"].map(|key| part[key].clone());
            list(claim, "parts").iter().map(criterion).collect()
        };
        assert_eq!(criteria(claim), criteria(now), "{}", claim["id"]);
        let mut verdicts = list(claim, "verdicts").iter();
        assert!(verdicts.all(|found| found["verdict"] != "not judged"));
    }
}

fn check_figures(shell: &Shell) {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(shell.path("report/figures")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("png") => assert_eq!(&bytes[1..4], b"PNG"),
            Some("svg") => assert!(text(&bytes).starts_with("<svg")),
            Some("csv") => assert!(text(&bytes).lines().count() > 4, "{}", path.display()),
            _ => panic!("{}", path.display()),
        }
        names.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(names.len(), 3 * STUDY.figures.len());
    assert!(names.contains("01-phases.svg") && names.contains("13-one-layer.png"));
}

fn check_recipes(shell: &Shell) {
    shell.succeed("train report/recipes/trigram.toml --out run");
    // It equals the report's run of the first seed to the byte, and that run is like any other.
    let reported = "report/runs/trigram/000";
    assert_eq!(shell.results("run"), shell.results(reported));
    has(&shell.succeed(&format!("show {reported}")), "Phases");
    shell.succeed(&format!("predict {reported} --tokens 0110"));
    shell.succeed(&format!("eval {reported} --sequences 9"));
}

#[test]
fn finished_runs_are_not_trained_again_and_damaged_ones_are() {
    let shell = Shell::new();
    let line = format!("{REPRODUCE} --only C2,8");
    let first = shell.succeed(&line);
    has(&first, "C2");
    let claims = shell.read("report/claims.json");
    let kept = shell.path("report/runs/main/000/summary.json");
    let modified = || fs::metadata(&kept).unwrap().modified().unwrap();
    let before = modified();
    // As if the program had stopped before the second run, and a bit had flipped in another.
    let (lost, flipped) = ("report/runs/main/001", "report/runs/three-states/000");
    let whole = [lost, flipped].map(|run| shell.results(run));
    fs::remove_dir_all(shell.path(lost)).unwrap();
    let metrics = shell.path(flipped).join("metrics.csv");
    let mut bytes = fs::read(&metrics).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&metrics, &bytes).unwrap();
    let (_, notes) = shell.output(&format!("{line} --threads 1"));
    has(&notes, "metrics.csv is damaged");
    assert_eq!(modified(), before);
    assert_eq!(shell.read("report/claims.json"), claims);
    assert_eq!([lost, flipped].map(|run| shell.results(run)), whole);
    assert!(shell.read("report/index.html").contains("earlier session"));
}

/// A run with other settings under the same name is replaced.
#[test]
fn runs_with_other_settings_are_trained_again() {
    let shell = Shell::new();
    let recipe = |options: &str| {
        shell.succeed(&format!("{REPRODUCE} --only C13 {options}"));
        shell.read("report/runs/main/000/recipe.toml")
    };
    let before = recipe("");
    assert_ne!(recipe("--set train.batch=16"), before);
    assert_eq!(recipe(""), before);
}

#[test]
fn a_run_that_diverges_is_shown_as_such_and_the_rest_continues() {
    let shell = Shell::new();
    let line = format!("{REPRODUCE} --only 14,C13 --set train.optimizer.lr=1e30");
    let (_, notes) = shell.output(&line);
    has(&notes, "diverged");
    let page = shell.read("report/index.html");
    assert!(page.contains("2 (2 diverged)"));
    let claims = claims_in(&shell);
    assert_eq!(claims.len(), 1);
    let mut parts = list(&claims[0], "parts").iter();
    assert!(parts.all(|part| part["missing"] == part["seeds"]));
    assert!(page.contains("2 of 2 seeds without"));
}

#[test]
fn usage_errors_are_reported_and_nothing_is_touched() {
    let shell = Shell::new();
    shell.refuses("
        reproduce --only 1,fourteen -> fourteen | 1 phases | 13 one-layer | C23
        reproduce --set train.stepz=3 -> stepz
        // A strategy of the exam that is not defined for the changed task is refused before training.
        reproduce --only C5 --set task.states=4 -> experiment main | unigram-and-current
        reproduce --quick --full -> --full
        // The message names the experiment that cannot be trained this way.
        reproduce --set model.width=17 -> experiment three-states-more-heads
        reproduce --set record.measures=[] -> figures and claims need
        reproduce --set seeds.data=7 -> --seeds
        reproduce --seeds 0 -> --seeds
        ");
    assert!(shell.entries().is_empty());
    // A foreign folder.
    shell.write("thesis.tex", "mine");
    shell.refuses("reproduce --out . --only 6 -> not empty | --out");
}
