//! What the formulas of a model are written with: parameters, the stream, masks and interventions.

use std::ops::Range;

use super::formulas;
use super::tape::{Tape, Value};
use super::{Constants, Sequence};
use crate::model::matrix::Matrix;
use crate::model::ops::dropout::{Rate, pairs};
use crate::model::{Instead, Intervention, Model, Reader, Site, Source};

/// A model's computation on one sequence. Its parts read the stream and write to it.
pub struct Run<'t> {
    /// Where values are.
    pub tape: &'t Tape,
    /// `[rows]`
    pub tokens: &'t [u8],
    params: &'t [f64],
    /// Parameters that formulas asked for.
    weights: Vec<(Range<usize>, Value<'t>)>,
    keys: Option<[u32; 2]>,
    /// Number of the next pair of entries of a mask.
    next_pair: u32,
    /// The sum of what sources wrote, as readers see it: [rows, d].
    stream: Option<Value<'t>>,
    /// What every source wrote, before interventions.
    written: Vec<(Source, Value<'t>)>,
    /// Scores and pattern of every head, before interventions.
    heads: Vec<(Site, [Value<'t>; 2])>,
    interventions: &'t [Intervention],
    /// What each intervention puts in place of an activation. One that puts the activation itself does so as
    /// it meets it.
    instead: Vec<Option<Value<'t>>>,
}

impl<'t> Run<'t> {
    pub(super) fn new(
        tape: &'t Tape,
        model: &'t Model,
        params: &'t [f64],
        sequence: Sequence<'t>,
        constants: &Constants,
    ) -> Self {
        let constant = |constant: &Option<Matrix>| Some(tape.constant(constant.clone()?));
        Self {
            tape,
            tokens: sequence.tokens,
            params,
            weights: Vec::new(),
            keys: sequence.keys,
            next_pair: 0,
            stream: None,
            written: Vec::new(),
            heads: Vec::new(),
            interventions: model.interventions(),
            instead: constants.0.iter().map(constant).collect(),
        }
    }

    /// The parameters at a place of the flat vector, as rows of `cols`.
    pub fn weight(&mut self, place: &Range<usize>, cols: usize) -> Value<'t> {
        let data = &self.params[place.clone()];
        let matrix = Matrix::from_slice(data.len() / cols, cols, data);
        let weight = self.tape.leaf(matrix);
        self.weights.push((place.clone(), weight));
        weight
    }

    /// What dropout multiplies the next `t` × `columns` entries with, cut to the size of what is there.
    pub fn mask(
        &mut self,
        rate: Option<Rate>,
        (t, columns): (usize, usize),
        (rows, kept): (usize, usize),
    ) -> Value<'t> {
        let mask = match (rate, self.keys) {
            (Some(rate), Some(keys)) => {
                let whole = formulas::mask(rate, keys, self.next_pair, (t, columns));
                Matrix::from_fn(rows, kept, |i, j| whole[(i, j)])
            }
            _ => Matrix::from_fn(rows, kept, |_, _| 1.0),
        };
        self.next_pair = self.next_pair.wrapping_add(pairs(t, columns));
        self.tape.constant(mask)
    }

    /// What a reader sees of the stream.
    pub fn read(&mut self, reader: Reader) -> Value<'t> {
        let mut read = self.stream.expect("the embedding is written first");
        for (index, intervention) in self.interventions.iter().enumerate() {
            if let Site::Written { by, to: Some(to) } = intervention.site
                && to == reader
            {
                let own = self.written(by);
                read = read - own + self.instead(index, own);
            }
        }
        read
    }

    /// Adds what a source writes to the stream.
    pub fn write(&mut self, by: Source, own: Value<'t>) {
        self.written.push((by, own));
        let seen = self.seen(Site::Written { by, to: None }, own);
        self.stream = Some(match self.stream {
            Some(stream) => stream + seen,
            None => seen,
        });
    }

    /// The values that a head's pattern brings: softmax(scores), times its mask, times the values.
    pub fn attend(
        &mut self,
        head: Site,
        scores: Value<'t>,
        mask: Value<'t>,
        values: Value<'t>,
    ) -> Value<'t> {
        let pattern = scores.causal_softmax().each_times(mask);
        self.heads.push((head, [scores, pattern]));
        let interventions = self.interventions;
        let index = self.intervention(head);
        let kind = index.map(|index| &interventions[index].instead);
        if !matches!(kind, Some(Instead::WithoutUniform | Instead::UniformItself)) {
            return self.seen(head, pattern).times(values);
        }
        let uniform = |i: usize, j: usize| if j <= i { 1.0 / (i + 1) as f64 } else { 0.0 };
        let rows = self.tokens.len();
        let uniform = self.tape.constant(Matrix::from_fn(rows, rows, uniform));
        let rest = (pattern - uniform).times(values);
        match (kind, index) {
            (Some(Instead::UniformItself), Some(index)) => {
                rest + self.instead(index, uniform.times(values))
            }
            _ => rest,
        }
    }

    /// An activation as an intervention on it leaves it.
    pub fn seen(&mut self, site: Site, own: Value<'t>) -> Value<'t> {
        match self.intervention(site) {
            Some(index) => self.instead(index, own),
            None => own,
        }
    }

    fn intervention(&self, site: Site) -> Option<usize> {
        let mut all = self.interventions.iter();
        all.position(|intervention| intervention.site == site)
    }

    /// What an intervention puts in place of an activation: no gradient flows into it.
    fn instead(&mut self, index: usize, own: Value<'t>) -> Value<'t> {
        *self.instead[index].get_or_insert_with(|| own.stopped())
    }

    fn written(&self, by: Source) -> Value<'t> {
        let found = self.written.iter().find(|(source, _)| *source == by);
        found.expect("sources write before they are read").1
    }

    /// Scores and pattern of a head, before interventions.
    pub(super) fn head(&self, site: Site) -> [Value<'t>; 2] {
        let found = self.heads.iter().find(|(other, _)| *other == site);
        found.expect("a head of this model").1
    }

    /// What is at a site, before interventions there.
    pub(super) fn at(&self, site: Site) -> Value<'t> {
        match site {
            Site::Written { by, .. } => self.written(by),
            Site::Pattern { .. } => self.head(site)[1],
        }
    }

    /// What interventions put in place of activations.
    pub(super) fn constants(&self) -> Constants {
        let instead = self.instead.iter();
        Constants(instead.map(|value| Some((*value)?.matrix())).collect())
    }

    /// The gradient of a number by every parameter.
    pub(super) fn gradient(&self, number: Value<'t>) -> Vec<f64> {
        let gradients = number.gradients();
        let mut by_parameter = vec![0.0; self.params.len()];
        for (place, weight) in &self.weights {
            if let Some(own) = gradients.of(*weight) {
                let sums = by_parameter[place.clone()].iter_mut();
                sums.zip(&own.data).for_each(|(sum, part)| *sum += part);
            }
        }
        by_parameter
    }
}
