//! Forward and backward over one block of lanes, in the residual stream: works for every architecture.
//!
//! The last layer goes by small groups of rows, forward, loss and backward of a group one after the other, as in
//! [`coordinates`](super::coordinates): what a group leaves is used while it is in the cache.

mod layer;
mod norm;
mod placed;

use std::f32::consts::LOG2_E;
use std::ops::Range;

use self::layer::{LayerWork, Read};
use self::placed::PlacedTables;
use super::coordinates::{self, Coordinates, Tables};
use super::{First, MLP_FACTOR, Transformer};
use crate::lanes::{LANES, Lane, Level};
use crate::model::LossRows;
use crate::model::ops::attention::fast::{self, GROUP, Group};
use crate::model::ops::attention::{AttnProbe, RelativeTerm, placed as by_tables};
use crate::model::ops::linear;

pub use self::placed::Placed;

impl Transformer {
    /// What the parameters are multiplied by before they are used: where, and by how much. Scores are computed in units of
    /// ln 2 and without the division by √d_head, which the queries (and positions beside them) have in them already.
    fn scales(&self) -> impl Iterator<Item = (Range<usize>, f32)> {
        self.layers.iter().flat_map(|layer| {
            let scale = LOG2_E / ((self.width / layer.heads) as f32).sqrt();
            let beside = layer
                .v
                .clone()
                .filter(|_| self.relative == RelativeTerm::Key);
            [Some(layer.w_q.clone()), beside]
                .into_iter()
                .flatten()
                .map(move |place| (place, scale))
        })
    }

    /// Room for parameters as the forward reads them.
    pub fn weights(&self) -> Weights {
        Weights {
            params: vec![0.0; self.layout.len()],
            first: match &self.first {
                First::Plain => FirstTables::Plain,
                First::Placed(plan) => FirstTables::Placed(plan.tables()),
                First::Coordinates(plan) => FirstTables::Coordinates(plan.tables(self.width)),
            },
        }
    }

    /// Writes the parameters as the forward reads them into `weights`.
    pub fn prepare(&self, level: Level, params: &[f32], weights: &mut Weights) {
        weights.params.copy_from_slice(params);
        self.scale(&mut weights.params);
        match (&self.first, &mut weights.first) {
            (First::Placed(plan), FirstTables::Placed(tables)) => {
                plan.prepare(level, self, &weights.params, tables);
            }
            (First::Coordinates(plan), FirstTables::Coordinates(tables)) => {
                plan.prepare(self, params, tables);
            }
            _ => {}
        }
    }

    /// Length of a gradient with respect to what was prepared.
    pub fn gradient_len(&self) -> usize {
        let tables = match &self.first {
            First::Plain => 0,
            First::Placed(plan) => plan.size(),
            First::Coordinates(plan) => plan.size(),
        };
        self.layout.len() + tables
    }

    /// Carries a gradient with respect to what was prepared back to the parameters: writes it into `grads`.
    pub fn pull_back(
        &self,
        level: Level,
        params: &[f32],
        weights: &mut Weights,
        gradient: &[f32],
        grads: &mut [f32],
    ) {
        let (of_params, of_tables) = gradient.split_at(grads.len());
        grads.copy_from_slice(of_params);
        if let (First::Placed(plan), FirstTables::Placed(tables)) =
            (&self.first, &mut weights.first)
            && tables.gentle
        {
            plan.pull_back(level, self, &weights.params, tables, of_tables, grads);
        }
        self.scale(grads);
        if let (First::Coordinates(plan), FirstTables::Coordinates(tables)) =
            (&self.first, &mut weights.first)
        {
            plan.pull_back(self, params, tables, of_tables, grads);
        }
    }

    /// Multiplies what is scaled: parameters before they are used, and their gradients afterwards.
    fn scale(&self, values: &mut [f32]) {
        for (place, scale) in self.scales() {
            values[place].iter_mut().for_each(|value| *value *= scale);
        }
    }

    /// How many lanes [`work`](Self::work) holds, or a few more.
    pub fn work_len(&self) -> f64 {
        let (t, k, d) = (self.length as f64, self.states as f64, self.width as f64);
        let layers = self.layers.len() as f64;
        let heads = self.layers.iter().map(|layer| layer.heads).max();
        let heads = heads.unwrap_or(0) as f64;
        let mlps = self
            .layers
            .iter()
            .filter(|layer| layer.mlp.is_some())
            .count() as f64;
        // Of a layer and of the way back: the streams, and hidden activations and their slopes.
        let streams = (8.0 * layers + 8.0) * t * d;
        let hidden = MLP_FACTOR as f64 * d * t * (2.0 * mlps + 1.0);
        let lags = (1.0 + d) * (t + LANES as f64) / LANES as f64;
        let group = 2.0 * GROUP as f64 * (t + 1.0) + lags + 8.0 * d;
        let first = match &self.first {
            First::Plain => 0.0,
            First::Placed(_) => heads * 2.0 * GROUP as f64 * t + GROUP as f64 * d,
            First::Coordinates(plan) => plan.work_len(),
        };
        streams + hidden + t * k * (1.0 + self.layers[0].heads as f64) + heads * group + first
    }

