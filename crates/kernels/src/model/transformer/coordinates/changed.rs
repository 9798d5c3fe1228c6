//! Interventions in coordinates: on patterns, on whole heads, and on what single readers see.
//!
//! A given pattern replaces a head's scores by averages that are known beforehand. Leaving the uniform part out of
//! a pattern makes its weights sum to zero: then the head adds no constant, and c_i is without the mean of all
//! coordinates so far. A head that nobody sees has no rows in the basis, and gets no gradient. A reader that
//! does not see a source has a basis of its own, without the source's rows and its share of the constant.

use super::{Coordinates, Stage};
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

    /// Whether its pattern is without its uniform part.
    pub fn leaves_uniform_out(self) -> bool {
        self.pattern == Some(Pattern::WithoutUniform)
    }
}

impl Coordinates {
    /// What a bound on scores of layer `l` is to be multiplied with. Weights that sum to zero make shares twice as
    /// large at most, of queries and keys alike, in every layer below that has any.
    pub(super) fn signed(&self, l: usize) -> f32 {
        let signed = |stage: &&Stage| {
            let mut heads = stage.heads.iter();
            heads.any(|head| head.change.leaves_uniform_out())
        };
        let below = self.stages[..l].iter().filter(signed);
        below.fold(1.0, |factor, _| 4.0 * factor)
    }
}
