//! The naive twin: every model in f64, one sequence at a time, written like the formulas.
//!
//! It shares the layout of parameters with the fast path and nothing else. Tests check its gradients against
//! finite differences, and the fast path against it.

use std::ops::Range;

use super::matrix::Matrix;
use super::minimal::Minimal;
use super::ops::attention::naive::{Naive, naive_softmax, naive_softmax_backward};
use super::ops::dropout::{Rate, naive_mask, pairs};
use super::ops::{gelu, layer_norm, linear, relu};
use super::spec::{Activation, MinimalForm};
use super::transformer::{Layer, Norm, Transformer};
use super::{Kind, Model};

/// Logits of every position, [rows, k].
pub fn logits(model: &Model, params: &[f64], inputs: &[u8]) -> Matrix {
    logits_in_training(model, params, inputs, None)
}

/// The same with the dropout of a training sequence, given its keys
/// ([`dropout_keys`](crate::train::dropout_keys)).
pub fn logits_in_training(
    model: &Model,
    params: &[f64],
    inputs: &[u8],
    keys: Option<[u32; 2]>,
) -> Matrix {
    match model.kind() {
        Kind::Transformer(shape) => TransformerTwin::forward(shape, params, inputs, keys).logits,
        Kind::Minimal(shape) => MinimalTwin::forward(shape, params, inputs).logits(),
    }
}

/// Gradient of every parameter, given that of the logits ([rows, k]).
pub fn gradient(model: &Model, params: &[f64], inputs: &[u8], d_logits: &Matrix) -> Vec<f64> {
    gradient_in_training(model, params, inputs, None, d_logits)
}

/// The same with the dropout of a training sequence, given its keys.
pub fn gradient_in_training(
    model: &Model,
    params: &[f64],
    inputs: &[u8],
    keys: Option<[u32; 2]>,
    d_logits: &Matrix,
) -> Vec<f64> {
    match model.kind() {
        Kind::Transformer(shape) => {
            TransformerTwin::forward(shape, params, inputs, keys).backward(inputs, d_logits)
        }
        Kind::Minimal(shape) => MinimalTwin::forward(shape, params, inputs).backward(d_logits),
    }
}

/// Scores and pattern of every layer and head: `[layer][head]`, two matrices [rows, rows] each.
pub fn attention(model: &Model, params: &[f64], inputs: &[u8]) -> Vec<Vec<(Matrix, Matrix)>> {
    let Kind::Transformer(shape) = model.kind() else {
        return Vec::new();
    };
    let maps = |layer: &LayerTwin| {
        let heads = layer.heads.iter();
        heads
            .map(|head| (head.attn_scores.clone(), head.attn_pattern.clone()))
            .collect()
    };
    TransformerTwin::forward(shape, params, inputs, None)
        .layers
        .iter()
        .map(maps)
        .collect()
}

/// One-hot rows, [rows, k].
fn one_hot(inputs: &[u8], states: usize) -> Matrix {
    Matrix::from_fn(inputs.len(), states, |i, c| {
        f64::from(u8::from(inputs[i] as usize == c))
    })
}

/// Masks, one after the other: what dropout multiplies entries with, or ones without keys.
struct Masks {
    keys: Option<[u32; 2]>,
    /// Number of the next pair of entries.
    next: u32,
}

impl Masks {
    /// The next mask, of t × `columns` entries; cut off after `rows` rows, and columns if these are positions.
    fn next(
        &mut self,
        rate: Option<Rate>,
        (t, columns): (usize, usize),
        (rows, kept_columns): (usize, usize),
    ) -> Matrix {
        let whole = match self.keys {
            Some(keys) => naive_mask(rate, keys, self.next, (t, columns)),
            None => Matrix::from_fn(t, columns, |_, _| 1.0),
        };
        self.next = self.next.wrapping_add(pairs(t, columns));
        Matrix::from_fn(rows, kept_columns, |i, j| whole[(i, j)])
    }
}

struct TransformerTwin<'a> {
    shape: &'a Transformer,
    params: &'a [f64],
    /// On the stream below the first layer.
    embed_mask: Matrix,
    layers: Vec<LayerTwin>,
    resid: Matrix,
    logits: Matrix,
}

