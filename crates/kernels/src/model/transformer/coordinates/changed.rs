//! Interventions in coordinates: on patterns, on whole heads, and on what single readers see.
//!
//! A given pattern replaces a head's scores by averages that are known beforehand. Leaving the uniform part out of
//! a pattern makes its weights sum to zero: then the head adds no constant, and c_i is without the mean of all
//! coordinates so far. A head that nobody sees has no rows in the basis, and gets no gradient. A reader that
//! does not see a source has a basis of its own, without the source's rows and its share of the constant.

use std::ops::Range;

use super::basis::add;
use super::scratch::HeadScratch;
use super::{Coordinates, LayerPlan, Tables};
use crate::lanes::{LANES, Lane, Level};
use crate::model::intervention::{Pattern, Plan, Port, Value};
use crate::model::ops::attention::clamped::{self, Table};
use crate::model::transformer::Transformer;
use crate::scratch::Allocator;

/// Whether all of a transformer's interventions can be made here.
pub fn takes(shape: &Transformer, plan: &Plan) -> bool {
    let is_pattern = |(.., pattern): &(usize, usize, Pattern)| {
        matches!(pattern, Pattern::Target(_) | Pattern::WithoutUniform)
    };
    let is_head = |(source, value): &(Port, Value)| {
        shape.is_head(*source) && !matches!(value, Value::Data(_))
    };
    // After a norm, queries, keys and values share the numbers by which all is divided.
    let has_norm = |reader: Port| reader.layer.is_some_and(|l| shape.layers[l].norm.is_some());
    let is_zero =
        |(reader, _, value): &(Port, Port, Value)| *value == Value::Zero && !has_norm(*reader);
    plan.patterns.iter().all(is_pattern)
        && plan.at_source.iter().all(is_head)
        && plan.at_reader.iter().all(is_zero)
}

/// What interventions do to one head.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// What is in place of its pattern.
    pattern: Option<Pattern>,
    /// Whether nobody sees it.
    pub silent: bool,
    /// Whether it gets no gradient.
    pub stopped: bool,
}

impl Change {
    /// Those of one head.
    pub fn of(plan: &Plan, layer: usize, head: usize) -> Self {
        let value = plan.value(Port::head(layer, head));
        Self {
            pattern: plan.pattern(layer, head),
            silent: value == Some(Value::Zero),
            stopped: value.is_some(),
        }
    }

    /// Whether the head adds to the constant of the stream.
    pub fn adds_constant(self) -> bool {
        !self.silent && !self.leaves_uniform_out()
    }

    /// A buffer for weights by pair, [t, t].
    pub fn buffer(self, t: usize, buffers: &mut Allocator) -> Vec<Lane> {
        match self.pattern {
            Some(pattern) if pattern.is_by_lane() => buffers.lanes([t, t]),
            _ => Vec::new(),
        }
    }

    /// Fills what depends on the sequences alone.
    pub fn read(self, level: Level, inputs: &[[u8; LANES]], t: usize, given: &mut [Lane]) {
        if let Some(Pattern::Target(target)) = self.pattern
            && target.reads_symbols()
        {
            clamped::fill(level, target, inputs, t, given);
        }
    }

    /// The pattern that it is given, if it is.
    pub fn table(self, given: &[Lane], t: usize) -> Option<Table<'_>> {
        match self.pattern {
            Some(Pattern::Target(target)) => Some(Table::of(target, given, t)),
            _ => None,
        }
    }

    /// Leaves the uniform part out of what was averaged in some rows.
    pub fn leave_means(
        self,
        level: Level,
        rows: Range<usize>,
        m: usize,
        y: &[Lane],
        head: &mut HeadScratch,
    ) {
        if self.leaves_uniform_out() {
            clamped::forward(level, Table::Uniform(-1.0), rows, m, y, &mut head.c);
        }
    }

    /// Its backward, before that of the whole pattern: what that averaged is needed again, and values get
    /// nothing through the uniform part.
    pub fn leave_means_backward(
        self,
        level: Level,
        rows: Range<usize>,
        m: usize,
        y: &[Lane],
        head: &mut HeadScratch,
        dy: &mut [Lane],
    ) {
        if self.leaves_uniform_out() {
            clamped::forward(level, Table::Uniform(1.0), rows.clone(), m, y, &mut head.c);
            clamped::backward(level, Table::Uniform(-1.0), rows, m, &head.dc, dy);
        }
    }

    /// Whether its pattern is without its uniform part.
    pub fn leaves_uniform_out(self) -> bool {
        self.pattern == Some(Pattern::WithoutUniform)
    }
}

/// What single readers do not see.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges(Vec<(Port, Port)>);

