//! Test sets: sequences with the predictions of the truth and of strategies, and a model's distance to them.

use rayon::prelude::*;

use super::estimate::Moments;
use crate::chain::{Address, LANES, Prior, Sampler, TokenBlock};
use crate::model::level::{Level, leveled};
use crate::model::{Lane, Model};
use crate::strategy::{Scratch, Strategy};

/// Which positions of a sequence predictions are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// All t of them.
    All,
    /// The last only, as the paper measures.
    Last,
}

/// Sequences drawn from a prior, with what the truth and some strategies predict on them.
#[derive(Clone, Debug)]
pub struct TestSet {
    length: usize,
    states: usize,
    blocks: Vec<TokenBlock>,
    references: Vec<Reference>,
}

/// A known predictor's answers on a test set.
#[derive(Clone, Debug)]
pub struct Reference {
    /// `oracle` for the truth, else the strategy's name.
    pub name: String,
    positions: Positions,
    /// [blocks, positions, k], one sequence a lane
    probs: Vec<Lane>,
    /// Σ p ln p of every distribution, [blocks, positions]
    neg_entropy: Vec<Lane>,
    /// Smallest effective sample size met, if the predictor samples.
    pub effective_samples: Option<f64>,
}

/// Divergences from a reference, averaged over sequences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Divergence {
    /// At the last position.
    pub last: Moments,
    /// Averaged over all positions of a sequence, if the reference has them.
    pub all: Option<Moments>,
}

impl TestSet {
    /// Draws the sequences with the given numbers, of length t+1, and lets the truth and `strategies` predict on them, over the
    /// current thread pool. The first of the references is the truth.
    pub fn draw(
        prior: &Prior,
        address: Address,
        sequences: std::ops::Range<u64>,
        length: usize,
        strategies: &[(Strategy, Positions)],
    ) -> Self {
        let states = prior.states();
        let truth = (Strategy::oracle(prior), Positions::All);
        let asked: Vec<&(Strategy, Positions)> =
            std::iter::once(&truth).chain(strategies).collect();
        let starts: Vec<u64> = sequences.clone().step_by(LANES).collect();
        // A block's answers: for every strategy its predictions, sequence by sequence, and sample size.
        let drawn: Vec<(TokenBlock, Vec<Answers>)> = starts
            .into_par_iter()
            .map_init(
                || (Sampler::new(prior), Scratch::default()),
                |(sampler, scratch), first| {
                    let mut lanes = Vec::new();
                    let mut answers = vec![Answers::default(); asked.len()];
                    for index in first..(first + LANES as u64).min(sequences.end) {
                        let mut tokens = vec![0; length + 1];
                        let table = sampler.sequence(prior, address, index, &mut tokens);
                        for ((strategy, positions), answer) in asked.iter().zip(&mut answers) {
                            let range = positions.range(length);
                            let start = answer.probs.len();
                            answer.probs.resize(start + range.len() * states, 0.0);
                            let out = &mut answer.probs[start..];
                            let samples =
                                strategy.predict(&tokens, Some(table), range, scratch, out);
                            answer.note(samples);
                        }
                        lanes.push(tokens);
                    }
                    let lanes: Vec<&[u8]> = lanes.iter().map(Vec::as_slice).collect();
                    (TokenBlock::from_sequences(&lanes), answers)
                },
            )
            .collect();
        let mut references: Vec<Reference> = asked
            .iter()
            .map(|(strategy, positions)| Reference {
                name: strategy.name(),
                positions: *positions,
                probs: Vec::new(),
                neg_entropy: Vec::new(),
                effective_samples: None,
            })
            .collect();
        let mut blocks = Vec::with_capacity(drawn.len());
        for (block, answers) in drawn {
            blocks.push(block);
            for (reference, answer) in references.iter_mut().zip(answers) {
                reference.take(&answer, states, length);
            }
        }
        Self {
            length,
            states,
            blocks,
            references,
        }
    }

    /// The sequences, in blocks of lanes.
    pub fn blocks(&self) -> &[TokenBlock] {
        &self.blocks
    }

    /// The truth first, then the strategies in the order they were asked for.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// KL(reference ‖ model) for every reference, over the current thread pool.
    pub fn divergences(&self, model: &Model, params: &[f32]) -> Vec<Divergence> {
        let prepared = model.prepare(params);
        let by_block: Vec<Vec<(Lane, Lane)>> = self
            .blocks
            .par_iter()
            .enumerate()
            .map_init(
                || (model.work(), vec![Lane::ZERO; self.length * self.states]),
                |(work, log_q), (index, block)| {
                    model.forward(&prepared, &block.rows()[..self.length], work);
                    log_softmax(work.logits(), self.states, log_q);
                    let from = |reference: &Reference| {
                        reference.divergence(index, self.length, self.states, log_q)
                    };
                    self.references.iter().map(from).collect()
                },
            )
            .collect();
        let mut divergences = self.empty_divergences();
        for (block, by_reference) in self.blocks.iter().zip(&by_block) {
            for (divergence, &(last, all)) in divergences.iter_mut().zip(by_reference) {
                divergence.push(last, all, block.used());
            }
        }
        divergences
    }