/// Activations of a layer: its input, what attention read and wrote, what the MLP read.
struct LayerTwin {
    input: Matrix,
    source: Matrix,
    heads: Vec<Naive>,
    mixed: Matrix,
    /// On what attention adds to the stream.
    attended_mask: Matrix,
    middle: Matrix,
    hidden: Option<Matrix>,
    /// On what the MLP adds to it; ones if there is none.
    mlp_mask: Matrix,
}

impl<'a> TransformerTwin<'a> {
    fn weight(&self, place: &Range<usize>, cols: usize) -> Matrix {
        let data = &self.params[place.clone()];
        Matrix::from_slice(data.len() / cols, cols, data)
    }

    fn normed(&self, norm: &Option<Norm>, x: &Matrix) -> Matrix {
        match norm {
            None => x.clone(),
            Some(norm) => layer_norm::naive_forward(
                x,
                &self.params[norm.gain.clone()],
                &self.params[norm.bias.clone()],
            ),
        }
    }

    fn active(&self, hidden: &Matrix) -> Matrix {
        match self.shape.activation {
            Activation::Gelu => gelu::naive_forward(hidden),
            Activation::Relu => relu::naive_forward(hidden),
        }
    }

    fn forward(
        shape: &'a Transformer,
        params: &'a [f64],
        inputs: &[u8],
        keys: Option<[u32; 2]>,
    ) -> Self {
        let (d, k) = (shape.width, shape.states);
        let mut masks = Masks { keys, next: 0 };
        let stream = ((shape.length, d), (inputs.len(), d));
        let mut twin = Self {
            shape,
            params,
            embed_mask: masks.next(shape.dropout.embedding, stream.0, stream.1),
            layers: Vec::new(),
            resid: Matrix::zeros(0, 0),
            logits: Matrix::zeros(0, 0),
        };
        let mut h = one_hot(inputs, k).times(&twin.weight(&shape.embed, d));
        if let Some(place) = &shape.embed_positions {
            let positions = twin.weight(place, d);
            h = Matrix::from_fn(h.rows, d, |i, c| h[(i, c)] + positions[(i, c)]);
        }
        h = h.each_times(&twin.embed_mask);
        for layer in &shape.layers {
            h = twin.layer_forward(layer, h, &mut masks);
        }
        let source = twin.normed(&shape.final_norm, &h);
        twin.logits = source.times(&twin.weight(&shape.unembed, k));
        twin.resid = h;
        twin
    }

    fn layer_forward(&mut self, layer: &Layer, input: Matrix, masks: &mut Masks) -> Matrix {
        let (d, t, rows) = (self.shape.width, self.shape.length, input.rows);
        let (rates, stream) = (self.shape.dropout, ((t, d), (rows, d)));
        let size = d / layer.heads;
        let source = self.normed(&layer.norm, &input);
        let [queries, keys, values] = [&layer.w_q, &layer.w_k, &layer.w_v]
            .map(|weight| source.times(&self.weight(weight, d)));
        let positions = layer.v.as_ref().map(|v| self.weight(v, d));
        let mut mixed = Matrix::zeros(input.rows, d);
        let mut heads = Vec::new();
        for h in 0..layer.heads {
            let own = |matrix: &Matrix| matrix.columns(h * size, size);
            let head = Naive::new(
                self.shape.relative,
                own(&queries),
                own(&keys),
                own(&values),
                positions.as_ref().map_or(Matrix::zeros(0, size), own),
            );
            let head = head.dropped(masks.next(rates.attention, (t, t), (rows, rows)));
            mixed.add_columns(h * size, &head.output());
            heads.push(head);
        }
        let attended_mask = masks.next(rates.residual, stream.0, stream.1);
        let attended = match &layer.w_o {
            Some(w_o) => mixed.times(&self.weight(w_o, d)),
            None => mixed.clone(),
        };
        let middle = input.plus(&attended.each_times(&attended_mask));
        let mut mlp_mask = Matrix::from_fn(rows, d, |_, _| 1.0);
        let mut output = middle.clone();
        let mut hidden = None;
        if let Some(mlp) = &layer.mlp {
            let (b_in, b_out) = (
                &self.params[mlp.b_in.clone()],
                &self.params[mlp.b_out.clone()],
            );
            let wide = b_in.len();
            let pre = self
                .normed(&mlp.norm, &middle)
                .times(&self.weight(&mlp.w_in, wide));
            let pre = Matrix::from_fn(pre.rows, wide, |i, c| pre[(i, c)] + b_in[c]);
            let post = self.active(&pre).times(&self.weight(&mlp.w_out, d));
            mlp_mask = masks.next(rates.residual, stream.0, stream.1);
            output = Matrix::from_fn(post.rows, d, |i, c| {
                middle[(i, c)] + (post[(i, c)] + b_out[c]) * mlp_mask[(i, c)]
            });
            hidden = Some(pre);
        }
        self.layers.push(LayerTwin {
            input,
            source,
            heads,
            mixed,
            attended_mask,
            middle,
            hidden,
            mlp_mask,
        });
        output
    }