impl Edges {
    /// Those of a plan.
    pub fn of(plan: &Plan) -> Self {
        let edges = plan.at_reader.iter();
        let edges = edges.map(|(reader, source, _)| (*reader, *source));
        Self(edges.collect())
    }

    /// The sources that a reader does not see.
    fn of_reader(&self, reader: Port) -> impl Iterator<Item = Port> {
        let own = self.0.iter().filter(move |(other, _)| *other == reader);
        own.map(|(_, source)| *source)
    }

    /// Whether a reader sees everything.
    pub fn none(&self, reader: Port) -> bool {
        self.of_reader(reader).next().is_none()
    }
}

/// The constants that sources add to the stream, and the gradients that are withheld from them.
#[derive(Clone, Debug, Default)]
pub struct Shares(Vec<(Port, Vec<f32>, Vec<f32>)>);

impl Shares {
    /// Keeps the constant of a source.
    pub fn set(&mut self, source: Port, constant: &[f32]) {
        if let Some((_, own, _)) = self.get(source) {
            own.copy_from_slice(constant);
        } else {
            let nothing = vec![0.0; constant.len()];
            self.0.push((source, constant.to_vec(), nothing));
        }
    }

    /// Clears the gradients that are withheld.
    pub fn begin(&mut self) {
        self.0.iter_mut().for_each(|(.., cut)| cut.fill(0.0));
    }

    fn get(&mut self, source: Port) -> Option<&mut (Port, Vec<f32>, Vec<f32>)> {
        self.0.iter_mut().find(|(other, ..)| *other == source)
    }

    /// Subtracts what readers that do not see a source send back to its constant.
    pub fn withhold(&mut self, source: Port, d_constant: &mut [f32]) {
        if let Some((_, _, cut)) = self.get(source) {
            let both = d_constant.iter_mut().zip(cut);
            both.for_each(|(d, cut)| *d -= *cut);
        }
    }
}

impl Coordinates {
    /// What a bound on scores of layer `l` is to be multiplied with. Weights that sum to zero make shares twice as
    /// large at most, of queries and keys alike, in every layer below that has any.
    pub(super) fn signed(&self, l: usize) -> f32 {
        let signed = |plan: &LayerPlan| {
            let mut heads = plan.heads.iter();
            heads.any(|head| head.change.leaves_uniform_out())
        };
        let layers = self.layers[..l].iter().filter(|plan| signed(plan));
        layers.fold(1.0, |factor, _| 4.0 * factor)
    }

    /// Whether some reader does not see a source, so that its constant is kept.
    pub(super) fn is_watched(&self, source: Port) -> bool {
        self.edges.0.iter().any(|(_, other)| *other == source)
    }

    /// The rows of a source in the basis.
    fn rows_of(&self, source: Port) -> Range<usize> {
        let (Some(layer), Some(head)) = (source.layer, source.index) else {
            return 1..self.states;
        };
        let plan = &self.layers[layer];
        let first = 1 + plan.stream + plan.m * head;
        first..first + plan.m
    }

    /// Takes what a reader does not see out of its basis ([1 + m, d]).
    pub(super) fn hide(&self, reader: Port, shares: &mut Shares, d: usize, basis: &mut [f32]) {
        for source in self.edges.of_reader(reader) {
            let rows = self.rows_of(source);
            basis[rows.start * d..rows.end * d].fill(0.0);
            if let Some((_, constant, _)) = shares.get(source) {
                let first = basis[..d].iter_mut();
                first.zip(constant).for_each(|(x, share)| *x -= *share);
            }
        }
    }

    /// Its backward: what belongs to hidden sources is withheld from them.
    pub(super) fn hide_backward(
        &self,
        reader: Port,
        shares: &mut Shares,
        d: usize,
        d_basis: &mut [f32],
    ) {
        for source in self.edges.of_reader(reader) {
            let rows = self.rows_of(source);
            d_basis[rows.start * d..rows.end * d].fill(0.0);
            if let Some((_, _, cut)) = shares.get(source) {
                add(cut, &d_basis[..d]);
            }
        }
    }

    /// The basis that a reader of layer `l` multiplies: a copy without what it does not see, or the common one.
    pub(super) fn seen_by<'x>(
        &self,
        reader: Port,
        tables: &mut Shares,
        d: usize,
        common: &'x [f32],
    ) -> std::borrow::Cow<'x, [f32]> {
        if self.edges.none(reader) {
            return common.into();
        }
        let mut own = common.to_vec();
        self.hide(reader, tables, d, &mut own);
        own.into()
    }
}

impl Tables {
    /// Keeps the constant of the embedding, E₀, if some reader does not see it.
    pub(super) fn keep_embed(&mut self, plan: &Coordinates, d: usize) {
        if plan.is_watched(Port::EMBED) {
            self.shares.set(Port::EMBED, &self.bases[0][..d]);
        }
    }
}
