//! The best prediction from how often each symbol occurred and from the current one: a fair baseline for a
//! model that only averages over its context, and so does not know which symbol followed which.
//!
//! It is Bayes' rule for an observer who sees the counts c and the last symbol v of a sequence, but not its
//! order: E[P(v → j) | c, v] under the task's prior. Sequences with the same transition counts F and the same
//! first symbol u are equally likely, so it is a mean over all F that go with c, v and some u:
//!
//! ```text
//! weight of (u, F)  =  number of sequences · E[start law of u · Π P_ij^F_ij],
//! number of sequences from u to v  =  Π F_i·! / Π F_ij! · det(1 − F_ij / F_i·) over the visited i, j ≠ v
//! ```
//!
//! (Whittle 1955). The counts fix the sums of rows, F_i· = c_i − [i = v], and of columns, F_·j = c_j − [j = u].
//! That leaves one free number for two symbols (`two`), and four for three (`three`).

mod three;
mod two;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::registry::Entry;
use super::{Scratch, Strategy, assert_fits, fewer, predict_last};
use crate::Invalid;
use crate::chain::{Law, TaskPrior};
use three::Three;
use two::Two;

/// How many answers are kept at most. All that t = 100 symbols can end with are 202 for two symbols, and 7,701
/// for three.
const MOST_KEPT: usize = 1 << 17;

/// Memory of an answer that is kept, in bytes, with the table's unused places.
const BYTES_PER_ANSWER: f64 = 2.0 * (size_of::<Key>() + size_of::<Answer>()) as f64;

pub(super) static ENTRY: Entry = Entry {
    slow: true,
    check: |_, prior| concentrations(prior).map(|_| ()),
    bytes: |_, _, _| MOST_KEPT as f64 * BYTES_PER_ANSWER,
    ..Entry::new("unigram-and-current", |_, prior| {
        Ok(Arc::new(UnigramAndCurrent::new(prior)?))
    })
};

/// The concentrations of a prior for which the strategy is defined.
fn concentrations(prior: &TaskPrior) -> Result<&[f64], Invalid> {
    let refuse = |what: String| {
        let defined = "it is defined for ngram 2 and a dirichlet prior with 2 states, or with 3 states and alpha 1";
        Err(Invalid::new(
            "strategy",
            format!("\"unigram-and-current\" with {what}"),
            defined,
        ))
    };
    let (states, ngram) = (prior.states(), prior.ngram());
    if ngram != 2 || !(2..=3).contains(&states) {
        return refuse(format!("{states} states and ngram {ngram}"));
    }
    match prior.law() {
        Law::Dirichlet(rows) if states == 2 || rows.alpha().iter().all(|&alpha| alpha == 1.0) => {
            Ok(rows.alpha())
        }
        Law::Dirichlet(rows) => refuse(format!("3 states and alpha {:?}", rows.alpha())),
        _ => refuse("another prior".to_owned()),
    }
}

/// The predictor; see the top of this file.
///
/// It is exact for two states, and for three if sequences start from a uniform symbol. For three states and a
/// stationary start, the start's share is an average over draws of chains.
#[derive(Debug)]
pub struct UnigramAndCurrent {
    method: Method,
    /// Answers so far: many sequences have the same counts.
    known: Mutex<HashMap<Key, Answer>>,
}

#[derive(Clone, Debug)]
enum Method {
    Two(Two),
    Three(Three),
}

/// What an answer depends on: the current symbol, its count, and the counts of the others.
type Key = (usize, [usize; 3]);

/// An answer to a [`Key`], in its order of symbols.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// The distribution of the next symbol; of two symbols, the last entry is zero.
    next: [f64; 3],
    effective: Option<f64>,
}

impl UnigramAndCurrent {
    /// Defined for n = 2 and Dirichlet rows: of two states, or of three with α = 1.
    pub fn new(prior: &TaskPrior) -> Result<Self, Invalid> {
        let stationary = prior.start().is_stationary();
        let method = match *concentrations(prior)? {
            [first, second] => Method::Two(Two::new([first, second], stationary)),
            _ => Method::Three(Three::new(stationary)),
        };
        Ok(Self {
            method,
            known: Mutex::default(),
        })
    }

    /// Writes the distribution of what follows `current`, if the symbols so far, itself included, occurred
    /// `counts` times (`[k]`).
    fn answer(&self, counts: &[usize], current: usize, out: &mut [f64]) -> Option<f64> {
        // The current symbol first; of the others, which three symbols' prior does not tell apart, the more
        // frequent.
        let mut order = [0, 1, 2];
        order[..=current].rotate_right(1);
        if counts.len() == 3 && counts[order[1]] < counts[order[2]] {
            order.swap(1, 2);
        }
        let sorted = order.map(|symbol| counts.get(symbol).copied().unwrap_or(0));
        let key = match self.method {
            Method::Two(_) => (current, sorted),
            Method::Three(_) => (0, sorted),
        };
        let answer = self.known_or_new(key);
        for (symbol, p) in order.into_iter().zip(answer.next).take(out.len()) {
            out[symbol] = p;
        }
        answer.effective
    }

    fn known_or_new(&self, key: Key) -> Answer {
        // An answer is inserted whole, so a thread that failed while it held the lock has left nothing half done.
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = lock().get(&key) {
            return *answer;
        }
        let (current, counts) = key;
        let answer = match &self.method {
            Method::Two(two) => two.answer(current, [counts[0], counts[1]]),
            Method::Three(three) => three.answer(counts),
        };
        let mut known = lock();
        if known.len() < MOST_KEPT {
            known.insert(key, answer);
        }
        answer
    }
}

impl Strategy for UnigramAndCurrent {
    fn name(&self) -> String {
        ENTRY.name.to_owned()
    }

    fn states(&self) -> usize {
        match self.method {
            Method::Two(_) => 2,
            Method::Three(_) => 3,
        }
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        predict_last(self, tokens, out);
    }

    fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        _: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let states = self.states();
        assert_fits(tokens, &positions, states, out);
        let mut counts = [0; 3];
        let mut effective = None;
        for (position, &symbol) in tokens[..positions.end].iter().enumerate() {
            let current = usize::from(symbol);
            counts[current] += 1;
            if position >= positions.start {
                let out = &mut out[(position - positions.start) * states..][..states];
                effective = fewer(effective, self.answer(&counts[..states], current, out));
            }
        }
        effective
    }
}
