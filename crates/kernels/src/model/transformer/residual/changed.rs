//! Interventions in the residual stream: what is put in place of activations, and the gradients that it stops.
//!
//! A source of which all readers see something else writes that to the stream, and gets no gradient. If only
//! some readers do, they get a stream of their own: the common one, plus the difference. What such a reader
//! sends back goes to the common stream as ever, and is withheld (*cut*) from the source.

use std::ops::Range;

use super::dropout::Place;
use super::layer::Read;
use super::read::Normed;
use super::scratch::Scratch;
use super::{How, Pass};
use crate::lanes::{LANES, Lane};
use crate::model::engine::BlockGradient;
use crate::model::intervention::{Origin, Pattern, Plan, Reader, Source, Value};
use crate::model::ops::attention::clamped::{self, Table};
use crate::model::ops::attention::{AttnProbe, AttnRow};
use crate::model::ops::linear;
use crate::model::transformer::{MLP_FACTOR, Norm, Transformer};

/// Buffers for interventions on one block.
#[derive(Clone, Debug)]
pub(super) struct Changed {
    /// A forward without interventions, and its logits, where anything is read off it.
    reference: Option<(Box<Scratch>, Vec<Lane>)>,
    /// What is put in place of something written, by slot of the plan: [t, d].
    data: Vec<Vec<Lane>>,
    /// Patterns by lane, in the order of the plan's: [t, t], or empty.
    patterns: Vec<Vec<Lane>>,
    /// Means of all values so far, in the order of the plan's patterns: [t, d / heads], or empty.
    means: Vec<Vec<Lane>>,
    watched: Vec<Watched>,
    readers: Vec<ChangedReader>,
    /// What one source writes, or one reader sends back: [t, d]
    single: Vec<Lane>,
    /// Gradients that are stopped.
    stopped: Option<(Read, Vec<Lane>)>,
}

/// A source of which some readers see something else.
#[derive(Clone, Debug)]
struct Watched {
    source: Source,
    /// What it writes, [t, d].
    own: Vec<Lane>,
    /// The part of the stream's gradient that it does not get, [t, d].
    cut: Vec<Lane>,
}

/// A reader that sees something else than the common stream.
#[derive(Clone, Debug)]
struct ChangedReader {
    reader: Reader,
    /// [t, d]
    stream: Vec<Lane>,
    normed: Normed,
}

impl Changed {
    /// Buffers for a plan; `reference` are those of a forward without interventions.
    pub fn new(shape: &Transformer, plan: &Plan, reference: impl Fn() -> Scratch) -> Self {
        let (t, d) = (shape.length, shape.width);
        let stream = || vec![Lane::ZERO; t * d];
        let refers = |(.., pattern): &(usize, usize, Pattern)| matches!(pattern, Pattern::Data(_));
        let refers = !plan.written.is_empty() || plan.patterns.iter().any(refers);
        let by_lane = |pattern: &Pattern| match pattern {
            Pattern::Data(_) => t * t,
            Pattern::Target(target) if target.reads_symbols() => t * t,
            _ => 0,
        };
        let of_means = |l: usize, pattern: &Pattern| match pattern {
            Pattern::WithoutUniform | Pattern::UniformItself => t * d / shape.layers[l].heads,
            _ => 0,
        };
        let patterns = || plan.patterns.iter();
        let mut readers: Vec<ChangedReader> = Vec::new();
        for (reader, ..) in &plan.at_reader {
            if readers.iter().all(|other| other.reader != *reader) {
                readers.push(ChangedReader {
                    reader: *reader,
                    stream: stream(),
                    normed: Normed::new(t, d),
                });
            }
        }
        Self {
            reference: refers.then(|| (Box::new(reference()), vec![Lane::ZERO; t * shape.states])),
            data: plan.written.iter().map(|_| stream()).collect(),
            patterns: patterns()
                .map(|(.., pattern)| vec![Lane::ZERO; by_lane(pattern)])
                .collect(),
            means: patterns()
                .map(|(l, _, pattern)| vec![Lane::ZERO; of_means(*l, pattern)])
                .collect(),
            watched: plan
                .watched()
                .into_iter()
                .map(|source| Watched {
                    source,
                    own: stream(),
                    cut: stream(),
                })
                .collect(),
            readers,
            single: stream(),
            stopped: patterns()
                .any(|(.., pattern)| *pattern == Pattern::Itself)
                .then(|| (Read::new(t * d), stream())),
        }
    }

