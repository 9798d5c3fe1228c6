//! Sequences by address: a chain from the prior, then a walk on it.

use rand_core::Rng;

use super::prior::Prior;
use super::stationary::StationarySolver;
use super::stream::{Address, Generator};
use super::table::{TransitionTable, context_symbols, slide};

/// Sequences that sit side by side in one block: the width of every inner loop.
pub const LANES: usize = 8;

/// Tokens of [`LANES`] sequences, position by position: [t+1] rows of one symbol a lane.
///
/// A batch whose size is no multiple of [`LANES`] leaves the last block's spare lanes at symbol 0; whoever
/// sums over lanes counts the first [`TokenBlock::used`] only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBlock {
    tokens: Vec<[u8; LANES]>,
    used: usize,
}

impl TokenBlock {
    /// A block for `count` (= t+1) tokens a sequence, all symbol 0.
    pub fn new(count: usize) -> Self {
        Self {
            tokens: vec![[0; LANES]; count],
            used: LANES,
        }
    }

    /// A block that holds the given sequences of equal length, at most [`LANES`] of them.
    pub fn from_sequences(sequences: &[&[u8]]) -> Self {
        let mut block = Self::new(sequences[0].len());
        block.used = sequences.len();
        for (lane, sequence) in sequences.iter().enumerate() {
            block.set_lane(lane, sequence);
        }
        block
    }

    fn set_lane(&mut self, lane: usize, sequence: &[u8]) {
        for (row, &symbol) in self.tokens.iter_mut().zip(sequence) {
            row[lane] = symbol;
        }
    }

    /// One row a position, [t+1].
    pub fn rows(&self) -> &[[u8; LANES]] {
        &self.tokens
    }

    /// How many lanes hold a sequence.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The tokens of one lane.
    pub fn lane(&self, lane: usize) -> Vec<u8> {
        self.tokens.iter().map(|row| row[lane]).collect()
    }
}

/// Draws sequences; holds the scratch space for it, so use one a thread.
#[derive(Clone, Debug)]
pub struct Sampler {
    solver: StationarySolver,
    table: TransitionTable,
    /// Cumulative probabilities in units of 2⁻³², [contexts, k−1].
    thresholds: Vec<u64>,
    /// The context that symbol 0 leads to, `[contexts]`; symbol s leads s further.
    successors: Vec<usize>,
}

impl Sampler {
    /// A sampler for chains of the prior's k and n.
    pub fn new(prior: &Prior) -> Self {
        let table = TransitionTable::unset(prior.states(), prior.ngram());
        Self {
            solver: StationarySolver::default(),
            thresholds: vec![0; table.contexts() * (prior.states() - 1)],
            successors: (0..table.contexts())
                .map(|context| slide(context, 0, prior.states(), table.contexts()))
                .collect(),
            table,
        }
    }

    /// Fills `tokens` with sequence `index` of the batch at `address`; the table it was drawn from is
    /// returned until the next draw.
    pub fn sequence(
        &mut self,
        prior: &Prior,
        address: Address,
        index: u64,
        tokens: &mut [u8],
    ) -> &TransitionTable {
        let mut rng = address.generator(index);
        prior.draw(&mut rng, &mut self.solver, &mut self.table);
        self.walk(&mut rng, tokens.len(), |position, symbol| {
            tokens[position] = symbol
        });
        &self.table
    }

    /// Fills a block with `used` sequences, the first of them numbered `first`.
    pub fn block(
        &mut self,
        prior: &Prior,
        address: Address,
        first: u64,
        used: usize,
        block: &mut TokenBlock,
    ) {
        block.used = used;
        for lane in 0..LANES {
            if lane < used {
                let mut rng = address.generator(first + lane as u64);
                prior.draw(&mut rng, &mut self.solver, &mut self.table);
                let count = block.tokens.len();
                let tokens = &mut block.tokens;
                self.walk(&mut rng, count, |position, symbol| {
                    tokens[position][lane] = symbol
                });
            } else {
                block.tokens.iter_mut().for_each(|row| row[lane] = 0);
            }
        }
    }

    /// Walks the current table from its stationary law, for `count` symbols.
    fn walk(&mut self, rng: &mut Generator, count: usize, mut put: impl FnMut(usize, u8)) {
        let (states, order) = (self.table.states(), self.table.ngram() - 1);
        for (row, steps) in self
            .table
            .rows()
            .zip(self.thresholds.chunks_exact_mut(states - 1))
        {
            cumulate(row, steps);
        }
        // The first n−1 symbols are a context drawn from the stationary law, oldest symbol first.
        let mut context = pick_context(self.table.stationary(), rng.next_u32());
        for (position, symbol) in context_symbols(context, states, order)
            .take(count)
            .enumerate()
        {
            put(position, symbol);
        }
        for position in order..count {
            let u = u64::from(rng.next_u32());
            let symbol = match states {
                2 => u8::from(self.thresholds[context] <= u),
                _ => {
                    let steps = &self.thresholds[context * (states - 1)..][..states - 1];
                    steps.iter().filter(|&&step| step <= u).count() as u8
                }
            };
            put(position, symbol);
            context = self.successors[context] + usize::from(symbol);
        }
    }
}

const FULL: f64 = 4_294_967_296.0; // 2³²

/// Writes the first k−1 cumulative sums of `row` in units of 2⁻³², rounded to the nearest: a sum that is
/// one but for rounding leaves nothing to the symbols after it.
fn cumulate(row: &[f64], steps: &mut [u64]) {
    let mut sum = 0.0;
    for (p, step) in row.iter().zip(steps) {
        sum += p;
        *step = (sum * FULL).round() as u64;
    }
}

/// The context whose share of [0, 1) holds u · 2⁻³².
fn pick_context(law: &[f64], u: u32) -> usize {
    let u = f64::from(u) / FULL;
    let mut sum = 0.0;
    for (context, mass) in law.iter().enumerate() {
        sum += mass;
        if u < sum {
            return context;
        }
    }
    // Rounding left the sum below one: the last context that has any mass.
    law.iter().rposition(|&mass| mass > 0.0).unwrap_or(0)
}
