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
use super::{Instead, Intervention, Kind, Model, Reader, Site, Source, Target};

/// Logits of every position, [rows, k].
pub fn logits(model: &Model, params: &[f64], inputs: &[u8]) -> Matrix {
    logits_in_training(model, params, inputs, None)
}

/// The same with the dropout of a training sequence, given its keys
/// (`induct::train::dropout_keys`).
pub fn logits_in_training(
    model: &Model,
    params: &[f64],
    inputs: &[u8],
    keys: Option<[u32; 2]>,
) -> Matrix {
    logits_under(
        model,
        params,
        (inputs, keys),
        &Constants::alone(model, inputs),
    )
}

/// A sequence, and the keys of its dropout in training.
pub type Sequence<'a> = (&'a [u8], Option<[u32; 2]>);

/// The same under the model's interventions, given what they put in place of activations.
pub fn logits_under(
    model: &Model,
    params: &[f64],
    sequence: Sequence,
    constants: &Constants,
) -> Matrix {
    match model.kind() {
        Kind::Transformer(shape) => {
            TransformerTwin::forward(shape, params, sequence, (model, constants)).logits
        }
        Kind::Minimal(_) => MinimalTwin::forward(model, params, sequence.0, constants).logits(),
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
    let constants = Constants::alone(model, inputs);
    gradient_under(model, params, (inputs, keys), &constants, d_logits)
}

/// The same under the model's interventions, given what they put in place of activations.
pub fn gradient_under(
    model: &Model,
    params: &[f64],
    sequence: Sequence,
    constants: &Constants,
    d_logits: &Matrix,
) -> Vec<f64> {
    match model.kind() {
        Kind::Transformer(shape) => {
            let twin = TransformerTwin::forward(shape, params, sequence, (model, constants));
            twin.backward(sequence.0, d_logits)
        }
        Kind::Minimal(_) => {
            MinimalTwin::forward(model, params, sequence.0, constants).backward(d_logits)
        }
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
    let constants = Constants::alone(model, inputs);
    TransformerTwin::forward(shape, params, (inputs, None), (model, &constants))
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
    interventions: &'a [Intervention],
    constants: &'a Constants,
    /// What every source wrote, before interventions.
    written: Vec<(Source, Matrix)>,
    /// On the stream below the first layer.
    embed_mask: Matrix,
    layers: Vec<LayerTwin>,
    resid: Matrix,
    logits: Matrix,
}

/// Activations of a layer: its input, what attention wrote, what the MLP read.
struct LayerTwin {
    input: Matrix,
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

    /// What a reader reads: the stream, where interventions leave it that.
    fn read(&self, reader: Reader, stream: &Matrix) -> Matrix {
        let mut read = stream.clone();
        for (index, intervention) in self.interventions.iter().enumerate() {
            let Site::Written { by, to: Some(to) } = intervention.site else {
                continue;
            };
            if let (true, Some(instead)) = (to == reader, self.constants.get(index)) {
                let own = self.written.iter().find(|(source, _)| *source == by);
                let (_, own) = own.expect("sources write before they are read");
                read = read.plus(instead).minus(own);
            }
        }
        read
    }

    /// Keeps what a source writes, and returns what all readers see of it.
    fn write(&mut self, source: Source, own: Matrix) -> Matrix {
        let instead = self.at_source(source);
        let seen = instead.and_then(|index| self.constants.get(index));
        let seen = seen.unwrap_or(&own).clone();
        self.written.push((source, own));
        seen
    }

    /// The intervention on what all readers see of a source.
    fn at_source(&self, source: Source) -> Option<usize> {
        let site = Site::Written {
            by: source,
            to: None,
        };
        self.interventions
            .iter()
            .position(|other| other.site == site)
    }

    /// Carries the gradient of what a reader read back to the stream, and withholds it from sources of which
    /// the reader saw something else.
    fn read_backward(&self, reader: Reader, d_read: &Matrix, d: &mut Slopes) {
        d.stream = d.stream.plus(d_read);
        for intervention in self.interventions {
            if let Site::Written { by, to: Some(to) } = intervention.site
                && to == reader
            {
                match d.cut.iter_mut().find(|(source, _)| *source == by) {
                    Some((_, cut)) => *cut = cut.plus(d_read),
                    None => d.cut.push((by, d_read.clone())),
                }
            }
        }
    }

    /// The gradient of what a source wrote.
    fn write_backward(&self, source: Source, d: &Slopes) -> Matrix {
        if self.at_source(source).is_some() {
            return Matrix::zeros(d.stream.rows, d.stream.cols);
        }
        match d.cut.iter().find(|(other, _)| *other == source) {
            Some((_, cut)) => d.stream.minus(cut),
            None => d.stream.clone(),
        }
    }

    /// A head as interventions on its pattern leave it.
    fn changed(&self, layer: usize, head: usize, own: Naive) -> Naive {
        let site = Site::Pattern { layer, head };
        let Some(index) = self
            .interventions
            .iter()
            .position(|other| other.site == site)
        else {
            return own;
        };
        let constant = self.constants.get(index).cloned();
        match (&self.interventions[index].instead, constant) {
            (Instead::WithoutUniform, _) => {
                let none = Matrix::zeros(own.added.rows, own.added.cols);
                own.apart(Some(none))
            }
            (Instead::UniformItself, added) => own.apart(added),
            (_, Some(pattern)) => own.given(pattern),
            (_, None) => own.stopped(),
        }
    }

    fn forward(
        shape: &'a Transformer,
        params: &'a [f64],
        (inputs, keys): Sequence,
        (model, constants): (&'a Model, &'a Constants),
    ) -> Self {
        let (d, k) = (shape.width, shape.states);
        let mut masks = Masks { keys, next: 0 };
        let stream = ((shape.length, d), (inputs.len(), d));
        let mut twin = Self {
            shape,
            params,
            interventions: model.interventions(),
            constants,
            written: Vec::new(),
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
        h = twin.write(Source::Embed, h.each_times(&twin.embed_mask));
        for (l, layer) in shape.layers.iter().enumerate() {
            h = twin.layer_forward((l, layer), h, &mut masks);
        }
        let source = twin.normed(&shape.final_norm, &twin.read(Reader::Logits, &h));
        twin.logits = source.times(&twin.weight(&shape.unembed, k));
        twin.resid = h;
        twin
    }

    fn layer_forward(
        &mut self,
        (l, layer): (usize, &Layer),
        input: Matrix,
        masks: &mut Masks,
    ) -> Matrix {
        let (d, t, rows) = (self.shape.width, self.shape.length, input.rows);
        let (rates, stream) = (self.shape.dropout, ((t, d), (rows, d)));
        let size = d / layer.heads;
        let [queries, keys, values] = projections(l, layer).map(|(reader, weight)| {
            let source = self.normed(&layer.norm, &self.read(reader, &input));
            source.times(&self.weight(weight, d))
        });
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
            let head = self.changed(l, h, head);
            mixed.add_columns(h * size, &head.output());
            heads.push(head);
        }
        let attended_mask = masks.next(rates.residual, stream.0, stream.1);
        let mut middle = input.clone();
        for h in 0..layer.heads {
            let mut own = Matrix::zeros(rows, d);
            own.add_columns(h * size, &mixed.columns(h * size, size));
            let own = match &layer.w_o {
                Some(w_o) => own.times(&self.weight(w_o, d)),
                None => own,
            };
            let source = Source::Head { layer: l, head: h };
            middle = middle.plus(&self.write(source, own.each_times(&attended_mask)));
        }
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
                .normed(&mlp.norm, &self.read(Reader::Mlp(l), &middle))
                .times(&self.weight(&mlp.w_in, wide));
            let pre = Matrix::from_fn(pre.rows, wide, |i, c| pre[(i, c)] + b_in[c]);
            let post = self.active(&pre).times(&self.weight(&mlp.w_out, d));
            mlp_mask = masks.next(rates.residual, stream.0, stream.1);
            let own = |i: usize, c: usize| (post[(i, c)] + b_out[c]) * mlp_mask[(i, c)];
            let own = Matrix::from_fn(post.rows, d, own);
            output = middle.plus(&self.write(Source::Mlp { layer: l }, own));
            hidden = Some(pre);
        }
        self.layers.push(LayerTwin {
            input,
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
        let read = self.read(Reader::Logits, &self.resid);
        let source = self.normed(&shape.final_norm, &read);
        let unembed = self.weight(&shape.unembed, shape.states);
        let (d_source, d_unembed) = linear::naive_backward(&source, &unembed, d_logits);
        store(&mut grads, &shape.unembed, &d_unembed.data);
        let mut slopes = Slopes {
            stream: Matrix::zeros(read.rows, d),
            cut: Vec::new(),
        };
        let d_read = self.norm_backward(&shape.final_norm, &read, &d_source, &mut grads);
        self.read_backward(Reader::Logits, &d_read, &mut slopes);
        let layers = shape.layers.iter().zip(&self.layers).enumerate();
        for (l, (layer, saved)) in layers.rev() {
            self.layer_backward((l, layer), saved, &mut slopes, &mut grads);
        }
        let dh = self.write_backward(Source::Embed, &slopes);
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
        (l, layer): (usize, &Layer),
        saved: &LayerTwin,
        slopes: &mut Slopes,
        grads: &mut [f64],
    ) {
        let d = self.shape.width;
        let size = d / layer.heads;
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
            let d_added = self.write_backward(Source::Mlp { layer: l }, slopes);
            let d_added = d_added.each_times(&saved.mlp_mask);
            store(grads, &mlp.b_out, &column_sums(&d_added));
            let active = self.active(hidden);
            let (d_active, d_w_out) = linear::naive_backward(&active, &w_out, &d_added);
            store(grads, &mlp.w_out, &d_w_out.data);
            let d_hidden = match self.shape.activation {
                Activation::Gelu => gelu::naive_backward(hidden, &d_active),
                Activation::Relu => relu::naive_backward(hidden, &d_active),
            };
            store(grads, &mlp.b_in, &column_sums(&d_hidden));
            let read = self.read(Reader::Mlp(l), &saved.middle);
            let source = self.normed(&mlp.norm, &read);
            let (d_source, d_w_in) = linear::naive_backward(&source, &w_in, &d_hidden);
            store(grads, &mlp.w_in, &d_w_in.data);
            let d_read = self.norm_backward(&mlp.norm, &read, &d_source, grads);
            self.read_backward(Reader::Mlp(l), &d_read, slopes);
        }
        let rows = saved.mixed.rows;
        let mut d_mixed = Matrix::zeros(rows, d);
        for h in 0..layer.heads {
            let d_written = self.write_backward(Source::Head { layer: l, head: h }, slopes);
            let d_attended = d_written.each_times(&saved.attended_mask);
            let d_own = match &layer.w_o {
                Some(place) => {
                    let w_o = self.weight(place, d);
                    let mut own = Matrix::zeros(rows, d);
                    own.add_columns(h * size, &saved.mixed.columns(h * size, size));
                    let (d_own, d_w_o) = linear::naive_backward(&own, &w_o, &d_attended);
                    let sums = grads[place.clone()].iter_mut();
                    sums.zip(&d_w_o.data).for_each(|(sum, part)| *sum += part);
                    d_own
                }
                None => d_attended,
            };
            d_mixed.add_columns(h * size, &d_own.columns(h * size, size));
        }
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
        for ((reader, place), d_projected) in projections(l, layer).into_iter().zip([d_q, d_k, d_u])
        {
            let weight = self.weight(place, d);
            let read = self.read(reader, &saved.input);
            let source = self.normed(&layer.norm, &read);
            let (d_source, d_weight) = linear::naive_backward(&source, &weight, &d_projected);
            store(grads, place, &d_weight.data);
            let d_read = self.norm_backward(&layer.norm, &read, &d_source, grads);
            self.read_backward(reader, &d_read, slopes);
        }
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
                // Queries, keys and values may each have read something else.
                for (place, part) in [(&norm.gain, d_gain), (&norm.bias, d_bias)] {
                    let sums = grads[place.clone()].iter_mut();
                    sums.zip(&part).for_each(|(sum, part)| *sum += part);
                }
                dx
            }
        }
    }
}