    /// Clears the gradients that are withheld.
    pub fn begin(&mut self) {
        for watched in &mut self.watched {
            watched.cut.fill(Lane::ZERO);
        }
    }

    /// What is put in place of what `source` writes, for all readers, on the given rows of d numbers; `None` if it
    /// is what it writes.
    fn instead(&self, value: Value, span: Range<usize>) -> Option<&[Lane]> {
        match value {
            Value::Data(slot) => Some(&self.data[slot][span]),
            Value::Itself | Value::Zero => None,
        }
    }

    /// What a reader with a stream of its own reads of some rows: after the norm, if there is one.
    pub fn read<'x>(
        &'x mut self,
        pass: Pass,
        plan: &Plan,
        reader: Reader,
        norm: &Option<Norm>,
        stream: &[Lane],
        span: Range<usize>,
    ) -> Option<&'x [Lane]> {
        let place = self.readers.iter().position(|own| own.reader == reader)?;
        let Self {
            readers,
            watched,
            data,
            ..
        } = self;
        let ChangedReader {
            stream: own,
            normed,
            ..
        } = &mut readers[place];
        own[span.clone()].copy_from_slice(&stream[span.clone()]);
        for (source, value) in plan.of_reader(reader) {
            if value == Value::Itself {
                continue;
            }
            let written = find(watched, source);
            let written = &watched[written].own[span.clone()];
            for (x, &written) in own[span.clone()].iter_mut().zip(written) {
                *x = *x - written;
            }
            if let Value::Data(slot) = value {
                add(&mut own[span.clone()], &data[slot][span.clone()]);
            }
        }
        Some(pass.normed(norm, own, normed, span))
    }

    /// The backward of [`read`](Self::read): runs `backward` on what was read, adds what comes back to the
    /// common stream's gradient, and withholds it from the sources that the reader did not see.
    #[expect(
        clippy::too_many_arguments,
        reason = "a reader, its norm, and all that it adds to"
    )]
    pub fn read_backward(
        &mut self,
        pass: Pass,
        (plan, reader): (&Plan, Reader),
        norm: &Option<Norm>,
        span: Range<usize>,
        (d_stream, d_normed): (&mut [Lane], &mut [Lane]),
        grads: &mut [f32],
        backward: impl FnOnce(&[Lane], How, &mut [Lane], &mut [f32]),
    ) {
        let Some(own) = self.readers.iter().find(|own| own.reader == reader) else {
            return;
        };
        let d_own = &mut self.single;
        d_own[span.clone()].fill(Lane::ZERO);
        let of_norm = (norm, &own.stream[..], &own.normed);
        let slopes = (&mut d_own[..], d_normed);
        pass.normed_backward(of_norm, span.clone(), slopes, grads, backward);
        add(&mut d_stream[span.clone()], &d_own[span.clone()]);
        for (source, _) in plan.of_reader(reader) {
            let watched = find(&self.watched, source);
            add(
                &mut self.watched[watched].cut[span.clone()],
                &d_own[span.clone()],
            );
        }
    }

    /// Keeps what a source writes, if some reader does not see it, and returns what goes to the stream instead:
    /// that itself, something else, or nothing.
    fn write(&mut self, plan: &Plan, source: Source, span: Range<usize>, after: &mut [Lane]) {
        if let Some(watched) = self.watched.iter_mut().find(|own| own.source == source) {
            watched.own[span.clone()].copy_from_slice(&self.single[span.clone()]);
        }
        match plan.value(source) {
            None | Some(Value::Itself) => add(after, &self.single[span]),
            Some(value) => {
                if let Some(instead) = self.instead(value, span) {
                    add(after, instead);
                }
            }
        }
    }

    /// Leaves the gradient of what a source wrote in `single`, given that of the stream: none of it where all
    /// readers saw something else, and without what is cut where some did.
    fn written_backward(&mut self, plan: &Plan, source: Source, span: Range<usize>, d: &[Lane]) {
        let single = &mut self.single[span.clone()];
        if plan.value(source).is_some() {
            return single.fill(Lane::ZERO);
        }
        single.copy_from_slice(d);
        if let Some(watched) = self.watched.iter().find(|own| own.source == source) {
            for (d, &cut) in single.iter_mut().zip(&watched.cut[span]) {
                *d = *d - cut;
            }
        }
    }
}

