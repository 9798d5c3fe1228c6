//! Interventions on what is written to the stream and read from it: what is put in place of activations, and the
//! gradients that it stops.
//!
//! A source of which all readers see something else writes that to the stream, and gets no gradient. If only
//! some readers do, they get a stream of their own: the common one, plus the difference. What such a reader
//! sends back goes to the common stream as ever, and is withheld (*cut*) from the source.

use std::ops::Range;
use std::sync::Arc;

use super::Pass;
use super::scratch::{Normed, Scratch};
use crate::lanes::{LANES, Lane};
use crate::model::block::{Allocator, Norm, ReadBack};
use crate::model::intervention::{Origin, Pattern, Plan, Port, Value};
use crate::model::ops::attention::{AttnRow, clamped};
use crate::model::transformer::Transformer;

/// Buffers for interventions on eight sequences.
#[derive(Debug)]
pub(super) struct Edits {
    pub(super) plan: Arc<Plan>,
    /// A forward without interventions, and its logits, where anything is taken from it.
    clean: Option<(Box<Scratch>, Vec<Lane>)>,
    /// What is put in place of something written, by slot of the plan: [t, d].
    pub(super) data: Vec<Vec<Lane>>,
    watched: Vec<Watched>,
    readers: Vec<OwnStream>,
    /// What one source writes, or one reader sends back: [t, d]
    pub(super) single: Vec<Lane>,
}

/// A source of which some readers see something else.
#[derive(Debug)]
struct Watched {
    source: Port,
    /// What it writes, [t, d].
    own: Vec<Lane>,
    /// The part of the stream's gradient that it does not get, [t, d].
    cut: Vec<Lane>,
}

/// What a reader sees instead of the common stream.
#[derive(Debug)]
struct OwnStream {
    reader: Port,
    /// [t, d]
    stream: Vec<Lane>,
    normed: Normed,
}

impl Edits {
    /// Buffers for a plan; `clean` are those of a forward without interventions, if it needs one.
    pub fn new(
        shape: &Transformer,
        plan: &Arc<Plan>,
        clean: Option<Box<Scratch>>,
        buffers: &mut Allocator,
    ) -> Self {
        let stream = [shape.length, shape.width];
        let mut readers: Vec<OwnStream> = Vec::new();
        for (reader, ..) in &plan.at_reader {
            if readers.iter().all(|other| other.reader != *reader) {
                readers.push(OwnStream {
                    reader: *reader,
                    stream: buffers.lanes(stream),
                    normed: Normed::new(shape, shape.final_norm.is_some(), buffers),
                });
            }
        }
        let watched = plan.watched().into_iter().map(|source| Watched {
            source,
            own: buffers.lanes(stream),
            cut: buffers.lanes(stream),
        });
        Self {
            watched: watched.collect(),
            clean: clean.map(|scratch| (scratch, buffers.lanes([shape.length, shape.states]))),
            data: plan.written.iter().map(|_| buffers.lanes(stream)).collect(),
            readers,
            plan: plan.clone(),
            single: buffers.lanes(stream),
        }
    }

    /// Clears the gradients that are withheld.
    pub fn begin(&mut self) {
        for watched in &mut self.watched {
            watched.cut.fill(Lane::ZERO);
        }
    }

    /// What a reader with a stream of its own reads of some rows: after the norm, if there is one.
    pub fn read<'x>(
        &'x mut self,
        pass: Pass,
        reader: Port,
        norm: &Option<Norm>,
        stream: &[Lane],
        span: Range<usize>,
    ) -> Option<&'x [Lane]> {
        let own = self.readers.iter_mut().find(|own| own.reader == reader)?;
        let (watched, data) = (&self.watched, &self.data);
        let seen = &mut own.stream[span.clone()];
        seen.copy_from_slice(&stream[span.clone()]);
        for (source, value) in self.plan.of_reader(reader) {
            if value == Value::Itself {
                continue;
            }
            let written = &watched[find(watched, source)].own[span.clone()];
            for (x, &written) in seen.iter_mut().zip(written) {
                *x = *x - written;
            }
            if let Value::Data(slot) = value {
                add(seen, &data[slot][span.clone()]);
            }
        }
        Some(pass.normed(norm, &own.stream, &mut own.normed, span))
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
        reader: Port,
        norm: &Option<Norm>,
        span: Range<usize>,
        (d_stream, d_normed): (&mut [Lane], &mut [Lane]),
        grads: &mut [f32],
        backward: impl FnOnce(&mut ReadBack),
    ) {
        let Some(own) = self.readers.iter().find(|own| own.reader == reader) else {
            return;
        };
        let d_own = &mut self.single;
        d_own[span.clone()].fill(Lane::ZERO);
        let read = (norm, &own.stream[..], &own.normed);
        pass.normed_backward(read, span.clone(), (d_own, d_normed), grads, backward);
        add(&mut d_stream[span.clone()], &d_own[span.clone()]);
        for (source, _) in self.plan.of_reader(reader) {
            let watched = find(&self.watched, source);
            let cut = &mut self.watched[watched].cut[span.clone()];
            add(cut, &d_own[span.clone()]);
        }
    }

    /// Keeps what a source writes, which is in `single`, if some reader does not see it; and adds to `out` what goes
    /// to the stream instead: that itself, something else, or nothing.
    pub fn write(&mut self, source: Port, span: Range<usize>, out: &mut [Lane]) {
        if let Some(watched) = self.watched.iter_mut().find(|own| own.source == source) {
            watched.own[span.clone()].copy_from_slice(&self.single[span.clone()]);
        }
        match self.plan.value(source) {
            None | Some(Value::Itself) => add(out, &self.single[span]),
            Some(Value::Data(slot)) => add(out, &self.data[slot][span]),
            Some(Value::Zero) => {}
        }
    }

    /// The same for the embedding, which `out` holds.
    pub fn write_embed(&mut self, span: Range<usize>, out: &mut [Lane]) {
        if self.plan.touches(&[Port::EMBED]) {
            self.single[span.clone()].copy_from_slice(out);
            out.fill(Lane::ZERO);
            self.write(Port::EMBED, span, out);
        }
    }

    /// The gradient of what a source wrote, given that of the stream: none of it where all readers saw something
    /// else, and without what is cut where some did.
    pub fn written_backward(
        &mut self,
        source: Port,
        span: Range<usize>,
        d_out: &[Lane],
    ) -> &mut [Lane] {
        let single = &mut self.single[span.clone()];
        if self.plan.value(source).is_some() {
            single.fill(Lane::ZERO);
            return single;
        }
        single.copy_from_slice(d_out);
        if let Some(watched) = self.watched.iter().find(|own| own.source == source) {
            for (d, &cut) in single.iter_mut().zip(&watched.cut[span]) {
                *d = *d - cut;
            }
        }
        single
    }
}