fn store(grads: &mut [f64], place: &Range<usize>, values: &[f64]) {
    grads[place.clone()].copy_from_slice(values);
}

/// What reads a layer's input, and what it multiplies it with.
fn projections(l: usize, layer: &Layer) -> [(Reader, &Range<usize>); 3] {
    [
        (Reader::Queries(l), &layer.w_q),
        (Reader::Keys(l), &layer.w_k),
        (Reader::Values(l), &layer.w_v),
    ]
}

/// The gradient of the stream on its way down, and what is withheld from sources.
struct Slopes {
    stream: Matrix,
    cut: Vec<(Source, Matrix)>,
}

/// What interventions put in place of activations on one sequence, by intervention. Where there is nothing, it is
/// the activation itself.
#[derive(Clone, Debug)]
pub struct Constants(Vec<Option<Matrix>>);

impl Constants {
    fn get(&self, index: usize) -> Option<&Matrix> {
        self.0[index].as_ref()
    }

    /// What is known from a sequence alone: zeros and patterns with a name.
    fn alone(model: &Model, inputs: &[u8]) -> Self {
        let rows = inputs.len();
        let constant = |intervention: &Intervention| match (&intervention.instead, model.kind()) {
            (Instead::Zero, Kind::Transformer(shape)) => Some(Matrix::zeros(rows, shape.width)),
            (Instead::Target(Target::Lag(lag)), Kind::Minimal(_)) => {
                // Rows of M need not sum to one.
                let at = |i: usize, j: usize| f64::from(u8::from(i == j + lag));
                Some(Matrix::from_fn(rows, rows, at))
            }
            (Instead::Target(target), _) => {
                let table: Vec<Vec<f64>> = (0..rows).map(|i| target.row(&inputs[..=i])).collect();
                let weight = |i: usize, j: usize| table[i].get(j).copied().unwrap_or(0.0);
                Some(Matrix::from_fn(rows, rows, weight))
            }
            _ => None,
        };
        Self(model.interventions().iter().map(constant).collect())
    }

