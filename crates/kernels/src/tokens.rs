//! Sequences side by side: one per lane.

use crate::lanes::LANES;

/// The largest number of symbols: tokens are bytes.
pub const MAX_STATES: usize = 256;

/// Tokens of [`LANES`] sequences, position by position: [t+1] rows of one symbol per lane.
///
/// If the batch size is not a multiple of [`LANES`], the spare lanes of the last block stay at symbol 0. Sums
/// over lanes must count only the first [`TokenBlock::used`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBlock {
    /// One row per position.
    pub tokens: Vec<[u8; LANES]>,
    /// Number of lanes that hold a sequence.
    pub used: usize,
}

impl TokenBlock {
    /// A block for `count` (= t+1) tokens per sequence, all symbol 0.
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
            for (row, &symbol) in block.tokens.iter_mut().zip(*sequence) {
                row[lane] = symbol;
            }
        }
        block
    }

    /// One row per position, [t+1].
    pub fn rows(&self) -> &[[u8; LANES]] {
        &self.tokens
    }

    /// Number of lanes that hold a sequence.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The tokens of one lane.
    pub fn lane(&self, lane: usize) -> Vec<u8> {
        self.tokens.iter().map(|row| row[lane]).collect()
    }
}
