//! A page's day, asked natively: what a browser test does with clicks, here with messages.

use induct::probe::Instruments;
use induct::recipe::Recipe;
use induct::run::{Recorder, Recording};
use induct_lab::Lab;
use induct_store::{RunFiles, files_of};
use serde_json::{Value, json};

/// Asks with attachments, and expects an answer with its attachments.
fn ask_with(lab: &mut Lab, request: Value, attachments: Vec<Vec<u8>>) -> (Value, Vec<Vec<u8>>) {
    let answer = lab.answer(request.to_string().as_bytes(), attachments);
    let text: Value = serde_json::from_str(&answer.text).unwrap();
    assert!(text.get("problem").is_none(), "{request}: {text}");
    (text["answer"].clone(), answer.attachments)
}

fn ask(lab: &mut Lab, request: Value) -> Value {
    ask_with(lab, request, Vec::new()).0
}

/// Asks for a file: its name and its bytes.
fn take(lab: &mut Lab, request: Value) -> (String, Vec<u8>) {
    let (file, mut attached) = ask_with(lab, request, Vec::new());
    (file["name"].as_str().unwrap().into(), attached.remove(0))
}

/// Asks, and expects a refusal: its sentence.
fn refused(lab: &mut Lab, request: &str) -> String {
    let answer = lab.answer(request.as_bytes(), Vec::new());
    let text: Value = serde_json::from_str(&answer.text).unwrap();
    let sentence = text["problem"]["sentence"].as_str();
    sentence.expect(request).to_owned()
}

const SMALL: [&str; 6] = [
    "task.length=12",
    "train.steps=40",
    "train.batch=8",
    "record.every=5",
    "record.snapshots=5",
    "record.test_sequences=16",
];

/// A recipe trained in one piece, and the files of its folder.
fn recorded(recipe: &Recipe) -> (Recording, RunFiles) {
    let instruments = Instruments::new(recipe).unwrap();
    let run = Recorder::record(recipe, instruments.into()).unwrap();
    let (history, summary) = (&run.history, Some(&run.summary));
    let files = files_of(recipe, history, &run.snapshots, None, summary).unwrap();
    (run, files)
}

/// Trains a recipe in one lab and puts it as run 1 on the shelf of another. Returns its TOML.
fn train(lab: &mut Lab, base: &str, sets: &[&str]) -> Value {
    let sets: Vec<&str> = SMALL.iter().chain(sets).copied().collect();
    let source = json!({ "base": base, "sets": sets });
    let toml = ask(lab, json!({ "do": "recipe", "source": source }))["toml"].clone();
    let mut worker = Lab::default();
    let begun = ask(&mut worker, json!({ "do": "begin", "recipe": toml }));
    let levels = &begun["levels"];
    ask(
        lab,
        json!({ "do": "add", "run": 1, "recipe": toml, "levels": levels }),
    );
    loop {
        let advance = json!({ "do": "advance", "steps": 7 });
        let (slice, attached) = ask_with(&mut worker, advance, Vec::new());
        let extend = json!({ "do": "extend", "run": 1, "snapshots": slice["snapshots"] });
        let (course, _) = ask_with(lab, extend, attached);
        assert!(course["steps"].as_array().is_some());
        if !slice["ended"].is_null() {
            assert_eq!(slice["ended"]["how"], "complete");
            break;
        }
    }
    let outcome = ask(&mut worker, json!({ "do": "outcome", "seconds": 0.0 }));
    ask(lab, json!({ "do": "end", "run": 1, "outcome": outcome }));
    toml
}

#[test]
fn files_of_a_run_are_those_of_the_same_recipe_trained_in_one_piece() {
    let mut lab = Lab::default();
    let toml = train(&mut lab, "main", &[]);
    let recipe = Recipe::from_toml(toml.as_str().unwrap(), &[]).unwrap();
    let (mut whole, files) = recorded(&recipe);
    for name in ["recipe", "metrics"] {
        let (name, bytes) = take(&mut lab, json!({ "do": "take", "run": 1, "file": name }));
        assert_eq!(files.get(&name), Some(&bytes), "{name}");
    }
    for (step, at) in [(0, 0), (10, 10), (14, 10), (4000, 40)] {
        let request = json!({ "do": "take", "run": 1, "file": "snapshot", "step": step });
        let (name, bytes) = take(&mut lab, request);
        assert_eq!(name, format!("step-{at:06}.safetensors"));
        let expected = files.get(&format!("snapshots/{name}"));
        assert_eq!(expected, Some(&bytes), "{name}");
    }
    let (name, archive) = take(&mut lab, json!({ "do": "take", "run": 1, "file": "run" }));
    assert_eq!(name, "main.tar");
    let mut unpacked = RunFiles::default();
    for entry in tar::Archive::new(archive.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        unpacked.insert(path.strip_prefix("main/").unwrap().into(), bytes);
    }
    let recording = induct_store::RunFolder::of_files("main", unpacked).unwrap();
    let recording = recording.recording().unwrap().unwrap();
    whole.summary.threads = recording.summary.threads;
    assert_eq!(recording, whole);
}

