//! Test sets: sequences with the predictions of the truth and of strategies, and
//! a model's divergence from them.

use std::ops::Range;
use std::sync::Arc;

use induct_kernels::lanes::{LANES, Lane, leveled};
use induct_kernels::scratch::ScratchPool;
use induct_kernels::tokens::TokenBlock;
use rayon::prelude::*;

use super::estimate::Moments;
use super::heads::{HeadRequest, HeadSums};
use crate::chain::{Address, DrawError};
use crate::model::{Evaluator, InputError, Model};
use crate::strategy::{BadAnswer, Scratch, Strategy, fewer};
use crate::task::Task;
use crate::{Invalid, require};

/// Why a test set, or what is read from it, cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum ProbeError {
    /// A setting is impossible, or belongs to a part that this program does not have.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A prior from another crate does not draw chains, or a task from there no sequences.
    #[error(transparent)]
    Prior(#[from] DrawError),
    /// A strategy's answer is not a distribution.
    #[error("on sequence {sequence} of the test set, {error}")]
    Answer { sequence: u64, error: BadAnswer },
}

/// The positions of a sequence that predictions are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// All t of them.
    All,
    /// Only the last, as the paper measures.
    Last,
}

/// Sequences of a task, with the predictions of the truth and of some strategies on them.
#[derive(Clone, Debug)]
pub struct TestSet {
    length: usize,
    states: usize,
    blocks: Vec<TokenBlock>,
    /// Number of leading blocks that are measured at all positions.
    thorough: usize,
    references: Vec<Reference>,
}

/// What the truth is called among references.
const TRUTH: &str = "oracle";

/// A known predictor's answers on a test set.
#[derive(Clone, Debug)]
pub struct Reference {
    /// `oracle` for the truth, else the strategy's name.
    pub name: String,
    /// At the last position of every block.
    last: Answers,
    /// At all positions of the thorough blocks, if requested.
    all: Option<Answers>,
    /// Smallest effective sample size, if the predictor samples.
    pub effective_samples: Option<f64>,
}

/// Distributions, one sequence per lane.
#[derive(Clone, Debug, Default)]
struct Answers {
    /// [rows, k]
    probs: Vec<Lane>,
    /// Σ p ln p, `[rows]`
    neg_entropy: Vec<Lane>,
}

/// Divergences from a reference, averaged over sequences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Divergence {
    /// At the last position.
    pub last: Moments,
    /// Averaged over all positions of a sequence, where both predict there.
    pub all: Option<Moments>,
}

/// What is drawn for a test set.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The address that its sequences are drawn at.
    pub address: Address,
    /// Their numbers within the batch.
    pub sequences: Range<u64>,
    /// t: sequences have one more symbol.
    pub length: usize,
    /// Number of leading sequences, rounded up to a whole block, that are measured at all positions.
    pub thorough: u64,
}

