//! Tests of the pictures of small models, with the weights that they start from.

use induct::recipe::Recipe;
use induct_figure::Panel;

use super::*;

const TOKENS: [u8; 8] = [0, 1, 1, 0, 1, 0, 0, 1];

/// All heads of the model of a recipe.
fn seen(sets: &[&str]) -> Attention {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let recipe = Recipe::from_toml("", &sets).unwrap();
    let model = recipe.model().unwrap();
    Attention::of(&model, &model.start(7), &TOKENS, recipe.task.ngram).unwrap()
}

#[test]
fn maps_have_a_number_for_every_pair_up_to_the_diagonal() {
    let seen = seen(&["model.heads=2"]);
    let head = seen.head(1, 1).unwrap();
    let t = TOKENS.len();
    for map in [seen.pattern_map(head), seen.score_map(head)] {
        let map = map.unwrap();
        assert!(map.title.starts_with("layers.1.heads.1"));
        assert_eq!((map.columns, map.values.len()), (t, t * t));
        for (at, value) in map.values.iter().enumerate() {
            assert_eq!(value.is_nan(), at % t > at / t, "{at}");
        }
    }
    let pattern = seen.pattern_map(head).unwrap();
    for row in pattern.values.chunks_exact(t) {
        assert_eq!(row.iter().copied().fold(0.0, f64::max), 1.0);
    }
    let score = head.scores.as_ref().unwrap().row(5)[2];
    let scores = seen.score_map(head).unwrap();
    assert_eq!(scores.values[5 * t + 2], f64::from(score));
}

#[test]
fn two_layers_show_the_last_tokens_above_and_the_last_one_below() {
    let seen = seen(&[]);
    let heads = [seen.head(0, 0).unwrap(), seen.head(1, 0).unwrap()];
    let arcs = seen.two_layers(heads).unwrap();
    assert_eq!(arcs.symbols, TOKENS.map(usize::from));
    assert_eq!(arcs.above_from, TOKENS.len() - ATTENDING);
    assert_eq!(arcs.above_label, "layer 1, last 3 tokens");
    assert_eq!(arcs.below_label, "layer 2, last token");
    let last = heads[1].pattern.as_ref().unwrap().row(TOKENS.len() - 1);
    assert_eq!(
        arcs.below,
        last.iter()
            .map(|&share| f64::from(share))
            .collect::<Vec<_>>()
    );
    assert!((arcs.below.iter().sum::<f64>() - 1.0).abs() < 1e-5);
}

#[test]
fn the_minimal_model_has_a_layer_of_scores_only() {
    let seen = seen(&["model.kind=minimal"]);
    let [first, second] = &seen.heads[..] else {
        panic!("{} heads", seen.heads.len());
    };
    let without = [first, second]
        .iter()
        .filter(|head| head.pattern.is_none())
        .count();
    assert_eq!(without, 1);
    assert!(seen.two_layers([first, second]).is_none());
    assert!(seen.scores(first).is_empty() && seen.scores(second).is_empty());
    let (figure, _) = figure(&seen);
    let maps = figure
        .panels
        .iter()
        .filter(|panel| matches!(panel, Panel::Heatmap(_)));
    assert_eq!(maps.count(), 2);
}

#[test]
fn a_sequence_that_does_not_fit_is_refused() {
    let model = Recipe::default().model().unwrap();
    let params = model.start(7);
    let refused = |tokens: &[u8]| Attention::of(&model, &params, tokens, 2).err();
    assert_eq!(refused(&[]), Some(InputError::Empty));
    assert!(matches!(
        refused(&[0, 9]),
        Some(InputError::Symbol { symbol: 9, .. })
    ));
}
