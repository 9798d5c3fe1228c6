//! Measures from outside the crate.

use std::sync::Arc;

use induct::measure::{
    AttentionOn, Column, Context, CustomMeasure, INDUCTION, Measure, Observation, Of, REGISTRY,
    Scope,
};
use induct::probe::{Instruments, columns};
use induct::run::{Recorder, Recording};
use induct::train::Recipe;

/// Euclidean norm of all parameters.
#[derive(Debug)]
struct Norm;

fn norm(params: &[f32]) -> f64 {
    let squares = params.iter().map(|&w| f64::from(w) * f64::from(w));
    squares.sum::<f64>().sqrt()
}

impl Measure for Norm {
    fn name(&self) -> &str {
        "norm"
    }

    fn meaning(&self) -> &str {
        "Euclidean norm of all parameters"
    }

    fn read(&self, seen: &Observation, _: &[Column], values: &mut [f64]) {
        values[0] = norm(seen.params());
    }
}

/// The number of the column, whatever it is measured on.
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

    fn read(&self, _: &Observation, columns: &[Column], values: &mut [f64]) {
        assert!(columns.iter().all(|column| column.is_of(self)));
        for (index, value) in values.iter_mut().enumerate() {
            *value = index as f64;
        }
    }
}

fn recipe(measures: impl IntoIterator<Item = CustomMeasure>) -> Recipe {
    let overrides = [
        "task.states=3",
        "task.length=9",
        "model.heads=[2, 1]",
        "train.steps=20",
        "train.batch=16",
        "record.every=10",
        "record.snapshots=3",
        "record.test_sequences=21",
    ];
    let mut recipe = Recipe::from_toml("", &overrides.map(String::from)).unwrap();
    recipe.record.custom_measures.extend(measures);
    recipe
}

fn train(recipe: &Recipe) -> Recording {
    Recorder::record(recipe, Arc::new(Instruments::new(recipe).unwrap())).unwrap()
}

#[test]
fn a_measure_of_the_run_is_recorded_beside_the_others() {
    let plain = train(&recipe([]));
    let measured = train(&recipe([CustomMeasure::new(Norm, &[])]));
    let norms = measured.history.column(Column::new(&Norm, Of::Run));
    let expected: Vec<f64> = measured.snapshots.iter().map(|(_, p)| norm(p)).collect();
    assert_eq!((norms, expected.len()), (Some(expected), 3));
    assert_eq!(measured.snapshots, plain.snapshots);
    for column in plain.history.columns() {
        let bits = |run: &Recording| -> Vec<u64> {
            let values = run.history.column(column.clone()).unwrap();
            values.iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&measured), bits(&plain), "{column}");
    }
}

#[test]
fn every_scope_has_its_columns() {
    let scopes = [
        ("of_run", Scope::Run, vec!["of_run"]),
        (
            "near_strategy",
            Scope::Strategy,
            vec!["near_uniform", "near_unigram", "near_bigram"],
        ),
        (
            "accuracy",
            Scope::Test,
            vec!["iid.accuracy", "doubly_stochastic.accuracy"],
        ),
        (
            "of_head",
            Scope::Head,
            vec![
                "layers.0.heads.0.of_head",
                "layers.0.heads.1.of_head",
                "layers.1.heads.0.of_head",
            ],
        ),
        (
            "of_layer",
            Scope::Layer,
            vec!["layers.0.of_layer", "layers.1.of_layer"],
        ),
        (
            "of_group",
            Scope::Group,
            vec!["embed.of_group", "embed.E.of_group", "layers.0.of_group"],
        ),
        ("of_lag", Scope::Lag, vec!["of_lag.0", "of_lag.1"]),
        (
            "of_place",
            Scope::Position,
            vec!["of_place.0", "of_place.1"],
        ),
    ];
    let measures = scopes
        .iter()
        .map(|(name, scope, _)| CustomMeasure::new(Numbered(name, *scope), &[]));
    let run = train(&recipe(measures));
    for (name, scope, expected) in &scopes {
        let all = run.history.last_row();
        let own = all.filter(|(column, _)| column.is_of(&Numbered(name, *scope)));
        let found: Vec<(String, Option<f64>)> = own.map(|(c, v)| (c.to_string(), v)).collect();
        for (index, column) in expected.iter().enumerate() {
            let value = Some(index as f64);
            assert_eq!(found[index], ((*column).to_owned(), value), "{name}");
        }
        let count = match scope {
            Scope::Lag | Scope::Position => 9,
            Scope::Group => run.recipe.model().unwrap().layout().groups().len(),
            _ => expected.len(),
        };
        assert_eq!(found.len(), count);
    }
}

#[test]
fn a_pattern_from_outside_scores_as_the_built_in_one() {
    let own = AttentionOn {
        name: "own_induction".into(),
        meaning: "the same as induction".into(),
        pattern: |context: &Context, j: usize| j > 0 && context.symbols[j - 1] == context.current(),
    };
    let run = train(&recipe([CustomMeasure::new(own, &[])]));
    let value = |column: &Column| run.history.column(column.clone()).unwrap();
    for (layer, head) in [(0, 0), (0, 1), (1, 0)] {
        let built_in = INDUCTION.of_head(layer, head);
        let own = Column {
            measure: "own_induction".into(),
            of: built_in.of.clone(),
        };
        for (found, expected) in value(&own).iter().zip(value(&built_in)) {
            assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        }
    }
}

/// Mean over the test sequences of the share of 0 among their symbols, from what
/// an observation gives access to.
#[derive(Debug)]
struct Zeros;

impl Measure for Zeros {
    fn name(&self) -> &str {
        "zeros"
    }

