//! Interventions on one transformer, checked and sorted by where an engine meets them.

use std::sync::Arc;

use super::{Instead, Intervention, Port, Site, Target};
use crate::model::transformer::Transformer;
use crate::{Invalid, require};

/// All interventions on a transformer.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// As they were given.
    pub all: Vec<Intervention>,
    /// Patterns: layer, head, and what is there instead.
    pub patterns: Vec<(usize, usize, Pattern)>,
    /// What all readers see of a source.
    pub at_source: Vec<(Port, Value)>,
    /// What one reader sees of a source: reader, source.
    pub at_reader: Vec<(Port, Port, Value)>,
    /// The weights that replacements are computed with, beside the model's own.
    pub others: Vec<Arc<[f32]>>,
    /// What must be computed for [`Value::Data`], by slot.
    pub written: Vec<Written>,
}

/// What is put in place of something written to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Itself, without a gradient.
    Itself,
    /// Zero.
    Zero,
    /// The contents of a slot of [`Plan::written`].
    Data(usize),
}

/// Something that the model writes without interventions, and that is put in place of something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub by: Port,
    pub from: Origin,
}

/// Where a replacement comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The mean over the batch.
    Mean,
    /// Another sequence of the block.
    OtherSequence,
    /// A set of [`Plan::others`].
    OtherWeights(usize),
}

/// What is put in place of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Itself, without a gradient.
    Itself,
    /// A pattern with a name.
    Target(Target),
    /// That of another sequence or of other weights.
    Data(Origin),
    /// Itself without its uniform part.
    WithoutUniform,
    /// Itself, without a gradient to the values through its uniform part.
    UniformItself,
}

impl Pattern {
    /// Whether it differs from sequence to sequence, and is not computed from scores.
    pub fn is_by_lane(&self) -> bool {
        match self {
            Pattern::Data(_) => true,
            Pattern::Target(target) => target.reads_symbols(),
            Pattern::Itself | Pattern::WithoutUniform | Pattern::UniformItself => false,
        }
    }
}

impl Plan {
    /// Checks interventions against a transformer, and against one another.
    pub fn new(shape: &Transformer, all: &[Intervention]) -> Result<Self, Invalid> {
        let mut plan = Self::default();
        for (index, intervention) in all.iter().enumerate() {
            check(shape, intervention, &all[..index])?;
            plan.add(intervention);
        }
        plan.all = all.to_vec();
        Ok(plan)
    }

