//! `induct reproduce` as a user runs it, with runs far too short to show anything.

mod program;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use program::{fail, induct, succeed, text};
use scraper::{Html, Selector};
use serde::Deserialize;
use tempfile::TempDir;

/// Runs short enough for a test.
const SMALL: [&str; 10] = [
    "--seeds",
    "2",
    "--set",
    "train.steps=30",
    "--set",
    "record.test_sequences=32",
    "--set",
    "task.length=30",
    "--set",
    "record.every=5",
];

fn reproduce<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["reproduce", "--out", out], &SMALL[..], more].concat()
}

/// A whole report, made once for all tests that read it.
static REPORT: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    succeed(&reproduce(out, &["--set", "record.snapshots=3"]));
    folder
});

fn report(file: &str) -> String {
    fs::read_to_string(REPORT.path().join(file)).unwrap()
}

// The schema of claims.json, exactly as docs/files.md describes it.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: String,
    title: String,
    statement: String,
    place: String,
    verdict: String,
    effect: Option<f64>,
    interval: Option<[f64; 2]>,
    seeds: u64,
    measure: String,
    limit: String,
    figure: u8,
    parts: Vec<Part>,
    #[allow(dead_code)]
    remark: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    what: String,
    measure: String,
    effect: Option<f64>,
    interval: Option<[f64; 2]>,
    seeds: u64,
    limit: String,
    verdict: String,
}

#[test]
fn claims_have_the_documented_shape() {
    let Claims { claims } = serde_json::from_str(&report("claims.json")).unwrap();
    let ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    let numbered: Vec<String> = (1..=16).map(|n| format!("C{n}")).collect();
    assert_eq!(ids, numbered);
    for claim in &claims {
        let id = &claim.id;
        let verdicts = ["holds", "holds in part", "does not hold", "undecided"];
        assert!(verdicts.contains(&claim.verdict.as_str()), "{id}");
        assert!((1..=14).contains(&claim.figure), "{id}");
        for words in [&claim.title, &claim.statement, &claim.place, &claim.measure] {
            assert!(!words.is_empty(), "{id}");
        }
        let first = &claim.parts[0];
        assert_eq!(
            (claim.effect, claim.interval, claim.seeds, &claim.limit),
            (first.effect, first.interval, first.seeds, &first.limit)
        );
        for part in &claim.parts {
            assert!(!part.what.is_empty() && !part.measure.is_empty(), "{id}");
            let (side, limit) = part.limit.rsplit_once(' ').unwrap();
            let limit: f64 = limit.parse().unwrap();
            // The verdict follows from the interval and the limit.
            let expected = match (part.interval, side) {
                (None, _) => "undecided",
                (Some([low, _]), "at least") if low >= limit => "holds",
                (Some([_, high]), "at least") if high < limit => "does not hold",
                (Some([_, high]), "at most") if high <= limit => "holds",
                (Some([low, _]), "at most") if low > limit => "does not hold",
                (_, "at least" | "at most") => "undecided",
                _ => panic!("{side}"),
            };
            assert_eq!(part.verdict, expected, "{id}: {}", part.what);
            if let (Some(effect), Some([low, high])) = (part.effect, part.interval) {
                assert!(low <= effect && effect <= high, "{id}");
                assert!(part.seeds >= 2, "{id}");
            }
        }
    }
}