    fn meaning(&self) -> &str {
        "share of 0 among the symbols of the test sequences"
    }

    fn read(&self, seen: &Observation, _: &[Column], values: &mut [f64]) {
        let states = seen.model().states();
        let symbols: Vec<u8> = seen.test_sequences().flatten().collect();
        assert!(symbols.iter().all(|&symbol| usize::from(symbol) < states));
        assert_eq!(symbols.len(), 21 * (seen.model().length() + 1));
        assert!(seen.tensor("layers.0.W_Q").is_some() && seen.tensor("W_Q").is_none());
        let zeros = symbols.iter().filter(|&&symbol| symbol == 0).count();
        values[0] = zeros as f64 / symbols.len() as f64;
    }
}

#[test]
fn an_observation_gives_access_to_the_model_and_the_test_sequences() {
    let run = train(&recipe([CustomMeasure::new(Zeros, &[])]));
    let shares = run.history.column(Column::new(&Zeros, Of::Run)).unwrap();
    assert!((0.2..0.5).contains(&shares[0]), "{shares:?}");
    assert!(shares.iter().all(|share| *share == shares[0]));
}

/// No value at the start, and a value out of range afterwards.
#[derive(Debug)]
struct Unruly;

impl Measure for Unruly {
    fn name(&self) -> &str {
        "unruly"
    }

    fn meaning(&self) -> &str {
        "a number that does not keep to its range"
    }

    fn range(&self) -> [f64; 2] {
        [0.0, 1.0]
    }

    fn needs_positions(&self) -> bool {
        true
    }

    fn read(&self, seen: &Observation, _: &[Column], values: &mut [f64]) {
        assert_eq!(seen.kl_by_position.len(), 9);
        match seen.step {
            0 => {}
            10 => values[0] = -7.0,
            _ => values[0] = f64::INFINITY,
        }
    }
}

#[test]
fn nan_is_no_value_and_what_is_out_of_range_is_kept() {
    let run = train(&recipe([CustomMeasure::new(Unruly, &[])]));
    let values = run.history.column(Column::new(&Unruly, Of::Run)).unwrap();
    assert!(values[0].is_nan());
    assert_eq!(values[1..], [-7.0, f64::INFINITY]);
}

#[test]
fn text_knows_the_columns_and_not_the_code() {
    assert!(!recipe([]).to_toml().contains("custom"));
    let own = recipe([
        CustomMeasure::new(Norm, &[("power", 2.0)]),
        CustomMeasure::new(Numbered("of_head", Scope::Head), &[]),
    ]);
    let read = Recipe::from_toml(&own.to_toml(), &[]).unwrap();
    assert_eq!(read, own);
    assert_eq!(columns(&read), columns(&own));
    let measure = &read.record.custom_measures[0];
    assert_eq!(measure.meaning(), Norm.meaning());
    let Err(refused) = Instruments::new(&read) else {
        panic!("a measure without its code was accepted")
    };
    let said = refused.to_string();
    assert!(
        said.contains("record.custom_measures[0].name = \"norm\""),
        "{said}"
    );
    let other = recipe([CustomMeasure::new(Norm, &[("power", 1.0)])]);
    assert_ne!(other.to_toml(), own.to_toml());
}

#[test]
fn columns_have_one_owner() {
    let numbered = |name, scope| CustomMeasure::new(Numbered(name, scope), &[]);
    for measures in [
        vec![numbered("kl_truth", Scope::Run)],
        vec![numbered("checksum", Scope::Run)],
        vec![numbered("norm", Scope::Run), numbered("norm", Scope::Head)],
    ] {
        let last = measures.len() - 1;
        let refused = recipe(measures).check().unwrap_err();
        assert_eq!(
            refused.field,
            format!("record.custom_measures[{last}].name")
        );
    }
    // The names of strategies are not known before there are columns.
    let refused = columns(&recipe([numbered("kl_unigram", Scope::Run)])).unwrap_err();
    assert_eq!(refused.field, "record.custom_measures[0].name");
    assert!(refused.allowed.contains("\"kl_unigram\""), "{refused}");
}

#[test]
fn mistakes_in_text_are_named() {
    for (text, expected) in [
        (
            "name = \"norm\"",
            "record.custom_measures[0].scope: missing; it takes one of \"run\", \"strategy\"",
        ),
        (
            "name = \"norm\"\nscope = \"all\"",
            "record.custom_measures[0].scope = \"all\" is not allowed: one of \"run\", \"strategy\"",
        ),
        (
            "name = \"norm\"\nscope = \"run\"\nunits = \"nats\"",
            "record.custom_measures[0].units: no such key; did you mean \"unit\"?",
        ),
        (
            "name = \"norm\"\nscope = \"run\"\nsettings = 3",
            "record.custom_measures[0].settings = 3 is not allowed: a table of numbers",
        ),
        (
            "name = \"norm\"\nscope = \"run\"\nsettings = { power = \"two\" }",
            "record.custom_measures[0].settings.power = \"two\" is not allowed: a number",
        ),
        (
            "name = \"a.b\"\nscope = \"run\"",
            "record.custom_measures[0].name = \"a.b\" is not allowed: letters, digits",
        ),
    ] {
        let text = format!("[[record.custom_measures]]\n{text}");
        let refused = Recipe::from_toml(&text, &[]).unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
    assert!(REGISTRY.iter().all(|measure| measure.name() != "norm"));
    let refused = Recipe::from_toml("record.measures = [\"norm\"]", &[]).unwrap_err();
    assert!(refused.to_string().contains("one of step, sequences"));
}