fn find(watched: &[Watched], source: Port) -> usize {
    let place = watched.iter().position(|own| own.source == source);
    place.expect("sources that a reader does not see are watched")
}

fn add(sum: &mut [Lane], part: &[Lane]) {
    for (sum, &part) in sum.iter_mut().zip(part) {
        *sum += part;
    }
}

impl<'a> Pass<'a> {
    /// Computes everything that is put in place of activations of these sequences, from a forward without
    /// interventions.
    pub(super) fn replace(self, inputs: &[[u8; LANES]], work: &mut Scratch) {
        let Scratch { given, edits, .. } = work;
        let Some(edits) = edits else { return };
        let Edits {
            plan, clean, data, ..
        } = &mut **edits;
        let (rows, t) = (inputs.len(), self.shape.length);
        let span = 0..rows * self.shape.width;
        for ((.., pattern), weights) in plan.patterns.iter().zip(given.iter_mut()) {
            if let Pattern::Target(target) = pattern
                && target.reads_symbols()
            {
                clamped::fill(self.level, *target, inputs, t, weights);
            }
        }
        for ((written, data), means) in plan.written.iter().zip(&mut *data).zip(self.means) {
            if written.from == Origin::Mean {
                let data = data[span.clone()].iter_mut();
                data.zip(means)
                    .for_each(|(x, &mean)| *x = Lane::splat(mean));
            }
        }
        let Some((clean, logits)) = clean else {
            return;
        };
        let others = (0..self.others.len()).map(Origin::OtherWeights);
        for from in others.chain([Origin::OtherSequence]) {
            if !plan.takes_from(from) {
                continue;
            }
            let weights = match from {
                Origin::OtherWeights(index) => &self.others[index][..],
                _ => self.weights,
            };
            let plain = self.without_interventions(weights);
            plain.forward(inputs, 0, clean, logits);
            let turn = |lane: &Lane| match from {
                Origin::OtherSequence => lane.rotated(),
                _ => *lane,
            };
            for (written, data) in plan.written.iter().zip(&mut *data) {
                if written.from == from {
                    let data = &mut data[span.clone()];
                    plain.written(written.by, 0..rows, clean, data);
                    data.iter_mut().for_each(|lane| *lane = turn(lane));
                }
            }
            for ((l, h, pattern), weights) in plan.patterns.iter().zip(given.iter_mut()) {
                if *pattern == Pattern::Data(from) {
                    plain.show(rows, clean, &mut |row: AttnRow| {
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
        let Some(edits) = &mut work.edits else { return };
        let Edits {
            plan,
            clean: Some((clean, logits)),
            single,
            ..
        } = &mut **edits
        else {
            return;
        };
        let (rows, d) = (inputs.len(), self.shape.width);
        let plain = self.without_interventions(self.weights);
        plain.forward(inputs, 0, clean, logits);
        let by_slot = sums.chunks_exact_mut(self.shape.length * d);
        for (written, sums) in plan.written.iter().zip(by_slot) {
            if written.from == Origin::Mean {
                let single = &mut single[..rows * d];
                plain.written(written.by, 0..rows, clean, single);
                for (sum, lane) in sums.iter_mut().zip(&*single) {
                    *sum += lane.0[..used].iter().map(|&x| f64::from(x)).sum::<f64>();
                }
            }
        }
    }

    /// The same transformer without interventions and dropout, at the given parameters.
    fn without_interventions(self, weights: &'a [f32]) -> Self {
        Self {
            weights,
            plan: None,
            dropout: None,
            ..self
        }
    }

    /// Sets `out` to what a source added to the stream in some rows of the last forward, before interventions and
    /// dropout: [rows, d].
    pub(super) fn written(
        self,
        source: Port,
        rows: Range<usize>,
        work: &Scratch,
        out: &mut [Lane],
    ) {
        for (s, slot) in self.shape.slots.iter().enumerate() {
            if let Some(index) = slot.sources.iter().position(|other| *other == source) {
                let c = self.context(s, &work.given);
                out.fill(Lane::ZERO);
                return work.passes[s].write(c, Some(index), rows, out);
            }
        }
        let d = self.shape.width;
        out.copy_from_slice(&work.streams[0][rows.start * d..rows.end * d]);
    }
}