    fn backward(&self, inputs: &[u8], d_logits: &Matrix) -> Vec<f64> {
        let (shape, d) = (self.shape, self.shape.width);
        let mut grads = vec![0.0; self.params.len()];
        let source = self.normed(&shape.final_norm, &self.resid);
        let unembed = self.weight(&shape.unembed, shape.states);
        let (d_source, d_unembed) = linear::naive_backward(&source, &unembed, d_logits);
        store(&mut grads, &shape.unembed, &d_unembed.data);
        let mut dh = self.norm_backward(&shape.final_norm, &self.resid, &d_source, &mut grads);
        for (layer, saved) in shape.layers.iter().zip(&self.layers).rev() {
            dh = self.layer_backward(layer, saved, dh, &mut grads);
        }
        let dh = dh.each_times(&self.embed_mask);
        let d_embed = one_hot(inputs, shape.states).transposed().times(&dh);
        store(&mut grads, &shape.embed, &d_embed.data);
        if let Some(place) = &shape.embed_positions {
            store(
                &mut grads,
                &(place.start..place.start + dh.rows * d),
                &dh.data,
            );
        }
        grads
    }

    fn layer_backward(
        &self,
        layer: &Layer,
        saved: &LayerTwin,
        d_output: Matrix,
        grads: &mut [f64],
    ) -> Matrix {
        let d = self.shape.width;
        let size = d / layer.heads;
        let mut d_middle = d_output;
        if let (Some(mlp), Some(hidden)) = (&layer.mlp, &saved.hidden) {
            let column_sums = |matrix: &Matrix| -> Vec<f64> {
                (0..matrix.cols)
                    .map(|c| (0..matrix.rows).map(|i| matrix[(i, c)]).sum())
                    .collect()
            };
            let (w_in, w_out) = (
                self.weight(&mlp.w_in, hidden.cols),
                self.weight(&mlp.w_out, d),
            );
            let d_added = d_middle.each_times(&saved.mlp_mask);
            store(grads, &mlp.b_out, &column_sums(&d_added));
            let active = self.active(hidden);
            let (d_active, d_w_out) = linear::naive_backward(&active, &w_out, &d_added);
            store(grads, &mlp.w_out, &d_w_out.data);
            let d_hidden = match self.shape.activation {
                Activation::Gelu => gelu::naive_backward(hidden, &d_active),
                Activation::Relu => relu::naive_backward(hidden, &d_active),
            };
            store(grads, &mlp.b_in, &column_sums(&d_hidden));
            let source = self.normed(&mlp.norm, &saved.middle);
            let (d_source, d_w_in) = linear::naive_backward(&source, &w_in, &d_hidden);
            store(grads, &mlp.w_in, &d_w_in.data);
            d_middle =
                d_middle.plus(&self.norm_backward(&mlp.norm, &saved.middle, &d_source, grads));
        }
        let d_attended = d_middle.each_times(&saved.attended_mask);
        let d_mixed = match &layer.w_o {
            Some(place) => {
                let w_o = self.weight(place, d);
                let (d_mixed, d_w_o) = linear::naive_backward(&saved.mixed, &w_o, &d_attended);
                store(grads, place, &d_w_o.data);
                d_mixed
            }
            None => d_attended,
        };
        let rows = d_mixed.rows;
        let [mut d_q, mut d_k, mut d_u] = [(); 3].map(|()| Matrix::zeros(rows, d));
        let mut d_v = layer.v.as_ref().map(|v| Matrix::zeros(v.len() / d, d));
        for (h, head) in saved.heads.iter().enumerate() {
            let own = head.backward(&d_mixed.columns(h * size, size));
            d_q.add_columns(h * size, &own.queries);
            d_k.add_columns(h * size, &own.keys);
            d_u.add_columns(h * size, &own.values);
            if let Some(d_v) = &mut d_v {
                d_v.add_columns(h * size, &own.positions);
            }
        }
        if let (Some(place), Some(d_v)) = (&layer.v, d_v) {
            store(grads, place, &d_v.data);
        }
        let mut d_source = Matrix::zeros(rows, d);
        for (place, d_projected) in [(&layer.w_q, d_q), (&layer.w_k, d_k), (&layer.w_v, d_u)] {
            let weight = self.weight(place, d);
            let (d_own, d_weight) = linear::naive_backward(&saved.source, &weight, &d_projected);
            store(grads, place, &d_weight.data);
            d_source = d_source.plus(&d_own);
        }
        d_middle.plus(&self.norm_backward(&layer.norm, &saved.input, &d_source, grads))
    }