impl TestSet {
    /// Draws sequences, and lets the truth and `strategies` predict on them, on the current thread pool. The
    /// truth is the first reference.
    ///
    /// # Errors
    ///
    /// If a part from another crate draws no sequences, or a strategy's answers are not distributions over the
    /// task's symbols.
    pub fn draw(
        task: &dyn Task,
        draw: &Draw,
        strategies: &[(Arc<dyn Strategy>, Positions)],
    ) -> Result<Self, ProbeError> {
        let (states, length) = (task.states(), draw.length);
        for (strategy, _) in strategies {
            require(
                strategy.states() == states,
                "strategy",
                format!("\"{}\" over {} symbols", strategy.name(), strategy.states()),
                &format!("a strategy over the task's {states} symbols"),
            )?;
        }
        let starts: Vec<u64> = draw.sequences.clone().step_by(LANES).collect();
        let thorough = draw
            .thorough
            .div_ceil(LANES as u64)
            .min(starts.len() as u64) as usize;
        // A block and, for the truth and every strategy, its predictions sequence by sequence.
        let drawn: Vec<Result<(TokenBlock, Vec<Predictions>), ProbeError>> = starts
            .into_par_iter()
            .enumerate()
            .map_init(Scratch::default, |scratch, (block, first)| {
                let mut lanes = Vec::new();
                let mut truth = Predictions::default();
                let mut predictions = vec![Predictions::default(); strategies.len()];
                let mut laws = vec![0.0; length * states];
                let first_of = |positions| match positions {
                    Positions::All if block < thorough => 0,
                    _ => length - 1,
                };
                for sequence in first..(first + LANES as u64).min(draw.sequences.end) {
                    let mut tokens = vec![0; length + 1];
                    task.sequence(
                        draw.address,
                        sequence,
                        &mut tokens,
                        Some(&mut laws),
                        scratch,
                    )?;
                    let laws = &laws[first_of(Positions::All) * states..];
                    truth.probs.extend(laws);
                    for ((strategy, positions), own) in strategies.iter().zip(&mut predictions) {
                        let at = first_of(*positions);
                        let start = own.probs.len();
                        own.probs.resize(start + (length - at) * states, 0.0);
                        let out = &mut own.probs[start..];
                        let samples = strategy.predict(&tokens, at..length, scratch, out);
                        if let Some(error) = BadAnswer::find(strategy.as_ref(), at, out) {
                            return Err(ProbeError::Answer { sequence, error });
                        }
                        own.effective_samples = fewer(own.effective_samples, samples);
                    }
                    lanes.push(tokens);
                }
                predictions.insert(0, truth);
                let lanes: Vec<&[u8]> = lanes.iter().map(Vec::as_slice).collect();
                Ok((TokenBlock::from_sequences(&lanes), predictions))
            })
            .collect();
        let reference = |name: String, positions: Positions| Reference {
            name,
            last: Answers::default(),
            all: (thorough > 0 && positions == Positions::All).then(Answers::default),
            effective_samples: None,
        };
        let others = strategies.iter();
        let others = others.map(|(strategy, positions)| reference(strategy.name(), *positions));
        let truth = reference(TRUTH.to_owned(), Positions::All);
        let mut references: Vec<Reference> = std::iter::once(truth).chain(others).collect();
        let mut blocks = Vec::with_capacity(drawn.len());
        for (index, drawn) in drawn.into_iter().enumerate() {
            let (block, predictions) = drawn?;
            for (reference, own) in references.iter_mut().zip(predictions) {
                reference.take(&own, states, block.used(), index < thorough);
            }
            blocks.push(block);
        }
        Ok(Self {
            length,
            states,
            blocks,
            thorough,
            references,
        })
    }

    /// The sequences, each with one symbol more than a context.
    pub fn sequences(&self) -> impl Iterator<Item = Vec<u8>> {
        let lanes = |block: &'_ TokenBlock| (0..block.used()).map(|l| block.lane(l)).collect();
        self.blocks
            .iter()
            .flat_map(move |block| -> Vec<Vec<u8>> { lanes(block) })
    }

    /// The same, in blocks of lanes.
    pub(super) fn blocks(&self) -> &[TokenBlock] {
        &self.blocks
    }

    /// Lets an evaluator take the means over the set that interventions need.
    pub(super) fn show_to(&self, evaluator: &mut Evaluator) {
        evaluator.see_batch(&self.blocks, self.length);
    }

    /// Those of the blocks that are measured at all positions, from the first on.
    pub(super) fn thorough_blocks(&self) -> &[TokenBlock] {
        &self.blocks[..self.thorough]
    }

    /// The truth first, then the strategies in the order they were requested.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Drops the strategies' answers.
    pub(super) fn keep_truth_only(&mut self) {
        self.references.truncate(1);
    }

    /// An evaluator that has seen the whole set.
    fn evaluator(&self, model: &Model, params: &[f32]) -> Result<Evaluator, InputError> {
        let sequences: usize = self.blocks.iter().map(TokenBlock::used).sum();
        model.check_batch(sequences as u64)?;
        let mut evaluator = model.evaluator(params)?;
        self.show_to(&mut evaluator);
        Ok(evaluator)
    }

