//! Every intervention on every architecture, against the f64 reference; and the reference against finite differences.

use std::sync::Arc;

use induct_kernels::lanes::LANES;
use induct_kernels::loss::Loss;
use induct_kernels::model::{Instead, Intervention, Kind, Model, ModelSpec, Port, Site, Target};

use crate::reference::{assert_matches_reference, assert_reference_matches_differences};
use crate::{architectures, in_coordinates, spec, tokens, weights};

/// Every site of a model: whole sources, single readers, and patterns.
fn sites(model: &Model) -> Vec<Site> {
    let Kind::Transformer(shape) = model.kind() else {
        return vec![Site::Pattern { layer: 0, head: 0 }];
    };
    let mut sites = Vec::new();
    for by in shape.sources() {
        sites.push(Site::Written { by, to: None });
        if let ("heads", Some(layer), Some(head)) = (by.part, by.layer, by.index) {
            sites.push(Site::Pattern { layer, head });
        }
        for reader in shape.readers_of(by) {
            let to = Some(reader);
            sites.push(Site::Written { by, to });
        }
    }
    sites
}

/// Everything that can be put at a site.
fn possible(model: &Model, site: Site) -> Vec<Instead> {
    let params: Arc<[f32]> = weights(model, 0.4)
        .iter()
        .map(|&w| 0.1 - w as f32)
        .collect();
    let targets = [
        Target::PREVIOUS_TOKEN,
        Target::Uniform,
        Target::Lag(3),
        Target::SameToken,
        Target::Induction,
    ];
    match (site, model.kind()) {
        (_, Kind::Minimal(_)) => {
            let targets = targets[..3].iter().map(|&target| Instead::Target(target));
            [Instead::Itself].into_iter().chain(targets).collect()
        }
        (Site::Pattern { .. }, _) => {
            let mut all = vec![
                Instead::Itself,
                Instead::Resampled,
                Instead::Of(params),
                Instead::WithoutUniform,
                Instead::UniformItself,
            ];
            all.extend(targets.map(Instead::Target));
            all
        }
        (Site::Written { .. }, _) => vec![
            Instead::Zero,
            Instead::Itself,
            Instead::Mean,
            Instead::Resampled,
            Instead::Of(params),
        ],
    }
}

fn described(name: &str, interventions: &[Intervention]) -> String {
    let one = |i: &Intervention| format!("{}: {}", i.site, i.instead.name());
    let all: Vec<String> = interventions.iter().map(one).collect();
    format!("{name} under {}", all.join("; "))
}

#[test]
fn every_intervention_matches_the_reference_on_every_architecture() {
    let (states, length) = (3, 5);
    let block = tokens(states, length, LANES);
    let mut turn = 0;
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let params = weights(&model, 0.5);
        for site in sites(&model) {
            // All that can be there, in turns: each comes in many places and architectures.
            let possible = possible(&model, site);
            let instead = possible[turn % possible.len()].clone();
            let all = [Intervention { site, instead }];
            let changed = model.with(&all).unwrap();
            assert_matches_reference(&described(&name, &all), &changed, &params, &block);
            turn += 1;
        }
    }
}

/// Many interventions at once: as many as fit beside one another.
fn many(model: &Model, turn: usize) -> Vec<Intervention> {
    let mut all: Vec<Intervention> = Vec::new();
    for (index, site) in sites(model).into_iter().enumerate().skip(turn % 3) {
        let possible = possible(model, site);
        let instead = possible[(turn + index) % possible.len()].clone();
        all.push(Intervention { site, instead });
        if model.with(&all).is_err() {
            all.pop();
        }
    }
    all
}

#[test]
fn many_interventions_at_once_match_the_reference() {
    let (states, length) = (2, 7);
    let block = tokens(states, length, LANES);
    for (turn, (name, spec)) in architectures().into_iter().enumerate() {
        let model = Model::new(&spec, states, length).unwrap();
        for turn in [turn, turn + 7] {
            let all = many(&model, turn);
            let changed = model.with(&all).unwrap();
            let params = weights(&model, 0.5);
            assert_matches_reference(&described(&name, &all), &changed, &params, &block);
        }
    }
}

#[test]
fn the_reference_under_interventions_matches_finite_differences() {
    let (states, length) = (3, 5);
    let block = tokens(states, length, LANES);
    let loss = Loss::CrossEntropy {};
    for (turn, (name, spec)) in architectures().into_iter().enumerate() {
        let model = Model::new(&spec, states, length).unwrap();
        for turn in [turn, turn + 2] {
            let all = many(&model, turn);
            let changed = model.with(&all).unwrap();
            assert_reference_matches_differences(&described(&name, &all), &changed, &block, loss);
        }
        // Each kind alone, in one place or another.
        let sites = sites(&model);
        for offset in 0..5 {
            let site = sites[(turn + 3 * offset) % sites.len()];
            let possible = possible(&model, site);
            let instead = possible[(turn + offset) % possible.len()].clone();
            let all = [Intervention { site, instead }];
            let changed = model.with(&all).unwrap();
            assert_reference_matches_differences(&described(&name, &all), &changed, &block, loss);
        }
    }
}

fn main_model() -> Model {
    Model::new(&ModelSpec::default(), 2, 12).unwrap()
}