    /// How many numbers [`weights`](Self::weights) hold, or a few more.
    pub fn weights_len(&self) -> f64 {
        let first = match &self.first {
            First::Plain => 0.0,
            First::Placed(plan) => plan.tables_len(),
            First::Coordinates(plan) => plan.tables_len(self.width),
        };
        self.layout.len() as f64 + first
    }

    /// Room for a forward and a backward over one block.
    pub fn work(&self) -> Work {
        let stream = || vec![Lane::ZERO; self.length * self.width];
        let by_symbol = || vec![Lane::ZERO; self.length * self.states];
        let hidden = |layer: &super::Layer| {
            let size = layer.mlp.as_ref().map_or(0, |_| MLP_FACTOR * self.width);
            vec![Lane::ZERO; self.length * size]
        };
        let layer = |layer| LayerWork {
            input: stream(),
            normed: stream(),
            read: Read::new(self.length * self.width),
            mixed: stream(),
            middle: stream(),
            mlp_normed: stream(),
            hidden: hidden(layer),
            active: hidden(layer),
        };
        let heads = self.layers.iter().map(|layer| layer.heads).max();
        Work {
            symbols: by_symbol(),
            layers: self.layers.iter().map(layer).collect(),
            resid: stream(),
            final_normed: stream(),
            groups: vec![Group::new(self.length, self.width); heads.unwrap_or(0)],
            placed: match &self.first {
                First::Placed(plan) => {
                    let size = self.width / plan.scores.len();
                    vec![by_tables::Group::new(self.length, size); plan.scores.len()]
                }
                _ => Vec::new(),
            },
            below: match &self.first {
                First::Coordinates(plan) => Some(plan.work()),
                _ => None,
            },
            slopes: Slopes {
                resid: stream(),
                normed: stream(),
                read: Read::new(self.length * self.width),
                by_key: vec![Lane::ZERO; self.length * self.states * self.layers[0].heads],
                mixed: stream(),
                hidden: hidden(&self.layers[0]),
            },
        }
    }
}

/// Parameters as the forward reads them.
#[derive(Clone, Debug)]
pub struct Weights {
    params: Vec<f32>,
    first: FirstTables,
}

/// What the first layer's attention goes by.
#[derive(Clone, Debug)]
enum FirstTables {
    Plain,
    Placed(PlacedTables),
    Coordinates(Tables),
}

impl Weights {
    /// Whether the first layer's attention is unlike that of all others.
    pub fn has_tables(&self) -> bool {
        match &self.first {
            FirstTables::Plain => false,
            FirstTables::Placed(tables) => tables.gentle,
            FirstTables::Coordinates(_) => true,
        }
    }
}

/// A transformer, its parameters as [`Transformer::prepare`] wrote them, and the instructions to use.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    shape: &'a Transformer,
    params: &'a [f32],
    /// What the first layer's attention goes by: tables of places and symbols, or coordinates.
    placed: Option<(&'a Placed, &'a PlacedTables)>,
    below: Option<(&'a Coordinates, &'a Tables)>,
    level: Level,
}

impl Transformer {
    /// What runs over blocks.
    pub fn pass<'a>(&'a self, level: Level, weights: &'a Weights) -> Pass<'a> {
        let (mut placed, mut below) = (None, None);
        match (&self.first, &weights.first) {
            (First::Placed(plan), FirstTables::Placed(tables)) if tables.gentle => {
                placed = Some((plan, tables));
            }
            (First::Coordinates(plan), FirstTables::Coordinates(tables)) => {
                below = Some((plan, tables));
            }
            _ => {}
        }
        Pass {
            shape: self,
            params: &weights.params,
            placed,
            below,
            level,
        }
    }
}

impl<'a> Pass<'a> {
    /// Writes the logits of the positions from `first` on into their rows of `logits` ([rows, k]).
    ///
    /// `inputs` are the tokens of one block, at most t rows.
    pub fn forward(
        self,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        self.forward_below(inputs, first, work);
        for group in groups(first..inputs.len()) {
            self.forward_rows(self.top(), group, work);
        }
        self.output(first..inputs.len(), work, logits);
    }

