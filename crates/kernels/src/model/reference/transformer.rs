//! The transformer's formulas.

use super::formulas::{gelu, layer_norm, relu};
use super::run::Run;
use super::tape::Value;
use crate::model::ops::attention::RelativeTerm;
use crate::model::transformer::{Mlp, Norm, Transformer};
use crate::model::{Activation, Reader, Site, Source};

/// Logits of every position, [rows, k].
pub(super) fn logits<'t>(run: &mut Run<'t>, shape: &Transformer) -> Value<'t> {
    let (tokens, d) = (run.sequence.tokens.to_vec(), shape.width);
    let (stream, states) = ((tokens.len(), d), shape.states);
    let row_of = move |i: usize, c: usize| Some((usize::from(tokens[i]), c));
    let mut embedded = run.weight(&shape.embed, d).take(stream, row_of);
    if let Some(place) = &shape.embed_positions {
        let positions = run.weight(place, d);
        embedded = embedded + positions.take(stream, |i, c| Some((i, c)));
    }
    let mask = run.mask(shape.dropout.embedding, (shape.length, d), stream);
    run.write(Source::Embed, embedded.each_times(mask));
    for (l, layer) in shape.layers.iter().enumerate() {
        attention(run, shape, l);
        if let Some(places) = &layer.mlp {
            mlp(run, shape, places, l);
        }
    }
    let read = run.read(Reader::Logits);
    normed(run, &shape.final_norm, read).times(run.weight(&shape.unembed, states))
}

/// out_i = Σ_j p_ij u_j (W_O) by head, with p = softmax(s) and s_ij = (q_i + r_{i−j}) · k_j / √m or
/// q_i · (k_j + r_{i−j}) / √m.
fn attention<'t>(run: &mut Run<'t>, shape: &Transformer, l: usize) {
    let (layer, rates) = (&shape.layers[l], shape.dropout);
    let (t, rows, d) = (shape.length, run.rows(), shape.width);
    let size = d / layer.heads;
    let [queries, keys, values] = [
        (Reader::Queries(l), &layer.w_q),
        (Reader::Keys(l), &layer.w_k),
        (Reader::Values(l), &layer.w_v),
    ]
    .map(|(reader, place)| {
        let read = run.read(reader);
        normed(run, &layer.norm, read).times(run.weight(place, d))
    });
    let positions = layer.v.as_ref().map(|v| run.weight(v, d));
    let heads = (0..layer.heads).map(|head| {
        let own = |matrix: Value<'t>| matrix.columns(head * size, size);
        let (q, k) = (own(queries), own(keys).transposed());
        let mut scores = q.times(k);
        if let Some(r) = positions.map(own) {
            let square = (rows, rows);
            scores = scores
                + match shape.relative {
                    RelativeTerm::Query => q
                        .times(r.transposed())
                        .take(square, |i, j| Some((i, i.checked_sub(j)?))),
                    _ => r.times(k).take(square, |i, j| Some((i.checked_sub(j)?, j))),
                };
        }
        let scores = scores.scaled(1.0 / (size as f64).sqrt());
        let mask = run.mask(rates.attention, (t, t), (rows, rows));
        let site = Site::Pattern { layer: l, head };
        run.attend(site, scores, mask, own(values))
    });
    let heads: Vec<Value> = heads.collect();
    let mask = run.mask(rates.residual, (t, d), (rows, d));
    let w_o = layer.w_o.as_ref().map(|w_o| run.weight(w_o, d));
    for (head, output) in heads.into_iter().enumerate() {
        let first = head * size;
        let written = match w_o {
            Some(w_o) => output.times(w_o.take((size, d), move |i, c| Some((first + i, c)))),
            None => output,
        };
        run.write(Source::Head { layer: l, head }, written.each_times(mask));
    }
}

/// out = activation(x W_in + b_in) W_out + b_out
fn mlp(run: &mut Run, shape: &Transformer, mlp: &Mlp, l: usize) {
    let (t, rows, d) = (shape.length, run.rows(), shape.width);
    let wide = mlp.b_in.len();
    let read = run.read(Reader::Mlp(l));
    let x = normed(run, &mlp.norm, read);
    let hidden = x.times(run.weight(&mlp.w_in, wide)) + run.weight(&mlp.b_in, wide).repeated(rows);
    let active = match shape.activation {
        Activation::Gelu => gelu(hidden),
        Activation::Relu => relu(hidden),
    };
    let output = active.times(run.weight(&mlp.w_out, d)) + run.weight(&mlp.b_out, d).repeated(rows);
    let mask = run.mask(shape.dropout.residual, (t, d), (rows, d));
    run.write(Source::Mlp { layer: l }, output.each_times(mask));
}

fn normed<'t>(run: &mut Run<'t>, norm: &Option<Norm>, x: Value<'t>) -> Value<'t> {
    let Some(Norm { gain, bias }) = norm else {
        return x;
    };
    layer_norm(
        x,
        run.weight(gain, gain.len()),
        run.weight(bias, bias.len()),
    )
}
