//! Recipes: defaults, overrides, and errors that name what is wrong.

use induct::chain::prior::{Dirichlet, Symmetric};
use induct::chain::{Alpha, PriorSpec};
use induct::model::{Heads, ModelSpec, Positions};
use induct::recipe::{Recipe, RecipeError, Schedule};
use induct::settings::schema;
use induct::train::{AdamW, Loss, OptimizerSpec};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toml::{Table, Value};

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
    for text in OF_EVERY_KIND {
        let recipe = read(text, &[]).unwrap();
        assert_eq!(read(&recipe.to_toml(), &[]), Ok(recipe));
    }
}

/// A kind alone is that kind with what it says are its defaults, unless something has to be set.
#[test]
fn every_kind_has_the_defaults_that_it_says() {
    let all = schema();
    for (place, kinds) in [
        ("model", all.model),
        ("task.source", all.source),
        ("task.prior", all.prior),
        ("train.optimizer", all.optimizer),
    ] {
        for kind in kinds {
            let written = |(key, default): (&str, &String)| format!(", {key} = {default}");
            let settings = kind.settings.iter();
            let defaults = settings.filter_map(|own| Some((own.key, own.default.as_ref()?)));
            let defaults: String = defaults.map(written).collect();
            let of = |more: &str| {
                read(
                    &format!("{place} = {{ kind = '{}'{more} }}", kind.kind),
                    &[],
                )
            };
            match of("") {
                Ok(plain) => assert_eq!(of(&defaults), Ok(plain)),
                Err(error) => assert!(error.contains(": missing; "), "{error}"),
            }
        }
    }
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
        OptimizerSpec::Adamw(AdamW { lr: 3e-5, .. })
    ));
    assert_eq!(recipe.train.loss, Loss::CrossEntropy {});
    assert_eq!(recipe.train.schedule, Schedule::Warmup { steps: 7 });
    let alpha = Alpha::Vector(vec![1.0, 2.0, 3.0]);
    assert_eq!(recipe.task.prior, PriorSpec::from(Dirichlet { alpha }));
}

#[test]
fn another_kind_leaves_the_old_one_s_settings_behind() {
    let text = "[task]\nprior = { kind = 'dirichlet', alpha = 2.0 }";
    let recipe = read(
        text,
        &["task.prior.kind=symmetric", "task.prior.epsilon=0.1"],
    )
    .unwrap();
    assert_eq!(
        recipe.task.prior,
        PriorSpec::from(Symmetric { epsilon: 0.1 })
    );
    let recipe = read(
        "[model]\nwidth = 8",
        &["model.kind=minimal", "model.start=bigram"],
    )
    .unwrap();
    assert!(matches!(recipe.model, ModelSpec::Minimal(_)));
}

/// Mistakes, each an override or several, and what must be said about it.
const MISTAKES: &str = r#"
task.stats=2 => task.stats: no such key; did you mean "states"? keys of task: states, ngram
nmae='x' => nmae: no such key; did you mean "name"? keys of a recipe: name, task
train.optimiser.lr=1 => did you mean "optimizer"?
train.bacth=1 => did you mean "batch"?
train.seed=1 => train.seed: no such key; keys of train: steps, batch
task.prior.aplha=1 => task.prior.aplha: no such key; did you mean "alpha"? | with kind = "dirichlet"
train.schedule.warmup=100 => train.schedule.warmup: no such key; keys of train.schedule with kind = "constant": kind
train.loss.delta=3.0 => train.loss.delta: no such key
model={kind='minimal', dropout=0.1} => model.dropout: no such key
task.prior={kind='pool', size=2, of={kind='pool', size=3, of={kind='iid', seed=1}}} => \
    task.prior.of.of.seed: no such key; keys of task.prior.of.of with kind = "iid": alpha, kind

train.optimizer={kind='sgd'} => train.optimizer.lr: missing; it takes a number
task.prior={kind='pool', of={kind='pool', size=3}, size=2} => \
    task.prior.of.of: missing; it takes one of "dirichlet" | or a table with one as its kind
task.prior={kind='mixture', parts=[{prior='iid'}]} => task.prior.parts[0].weight: missing; it takes a number
task.prior={kind='mixture', parts=[{weight=1}]} => task.prior.parts[0].prior: missing; it takes one of "dirichlet"
task.prior={kind='mixture', parts=[{weight=1, prior={}}]} => \
    task.prior.parts[0].prior.kind: missing; it takes one of "dirichlet"