    /// KL(truth ‖ model) at the last position of every sequence, in order, computed on the current thread pool.
    pub fn kl_by_sequence(&self, model: &Model, params: &[f32]) -> Result<Vec<f64>, InputError> {
        let (evaluator, wanted) = (self.evaluator(model, params)?, Request::default());
        let on_block = |(index, block): (usize, &TokenBlock)| {
            let mut log_q = vec![Lane::ZERO; self.length * self.states];
            let seen = self.measure_block(index, model, &evaluator, &wanted, &mut log_q);
            let (last, _) = seen.divergences[0];
            last.0[..block.used()].to_vec()
        };
        let blocks = self.blocks.par_iter().enumerate();
        let by_block: Vec<Vec<f32>> = blocks.map(on_block).collect();
        Ok(by_block.into_iter().flatten().map(f64::from).collect())
    }

    /// KL(reference ‖ model) for every reference, computed on the current thread pool.
    ///
    /// # Errors
    ///
    /// If the number of parameters is not the model's, or interventions need full blocks of sequences and the last
    /// one is not.
    pub fn divergences(
        &self,
        model: &Model,
        params: &[f32],
    ) -> Result<Vec<Divergence>, InputError> {
        let evaluator = self.evaluator(model, params)?;
        let pool = ScratchPool::default();
        Ok(self
            .measure(&pool, model, &evaluator, &Request::default())
            .divergences)
    }

    /// The same, with scratch buffers for that model, plus whatever else is wanted: one forward serves all.
    pub(super) fn measure(
        &self,
        pool: &ScratchPool<Vec<Lane>>,
        model: &Model,
        evaluator: &Evaluator,
        wanted: &Request<'_>,
    ) -> Measurement {
        let by_block: Vec<BlockMeasurement> = self
            .blocks
            .par_iter()
            .enumerate()
            // Small pieces: a training step may be waiting for the thread that works on one.
            .with_max_len(8)
            .map(|(index, _)| {
                let new = || vec![Lane::ZERO; model.length() * model.states()];
                pool.with(new, |log_q| {
                    self.measure_block(index, model, evaluator, wanted, log_q)
                })
            })
            .collect();
        let mut divergences = self.empty_divergences();
        for (block, on_block) in self.blocks.iter().zip(&by_block) {
            for (divergence, &(last, all)) in divergences.iter_mut().zip(&on_block.divergences) {
                divergence.push(last, all, block.used());
            }
        }
        let by_position = self.means_by_position(&by_block);
        let heads = by_block.into_iter().filter_map(|on_block| on_block.heads);
        Measurement {
            divergences,
            heads: heads.collect(),
            by_position,
        }
    }

    /// Measures one block; `log_q` ([t, k]) is a scratch buffer.
    fn measure_block(
        &self,
        index: usize,
        model: &Model,
        evaluator: &Evaluator,
        wanted: &Request<'_>,
        log_q: &mut [Lane],
    ) -> BlockMeasurement {
        let (length, states, block) = (self.length, self.states, &self.blocks[index]);
        let inputs = &block.rows()[..length];
        let looked_at = index < wanted.looked_at && !wanted.heads.is_empty();
        let thorough = index < self.thorough;
        let first = if thorough || looked_at { 0 } else { length - 1 };
        let mut measured = None;
        evaluator.forward(inputs, first, &mut |seen| {
            let log_q = &mut log_q[..seen.logits.len()];
            log_softmax(model.level(), seen.logits, states, log_q);
            let last = &log_q[log_q.len() - states..];
            let from = |reference: &Reference| {
                let all = reference.all.as_ref().filter(|_| thorough);
                (
                    reference.last.divergence(index, last),
                    all.map(|all| all.mean_divergence(index * length, states, log_q)),
                )
            };
            let divergences = self.references.iter().map(from).collect();
            let by_position = wanted.by_position && thorough;
            let heads = looked_at.then(|| {
                let (used, asked) = (block.used(), &wanted.heads);
                HeadSums::of_block(model, inputs, used, &seen, asked, wanted.ngram)
            });
            measured = Some(BlockMeasurement {
                divergences,
                by_position: by_position.then(|| self.by_position(index, log_q)),
                heads,
            });
        });
        measured.expect("a forward is seen")
    }