fn find(watched: &[Watched], source: Source) -> usize {
    let place = watched.iter().position(|own| own.source == source);
    place.expect("sources that a reader does not see are watched")
}

fn add(sum: &mut [Lane], part: &[Lane]) {
    for (sum, &part) in sum.iter_mut().zip(part) {
        *sum += part;
    }
}

impl<'a> Pass<'a> {
    /// Computes everything that is put in place of activations of this block, from a forward without
    /// interventions.
    pub(super) fn replace(self, inputs: &[[u8; LANES]], work: &mut Scratch) {
        let (Some(plan), Some(changed)) = (self.plan, &mut work.changed) else {
            return;
        };
        let (rows, t) = (inputs.len(), self.shape.length);
        let span = 0..rows * self.shape.width;
        for (index, (.., pattern)) in plan.patterns.iter().enumerate() {
            if let Pattern::Target(target) = pattern
                && target.reads_symbols()
            {
                clamped::fill(self.level, *target, inputs, t, &mut changed.patterns[index]);
            }
        }
        let Changed {
            reference,
            data,
            patterns,
            ..
        } = &mut **changed;
        for (slot, written) in plan.written.iter().enumerate() {
            if let (Origin::Mean, Some(means)) = (written.from, self.means.get(slot)) {
                let data = data[slot][span.clone()].iter_mut();
                data.zip(means)
                    .for_each(|(x, &mean)| *x = Lane::splat(mean));
            }
        }
        let Some((reference, logits)) = reference else {
            return;
        };
        let others = (0..self.others.len()).map(Origin::OtherWeights);
        for from in others.chain([Origin::OtherSequence]) {
            let is_needed = |(.., p): &(usize, usize, Pattern)| *p == Pattern::Data(from);
            let is_written = plan.written.iter().any(|written| written.from == from);
            if !is_written && !plan.patterns.iter().any(is_needed) {
                continue;
            }
            let params = match from {
                Origin::OtherWeights(index) => &self.others[index][..],
                _ => self.params,
            };
            let plain = self.plain(params);
            plain.forward(inputs, 0, reference, logits);
            let turn = |lane: &Lane| match from {
                Origin::OtherSequence => lane.rotated(),
                _ => *lane,
            };
            for (slot, written) in plan.written.iter().enumerate() {
                if written.from == from {
                    let data = &mut data[slot][span.clone()];
                    let computed = plain.computed(written.by, reference);
                    plain.write_out(written.by, 0..rows, computed, data);
                    data.iter_mut().for_each(|lane| *lane = turn(lane));
                }
            }
            for ((l, h, pattern), weights) in plan.patterns.iter().zip(patterns.iter_mut()) {
                if *pattern == Pattern::Data(from) {
                    plain.show(rows, reference, &mut |row: AttnRow| {
                        if (row.layer, row.head) == (*l, *h) {
                            let own = &mut weights[row.position * t..][..=row.position];
                            for (weight, mass) in own.iter_mut().zip(row.attn_pattern) {
                                *weight = turn(mass);
                            }
                        }
                    });
                }
            }
        }
    }

    /// Adds what sources whose means are needed write on the first `used` sequences to `sums`: [slots, t, d].
    pub(super) fn add_written(
        self,
        inputs: &[[u8; LANES]],
        used: usize,
        work: &mut Scratch,
        sums: &mut [f64],
    ) {
        let (Some(plan), Some(changed)) = (self.plan, &mut work.changed) else {
            return;
        };
        let Changed {
            reference: Some((reference, logits)),
            single,
            ..
        } = &mut **changed
        else {
            return;
        };
        let (rows, d) = (inputs.len(), self.shape.width);
        let plain = self.plain(self.params);
        plain.forward(inputs, 0, reference, logits);
        for (written, sums) in plan
            .written
            .iter()
            .zip(sums.chunks_exact_mut(self.shape.length * d))
        {
            if written.from == Origin::Mean {
                let single = &mut single[..rows * d];
                let computed = plain.computed(written.by, reference);
                plain.write_out(written.by, 0..rows, computed, single);
                for (sum, lane) in sums.iter_mut().zip(&*single) {
                    *sum += lane.0[..used].iter().map(|&x| f64::from(x)).sum::<f64>();
                }
            }
        }
    }