intervene=[{kind='freeze'}] => intervene[0].group: missing; it takes text in quotes
train.stop={after=3} => train.stop.at: missing; it takes text in quotes

model.kind=rnn => model.kind = "rnn" is not allowed: one of "transformer", "minimal"
train.schedule=5 => train.schedule = 5 is not allowed: one of "constant", "warmup", "cosine", or a table with one as
train.schedule=['constant'] => train.schedule = ["constant"] is not allowed: one of "constant"
train.schedule=linear => train.schedule = "linear" is not allowed: one of "constant"
train.schedule.kind=linear => train.schedule.kind = "linear" is not allowed: one of "constant", "warmup", "cosine"
train.schedule.kind=3 => train.schedule.kind = 3 is not allowed: one of "constant"
task.start=even => task.start = "even" is not allowed: one of "stationary", "uniform"
intervene=[{kind='melt'}] => intervene[0].kind = "melt" is not allowed: one of "ablate"
intervene=[{kind='clamp', at='layers.0', pattern='sideways'}] => \
    intervene[0].pattern = "sideways" is not allowed: uniform, previous-token
intervene=[{kind='reset', group='v', step='soon'}] => intervene[0].step = "soon" is not allowed: a step, or an event
intervene=[{kind='freeze', group=1}] => intervene[0].group = 1 is not allowed: text in quotes
model.positions=sideways => model.positions = "sideways" is not allowed: one of "relative-key"
model.positions={kind='absolute'} => model.positions = { kind = "absolute" } is not allowed: one of "relative-key"
model.activation=tanh => model.activation = "tanh" is not allowed: one of "gelu", "relu", "gelu-exact"
model.mlp=true & model.mlp_ratio=0 => model.mlp_ratio = 0 is not allowed: a ratio from 1 to 64
model={blocks=['attention'], mlp_ratio=2} => model.mlp_ratio | leave it unset
model.init_std=lecun => model.init_std | a number, a table of numbers | "lecun-normal"
model={width=6, start={kind='bigram', sharpness=5.0}, tied=true} => model.start.kind | not tied

task.states=two => task.states = "two" is not allowed: a whole number, 0 or above
task.length=-5 => task.length = -5 is not allowed: a whole number, 0 or above
train.steps='x' => train.steps = "x" is not allowed: a whole number
model.width='16' => model.width = "16" is not allowed: a whole number
model.mlp=1 => model.mlp = 1 is not allowed: true or false
name=1979-05-27 => name = 1979-05-27 is not allowed: a recipe has no dates
name.x=1 => name = { x = 1 } is not allowed: text in quotes
seeds=[1, 2, 3] => seeds = [1, 2, 3] is not allowed: a table with the keys init, data, eval
train.optimizer.betas=[0.9, 0.9, 0.9] => train.optimizer.betas = [0.9, 0.9, 0.9] is not allowed: a list of 2
train.optimizer.betas=['x', 0.9] => train.optimizer.betas[0] = "x" is not allowed: a number
train.groups=[{name='v'}, {name='v', lr='fast'}] => train.groups[1].lr = "fast" is not allowed: a number
model.start={kind='bigram', sharpness=[]} => model.start.sharpness = [] is not allowed: a number
task.prior={kind='mixture', parts=[{weight=1, prior='iid'}, {weight=1, prior={kind='pool', size=2.5, of='iid'}}]} => \
    task.prior.parts[1].prior.size = 2.5 is not allowed: a whole number
train.curriculum=[{from=1, prior={kind='fixed', table=[[0.5, 0.5], [0.5, 'x']]}}] => \
    train.curriculum[0].prior.table[1][1] = "x" is not allowed: a number
task.prior.alpha=abc => task.prior.alpha = "abc" is not allowed: a number, or a list with one per state
model.heads=2.5 => model.heads = 2.5 is not allowed: a number of heads
model.init_std={W_Q='x'} => model.init_std | a number, a table of numbers such as
model.dropout={mlp=0.1} => model.dropout | embedding = 0.1, attention = 0.1, residual = 0.1, positions
model.positions=absolute & model.dropout={positions=0.1} => model.dropout.positions = 0.1 is not allowed: nothing but 0 | no attention

