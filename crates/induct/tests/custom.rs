//! Parts from outside the crate: priors, strategies, measures, optimisers and tasks work like the built-in ones, and errors
//! name them.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use induct::chain::prior::{Dirichlet, Mixture, Pool, PoolWeights};
use induct::chain::{
    Alpha, Draft, DrawError, Generator, Law, MixturePart, Prior, PriorSpec, Rows, Start, open_unit,
};
use induct::internal::batch_address;
use induct::measure::{
    AttentionOn, Column, Context, CustomMeasure, INDUCTION, KL_STRATEGY, KL_STRATEGY_ALL, KL_TRUTH,
    Measure, Observation, Of, Scope,
};
use induct::probe::{Instruments, Phase, ProbeError, columns};
use induct::recipe::{Event, Recipe, StageSpec};
use induct::run::{Ending, Identity};
use induct::strategy::{Ngram, Scratch, Strategy, Uniform};
use induct::task::{Sequence, Task, TokenBlock};
use induct::train::{MAX_MOMENTS, Optimizer, OptimizerSpec, Trainer, Update, samples};
use induct::{Custom, Invalid};

use crate::interrupted::{interrupted, recipe, recorded};

/// A small recipe that uses what optimisers have to respect.
fn small(overrides: &[&str]) -> Recipe {
    let small = [
        "task.states=3",
        "task.length=9",
        "task.prior={kind=\"dirichlet\", alpha=0.3}",
        "model.heads=[2, 1]",
        "train.batch=13",
        "train.steps=20",
        "train.schedule={kind=\"warmup\", steps=10}",
        "train.optimizer={kind=\"sgd\", lr=0.05, momentum=0.9, weight_decay=0.01}",
        "train.groups=[{name=\"layers.0\", lr=0.02}]",
        "intervene=[{kind=\"freeze\", group=\"unembed\", from=3, until=8}]",
        "record.every=5",
        "record.snapshots=3",
        "record.test_sequences=20",
        "record.strategies=[\"bayes\"]",
    ];
    recipe(&small, overrides)
}

/// A copy of the built-in `dirichlet`.
#[derive(Debug)]
struct Copied(Rows);

impl Prior for Copied {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        for context in 0..table.contexts() {
            self.0.draw(rng, table.row_mut(context));
        }
    }

    fn law(&self) -> Law<'_> {
        Law::Dirichlet(&self.0)
    }
}

/// A strategy that answers with a function.
struct Says<F>(&'static str, F);

impl<F: Fn(&[u8], &mut [f64]) + Send + Sync> Strategy for Says<F> {
    fn name(&self) -> String {
        self.0.into()
    }

    fn states(&self) -> usize {
        3
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        (self.1)(tokens, out);
    }
}

impl<F> Debug for Says<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

fn says(
    name: &'static str,
    answer: impl Fn(&[u8], &mut [f64]) + Send + Sync + 'static,
) -> Custom<dyn Strategy> {
    Custom::<dyn Strategy>::new(name, Arc::new(Says(name, answer)))
}

/// A copy of `bigram` under the prior of [`small`].
fn count_pairs(tokens: &[u8], out: &mut [f64]) {
    let last = tokens[tokens.len() - 1];
    out.fill(0.3);
    for pair in tokens.windows(2).filter(|pair| pair[0] == last) {
        out[usize::from(pair[1])] += 1.0;
    }
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= total);
}

/// A copy of `sgd` with momentum.
#[derive(Debug)]
struct OwnSgd {
    lr: f64,
    moments: usize,
}

impl Optimizer for OwnSgd {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn weight_decay(&self) -> f64 {
        0.01
    }

    fn moments(&self) -> usize {
        self.moments
    }

    fn update(
        &self,
        update: &Update,
        grads: &[f32],
        moments: &mut [&mut [f32]],
        params: &mut [f32],
    ) {
        for i in 0..params.len() {
            let gradient = grads[i] + update.weight_decay as f32 * params[i];
            moments[0][i] = 0.9 * moments[0][i] + gradient;
            params[i] -= update.lr as f32 * moments[0][i];
        }
    }
}

