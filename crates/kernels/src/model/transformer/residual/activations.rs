//! The activations of the residual stream on one sequence, by name.

use std::sync::Arc;

use super::engine::Residual;
use crate::lanes::{Lane, Level};
use crate::model::Array;
use crate::model::choose::Choice;
use crate::model::engine::Engine;
use crate::model::intervention::{Plan, Source};
use crate::model::ops::attention::AttnRow;
use crate::model::transformer::{MLP_FACTOR, Transformer};
use crate::tokens::TokenBlock;

/// All activations of a transformer on `tokens`, in the order in which they are computed.
pub fn activations(
    shape: Arc<Transformer>,
    level: Level,
    plan: &Arc<Plan>,
    params: &[f32],
    tokens: &[u8],
) -> Vec<(String, Array)> {
    let (t, d, k) = (tokens.len(), shape.width, shape.states);
    let engine = Residual::new(shape.clone(), &Choice::plain(), level, plan);
    let (mut weights, mut scratch) = (engine.prepared(), engine.scratch());
    engine.prepare(params, &mut weights);
    let mut logits = vec![Lane::ZERO; t * k];
    let block = TokenBlock::from_sequences(&[tokens]);
    engine.forward(&weights, block.rows(), 0, &mut scratch, &mut logits);

    let square = |l: usize, empty: f32| vec![empty; shape.layers[l].heads * t * t];
    let layers = 0..shape.layers.len();
    let mut scores: Vec<Vec<f32>> = layers
        .clone()
        .map(|l| square(l, f32::NEG_INFINITY))
        .collect();
    let mut patterns: Vec<Vec<f32>> = layers.clone().map(|l| square(l, 0.0)).collect();
    engine.observe(&weights, t, &scratch, &mut |row: AttnRow| {
        let start = (row.head * t + row.position) * t;
        for (j, (score, mass)) in row.attn_scores.iter().zip(row.attn_pattern).enumerate() {
            scores[row.layer][start + j] = score.0[0];
            patterns[row.layer][start + j] = mass.0[0];
        }
    });

    let stream = |lanes: &[Lane]| Array::new(&[t, d], of_first_lane(&lanes[..t * d]));
    let mut arrays = vec![("embed".to_owned(), stream(&scratch.layers[0].input))];
    for (l, (layer, saved)) in shape.layers.iter().zip(&scratch.layers).enumerate() {
        let mut put = |name: &str, array: Array| arrays.push((format!("layers.{l}.{name}"), array));
        let heads = layer.heads;
        put("resid_pre", stream(&saved.input));
        let square = [heads, t, t];
        put(
            "attn_scores",
            Array::new(&square, std::mem::take(&mut scores[l])),
        );
        put(
            "attn_pattern",
            Array::new(&square, std::mem::take(&mut patterns[l])),
        );
        let mixed = of_first_lane(&saved.mixed[..t * d]);
        let w_o = layer.w_o.clone().map(|place| &params[place]);
        let instead = |source| {
            let seen = engine.pass(&weights).seen_instead(source, t, &scratch);
            seen.map(|lanes| of_first_lane(&lanes))
        };
        let out = (0..heads).flat_map(|h| {
            let source = Source::Head { layer: l, head: h };
            instead(source).unwrap_or_else(|| head_out(&mixed, w_o, (h, heads), d))
        });
        put("head_out", Array::new(&[heads, t, d], out.collect()));
        if let Some(mlp) = &layer.mlp {
            let active = of_first_lane(&saved.active[..t * MLP_FACTOR * d]);
            let (w, b) = (&params[mlp.w_out.clone()], &params[mlp.b_out.clone()]);
            let out = active.chunks_exact(MLP_FACTOR * d).flat_map(|row| {
                let mut out = b.to_vec();
                add_product(row, w, &mut out);
                out
            });
            let out = instead(Source::Mlp { layer: l }).unwrap_or_else(|| out.collect());
            put("mlp_out", Array::new(&[t, d], out));
        }
        let above = scratch
            .layers
            .get(l + 1)
            .map_or(&scratch.resid, |next| &next.input);
        put("resid_post", stream(above));
    }
    arrays.push((
        "logits".to_owned(),
        Array::new(&[t, k], of_first_lane(&logits)),
    ));
    arrays
}

/// What head `h` of `heads` adds to the stream: its columns of the mixed values times its rows of W_O.
fn head_out(mixed: &[f32], w_o: Option<&[f32]>, (h, heads): (usize, usize), d: usize) -> Vec<f32> {
    let Some(w_o) = w_o else {
        return mixed.to_vec();
    };
    let size = d / heads;
    let rows = &w_o[h * size * d..][..size * d];
    let mut all = vec![0.0; mixed.len()];
    for (out, mixed) in all.chunks_exact_mut(d).zip(mixed.chunks_exact(d)) {
        add_product(&mixed[h * size..][..size], rows, out);
    }
    all
}

/// out += row · matrix
fn add_product(row: &[f32], matrix: &[f32], out: &mut [f32]) {
    for (x, weights) in row.iter().zip(matrix.chunks_exact(out.len())) {
        for (sum, weight) in out.iter_mut().zip(weights) {
            *sum += x * weight;
        }
    }
}

fn of_first_lane(lanes: &[Lane]) -> Vec<f32> {
    lanes.iter().map(|lane| lane.0[0]).collect()
}