name='' => name = "" is not allowed | folder
name='/tmp/x' => name = "/tmp/x"
task.states=1 => task.states = 1 is not allowed: | from 2
task.length=0 => task.length = 0 is not allowed: | from 1
task.prior.alpha=0 => task.prior.alpha = 0 | above 0
task.prior.alpha=nan => task.prior.alpha = NaN
task.prior.alpha=1e300 => task.prior.alpha | 10000
task.prior={kind='fixed', table=[[0.5, 0.6], [0.5, 0.5]]} => task.prior.table[0] | sum to 1
task.prior={kind='fixed', table=[[nan, 0.6], [0.5, 0.5]]} => task.prior.table[0][0] = NaN | from 0 to 1
task.states=3 & task.prior={kind='interpolated', p=0.5} => task.prior.kind | interpolated | 2 states
model.heads=3 => model.heads = 3 | divides the width, 16
model.init_std=1e300 => model.init_std | 1000
model.init_std=-0.1 => model.init_std = -0.1 | from 0 to 1000
model.init_std={W_Q=-1.0} => model.init_std.W_Q = -1 | from 0 to 1000
model.init_std={W_O=0.01} => model.init_std.W_O = 0.01 | "default" | layers.1.W_V, layers.1.v, unembed.P
model.layer_norm=true & model.init_std.gain=0.5 => model.init_std.gain = 0.5 | drawn at random
model.init_std={W_Q=0.1, 'layers.0'=0.2} => model.init_std."layers.0" = 0.2 | layers.0.W_Q is in W_Q and in layers.0
model.dropout=1.0 => model.dropout = 1 is | at least 0 and below 1
model.dropout={residual=nan} => model.dropout.residual = NaN | at least 0 and below 1
model={width=6, start={kind='bigram', sharpness=5.0}, output_projection='always'} => model.start.kind | several-heads
model={kind='minimal', form='softmax', start='bigram'} => model.start.kind | linear
train.batch=0 => train.batch = 0
train.optimizer.lr=-1 => train.optimizer.lr = -1
train.optimizer.beta=1 => train.optimizer.beta: no such key; did you mean "betas"?
train.optimizer.decay=none => train.optimizer.decay = "none" is not allowed: one of "matrices", "all"
train.labels=truth => train.labels = "truth" is not allowed: one of "token", "law"
train.loss={kind='margin', delta=1.0} & train.labels=law => train.labels = "law" is not allowed | cross-entropy
train.positions=first => train.positions | "all", "last", or a table such as { from = 50, until = 100 }
train.positions={from=100} => train.positions.from = 100 is not allowed: a position from 0 to 99
train.positions={from=7, until=7} => train.positions.until = 7 is not allowed: from 8 to 100
train.positions={until=101} => train.positions.until = 101
train.clip=0 => train.clip = 0 is not allowed | a norm above 0
train.clip=nan => train.clip = NaN
train.loss={kind='margin', delta=0.0} => train.loss.delta = 0
train.schedule={kind='warmup', steps=9999} => train.schedule.steps | 4000
train.groups=[{name='W_X'}] => train.groups[0].name | W_X | layers.0.W_Q
train.curriculum=[{from=5, prior='iid'}, {from=5, prior='iid'}] => train.curriculum[1].from = 5 | later
train.stop={at='trigram'} => train.stop.at = "trigram" | uniform, unigram, bigram
train.stop={at='bigram'} & record.measures=[] => record.measures = [] | kl_strategy | train.stop
record.snapshots=0 => record.snapshots = 0
record.every=0 => record.every = 0
record.test_sequences=0 => record.test_sequences = 0
intervene=[{kind='freeze', group='v', from=9, until=9}] => intervene[0].until = 9

train.batch=1000000 & model.width=256 & model.mlp=true => train.batch = 1000000 | GiB | gradients of a batch
train.batch=1048576 & task.length=8000 => train.batch = 1048576 | GiB | 4 are allowed | train.memory_limit
train.batch=1048576 & task.length=8000 & model.kind=minimal => GiB | 4 are allowed | smaller
task.states=4 & task.ngram=6 & task.prior={kind='pool', size=1000000, of='dirichlet'} => \
    task.prior = these pools | GiB | pools of chains
task.states=4 & task.ngram=6 & train.curriculum=[{from=1, prior={kind='mixture', \
    parts=[{weight=1, prior={kind='pool', size=1000000, of='dirichlet'}}]}}] => GiB | pools of chains