#[test]
fn what_is_put_in_place_shows_in_the_activations() {
    let model = main_model();
    let params: Vec<f32> = weights(&model, 0.5).iter().map(|&w| w as f32).collect();
    let tokens = [0, 1, 1, 0, 1];
    let head = Port::head(0, 0);
    let pattern = Site::Pattern { layer: 1, head: 0 };
    let silenced = Intervention {
        site: Site::Written { by: head, to: None },
        instead: Instead::Zero,
    };
    let clamped = Intervention {
        site: pattern,
        instead: Instead::Target(Target::Induction),
    };
    let seen = model.with(&[silenced, clamped]).unwrap();
    let seen = seen.run(&params, &tokens).unwrap();
    let written = seen.get("layers.0.head_out").unwrap();
    assert!(written.data().iter().all(|&x| x == 0.0));
    assert_eq!(
        seen.get("layers.1.resid_pre").unwrap(),
        seen.get("layers.0.resid_pre").unwrap()
    );
    // Position 4 holds symbol 1, which was followed at positions 2 and 3.
    let row = &seen.get("layers.1.attn_pattern").unwrap().data()[20..];
    assert_eq!(row, [0.0, 0.0, 0.5, 0.5, 0.0]);
}

#[test]
fn a_sequence_alone_has_no_mean_and_no_other_sequence() {
    let model = main_model();
    let params = model.start(0);
    for instead in [Instead::Mean, Instead::Resampled] {
        let site = Site::Written {
            by: Port::EMBED,
            to: Some(Port::LOGITS),
        };
        let changed = model.with(&[Intervention { site, instead }]).unwrap();
        let refused = changed.run(&params, &[0, 1]).unwrap_err();
        assert!(
            refused.to_string().contains("a sequence alone"),
            "{refused}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_there_is() {
    let model = main_model();
    let refused = |all: &[Intervention]| model.with(all).unwrap_err().to_string();
    let head = |layer| Port::head(layer, 0);
    let zero = |by, to| Intervention {
        site: Site::Written { by, to },
        instead: Instead::Zero,
    };
    let no_layer = refused(&[zero(head(2), None)]);
    assert!(no_layer.contains("layers.2.heads.0") && no_layer.contains("layers.1.heads.0"));
    let backwards = refused(&[zero(head(1), Some(Port::new(1, "queries")))]);
    assert!(
        backwards.contains("after layers.1.heads.0: logits"),
        "{backwards}"
    );
    let twice = refused(&[zero(head(0), None), zero(head(0), Some(Port::LOGITS))]);
    assert!(twice.contains("one intervention at a time"), "{twice}");
    let pattern = Site::Pattern { layer: 0, head: 0 };
    let no_pattern = refused(&[Intervention {
        site: pattern,
        instead: Instead::Zero,
    }]);
    assert!(no_pattern.contains("a pattern with a name"), "{no_pattern}");
    let few = refused(&[Intervention {
        site: pattern,
        instead: Instead::Of(Arc::from([0.0])),
    }]);
    assert!(few.contains("1 weights"), "{few}");
    for name in [
        "layers.7.attn_pattern",
        "layers.0.heads.1",
        "logits",
        "layers.0.mlp_out",
    ] {
        let unknown = model.sites(name).unwrap_err().to_string();
        assert!(unknown.contains("layers.0.attn_pattern"), "{unknown}");
    }
    let unknown = model.reader("layers.1.mlp").unwrap_err().to_string();
    assert!(unknown.contains("layers.1.queries"), "{unknown}");
}

#[test]
fn the_stream_is_all_that_was_written_below() {
    let model = Model::new(&spec("layers = 3"), 2, 12).unwrap();
    let (_, sites) = model.sites("layers.1.resid_pre").unwrap();
    // Two sources, read by three projections of two layers and by the output.
    assert_eq!(sites.len(), 2 * 7);
    let (_, top) = model.sites("layers.2.resid_post").unwrap();
    assert_eq!(top.len(), 4);
}

/// What the model computes in coordinates, at sizes that fill several groups of rows; with and without a norm.
#[test]
fn interventions_in_coordinates_match_the_reference_at_larger_sizes() {
    let head = |layer| Port::head(layer, 0);
    let pattern = |layer, instead| Intervention {
        site: Site::Pattern { layer, head: 0 },
        instead,
    };
    let written = |by, to, instead| Intervention {
        site: Site::Written { by, to },
        instead,
    };
    let clamp = |layer, target| pattern(layer, Instead::Target(target));
    let sets = [
        vec![clamp(0, Target::PREVIOUS_TOKEN)],
        vec![clamp(0, Target::Uniform), clamp(1, Target::Induction)],
        vec![clamp(1, Target::Uniform)],
        vec![pattern(0, Instead::WithoutUniform)],
        vec![pattern(1, Instead::WithoutUniform)],
        vec![
            pattern(0, Instead::WithoutUniform),
            pattern(1, Instead::WithoutUniform),
        ],
        vec![written(head(0), Some(Port::LOGITS), Instead::Zero)],
        vec![
            written(Port::EMBED, Some(Port::LOGITS), Instead::Zero),
            written(head(1), None, Instead::Itself),
        ],
        vec![written(head(0), None, Instead::Zero)],
        vec![
            written(head(0), Some(Port::new(1, "keys")), Instead::Zero),
            written(Port::EMBED, Some(Port::new(1, "queries")), Instead::Zero),
            written(Port::EMBED, Some(Port::new(1, "values")), Instead::Zero),
        ],
    ];
    for (index, all) in sets.iter().enumerate() {
        for (layer_norm, states, length) in [(false, 2, 41), (false, 5, 19), (true, 2, 23)] {
            if layer_norm && index == sets.len() - 1 {
                continue;
            }
            let spec = spec(&format!("width = 24, layer_norm = {layer_norm}"));
            let model = Model::new(&spec, states, length).unwrap();
            let changed = model.with(all).unwrap();
            let name = described(&format!("norm: {layer_norm}, k = {states}"), all);
            assert!(in_coordinates(&changed), "{name}");
            let block = tokens(states, length, LANES);
            assert_matches_reference(&name, &changed, &weights(&model, 0.4), &block);
        }
    }
}
