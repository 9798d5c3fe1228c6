//! Add-α counting: the paper's unigram and bigram strategies, and m-grams beyond them.

use std::ops::Range;
use std::sync::Arc;

use super::registry::Entry;
use super::{Scratch, Strategy, assert_fits, predict_last};
use crate::chain::{Alpha, Law, MAX_CONTEXTS, TransitionTable, slide};
use crate::{Invalid, require};

/// Predicts by what followed the last m−1 symbols so far: (count + α_j) / (total + Σα).
///
/// m = 1 counts single symbols. Until m−1 symbols have been seen, the answer is the prior mean α/Σα.
#[derive(Clone, Debug)]
pub struct Ngram {
    m: usize,
    contexts: usize,
    /// `[k]`
    alpha: Vec<f64>,
    alpha_sum: f64,
    /// Position of the first symbol that counts.
    from: usize,
}

pub(super) static ENTRY: Entry = Entry {
    ladder: true,
    family: Some(|name| order(name).is_some()),
    check: |name, prior| {
        let checked = check(order(name).unwrap_or(0), prior.states());
        checked.map_err(|invalid| Invalid::new("strategy", format!("\"{name}\""), invalid.allowed))
    },
    ..Entry::new("unigram, bigram, trigram, 4-gram, …", |name, prior| {
        let ones = Alpha::default().resolve(prior.states())?;
        let alpha = match prior.law() {
            Law::Dirichlet(rows) | Law::Iid(rows) => rows.alpha(),
            _ => &ones,
        };
        let m = order(name).unwrap_or(1);
        Ok(Arc::new(Ngram::with_alpha(m, alpha)))
    })
};

/// The m-gram's name: "unigram", "bigram", "trigram", "4-gram" and so on.
pub(super) fn name(m: usize) -> String {
    match m {
        1 => "unigram".to_owned(),
        2 => "bigram".to_owned(),
        3 => "trigram".to_owned(),
        m => format!("{m}-gram"),
    }
}

/// The m of a name.
pub(super) fn order(called: &str) -> Option<usize> {
    let numbered = called.strip_suffix("-gram").and_then(|m| m.parse().ok());
    let mut orders = (1..=3).chain(numbered.filter(|&m| m > 3));
    orders.find(|&m| name(m) == called)
}

/// Checks that an m-gram's table can be handled.
fn check(m: usize, states: usize) -> Result<(), Invalid> {
    let contexts = TransitionTable::context_count(states, m);
    require(
        contexts.is_some_and(|count| count <= MAX_CONTEXTS),
        "m",
        m,
        &format!("at least 1, with at most {MAX_CONTEXTS} contexts (states^(m-1))"),
    )
}

impl Ngram {
    /// The m-gram over `states` symbols with concentration `alpha`.
    pub fn new(m: usize, states: usize, alpha: &Alpha) -> Result<Self, Invalid> {
        check(m, states)?;
        Ok(Self::with_alpha(m, &alpha.resolve(states)?))
    }

    /// The m-gram with the concentrations of a checked prior, whose n is at least `m`.
    pub(super) fn with_alpha(m: usize, alpha: &[f64]) -> Self {
        Self {
            m,
            contexts: alpha.len().pow(m as u32 - 1),
            alpha: alpha.to_vec(),
            alpha_sum: alpha.iter().sum(),
            from: m - 1,
        }
    }

    /// The same, if nothing is learned from the symbols before position `from`, at least m−1.
    pub(super) fn counting_from(self, from: usize) -> Self {
        Self { from, ..self }
    }
}

/// Scratch buffer, [contexts, k]: all zeros between calls. Clearing what a sequence touched takes as long as the
/// sequence; clearing all of a large table takes much longer.
#[derive(Debug, Default)]
struct Counts(Vec<u32>);

impl Strategy for Ngram {
    fn name(&self) -> String {
        name(self.m)
    }

    fn states(&self) -> usize {
        self.alpha.len()
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        predict_last(self, tokens, out);
    }

    fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        assert_fits(tokens, &positions, self.states(), out);
        let Counts(counts) = scratch.of();
        let states = self.alpha.len();
        if counts.len() < self.contexts * states {
            counts.resize(self.contexts * states, 0);
        }
        let seen = &tokens[..positions.end];
        let mut context = 0;
        for (position, &symbol) in seen.iter().enumerate() {
            if position >= self.from {
                counts[context * states + symbol as usize] += 1;
            }
            context = slide(context, symbol, states, self.contexts);
            if position >= positions.start {
                // With fewer than m−1 symbols seen, nothing has been counted in any context.
                let row = &counts[context * states..][..states];
                let total = f64::from(row.iter().sum::<u32>()) + self.alpha_sum;
                let out = &mut out[(position - positions.start) * states..][..states];
                for ((p, &count), &alpha) in out.iter_mut().zip(row).zip(&self.alpha) {
                    *p = (f64::from(count) + alpha) / total;
                }
            }
        }
        let mut context = 0;
        for &symbol in seen {
            counts[context * states..][..states].fill(0);
            context = slide(context, symbol, states, self.contexts);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_left_clean_for_the_next_sequence() {
        let trigram = Ngram::new(3, 3, &Alpha::Scalar(1.0)).unwrap();
        let (mut scratch, mut out) = (Scratch::default(), [0.0; 15]);
        trigram.predict(&[2, 1, 0, 2, 1], 0..5, &mut scratch, &mut out);
        assert_eq!(scratch.of::<Counts>().0, [0; 27]);
        // (2, 1) was followed by 0 once.
        assert_eq!(out[12..], [2.0 / 4.0, 1.0 / 4.0, 1.0 / 4.0]);
    }

    #[test]
    fn orders_without_a_table_are_refused() {
        for m in [0, 12] {
            assert_eq!(
                Ngram::new(m, 2, &Alpha::Scalar(1.0)).unwrap_err().field,
                "m"
            );
        }
    }
}
