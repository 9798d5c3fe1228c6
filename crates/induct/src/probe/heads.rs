//! What attention heads do, read from patterns that the real forward recorded.

use induct_kernels::lanes::LANES;
use induct_kernels::model::engine::Forwarded;
use induct_kernels::model::ops::attention::AttnRow;
use rayon::prelude::*;

use super::test_set::TestSet;
use crate::measure::{AttentionRow, HeadObserved, HeadScore, Measure, Sequences};
use crate::model::{InputError, Kind, Model};

/// A requested score, by the name of its measure.
pub(super) type HeadRequest<'a> = (&'a str, &'a dyn HeadScore);

/// The scores that measures request.
pub(super) fn asked<'a>(measures: &[&'a dyn Measure]) -> Vec<HeadRequest<'a>> {
    let asked = measures.iter();
    asked
        .filter_map(|measure| Some((measure.name(), measure.head_score()?)))
        .collect()
}

/// Scores of every head of a transformer on a test set, by layer and head: those that `measures` request.
/// Runs on the current thread pool. Empty for the minimal model and for t = 1. `ngram` is the task's n.
pub fn head_scores(
    model: &Model,
    params: &[f32],
    set: &TestSet,
    measures: &[&dyn Measure],
    ngram: usize,
) -> Result<Vec<Vec<HeadObserved>>, InputError> {
    let evaluator = model.evaluator(params)?;
    let asked = asked(measures);
    let sums: Vec<HeadSums> = set
        .blocks()
        .par_iter()
        .map(|block| {
            let inputs = &block.rows()[..model.length().min(block.rows().len())];
            let mut sums = None;
            evaluator.forward(inputs, 0, &mut |seen| {
                let used = block.used();
                sums = Some(HeadSums::of_block(
                    model, inputs, used, &seen, &asked, ngram,
                ));
            });
            sums.expect("a forward is seen")
        })
        .collect();
    Ok(means(model, &sums, &asked))
}

/// The mean over all blocks of their sums.
pub(super) fn means(
    model: &Model,
    blocks: &[HeadSums],
    asked: &[HeadRequest<'_>],
) -> Vec<Vec<HeadObserved>> {
    let Kind::Transformer(shape) = model.kind() else {
        return Vec::new();
    };
    if model.length() < 2 || asked.is_empty() {
        return Vec::new();
    }
    let rows = |m: usize| blocks.iter().map(|block| block.rows[m]).sum::<f64>();
    let rows: Vec<f64> = (0..asked.len()).map(rows).collect();
    let head = |l: usize, h: usize| {
        let mean = |(m, (name, _)): (usize, &HeadRequest<'_>)| {
            let sum: f64 = blocks.iter().map(|block| block.sums[l][h][m]).sum();
            ((*name).to_owned(), sum / rows[m].max(1.0))
        };
        let scores = asked.iter().enumerate().map(mean).collect();
        HeadObserved { scores }
    };
    let layer = |l: usize| (0..shape.heads(l)).map(|h| head(l, h)).collect();
    (0..shape.layer_count()).map(layer).collect()
}

/// Scores of the heads, summed over the rows and sequences of one block.
pub(super) struct HeadSums {
    /// [layer][head][score]
    sums: Vec<Vec<Vec<f64>>>,
    /// Number of rows that have anything to look at, `[score]`.
    rows: Vec<f64>,
}

impl HeadSums {
    /// Scores the first `used` sequences of a block, right after its forward.
    pub fn of_block(
        model: &Model,
        inputs: &[[u8; LANES]],
        used: usize,
        seen: &Forwarded,
        asked: &[HeadRequest<'_>],
        ngram: usize,
    ) -> Self {
        let heads = match model.kind() {
            Kind::Transformer(shape) => (0..shape.layer_count()).map(|l| shape.heads(l)).collect(),
            Kind::Minimal(_) => Vec::new(),
        };
        let sequences = Sequences::new(inputs, used, ngram, model.level());
        let empty = |heads: &usize| vec![vec![0.0; asked.len()]; *heads];
        let mut own = Self {
            sums: heads.iter().map(empty).collect(),
            rows: asked
                .iter()
                .map(|(_, score)| score.rows(&sequences) as f64)
                .collect(),
        };
        let mut look = |row: AttnRow| {
            // The first position has nothing to choose from.
            if row.position == 0 {
                return;
            }
            let attention = AttentionRow {
                sequences: &sequences,
                weights: &row.attn_pattern[..=row.position],
            };
            for (m, (_, score)) in asked.iter().enumerate() {
                let value = score.score(&attention);
                for lane in 0..used {
                    own.sums[row.layer][row.head][m] += f64::from(value[lane]);
                }
            }
        };
        seen.attention(&mut look);
        own
    }
}
