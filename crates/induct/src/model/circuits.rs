//! Small matrices that describe what a transformer's first two layers look for, whatever the sequence.

use super::matrix::Matrix;
use super::ops::attention::RelativeTerm;
use super::ops::layer_norm;
use super::transformer::{Norm, Transformer};
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
    let layer = &shape.layers[0];
    let positions = view.weight(layer.v.as_ref()?, shape.width);
    let projection = match shape.relative {
        RelativeTerm::Key => &layer.w_k,
        RelativeTerm::Query => &layer.w_q,
        RelativeTerm::Absent => return None,
    };
    let embedded = view.normed(&layer.norm, &view.weight(&shape.embed, shape.width));
    let projected = embedded.times(&view.weight(projection, shape.width));
    let size = shape.width / layer.heads;
    let own = |matrix: &Matrix, h: usize| matrix.columns(h * size, size);
    let heads = (0..layer.heads).map(|h| {
        let scores = own(&projected, h).times(&own(&positions, h).transposed());
        scaled(&scores, 1.0 / (size as f64).sqrt())
    });
    Some(heads.collect())
}

/// How strongly the second layer, at a given symbol, looks for positions whose first-layer head brought a
/// given symbol: [k, k] for every pair of a first-layer and a second-layer head. For the minimal model, W_k.
///
/// None for one layer, and none with layer norm or an MLP in between, where no fixed matrix describes it.
pub fn matching_scores(model: &Model, params: &[f32]) -> Option<Vec<Matrix>> {
    let shape = match model.kind() {
        Kind::Minimal(shape) => {
            let data: Vec<f64> = params[shape.w_k.clone()]
                .iter()
                .map(|&w| w.into())
                .collect();
            return Some(vec![Matrix::from_slice(shape.states, shape.states, &data)]);
        }
        Kind::Transformer(shape) => shape,
    };
    let [first, second, ..] = shape.layers.as_slice() else {
        return None;
    };
    if second.norm.is_some() || first.mlp.is_some() {
        return None;
    }
    let (d, view) = (shape.width, View { shape, params });
    let embedded = view.weight(&shape.embed, d);
    let queries = embedded.times(&view.weight(&second.w_q, d));
    let values = embedded.times(&view.weight(&first.w_v, d));
    let to_keys = view.weight(&second.w_k, d);
    let (size_1, size_2) = (d / first.heads, d / second.heads);
    let mut pairs = Vec::new();
    for h1 in 0..first.heads {
        // What head h1 writes for each symbol: its columns of the values, through W_O if there is one.
        let mut written = Matrix::zeros(shape.states, d);
        written.add_columns(h1 * size_1, &values.columns(h1 * size_1, size_1));
        if let Some(w_o) = &first.w_o {
            written = written.times(&view.weight(w_o, d));
        }
        let keys = written.times(&to_keys);
        for h2 in 0..second.heads {
            let own = |matrix: &Matrix| matrix.columns(h2 * size_2, size_2);
            let scores = own(&queries).times(&own(&keys).transposed());
            pairs.push(scaled(&scores, 1.0 / (size_2 as f64).sqrt()));
        }
    }
    Some(pairs)
}

struct View<'a> {
    shape: &'a Transformer,
    params: &'a [f32],
}

impl View<'_> {
    fn weight(&self, place: &std::ops::Range<usize>, cols: usize) -> Matrix {
        let data: Vec<f64> = self.params[place.clone()]
            .iter()
            .map(|&w| w.into())
            .collect();
        Matrix::from_slice(data.len() / cols, cols, &data)
    }

    fn normed(&self, norm: &Option<Norm>, x: &Matrix) -> Matrix {
        let Some(norm) = norm else { return x.clone() };
        let d = self.shape.width;
        let [gain, bias] = [&norm.gain, &norm.bias].map(|place| self.weight(place, d).data);
        layer_norm::naive_forward(x, &gain, &bias)
    }
}

fn scaled(matrix: &Matrix, factor: f64) -> Matrix {
    Matrix::from_fn(matrix.rows, matrix.cols, |i, j| matrix[(i, j)] * factor)
}
