//! Transition tables of any order.

use std::ops::Range;

use super::start::Start;
use super::stationary::{NoLaw, StationarySolver};
use crate::{Invalid, require};

/// Index of a context: its symbols read as a number in base k, the oldest being the most significant.
///
/// This and the functions beside it define the order; everything that counts, samples
/// or looks up contexts uses them.
pub fn context_index(symbols: &[u8], states: usize) -> usize {
    symbols
        .iter()
        .fold(0, |index, &symbol| index * states + symbol as usize)
}

/// Index of the context that follows `context` (one of `contexts`) when `symbol` is appended.
pub fn slide(context: usize, symbol: u8, states: usize, contexts: usize) -> usize {
    (context * states + symbol as usize) % contexts
}

/// The symbols of `context`, oldest first: the inverse of [`context_index`] for `order` symbols.
pub fn context_symbols(context: usize, states: usize, order: usize) -> impl Iterator<Item = u8> {
    let places = (0..order as u32).rev().map(move |place| states.pow(place));
    places.map(move |place| (context / place % states) as u8)
}

/// The contexts (of `order` symbols) that begin with `prefix`. They are contiguous, because the
/// oldest symbol is most significant.
pub fn contexts_with_prefix(prefix: &[u8], states: usize, order: usize) -> Range<usize> {
    let block = states.pow((order - prefix.len()) as u32);
    let first = context_index(prefix, states) * block;
    first..first + block
}

/// The law of an n-gram process: for each of the k^(n−1) contexts, a distribution over the next symbol,
/// the stationary law over contexts, and whether sequences start from that.
///
/// ```
/// use induct::chain::TransitionTable;
///
/// let table = TransitionTable::from_rows(2, 2, &[vec![0.9, 0.1], vec![0.3, 0.7]])?;
/// assert!((table.stationary()[0] - 0.75).abs() < 1e-12);
/// # Ok::<(), induct::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TransitionTable {
    states: usize,
    ngram: usize,
    /// [contexts, k]
    probs: Vec<f64>,
    /// `[contexts]`
    stationary: Vec<f64>,
    start: Start,
}

/// The largest number of contexts for which stationary laws are solved (the cost is cubic).
pub const MAX_CONTEXTS: usize = 1024;

/// How far a given row's sum may be from one before it is refused rather than normalised.
const ROW_SUM_TOLERANCE: f64 = 1e-6;

impl TransitionTable {
    /// Number of contexts of an n-gram over `states` symbols, if it fits a `usize`.
    pub fn context_count(states: usize, ngram: usize) -> Option<usize> {
        states.checked_pow(u32::try_from(ngram).ok()?.checked_sub(1)?)
    }

    /// Memory of a table, in bytes.
    pub fn bytes(states: usize, ngram: usize) -> f64 {
        let contexts = (states as f64).powf(ngram as f64 - 1.0);
        contexts * (states as f64 + 1.0) * size_of::<f64>() as f64 + size_of::<Self>() as f64
    }

    /// The table with the given rows, one per context, in [`context_index`] order.
    ///
    /// Rows must sum to one within 10⁻⁶ and are then normalised.
    pub fn from_rows(states: usize, ngram: usize, rows: &[Vec<f64>]) -> Result<Self, Invalid> {
        let contexts = Self::context_count(states, ngram).unwrap_or(usize::MAX);
        require(
            rows.len() == contexts,
            "table",
            format!("{} rows", rows.len()),
            &format!("k^(n-1) = {contexts} rows, one for each context"),
        )?;
        let mut table = Self::unset(states, ngram);
        for (context, row) in rows.iter().enumerate() {
            let field = format!("table[{context}]");
            require(
                row.len() == states,
                &field,
                format!("{} entries", row.len()),
                &format!("{states} probabilities, one for each state"),
            )?;
            for (symbol, &p) in row.iter().enumerate() {
                require(
                    (0.0..=1.0).contains(&p),
                    &format!("{field}[{symbol}]"),
                    p,
                    "a probability, from 0 to 1",
                )?;
            }
            let sum: f64 = row.iter().sum();
            require(
                (sum - 1.0).abs() <= ROW_SUM_TOLERANCE,
                &field,
                format!("a row with sum {sum}"),
                "every row must sum to 1",
            )?;
            for (slot, p) in table.row_mut(context).iter_mut().zip(row) {
                *slot = p / sum;
            }
        }
        table
            .settle(&mut StationarySolver::default())
            .map_err(|no_law| {
                Invalid::new(
                    "table",
                    format!("{rows:?}"),
                    format!("{no_law}; make its contexts reachable from one another"),
                )
            })?;
        Ok(table)
    }

