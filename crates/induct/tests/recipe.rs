//! Recipes: defaults, overrides, and errors that name what is wrong.

use induct::chain::{Alpha, PriorSpec};
use induct::model::{Heads, ModelSpec, Positions};
use induct::train::{Loss, OptimizerSpec, Recipe, Schedule, Spacing};

fn read(text: &str, overrides: &[&str]) -> Result<Recipe, String> {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    Recipe::from_toml(text, &overrides).map_err(|error| error.to_string())
}

#[test]
fn an_empty_recipe_is_the_main_setting() {
    let recipe = read("", &[]).unwrap();
    assert_eq!(recipe, Recipe::default());
    assert_eq!((recipe.task.states, recipe.task.length), (2, 100));
    assert_eq!((recipe.train.batch, recipe.train.steps), (64, 4000));
    assert_eq!((recipe.record.every, recipe.record.snapshots), (20, 200));
}

#[test]
fn every_setting_can_be_written_and_read_again() {
    let text = r#"
        name = "everything"
        [task]
        states = 3
        ngram = 3
        length = 20
        prior = { kind = "mixture", parts = [
            { weight = 1.0, prior = { kind = "dirichlet", alpha = [0.5, 1.0, 2.0] } },
            { weight = 2.0, prior = { kind = "pool", size = 3, of = { kind = "iid" } } },
        ] }
        [model]
        layers = 2
        heads = [3, 1]
        width = 12
        positions = "relative-query"
        mlp = true
        layer_norm = true
        [train]
        loss = { kind = "margin", delta = 2.0 }
        optimizer = { kind = "sgd", lr = 0.1, momentum = 0.9 }
        schedule = { kind = "cosine", warmup = 10, floor = 0.1 }
        groups = [{ name = "layers.0.v", lr = 0.5 }]
        freeze = [{ group = "unembed", from = 5, until = 10 }]
        curriculum = [{ from = 50, prior = { kind = "doubly-stochastic" } }]
        [seeds]
        init = 1
        data = 2
        eval = 3
        [record]
        spacing = "logarithmic"
    "#;
    let recipe = read(text, &[]).unwrap();
    assert_eq!(recipe.record.spacing, Spacing::Logarithmic);
    assert_eq!(read(&recipe.to_toml(), &[]).unwrap(), recipe);
}

#[test]
fn overrides_reach_every_depth() {
    let recipe = read(
        "[train]\noptimizer = \"adamw\"",
        &[
            "task.states=3",
            "model.heads=[4, 2]",
            "model.positions=absolute",
            "train.optimizer.lr=3e-5",
            "train.loss=cross-entropy",
            "train.schedule.kind=warmup",
            "train.schedule.steps=7",
            "task.prior.alpha=[1.0, 2.0, 3.0]",
        ],
    )
    .unwrap();
    assert_eq!(recipe.task.states, 3);
    let ModelSpec::Transformer(model) = &recipe.model else {
        panic!("{:?}", recipe.model);
    };
    assert_eq!(model.heads, Heads::PerLayer(vec![4, 2]));
    assert_eq!(model.positions, Positions::Absolute);
    assert!(matches!(
        recipe.train.optimizer,
        OptimizerSpec::Adamw { lr: 3e-5, .. }
    ));
    assert_eq!(recipe.train.loss, Loss::CrossEntropy {});
    assert_eq!(recipe.train.schedule, Schedule::Warmup { steps: 7 });
    let alpha = Alpha::Vector(vec![1.0, 2.0, 3.0]);
    assert_eq!(recipe.task.prior, PriorSpec::Dirichlet { alpha });
}

#[test]
fn another_kind_leaves_the_old_one_s_settings_behind() {
    let text = "[task]\nprior = { kind = 'dirichlet', alpha = 2.0 }";
    let recipe = read(
        text,
        &["task.prior.kind=symmetric", "task.prior.epsilon=0.1"],
    )
    .unwrap();
    assert_eq!(recipe.task.prior, PriorSpec::Symmetric { epsilon: 0.1 });
    let recipe = read(
        "[model]\nwidth = 8",
        &["model.kind=minimal", "model.start=bigram"],
    )
    .unwrap();
    assert!(matches!(recipe.model, ModelSpec::Minimal(_)));
}