    fn add(&mut self, intervention: &Intervention) {
        let from = match &intervention.instead {
            Instead::Mean => Some(Origin::Mean),
            Instead::Resampled => Some(Origin::OtherSequence),
            Instead::Of(weights) => Some(Origin::OtherWeights(place(&mut self.others, weights))),
            _ => None,
        };
        match intervention.site {
            Site::Pattern { layer, head } => {
                let pattern = match (&intervention.instead, from) {
                    (_, Some(from)) => Pattern::Data(from),
                    (Instead::Target(target), _) => Pattern::Target(*target),
                    (Instead::WithoutUniform, _) => Pattern::WithoutUniform,
                    (Instead::UniformItself, _) => Pattern::UniformItself,
                    _ => Pattern::Itself,
                };
                self.patterns.push((layer, head, pattern));
            }
            Site::Written { by, to } => {
                let value = match (&intervention.instead, from) {
                    (_, Some(from)) => Value::Data(place(&mut self.written, &Written { by, from })),
                    (Instead::Zero, _) => Value::Zero,
                    _ => Value::Itself,
                };
                match to {
                    None => self.at_source.push((by, value)),
                    Some(reader) => self.at_reader.push((reader, by, value)),
                }
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What is put in place of a head's pattern.
    pub fn pattern(&self, layer: usize, head: usize) -> Option<Pattern> {
        let found = self
            .patterns
            .iter()
            .find(|(l, h, _)| (*l, *h) == (layer, head));
        found.map(|(.., pattern)| *pattern)
    }

    /// What all readers see of a source, if that is not what it writes.
    pub fn value(&self, source: Port) -> Option<Value> {
        let found = self.at_source.iter().find(|(other, _)| *other == source);
        found.map(|(_, value)| *value)
    }

    /// What a reader sees of sources, where that is not what they write.
    pub fn of_reader(&self, reader: Port) -> impl Iterator<Item = (Port, Value)> {
        let own = self
            .at_reader
            .iter()
            .filter(move |(other, ..)| *other == reader);
        own.map(|(_, source, value)| (*source, *value))
    }

    /// Whether a reader sees anything else than the stream.
    pub fn changes(&self, reader: Port) -> bool {
        self.of_reader(reader).next().is_some()
    }

    /// The sources of which some reader, but not all of them, see something else.
    pub fn watched(&self) -> Vec<Port> {
        let mut watched: Vec<Port> = Vec::new();
        for (_, source, _) in &self.at_reader {
            if !watched.contains(source) {
                watched.push(*source);
            }
        }
        watched
    }

    /// Whether interventions change what any of these sources writes, for some readers or all.
    pub fn touches(&self, sources: &[Port]) -> bool {
        let mut at_reader = self.at_reader.iter().map(|(_, source, _)| source);
        let mut at_source = self.at_source.iter().map(|(source, _)| source);
        at_source.any(|source| sources.contains(source))
            || at_reader.any(|source| sources.contains(source))
    }

    /// Whether anything is put in place that comes from there.
    pub fn takes_from(&self, origin: Origin) -> bool {
        let is_pattern =
            |(.., pattern): &(usize, usize, Pattern)| *pattern == Pattern::Data(origin);
        let mut written = self.written.iter();
        written.any(|written| written.from == origin) || self.patterns.iter().any(is_pattern)
    }

    /// Whether a forward without interventions must be computed.
    pub fn needs_clean(&self) -> bool {
        let is_data = |(.., pattern): &(usize, usize, Pattern)| matches!(pattern, Pattern::Data(_));
        !self.written.is_empty() || self.patterns.iter().any(is_data)
    }
}

/// The place of an item, which is appended if it is new.
fn place<T: Clone + PartialEq>(all: &mut Vec<T>, item: &T) -> usize {
    let found = all.iter().position(|other| other == item);
    found.unwrap_or_else(|| {
        all.push(item.clone());
        all.len() - 1
    })
}

/// Checks one intervention against the transformer, and against the ones before it.
fn check(
    shape: &Transformer,
    intervention: &Intervention,
    earlier: &[Intervention],
) -> Result<(), Invalid> {
    let Intervention { site, instead } = intervention;
    let is_pattern = matches!(site, Site::Pattern { .. });
    match *site {
        Site::Pattern { layer, head } => {
            check_source(shape, Port::head(layer, head))?;
        }
        Site::Written { by, to } => {
            check_source(shape, by)?;
            if let Some(to) = to {
                let readers = shape.readers_of(by);
                let is_after = readers.contains(&to);
                let readers: Vec<String> = readers.iter().map(Port::to_string).collect();
                require(
                    is_after,
                    "to",
                    format!("\"{to}\""),
                    &format!("what reads the stream after {by}: {}", readers.join(", ")),
                )?;
            }
        }
    }
    let allowed = match is_pattern {
        true => {
            "what a pattern can be: a pattern with a name, that of another sequence or other weights"
        }
        false => "zero, mean, resample, or that of other weights",
    };
    require(instead.fits(is_pattern), "with", instead.name(), allowed)?;
    if let Instead::Of(weights) = instead {
        let needed = shape.layout.len();
        let found = format!("{} weights", weights.len());
        let allowed = format!("the {needed} weights of this model");
        require(weights.len() == needed, "with", found, &allowed)?;
    }
    let clash = earlier.iter().find(|other| clash(&other.site, site));
    match clash {
        None => Ok(()),
        Some(other) => Err(Invalid::new(
            "at",
            format!("\"{site}\""),
            format!(
                "one intervention at a time in one place: {} is already {}",
                other.site,
                other.instead.name()
            ),
        )),
    }
}

fn check_source(shape: &Transformer, source: Port) -> Result<(), Invalid> {
    let sources = shape.sources();
    let names: Vec<String> = sources.iter().map(Port::to_string).collect();
    require(
        sources.contains(&source),
        "at",
        format!("\"{source}\""),
        &format!("a part of this model: {}", names.join(", ")),
    )
}

/// Whether two sites have a place in common.
fn clash(one: &Site, other: &Site) -> bool {
    match (one, other) {
        (Site::Written { by: a, to: x }, Site::Written { by: b, to: y }) => {
            a == b && (x.is_none() || y.is_none() || x == y)
        }
        _ => one == other,
    }
}