    /// KL(truth ‖ reference) for every reference.
    pub fn truth_divergences(&self) -> Vec<Divergence> {
        let truth = &self.references[0];
        let mut divergences = self.empty_divergences();
        for (divergence, reference) in divergences.iter_mut().zip(&self.references) {
            let size = reference.positions.range(self.length).len() * self.states;
            for (index, (block, probs)) in self
                .blocks
                .iter()
                .zip(reference.probs.chunks_exact(size))
                .enumerate()
            {
                let log_q: Vec<Lane> = probs.iter().map(|p| p.map(libm::logf)).collect();
                let (last, all) = match reference.positions {
                    Positions::All => truth.divergence(index, self.length, self.states, &log_q),
                    Positions::Last => {
                        let row = (index + 1) * self.length - 1;
                        (
                            truth.position_divergence(row, self.states, &log_q),
                            Lane::ZERO,
                        )
                    }
                };
                divergence.push(last, all, block.used());
            }
        }
        divergences
    }

    fn empty_divergences(&self) -> Vec<Divergence> {
        let all = |positions| (positions == Positions::All).then(Moments::default);
        let empty = |reference: &Reference| Divergence {
            last: Moments::default(),
            all: all(reference.positions),
        };
        self.references.iter().map(empty).collect()
    }
}

impl Positions {
    fn range(self, length: usize) -> std::ops::Range<usize> {
        match self {
            Positions::All => 0..length,
            Positions::Last => length - 1..length,
        }
    }
}

/// One strategy's answers on a block.
#[derive(Clone, Debug, Default)]
struct Answers {
    probs: Vec<f64>,
    effective_samples: Option<f64>,
}

impl Answers {
    fn note(&mut self, samples: Option<f64>) {
        self.effective_samples = fewer(self.effective_samples, samples);
    }
}

/// The smaller of two numbers that may be missing.
pub fn fewer(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

impl Reference {
    /// Takes in the answers on one more block, turned from sequences into lanes.
    fn take(&mut self, answers: &Answers, states: usize, length: usize) {
        let positions = self.positions.range(length).len();
        let sequences = answers.probs.chunks_exact(positions * states);
        let start = self.probs.len();
        self.probs
            .resize(start + positions * states, Lane::splat(1.0 / states as f32));
        let entropies = self.neg_entropy.len();
        self.neg_entropy.resize(entropies + positions, Lane::ZERO);
        for (lane, sequence) in sequences.enumerate() {
            for (slot, &p) in self.probs[start..].iter_mut().zip(sequence) {
                slot.0[lane] = p as f32;
            }
            let rows = sequence.chunks_exact(states);
            for (slot, row) in self.neg_entropy[entropies..].iter_mut().zip(rows) {
                let sum: f64 = row.iter().map(|&p| times_log(p, libm::log(p))).sum();
                slot.0[lane] = sum as f32;
            }
        }
        self.effective_samples = fewer(self.effective_samples, answers.effective_samples);
    }

    /// KL(reference ‖ q) on one block, given ln q at all positions ([t, k]): at the last position, and averaged over
    /// all (zero if the reference has the last only).
    fn divergence(
        &self,
        block: usize,
        length: usize,
        states: usize,
        log_q: &[Lane],
    ) -> (Lane, Lane) {
        match self.positions {
            Positions::Last => {
                let last = &log_q[(length - 1) * states..];
                (self.position_divergence(block, states, last), Lane::ZERO)
            }
            Positions::All => {
                let (mut sum, mut last) = (Lane::ZERO, Lane::ZERO);
                for (position, log_q) in log_q.chunks_exact(states).enumerate() {
                    last = self.position_divergence(block * length + position, states, log_q);
                    sum += last;
                }
                (last, sum * (1.0 / length as f32))
            }
        }
    }

    /// KL(p ‖ q) = Σ p ln p − Σ p ln q of one row of distributions.
    fn position_divergence(&self, row: usize, states: usize, log_q: &[Lane]) -> Lane {
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
}

/// p · log, where 0 · (−∞) = 0.
fn times_log(p: f64, log: f64) -> f64 {
    if p == 0.0 { 0.0 } else { p * log }
}

impl Divergence {
    /// Takes in what was measured on another piece of the same test set.
    pub fn merge(&mut self, other: &Divergence) {
        self.last.merge(&other.last);
        if let (Some(own), Some(others)) = (&mut self.all, &other.all) {
            own.merge(others);
        }
    }

    /// Takes in the first `used` lanes.
    fn push(&mut self, last: Lane, all: Lane, used: usize) {
        for lane in 0..used {
            self.last.push(f64::from(last.0[lane]));
            if let Some(moments) = &mut self.all {
                moments.push(f64::from(all.0[lane]));
            }
        }
    }
}

/// ln softmax of the logits at every position. Shapes: [positions, k] both.
pub fn log_softmax(logits: &[Lane], states: usize, log_probs: &mut [Lane]) {
    log_softmax_at(Level::detect(), logits, states, log_probs);
}

leveled!(
    fn log_softmax_at(logits: &[Lane], states: usize, log_probs: &mut [Lane]) = log_softmax_any
);

#[inline(always)]
fn log_softmax_any<const FUSED: bool>(logits: &[Lane], states: usize, log_probs: &mut [Lane]) {
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
