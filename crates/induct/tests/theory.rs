//! Three routes to the gradients of the minimal model that must agree, and what they must give.

use induct::chain::{Start, TaskPrior, TransitionTable};
use induct::model::reference::{Reference, tape::Tape};
use induct::model::{MinimalSpec, Model, ModelSpec};
use induct::theory::{
    Coupling, Step, StepError, Weights, descend, enumerate, margin_needed, sample,
};
use induct::train::Loss;

use crate::chain::prior;
use crate::golden::{
    COUPLING_1, COUPLING_3, COUPLING_6, V_AFTER_1, V_AFTER_2, W_AFTER_1, W_AFTER_2,
};

fn dirichlet() -> TaskPrior {
    prior("kind = 'dirichlet'", 2, 2)
}

fn fixed(a: f64, b: f64) -> TaskPrior {
    let table = [[a, 1.0 - a], [1.0 - b, b]];
    prior(&format!("kind = 'fixed', table = {table:?}"), 2, 2)
}

/// Weights without any symmetry, of both signs.
fn crooked(states: usize, length: usize) -> Weights {
    Weights {
        w_k: (0..states * states)
            .map(|e| ((3 * e + 1) as f64).sin())
            .collect(),
        v: (0..length).map(|d| ((7 * d + 2) as f64).cos()).collect(),
    }
}

fn largest_gap(a: &Weights, b: &Weights) -> f64 {
    let all = |w: &Weights| w.w_k.iter().chain(&w.v).copied().collect::<Vec<f64>>();
    let gaps = all(a).into_iter().zip(all(b)).map(|(a, b)| (a - b).abs());
    gaps.fold(0.0, f64::max)
}

/// The grid of priors on which the routes are compared: the edges of the unit square included.
fn priors() -> Vec<(String, TaskPrior)> {
    let kinds = [
        "kind = 'dirichlet'",
        "kind = 'symmetric', epsilon = 0.5",
        "kind = 'symmetric', epsilon = 0.1",
        "kind = 'iid'",
        "kind = 'doubly-stochastic'",
    ];
    let mut all = kinds
        .map(|kind| (kind.to_owned(), prior(kind, 2, 2)))
        .to_vec();
    for (a, b) in [
        (0.3, 0.8),
        (0.5, 0.5),
        (0.25, 0.75), // λ = 0
        (1.0, 0.2),
        (0.0, 0.0), // λ = −1
        (1.0 - 1e-9, 1.0 - 1e-7),
        (0.6, 0.6),
    ] {
        all.push((format!("fixed {a} {b}"), fixed(a, b)));
    }
    all
}

#[test]
fn recursion_and_enumeration_agree_on_a_grid() {
    for (name, prior) in priors() {
        for length in [1, 2, 3, 5, 8] {
            let coupling = Coupling::of_prior(&prior, length).unwrap();
            for weights in [Weights::constant(2, length, 0.02, 0.02), crooked(2, length)] {
                let margin = 1.0 + margin_needed(&weights).sufficient;
                let all = enumerate(&prior, &weights, margin).unwrap();
                assert_eq!(all.clamped, 0.0);
                let gap = largest_gap(&coupling.gradient(&weights), &all.gradient);
                assert!(gap < 1e-12, "{name}, t = {length}: {gap:e}");
                let loss = coupling.loss(&weights, margin);
                assert!((loss - all.loss).abs() < 1e-12, "{name}, t = {length}");
            }
        }
    }
}

#[test]
fn three_states_agree_as_well() {
    let table = "[[0.7, 0.2, 0.1], [0.0, 0.4, 0.6], [0.3, 0.3, 0.4]]";
    let prior = prior(&format!("kind = 'fixed', table = {table}"), 3, 2);
    let weights = crooked(3, 5);
    let margin = margin_needed(&weights).sufficient + 1.0;
    let exact = Coupling::of_prior(&prior, 5).unwrap().gradient(&weights);
    let all = enumerate(&prior, &weights, margin).unwrap();
    assert!(largest_gap(&exact, &all.gradient) < 1e-12);
}

#[test]
fn sampling_with_the_training_code_agrees_within_four_standard_errors() {
    for (name, prior) in [
        ("dirichlet", dirichlet()),
        (
            "symmetric",
            prior("kind = 'symmetric', epsilon = 0.3", 2, 2),
        ),
        ("fixed", fixed(0.9, 0.7)),
    ] {
        for (length, weights) in [
            (7, Weights::constant(2, 7, 0.02, 0.02)),
            (40, crooked(2, 40)),
        ] {
            let margin = 1.0 + margin_needed(&weights).sufficient;
            let exact = Coupling::of_prior(&prior, length)
                .unwrap()
                .gradient(&weights);
            let drawn = sample(&prior, &weights, margin, 20_000, 1).unwrap();
            let exact = exact.w_k.iter().chain(&exact.v);
            for (exact, drawn) in exact.zip(drawn.w_k.iter().chain(&drawn.v)) {
                let off = (drawn.mean - exact).abs();
                // The model computes in f32.
                assert!(
                    off < 4.0 * drawn.se + 1e-5 * exact.abs() + 1e-6,
                    "{name}, t = {length}: {exact} {drawn:?}"
                );
            }
        }
    }
}

