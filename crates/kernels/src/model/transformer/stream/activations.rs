//! The activations of the residual stream on one sequence, by name.

use std::sync::Arc;

use super::engine::Stream;
use crate::lanes::{Lane, Level};
use crate::model::Array;
use crate::model::block::Allocator;
use crate::model::choose::Choice;
use crate::model::engine::Engine;
use crate::model::intervention::{Plan, Value};
use crate::model::ops::attention::AttnRow;
use crate::model::transformer::Transformer;
use crate::tokens::TokenBlock;

/// All activations of a transformer on `tokens`, in the order in which they are computed.
pub fn activations(
    shape: &Arc<Transformer>,
    level: Level,
    plan: &Arc<Plan>,
    params: &[f32],
    tokens: &[u8],
) -> Vec<(String, Array)> {
    let (t, d, k) = (tokens.len(), shape.width, shape.states);
    let engine = Stream::new(shape.clone(), &Choice::plain(), level, plan);
    let mut weights = engine.prepared(&mut Allocator::default());
    let mut scratch = engine.scratch(&mut Allocator::default());
    engine.prepare(params, &mut weights);
    let mut logits = vec![Lane::ZERO; t * k];
    let block = TokenBlock::from_sequences(&[tokens]);
    engine.forward(&weights, block.rows(), 0, &mut scratch, &mut logits);
    let pass = engine.pass(&weights);

    let stream = |lanes: &[Lane]| Array::new(&[t, d], of_first_lane(&lanes[..t * d]));
    let mut arrays = vec![("embed".to_owned(), stream(&scratch.streams[0]))];
    for (l, layer) in shape.layers.iter().enumerate() {
        let slots = layer.slots.clone();
        let named = |name: &str| format!("layers.{l}.{name}");
        arrays.push((named("resid_pre"), stream(&scratch.streams[slots.start])));
        for (slot, s) in shape.slots[slots.clone()].iter().zip(slots.clone()) {
            let heads = slot.heads();
            if heads > 0 {
                let [mut scores, mut patterns] =
                    [f32::NEG_INFINITY, 0.0].map(|empty| vec![empty; heads * t * t]);
                let c = pass.context(s, &scratch.given);
                scratch.passes[s].show(c, t, &mut |row: AttnRow| {
                    let start = (row.head * t + row.position) * t;
                    for (j, (score, mass)) in
                        row.attn_scores.iter().zip(row.attn_pattern).enumerate()
                    {
                        (scores[start + j], patterns[start + j]) = (score.0[0], mass.0[0]);
                    }
                });
                arrays.push((named("attn_scores"), Array::new(&[heads, t, t], scores)));
                arrays.push((named("attn_pattern"), Array::new(&[heads, t, t], patterns)));
            }
            let written = |source| {
                let mut out = vec![Lane::ZERO; t * d];
                match (plan.value(source), &scratch.edits) {
                    (Some(Value::Zero), _) => {}
                    (Some(Value::Data(slot)), Some(edits)) => {
                        out.copy_from_slice(&edits.data[slot][..t * d]);
                    }
                    _ => pass.written(source, 0..t, &scratch, &mut out),
                }
                of_first_lane(&out)
            };
            let all = slot.sources.iter().flat_map(|&source| written(source));
            let sizes = [heads, t, d];
            let sizes = if heads > 0 { &sizes[..] } else { &sizes[1..] };
            arrays.push((slot.output_name(), Array::new(sizes, all.collect())));
        }
        arrays.push((named("resid_post"), stream(&scratch.streams[slots.end])));
    }
    arrays.push((
        "logits".to_owned(),
        Array::new(&[t, k], of_first_lane(&logits)),
    ));
    arrays
}

fn of_first_lane(lanes: &[Lane]) -> Vec<f32> {
    lanes.iter().map(|lane| lane.0[0]).collect()
}
