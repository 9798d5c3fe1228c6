//! The transformer's formula: a stream and its blocks.

use super::formulas::layer_norm;
use super::run::Run;
use super::tape::Value;
use crate::model::Port;
use crate::model::block::{Norm, Slot};
use crate::model::transformer::Transformer;

/// Logits of every position, [rows, k].
pub(super) fn logits<'t>(run: &mut Run<'t>, shape: &'t Transformer) -> Value<'t> {
    let (tokens, d) = (run.sequence.tokens.to_vec(), shape.width);
    let stream = (tokens.len(), d);
    let row_of = move |i: usize, c: usize| Some((usize::from(tokens[i]), c));
    let embedding = run.weight(&shape.embed, d);
    let mut embedded = embedding.take(stream, row_of);
    if let Some(place) = &shape.embed_positions {
        let positions = run.weight(place, d);
        embedded = embedded + positions.take(stream, |i, c| Some((i, c)));
    }
    let mask = run.mask(shape.dropout.embedding, (shape.length, d), stream);
    run.write(Port::EMBED, embedded.each_times(mask));
    for slot in &shape.slots {
        block(run, shape, slot);
    }
    let read = run.read(Port::LOGITS);
    let read = normed(run, &shape.final_norm, read);
    let unembed = match shape.tied {
        true => embedding.transposed(),
        false => run.weight(&shape.unembed, shape.states),
    };
    let logits = read.times(unembed);
    match &shape.unembed_bias {
        Some(bias) => logits + run.weight(bias, shape.states).repeated(run.rows()),
        None => logits,
    }
}

/// h′ = h + block(norm h)
fn block<'t>(run: &mut Run<'t>, shape: &'t Transformer, slot: &Slot) {
    run.begin(slot.layer, shape.length, shape.dropout.attention);
    let readers = slot.readers.iter();
    let read: Vec<Value> = readers
        .map(|&reader| {
            let read = run.read(reader);
            normed(run, &slot.norm, read)
        })
        .collect();
    let written = slot.block.reference(run, &read);
    let stream = (run.rows(), shape.width);
    let mask = run.mask(shape.dropout.residual, (shape.length, shape.width), stream);
    for (&source, own) in slot.sources.iter().zip(written) {
        run.write(source, own.each_times(mask));
    }
}

fn normed<'t>(run: &mut Run<'t>, norm: &Option<Norm>, x: Value<'t>) -> Value<'t> {
    let Some(Norm { gain, bias }) = norm else {
        return x;
    };
    let [gain, bias] = [gain, bias].map(|place| run.weight(place, place.len()));
    layer_norm(x, gain, bias)
}