    fn norm_backward(
        &self,
        norm: &Option<Norm>,
        x: &Matrix,
        d_source: &Matrix,
        grads: &mut [f64],
    ) -> Matrix {
        match norm {
            None => d_source.clone(),
            Some(norm) => {
                let gain = &self.params[norm.gain.clone()];
                let (dx, d_gain, d_bias) = layer_norm::naive_backward(x, gain, d_source);
                store(grads, &norm.gain, &d_gain);
                store(grads, &norm.bias, &d_bias);
                dx
            }
        }
    }
}

fn store(grads: &mut [f64], place: &Range<usize>, values: &[f64]) {
    grads[place.clone()].copy_from_slice(values);
}

/// f(E) = mask(E W (M E)ᵀ) E, computed with its matrices.
struct MinimalTwin<'a> {
    shape: &'a Minimal,
    /// E, [rows, k]
    symbols: Matrix,
    /// W_k, [k, k]
    w_k: Matrix,
    /// M, [rows, rows]
    m: Matrix,
    /// mask(E W (M E)ᵀ), [rows, rows]
    scores: Matrix,
}

impl<'a> MinimalTwin<'a> {
    fn forward(shape: &'a Minimal, params: &[f64], inputs: &[u8]) -> Self {
        let (rows, k) = (inputs.len(), shape.states);
        let v = &params[shape.v.clone()];
        let symbols = one_hot(inputs, k);
        let w_k = Matrix::from_slice(k, k, &params[shape.w_k.clone()]);
        let m = match shape.form {
            MinimalForm::Linear => {
                Matrix::from_fn(rows, rows, |i, j| if j <= i { v[i - j] } else { 0.0 })
            }
            MinimalForm::Softmax => naive_softmax(&Matrix::from_fn(rows, rows, |i, j| {
                if j <= i { v[i - j] } else { f64::NEG_INFINITY }
            })),
        };
        let scores = masked(&symbols.times(&w_k).times(&m.times(&symbols).transposed()));
        Self {
            shape,
            symbols,
            w_k,
            m,
            scores,
        }
    }

    fn logits(&self) -> Matrix {
        self.scores.times(&self.symbols)
    }

    fn backward(&self, d_logits: &Matrix) -> Vec<f64> {
        let (rows, e) = (self.symbols.rows, &self.symbols);
        let d_scores = masked(&d_logits.times(&e.transposed()));
        // scores = E W (M E)ᵀ  ⟹  dW = Eᵀ dscores (M E), d(M E) = dscoresᵀ E W, dM = d(M E) Eᵀ
        let before = self.m.times(e);
        let d_w_k = e.transposed().times(&d_scores).times(&before);
        let d_before = d_scores.transposed().times(&e.times(&self.w_k));
        let d_m = d_before.times(&e.transposed());
        let d_lag = match self.shape.form {
            MinimalForm::Linear => d_m,
            MinimalForm::Softmax => naive_softmax_backward(&self.m, &d_m),
        };
        let mut grads = vec![0.0; self.shape.layout.len()];
        store(&mut grads, &self.shape.w_k, &d_w_k.data);
        for i in 0..rows {
            for j in 0..=i {
                grads[self.shape.v.start + i - j] += d_lag[(i, j)];
            }
        }
        grads
    }
}

/// Zero above the diagonal.
fn masked(matrix: &Matrix) -> Matrix {
    Matrix::from_fn(matrix.rows, matrix.cols, |i, j| {
        if j <= i { matrix[(i, j)] } else { 0.0 }
    })
}