    /// Forward, loss and backward: adds the gradient of every parameter, by lane. `loss` is shown logits as they come and
    /// answers with their gradient; both are [rows, k].
    pub fn gradient(
        self,
        inputs: &[[u8; LANES]],
        work: &mut Work,
        (logits, d_logits): (&mut [Lane], &mut [Lane]),
        loss: LossRows,
        grads: &mut [Lane],
    ) {
        let (rows, k, top) = (inputs.len(), self.shape.states, self.top());
        self.forward_below(inputs, 0, work);
        work.slopes.begin();
        for group in groups(0..rows) {
            self.forward_rows(top, group.clone(), work);
            self.output(group.clone(), work, logits);
            let own = group.start * k..group.end * k;
            loss(
                group.clone(),
                &logits[own.clone()],
                &mut d_logits[own.clone()],
            );
            self.output_backward(group.clone(), work, &d_logits[own], grads);
            self.backward_rows(top, group, work, grads);
        }
        self.project_backward(top, rows, work, grads);
        for l in (0..top).rev() {
            work.slopes.begin();
            if !self.is_below(l) {
                self.turn_to(l, work);
            }
            for group in groups(0..rows) {
                if !self.is_below(l) {
                    self.weights_again(l, group.clone(), work);
                }
                self.backward_rows(l, group, work, grads);
            }
            self.project_backward(l, rows, work, grads);
        }
        if self.below.is_none() {
            self.embed_backward(rows, work, grads);
        }
    }

    fn top(self) -> usize {
        self.shape.layers.len() - 1
    }

    /// All layers but the last, and what the last one's attention reads, for rows from `first` on.
    fn forward_below(self, inputs: &[[u8; LANES]], first: usize, work: &mut Work) {
        let (rows, top) = (inputs.len(), self.top());
        if self.below.is_none() {
            self.embed(inputs, work);
        }
        for l in 0..=top {
            match (l, self.below, &mut work.below) {
                (0, Some((plan, tables)), Some(below)) => {
                    let first = if top == 0 { first } else { 0 };
                    let middle = &mut work.layers[0].middle[..rows * self.shape.width];
                    plan.forward(tables, inputs, first, below, middle);
                }
                _ => {
                    self.project(l, rows, work);
                    self.turn_to(l, work);
                }
            }
            if l < top {
                for group in groups(0..rows) {
                    self.forward_rows(l, group, work);
                }
            }
        }
    }

    /// Whether the attention of layer `l` is done before its rows, in coordinates.
    fn is_below(self, l: usize) -> bool {
        l == 0 && self.below.is_some()
    }

    /// logits_i = norm(h_i) P
    fn output(self, rows: Range<usize>, work: &mut Work, logits: &mut [Lane]) {
        let (d, k) = (self.shape.width, self.shape.states);
        let own = rows.start * d..rows.end * d;
        let norm = &self.shape.final_norm;
        let source = self.normed(norm, &work.resid, &mut work.final_normed, own);
        let logits = &mut logits[rows.start * k..rows.end * k];
        logits.fill(Lane::ZERO);
        let unembed = &self.params[self.shape.unembed.clone()];
        linear::add_forward(self.level, source, unembed, d, k, logits);
    }

    /// logits_i = norm(h_i) P: sets dh_i.
    fn output_backward(
        self,
        rows: Range<usize>,
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (d, unembed) = (self.shape.width, self.shape.unembed.clone());
        let own = rows.start * d..rows.end * d;
        work.slopes.resid[own.clone()].fill(Lane::ZERO);
        let (dh, d_normed) = (&mut work.slopes.resid, &mut work.slopes.normed);
        let norm = (
            &self.shape.final_norm,
            &work.resid[..],
            &work.final_normed[..],
        );
        self.normed_backward(
            norm,
            own,
            (dh, d_normed),
            grads,
            |source, d_source, grads| {
                linear::backward(
                    self.level,
                    source,
                    &self.params[unembed.clone()],
                    (d, self.shape.states),
                    d_logits,
                    d_source,
                    &mut grads[unembed],
                );
            },
        );
    }

    /// Shows the attention of the last forward.
    pub fn show(self, rows: usize, work: &Work, probe: AttnProbe) {
        for (l, layer) in self.shape.layers.iter().enumerate() {
            if let (0, Some((plan, tables)), Some(below)) = (l, self.below, &work.below) {
                plan.show(tables, rows, below, probe);
                continue;
            }
            for h in 0..layer.heads {
                let read = &work.layers[l].read;
                if let Some(inputs) = self.placed_head(l, h, read, &work.symbols) {
                    by_tables::show(self.level, &inputs, rows, (l, h), probe);
                } else {
                    let inputs = self.head(l, h, read);
                    fast::show(self.level, &inputs, rows, (l, h), |_| Lane::ZERO, probe);
                }
            }
        }
    }