    /// The same transformer without interventions and dropout, at the given parameters.
    fn plain(self, params: &'a [f32]) -> Self {
        Self {
            params,
            plan: None,
            dropout: None,
            ..self
        }
    }

    /// What a source computed last, which [`write_out`](Self::write_out) takes: averages, hidden units, or itself.
    fn computed(self, source: Source, work: &Scratch) -> &[Lane] {
        match source {
            Source::Embed => &work.layers[0].input,
            Source::Head { layer, .. } => &work.layers[layer].mixed,
            Source::Mlp { layer } => &work.layers[layer].active,
        }
    }

    /// Sets `out` to what a source adds to the stream in some rows, before any dropout: [rows, d].
    fn write_out(self, source: Source, rows: Range<usize>, computed: &[Lane], out: &mut [Lane]) {
        let (d, level) = (self.shape.width, self.level);
        let span = rows.start * d..rows.end * d;
        match source {
            Source::Embed => out.copy_from_slice(&computed[span]),
            Source::Head { layer: l, head: h } => {
                let layer = &self.shape.layers[l];
                let Some(w_o) = &layer.w_o else {
                    return out.copy_from_slice(&computed[span]);
                };
                let columns = self.columns(l, h);
                let w_o = &self.params[w_o.clone()][columns.offset * d..][..columns.size * d];
                if layer.heads == 1 {
                    return linear::set_forward(level, &computed[span], w_o, d, out);
                }
                for (i, out) in rows.zip(out.chunks_exact_mut(d)) {
                    linear::set_forward(level, columns.row(computed, i), w_o, columns.size, out);
                }
            }
            Source::Mlp { layer: l } => {
                let Some(mlp) = &self.shape.layers[l].mlp else {
                    return;
                };
                let wide = MLP_FACTOR * d;
                let active = &computed[rows.start * wide..rows.end * wide];
                let (w, b) = (mlp.w_out.clone(), mlp.b_out.clone());
                let (w, b) = (&self.params[w], &self.params[b]);
                linear::forward(level, active, w, b, wide, out);
            }
        }
    }

    /// Whether interventions change what a source writes, for some readers or all.
    pub(super) fn is_touched(self, source: Source) -> bool {
        self.plan.is_some_and(|plan| {
            let mut at_reader = plan.at_reader.iter();
            plan.value(source).is_some() || at_reader.any(|(_, other, _)| *other == source)
        })
    }

    /// Whether what a layer's heads write is changed.
    pub(super) fn changes_heads(self, l: usize) -> bool {
        let mut heads = 0..self.shape.layers[l].heads;
        heads.any(|head| self.is_touched(Source::Head { layer: l, head }))
    }

    /// Adds to `base` what a source computed for some rows, which `after` holds: masked, and as interventions leave it.
    pub(super) fn write(
        self,
        source: Source,
        rows: Range<usize>,
        base: Option<&[Lane]>,
        after: &mut [Lane],
        changed: &mut Option<Box<Changed>>,
    ) {
        self.drop_rows(Place::of(source), rows.clone(), after);
        match (self.plan, changed) {
            (Some(plan), Some(changed)) if self.is_touched(source) => {
                let span = rows.start * self.shape.width..rows.end * self.shape.width;
                changed.single[span.clone()].copy_from_slice(after);
                match base {
                    Some(base) => after.copy_from_slice(base),
                    None => after.fill(Lane::ZERO),
                }
                changed.write(plan, source, span, after);
            }
            _ => {
                let base = base.into_iter().flatten();
                after
                    .iter_mut()
                    .zip(base)
                    .for_each(|(x, &base)| *x = base + *x);
            }
        }
    }