#[test]
fn outside_the_linear_region_the_definition_and_the_model_agree() {
    let (length, weights) = (6, crooked(2, 6));
    let prior = fixed(0.7, 0.4);
    let needed = enumerate(&prior, &weights, 1.0).unwrap().margin_needed;
    for margin in [0.1 * needed, 0.6 * needed] {
        let all = enumerate(&prior, &weights, margin).unwrap();
        assert!(all.clamped > 0.0);
        // The reference, over the same sequences.
        let model = Model::new(&ModelSpec::Minimal(MinimalSpec::default()), 2, length).unwrap();
        let params: Vec<f64> = weights.w_k.iter().chain(&weights.v).copied().collect();
        let table = vec![vec![0.7, 0.3], vec![0.6, 0.4]];
        let table = TransitionTable::from_rows(2, 2, &table).unwrap();
        let (mut loss, mut gradient) = (0.0, vec![0.0; params.len()]);
        for bits in 0..1_u32 << (length + 1) {
            let x: Vec<u8> = (0..=length).map(|i| (bits >> i & 1) as u8).collect();
            let share = table.log_likelihood(&x).exp() / length as f64;
            let tape = Tape::default();
            let reference = Reference::new(&tape, &model, &params, x[..length].into());
            let sum = Loss::Margin { delta: margin }.reference(reference.logits, &x[1..]);
            loss += share * sum.number();
            gradient
                .iter_mut()
                .zip(reference.gradient(sum))
                .for_each(|(s, g)| *s += share * g);
        }
        let reference = Weights {
            w_k: gradient[..4].to_vec(),
            v: gradient[4..].to_vec(),
        };
        assert!((loss - all.loss).abs() < 1e-12);
        assert!(largest_gap(&reference, &all.gradient) < 1e-12);
        // The linear formula is wrong here.
        let linear = Coupling::of_prior(&prior, length)
            .unwrap()
            .gradient(&weights);
        assert!(largest_gap(&linear, &all.gradient) > 1e-3);
    }
}

#[test]
fn averages_are_exact_integrals() {
    for (length, golden) in [
        (1, &COUPLING_1[..]),
        (3, &COUPLING_3[..]),
        (6, &COUPLING_6[..]),
    ] {
        let coupling = Coupling::of_prior(&dirichlet(), length).unwrap();
        for (delta, [same, other]) in golden.iter().enumerate() {
            for (m, l, golden) in [(0, 0, same), (0, 1, other), (1, 0, other), (1, 1, same)] {
                let found = coupling.at(delta, m, l);
                assert!(
                    (found - golden).abs() < 1e-14,
                    "t = {length}, {delta}: {found}"
                );
            }
        }
    }
}

#[test]
fn two_steps_of_the_paper_have_twelve_digits() {
    let coupling = Coupling::of_prior(&dirichlet(), 100).unwrap();
    let start = Weights::constant(2, 100, 0.02, 0.02);
    let steps = [Step::new(&coupling, 0.03); 2];
    let path = descend(&start, &steps).unwrap();
    for (weights, w_k, v) in [
        (&path[0], W_AFTER_1, V_AFTER_1),
        (&path[1], W_AFTER_2, V_AFTER_2),
    ] {
        let shown = [0, 1, 2, 3, 49, 99].map(|lag| weights.v[lag]);
        let [same, other] = w_k;
        let golden = [same, other, other, same].into_iter().chain(v);
        for (found, golden) in weights.w_k.iter().chain(&shown).zip(golden) {
            assert!((found / golden - 1.0).abs() < 1e-13, "{found} {golden}");
        }
    }
}

#[test]
fn chains_that_never_leave_or_never_stay_are_no_exception() {
    // a = b = 1: the sequence is constant; every q ≤ p with its t − δ … 1
    // partners counts, half for each symbol.
    let coupling = Coupling::of_chain(&[1.0, 0.0, 0.0, 1.0], &[0.5, 0.5], 9).unwrap();
    for delta in 0..9 {
        let n = (9 - delta) as f64;
        let expected = 0.5 * 0.5 * n * (n + 1.0) / 2.0 / 9.0;
        assert!((coupling.at(delta, 0, 0) - expected).abs() < 1e-14);
        assert_eq!(coupling.at(delta, 0, 1), 0.0);
    }
    // Near it, nothing jumps.
    let leave = 1e-13;
    let rows = [1.0 - leave, leave, leave, 1.0 - leave];
    let near = Coupling::of_chain(&rows, &[0.5, 0.5], 9).unwrap();
    for delta in 0..9 {
        assert!((coupling.at(delta, 0, 0) - near.at(delta, 0, 0)).abs() < 1e-11);
    }
    // λ = 0: symbols are independent, and a = ½ besides means that there is nothing to gain.
    let even = Coupling::of_prior(&fixed(0.5, 0.5), 9).unwrap();
    assert!((0..9).all(|delta| even.at(delta, 1, 0) == 0.0));
}

