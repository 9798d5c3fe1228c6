//! A sequence while it is drawn.

use super::Task;
use crate::chain::{DrawError, Generator, ROW_TOLERANCE, open_unit, row_fault, shown_row};
use crate::strategy::Scratch;

/// A sequence that a [`Task`] draws from its first symbol to its last, and the law that each of them follows.
#[derive(Debug)]
pub struct Sequence<'a> {
    pub(super) tokens: &'a mut [u8],
    /// The laws of all tokens but the first, where they are wanted: [t, k].
    pub(super) laws: Option<&'a mut [f64]>,
    pub(super) scratch: &'a mut Scratch,
    states: usize,
    drawn: usize,
    failure: Option<DrawError>,
}

impl<'a> Sequence<'a> {
    /// Lets a task fill `tokens`, and `laws` if they are wanted.
    pub(super) fn draw_from(
        task: &(impl Task + ?Sized),
        rng: &mut Generator,
        tokens: &'a mut [u8],
        laws: Option<&'a mut [f64]>,
        scratch: &'a mut Scratch,
    ) -> Result<(), DrawError> {
        let mut sequence = Self {
            tokens,
            laws,
            scratch,
            states: task.states(),
            drawn: 0,
            failure: None,
        };
        task.draw(rng, &mut sequence);
        sequence.failure.map_or(Ok(()), Err)
    }

    /// The number of symbols that it will have, t + 1.
    #[allow(clippy::len_without_is_empty, reason = "it has at least one symbol")]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Number of states, k.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The symbols that have been drawn.
    pub fn tokens(&self) -> &[u8] {
        &self.tokens[..self.drawn]
    }

    /// Draws the next symbol from `law` (`[k]`), and returns it.
    pub fn draw(&mut self, rng: &mut Generator, law: &[f64]) -> u8 {
        self.write(pick(law, open_unit(rng)), law)
    }

    /// Writes the next symbol where it has been drawn from `law` (`[k]`) in another way, and returns it.
    pub fn write(&mut self, symbol: u8, law: &[f64]) -> u8 {
        let fault = match law.len() == self.states {
            true => row_fault(law, ROW_TOLERANCE),
            false => Some(format!("of {} numbers", law.len())),
        };
        if let Some(what) = fault {
            return self.fail(format!("the law {}, {what},", shown_row(law)));
        }
        if self.drawn == self.len() {
            return self.fail("a symbol too many".into());
        }
        if usize::from(symbol) >= self.states {
            return self.fail(format!("symbol {symbol}"));
        }
        self.tokens[self.drawn] = symbol;
        if let (Some(laws), Some(row)) = (&mut self.laws, self.drawn.checked_sub(1)) {
            laws[row * self.states..][..self.states].copy_from_slice(law);
        }
        self.drawn += 1;
        symbol
    }

    /// Notes that it has been drawn in another way: as a whole, or not at all.
    pub(super) fn finish(&mut self, outcome: Result<(), DrawError>) {
        self.drawn = self.len();
        self.failure = outcome.err();
    }

    /// Notes what is wrong, unless something was before, and goes on with some symbol.
    fn fail(&mut self, what: String) -> u8 {
        let (task, position) = (String::new(), self.drawn);
        let failure = DrawError::Sequence {
            task,
            position,
            what,
        };
        self.failure.get_or_insert(failure);
        self.drawn = (self.drawn + 1).min(self.len());
        0
    }

    /// Checks that a task from another crate drew all of it, and names the task in what is wrong.
    pub(super) fn check(&mut self, name: &str) {
        if self.drawn < self.len() {
            self.fail("no symbol".into());
        }
        if let Some(DrawError::Sequence { task, .. }) = &mut self.failure {
            name.clone_into(task);
        }
    }
}

/// The symbol whose share of (0, 1) contains `u`.
fn pick(law: &[f64], u: f64) -> u8 {
    let mut sum = 0.0;
    let found = law.iter().position(|p| {
        sum += p;
        u < sum
    });
    // Rounding may leave the sum below one: take the last symbol that has any mass.
    let symbol = found.or_else(|| law.iter().rposition(|&p| p > 0.0));
    symbol.unwrap_or(0) as u8
}