    /// The gradient of what a source computed in some rows, given that of the stream; in `single`.
    pub(super) fn written_backward<'x>(
        self,
        source: Source,
        rows: Range<usize>,
        d_resid: &[Lane],
        changed: &'x mut Changed,
    ) -> &'x mut [Lane] {
        let span = rows.start * self.shape.width..rows.end * self.shape.width;
        if let Some(plan) = self.plan {
            changed.written_backward(plan, source, span.clone(), d_resid);
        }
        let single = &mut changed.single[span];
        self.drop_rows(Place::of(source), rows, single);
        single
    }

    /// Adds what each head of a layer writes, as interventions leave it.
    pub(super) fn write_heads(
        self,
        l: usize,
        rows: Range<usize>,
        mixed: &[Lane],
        after: &mut [Lane],
        changed: &mut Option<Box<Changed>>,
    ) {
        let (Some(plan), Some(changed)) = (self.plan, changed) else {
            return;
        };
        let span = rows.start * self.shape.width..rows.end * self.shape.width;
        for head in 0..self.shape.layers[l].heads {
            let source = Source::Head { layer: l, head };
            let single = &mut changed.single[span.clone()];
            self.write_out(source, rows.clone(), mixed, single);
            self.drop_rows(Place::of(source), rows.clone(), single);
            changed.write(plan, source, span.clone(), after);
        }
    }

    /// The backward of [`write_heads`](Self::write_heads), down to the gradient of what the heads averaged.
    pub(super) fn write_heads_backward(
        self,
        l: usize,
        rows: Range<usize>,
        work: &mut Scratch,
        grads: &mut BlockGradient,
    ) {
        let Some(changed) = &mut work.changed else {
            return;
        };
        let (layer, d, level) = (&self.shape.layers[l], self.shape.width, self.level);
        let span = rows.start * d..rows.end * d;
        let (mixed, slopes) = (&work.layers[l].mixed, &mut work.slopes);
        for h in 0..layer.heads {
            let source = Source::Head { layer: l, head: h };
            let d_resid = &slopes.resid[span.clone()];
            let d_added = self.written_backward(source, rows.clone(), d_resid, changed);
            let Some(w_o) = &layer.w_o else {
                slopes.mixed[span.clone()].copy_from_slice(d_added);
                continue;
            };
            // Columns of the averages times rows of W_O.
            let columns = self.columns(l, h);
            let place =
                w_o.start + columns.offset * d..w_o.start + (columns.offset + columns.size) * d;
            let w_o = &self.params[place.clone()];
            if layer.heads == 1 {
                let d_mixed = &mut slopes.mixed[span.clone()];
                linear::set_input_backward(level, w_o, d, d_added, d_mixed);
                let d_w_o = &mut grads.summed[place];
                linear::add_weight_gradient(level, &mixed[span.clone()], d_added, d, d_w_o);
                continue;
            }
            for (i, d_added) in rows.clone().zip(d_added.chunks_exact(d)) {
                let d_mixed = columns.row_mut(&mut slopes.mixed, i);
                linear::set_input_backward(level, w_o, columns.size, d_added, d_mixed);
                let d_w_o = &mut grads.summed[place.clone()];
                linear::add_weight_gradient(
                    level,
                    columns.row(mixed, i),
                    d_added,
                    columns.size,
                    d_w_o,
                );
            }
        }
    }

    /// The pattern that a head is given, if it is.
    pub(super) fn table<'x>(
        self,
        l: usize,
        h: usize,
        changed: Option<&'x Changed>,
    ) -> Option<Table<'x>> {
        let plan = self.plan?;
        let index = plan
            .patterns
            .iter()
            .position(|(a, b, _)| (*a, *b) == (l, h))?;
        let (weights, stride) = (&changed?.patterns[index][..], self.shape.length);
        match plan.patterns[index].2 {
            Pattern::Target(target) => Some(Table::of(target, weights, stride)),
            Pattern::Data(_) => Some(Table::Lanes { weights, stride }),
            Pattern::Itself | Pattern::WithoutUniform | Pattern::UniformItself => None,
        }
    }

    /// What interventions do to a head's own pattern, if anything, and its place in the plan.
    pub(super) fn own_pattern(self, l: usize, h: usize) -> Option<(usize, Pattern)> {
        let patterns = self.plan?.patterns.iter().enumerate();
        let mut own = patterns.filter(|(_, (a, b, _))| (*a, *b) == (l, h));
        own.next().map(|(index, (.., pattern))| (index, *pattern))
    }

    /// The means of a head's values, where its uniform part is changed.
    pub(super) fn take_means(self, l: usize, rows: usize, work: &mut Scratch) {
        let Some(changed) = &mut work.changed else {
            return;
        };
        for h in 0..self.shape.layers[l].heads {
            if let Some((index, Pattern::WithoutUniform | Pattern::UniformItself)) =
                self.own_pattern(l, h)
            {
                let size = self.columns(l, h).size;
                let values = &work.layers[l].read.values[self.place(l, h)];
                clamped::means(self.level, 0..rows, size, values, &mut changed.means[index]);
            }
        }
    }

    /// Subtracts the uniform part from what a head averaged in some rows ([t, d / heads]), or adds it back.
    pub(super) fn shift_by_means(
        self,
        (l, h): (usize, usize),
        rows: Range<usize>,
        sign: f32,
        changed: &Changed,
        out: &mut [Lane],
    ) {
        if let Some((index, Pattern::WithoutUniform)) = self.own_pattern(l, h) {
            let size = self.columns(l, h).size;
            let span = rows.start * size..rows.end * size;
            for (x, &mean) in out[span.clone()]
                .iter_mut()
                .zip(&changed.means[index][span])
            {
                *x += mean * sign;
            }
        }
    }

    /// Takes back what values got through the uniform part of a pattern, where that is changed. `d_out` is the
    /// gradient of what the head averaged: [t, d / heads].
    pub(super) fn means_backward(
        self,
        (l, h): (usize, usize),
        rows: usize,
        d_out: &[Lane],
        d_values: &mut [Lane],
    ) {
        if let Some((_, Pattern::WithoutUniform | Pattern::UniformItself)) = self.own_pattern(l, h)
        {
            let size = self.columns(l, h).size;
            clamped::means_removed_backward(self.level, 0..rows, size, d_out, d_values);
        }
    }

    /// Where the gradients of a head's queries, keys and positions go if its pattern gets none.
    pub(super) fn stopped(
        self,
        (l, h): (usize, usize),
        changed: Option<&mut Changed>,
    ) -> Option<(&mut Read, &mut Vec<Lane>)> {
        match self.own_pattern(l, h) {
            Some((_, Pattern::Itself)) => {
                let (read, positions) = changed?.stopped.as_mut()?;
                Some((read, positions))
            }
            _ => None,
        }
    }

    /// Shows a head whose pattern is changed. Returns whether it did.
    pub(super) fn show_changed(
        self,
        (l, h): (usize, usize),
        rows: usize,
        work: &Scratch,
        probe: AttnProbe,
    ) -> bool {
        let Some(table) = self.table(l, h, work.changed.as_deref()) else {
            return false;
        };
        clamped::show(self.level, table, rows, (l, h), probe);
        true
    }

    /// A row of attention as a head uses it: without its uniform part, where that is left out.
    pub(super) fn shown(self, row: AttnRow, probe: AttnProbe) {
        match self.own_pattern(row.layer, row.head) {
            Some((_, Pattern::WithoutUniform)) => {
                let share = Lane::splat(1.0 / (row.position + 1) as f32);
                let left: Vec<Lane> = row.attn_pattern.iter().map(|&p| p - share).collect();
                probe(AttnRow {
                    attn_pattern: &left,
                    ..row
                });
            }
            _ => probe(row),
        }
    }

    /// What a source writes after interventions, on one lane, where that is not its own: for activations by name.
    pub(super) fn seen_instead(
        self,
        source: Source,
        rows: usize,
        work: &Scratch,
    ) -> Option<Vec<Lane>> {
        let value = self.plan?.value(source)?;
        let span = 0..rows * self.shape.width;
        match value {
            Value::Itself => None,
            Value::Zero => Some(vec![Lane::ZERO; span.end]),
            Value::Data(slot) => Some(work.changed.as_ref()?.data[slot][span].to_vec()),
        }
    }
}