#[test]
fn the_page_is_valid_fetches_nothing_and_its_links_lead_somewhere() {
    let page = report("index.html");
    let html = Html::parse_document(&page);
    assert!(html.errors.is_empty(), "{:?}", html.errors);
    let all = |selector: &str| -> Vec<_> {
        let selector = Selector::parse(selector).unwrap();
        html.select(&selector).map(|e| e.value().clone()).collect()
    };
    // Nothing is fetched: the only address is SVG's namespace.
    let addresses = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("http://") && !addresses.contains("https://"));
    assert!(all("[src], link, iframe, object, embed").is_empty());
    let ids: Vec<String> = all("[id]")
        .iter()
        .map(|e| e.attr("id").unwrap().into())
        .collect();
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
    for link in all("a[href]") {
        let target = link.attr("href").unwrap();
        match target.strip_prefix('#') {
            Some(id) => assert!(ids.iter().any(|other| other == id), "{target}"),
            None => assert!(REPORT.path().join(target).is_file(), "{target}"),
        }
    }
    assert_eq!(all("figure").len(), 14);
    assert_eq!(all("article").len(), 16);
    // Every figure has a description, and every control has a label.
    assert!(
        all("svg")
            .iter()
            .all(|svg| svg.attr("aria-label").is_some())
    );
    assert_eq!(all("input").len(), 1);
    assert_eq!(all("label[for=moment]").len(), 1);
    assert!(page.len() < 10_000_000);
}

/// The README's table is that of the full run stored beside its figure, and its claims are those that the
/// program decides.
#[test]
fn the_readme_quotes_what_a_full_run_found() {
    let readme = include_str!("../../../README.md");
    let found = include_str!("../../../docs/reproduction/claims.json");
    let Claims { claims } = serde_json::from_str(found).unwrap();
    let (_, table) = readme.split_once("<!-- claims:begin -->").unwrap();
    let (table, _) = table.split_once("<!-- claims:end -->").unwrap();
    let now: Claims = serde_json::from_str(&report("claims.json")).unwrap();
    assert_eq!(claims.len(), now.claims.len());
    for (claim, now) in claims.iter().zip(&now.claims) {
        assert_eq!((&claim.title, &claim.measure), (&now.title, &now.measure));
        let limits = |claim: &Claim| -> Vec<(String, String)> {
            let parts = claim.parts.iter();
            parts
                .map(|part| (part.measure.clone(), part.limit.clone()))
                .collect()
        };
        assert_eq!((&claim.limit, limits(claim)), (&now.limit, limits(now)));
        let holding = claim.parts.iter().filter(|part| part.verdict == "holds");
        let [low, high] = claim.interval.unwrap();
        let row = format!(
            "| {} | {} | {} ({} of {}) | {:.3} [{low:.3}, {high:.3}] | {} | {} |",
            claim.id,
            claim.title,
            claim.verdict,
            holding.count(),
            claim.parts.len(),
            claim.effect.unwrap(),
            claim.limit,
            claim.seeds,
        );
        assert!(table.contains(&row), "{row}");
        assert!(
            claim.parts.iter().all(|part| part.seeds >= 20),
            "{}",
            claim.id
        );
    }
}

#[test]
fn every_figure_has_its_files() {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(REPORT.path().join("figures")).unwrap() {
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
    assert_eq!(names.len(), 3 * 14);
    assert!(names.contains("01-phases.svg") && names.contains("13-one-layer.png"));
}

#[test]
fn recipes_repeat_what_was_trained() {
    let recipe = REPORT.path().join("recipes/trigram.toml");
    let recipe = recipe.to_str().unwrap();
    let out = TempDir::new().unwrap();
    let run = out.path().join("run");
    succeed(&["train", recipe, "--out", run.to_str().unwrap()]);
    // It equals the report's run of the first seed to the byte, and that run is like any other.
    let reported = REPORT.path().join("runs/trigram/000");
    assert_eq!(program::results(&run), program::results(&reported));
    let reported = reported.to_str().unwrap();
    assert!(succeed(&["show", reported]).contains("Phases"));
    succeed(&["predict", reported, "--tokens", "0110"]);
    succeed(&["eval", reported, "--sequences", "9"]);
}

fn modified(path: &Path) -> std::time::SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn finished_runs_are_not_trained_again_and_damaged_ones_are() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let only = ["--only", "C2,8"];
    let first = succeed(&reproduce(out, &only));
    assert!(first.contains("C2"), "{first}");
    let claims = fs::read(folder.path().join("claims.json")).unwrap();
    let runs = folder.path().join("runs/main");
    let (kept, lost) = (runs.join("000"), runs.join("001"));
    let before = modified(&kept.join("summary.json"));
    // As if the program had stopped before the second run, and a bit had flipped in another.
    let whole = program::results(&lost);
    fs::remove_dir_all(&lost).unwrap();
    let flipped = folder.path().join("runs/three-states/000");
    let sound = program::results(&flipped);
    let metrics = flipped.join("metrics.csv");
    let mut bytes = fs::read(&metrics).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&metrics, &bytes).unwrap();
    let threads = ["--only", "C2,8", "--threads", "1"];
    let output = induct(&reproduce(out, &threads));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("metrics.csv is damaged"));
    assert_eq!(modified(&kept.join("summary.json")), before);
    assert_eq!(fs::read(folder.path().join("claims.json")).unwrap(), claims);
    assert_eq!(program::results(&lost), whole);
    assert_eq!(program::results(&flipped), sound);
    assert!(text(&fs::read(folder.path().join("index.html")).unwrap()).contains("earlier session"));
}