#[test]
fn a_run_from_elsewhere_leaves_as_it_came() {
    let recipe = Recipe::from_toml("", &SMALL.map(String::from)).unwrap();
    let (_, mut files) = recorded(&recipe);
    let open = |lab: &mut Lab, files: &RunFiles| {
        let names: Vec<&String> = files.keys().collect();
        let bytes = files.values().cloned().collect();
        let request = json!({ "do": "open", "run": 1, "name": "elsewhere", "files": names });
        ask_with(lab, request, bytes).0
    };
    let mut lab = Lab::default();
    let about = open(&mut lab, &files);
    assert_eq!(about["snapshots"], json!([0, 10, 20, 30, 40]));
    for (file, name) in [
        ("recipe", "recipe.toml"),
        ("snapshot", "snapshots/step-000020.safetensors"),
    ] {
        let request = json!({ "do": "take", "run": 1, "file": file, "step": 25 });
        assert_eq!(files[name], take(&mut lab, request).1, "{name}");
    }
    // Some snapshots may have been left out: it can be looked at, but is no longer whole.
    files.retain(|name, _| {
        !["10", "20", "30"]
            .iter()
            .any(|step| name.ends_with(&format!("{step}.safetensors")))
    });
    let about = open(&mut lab, &files);
    assert_eq!(about["snapshots"], json!([0, 40]));
    let sentence = refused(&mut lab, r#"{"do": "take", "run": 1, "file": "run"}"#);
    assert!(sentence.contains("step-000010"), "{sentence}");
}

#[test]
fn every_picture_of_every_kind_of_model_can_be_drawn_in_every_form() {
    for (base, sets) in [
        ("main", vec![]),
        ("minimal", vec![]),
        ("trigram", vec!["model.heads=2"]),
        (
            "five-states",
            vec!["model.mlp=true", "model.positions=\"absolute\""],
        ),
        ("released", vec!["model.layers=1"]),
        (
            "main",
            vec!["model.blocks=[\"mlp\", \"attention\", \"mlp\", { kind = \"mlp\", ratio = 2 }]"],
        ),
    ] {
        let mut lab = Lab::default();
        let toml = train(&mut lab, base, &sets);
        let moment = json!({ "run": 1, "step": 40, "tokens": [0, 1, 1, 0, 1] });
        let about = ask(
            &mut lab,
            json!({ "do": "recipe", "source": { "text": toml } }),
        );
        let parts = about["parts"].as_array().unwrap();
        let head = parts.iter().find(|part| part["pattern"] == true).unwrap();
        let layer = &head["layer"];
        let subject = |of: &str, more: Value| {
            let mut subject = moment.clone();
            subject["of"] = json!(of);
            let more = more.as_object().unwrap().clone();
            subject.as_object_mut().unwrap().extend(more);
            subject
        };
        let groups = json!([{ "label": "a run", "runs": [1] }]);
        let mut subjects = vec![
            subject(
                "curves",
                json!({ "groups": groups, "live": true, "marks": [[10, "branch"]] }),
            ),
            subject("curves", json!({ "groups": groups })),
            subject("map", json!({ "layer": layer, "head": 0 })),
            subject("map", json!({ "layer": layer, "head": 0, "scores": true })),
            subject("profile", json!({})),
            subject("weights", json!({})),
            subject("chains", json!({ "recipe": toml })),
        ];
        if base != "minimal" {
            subjects.push(subject("arcs", json!({})));
        }
        for subject in subjects {
            let picture = |form: &str| json!({ "do": "picture", "subject": subject, "width": 500, "form": form });
            let (inline, attached) = ask_with(&mut lab, picture("inline"), Vec::new());
            let svg = inline["svg"].as_str().unwrap();
            assert!(
                svg.starts_with("<svg") && attached.is_empty(),
                "{base}: {subject}"
            );
            let marked = subject.get("marks").is_some();
            assert_eq!(svg.contains(">branch<"), marked, "{base}: {subject}");
            for (form, begins) in [("svg", b"<svg"), ("png", b"\x89PNG"), ("csv", b"pane")] {
                let (_, attached) = ask_with(&mut lab, picture(form), Vec::new());
                assert!(
                    attached[0].starts_with(begins),
                    "{base}: {subject} as {form}"
                );
            }
        }
    }
}

#[test]
fn every_part_of_a_list_of_blocks_can_be_changed() {
    let mut lab = Lab::default();
    let blocks = "model.blocks=[\"mlp\", { kind = \"attention\", heads = 2 }, \"mlp\", \"mlp\"]";
    let toml = train(&mut lab, "main", &[blocks]);
    let about = ask(
        &mut lab,
        json!({ "do": "recipe", "source": { "text": toml } }),
    );
    let parts = about["parts"].as_array().unwrap();
    let names: Vec<&str> = parts
        .iter()
        .map(|part| part["at"].as_str().unwrap())
        .collect();
    let expected = [
        "layers.0.mlp_out",
        "layers.1.heads.0",
        "layers.1.heads.1",
        "layers.1.mlp_out",
        "layers.1.mlp_out.1",
    ];
    assert_eq!(names, expected);
    for name in names {
        let under = [format!("kind=\"ablate\", at=\"{name}\"")];
        ask(
            &mut lab,
            json!({ "do": "effect", "run": 1, "step": 40, "under": under }),
        );
    }
    // Overrides that leave something unset are kept.
    let sets = json!(["model.layers=2", blocks]);
    let listed = ask(
        &mut lab,
        json!({ "do": "recipe", "source": { "base": "one-layer", "sets": sets } }),
    );
    assert_eq!(
        listed["source"],
        json!({ "base": "one-layer", "text": null, "sets": sets })
    );
    assert_eq!(
        listed["blocks"][1],
        json!({ "kind": "\"attention\"", "heads": "2" })
    );
}

#[test]
fn the_schema_names_what_blocks_stand_in_place_of() {
    let schema = ask(&mut Lab::default(), json!({ "do": "schema" }));
    assert_eq!(schema["replaced"], json!(["heads", "layers", "mlp"]));
    assert_eq!(schema["model"][0]["settings"][0]["key"], "layers");
    assert_eq!(schema["block"][1]["settings"][0]["takes"], "count");
}

#[test]
fn a_model_is_talked_to_and_broken_and_mended() {
    let mut lab = Lab::default();
    train(&mut lab, "main", &[]);
    let talk = |lab: &mut Lab, under: &[&str]| {
        let request =
            json!({ "do": "talk", "run": 1, "step": 40, "under": under, "tokens": [0, 1, 1] });
        ask(lab, request)["answers"].clone()
    };
    let as_it_is = talk(&mut lab, &[]);
    let names: Vec<&str> = as_it_is
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..4], ["model", "uniform", "unigram", "bigram"]);
    assert!(names.contains(&"bayes"), "{names:?}");
    let ablate = "kind=\"ablate\", at=\"layers.1.heads.0\"";
    let broken = talk(&mut lab, &[ablate]);
    assert_ne!(broken[0], as_it_is[0]);
    assert_eq!(broken[1]["probabilities"], as_it_is[1]["probabilities"]);
    assert_eq!(talk(&mut lab, &[]), as_it_is);
    let request = json!({ "do": "effect", "run": 1, "step": 40, "under": [ablate] });
    let effect = ask(&mut lab, request);
    let number = |key: &str| effect[key]["mean"].as_f64().unwrap();
    let difference = number("with") - number("without");
    assert!((number("difference") - difference).abs() < 1e-12);
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() {
    let mut lab = Lab::default();
    train(&mut lab, "main", &[]);
    for (request, expected) in [
        ("", "not a request"),
        (r#"{"do": "dance"}"#, "dance"),
        (r#"{"do": "advance", "steps": 1}"#, "nothing is in training"),
        (r#"{"do": "course", "run": 7}"#, "run 7 is not here"),
        (
            r#"{"do": "talk", "run": 1, "step": 0, "tokens": [0, 2]}"#,
            "2",
        ),
        (
            r#"{"do": "talk", "run": 1, "step": 0, "tokens": []}"#,
            "empty",
        ),
        (
            r#"{"do": "effect", "run": 1, "step": 0, "under": ["kind=\"ablate\", at=\"nowhere\""]}"#,
            "nowhere",
        ),
        (
            r#"{"do": "open", "run": 2, "name": "<b>", "files": []}"#,
            "<b>",
        ),
    ] {
        let sentence = refused(&mut lab, request);
        assert!(sentence.contains(expected), "{request}: {sentence}");
    }
    // Whatever these are, they are answered or refused without a panic.
    for request in [
        r#"{"do": "effect", "run": 1, "step": 0, "under": ["}, {"]}"#,
        r#"{"do": "extend", "run": 1, "snapshots": []}"#,
    ] {
        lab.answer(request.as_bytes(), vec![vec![0; 3]]);
    }
    // Nothing is lost by any of these.
    ask(&mut lab, json!({ "do": "course", "run": 1 }));
}