    /// KL(truth ‖ model) and cross-entropy at every position of a thorough block, given ln q ([t, k]).
    fn by_position(&self, index: usize, log_q: &[Lane]) -> Vec<[Lane; 2]> {
        let truth = self.references[0].all.as_ref();
        let rows = self.blocks[index].rows();
        let at = |(position, log_q): (usize, &[Lane])| {
            let kl = truth.map_or(Lane::ZERO, |truth| {
                truth.divergence(index * self.length + position, log_q)
            });
            let next = rows[position + 1];
            let loss = Lane(std::array::from_fn(|lane| {
                -log_q[usize::from(next[lane])].0[lane]
            }));
            [kl, loss]
        };
        log_q
            .chunks_exact(self.states)
            .enumerate()
            .map(at)
            .collect()
    }

    /// Means of those over all sequences that have them: `[t]` each, or empty.
    fn means_by_position(&self, blocks: &[BlockMeasurement]) -> [Vec<f64>; 2] {
        let mut sums = [vec![0.0; self.length], vec![0.0; self.length]];
        let mut sequences = 0;
        for (block, on_block) in self.blocks.iter().zip(blocks) {
            let Some(by_position) = &on_block.by_position else {
                continue;
            };
            sequences += block.used();
            for (position, values) in by_position.iter().enumerate() {
                for (sums, value) in sums.iter_mut().zip(values) {
                    sums[position] += value.0[..block.used()]
                        .iter()
                        .map(|&x| f64::from(x))
                        .sum::<f64>();
                }
            }
        }
        if sequences == 0 {
            return [Vec::new(), Vec::new()];
        }
        sums.map(|sums| sums.into_iter().map(|sum| sum / sequences as f64).collect())
    }

    /// KL(truth ‖ reference) for every reference.
    pub fn truth_divergences(&self) -> Vec<Divergence> {
        let (truth, states) = (&self.references[0], self.states);
        let mut divergences = self.empty_divergences();
        for (divergence, reference) in divergences.iter_mut().zip(&self.references) {
            let log_last = reference.last.logarithms();
            let log_all = reference.all.as_ref().map(Answers::logarithms);
            for (index, block) in self.blocks.iter().enumerate() {
                let last = truth
                    .last
                    .divergence(index, &log_last[index * states..][..states]);
                let all = match (&truth.all, &log_all) {
                    (Some(truth), Some(log_all)) if index < self.thorough => {
                        let first = index * self.length;
                        let log_q = &log_all[first * states..][..self.length * states];
                        Some(truth.mean_divergence(first, states, log_q))
                    }
                    _ => None,
                };
                divergence.push(last, all, block.used());
            }
        }
        divergences
    }

    fn empty_divergences(&self) -> Vec<Divergence> {
        let empty = |reference: &Reference| Divergence {
            last: Moments::default(),
            all: reference.all.as_ref().map(|_| Moments::default()),
        };
        self.references.iter().map(empty).collect()
    }
}

/// What is wanted in addition to divergences.
#[derive(Clone, Default)]
pub(super) struct Request<'a> {
    /// The head scores.
    pub heads: Vec<HeadRequest<'a>>,
    /// Number of leading blocks on which heads are scored.
    pub looked_at: usize,
    /// The task's n.
    pub ngram: usize,
    /// Means by position, on the thorough blocks.
    pub by_position: bool,
}

/// What a test set shows of a model.
pub(super) struct Measurement {
    /// Divergences from every reference.
    pub divergences: Vec<Divergence>,
    /// Head scores of every block that was looked at.
    pub heads: Vec<HeadSums>,
    /// KL(truth ‖ model) and cross-entropy at every position, if wanted.
    pub by_position: [Vec<f64>; 2],
}

/// What is measured on a block.
struct BlockMeasurement {
    /// Divergences from every reference, at the last position and over all of them.
    divergences: Vec<(Lane, Option<Lane>)>,
    /// KL(truth ‖ model) and cross-entropy at every position.
    by_position: Option<Vec<[Lane; 2]>>,
    /// Head scores, for blocks that are looked at.
    heads: Option<HeadSums>,
}

/// One strategy's predictions on a block, sequence by sequence.
#[derive(Clone, Debug, Default)]
struct Predictions {
    probs: Vec<f64>,
    effective_samples: Option<f64>,
}

