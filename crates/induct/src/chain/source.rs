//! Sequences by address: a chain from the prior, then a walk on it.

use std::ops::Range;

use induct_kernels::lanes::LANES;
use induct_kernels::tokens::TokenBlock;
use rand_core::Rng;

use super::prior::{DrawError, TaskPrior};
use super::start::Start;
use super::stationary::StationarySolver;
use super::table::{TransitionTable, context_symbols, slide};
use crate::chain::{Address, Generator};

/// Draws sequences. It owns the scratch buffers for this, so use one per thread.
///
/// ```
/// use induct::chain::{Address, PriorSpec, Purpose, Sampler, TaskPrior};
///
/// let prior = TaskPrior::new(&PriorSpec::default(), 2, 2)?;
/// let address = Address { purpose: Purpose::Fresh, seed: 0, step: 0 };
/// let (mut tokens, mut again) = ([0; 20], [0; 20]);
/// let mut sampler = Sampler::new(&prior);
/// let chain = sampler.sequence(&prior, address, 7, &mut tokens)?;
/// assert_eq!(chain.row(0).len(), 2);
/// sampler.sequence(&prior, address, 7, &mut again)?;
/// assert_eq!(tokens, again);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    solver: StationarySolver,
    table: TransitionTable,
    /// The context that symbol 0 leads to, `[contexts]`; symbol s leads to the s-th context after it.
    successors: Vec<usize>,
    walkers: Vec<Walker>,
    /// Random words, one per symbol: [t+1]
    words: Vec<[u32; LANES]>,
    bytes: Vec<u8>,
}

/// The chain that one lane walks on, and its state.
#[derive(Clone, Debug)]
struct Walker {
    /// Cumulative probabilities in units of 2⁻³², [contexts, k−1].
    thresholds: Vec<u64>,
    /// The current context.
    context: usize,
}

impl Sampler {
    /// A sampler for chains of the prior's k and n.
    pub fn new(prior: &TaskPrior) -> Self {
        let table = TransitionTable::unset(prior.states(), prior.ngram());
        let walker = Walker {
            thresholds: vec![0; table.contexts() * (prior.states() - 1)],
            context: 0,
        };
        Self {
            solver: StationarySolver::default(),
            successors: (0..table.contexts())
                .map(|context| slide(context, 0, prior.states(), table.contexts()))
                .collect(),
            walkers: vec![walker; LANES],
            words: Vec::new(),
            bytes: Vec::new(),
            table,
        }
    }

    /// Fills `tokens` with sequence `index` of the batch at `address`, and returns
    /// the table that it was drawn from.
    ///
    /// # Errors
    ///
    /// If a prior from another crate draws something that is not a chain; the built-in kinds never do.
    pub fn sequence(
        &mut self,
        prior: &TaskPrior,
        address: Address,
        index: u64,
        tokens: &mut [u8],
    ) -> Result<&TransitionTable, DrawError> {
        self.draw(prior, &mut address.generator(index), tokens)
    }

    /// The same from a generator.
    pub(crate) fn draw(
        &mut self,
        prior: &TaskPrior,
        rng: &mut Generator,
        tokens: &mut [u8],
    ) -> Result<&TransitionTable, DrawError> {
        self.start(0, prior, rng, tokens.len())?;
        self.walk(0, tokens.len(), |position, symbol| {
            tokens[position] = symbol
        });
        Ok(&self.table)
    }

    /// Whether it was made for chains of the prior's k and n.
    pub(crate) fn fits(&self, prior: &TaskPrior) -> bool {
        (self.table.states(), self.table.ngram()) == (prior.states(), prior.ngram())
    }

    /// Fills a block with the `sequences` of these numbers, at most one per lane.
    ///
    /// # Errors
    ///
    /// As [`sequence`](Self::sequence). The contents of the block are then unspecified.
    pub(crate) fn block(
        &mut self,
        prior: &TaskPrior,
        address: Address,
        sequences: Range<u64>,
        block: &mut TokenBlock,
    ) -> Result<(), DrawError> {
        let used = (sequences.end - sequences.start) as usize;
        block.used = used;
        let tokens = &mut block.tokens;
        for (lane, index) in sequences.enumerate() {
            self.start(lane, prior, &mut address.generator(index), tokens.len())?;
        }
        match (self.table.states(), self.table.contexts()) {
            (2, 2) => self.walk_side_by_side::<2>(tokens),
            (2, 4) => self.walk_side_by_side::<4>(tokens),
            _ => {
                for lane in 0..used {
                    self.walk(lane, tokens.len(), |position, symbol| {
                        tokens[position][lane] = symbol;
                    });
                }
            }
        }
        if used < LANES {
            for row in tokens {
                row[used..].fill(0);
            }
        }
        Ok(())
    }