/// A run with other settings under the same name is replaced.
#[test]
fn runs_with_other_settings_are_trained_again() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let only = ["--only", "C13"];
    succeed(&reproduce(out, &only));
    let recipe = folder.path().join("runs/main/000/recipe.toml");
    let before = fs::read(&recipe).unwrap();
    succeed(&reproduce(
        out,
        &["--only", "C13", "--set", "train.batch=16"],
    ));
    assert_ne!(fs::read(&recipe).unwrap(), before);
    succeed(&reproduce(out, &only));
    assert_eq!(fs::read(&recipe).unwrap(), before);
}

#[test]
fn a_run_that_diverges_is_shown_as_such_and_the_rest_continues() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = induct(&reproduce(
        out,
        &["--only", "14,C13", "--set", "train.optimizer.lr=1e30"],
    ));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("diverged"));
    let page = text(&fs::read(folder.path().join("index.html")).unwrap());
    assert!(page.contains("2 diverged") || page.contains("2 (2 diverged)"));
    let claims: Claims =
        serde_json::from_slice(&fs::read(folder.path().join("claims.json")).unwrap()).unwrap();
    assert_eq!(claims.claims[0].verdict, "undecided");
}

#[test]
fn mistakes_are_reported_and_nothing_is_touched() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let message = fail(2, &["reproduce", "--out", out, "--only", "1,fourteen"]);
    for word in ["fourteen", "1 phases", "13 one-layer", "C16"] {
        assert!(message.contains(word), "{message}");
    }
    let message = fail(2, &["reproduce", "--out", out, "--set", "train.stepz=3"]);
    assert!(message.contains("stepz"), "{message}");
    let message = fail(2, &["reproduce", "--out", out, "--quick", "--full"]);
    assert!(message.contains("--full"), "{message}");
    // The message names the experiment that cannot be trained this way.
    let message = fail(2, &["reproduce", "--out", out, "--set", "model.width=17"]);
    assert!(
        message.contains("experiment three-states-more-heads"),
        "{message}"
    );
    let message = fail(
        2,
        &["reproduce", "--out", out, "--set", "record.measures=[]"],
    );
    assert!(message.contains("figures and claims need"), "{message}");
    let message = fail(2, &["reproduce", "--out", out, "--set", "seeds.data=7"]);
    assert!(message.contains("--seeds"), "{message}");
    fail(2, &["reproduce", "--out", out, "--seeds", "0"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // A foreign folder.
    fs::write(folder.path().join("thesis.tex"), "mine").unwrap();
    let message = fail(2, &["reproduce", "--out", out, "--only", "6"]);
    assert!(
        message.contains("not empty") && message.contains("--out"),
        "{message}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