#[test]
fn mistakes_are_named_with_what_is_allowed() {
    for (text, overrides, expected) in [
        (
            "[task]\nstats = 2",
            &[][..],
            &["task", "`stats`", "`states`"][..],
        ),
        ("nmae = 'x'", &[], &["`nmae`", "`name`"]),
        ("[model]\nwidht = 3", &[], &["model", "`widht`", "`width`"]),
        (
            "[model]\nkind = 'rnn'",
            &[],
            &["model", "`rnn`", "`transformer`", "`minimal`"],
        ),
        ("[task\n", &[], &["not valid TOML", "line 1"]),
        (
            "",
            &["task.prior.kind=beta"],
            &["task.prior", "`beta`", "`dirichlet`"],
        ),
        ("", &["task.prior.aplha=1"], &["task.prior", "`aplha`"]),
        ("", &["task.states=1"], &["task.states = 1", "from 2"]),
        ("", &["task.states=two"], &["task.states", "\"two\""]),
        ("", &["task.length=0"], &["task.length = 0", "from 1"]),
        ("", &["task.length=-5"], &["task.length", "-5"]),
        (
            "",
            &["task.prior.alpha=0"],
            &["task.prior.alpha = 0", "above 0"],
        ),
        ("", &["task.prior.alpha=nan"], &["task.prior.alpha = NaN"]),
        (
            "",
            &["task.prior={kind='fixed', table=[[0.5, 0.6], [0.5, 0.5]]}"],
            &["task.prior.table[0]", "sum to 1"],
        ),
        (
            "",
            &["task.prior={kind='fixed', table=[[nan, 0.6], [0.5, 0.5]]}"],
            &["task.prior.table[0][0] = NaN", "from 0 to 1"],
        ),
        (
            "",
            &["task.states=3", "task.prior={kind='interpolated', p=0.5}"],
            &["task.prior.kind", "interpolated", "2 states"],
        ),
        (
            "",
            &["model.heads=3"],
            &["model.heads = 3", "divides the width, 16"],
        ),
        (
            "",
            &["model.heads=2.5"],
            &["model.heads = 2.5", "a number of heads"],
        ),
        (
            "",
            &["model.width='16'"],
            &["model.width = \"16\"", "expected usize"],
        ),
        (
            "",
            &["task.prior.alpha=abc"],
            &["task.prior.alpha = \"abc\"", "one a state"],
        ),
        (
            "",
            &["task.prior.alpha=1e300"],
            &["task.prior.alpha", "10000"],
        ),
        (
            "",
            &["train.schedule.warmup=100"],
            &["train.schedule", "`warmup`"],
        ),
        ("", &["train.loss.delta=3.0"], &["train.loss", "`delta`"]),
        ("", &["name=''"], &["name = \"\"", "folder"]),
        ("", &["name='/tmp/x'"], &["name = \"/tmp/x\""]),
        ("", &["model.init_std=1e300"], &["model.init_std", "1000"]),
        ("", &["record.snapshots=0"], &["record.snapshots = 0"]),
        (
            "",
            &["train.freeze=[{group='v', from=9, until=9}]"],
            &["train.freeze[0].until = 9"],
        ),
        (
            "",
            &["model={kind='minimal', form='softmax', start='bigram'}"],
            &["model.start.kind", "linear"],
        ),
        (
            "",
            &["train.batch=1000000", "model.width=256"],
            &["train.batch = 1000000", "GiB"],
        ),
        (
            "",
            &["record.test_sequences=1000000", "task.length=4000"],
            &["record.test_sequences = 1000000", "GiB"],
        ),
        ("", &["train.batch=0"], &["train.batch = 0"]),
        ("", &["train.optimizer.lr=-1"], &["train.optimizer.lr = -1"]),
        (
            "",
            &["train.optimizer.beta=1"],
            &["train.optimizer", "`beta`", "`betas`"],
        ),
        (
            "",
            &["train.loss={kind='margin', delta=0.0}"],
            &["train.loss.delta = 0"],
        ),
        (
            "",
            &["train.schedule={kind='warmup', steps=9999}"],
            &["train.schedule.steps", "4000"],
        ),
        (
            "",
            &["train.groups=[{name='W_X'}]"],
            &["train.groups[0].name", "W_X", "layers.0.W_Q"],
        ),
        (
            "",
            &["train.curriculum=[{from=5, prior='iid'}, {from=5, prior='iid'}]"],
            &["train.curriculum[1].from = 5", "later"],
        ),
        ("", &["record.every=0"], &["record.every = 0"]),
        (
            "",
            &["record.test_sequences=0"],
            &["record.test_sequences = 0"],
        ),
        ("", &["steps"], &["--set steps", "key.path=value"]),
        ("", &["train.steps=[1"], &["--set train.steps=[1"]),
        ("", &["name.x=1"], &["name"]),
    ] {
        let error = read(text, overrides).expect_err(&format!("{text} {overrides:?}"));
        for part in expected {
            assert!(error.contains(part), "{text} {overrides:?}: {error}");
        }
    }
}
