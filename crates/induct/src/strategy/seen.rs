//! What a strategy looks at.

use std::ops::Range;

use crate::chain::TransitionTable;

/// A sequence as a strategy sees it: the symbols so far and, for those that may know
/// it, the chain that wrote them.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The symbols, each below k; at least one.
    pub tokens: &'a [u8],
    /// The chain that wrote them, where it is known.
    pub chain: Option<&'a TransitionTable>,
}

impl<'a> Seen<'a> {
    /// The same up to `position`, inclusive.
    ///
    /// # Panics
    ///
    /// If there is no such position.
    #[must_use]
    pub fn until(self, position: usize) -> Self {
        Self {
            tokens: &self.tokens[..=position],
            ..self
        }
    }

    /// Explains what is wrong, instead of a slice index out of range.
    pub(super) fn assert_reaches(&self, positions: &Range<usize>, states: usize, out: &[f64]) {
        assert!(
            positions.end <= self.tokens.len(),
            "the tokens must reach the last position"
        );
        assert_eq!(
            out.len(),
            positions.len() * states,
            "there must be one distribution per position"
        );
    }
}

impl<'a> From<&'a [u8]> for Seen<'a> {
    fn from(tokens: &'a [u8]) -> Self {
        Self {
            tokens,
            chain: None,
        }
    }
}

impl<'a> From<&'a Vec<u8>> for Seen<'a> {
    fn from(tokens: &'a Vec<u8>) -> Self {
        tokens.as_slice().into()
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Seen<'a> {
    fn from(tokens: &'a [u8; N]) -> Self {
        tokens.as_slice().into()
    }
}