    /// h⁰_i = E[x_i] (+ positions_i), as a product of one-hot symbols with E.
    fn embed(self, inputs: &[[u8; LANES]], work: &mut Work) {
        let (k, d) = (self.shape.states, self.shape.width);
        let (symbols, h) = (&mut work.symbols, &mut work.layers[0].input);
        let (symbols, h) = (&mut symbols[..inputs.len() * k], &mut h[..inputs.len() * d]);
        for (row, own) in inputs.iter().zip(symbols.chunks_exact_mut(k)) {
            for (symbol, z) in own.iter_mut().enumerate() {
                *z = Lane::is(row, symbol);
            }
        }
        match &self.shape.embed_positions {
            Some(_) => {
                let table = &self.params[placed::vectors(self.shape)];
                set_to_sums(self.level, table, (k, d), symbols, h);
            }
            None => {
                h.fill(Lane::ZERO);
                let table = &self.params[self.shape.embed.clone()];
                linear::add_forward(self.level, symbols, table, k, d, h);
            }
        }
    }

    /// h⁰_i = E[x_i] + positions_i  ⟹  dE[x_i] += dh⁰_i, dpositions_i += dh⁰_i
    fn embed_backward(self, rows: usize, work: &Work, grads: &mut [Lane]) {
        let (k, d) = (self.shape.states, self.shape.width);
        let (symbols, dh) = (&work.symbols[..rows * k], &work.slopes.resid[..rows * d]);
        let grads = &mut grads[placed::vectors(self.shape)];
        sums_backward(self.level, (k, d), symbols, dh, grads);
    }
}

/// h_i = table[x_i] + table[k + i]: what is a symbol's, plus what is a place's.
fn set_to_sums(
    level: Level,
    table: &[f32],
    (k, d): (usize, usize),
    symbols: &[Lane],
    h: &mut [Lane],
) {
    let (of_symbols, of_places) = table.split_at(k * d);
    for (h, place) in h.chunks_exact_mut(d).zip(of_places.chunks_exact(d)) {
        linear::set_rows(place, h);
    }
    linear::add_forward(level, symbols, of_symbols, k, d, h);
}

/// h_i = table[x_i] (+ table[k + i])  ⟹  dtable[x_i] += dh_i, dtable[k + i] += dh_i
fn sums_backward(
    level: Level,
    (k, d): (usize, usize),
    symbols: &[Lane],
    dh: &[Lane],
    d_table: &mut [Lane],
) {
    let (of_symbols, of_places) = d_table.split_at_mut(k * d);
    linear::weight_backward(level, symbols, k, d, dh, of_symbols);
    for (d_place, &dh) in of_places.iter_mut().zip(dh) {
        *d_place += dh;
    }
}

/// Rows in groups.
fn groups(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(GROUP)
        .map(move |first| first..(first + GROUP).min(end))
}

/// Activations of one block, kept from the forward for the backward, and the backward's own scratch.
#[derive(Clone, Debug)]
pub struct Work {
    /// One-hot, [t, k]
    symbols: Vec<Lane>,
    layers: Vec<LayerWork>,
    /// What the last layer leaves, [t, d]
    resid: Vec<Lane>,
    final_normed: Vec<Lane>,
    /// What the rows that are being worked on leave behind, by head.
    groups: Vec<Group>,
    /// The same of the first layer, where it goes by tables.
    placed: Vec<by_tables::Group>,
    /// What is below the first MLP, where that is in coordinates.
    below: Option<coordinates::Work>,
    slopes: Slopes,
}

/// Gradients of activations, [t, d] each.
#[derive(Clone, Debug)]
struct Slopes {
    /// Of the residual stream: after a layer, then below it.
    resid: Vec<Lane>,
    normed: Vec<Lane>,
    read: Read,
    mixed: Vec<Lane>,
    /// [t, 4d]
    hidden: Vec<Lane>,
    /// Where the first layer goes by tables, of the scores of symbols with keys' places: [heads, t, k]
    by_key: Vec<Lane>,
}

impl Slopes {
    /// Makes those ready that rows add to whose turn is later.
    fn begin(&mut self) {
        self.read.keys.fill(Lane::ZERO);
        self.read.values.fill(Lane::ZERO);
        self.by_key.fill(Lane::ZERO);
    }
}