    /// A uniform table, for [`TaskPrior::draw`](super::TaskPrior::draw) to fill.
    pub fn unset(states: usize, ngram: usize) -> Self {
        let contexts = states.pow(ngram as u32 - 1);
        Self {
            states,
            ngram,
            probs: vec![1.0 / states as f64; contexts * states],
            stationary: vec![1.0 / contexts as f64; contexts],
            start: Start::default(),
        }
    }

    /// Recomputes the stationary law after the rows have changed.
    pub(super) fn settle(&mut self, solver: &mut StationarySolver) -> Result<(), NoLaw> {
        solver.solve(&self.probs, self.states, &mut self.stationary)
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Order of the process, n: the next symbol depends on the n−1 before it.
    pub fn ngram(&self) -> usize {
        self.ngram
    }

    /// Number of contexts, k^(n−1).
    pub fn contexts(&self) -> usize {
        self.stationary.len()
    }

    /// Distribution of the symbol after `context`.
    pub fn row(&self, context: usize) -> &[f64] {
        &self.probs[context * self.states..][..self.states]
    }

    /// All rows, [contexts, k].
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.probs.chunks_exact(self.states)
    }

    pub(super) fn row_mut(&mut self, context: usize) -> &mut [f64] {
        &mut self.probs[context * self.states..][..self.states]
    }

    /// The rows of the first `count` contexts, [count, k].
    pub(super) fn first_rows_mut(&mut self, count: usize) -> &mut [f64] {
        &mut self.probs[..count * self.states]
    }

    /// Repeats the first `count` rows over all contexts. With `count` = k, the table then depends only on the
    /// last symbol of a context.
    pub(super) fn repeat_first_rows(&mut self, count: usize) {
        let (first, rest) = self.probs.split_at_mut(count * self.states);
        for block in rest.chunks_exact_mut(first.len()) {
            block.copy_from_slice(first);
        }
    }

    /// The stationary law over contexts; for n = 2, over symbols.
    pub fn stationary(&self) -> &[f64] {
        &self.stationary
    }

    /// How sequences start.
    pub fn start(&self) -> Start {
        self.start
    }

    pub(super) fn set_start(&mut self, start: Start) {
        self.start = start;
    }

    /// Probability that a sequence starts with `prefix`, of up to n−1 symbols. From the stationary law, it is
    /// also the probability of those symbols at any other place.
    pub fn start_probability(&self, prefix: &[u8]) -> f64 {
        let contexts = contexts_with_prefix(prefix, self.states, self.ngram - 1);
        match self.start {
            Start::Stationary {} => self.stationary[contexts].iter().sum(),
            Start::Uniform {} => contexts.len() as f64 / self.contexts() as f64,
        }
    }

    /// Writes the true distribution of the symbol after `seen` into `out` (`[k]`).
    ///
    /// While fewer than n−1 symbols have been seen, it follows from how sequences start. If that rules out
    /// what was seen, there is nothing to go by, and the answer is uniform.
    pub fn next_distribution(&self, seen: &[u8], out: &mut [f64]) {
        let order = self.ngram - 1;
        if seen.len() >= order {
            let context = context_index(&seen[seen.len() - order..], self.states);
            out.copy_from_slice(self.row(context));
            return;
        }
        let mut longer = seen.to_vec();
        longer.push(0);
        let so_far = self.start_probability(seen);
        if so_far <= 0.0 {
            out.fill(1.0 / self.states as f64);
            return;
        }
        for (symbol, p) in out.iter_mut().enumerate() {
            *longer.last_mut().expect("just pushed") = symbol as u8;
            *p = self.start_probability(&longer) / so_far;
        }
    }

    /// Natural logarithm of the probability of `tokens`, including the start.
    pub fn log_likelihood(&self, tokens: &[u8]) -> f64 {
        let order = (self.ngram - 1).min(tokens.len());
        let mut total = self.start_probability(&tokens[..order]).ln();
        for window in tokens.windows(self.ngram) {
            let (context, next) = (&window[..self.ngram - 1], window[self.ngram - 1]);
            total += self.row(context_index(context, self.states))[next as usize].ln();
        }
        total
    }
}

