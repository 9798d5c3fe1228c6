//! Priors and strategies from another crate: they work like the built-in ones, and
//! errors name them when they fail.

use std::convert::Infallible;
use std::sync::Arc;

use induct::chain::prior::{Dirichlet, Mixture, Pool};
use induct::chain::{
    Alpha, Draft, DrawError, Generator, Law, MixturePart, Prior, PriorSpec, Rows, open_unit,
};
use induct::measure::{KL_STRATEGY, KL_STRATEGY_ALL, KL_TRUTH};
use induct::probe::{Instruments, ProbeError, columns};
use induct::run::{Checkpoint, Ending, Record, Recorder, Recording, Run, RunError, Sink};
use induct::strategy::{Seen, Strategy};
use induct::train::{Recipe, StageSpec, TrainError, Trainer};
use induct::{Custom, Invalid};

/// A copy of the built-in `dirichlet`, which may hide its law.
#[derive(Debug)]
struct Copied {
    rows: Rows,
    says_so: bool,
}

impl Prior for Copied {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        for context in 0..table.contexts() {
            self.rows.draw(rng, table.row_mut(context));
        }
    }

    fn law(&self) -> Law<'_> {
        match self.says_so {
            true => Law::Dirichlet(&self.rows),
            false => Law::Unknown,
        }
    }
}

/// Fair coins, except for a share of the tables, which are something else.
#[derive(Debug)]
struct Mostly {
    share: f64,
    otherwise: [[f64; 2]; 2],
}

impl Prior for Mostly {
    fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
        match states {
            2 => Ok(()),
            _ => Err(Invalid::new("states", states, "2: a coin has two sides")),
        }
    }

    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let rows = match open_unit(rng) < self.share {
            true => self.otherwise,
            false => [[0.5; 2]; 2],
        };
        table.first_rows_mut(2).copy_from_slice(rows.as_flattened());
        table.repeat_first_rows(2);
    }
}

const NO_NUMBER: [[f64; 2]; 2] = [[0.5, 0.5], [f64::NAN, 0.5]];

fn mostly(share: f64, otherwise: [[f64; 2]; 2]) -> PriorSpec {
    Custom::<dyn Prior>::new("mostly-coins", Arc::new(Mostly { share, otherwise })).into()
}

/// A strategy that answers with a function.
#[derive(Debug)]
struct Says {
    name: &'static str,
    states: usize,
    answer: fn(&[u8], &mut [f64]),
}

impl Strategy for Says {
    fn name(&self) -> String {
        self.name.into()
    }

    fn states(&self) -> usize {
        self.states
    }

    fn predict_next(&self, seen: Seen<'_>, out: &mut [f64]) {
        (self.answer)(seen.tokens, out);
    }
}

fn says(name: &'static str, answer: fn(&[u8], &mut [f64])) -> Custom<dyn Strategy> {
    let states = 2;
    Custom::<dyn Strategy>::new(
        name,
        Arc::new(Says {
            name,
            states,
            answer,
        }),
    )
}

/// What followed the last symbol so far, by counting with α = 1.
fn count_pairs(tokens: &[u8], out: &mut [f64]) {
    let last = tokens[tokens.len() - 1];
    out.fill(1.0);
    for pair in tokens.windows(2).filter(|pair| pair[0] == last) {
        out[usize::from(pair[1])] += 1.0;
    }
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= total);
}

fn small(overrides: &[&str]) -> Recipe {
    let small = [
        "task.length=12",
        "train.batch=13",
        "train.steps=20",
        "record.every=5",
        "record.test_sequences=20",
    ];
    let all = small.iter().chain(overrides).map(|&s| s.to_owned());
    Recipe::from_toml("", &all.collect::<Vec<_>>()).unwrap()
}

fn record(recipe: &Recipe) -> Recording {
    let instruments = Arc::new(Instruments::new(recipe).unwrap());
    Recorder::record(recipe, instruments).unwrap()
}

#[test]
fn a_copy_of_a_built_in_prior_gives_the_same_bytes() {
    for (alpha, says_so) in [(1.0, true), (1.0, false), (0.3, true)] {
        let alpha = Alpha::Scalar(alpha);
        let mut built_in = small(&["task.states=3", "record.strategies=[\"bayes\"]"]);
        built_in.task.prior = Dirichlet {
            alpha: alpha.clone(),
        }
        .into();
        let rows = Rows::new(&alpha, 3).unwrap();
        let copied = Custom::<dyn Prior>::new("copied", Arc::new(Copied { rows, says_so }));
        let mut custom = built_in.clone();
        custom.task.prior = copied.with("says_so", f64::from(u8::from(says_so))).into();
        if !says_so {
            // Bayes uses another method for a prior with an unknown law.
            built_in.record.strategies.clear();
            custom.record.strategies.clear();
        }
        let (expected, found) = (record(&built_in), record(&custom));
        assert_eq!(found.snapshots, expected.snapshots);
        assert_eq!(found.history, expected.history);
        assert_ne!(found.summary.identity, expected.summary.identity);
    }
}