    /// Draws a lane's table, its starting context, and the random words for its walk.
    fn start(
        &mut self,
        lane: usize,
        prior: &TaskPrior,
        rng: &mut Generator,
        count: usize,
    ) -> Result<(), DrawError> {
        prior.draw(rng, &mut self.solver, &mut self.table)?;
        let Walker {
            thresholds,
            context,
        } = &mut self.walkers[lane];
        let steps = thresholds.chunks_exact_mut(self.table.states() - 1);
        for (row, steps) in self.table.rows().zip(steps) {
            cumulate(row, steps);
        }
        let word = rng.next_u32();
        *context = match prior.start() {
            Start::Stationary {} => pick_context(self.table.stationary(), word),
            Start::Uniform {} => pick_evenly(self.table.contexts(), word),
        };
        self.words.resize(count, [0; LANES]);
        let order = self.table.ngram() - 1;
        self.bytes
            .resize(count.saturating_sub(order) * size_of::<u32>(), 0);
        rng.fill_bytes(&mut self.bytes);
        let (words, _) = self.bytes.as_chunks();
        for (row, &word) in self.words.iter_mut().skip(order).zip(words) {
            row[lane] = u32::from_le_bytes(word);
        }
        Ok(())
    }

    /// Walks a lane for `count` symbols.
    fn walk(&self, lane: usize, count: usize, mut put: impl FnMut(usize, u8)) {
        let (states, order) = (self.table.states(), self.table.ngram() - 1);
        let walker = &self.walkers[lane];
        // The first n−1 symbols are the context that the walk starts from, oldest symbol first.
        for (position, symbol) in context_symbols(walker.context, states, order)
            .take(count)
            .enumerate()
        {
            put(position, symbol);
        }
        let mut context = walker.context;
        for (position, words) in self.words[..count].iter().enumerate().skip(order) {
            let u = u64::from(words[lane]);
            let steps = &walker.thresholds[context * (states - 1)..][..states - 1];
            let symbol = steps.iter().filter(|&&step| step <= u).count() as u8;
            put(position, symbol);
            context = self.successors[context] + usize::from(symbol);
        }
    }

    /// The same for all lanes at once, for two states and few contexts. It finds what would
    /// follow each context without waiting for the context, and then selects one of the answers.
    /// Neither step looks anything up.
    fn walk_side_by_side<const CONTEXTS: usize>(&self, tokens: &mut [[u8; LANES]]) {
        let order = CONTEXTS.ilog2() as usize;
        // A word reaches a threshold if it is above the threshold minus one, or if the threshold is zero.
        let (mut before, mut always) = ([[0; LANES]; CONTEXTS], [[0; LANES]; CONTEXTS]);
        // The last symbols, oldest first.
        let mut seen = [[0; LANES]; CONTEXTS];
        for (lane, walker) in self.walkers.iter().enumerate() {
            for (context, &threshold) in walker.thresholds.iter().enumerate() {
                before[context][lane] = threshold.saturating_sub(1) as u32;
                always[context][lane] = u32::from(threshold == 0);
            }
            let symbols = context_symbols(walker.context, 2, order);
            for (place, symbol) in symbols.enumerate() {
                seen[place][lane] = u32::from(symbol);
                if let Some(row) = tokens.get_mut(place) {
                    row[lane] = symbol;
                }
            }
        }
        for (row, words) in tokens.iter_mut().zip(&self.words).skip(order) {
            let mut next = [[0; LANES]; CONTEXTS];
            for context in 0..CONTEXTS {
                for lane in 0..LANES {
                    let above = u32::from(words[lane] > before[context][lane]);
                    next[context][lane] = above | always[context][lane];
                }
            }
            // The oldest symbol selects half of the contexts, the next one half of those.
            let mut half = CONTEXTS;
            for place in 0..order {
                half /= 2;
                for context in 0..half {
                    for lane in 0..LANES {
                        let differ = next[context][lane] ^ next[context + half][lane];
                        next[context][lane] ^= seen[place][lane] & differ;
                    }
                }
            }
            for place in 1..order {
                seen[place - 1] = seen[place];
            }
            seen[order - 1] = next[0];
            for lane in 0..LANES {
                row[lane] = next[0][lane] as u8;
            }
        }
    }
}

