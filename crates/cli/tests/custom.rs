//! Runs left by another program, with its own prior and strategy.

use std::convert::Infallible;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use induct::Custom;
use induct::chain::{Draft, Generator, Prior, open_interval};
use induct::run::{Progress, Record, Sink};
use induct::strategy::{Seen, Strategy};
use induct::train::{Recipe, no_snapshots};
use induct_store::{How, Session};
use tempfile::TempDir;

use crate::program::{SMALL, fail, induct, json, succeed, text};

/// Chains that like to stay where they are.
#[derive(Debug)]
struct Sticky;

impl Prior for Sticky {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        for context in 0..table.contexts() {
            let stay = open_interval(rng, 0.5, 1.0);
            let row = table.row_mut(context);
            row.fill(1.0 - stay);
            row[context % 2] = stay;
        }
    }
}

/// The last symbol comes again, three times out of four.
#[derive(Debug)]
struct Again;

impl Strategy for Again {
    fn name(&self) -> String {
        "again".into()
    }

    fn states(&self) -> usize {
        2
    }

    fn predict_next(&self, seen: Seen<'_>, out: &mut [f64]) {
        out.fill(0.25);
        out[usize::from(seen.tokens[seen.tokens.len() - 1])] = 0.75;
    }
}

/// Stops a run after some steps.
struct StopAt(u64);

impl Sink for StopAt {
    type Error = Infallible;

    fn record(&mut self, _: &Record) -> Result<(), Infallible> {
        Ok(())
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        match progress.step >= self.0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Trains a run in a new folder, up to a step.
pub fn train_until(path: &Path, recipe: &Recipe, step: u64) {
    let session = Session {
        recipe,
        path,
        how: How::New,
        instruments: None,
        snapshots: &no_snapshots,
        remark: &|_| {},
    };
    session.train(&mut StopAt(step)).unwrap();
}

/// A page with a place for runs, and nothing else.
const PAGE: &str = "<!--runs--><!--end of runs-->";

/// What such a program does: trains for `steps` of the recipe's 30 steps.
fn train(path: &Path, steps: u64) {
    let mut recipe = Recipe::from_toml("", &SMALL.map(String::from)).unwrap();
    recipe.task.prior = Custom::<dyn Prior>::new("sticky", Arc::new(Sticky)).into();
    let again = Custom::<dyn Strategy>::new("again", Arc::new(Again));
    recipe.record.custom_strategies = vec![again.with("share", 0.75)];
    train_until(path, &recipe, steps);
}

#[test]
fn a_run_of_another_program_can_be_shown() {
    let folder = TempDir::new().unwrap();
    for (name, steps) in [("ended", 31), ("stopped", 15)] {
        let path = folder.path().join(name);
        train(&path, steps);
        let run = path.to_str().unwrap();
        let shown = succeed(&["show", run]);
        assert!(shown.contains("again"), "{shown}");
        let shown = json(&["show", run, "--json"]);
        let again = &shown["strategies"]["again"];
        assert!(again["kl_to_model"].as_f64().unwrap() > 0.0, "{again}");
        // How well it does is known only to those who have it.
        assert_eq!(again["kl_truth"].is_number(), name == "ended", "{again}");
        assert!(shown["final"]["kl_again"].is_number());
        // A browser has no part of another program either, and the user is told.
        let (page, out) = (
            folder.path().join("lab.html"),
            folder.path().join("out.html"),
        );
        fs::write(&page, PAGE).unwrap();
        let lab = ["lab", run, "--page", page.to_str().unwrap(), "--out"];
        let lab = induct(&[&lab[..], &[out.to_str().unwrap()]].concat());
        assert!(lab.status.success());
        let notes = text(&lab.stderr);
        for part in ["cannot compute anew", "task.prior.name = \"sticky\""] {
            assert!(notes.contains(part), "{notes}");
        }
    }
    let stopped = folder.path().join("stopped");
    let shown = succeed(&["show", stopped.to_str().unwrap()]);
    assert!(shown.contains("only the program that made it"), "{shown}");
    assert!(!shown.contains("--resume"), "{shown}");
}

#[test]
fn a_run_of_another_program_can_be_neither_trained_nor_measured() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run");
    train(&path, 15);
    let (run, recipe) = (path.to_str().unwrap(), path.join("recipe.toml"));
    let recipe = recipe.to_str().unwrap();
    for arguments in [
        &["train", recipe, "--resume"][..],
        &["eval", run],
        &["predict", run, "--tokens", "0110"],
        &["sample", recipe],
    ] {
        let message = fail(2, arguments);
        assert!(
            message.contains("task.prior.name = \"sticky\""),
            "{message}"
        );
        assert!(message.contains("another"), "{message}");
    }
}