#[test]
fn a_prior_that_fails_is_an_error_of_the_step_that_needs_it() {
    let mut recipe = small(&["train.batch=64"]);
    recipe.task.prior = mostly(0.002, NO_NUMBER);
    let fail = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut trainer = Trainer::new(&recipe).unwrap();
            loop {
                let before = trainer.state();
                if let Err(error) = trainer.advance() {
                    assert_eq!(trainer.state(), before, "a failed step must change nothing");
                    // Asked again, it gives the same answer.
                    let again = trainer.advance().unwrap_err();
                    assert_eq!(again.to_string(), error.to_string());
                    return (before.step, error);
                }
            }
        })
    };
    let (step, error) = fail(1);
    assert!(step > 0, "some steps must come before the failure");
    let TrainError::Prior {
        step: named,
        error: drawn,
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*named, step);
    let DrawError::Row {
        prior,
        context,
        row,
        ..
    } = drawn
    else {
        panic!("{drawn}")
    };
    assert_eq!((prior.as_str(), *context), ("mostly-coins", 1));
    assert!(row[0].is_nan());
    let text = error.to_string();
    for part in [&format!("step {step}"), "\"mostly-coins\"", "[NaN, 0.5]"] {
        assert!(text.contains(part), "{text}");
    }
    let many = fail(4);
    assert_eq!((many.0, many.1.to_string()), (step, text));
}

/// Keeps the last checkpoint and the recorded steps.
#[derive(Default)]
struct Kept {
    steps: Vec<u64>,
    checkpoint: Option<Checkpoint>,
}

impl Sink for Kept {
    type Error = Infallible;