const FULL: f64 = 4_294_967_296.0; // 2³²

/// Writes the first k−1 cumulative sums of `row` in units of 2⁻³², rounded to the nearest: a sum that is one
/// up to rounding leaves nothing to the symbols after it.
fn cumulate(row: &[f64], steps: &mut [u64]) {
    let mut sum = 0.0;
    for (p, step) in row.iter().zip(steps) {
        sum += p;
        *step = (sum * FULL).round() as u64;
    }
}

/// The context whose share of [0, 1) contains u · 2⁻³².
fn pick_context(law: &[f64], u: u32) -> usize {
    let u = f64::from(u) / FULL;
    let mut sum = 0.0;
    for (context, mass) in law.iter().enumerate() {
        sum += mass;
        if u < sum {
            return context;
        }
    }
    // Rounding left the sum below one: take the last context that has any mass.
    law.iter().rposition(|&mass| mass > 0.0).unwrap_or(0)
}

/// One of `count` contexts, ⌊u · 2⁻³² · count⌋: all of them equally likely, up to 2⁻³².
fn pick_evenly(count: usize, u: u32) -> usize {
    ((u64::from(u) * count as u64) >> u32::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::address;
    use crate::chain::prior::Fixed;
    use crate::chain::{PriorSpec, Purpose};

    #[test]
    fn a_block_holds_the_sequences_that_are_drawn_one_by_one() {
        let address = address(Purpose::Test, 5, 0);
        let certain = |rows: &[[f64; 2]]| {
            PriorSpec::from(Fixed {
                table: rows.iter().map(|row| row.to_vec()).collect(),
            })
        };
        for (spec, states, ngram) in [
            (PriorSpec::default(), 3, 2),
            (PriorSpec::default(), 2, 2),
            (PriorSpec::default(), 2, 3),
            (PriorSpec::default(), 2, 4),
            // Thresholds that every word reaches, and that none reaches.
            (certain(&[[0.0, 1.0], [1.0, 0.0]]), 2, 2),
            (
                certain(&[[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]),
                2,
                3,
            ),
        ] {
            let prior = TaskPrior::new(&spec, states, ngram).unwrap();
            let mut sampler = Sampler::new(&prior);
            for (count, start) in [1, 2, 21]
                .into_iter()
                .flat_map(|count| [Start::Stationary {}, Start::Uniform {}].map(|s| (count, s)))
            {
                let prior = prior.clone().starting(start);
                let mut block = TokenBlock::new(count);
                let sequences = 16..16 + LANES as u64 - 2;
                sampler
                    .block(&prior, address, sequences, &mut block)
                    .unwrap();
                let mut tokens = vec![0; count];
                for lane in 0..LANES - 2 {
                    sampler
                        .sequence(&prior, address, 16 + lane as u64, &mut tokens)
                        .unwrap();
                    assert_eq!(block.lane(lane), tokens, "{spec:?}");
                }
                assert_eq!(block.used(), LANES - 2);
                assert!(block.lane(LANES - 1).iter().all(|&symbol| symbol == 0));
            }
        }
    }
    #[test]
    fn a_uniform_start_takes_every_context_equally_often() {
        let spec = PriorSpec::from(Fixed {
            table: vec![vec![0.9, 0.1, 0.0]; 9],
        });
        let prior = TaskPrior::new(&spec, 3, 3)
            .unwrap()
            .starting(Start::Uniform {});
        let address = address(Purpose::Test, 5, 0);
        let (mut sampler, mut counts) = (Sampler::new(&prior), [0.0; 9]);
        let (sequences, mut tokens) = (9_000_u64, [0; 2]);
        for index in 0..sequences {
            let table = sampler
                .sequence(&prior, address, index, &mut tokens)
                .unwrap();
            assert_eq!(table.start(), Start::Uniform {});
            counts[usize::from(tokens[0]) * 3 + usize::from(tokens[1])] += 1.0;
        }
        // A count of 1000 has a standard deviation of 30.
        assert!(
            counts
                .iter()
                .all(|count: &f64| (count - 1000.0).abs() < 4.0 * 30.0),
            "{counts:?}"
        );
        assert_eq!((pick_evenly(9, 0), pick_evenly(9, u32::MAX)), (0, 8));
    }
}