impl Reference {
    /// Adds the predictions on one more block of `used` sequences: at the last position or, if they are to be
    /// `everywhere`, at all of them.
    fn take(&mut self, predictions: &Predictions, states: usize, used: usize, everywhere: bool) {
        let size = predictions.probs.len() / used;
        let sequences = predictions.probs.chunks_exact(size);
        self.last
            .take(sequences.clone().map(|all| &all[size - states..]), states);
        if let (Some(all), true) = (&mut self.all, everywhere) {
            all.take(sequences, states);
        }
        self.effective_samples = fewer(self.effective_samples, predictions.effective_samples);
    }
}

impl Answers {
    /// Adds the distributions of a block, transposed from sequences into lanes.
    fn take<'a>(&mut self, sequences: impl Iterator<Item = &'a [f64]>, states: usize) {
        let (start, entropies) = (self.probs.len(), self.neg_entropy.len());
        for (lane, sequence) in sequences.enumerate() {
            self.probs
                .resize(start + sequence.len(), Lane::splat(1.0 / states as f32));
            self.neg_entropy
                .resize(entropies + sequence.len() / states, Lane::ZERO);
            for (slot, &p) in self.probs[start..].iter_mut().zip(sequence) {
                slot.0[lane] = p as f32;
            }
            let rows = sequence.chunks_exact(states);
            for (slot, row) in self.neg_entropy[entropies..].iter_mut().zip(rows) {
                let sum: f64 = row.iter().map(|&p| times_log(p, libm::log(p))).sum();
                slot.0[lane] = sum as f32;
            }
        }
    }

    fn logarithms(&self) -> Vec<Lane> {
        self.probs.iter().map(|p| p.map(libm::logf)).collect()
    }

    /// KL(p ‖ q) = Σ p ln p − Σ p ln q of one row, given ln q (`[k]`).
    fn divergence(&self, row: usize, log_q: &[Lane]) -> Lane {
        let states = log_q.len();
        let p = &self.probs[row * states..][..states];
        let mut kl = self.neg_entropy[row];
        for (p, log_q) in p.iter().zip(log_q) {
            for lane in 0..LANES {
                // Where p is zero, ln q may be −∞.
                let product = p.0[lane] * log_q.0[lane];
                kl.0[lane] -= if p.0[lane] == 0.0 { 0.0 } else { product };
            }
        }
        kl
    }

    /// The mean of the same over rows from `first` on, given ln q ([rows, k]).
    fn mean_divergence(&self, first: usize, states: usize, log_q: &[Lane]) -> Lane {
        let mut sum = Lane::ZERO;
        for (row, log_q) in log_q.chunks_exact(states).enumerate() {
            sum += self.divergence(first + row, log_q);
        }
        sum * (states as f32 / log_q.len() as f32)
    }
}

/// p · log, where 0 · (−∞) = 0.
fn times_log(p: f64, log: f64) -> f64 {
    if p == 0.0 { 0.0 } else { p * log }
}

impl Divergence {
    /// Merges what was measured on another piece of the same test set.
    pub fn merge(&mut self, other: &Divergence) {
        self.last.merge(&other.last);
        if let (Some(own), Some(others)) = (&mut self.all, &other.all) {
            own.merge(others);
        }
    }

    /// Adds the first `used` lanes.
    fn push(&mut self, last: Lane, all: Option<Lane>, used: usize) {
        for lane in 0..used {
            self.last.push(f64::from(last.0[lane]));
            if let (Some(moments), Some(all)) = (&mut self.all, all) {
                moments.push(f64::from(all.0[lane]));
            }
        }
    }
}

leveled!(
    /// ln softmax of the logits at every position. Shapes: [positions, k] both.
    fn log_softmax<const FUSED: bool>(logits: &[Lane], states: usize, log_probs: &mut [Lane]) {
        for (row, out) in logits
            .chunks_exact(states)
            .zip(log_probs.chunks_exact_mut(states))
        {
            let largest = row[1..].iter().fold(row[0], |most, &f| most.max(f));
            let mut sum = Lane::ZERO;
            for &f in row {
                sum += (f - largest).exp::<FUSED>();
            }
            let log_sum = sum.ln::<FUSED>() + largest;
            for (log_p, &f) in out.iter_mut().zip(row) {
                *log_p = f - log_sum;
            }
        }
    }
);
