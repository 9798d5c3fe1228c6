//! What a step minimises on the logits of a block.

use std::ops::Range;

use induct_kernels::lanes::{LANES, Lane, Level};
use induct_kernels::loss::{self, Loss};
use induct_kernels::tokens::TokenBlock;

use crate::recipe::Recipe;
use crate::{Invalid, Within};

/// What is minimised: a loss, averaged over sequences and positions.
#[derive(Clone, Debug)]
pub(super) struct Objective {
    loss: Loss,
    /// The positions that count.
    positions: Range<usize>,
    /// One over the number of predictions that count.
    pub scale: f64,
}

/// What the predictions of a block are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels<'a> {
    pub tokens: &'a TokenBlock,
    /// The laws of all tokens but the first, [t, k], where they take the tokens' place; or empty.
    pub laws: &'a [Lane],
}

impl<'a> Labels<'a> {
    /// What a model sees: all tokens but the last.
    pub fn inputs(&self) -> &'a [[u8; LANES]] {
        let rows = self.tokens.rows();
        &rows[..rows.len() - 1]
    }
}

impl Objective {
    /// That of a recipe.
    pub fn new(recipe: &Recipe) -> Result<Self, Invalid> {
        let (train, length) = (&recipe.train, recipe.task.length);
        let positions = train.positions.resolve(length).within("train")?;
        Ok(Self {
            loss: train.loss,
            scale: 1.0 / (train.batch * positions.len()) as f64,
            positions,
        })
    }

    /// The loss of some rows of logits ([rows, k]), summed over the positions and sequences that count; writes its
    /// gradient, times the scale, into `d_logits`.
    pub fn evaluate(
        &self,
        level: Level,
        labels: Labels,
        rows: Range<usize>,
        logits: &[Lane],
        d_logits: &mut [Lane],
    ) -> f64 {
        let from = rows.start.max(self.positions.start);
        let counted = from..rows.end.min(self.positions.end).max(from);
        if counted == rows {
            return self.of_rows(level, labels, rows, logits, d_logits);
        }
        d_logits.fill(Lane::ZERO);
        let k = logits.len() / rows.len();
        let own = (counted.start - rows.start) * k..(counted.end - rows.start) * k;
        match counted.is_empty() {
            true => 0.0,
            false => self.of_rows(
                level,
                labels,
                counted,
                &logits[own.clone()],
                &mut d_logits[own],
            ),
        }
    }

    /// The same, whether or not their positions count.
    pub fn of_rows(
        &self,
        level: Level,
        Labels { tokens, laws }: Labels,
        rows: Range<usize>,
        logits: &[Lane],
        d_logits: &mut [Lane],
    ) -> f64 {
        let (used, scale) = (tokens.used(), self.scale as f32);
        if laws.is_empty() {
            let targets = &tokens.rows()[1..][rows];
            return self
                .loss
                .evaluate(level, logits, targets, used, scale, d_logits);
        }
        let k = logits.len() / rows.len();
        let laws = &laws[rows.start * k..rows.end * k];
        loss::cross_entropy_of_laws(level, k, logits, laws, used, scale, d_logits)
    }
}
