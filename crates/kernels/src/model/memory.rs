//! The memory that a model's engine takes, estimated without allocating any of it.

use super::choose::{Choice, Kernel, NARROW, Purpose, choose};
use super::transformer::Transformer;
use super::transformer::coordinates::growth;
use super::{Kind, Minimal, Model};
use crate::lanes::Lane;

/// More than any buffer is padded by, in rows.
const PADDING: f64 = 24.0;

impl Model {
    /// An upper bound on the memory of one block's scratch buffers, in bytes.
    pub fn scratch_bytes(&self) -> f64 {
        let logits = 2.0 * (self.length() * self.states()) as f64;
        let lanes = self.choices().map(|choice| match &self.kind {
            Kind::Transformer(shape) => self.transformer_scratch(shape, &choice),
            Kind::Minimal(shape) => minimal_scratch(shape),
        });
        (logits + lanes.fold(0.0, f64::max)) * size_of::<Lane>() as f64
    }

    /// An upper bound on the memory of prepared parameters, in bytes.
    pub fn prepared_bytes(&self) -> f64 {
        let parameters = self.layout().len() as f64;
        let numbers = self.choices().map(|choice| match &self.kind {
            // Tables stand for all parameters.
            Kind::Transformer(shape) if choice.engine == Kernel::Coordinates => {
                tables(shape, &choice)
            }
            Kind::Transformer(shape) => parameters + tables(shape, &choice),
            Kind::Minimal(_) => parameters,
        });
        numbers.fold(0.0, f64::max) * size_of::<f32>() as f64
    }

    /// What computes it in training and otherwise.
    fn choices(&self) -> impl Iterator<Item = Choice> {
        let purposes = [Purpose::Training, Purpose::Evaluation].into_iter();
        purposes.map(|purpose| choose(&self.kind, purpose, &self.plan))
    }

    /// Scratch buffers of a transformer, in lanes: of layers in coordinates, then of those in the stream.
    fn transformer_scratch(&self, shape: &Transformer, choice: &Choice) -> f64 {
        let (t, k, d) = sizes(shape);
        let (padded, patterns) = (t + PADDING, self.plan.patterns.len() as f64);
        let (layers, last) = growth(shape, choice.layers.len());
        let mut per_row = k;
        for (layer, size) in shape.layers.iter().zip(&layers) {
            let (heads, m) = (layer.heads as f64, size.read as f64);
            // What heads read and write, with gradients; a group's weights; a norm.
            let group = if size.read <= NARROW { 9.0 } else { 36.0 };
            per_row += 2.0 * size.stream as f64 + heads * (4.5 * m + group);
            if layer.norm.is_some() {
                per_row += 3.0 * m;
            }
        }
        if !layers.is_empty() {
            // The convolutions of the first layer.
            per_row += 4.5 * k * shape.layers[0].heads as f64;
        }
        if shape.final_norm.is_some() {
            per_row += 4.0 * (1 + last) as f64;
        }
        let in_coordinates = padded * (per_row + patterns * (t + d.max(last as f64)));
        if choice.engine == Kernel::Coordinates {
            return in_coordinates;
        }
        let heads = shape.layers.iter().map(|layer| layer.heads);
        let heads = heads.max().unwrap_or(0) as f64;
        let mlps = shape.layers.iter().filter(|layer| layer.mlp.is_some());
        let mlps = mlps.count() as f64;
        // Activations of every layer and gradients of one; 4 d numbers per MLP, and what activates them.
        let per_row = (8.0 * shape.layers.len() as f64 + 8.0 * mlps + 16.0) * (d + 1.0) + k;
        let mut in_stream = padded * (per_row + heads * (40.0 + 0.4 * d));
        if shape.dropout.any() {
            in_stream += padded * (16.0 * heads + d);
        }
        if !self.plan.is_empty() {
            // Another forward, what replaces activations, and the streams of readers.
            let readers = 3 * self.plan.at_reader.len() + 2 * self.plan.watched().len();
            let streams = (readers + self.plan.written.len() + 6) as f64;
            in_stream = 2.0 * in_stream + padded * (streams * (d + 2.0) + patterns * (t + d));
        }
        in_coordinates + in_stream
    }
}

/// Tables of the layers in coordinates, in numbers.
fn tables(shape: &Transformer, choice: &Choice) -> f64 {
    let (t, k, d) = sizes(shape);
    let (layers, last) = growth(shape, choice.layers.len());
    let mut total = 0.0;
    for (layer, size) in shape.layers.iter().zip(&layers) {
        let (heads, rows) = (layer.heads as f64, (2 + size.read) as f64);
        // By head: symbols with symbols, and with lags. The basis and its projections, with gradients.
        total += heads * rows * (rows + t) + 12.0 * rows * d + rows * rows;
        total += heads * k * (t + PADDING + k);
    }
    let rows = (2 + last) as f64;
    total + 6.0 * rows * d.max(k) + rows * rows
}

/// Scratch buffers of the minimal model, in lanes.
fn minimal_scratch(shape: &Minimal) -> f64 {
    let (t, k) = (shape.length as f64, shape.states as f64);
    (t + PADDING) * (3.5 * k + 2.0) + super::minimal::at_hand(shape.states) as f64
}

/// t, k and d.
fn sizes(shape: &Transformer) -> (f64, f64, f64) {
    let Transformer {
        states,
        length,
        width,
        ..
    } = *shape;
    (length as f64, states as f64, width as f64)
}