model.width=4096 & model.layers=64 & model.mlp=true => GiB | 4 are allowed
record.test_sequences=1000000 & task.length=4000 => record.test_sequences = 1000000 | GiB
train.memory_limit=0.001 => GiB | 0.001 are allowed
train.memory_limit=nan => train.memory_limit = NaN | above 0
model.layers=9223372036854775807 & model.start.kind=bigram & model.start.sharpness=1 => \
    model.layers = 9223372036854775807 | from 1 to 64
task.states=9223372036854775807 => task.states = 9223372036854775807 | from 2 to 256
task.ngram=9223372036854775807 => task.ngram = 9223372036854775807 | 1024 contexts

record.measures=['kl_truth', 'entropie'] => record.measures[1] = "entropie" | one of step | entropy
record.measures=['entropy', 'entropy'] => record.measures[1] = "entropy" | each measure once
record.tests=[{name='a', prior='iid'}, {name='a', prior='iid'}] => record.tests[1].name = "a" | no other test set
record.tests=[{name='in_distribution', prior='iid'}] => record.tests[0].name = "in_distribution"
record.tests=[{name='a.b', prior='iid'}] => record.tests[0].name = "a.b"
record.tests=[{name='', prior='iid'}] => record.tests[0].name = ""
record.tests=[{name='fresh', prior='iid', length=101}] => record.tests[0].length = 101
record.tests=[{name='fresh', prior='iid', length=0}] => record.tests[0].length = 0
record.custom_measures=[{name='', scope='run'}] => record.custom_measures[0].name = ""
record.custom_measures=[{name='a,b', scope='run'}] => record.custom_measures[0].name = "a,b"
record.custom_measures=[{name='2nd', scope='run'}] => record.custom_measures[0].name = "2nd"
record.custom_measures=[{name='kl_truth', scope='run'}] => record.custom_measures[0].name = "kl_truth"
record.custom_measures=[{name='checksum', scope='run'}] => record.custom_measures[0].name = "checksum"
record.custom_measures=[{name='x', scope='run', range=[1, 0]}] => record.custom_measures[0].range = [1, 0]
record.strategies=['bayse'] => record.strategies[0] = "bayse" | one of uniform
record.strategies=['bayes', 'bayes'] => record.strategies[1] = "bayes" | once
record.strategies=['bigram'] => record.strategies[0] = "bigram" | uniform, unigram, bigram
record.strategies=['oracle'] => record.strategies[0] = "oracle" | one of uniform
record.strategies=['40-gram'] => record.strategies[0] = "40-gram" | 1024 contexts
task.states=4 & record.strategies=['unigram-and-current'] => record.strategies[0] | 4 states and ngram 2 | dirichlet
task.states=3 & task.ngram=3 & record.strategies=['unigram-and-current'] => record.strategies[0] | 3 states and ngram 3
task.states=3 & task.prior.alpha=[0.5, 1.0, 1.0] & record.strategies=['unigram-and-current'] => [0.5, 1.0, 1.0]
task.states=3 & task.prior=doubly-stochastic & record.strategies=['unigram-and-current'] => another prior