/// A measure whose values are the numbers of its columns, some out of its range; none at the start.
#[derive(Debug)]
struct Numbered(&'static str, Scope);

impl Measure for Numbered {
    fn name(&self) -> &str {
        self.0
    }

    fn meaning(&self) -> &str {
        "the number of the column"
    }

    fn scope(&self) -> Scope {
        self.1
    }

    fn range(&self) -> [f64; 2] {
        [0.0, 1.0]
    }

    fn needs_positions(&self) -> bool {
        true
    }

    fn read(&self, seen: &Observation, columns: &[Column], values: &mut [f64]) {
        assert!(columns.iter().all(|column| column.is_of(self)));
        assert_eq!(seen.kl_by_position.len(), 9);
        assert_eq!(seen.test_sequences().flatten().count(), 20 * 10);
        assert!(seen.tensor("layers.0.W_Q").is_some() && seen.tensor("W_Q").is_none());
        assert_eq!(seen.params().len(), seen.model().layout().len());
        for (index, value) in values.iter_mut().enumerate().filter(|_| seen.step > 0) {
            *value = index as f64;
        }
    }
}

fn numbered(name: &'static str, scope: Scope) -> CustomMeasure {
    CustomMeasure::new(Numbered(name, scope), &[])
}

/// Puts a copy of a built-in part into a recipe, with a setting.
type Add = fn(&mut Recipe, f64);

/// One part of each kind: where its name stands in a recipe, its name, and what adds it.
const COPIES: [(&str, &str, Add); 4] = [
    ("task.prior.name", "copied", |recipe, setting| {
        let rows = Rows::new(&Alpha::Scalar(0.3), 3).unwrap();
        let copied = Custom::<dyn Prior>::new("copied", Arc::new(Copied(rows)));
        recipe.task.prior = copied.with("setting", setting).into();
    }),
    (
        "record.custom_strategies[0].name",
        "pairs",
        |recipe, setting| {
            let pairs = says("pairs", count_pairs).with("setting", setting);
            recipe.record.custom_strategies.push(pairs);
        },
    ),
    (
        "record.custom_measures[0].name",
        "own_induction",
        |recipe, setting| {
            let own = AttentionOn {
                name: "own_induction".into(),
                meaning: "the same as induction".into(),
                pattern: |context: &Context, j: usize| {
                    j > 0 && context.symbols[j - 1] == context.current()
                },
            };
            let own = CustomMeasure::new(own, &[("setting", setting)]);
            recipe.record.custom_measures.push(own);
        },
    ),
    ("train.optimizer.name", "own-sgd", |recipe, setting| {
        let own = OwnSgd {
            lr: 0.05,
            moments: 1,
        };
        recipe.train.optimizer = OptimizerSpec::custom("own-sgd", own, &[("setting", setting)]);
    }),
];

#[test]
fn copies_of_built_in_parts_give_the_same_bytes() {
    let (plain, _, weights) = recorded(&small(&[]), 2);
    let mut all = small(&[]);
    for (_, name, add) in COPIES {
        let mut recipe = small(&[]);
        add(&mut recipe, 1.0);
        add(&mut all, 1.0);
        let (found, _, same) = recorded(&recipe, 2);
        assert_eq!(same, weights, "{name}");
        for column in plain.columns() {
            let bits = |values: Option<Vec<f64>>| -> Vec<u64> {
                values.unwrap().iter().map(|v| v.to_bits()).collect()
            };
            let [found, plain] = [&found, &plain].map(|run| bits(run.column(column.clone())));
            assert_eq!(found, plain, "{name}: {column}");
        }
    }
    // All at once, stopped and resumed; and the columns that they add.
    let (found, _, same) = recorded(&all, 1);
    assert_eq!(same, weights);
    let (stopped, end) = interrupted(&all, &Arc::new(Instruments::new(&all).unwrap()), 7);
    assert_eq!(stopped, Ending::Stopped(7));
    assert_eq!((&end.history, &end.snapshots), (&found, &weights));
    for measure in [&KL_STRATEGY, &KL_STRATEGY_ALL] {
        let column = |name: &str| found.column(measure.of_strategy(name)).unwrap();
        for (own, built_in) in column("pairs").iter().zip(column("bigram")) {
            assert!((own - built_in).abs() < 1e-12, "{own}, not {built_in}");
        }
        assert_ne!(column("pairs"), column("bayes"));
    }
    for (layer, head) in [(0, 0), (0, 1), (1, 0)] {
        let built_in = INDUCTION.of_head(layer, head);
        let own = Column {
            measure: "own_induction".into(),
            of: built_in.of.clone(),
        };
        let [own, built_in] = [own, built_in].map(|column| found.column(column).unwrap());
        for (own, built_in) in own.iter().zip(built_in) {
            assert!((own - built_in).abs() < 1e-6, "{own}, not {built_in}");
        }
    }
}

/// Text carries a part's name and settings: it can be shown without the part, but neither trained nor measured.
#[test]
fn parts_are_in_the_recipe_s_text_and_identity() {
    let plain = small(&[]);
    assert!(!plain.to_toml().contains("custom"));
    let halves: (_, _, Add) = ("task.source.name", "halves", |recipe, setting| {
        *recipe = of_halves(setting);
    });
    for (field, name, add) in COPIES.into_iter().chain([halves]) {
        let [recipe, other] = [1.0, 2.0].map(|setting| {
            let mut recipe = plain.clone();
            add(&mut recipe, setting);
            recipe
        });
        let run = |recipe| Identity::of(recipe).run;
        assert_ne!(run(&recipe), run(&plain), "{name}");
        assert_ne!(run(&recipe), run(&other), "{name}");
        assert_eq!(recipe.check_parts(), Ok(()), "{name}");
        let text = recipe.to_toml();
        let read = Recipe::from_toml(&text, &[]).unwrap();
        assert_eq!((&read, read.to_toml()), (&recipe, text));
        assert_eq!(columns(&read), columns(&recipe));
        assert_eq!(read.task.ladder(), recipe.task.ladder());
        let refused = match Instruments::new(&read) {
            Err(refused) => refused.to_string(),
            Ok(_) => Trainer::new(&read).err().unwrap().to_string(),
        };
        let missing = format!("{field} = \"{name}\"");
        assert!(refused.contains(&missing), "{refused}");
    }
}

#[test]
fn a_recipe_read_from_text_takes_the_code_of_its_task() {
    let mut read = Recipe::from_toml(&of_halves(1.0).to_toml(), &[]).unwrap();
    let custom = read.task.source.custom_mut().unwrap();
    custom.supply(Arc::new(Halves));
    assert!(Trainer::new(&read).is_ok());
}

/// Fair coins, except for a share of the tables, which are something else.
#[derive(Debug)]
struct Coins {
    share: f64,
    otherwise: [[f64; 2]; 2],
}

impl Prior for Coins {
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

fn coins(share: f64, otherwise: [[f64; 2]; 2]) -> PriorSpec {
    Custom::<dyn Prior>::new("coins", Arc::new(Coins { share, otherwise })).into()
}

fn of_coins(prior: PriorSpec) -> Recipe {
    let mut recipe = small(&["train.batch=64", "intervene=[]"]);
    (recipe.task.states, recipe.task.prior) = (2, prior);
    recipe.record.strategies.clear();
    recipe
}

#[test]
fn a_prior_that_fails_is_an_error_of_the_step_that_needs_it() {
    let recipe = of_coins(coins(0.002, NO_NUMBER));
    let mut trainer = Trainer::new(&recipe).unwrap();
    let (step, error) = loop {
        let before = trainer.state();
        if let Err(error) = trainer.advance() {
            assert_eq!(trainer.state(), before, "a failed step changes nothing");
            let again = trainer.advance().unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
            break (before.step, error);
        }
    };
    assert!(step > 0, "some steps come before the failure");
    for part in [
        &format!("step {step}"),
        "\"coins\"",
        "context 1",
        "[NaN, 0.5]",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }

    // A run ends with what it has.
    let mut recipe = of_coins(PriorSpec::default());
    let never_leaves = coins(1.0, [[1.0, 0.0], [0.0, 1.0]]);
    recipe.train.curriculum = vec![StageSpec {
        from: 7,
        prior: never_leaves,
    }];
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    let (first, end) = interrupted(&recipe, &instruments, 4);
    assert_eq!(first, Ending::Stopped(4));
    let Ending::PriorFailed { step: 7, error } = &end.ending else {
        panic!("{:?}", end.ending)
    };
    assert!(matches!(error, DrawError::NoLaw { tries: 100, .. }));
    assert_eq!(end.history.steps(), [0, 5]);

    // So is one that fails where test sets and pools are drawn, or does not fit.
    let refused = Instruments::new(&of_coins(coins(1.0, NO_NUMBER))).err();
    assert!(matches!(
        refused,
        Some(ProbeError::Prior(DrawError::Row { .. }))
    ));
    let of = Box::new(coins(1.0, NO_NUMBER));
    let (size, seed, weights) = (5, 0, PoolWeights::default());
    let refused = Trainer::new(&of_coins(
        Pool {
            size,
            seed,
            weights,
            of,
        }
        .into(),
    ))
    .err();
    let refused = refused.unwrap();
    assert_eq!(refused.field, "task.prior.of");
    assert!(refused.to_string().contains("context 1"), "{refused}");
    let part = |prior: PriorSpec| MixturePart { weight: 1.0, prior };
    let parts = vec![part(PriorSpec::default()), part(coins(0.0, NO_NUMBER))];
    let mut recipe = of_coins(Mixture { parts }.into());
    assert_eq!(recipe.check(), Ok(()));
    recipe.task.states = 3;
    let refused = recipe.check().unwrap_err();
    assert_eq!(refused.field, "task.prior.parts[1].prior.states");
}

#[test]
fn answers_that_are_no_distributions_are_refused_by_name() {
    let cases = [
        ([f64::NAN, 0.5, 0.5], "NaN at symbol 0"),
        ([-0.5, 1.0, 0.5], "-0.5 at symbol 0"),
        ([0.5, 0.5, 0.00001], "sums to 1.00001"),
        ([0.5, 0.0, f64::INFINITY], "inf at symbol 2"),
    ];
    for (answer, what) in cases {
        // Right until the sixth position.
        let wrong = says("wrong", move |tokens, out| {
            out.copy_from_slice(if tokens.len() < 6 {
                &[0.25, 0.25, 0.5]
            } else {
                &answer
            });
        });
        let mut recipe = small(&[]);
        recipe.record.custom_strategies = vec![wrong.clone()];
        let all = Instruments::new(&recipe).err().expect(what).to_string();
        let wrong = wrong.part().unwrap();
        let one = wrong.distributions(&[0; 7]).unwrap_err().to_string();
        for part in ["\"wrong\"", "position 5", what] {
            assert!(all.contains(part) && one.contains(part), "{all}; {one}");
        }
        assert!(all.contains("sequence 0"), "{all}");
    }
}

#[test]
fn every_scope_has_its_columns() {
    let groups = small(&[]).model().unwrap().layout().groups().len();
    // The first columns of each scope, and how many there are.
    let scopes = [
        ("of_run", Scope::Run, "of_run", 1),
        (
            "near_strategy",
            Scope::Strategy,
            "near_uniform near_unigram",
            4,
        ),
        ("hits", Scope::Test, "iid.hits doubly_stochastic.hits", 2),
        (
            "in_head",
            Scope::Head,
            "layers.0.heads.0.in_head layers.0.heads.1.in_head",
            3,
        ),
        (
            "in_layer",
            Scope::Layer,
            "layers.0.in_layer layers.1.in_layer",
            2,
        ),
        (
            "in_group",
            Scope::Group,
            "embed.in_group embed.E.in_group",
            groups,
        ),
        ("at_lag", Scope::Lag, "at_lag.0 at_lag.1", 9),
        ("at", Scope::Position, "at.0 at.1", 9),
    ];
    let mut recipe = small(&[]);
    for (name, scope, ..) in scopes {
        recipe.record.custom_measures.push(numbered(name, scope));
    }
    let (history, ..) = recorded(&recipe, 2);
    for (name, scope, expected, count) in scopes {
        let own: Vec<(String, Option<f64>)> = history
            .last_row()
            .filter(|(column, _)| column.is_of(&Numbered(name, scope)))
            .map(|(column, value)| (column.to_string(), value))
            .collect();
        assert_eq!(own.len(), count, "{name}");
        // NaN is no value.
        let column = Column::new(&Numbered(name, scope), Of::Run);
        let start = history.column(column);
        assert!(scope != Scope::Run || start.unwrap()[0].is_nan());
        for (index, column) in expected.split(' ').enumerate() {
            assert_eq!(own[index], (column.to_owned(), Some(index as f64)));
        }
    }
}

#[test]
fn misuse_is_refused_by_field() {
    let refuse = |change: &dyn Fn(&mut Recipe), field: &str, word: &str| {
        let mut recipe = small(&[]);
        change(&mut recipe);
        // The names of strategies are not known before there are columns.
        let refused = recipe.check().err().or_else(|| columns(&recipe).err());
        let refused = refused.unwrap_or_else(|| panic!("{field} was accepted: {word}"));
        assert_eq!(refused.field, field, "{refused}");
        assert!(refused.to_string().contains(word), "{refused}");
    };
    let pairs = || says("pairs", count_pairs);
    let strategies = |made: &[Custom<dyn Strategy>], field: &str, word: &str| {
        let change = |recipe: &mut Recipe| recipe.record.custom_strategies = made.to_vec();
        refuse(&change, &format!("record.custom_strategies{field}"), word);
    };
    for name in [
        "bayes", "trigram", "7-gram", "oracle", "truth", "", "a,b", "a_all", "1st",
    ] {
        strategies(&[says(name, count_pairs)], "[0].name", name);
    }
    strategies(&[pairs(), pairs().with("again", 1.0)], "[1].name", "pairs");
    let no_number = pairs().with("rate", f64::NAN);
    strategies(&[no_number], "[0].settings.rate", "NaN");
    let other = pairs().part().unwrap().clone();
    strategies(&[Custom::new("triples", other)], "[0].name", "\"pairs\"");
    let change = |recipe: &mut Recipe| {
        recipe.task.states = 4;
        recipe.record.strategies.clear();
        recipe.record.custom_strategies = vec![pairs()];
    };
    refuse(
        &change,
        "record.custom_strategies[0].name",
        "task.states = 4",
    );

    for measures in [
        vec![numbered("kl_truth", Scope::Run)],
        vec![numbered("checksum", Scope::Run)],
        vec![numbered("kl_unigram", Scope::Run)],
        vec![numbered("norm", Scope::Run), numbered("norm", Scope::Head)],
    ] {
        let field = format!("record.custom_measures[{}].name", measures.len() - 1);
        let change = |recipe: &mut Recipe| recipe.record.custom_measures.clone_from(&measures);
        refuse(&change, &field, measures[0].name());
    }

    for (name, lr, moments, setting, field) in [
        ("own-sgd", -1.0, 1, 0.0, "lr"),
        ("own-sgd", 1.0, MAX_MOMENTS + 1, 0.0, "moments"),
        ("", 1.0, 1, 0.0, "name"),
        ("own-sgd", 1.0, 1, f64::NAN, "settings.setting"),
    ] {
        let change = |recipe: &mut Recipe| {
            let settings = [("setting", setting)];
            recipe.train.optimizer = OptimizerSpec::custom(name, OwnSgd { lr, moments }, &settings);
        };
        refuse(&change, &format!("train.optimizer.{field}"), "");
    }
}

#[test]
fn strategies_that_do_not_fit_into_memory_are_refused() {
    // Thousands of tables of many states.
    let text = "task = { states = 256, length = 4 }\nmodel = { kind = \"minimal\" }";
    let mut large = Recipe::from_toml(text, &["record.test_sequences=8".into()]).unwrap();
    large.task.prior = Dirichlet::default().into();
    large.record.strategies = vec!["bayes".into()];
    assert_eq!(large.check().unwrap_err().field, "record.strategies");
}

#[test]
fn a_recipe_read_from_text_takes_the_code_of_its_priors() {
    let part = |prior| MixturePart { weight: 1.0, prior };
    let of = Box::new(coins(0.0, NO_NUMBER));
    let (size, seed, weights) = (4, 0, PoolWeights::default());
    let pool = Pool {
        size,
        seed,
        weights,
        of,
    }
    .into();
    let parts = vec![part(coins(0.0, NO_NUMBER)), part(pool)];
    let recipe = of_coins(Mixture { parts }.into());
    let mut read = Recipe::from_toml(&recipe.to_toml(), &[]).unwrap();
    assert!(read.prior().is_err());
    let customs = read.custom_priors_mut();
    assert_eq!(customs.len(), 2);
    for custom in customs {
        let (share, otherwise) = (0.0, NO_NUMBER);
        custom.supply(Arc::new(Coins { share, otherwise }));
    }
    assert!(read.prior().is_ok());
}

/// Every symbol but the first follows the row of a table that its parent selects, the symbol halfway to the
/// start. Each sequence has a table of its own.
#[derive(Debug)]
struct Halves;

impl Task for Halves {
    fn states(&self) -> usize {
        3
    }

    fn check_length(&self, length: usize) -> Result<(), Invalid> {
        let allowed = length >= 4;
        let refused = || Invalid::new("length", length, "at least 4: two generations");
        allowed.then_some(()).ok_or_else(refused)
    }

    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence<'_>) {
        let rows = Rows::new(&Alpha::Scalar(0.3), 3).unwrap();
        let mut table = [[0.0; 3]; 3];
        table.iter_mut().for_each(|row| rows.draw(rng, row));
        sequence.draw(rng, &[1.0 / 3.0; 3]);
        for position in 1..sequence.len() {
            let parent = sequence.tokens()[position / 2];
            sequence.draw(rng, &table[usize::from(parent)]);
        }
    }

    fn ladder(&self) -> Vec<Arc<dyn Strategy>> {
        let unigram = Ngram::new(1, 3, &Alpha::Scalar(0.3)).unwrap();
        let children = Says("children", count_children);
        vec![
            Arc::new(Uniform::new(3)),
            Arc::new(unigram),
            Arc::new(children),
        ]
    }
}

/// The best there is: the rows that count, given the same parent.
fn count_children(tokens: &[u8], out: &mut [f64]) {
    let parent = tokens[tokens.len() / 2];
    out.fill(0.3);
    for child in (1..tokens.len()).filter(|child| tokens[child / 2] == parent) {
        out[usize::from(tokens[child])] += 1.0;
    }
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= total);
}

