//! Attention heads on one sequence: their patterns and scores, and what they do.

use induct::measure::{
    BuiltIn, Context, INDUCTION, Induction, NGRAM_MATCH, NgramMatch, PREVIOUS_TOKEN, Pattern,
    PreviousToken,
};
use induct::model::{Activations, Array};

/// One head on a sequence of t symbols.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its layer, from 0.
    pub layer: usize,
    /// Its number within the layer, from 0.
    pub head: usize,
    /// What it attends to, [t, t]; `None` in a layer that has scores only.
    pub pattern: Option<Rows>,
    /// Its scores before the softmax, [t, t]; `None` where a layer has none.
    pub scores: Option<Rows>,
}

/// Numbers for each position and those before it: [t, t], zero or meaningless above the diagonal.
#[derive(Clone, Debug)]
pub struct Rows {
    t: usize,
    numbers: Vec<f32>,
}

/// A kind of head, by the positions that it attends to.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The measure that runs record of it.
    pub measure: &'static BuiltIn,
    pattern: &'static dyn Pattern,
}

/// The kinds of head that are looked for in a task with this n.
pub(super) fn kinds(ngram: usize) -> Vec<Kind> {
    let kind = |measure, pattern| Kind { measure, pattern };
    let mut kinds = vec![
        kind(&PREVIOUS_TOKEN, &PreviousToken as &dyn Pattern),
        kind(&INDUCTION, &Induction),
    ];
    // With n = 2 it is the same as induction.
    if ngram > 2 {
        kinds.push(kind(&NGRAM_MATCH, &NgramMatch));
    }
    kinds
}

/// All heads, by layer.
pub(super) fn heads(seen: &Activations, layers: usize) -> Vec<Head> {
    let layer = |layer: usize| {
        let array = |name: &str| seen.get(&format!("layers.{layer}.{name}")).ok();
        let (pattern, scores) = (array("attn_pattern"), array("attn_scores"));
        let any = pattern.or(scores)?;
        let head = move |head: usize| Head {
            layer,
            head,
            pattern: pattern.map(|array| Rows::of(array, head)),
            scores: scores.map(|array| Rows::of(array, head)),
        };
        Some((0..any.shape()[0]).map(head))
    };
    (0..layers).filter_map(layer).flatten().collect()
}

impl Rows {
    fn of(array: &Array, head: usize) -> Self {
        Self {
            t: array.shape()[1],
            numbers: array.row(&[head]).to_vec(),
        }
    }

    /// A position's numbers for each position up to its own, `[i + 1]`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.numbers[i * self.t..][..=i]
    }

    /// The rows from the first position on.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> {
        (0..self.t).map(|i| self.row(i))
    }

    /// The number of positions, t.
    pub fn positions(&self) -> usize {
        self.t
    }

    /// All numbers, [t, t].
    pub fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    /// All numbers, [t, t], with NaN above the diagonal: a position does not look at later ones.
    pub fn up_to_diagonal(&self) -> Vec<f64> {
        self.over(|_| 1.0)
    }

    /// The same with every number over the largest of its row.
    pub fn relative_to_largest(&self) -> Vec<f64> {
        self.over(|row| row.iter().copied().fold(f32::MIN_POSITIVE, f32::max))
    }

    fn over(&self, unit: impl Fn(&[f32]) -> f32) -> Vec<f64> {
        let mut all = vec![f64::NAN; self.numbers.len()];
        for (row, to) in self.iter().zip(all.chunks_exact_mut(self.t)) {
            let unit = unit(row);
            let seen = row.iter().map(|number| f64::from(number / unit));
            to.iter_mut().zip(seen).for_each(|(to, seen)| *to = seen);
        }
        all
    }
}

impl Head {
    /// Its name, as in the columns of a run's records.
    pub fn name(&self) -> String {
        format!("layers.{}.heads.{}", self.layer, self.head)
    }

    /// What it attends to; its scores in a layer that has no pattern.
    pub fn shown(&self) -> Option<&Rows> {
        self.pattern.as_ref().or(self.scores.as_ref())
    }
}

impl Kind {
    /// The attention of the last of `symbols` on the positions that such a head attends to. `None` if there
    /// is no such position.
    pub fn at(&self, row: &[f32], symbols: &[u8], ngram: usize) -> Option<f64> {
        let context = Context { symbols, ngram };
        let targets = (0..symbols.len()).filter(|&j| self.pattern.attends(&context, j));
        let weights: Vec<f64> = targets.map(|j| f64::from(row[j])).collect();
        (!weights.is_empty()).then(|| weights.iter().sum())
    }

    /// The mean over the positions after the first that have any: what runs record, here of one sequence.
    pub fn score(&self, pattern: &Rows, tokens: &[u8], ngram: usize) -> Option<f64> {
        let at = |i: usize| self.at(pattern.row(i), &tokens[..=i], ngram);
        let values: Vec<f64> = (1..tokens.len()).filter_map(at).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use induct::measure::Measure;
    use induct::probe::{head_scores, in_distribution};
    use induct::recipe::Recipe;

    use super::*;

    /// A score of one sequence is what a run would record on a test set of that sequence only.
    #[test]
    fn scores_agree_with_the_measures() {
        let small = [
            "task.length=20",
            "task.ngram=3",
            "model.heads=2",
            "record.test_sequences=1",
            "seeds.eval=5",
        ];
        let recipe = Recipe::from_toml("", &small.map(String::from)).unwrap();
        let (model, ngram) = (recipe.model().unwrap(), recipe.task.ngram);
        let params: Vec<f32> = model.start(7).iter().map(|weight| 30.0 * weight).collect();
        let set = in_distribution(&recipe).unwrap();
        let mut tokens = set.sequences().next().unwrap();
        tokens.truncate(recipe.task.length);
        let seen = model.run(&params, &tokens).unwrap();
        let kinds = kinds(ngram);
        let measures: Vec<&dyn Measure> = kinds.iter().map(|k| k.measure as &dyn Measure).collect();
        let known = head_scores(&model, &params, &set, &measures, ngram).unwrap();
        let all = heads(&seen, model.layer_count());
        assert_eq!(all.len(), 4);
        for head in all {
            for kind in &kinds {
                let pattern = head.pattern.as_ref().unwrap();
                let score = kind.score(pattern, &tokens, ngram).unwrap();
                let name = kind.measure.name;
                let expected = known[head.layer][head.head].score(name).unwrap();
                assert!(
                    (score - expected).abs() < 1e-4,
                    "{name}: {score} {expected}"
                );
            }
        }
    }
}