task.source=graph => task.source = "graph" is not allowed: one of "chains", "causal-graph", "custom"
task.source={kind='causal-graph', lag=1} => task.source.lag: no such key; keys of task.source with kind = "causal-graph": parents
task.source={kind='causal-graph', parents=[0]} => task.source.parents = 1 positions | all 100 positions after the first
task.length=3 & task.source={kind='causal-graph', parents=[0, 1, 3]} => task.source.parents[2] = 3 | from 0 to 2
task.source={kind='causal-graph', alpha=0} => task.source.alpha = 0 | above 0
task.source=causal-graph & task.prior=iid => task.prior = { | iid | leave it unset
task.source=causal-graph & task.start=uniform => task.start = { kind = "uniform" } | leave it unset
task.source=causal-graph & record.strategies=['bayes'] => record.strategies[0] = "bayes" | prior over Markov chains
task.source={kind='custom', name='mine', ladder=[]} => task.source.ladder = [] | at least one
task.source={kind='custom', name='mine', ladder=['uniform', 'truth']} => task.source.ladder = ["uniform", "truth"]
task.ngram=1 => task.ngram = 1
task.ngram=40 => task.ngram = 40
task.prior.alpha=[1.0] => task.prior.alpha = [1.0] | 2 of them
task.prior={kind='fixed', table=[[0.5, 0.5]]} => task.prior.table = 1 rows | 2 rows
task.prior={kind='fixed', table=[[0.5, 0.5], [0.5]]} => task.prior.table[1] = 1 entries
task.prior={kind='fixed', table=[[1, 0], [0, 1]]} => task.prior.table | 2 closed classes
task.prior={kind='interpolated', p=1.5} => task.prior.p = 1.5
task.prior={kind='mixture', parts=[]} => task.prior.parts = []
task.prior={kind='mixture', parts=[{weight=0, prior='iid'}]} => task.prior.parts[0].weight = 0
task.prior={kind='mixture', parts=[{weight=1, prior={kind='symmetric', epsilon=2}}]} => \
    task.prior.parts[0].prior.epsilon = 2
task.prior={kind='pool', size=0, of='iid'} => task.prior.size = 0
task.prior={kind='pool', size=3, of='iid', weights='even'} => task.prior.weights = "even" | "uniform", "random", "zipf"
task.prior={kind='pool', size=3, of='iid', weights={kind='zipf', exponent=-1}} => \
    task.prior.weights.exponent = -1 is not allowed: a number from 0 to 100
task.prior={kind='pool', size=3, of={kind='iid', alpha=-1}} => task.prior.of.alpha = -1
model.heads=0 => model.heads = 0
model.heads=[1] => model.heads = [1]
model.layers=0 => model.layers = 0
model.width=0 => model.width = 0
model={width=4, start={kind='bigram', sharpness=5.0}} => model.start.kind = "bigram"

steps => steps: expected | key.path=value
train.steps=[1 => train.steps=[1: the value is neither TOML
task..states=2 => a part of the key is empty
train.steps.x=1 & train.steps.x.y=1 => x is not a table
"#;

#[test]
fn mistakes_are_named_with_what_is_allowed() {
    let mut wrong = String::new();
    let mistakes = MISTAKES.replace("\\\n", "");
    for mistake in mistakes.lines().filter(|line| !line.is_empty()) {
        let (overrides, expected) = mistake.split_once(" => ").unwrap();
        let overrides: Vec<&str> = overrides.split(" & ").collect();
        let error = read("", &overrides).expect_err(mistake);
        if !expected
            .split(" | ")
            .all(|part| error.contains(part.trim()))
        {
            wrong += &format!("{mistake}\n    {error}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn texts_that_are_not_toml_are_refused_with_the_line() {
    for (text, expected) in [
        ("task.states = 2\n[model\n", "line 2"),
        (
            "train.steps = 9223372036854775808",
            "9223372036854775808 is too large: whole numbers end at 9223372036854775807",
        ),
        (
            "train.steps = 0xffffffffffffffffffff",
            "0xffffffffffffffffffff is too large",
        ),
    ] {
        let error = read(text, &[]).unwrap_err();
        assert!(
            error.contains("not valid TOML") && error.contains(expected),
            "{error}"
        );
    }
}

/// One recipe of every kind, so that together they have all keys.
const OF_EVERY_KIND: [&str; 20] = [
    "",
    "name = 'x'\nmodel = { kind = 'minimal', form = 'linear', \
     start = { kind = 'constant', w = 0.0, v = 0.1 } }",
    "model = { kind = 'transformer', layers = 2, heads = [1, 1], width = 16, positions = 'relative-key', \
     mlp = false, \
     layer_norm = false, init_std = 0.1, start = { kind = 'bigram', sharpness = 5.0, output_scale = 2.0 } }",
    "task.start = 'uniform'\n\
     model = { output_projection = 'always', activation = 'relu', mlp = true, \
     init_std = { default = 0.02, W_O = 0.01, unembed = 0.1 }, dropout = 0.1 }",
    "model = { dropout = { embedding = 0.1, attention = 0.2, residual = 0.3, positions = 0.4 } }",
    "train.loss = { kind = 'margin', delta = 1.0 }\ntask = { states = 2, ngram = 2, length = 9 }",
    "train.optimizer = { kind = 'sgd', lr = 0.1, momentum = 0.1, weight_decay = 0.1 }\n\
     model.start = 'random'",
    "train.optimizer = { kind = 'adamw', lr = 0.1, betas = [0.1, 0.2], epsilon = 1e-8, weight_decay = 0.1, \
     decay = 'all' }\ntrain.clip = 1.0\ntrain.labels = 'law'\ntrain.positions = 'last'",
    "train.positions = { from = 1, until = 3 }\n\
     task.prior = { kind = 'pool', size = 2, of = 'iid', weights = { kind = 'zipf', exponent = 1.5 } }\n\
     model = { mlp = true, mlp_ratio = 2, activation = 'gelu-exact', biases = true, tied = true, \
     init_std = 'lecun-normal' }",
    "train.schedule = { kind = 'cosine', warmup = 3, floor = 0.1 }\ntrain.steps = 9\ntrain.batch = 3",
    "train.schedule = { kind = 'warmup', steps = 3 }\nseeds = { init = 1, data = 2, eval = 3 }",
    "train.groups = [{ name = 'v', lr = 0.1, weight_decay = 0.1 }]\n\
     intervene = [{ kind = 'freeze', group = 'v', from = 1, until = 2 }, \
     { kind = 'ablate', at = 'layers.0.heads.0', to = 'logits', with = 'mean', until = { at = 'bigram' } }, \
     { kind = 'clamp', at = 'layers.0', pattern = { own = 3 } }, \
     { kind = 'patch', at = 'layers.0.mlp_out', with = 'resample', from = 4 }, \
     { kind = 'rate', group = 'W_K', lr = 0.1 }, { kind = 'reset', group = 'W_V', step = 5 }, \
     { kind = 'transplant', group = 'embed', source = { own = 3 }, fraction = 0.5 }]\nmodel.mlp = true\n\
     train.curriculum = [{ from = 1, prior = { kind = 'dirichlet', alpha = 1.0 } }]\n\
     train.stop = { at = 'unigram', after = 3 }",
    "record = { every = 1, snapshots = 2, spacing = 'linear', test_sequences = 5 }\n\
     task.prior = { kind = 'pool', size = 2, seed = 1, of = { kind = 'iid', alpha = [1.0, 1.0] } }",
    "task.prior = { kind = 'mixture', parts = [{ weight = 1.0, prior = { kind = 'interpolated', p = 0.5 } }, \
     { weight = 1.0, prior = { kind = 'symmetric', epsilon = 0.5 } }, \
     { weight = 1.0, prior = { kind = 'pool', size = 2, of = { kind = 'doubly-stochastic' } } }] }",
    "task.prior = { kind = 'fixed', table = [[0.5, 0.5], [0.5, 0.5]] }",
    "task.ngram = 3\nmodel = { heads = [3, 1], width = 12 }\nrecord.spacing = 'logarithmic'\n\
     intervene = [{ kind = 'clamp', at = 'layers.0.heads.1', pattern = 'lag:3' }, \
     { kind = 'transplant', group = 'layers.1', source = { run = 'runs/main', step = 9, weights = '01' } }]",
    "train.optimizer = { kind = 'custom', name = 'lion', settings = { lr = 0.1 } }",
    "task = { length = 3, source = { kind = 'causal-graph', parents = [0, 0, 2], seed = 1, alpha = 1.0 } }",
    "task.source = { kind = 'custom', name = 'mine', ladder = ['uniform', 'own'], settings = { x = 1.0 } }",
    "record.custom_measures = [{ name = 'norm', scope = 'run', meaning = 'm', unit = 'u', range = [0, 1], \
     settings = { power = 2.0 } }, { name = 'flow', scope = 'head', range = [0, inf] }]",
];

/// All paths to a value, as written in a recipe.
fn ways(value: &Value, prefix: &str, all: &mut Vec<String>) {
    let mut visit = |part: String, inner: &Value| {
        all.push(part.clone());
        ways(inner, &part, all);
    };
    match value {
        Value::Table(table) => {
            let dot = if prefix.is_empty() { "" } else { "." };
            table
                .iter()
                .for_each(|(key, inner)| visit(format!("{prefix}{dot}{key}"), inner));
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, inner)| visit(format!("{prefix}[{index}]"), inner)),
        _ => {}
    }
}

/// The place that a written path leads to.
fn place<'a>(root: &'a mut Table, way: &str) -> &'a mut Value {
    let mut parts = way.split(['.', '[']).map(|part| part.trim_end_matches(']'));
    let first = parts.next().expect("a key");
    let place = root.get_mut(first).expect("the key");
    parts.fold(place, |place, part| match part.parse::<usize>() {
        Ok(index) => place.get_mut(index).expect("the entry"),
        Err(_) => place.get_mut(part).expect("the key"),
    })
}

/// Words from the code, which mean nothing to the author of a recipe.
const CODE_WORDS: &str = "serde enum tagged variant usize u64 i64 f64 u8 u32 map sequence, expected invalid \
                          identifier Some(";

/// Settings that were added later are written only if they are set: the text of older recipes, and with it the
/// identity of their runs, stays what it was.
#[test]
fn defaults_of_later_settings_are_not_written() {
    let spelled_out = "task.start = 'stationary'\ntask.source = 'chains'\nmodel = { output_projection = 'several-heads', \
                       activation = 'gelu', init_std = 0.02, dropout = 0.0 }";
    let (unset, set) = (read("", &[]).unwrap(), read(spelled_out, &[]).unwrap());
    assert_eq!(set.to_toml(), unset.to_toml());
    for key in [
        "start = \"",
        "task.start",
        "source",
        "output_projection",
        "activation",
        "dropout",
        "stop",
    ] {
        assert!(!unset.to_toml().contains(key), "{key}");
    }
    assert!(unset.to_toml().contains("init_std = 0.02\n"));
}

#[test]
fn no_wrong_value_gets_an_answer_in_code() {
    let wrong = "wrong = [\"a\\nb\", -1, 9223372036854775807, 2.5, nan, true, 1979-05-27, [], [1, 'x'], {}, \
                 { x = 1 }, { kind = 'x' }, { kind = [] }]";
    let wrong: Table = wrong.parse().unwrap();
    let defaults = read("", &[]).unwrap().to_toml();
    let mut refused = 0;
    for text in OF_EVERY_KIND.into_iter().chain([defaults.as_str()]) {
        let sound: Table = text.parse().unwrap();
        let mut all = Vec::new();
        ways(&Value::Table(sound.clone()), "", &mut all);
        for way in &all {
            for value in wrong["wrong"].as_array().unwrap() {
                let mut changed = sound.clone();
                *place(&mut changed, way) = value.clone();
                let Err(error) = read(&changed.to_string(), &[]) else {
                    continue;
                };
                refused += 1;
                for word in CODE_WORDS.split_whitespace() {
                    assert!(!error.contains(word), "{way} = {value}: {error}");
                }
                let names_value = error.contains(" is not allowed: ");
                let about_keys = error.contains(": no such key; ") || error.contains(": missing; ");
                assert!(names_value || about_keys, "{way} = {value}: {error}");
                // The setting itself, one around it or one inside it.
                let field = error.split([' ', ':']).next().unwrap();
                let related = way.starts_with(field) || field.starts_with(way.as_str());
                // Or two settings that do not fit together, each fine by itself.
                let apart = ["model.start.kind = ", "intervene["];
                let apart = apart.iter().any(|start| error.starts_with(start));
                assert!(related || apart, "{way} = {value}: {error}");
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn no_depth_overflows_the_stack() {
    for count in [33, 32_500, 1_000_000] {
        let key = "a.".repeat(count) + "a";
        let lists = "[".repeat(count);
        let tables = "{a=".repeat(count) + "1" + &"}".repeat(count);
        for (text, set) in [
            (String::new(), Some(format!("{key}=1"))),
            (String::new(), Some(format!("task.prior={lists}"))),
            (String::new(), Some(format!("task.prior={tables}"))),
            (String::new(), Some(format!("task={{{key} = 1}}"))),
            (format!("{key} = 1"), None),
            (format!("[{key}]\nx = 1"), None),
            (format!("[[{key}]]\nx = 1"), None),
            (format!("x = {lists}"), None),
            (format!("x = {lists}{}", "]".repeat(count)), None),
            (format!("x = {tables}"), None),
            (format!("x = {{ {key} = 1 }}"), None),
            (format!("x = \"\" {lists}"), None),
        ] {
            let error = Recipe::from_toml(&text, set.as_slice()).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("32") && error.len() < 400, "{error}");
        }
    }
    // Each of these is shallow enough, but nested in one another they are not.
    let part = "a.".repeat(30);
    let nested = format!("{}1{}", format!("{{{part}a=").repeat(30), "}".repeat(30));
    assert_eq!(
        Recipe::from_toml(&format!("x = {nested}"), &[]),
        Err(RecipeError::TooDeep)
    );
    let unfinished = format!("x = {}1", format!("{{{part}a=\n").repeat(30));
    assert!(Recipe::from_toml(&unfinished, &[]).is_err());
    let steps =
        (1..4).map(|depth| format!("{}a={{{}a=1}}", "a.".repeat(8 * depth), "a.".repeat(8)));
    let error = Recipe::from_toml("", &steps.collect::<Vec<_>>()).unwrap_err();
    assert_eq!(error, RecipeError::TooDeep);
}

#[test]
fn only_what_nests_counts_as_depth() {
    for text in [
        format!("name = 'x' # {}", "[a.".repeat(100)),
        format!("from.run = \"\\\"{}\"\nfrom.step = 1", "[a.".repeat(100)),
        format!("from.run = '{}'\nfrom.step = 1", "{a.".repeat(100)),
        format!("record.strategies = [{}]", "'bayes', ".repeat(100)),
    ] {
        let error = read(&text, &[]).err().unwrap_or_default();
        assert!(!error.contains("32"), "{error}");
    }
}

#[test]
fn many_layers_do_not_overflow() {
    // Coordinates double with every layer, heads with every width: neither may be
    // counted beyond what is needed.
    for overrides in [
        &["model.layers=64", "model.width=4096", "model.heads=4096"][..],
        &["model.layers=64", "model.width=1"],
        &["model.layers=64", "model.width=64"],
    ] {
        let _ = read("task.length = 65536", overrides);
        let _ = read("task.length = 1", overrides);
    }
}

/// Punctuation of recipes, and a little of what it surrounds.
const MARKS: &[&str] = &["=", ".", "[", "]", "{", "}", ",", "\n", "'", "1", "-", "#"];

/// Keys and values, some of which belong together.
fn word() -> impl Strategy<Value = &'static str> {
    let words = "name task states ngram length prior model kind layers heads width start train steps batch loss \
                 optimizer lr betas schedule groups intervene until pattern fraction curriculum stop at from seeds \
                 record of size parts weight alpha table pool mixture dirichlet iid minimal bigram sgd custom \
                 settings custom_measures scope cosine x";
    select(words.split(' ').collect::<Vec<_>>())
}

fn some_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        (-3_i64..40).prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Float),
        (0.0..1.0).prop_map(Value::Float),
        any::<bool>().prop_map(Value::Boolean),
        vec(any::<char>(), 0..6).prop_map(|text| Value::String(text.into_iter().collect())),
        word().prop_map(|word| Value::String(word.to_owned())),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((word(), inner), 0..5).prop_map(|entries| {
                let entries = entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Table(entries.collect())
            }),
        ]
    })
}

