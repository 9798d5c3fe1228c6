//! Test sets: sequences with the predictions of the truth and of strategies, and a model's distance to them.

use rayon::prelude::*;

use super::estimate::Moments;
use crate::chain::{Address, LANES, Prior, Sampler, TokenBlock};
use crate::model::{Lane, Model, Prepared, Work};
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
    /// [sequences, positions, k]
    probs: Vec<f64>,
    /// Σ p ln p of every distribution, [sequences, positions]
    neg_entropy: Vec<f64>,
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
    /// Draws `count` sequences of length t+1 and lets the truth and `strategies` predict on them, over the
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
                reference.take(answer, states);
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
        // Per block and sequence: [references] of (last, all).
        let by_block: Vec<Vec<Vec<(f64, f64)>>> = self
            .blocks
            .par_iter()
            .enumerate()
            .map_init(
                || model.work(),
                |work, (index, block)| self.block_divergences(model, &prepared, index, block, work),
            )
            .collect();
        let mut divergences = self.empty_divergences();
        for sequence in by_block.iter().flatten() {
            for (divergence, &(last, all)) in divergences.iter_mut().zip(sequence) {
                divergence.push(last, all);
            }
        }
        divergences
    }

    fn block_divergences(
        &self,
        model: &Model,
        prepared: &Prepared,
        index: usize,
        block: &TokenBlock,
        work: &mut Work,
    ) -> Vec<Vec<(f64, f64)>> {
        model.forward(prepared, &block.rows()[..self.length], work);
        let mut log_probs = vec![0.0; self.length * self.states];
        (0..block.used())
            .map(|lane| {
                log_softmax(work.logits(), lane, self.states, &mut log_probs);
                let sequence = index * LANES + lane;
                let from = |reference: &Reference| {
                    reference.divergence(sequence, self.length, self.states, &log_probs)
                };
                self.references.iter().map(from).collect()
            })
            .collect()
    }

    /// KL(truth ‖ reference) for every reference.
    pub fn truth_divergences(&self) -> Vec<Divergence> {
        let truth = &self.references[0];
        let sequences = truth.neg_entropy.len() / self.length;
        let (length, states) = (self.length, self.states);
        let mut divergences = self.empty_divergences();
        for (divergence, reference) in divergences.iter_mut().zip(&self.references) {
            for sequence in 0..sequences {
                let count = reference.positions.range(length).len();
                let own = &reference.probs[sequence * count * states..][..count * states];
                let log_probs: Vec<f64> = own.iter().map(|&p| libm::log(p)).collect();
                let (last, all) = match reference.positions {
                    Positions::All => truth.divergence(sequence, length, states, &log_probs),
                    Positions::Last => {
                        let row = sequence * length + length - 1;
                        (truth.position_divergence(row, states, &log_probs), f64::NAN)
                    }
                };
                divergence.push(last, all);
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
fn fewer(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

impl Reference {
    fn take(&mut self, answers: Answers, states: usize) {
        let neg_entropy =
            |row: &[f64]| row.iter().map(|&p| times_log(p, libm::log(p))).sum::<f64>();
        self.neg_entropy
            .extend(answers.probs.chunks_exact(states).map(neg_entropy));
        self.probs.extend(answers.probs);
        self.effective_samples = fewer(self.effective_samples, answers.effective_samples);
    }

    /// KL(reference ‖ q) of one sequence, given ln q at all positions ([t, k]): at the last position, and
    /// averaged over all (NaN if the reference has the last only).
    fn divergence(
        &self,
        sequence: usize,
        length: usize,
        states: usize,
        log_q: &[f64],
    ) -> (f64, f64) {
        match self.positions {
            Positions::Last => {
                let last = &log_q[(length - 1) * states..];
                (self.position_divergence(sequence, states, last), f64::NAN)
            }
            Positions::All => {
                let (mut sum, mut last) = (0.0, 0.0);
                for (position, log_q) in log_q.chunks_exact(states).enumerate() {
                    last = self.position_divergence(sequence * length + position, states, log_q);
                    sum += last;
                }
                (last, sum / length as f64)
            }
        }
    }

    /// KL(p ‖ q) = Σ p ln p − Σ p ln q of one distribution.
    fn position_divergence(&self, row: usize, states: usize, log_q: &[f64]) -> f64 {
        let p = &self.probs[row * states..][..states];
        let cross: f64 = p
            .iter()
            .zip(log_q)
            .map(|(&p, &log_q)| times_log(p, log_q))
            .sum();
        self.neg_entropy[row] - cross
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

    fn push(&mut self, last: f64, all: f64) {
        self.last.push(last);
        if let Some(moments) = &mut self.all {
            moments.push(all);
        }
    }
}

/// ln softmax of one lane's logits at every position, in f64. Shapes: [positions, k] both.
pub fn log_softmax(logits: &[Lane], lane: usize, states: usize, log_probs: &mut [f64]) {
    for (row, out) in logits
        .chunks_exact(states)
        .zip(log_probs.chunks_exact_mut(states))
    {
        for (value, logit) in out.iter_mut().zip(row) {
            *value = f64::from(logit.0[lane]);
        }
        let largest = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = out.iter().map(|&f| libm::exp(f - largest)).sum();
        let log_sum = largest + libm::log(sum);
        out.iter_mut().for_each(|f| *f -= log_sum);
    }
}