    /// All of them for sequence `index` of a batch of at most as many sequences as a block has lanes.
    pub fn of(model: &Model, params: &[f64], batch: &[&[u8]], index: usize) -> Self {
        let Kind::Transformer(shape) = model.kind() else {
            return Self::alone(model, batch[index]);
        };
        let clean = model.with(&[]).expect("a model without interventions");
        let run = |params: &[f64], sequence: usize, site: &Site| {
            let (none, sequence) = (Constants(Vec::new()), (batch[sequence], None));
            let twin = TransformerTwin::forward(shape, params, sequence, (&clean, &none));
            twin.at(site)
        };
        let mut constants = Self::alone(model, batch[index]);
        for (constant, intervention) in constants.0.iter_mut().zip(model.interventions()) {
            let site = &intervention.site;
            match &intervention.instead {
                Instead::Mean => {
                    let all = (0..batch.len()).map(|sequence| run(params, sequence, site));
                    let sum = all.reduce(|sum, own| sum.plus(&own)).expect("a sequence");
                    let share = 1.0 / batch.len() as f64;
                    let mean = |i: usize, c: usize| sum[(i, c)] * share;
                    *constant = Some(Matrix::from_fn(sum.rows, sum.cols, mean));
                }
                Instead::Resampled => {
                    *constant = Some(run(params, (index + 1) % batch.len(), site));
                }
                Instead::Of(weights) => {
                    let weights: Vec<f64> = weights.iter().map(|&w| w.into()).collect();
                    *constant = Some(run(&weights, index, site));
                }
                _ => {}
            }
        }
        constants
    }

