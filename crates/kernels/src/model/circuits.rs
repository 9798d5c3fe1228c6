//! Small matrices that describe what a transformer's first two layers look for, whatever the sequence.

use std::ops::Range;

use super::block::{Attention, Norm};
use super::matrix::Matrix;
use super::ops::attention::RelativeTerm;
use super::reference::formulas::layer_norm;
use super::reference::tape::Tape;
use super::transformer::{Layer, Transformer};
use super::{Kind, Model};

/// What position alone adds to the first layer's scores: for every head a [k, t] matrix, the score that the
/// symbol attended to (relative-key) or attending (relative-query) gives to each lag.
///
/// None without relative positions.
pub fn positional_scores(model: &Model, params: &[f32]) -> Option<Vec<Matrix>> {
    let Kind::Transformer(shape) = model.kind() else {
        return None;
    };
    let view = View { shape, params };
    let layer = shape.layers[0].attention.as_ref()?;
    let positions = view.weight(layer.v.as_ref()?, shape.width);
    let biases = layer.biases.as_ref();
    let (projection, bias) = match layer.scheme.relative {
        RelativeTerm::Key => (&layer.w_k, biases.map(|own| &own.k)),
        RelativeTerm::Query => (&layer.w_q, biases.map(|own| &own.q)),
        RelativeTerm::Absent => return None,
    };
    let embedded = view.normed(
        &shape.layers[0].norm,
        &view.weight(&shape.embed, shape.width),
    );
    let mut projected = embedded.times(&view.weight(projection, shape.width));
    if let Some(bias) = bias {
        let bias = view.weight(bias, shape.width);
        let rows = Matrix::from_fn(projected.rows, projected.cols, |_, c| bias[(0, c)]);
        projected = projected.plus(&rows);
    }
    let size = shape.width / layer.heads;
    let factor = 1.0 / (size as f64).sqrt();
    let own = |matrix: &Matrix, h: usize| matrix.columns(h * size, size);
    let heads = (0..layer.heads).map(|h| {
        let scores = own(&projected, h).times(&own(&positions, h).transposed());
        scores.map(|score| score * factor)
    });
    Some(heads.collect())
}

/// How strongly the second layer, at a given symbol, looks for positions whose first-layer head brought a
/// given symbol: [k, k] for every pair of a first-layer and a second-layer head. For the minimal model, W_k.
///
/// None for one layer, and none with layer norm, biases or an MLP in between, where no fixed matrix describes it.
pub fn matching_scores(model: &Model, params: &[f32]) -> Option<Vec<Matrix>> {
    let shape = match model.kind() {
        Kind::Minimal(shape) => return Some(vec![matrix(params, &shape.w_k, shape.states)]),
        Kind::Transformer(shape) => shape,
    };
    let [below, above, ..] = shape.layers.as_slice() else {
        return None;
    };
    if above.norm.is_some() || !below.is_attention_only() {
        return None;
    }
    let (first, second) = (below.attention.as_ref()?, above.attention.as_ref()?);
    if first.biases.is_some() || second.biases.is_some() {
        return None;
    }
    let (d, view) = (shape.width, View { shape, params });
    let embedded = view.weight(&shape.embed, d);
    let queries = embedded.times(&view.weight(&second.w_q, d));
    let values = embedded.times(&view.weight(&first.w_v, d));
    let to_keys = view.weight(&second.w_k, d);
    let size = d / second.heads;
    let factor = 1.0 / (size as f64).sqrt();
    let mut pairs = Vec::new();
    for h1 in 0..first.heads {
        let keys = view.written(first, &values, h1).times(&to_keys);
        for h2 in 0..second.heads {
            let own = |matrix: &Matrix| matrix.columns(h2 * size, size);
            let scores = own(&queries).times(&own(&keys).transposed());
            pairs.push(scores.map(|score| score * factor));
        }
    }
    Some(pairs)
}

/// What a symbol that a head attends to adds to the logits on the direct path, through the head's values and
/// past all later layers: E W_V W_O P, a [k, k] matrix by layer and head, without biases. Empty for the minimal
/// model.
///
/// With layer norm, the layer's norm is taken of the embedding alone. Of the last norm, centring and gain
/// count. Its division by the standard deviation does not, because that depends on everything else in the
/// stream, and neither does its bias.
pub fn copying_scores(model: &Model, params: &[f32]) -> Vec<Vec<Matrix>> {
    let Kind::Transformer(shape) = model.kind() else {
        return Vec::new();
    };
    let view = View { shape, params };
    let embedded = view.weight(&shape.embed, shape.width);
    let of_layer = |layer: &Layer| {
        let values = view.normed(&layer.norm, &embedded);
        let Some(attention) = &layer.attention else {
            return Vec::new();
        };
        let values = values.times(&view.weight(&attention.w_v, shape.width));
        let of_head = |h| view.to_logits(&view.written(attention, &values, h));
        (0..attention.heads).map(of_head).collect()
    };
    shape.layers.iter().map(of_layer).collect()
}

/// What the current symbol adds to the logits past all layers: E P, [k, k]. The last norm counts as for
/// [`copying_scores`]. None for the minimal model.
pub fn direct_scores(model: &Model, params: &[f32]) -> Option<Matrix> {
    let Kind::Transformer(shape) = model.kind() else {
        return None;
    };
    let view = View { shape, params };
    Some(view.to_logits(&view.weight(&shape.embed, shape.width)))
}

/// The parameters at a place, as rows of `cols`.
fn matrix(params: &[f32], place: &Range<usize>, cols: usize) -> Matrix {
    let data: Vec<f64> = params[place.clone()].iter().map(|&w| w.into()).collect();
    Matrix::from_slice(data.len() / cols, cols, &data)
}

struct View<'a> {
    shape: &'a Transformer,
    params: &'a [f32],
}

impl View<'_> {
    fn weight(&self, place: &Range<usize>, cols: usize) -> Matrix {
        matrix(self.params, place, cols)
    }

    fn normed(&self, norm: &Option<Norm>, x: &Matrix) -> Matrix {
        let Some(norm) = norm else { return x.clone() };
        let tape = Tape::default();
        let row = |place| tape.constant(self.weight(place, self.shape.width));
        layer_norm(tape.constant(x.clone()), row(&norm.gain), row(&norm.bias)).matrix()
    }

    /// What head `h` of a layer writes for each row of values: its columns, through W_O if there is one.
    fn written(&self, layer: &Attention, values: &Matrix, h: usize) -> Matrix {
        let d = self.shape.width;
        let size = d / layer.heads;
        let mut written = Matrix::zeros(values.rows, d);
        written.add_columns(h * size, &values.columns(h * size, size));
        match &layer.w_o {
            Some(w_o) => written.times(&self.weight(w_o, d)),
            None => written,
        }
    }

    /// What parts of the last stream add to the logits; of the last norm, centring and gain count.
    fn to_logits(&self, parts: &Matrix) -> Matrix {
        let (shape, d) = (self.shape, self.shape.width);
        let unembed = match shape.tied {
            true => self.weight(&shape.embed, d).transposed(),
            false => self.weight(&shape.unembed, shape.states),
        };
        let Some(norm) = &shape.final_norm else {
            return parts.times(&unembed);
        };
        let gain = self.weight(&norm.gain, d).data;
        let centred = parts.minus(&parts.row_means());
        let stretched = |i: usize, j: usize| centred[(i, j)] * gain[j];
        Matrix::from_fn(parts.rows, d, stretched).times(&unembed)
    }
}
