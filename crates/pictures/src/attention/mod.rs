//! What attention heads do on one sequence, as heat maps and arcs.

mod figure;
mod heads;
mod maps;

use induct::model::{InputError, Kind as ModelKind, Model};

use self::heads::{heads, kinds};

pub use figure::figure;
pub use heads::{Head, Kind, Rows};
pub use maps::ATTENDING;

/// Heads on a sequence of t symbols.
#[derive(Clone)]
pub struct Attention {
    /// Where it comes from, for the description of its picture. It starts as the sequence's length.
    pub title: String,
    /// Number of symbols, k.
    pub states: usize,
    /// The n of the task.
    pub ngram: usize,
    /// The sequence, `[t]`.
    pub tokens: Vec<u8>,
    /// The heads to show, by layer.
    pub heads: Vec<Head>,
    /// The kinds of head to look for; none where patterns are not shares.
    pub kinds: Vec<Kind>,
    /// Whether rows of patterns sum to one: not in the minimal model's linear form.
    pub patterns_are_shares: bool,
}

impl Attention {
    /// All heads of a model with these weights, on a sequence of a task with this n.
    ///
    /// # Errors
    ///
    /// [`InputError`] if the weights or the sequence do not fit the model.
    pub fn of(
        model: &Model,
        params: &[f32],
        tokens: &[u8],
        ngram: usize,
    ) -> Result<Self, InputError> {
        let heads = heads(&model.run(params, tokens)?, model.layer_count());
        let patterns_are_shares = matches!(model.kind(), ModelKind::Transformer(_));
        Ok(Self {
            title: format!("a sequence of length {}", tokens.len()),
            states: model.states(),
            ngram,
            tokens: tokens.to_vec(),
            heads,
            kinds: match patterns_are_shares {
                true => kinds(ngram),
                false => Vec::new(),
            },
            patterns_are_shares,
        })
    }

    /// A head by its layer and its number there, both from 0.
    pub fn head(&self, layer: usize, head: usize) -> Option<&Head> {
        let mut heads = self.heads.iter();
        heads.find(|other| other.layer == layer && other.head == head)
    }

    /// A head's scores on this sequence, by measure.
    pub fn scores(&self, head: &Head) -> Vec<(&'static str, Option<f64>)> {
        let Some(pattern) = &head.pattern else {
            return Vec::new();
        };
        let score = |kind: &Kind| {
            let score = kind.score(pattern, &self.tokens, self.ngram);
            (kind.measure.name, score)
        };
        self.kinds.iter().map(score).collect()
    }
}

#[cfg(test)]
mod tests;