    /// The same with everything through which no gradient flows held where it is: what a difference of losses
    /// has to hold fast.
    pub fn held(mut self, model: &Model, params: &[f64], sequence: Sequence) -> Self {
        if let Kind::Transformer(shape) = model.kind() {
            let twin = TransformerTwin::forward(shape, params, sequence, (model, &self));
            let interventions = model.interventions().iter().enumerate();
            let held = interventions.filter_map(|(index, intervention)| {
                let value = match intervention.instead {
                    Instead::Itself => twin.at(&intervention.site),
                    Instead::UniformItself => twin.added(&intervention.site),
                    _ => return None,
                };
                Some((index, value))
            });
            let held: Vec<(usize, Matrix)> = held.collect();
            for (index, value) in held {
                self.0[index] = Some(value);
            }
        } else if let [None] = self.0[..] {
            self.0 = vec![Some(
                MinimalTwin::forward(model, params, sequence.0, &self).m,
            )];
        }
        self
    }
}

impl TransformerTwin<'_> {
    /// What is at a site, before interventions there.
    fn at(&self, site: &Site) -> Matrix {
        match *site {
            Site::Written { by, .. } => {
                let own = self.written.iter().find(|(source, _)| *source == by);
                own.expect("a source of this model").1.clone()
            }
            Site::Pattern { layer, head } => {
                let head = &self.layers[layer].heads[head];
                head.attn_pattern.each_times(&head.mask)
            }
        }
    }

    /// What the uniform part of a pattern adds to its head's output.
    fn added(&self, site: &Site) -> Matrix {
        match *site {
            Site::Pattern { layer, head } => self.layers[layer].heads[head].added.clone(),
            Site::Written { .. } => Matrix::zeros(0, 0),
        }
    }
}

/// f(E) = mask(E W (M E)ᵀ) E, computed with its matrices.
struct MinimalTwin<'a> {
    shape: &'a Minimal,
    /// Whether M is given, so that v gets no gradient.
    given: bool,
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
    fn forward(model: &'a Model, params: &[f64], inputs: &[u8], constants: &Constants) -> Self {
        let Kind::Minimal(shape) = model.kind() else {
            unreachable!("called for the minimal model");
        };
        let (rows, k) = (inputs.len(), shape.states);
        let v = &params[shape.v.clone()];
        let symbols = one_hot(inputs, k);
        let w_k = Matrix::from_slice(k, k, &params[shape.w_k.clone()]);
        let given = !model.interventions().is_empty();
        let constant = if given { constants.get(0) } else { None };
        let m = match (constant, shape.form) {
            (Some(m), _) => m.clone(),
            (_, MinimalForm::Linear) => {
                Matrix::from_fn(rows, rows, |i, j| if j <= i { v[i - j] } else { 0.0 })
            }
            (_, MinimalForm::Softmax) => naive_softmax(&Matrix::from_fn(rows, rows, |i, j| {
                if j <= i { v[i - j] } else { f64::NEG_INFINITY }
            })),
        };
        let scores = masked(&symbols.times(&w_k).times(&m.times(&symbols).transposed()));
        Self {
            shape,
            given,
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
        if self.given {
            return grads;
        }
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