/// What is read must read back as the same; what is refused must be refused in words.
fn reads_or_refuses(text: &str, overrides: &[String]) {
    match Recipe::from_toml(text, overrides) {
        Ok(recipe) => assert_eq!(Recipe::from_toml(&recipe.to_toml(), &[]), Ok(recipe)),
        Err(error) => {
            let error = error.to_string();
            let words = [
                "serde", "enum ", "struct ", "tagged", "variant", "usize", "u64", "f64",
            ];
            assert!(!words.iter().any(|word| error.contains(word)), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(12),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_a_recipe_or_an_error(text: Vec<char>, set: Vec<char>) {
        let text: String = text.into_iter().collect();
        reads_or_refuses(&text, &[]);
        reads_or_refuses("", &[set.into_iter().collect()]);
    }

    #[test]
    fn any_words_and_signs_are_a_recipe_or_an_error(
        parts in vec(prop_oneof![word(), select(MARKS)], 0..40)
    ) {
        reads_or_refuses(&parts.concat(), &[]);
        reads_or_refuses("", &[parts.concat()]);
    }

    #[test]
    fn any_table_is_a_recipe_or_an_error(value in some_value()) {
        reads_or_refuses(&format!("task = {value}"), &[]);
        reads_or_refuses(&format!("model = {value}"), &[]);
        reads_or_refuses(&format!("train = {value}"), &[]);
        reads_or_refuses(&format!("task.prior = {value}"), &[]);
    }

    #[test]
    fn any_change_of_a_recipe_is_a_recipe_or_an_error(
        kind in 0..OF_EVERY_KIND.len(),
        changes in vec((any::<Index>(), some_value(), any::<bool>(), word()), 1..4),
    ) {
        let mut table: Table = read(OF_EVERY_KIND[kind], &[]).unwrap().to_toml().parse().unwrap();
        for (index, value, adds, key) in changes {
            let mut all = Vec::new();
            ways(&Value::Table(table.clone()), "", &mut all);
            let place = place(&mut table, &all[index.index(all.len())]);
            match place {
                Value::Table(inner) if adds => {
                    inner.insert(key.to_owned(), value);
                }
                Value::Array(items) if adds => items.push(value),
                _ => *place = value,
            }
        }
        reads_or_refuses(&table.to_string(), &[]);
    }
}