fn of_halves(setting: f64) -> Recipe {
    let mut recipe = small(&[
        "task.prior=dirichlet",
        "task.length=40",
        "train.steps=120",
        "record.test_sequences=100",
        "record.strategies=[]",
    ]);
    let halves = Custom::<dyn Task>::new("halves", Arc::new(Halves));
    recipe.task.source = halves.with("setting", setting).into();
    recipe.record.strategies = vec!["bigram".into()];
    recipe.train.stop = Some(Event {
        at: "children".into(),
        after: 0,
    });
    recipe
}

#[test]
fn a_task_is_trained_and_measured_like_chains() {
    let recipe = of_halves(1.0);
    assert_eq!(recipe.check(), Ok(()));
    let (history, summary, weights) = recorded(&recipe, 2);
    let (stopped, end) = interrupted(&recipe, &Arc::new(Instruments::new(&recipe).unwrap()), 7);
    assert_eq!(stopped, Ending::Stopped(7));
    assert_eq!((&end.history, &end.snapshots), (&history, &weights));

    // The truth is the best, then comes each strategy of the ladder in turn.
    let ladder = ["uniform", "unigram", "children"];
    assert_eq!(recipe.task.ladder(), ladder);
    let level = |name: &str| summary.level("in_distribution", name).unwrap();
    assert!(level("uniform") > level("unigram") && level("unigram") > level("children"));
    assert!(level("children") > 0.0 && level("bigram") > level("children"));
    let learned = history.column(&KL_TRUTH).unwrap();
    assert!(learned.iter().all(|kl| *kl > 0.0), "{learned:?}");
    assert!(learned[learned.len() - 1] < learned[0], "{learned:?}");
    assert!(history.last(KL_STRATEGY.of_strategy("children")).is_some());
    assert!(!summary.phases.is_empty());
    let of_ladder = |phase: &Phase| ladder.contains(&&*phase.strategy);
    assert!(summary.phases.iter().all(of_ladder), "{summary:?}");

    // A block has the sequences that are drawn one by one, and each follows its laws.
    let (task, stages) = (recipe.own_task().unwrap(), recipe.stages().unwrap());
    let (address, scratch) = (batch_address(&recipe, 3), &mut Scratch::default());
    let mut block = TokenBlock::new(41);
    task.draw_block(address, 8..13, scratch, &mut block)
        .unwrap();
    assert_eq!(block.used(), 5);
    for (lane, sample) in samples(&recipe, &stages, 3).skip(8).enumerate() {
        let sample = sample.unwrap();
        assert_eq!(block.lane(lane), sample.tokens);
        let laws = || (1..).zip(sample.rows.chunks_exact(3));
        for (child, law) in laws() {
            assert!(law[usize::from(sample.tokens[child])] > 0.0);
            let parent = |child: usize| sample.tokens[child / 2];
            let mut alike = laws().filter(|(other, _)| parent(*other) == parent(child));
            assert!(alike.all(|(_, other)| other == law));
        }
    }
}

