//! What the formulas of a model are written with: parameters, the stream, masks and interventions.

use std::ops::Range;

use super::formulas;
use super::tape::{Tape, Value};
use super::{Reference, Sequence};
use crate::model::matrix::Matrix;
use crate::model::ops::dropout::{Rate, pairs};
use crate::model::{Instead, Intervention, Kind, Model, Port, Site, Target};

/// A model's computation on one sequence. Its parts read the stream and write to it.
pub struct Run<'t> {
    /// Where values are.
    pub tape: &'t Tape,
    /// What is computed on.
    pub sequence: Sequence<'t>,
    model: &'t Model,
    pub(super) params: &'t [f64],
    /// Parameters that formulas asked for.
    pub(super) weights: Vec<(Range<usize>, Value<'t>)>,
    /// Number of the next pair of entries of a mask.
    next_pair: u32,
    /// The layer that is computed, t, and how often entries of its patterns are dropped.
    layer: (usize, usize, Option<Rate>),
    /// The sum of what sources wrote, as readers see it: [rows, d].
    stream: Option<Value<'t>>,
    /// What every source wrote, before interventions.
    written: Vec<(Port, Value<'t>)>,
    /// Scores and pattern of every head, before interventions.
    heads: Vec<(Site, [Value<'t>; 2])>,
    /// What each intervention puts in place of an activation, once it has met it.
    pub(super) instead: Vec<Option<Value<'t>>>,
}

impl<'t> Run<'t> {
    pub(super) fn new(
        tape: &'t Tape,
        model: &'t Model,
        params: &'t [f64],
        sequence: Sequence<'t>,
        held: &[Option<Matrix>],
    ) -> Self {
        let held = |index: usize| Some(tape.constant(held.get(index)?.clone()?));
        Self {
            tape,
            sequence,
            model,
            params,
            weights: Vec::new(),
            next_pair: 0,
            layer: (0, 0, None),
            stream: None,
            written: Vec::new(),
            heads: Vec::new(),
            instead: (0..model.interventions().len()).map(held).collect(),
        }
    }

    /// Number of positions.
    pub fn rows(&self) -> usize {
        self.sequence.tokens.len()
    }

    /// The parameters at a place of the flat vector, as rows of `cols`.
    pub fn weight(&mut self, place: &Range<usize>, cols: usize) -> Value<'t> {
        let data = &self.params[place.clone()];
        let matrix = Matrix::from_slice(data.len() / cols, cols, data);
        let weight = self.tape.leaf(matrix);
        self.weights.push((place.clone(), weight));
        weight
    }

    /// Begins a block of a layer, in a model of contexts of `length` positions.
    pub(super) fn begin(&mut self, layer: usize, length: usize, attention: Option<Rate>) {
        self.layer = (layer, length, attention);
    }

    /// What dropout multiplies the next `t` × `columns` entries with, cut to the size of what is there.
    pub(super) fn mask(
        &mut self,
        rate: Option<Rate>,
        (t, columns): (usize, usize),
        (rows, kept): (usize, usize),
    ) -> Value<'t> {
        let mask = match (rate, self.sequence.keys) {
            (Some(rate), Some(keys)) => {
                let whole = formulas::mask(rate, keys, self.next_pair, (t, columns));
                Matrix::from_fn(rows, kept, |i, j| whole[(i, j)])
            }
            _ => Matrix::from_fn(rows, kept, |_, _| 1.0),
        };
        self.next_pair = self.next_pair.wrapping_add(pairs(t, columns));
        self.tape.constant(mask)
    }

    /// What dropout multiplies the vector of every pair of positions with, [t, t, d]; none where it does not.
    pub(in crate::model) fn mask_of_pairs(
        &self,
        dropped: Option<(Rate, u32)>,
        (t, columns): (usize, usize),
    ) -> Option<Matrix> {
        let ((rate, first), keys) = dropped.zip(self.sequence.batch_keys)?;
        Some(formulas::mask(rate, keys, first, (t * t, columns)))
    }

    /// What a reader sees of the stream.
    pub(super) fn read(&mut self, reader: Port) -> Value<'t> {
        let mut read = self.stream.expect("the embedding is written first");
        for (index, intervention) in self.model.interventions().iter().enumerate() {
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
    pub(super) fn write(&mut self, by: Port, own: Value<'t>) {
        self.written.push((by, own));
        let seen = self.seen(Site::Written { by, to: None }, own);
        self.stream = Some(match self.stream {
            Some(stream) => stream + seen,
            None => seen,
        });
    }

    /// The values that a head's pattern brings: softmax(scores), masked, times the values. Heads come in order.
    pub fn attend(&mut self, head: usize, scores: Value<'t>, values: Value<'t>) -> Value<'t> {
        let (layer, t, rate) = self.layer;
        let mask = self.mask(rate, (t, t), scores.size());
        let head = Site::Pattern { layer, head };
        let pattern = scores.causal_softmax().each_times(mask);
        self.heads.push((head, [scores, pattern]));
        let interventions = self.model.interventions();
        let index = self.intervention(head);
        let uniform = || self.tape.constant(self.named_pattern(Target::Uniform));
        match index.map(|index| (index, &interventions[index].instead)) {
            Some((_, Instead::WithoutUniform)) => (pattern - uniform()).times(values),
            Some((index, Instead::UniformItself)) => {
                let uniform = uniform();
                (pattern - uniform).times(values) + self.instead(index, uniform.times(values))
            }
            _ => self.seen(head, pattern).times(values),
        }
    }

    /// An activation as an intervention on it leaves it.
    pub(super) fn seen(&mut self, site: Site, own: Value<'t>) -> Value<'t> {
        match self.intervention(site) {
            Some(index) => self.instead(index, own),
            None => own,
        }
    }

    fn intervention(&self, site: Site) -> Option<usize> {
        let mut all = self.model.interventions().iter();
        all.position(|intervention| intervention.site == site)
    }

    /// What an intervention puts in place of an activation: no gradient flows into it.
    fn instead(&mut self, index: usize, own: Value<'t>) -> Value<'t> {
        if let Some(instead) = self.instead[index] {
            return instead;
        }
        let Intervention { site, instead } = &self.model.interventions()[index];
        let Sequence { tokens, others, .. } = self.sequence;
        let clean = |params: &[f64], tokens: &[u8]| {
            let (tape, model) = (Tape::default(), self.model.with(&[]));
            let model = model.expect("a model without interventions");
            let reference = Reference::new(&tape, &model, params, tokens.into());
            reference.run.at(*site).matrix()
        };
        let matrix = match instead {
            Instead::Itself | Instead::WithoutUniform | Instead::UniformItself => own.matrix(),
            Instead::Zero => own.matrix().map(|_| 0.0),
            Instead::Mean => {
                let others = others.iter().map(|other| clean(self.params, other));
                let sum = others.fold(clean(self.params, tokens), |sum, own| sum.plus(&own));
                let share = 1.0 / (self.sequence.others.len() + 1) as f64;
                sum.map(|entry| entry * share)
            }
            Instead::Resampled => clean(self.params, others[0]),
            Instead::Of(weights) => {
                let weights: Vec<f64> = weights.iter().map(|&w| w.into()).collect();
                clean(&weights, tokens)
            }
            Instead::Target(target) => self.named_pattern(*target),
        };
        *self.instead[index].insert(self.tape.constant(matrix))
    }

    /// A pattern with a name.
    fn named_pattern(&self, target: Target) -> Matrix {
        let (rows, tokens) = (self.rows(), self.sequence.tokens);
        if let (Kind::Minimal(_), Target::Lag(lag)) = (self.model.kind(), target) {
            // Rows of M need not sum to one.
            return Matrix::from_fn(rows, rows, |i, j| f64::from(u8::from(i == j + lag)));
        }
        let table: Vec<Vec<f64>> = (0..rows).map(|i| target.row(&tokens[..=i])).collect();
        Matrix::from_fn(rows, rows, |i, j| table[i].get(j).copied().unwrap_or(0.0))
    }

    fn written(&self, by: Port) -> Value<'t> {
        let found = self.written.iter().find(|(source, _)| *source == by);
        found.expect("sources write before they are read").1
    }

    /// Scores and pattern of a head, before interventions.
    pub(super) fn head(&self, site: Site) -> [Value<'t>; 2] {
        let found = self.heads.iter().find(|(other, _)| *other == site);
        found.expect("a head of this model").1
    }

    /// What is at a site, before interventions there.
    fn at(&self, site: Site) -> Value<'t> {
        match site {
            Site::Written { by, .. } => self.written(by),
            Site::Pattern { .. } => self.head(site)[1],
        }
    }
}