#[test]
fn a_margin_too_small_is_told_by_how_much() {
    let coupling = Coupling::of_prior(&dirichlet(), 10).unwrap();
    let start = Weights::constant(2, 10, 0.02, 0.02);
    // The paper's choice for the first step: c² t(t+1)/2.
    let enough = 0.0004 * 55.0;
    let step = |margin| Step {
        margin: Some(margin),
        ..Step::new(&coupling, 0.5)
    };
    assert!(descend(&start, &[step(enough * (1.0 + 1e-12))]).is_ok());
    let refused = descend(&start, &[step(enough - 0.01)]).unwrap_err();
    let StepError::OutsideLinearRegion {
        step: 1,
        short_by,
        bounds,
        ..
    } = refused
    else {
        panic!("{refused}");
    };
    assert!((short_by - 0.01).abs() < 1e-12);
    assert!((bounds.necessary - bounds.sufficient).abs() < 1e-15);
    // Weights grow, so what was enough for the first step is not enough for the second.
    let second = descend(&start, &[step(1.1 * enough), step(1.1 * enough)]).unwrap_err();
    assert!(
        matches!(second, StepError::OutsideLinearRegion { step: 2, .. }),
        "{second}"
    );
    assert!(second.to_string().contains("more"), "{second}");
}

#[test]
fn the_margin_bounds_enclose_the_truth() {
    for length in [1, 4, 8] {
        for weights in [Weights::constant(2, length, 0.3, 0.1), crooked(2, length)] {
            let bounds = margin_needed(&weights);
            let truth = enumerate(&fixed(0.6, 0.3), &weights, 1.0)
                .unwrap()
                .margin_needed;
            assert!(bounds.necessary <= truth + 1e-12 && truth <= bounds.sufficient + 1e-12);
        }
    }
}

#[test]
fn decay_of_one_forgets_the_weights() {
    let coupling = Coupling::of_prior(&dirichlet(), 5).unwrap();
    let start = Weights::constant(2, 5, 0.4, 0.7);
    let step = Step {
        decay_w: 1.0,
        decay_v: 0.25,
        ..Step::new(&coupling, 0.1)
    };
    let after = &descend(&start, &[step]).unwrap()[0];
    let gradient = coupling.gradient(&start);
    for (w, gradient) in after.w_k.iter().zip(&gradient.w_k) {
        assert!((w + 0.1 * gradient).abs() < 1e-15);
    }
    for (v, gradient) in after.v.iter().zip(&gradient.v) {
        assert!((v - 0.75 * 0.7 + 0.1 * gradient).abs() < 1e-15);
    }
}

#[test]
fn impossible_settings_are_refused_by_name() {
    assert_eq!(
        Coupling::of_prior(&dirichlet(), 0).unwrap_err().field,
        "length"
    );
    let evenly = dirichlet().starting(Start::Uniform {});
    let refused = Coupling::of_prior(&evenly, 5).unwrap_err();
    assert_eq!(
        (refused.field.as_str(), refused.value.as_str()),
        ("start", "\"uniform\"")
    );
    let coupling = Coupling::of_prior(&dirichlet(), 4).unwrap();
    let start = Weights::constant(2, 4, 0.1, 0.1);
    let refuse = |step: Step| match descend(&start, &[step]).unwrap_err() {
        StepError::Invalid(invalid) => invalid.field,
        other => panic!("{other}"),
    };
    assert_eq!(refuse(Step::new(&coupling, -0.1)), "eta");
    let good = Step::new(&coupling, 0.1);
    assert_eq!(
        refuse(Step {
            decay_v: 1.5,
            ..good
        }),
        "decay_v"
    );
    assert_eq!(
        refuse(Step {
            margin: Some(0.0),
            ..good
        }),
        "margin"
    );
    let long = Coupling::of_prior(&dirichlet(), 5).unwrap();
    assert_eq!(refuse(Step::new(&long, 0.1)), "start");
    let unknown = prior("kind = 'interpolated', p = 0.3", 2, 2);
    assert_eq!(Coupling::of_prior(&unknown, 4).unwrap_err().field, "prior");
    let rows = [0.5, 0.5, 0.1, 0.9];
    assert_eq!(
        Coupling::of_chain(&rows, &[0.5, 0.5], 4).unwrap_err().field,
        "stationary"
    );
    let longest = Weights::constant(2, 40, 0.1, 0.1);
    assert_eq!(
        enumerate(&dirichlet(), &longest, 1.0).unwrap_err().field,
        "length"
    );
}