/// A task that draws what it is told to.
#[derive(Debug)]
struct Script(&'static [[f64; 3]], u8);

impl Task for Script {
    fn states(&self) -> usize {
        3
    }

    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence<'_>) {
        for law in self.0 {
            sequence.draw(rng, law);
        }
        while sequence.tokens().len() + 2 < sequence.len() {
            sequence.write(0, &[1.0, 0.0, 0.0]);
        }
        sequence.write(self.1, &[0.0, 1.0, 0.0]);
    }

    fn ladder(&self) -> Vec<Arc<dyn Strategy>> {
        vec![Arc::new(Uniform::new(3))]
    }
}

#[test]
fn tasks_that_do_not_fit_are_refused_by_field() {
    let refuse = |change: &dyn Fn(&mut Recipe), field: &str, word: &str| {
        let mut recipe = of_halves(1.0);
        change(&mut recipe);
        let refused = recipe.check().unwrap_err();
        assert_eq!(refused.field, field, "{refused}");
        assert!(refused.to_string().contains(word), "{refused}");
    };
    let symmetric = |recipe: &mut Recipe| {
        recipe.task.prior = PriorSpec::from(Dirichlet {
            alpha: Alpha::Scalar(2.0),
        })
    };
    refuse(&symmetric, "task.prior", "task.source is \"halves\"");
    let start = |recipe: &mut Recipe| recipe.task.start = Start::Uniform {};
    refuse(&start, "task.start", "task.source is \"halves\"");
    refuse(
        &|recipe| recipe.task.length = 3,
        "task.length",
        "two generations",
    );
    let four = |recipe: &mut Recipe| recipe.task.states = 4;
    refuse(
        &four,
        "task.source.name",
        "task.states = 4 symbols; it has 3",
    );
    let bayes = |recipe: &mut Recipe| recipe.record.strategies = vec!["bayes".into()];
    refuse(&bayes, "record.strategies[0]", "prior over Markov chains");
    let again = |recipe: &mut Recipe| {
        let again = says("children", count_children);
        recipe.record.custom_strategies = vec![again];
    };
    refuse(
        &again,
        "record.custom_strategies[0].name",
        "no other strategy",
    );
    let refused = of_halves(1.0).prior().unwrap_err().to_string();
    assert!(refused.contains("task.source = \"halves\""), "{refused}");

    const THIRD: [f64; 3] = [1.0 / 3.0; 3];
    let scripts: [(&[[f64; 3]], u8, &str); 4] = [
        (
            &[THIRD, [f64::NAN, 0.5, 0.5]],
            1,
            "gave the law [NaN, 0.5, 0.5], which is NaN at symbol 0, at position 1",
        ),
        (&[THIRD], 1, "no symbol at position 40"),
        (&[THIRD; 41], 1, "a symbol too many at position 41"),
        (&[THIRD; 40], 3, "symbol 3 at position 40"),
    ];
    for (script, last, what) in scripts {
        let mut recipe = of_halves(1.0);
        let script = Custom::<dyn Task>::new("script", Arc::new(Script(script, last)));
        recipe.task.source = script.into();
        (recipe.train.stop, recipe.record.strategies) = (None, Vec::new());
        let refused = Instruments::new(&recipe).err().unwrap().to_string();
        let of_step = Trainer::new(&recipe).unwrap().advance().unwrap_err();
        for refused in [refused, of_step.to_string()] {
            assert!(
                refused.contains("task \"script\"") && refused.contains(what),
                "{refused}"
            );
        }
    }
}