    fn record(&mut self, record: &Record) -> Result<(), Infallible> {
        self.steps.push(record.step);
        Ok(())
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Infallible> {
        self.checkpoint = Some(checkpoint.clone());
        Ok(())
    }
}

#[test]
fn a_run_whose_prior_fails_ends_with_a_checkpoint() {
    let mut recipe = small(&[]);
    recipe.train.curriculum = vec![StageSpec {
        from: 7,
        prior: mostly(1.0, [[1.0, 0.0], [0.0, 1.0]]),
    }];
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    let mut run = Run::new(&recipe, Arc::clone(&instruments)).unwrap();
    let mut kept = Kept::default();
    let Ok(ending) = run.drive(&mut kept);
    let Ending::PriorFailed { step: 7, error } = &ending else {
        panic!("{ending:?}")
    };
    assert!(
        matches!(error, DrawError::NoLaw { tries: 100, .. }),
        "{error}"
    );
    assert_eq!(kept.steps, [0, 5]);
    assert_eq!(kept.checkpoint.unwrap().state.step, 7);
    let refused = Recorder::record(&recipe, instruments).unwrap_err();
    assert!(matches!(
        refused,
        RunError::Train(TrainError::Prior { step: 7, .. })
    ));
}

#[test]
fn priors_that_fail_where_test_sets_and_pools_are_drawn_are_errors_there() {
    let mut recipe = small(&[]);
    recipe.task.prior = mostly(1.0, NO_NUMBER);
    let Err(error) = Instruments::new(&recipe) else {
        panic!("a prior that draws no chains was accepted")
    };
    assert!(
        matches!(error, ProbeError::Prior(DrawError::Row { .. })),
        "{error}"
    );
    let pool = |of: PriorSpec| Pool {
        size: 5,
        seed: 0,
        of: Box::new(of),
    };
    recipe.task.prior = pool(mostly(1.0, NO_NUMBER)).into();
    let refused = Trainer::new(&recipe).err().unwrap();
    assert_eq!(refused.field, "task.prior.of");
    assert!(refused.to_string().contains("context 1"), "{refused}");
    // Errors from a prior include the path to it.
    let part = |prior: PriorSpec| MixturePart { weight: 1.0, prior };
    let parts = vec![part(PriorSpec::default()), part(mostly(0.0, NO_NUMBER))];
    recipe.task.prior = Mixture { parts }.into();
    assert_eq!(recipe.check(), Ok(()));
    recipe.task.states = 3;
    let refused = recipe.check().unwrap_err();
    assert_eq!(refused.field, "task.prior.parts[1].prior.states");
}

#[test]
fn a_copy_of_a_built_in_strategy_has_the_same_divergence() {
    let plain = small(&[]);
    let mut recipe = plain.clone();
    recipe.record.strategies = vec!["trigram".into(), "bayes".into()];
    recipe.record.custom_strategies = vec![says("pairs", count_pairs)];
    let (found, expected) = (record(&recipe), record(&plain));
    for measure in [&KL_STRATEGY, &KL_STRATEGY_ALL] {
        let column = |name: &str| found.history.column(measure.of_strategy(name)).unwrap();
        assert_eq!(column("pairs"), column("bigram"));
        assert_ne!(column("pairs"), column("bayes"));
    }
    let names = ["uniform", "unigram", "bigram", "trigram", "bayes", "pairs"];
    assert_eq!(found.history.strategies(), names);
    let levels = found.summary.strategies.iter();
    assert!(levels.map(|(name, _)| name).eq(names));
    // Nothing else changes: neither weights, nor measures, nor phases.
    assert_eq!(found.snapshots, expected.snapshots);
    let truth = |run: &Recording| run.history.column(&KL_TRUTH);
    assert_eq!(truth(&found), truth(&expected));
    assert_eq!(found.summary.phases, expected.summary.phases);
    assert_eq!(found.summary.tests, expected.summary.tests);
}

#[test]
fn answers_that_are_no_distributions_are_refused_by_name() {
    fn at_the_sixth(tokens: &[u8], out: &mut [f64]) {
        out.fill(0.5);
        out[0] = if tokens.len() == 6 { f64::NAN } else { 0.5 };
    }
    type Answer = fn(&[u8], &mut [f64]);
    let cases: [(Answer, usize, &str); 4] = [
        (at_the_sixth, 5, "NaN at symbol 0"),
        (
            |_, out| out.copy_from_slice(&[-0.5, 1.5]),
            0,
            "-0.5 at symbol 0",
        ),
        (
            |_, out| out.copy_from_slice(&[0.5, 0.50001]),
            0,
            "sums to 1.00001",
        ),
        (|_, out| out.fill(f64::INFINITY), 0, "inf at symbol 0"),
    ];
    for (answer, at, what) in cases {
        let mut recipe = small(&[]);
        recipe.record.custom_strategies = vec![says("wrong", answer)];
        let Err(error) = Instruments::new(&recipe) else {
            panic!("{what} was accepted as an answer")
        };
        let ProbeError::Answer {
            sequence: 0,
            error: bad,
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!((bad.strategy.as_str(), bad.position), ("wrong", at));
        let text = error.to_string();
        let place = format!("position {at}");
        for part in ["sequence 0", "\"wrong\"", place.as_str(), what] {
            assert!(text.contains(part), "{text}");
        }
    }
    // The same for a single sequence.
    let wrong = says("wrong", |_, out| out.fill(0.7));
    let refused = wrong.part().unwrap().distributions(&[0, 1]).unwrap_err();
    assert!(refused.to_string().contains("sums to 1.4"), "{refused}");
}

#[test]
fn strategies_of_a_recipe_are_known_distinct_and_defined() {
    let refuse = |change: &dyn Fn(&mut Recipe)| {
        let mut recipe = small(&[]);
        change(&mut recipe);
        let refused = recipe.check().unwrap_err();
        (refused.field.clone(), refused.to_string())
    };
    let named = |names: &'static [&'static str]| {
        refuse(&|recipe: &mut Recipe| {
            recipe.record.strategies = names.iter().map(|&name| name.to_owned()).collect();
        })
    };
    for (names, index, part) in [
        (&["bayse"][..], 0, "one of uniform"),
        (&["bayes", "bayes"], 1, "once"),
        (&["bigram"], 0, "n-gram"),
        (&["oracle"], 0, "kl_truth"),
        (&["40-gram"], 0, "1024 contexts"),
    ] {
        let (field, text) = named(names);
        assert_eq!(field, format!("record.strategies[{index}]"));
        assert!(text.contains(part), "{text}");
    }
    let undefined = refuse(&|recipe: &mut Recipe| {
        recipe.task.states = 3;
        recipe.record.strategies = vec!["bayes-unigram".into()];
    });
    assert!(
        undefined
            .1
            .contains("record.strategies[0] = \"bayes-unigram\""),
        "{undefined:?}"
    );

    let custom = |made: Vec<Custom<dyn Strategy>>| {
        refuse(&|recipe: &mut Recipe| recipe.record.custom_strategies = made.clone())
    };
    for name in [
        "bayes", "trigram", "7-gram", "oracle", "truth", "", "a,b", "a_all", "1st",
    ] {
        let (field, text) = custom(vec![says(name, count_pairs)]);
        assert_eq!(field, "record.custom_strategies[0].name", "{text}");
    }
    let pairs = || says("pairs", count_pairs);
    let (field, text) = custom(vec![pairs(), pairs().with("again", 1.0)]);
    assert_eq!(field, "record.custom_strategies[1].name", "{text}");
    let (field, text) = custom(vec![pairs().with("rate", f64::NAN)]);
    assert_eq!(field, "record.custom_strategies[0].settings.rate", "{text}");
    let other = pairs().part().unwrap().clone();
    let (_, text) = custom(vec![Custom::new("triples", other)]);
    assert!(text.contains("own name, \"pairs\""), "{text}");
    let (_, text) = refuse(&|recipe: &mut Recipe| {
        recipe.task.states = 3;
        recipe.record.custom_strategies = vec![pairs()];
    });
    assert!(text.contains("task.states = 3"), "{text}");
}

#[test]
fn text_names_parts_and_can_be_read_without_them() {
    let mut recipe = small(&["record.strategies=[\"bayes\"]"]);
    recipe.task.prior = mostly(0.0, NO_NUMBER);
    recipe.record.custom_strategies = vec![says("pairs", count_pairs).with("alpha", 1.0)];
    assert_eq!(recipe.check_parts(), Ok(()));
    let text = recipe.to_toml();
    let read = Recipe::from_toml(&text, &[]).unwrap();
    assert_eq!((&read, read.to_toml()), (&recipe, text));
    let named = |recipe: &Recipe| -> Vec<String> {
        let columns = columns(recipe).unwrap();
        columns.iter().map(ToString::to_string).collect()
    };
    assert_eq!(named(&read), named(&recipe));
    assert!(named(&read).contains(&"kl_pairs".to_owned()));
    // It can be shown, but not trained or measured.
    let missing = read.check_parts().unwrap_err();
    assert_eq!(missing.field, "task.prior.name");
    assert!(missing.value.contains("mostly-coins"), "{missing}");
    assert_eq!(Trainer::new(&read).err().unwrap(), missing);
    assert_eq!(
        Instruments::new(&read).err().unwrap(),
        ProbeError::Invalid(missing)
    );
    let mut measured = read;
    measured.task.prior = PriorSpec::default();
    let missing = Instruments::new(&measured).err().unwrap().to_string();
    assert!(
        missing.contains("record.custom_strategies[0].name = \"pairs\""),
        "{missing}"
    );
    // Recipes without such parts are written as before.
    assert!(!small(&[]).to_toml().contains("strategies"));
}

#[test]
fn memory_counts_the_strategies_that_are_added() {
    let plain = small(&[]);
    let mut recipe = plain.clone();
    recipe.record.custom_strategies = vec![says("pairs", count_pairs)];
    let (before, after) = (plain.memory().unwrap(), recipe.memory().unwrap());
    for ((name, before), (_, after)) in before.parts().zip(after.parts()) {
        let grows = ["test sets", "records"].contains(&name);
        assert_eq!(after > before, grows, "{name}");
    }
    // Thousands of tables of many states do not fit.
    let text = "task = { states = 256, length = 4 }\nmodel = { kind = \"minimal\" }";
    let mut large = Recipe::from_toml(text, &["record.test_sequences=8".into()]).unwrap();
    large.task.prior = Dirichlet::default().into();
    large.record.strategies = vec!["bayes".into()];
    let refused = large.check().unwrap_err();
    assert_eq!(refused.field, "record.strategies", "{refused}");
}

#[test]
fn a_recipe_read_from_text_takes_the_code_of_its_priors() {
    let coins = || mostly(0.0, NO_NUMBER);
    let part = |prior| MixturePart { weight: 1.0, prior };
    let of = Box::new(coins());
    let (size, seed) = (4, 0);
    let mut recipe = Recipe::default();
    recipe.task.prior = Mixture {
        parts: vec![part(coins()), part(Pool { size, seed, of }.into())],
    }
    .into();
    let mut read = Recipe::from_toml(&recipe.to_toml(), &[]).unwrap();
    assert!(read.prior().is_err());
    let customs = read.custom_priors_mut();
    assert_eq!(customs.len(), 2);
    for custom in customs {
        custom.supply(Arc::new(Mostly {
            share: 0.0,
            otherwise: NO_NUMBER,
        }));
    }
    assert!(read.prior().is_ok());
}