/// A row as text, truncated if it is long.
pub(crate) fn shown_row(row: &[f64]) -> String {
    const LONGEST: usize = 8;
    let numbers: Vec<String> = row.iter().take(LONGEST).map(f64::to_string).collect();
    let more = if row.len() > LONGEST { ", …" } else { "" };
    format!("[{}{more}]", numbers.join(", "))
}

/// Why `row` is not a distribution, if it is not. Its sum may be `tolerance` away from one.
pub(crate) fn row_fault(row: &[f64], tolerance: f64) -> Option<String> {
    if let Some(symbol) = row.iter().position(|p| !p.is_finite()) {
        return Some(format!("which is {} at symbol {symbol}", row[symbol]));
    }
    if let Some(symbol) = row.iter().position(|&p| p < 0.0) {
        return Some(format!("which is {} at symbol {symbol}", row[symbol]));
    }
    let sum: f64 = row.iter().sum();
    ((sum - 1.0).abs() > tolerance).then(|| format!("which sums to {sum}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [[f64; 2]; 4] = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]];

    fn trigram(rows: [[f64; 2]; 4]) -> TransitionTable {
        TransitionTable::from_rows(2, 3, &rows.map(Vec::from)).unwrap()
    }

    #[test]
    fn long_rows_are_cut_off() {
        assert_eq!(shown_row(&[0.5, 0.25, 0.25]), "[0.5, 0.25, 0.25]");
        assert!(shown_row(&[0.1; 10]).ends_with("0.1, …]"));
    }

    #[test]
    fn the_oldest_symbol_is_most_significant() {
        assert_eq!(context_index(&[2, 0, 1], 3), 2 * 9 + 1);
        assert!(context_symbols(19, 3, 3).eq([2, 0, 1]));
        // Appending 2 to (2, 0, 1) leaves (0, 1, 2).
        assert_eq!(slide(19, 2, 3, 27), context_index(&[0, 1, 2], 3));
    }

    #[test]
    fn short_prefixes_follow_from_the_stationary_law() {
        let table = trigram(ROWS);
        let mut row = [0.0; 2];
        table.next_distribution(&[0], &mut row);
        let pi = table.stationary();
        assert!((row[1] - pi[1] / (pi[0] + pi[1])).abs() < 1e-15);
        assert!((table.start_probability(&[]) - 1.0).abs() < 1e-15);
        // Stationarity: P(x₀ = 0) equals P(x₁ = 0).
        assert!((table.start_probability(&[0]) - (pi[0] + pi[2])).abs() < 1e-15);
    }

    #[test]
    fn a_start_that_never_happens_predicts_evenly() {
        // Symbol 1 is never written, so it cannot have been seen first.
        let table = trigram([[1.0, 0.0]; 4]);
        let mut row = [0.0; 2];
        table.next_distribution(&[1], &mut row);
        assert_eq!(row, [0.5, 0.5]);
    }

    #[test]
    fn likelihoods_of_all_sequences_sum_to_one() {
        let mut table = trigram(ROWS);
        for (start, length) in [Start::Stationary {}, Start::Uniform {}]
            .into_iter()
            .flat_map(|start| [1, 2, 3, 6].map(|length| (start, length)))
        {
            table.set_start(start);
            let total: f64 = (0..1_u32 << length)
                .map(|bits| {
                    let tokens: Vec<u8> = (0..length).map(|i| (bits >> i & 1) as u8).collect();
                    table.log_likelihood(&tokens).exp()
                })
                .sum();
            assert!((total - 1.0).abs() < 1e-12, "{start:?} {length}: {total}");
        }
    }

    #[test]
    fn a_uniform_start_says_nothing_about_the_chain() {
        let mut table = trigram([[1.0, 0.0], [0.2, 0.8], [1.0, 0.0], [0.3, 0.7]]);
        table.set_start(Start::Uniform {});
        let mut row = [0.0; 2];
        table.next_distribution(&[1], &mut row);
        assert_eq!(row, [0.5, 0.5]);
        assert_eq!(table.start_probability(&[1]), 0.5);
        assert_eq!(table.start_probability(&[1, 1]), 0.25);
    }
}
