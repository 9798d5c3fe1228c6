//! How much each layer does what it does in the construction that counts bigrams by hand.

use super::{BuiltIn, Reading};
use crate::model::{Kind, Matrix, Model, circuits};

measures! {
    /// How much a layer does what the two-layer bigram construction does there.
    ///
    /// It is a cosine, from −1 to 1, of what the layer's attention scores depend on, in no particular basis:
    ///
    /// - Layer 0: s and the indicator of lag 1, both `[t]` and centred over lags. s is the score that position
    ///   alone gives to each lag, averaged over symbols ([`circuits::positional_scores`]); for the minimal model, v.
    /// - Layer 1: M and the identity, both [k, k] and with every row centred. M_xy is the score that symbol x
    ///   gives to a position whose head in layer 0 brought symbol y ([`circuits::matching_scores`]); for the
    ///   minimal model, W_k.
    ///
    /// Centring takes away what is the same for all keys, which a softmax ignores. With several heads, it is the
    /// largest cosine of any head, or in layer 1 of any pair of heads. There is no value where there is no such
    /// score (other layers, no relative positions, t = 1, layer norm or an MLP between the layers), or where it is
    /// the same for all keys.
    CONSTRUCTION_OVERLAP: "construction_overlap" in "", [-1.0, 1.0],
        "cosine between the layer's scores and those of the bigram construction, both centred: in layer 0 \
         over lags, with lag 1 alone; in layer 1 over symbols, with the identity",
        Layer(|seen, layer| construction_overlap(seen.model(), seen.params(), layer));
}

/// How much a layer does what the bigram construction does there; see [`CONSTRUCTION_OVERLAP`].
pub fn construction_overlap(model: &Model, params: &[f32], layer: usize) -> Option<f64> {
    let (tables, wanted): (Vec<Matrix>, fn(usize, usize) -> bool) = match layer {
        0 => (profiles(model, params)?, |_, lag| lag == 1),
        1 => (circuits::matching_scores(model, params)?, |x, y| x == y),
        _ => return None,
    };
    let overlap = |table: &Matrix| {
        let wanted = |i, j| f64::from(u8::from(wanted(i, j)));
        let wanted = centred(&Matrix::from_fn(table.rows, table.cols, wanted))?;
        let table = centred(table)?;
        cosine(table.data.into_iter().zip(wanted.data))
    };
    tables.iter().filter_map(overlap).max_by(f64::total_cmp)
}

/// What position alone gives to each lag in the first layer: for every head a [1, t] matrix.
fn profiles(model: &Model, params: &[f32]) -> Option<Vec<Matrix>> {
    if let Kind::Minimal(_) = model.kind() {
        let v = params[model.layout().tensor("v")?.range.clone()].iter();
        let v: Vec<f64> = v.map(|&w| w.into()).collect();
        return Some(vec![Matrix::from_slice(1, v.len(), &v)]);
    }
    let heads = circuits::positional_scores(model, params)?;
    let share = |scores: &Matrix| Matrix::from_fn(1, scores.rows, |_, _| 1.0 / scores.rows as f64);
    Some(heads.iter().map(|head| share(head).times(head)).collect())
}

/// What rounding may leave of a row of equal numbers, relative to their size.
const ROUNDING: f64 = 1e-12;

/// The matrix with every row centred; `None` if that leaves nothing.
fn centred(matrix: &Matrix) -> Option<Matrix> {
    let mean = |i: usize| matrix.row(i).iter().sum::<f64>() / matrix.cols as f64;
    let means: Vec<f64> = (0..matrix.rows).map(mean).collect();
    let centred = Matrix::from_fn(matrix.rows, matrix.cols, |i, j| matrix[(i, j)] - means[i]);
    let largest = |m: &Matrix| m.data.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    (largest(&centred) > ROUNDING * largest(matrix)).then_some(centred)
}

/// The cosine of the angle between two vectors, given entry by entry; `None` if one of them is zero.
fn cosine(entries: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut product, mut squares) = (0.0, [0.0; 2]);
    for (a, b) in entries {
        product += a * b;
        squares[0] += a * a;
        squares[1] += b * b;
    }
    // One root, so that a vector and itself have exactly 1.
    let size = (squares[0] * squares[1]).sqrt();
    (size > 0.0).then(|| (product / size).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    fn overlaps(settings: &str, change: impl Fn(&Model, &mut [f32])) -> [Option<f64>; 3] {
        let text = format!("task = {{ states = 3, length = 20 }}\n[model]\n{settings}");
        let model = Recipe::from_toml(&text, &[]).unwrap().model().unwrap();
        let mut params = model.start(0);
        change(&model, &mut params);
        [0, 1, 2].map(|layer| construction_overlap(&model, &params, layer))
    }

    fn is_one(overlap: Option<f64>) -> bool {
        overlap.is_some_and(|overlap| (overlap - 1.0).abs() < 1e-12)
    }

    const CONSTRUCTION: &str =
        "kind = 'transformer'\nstart = { kind = 'bigram', sharpness = 3.0, output_scale = 1.0 }";

    #[test]
    fn the_constructions_overlap_with_themselves() {
        let minimal = "kind = 'minimal'\nstart = { kind = 'bigram' }";
        for settings in [CONSTRUCTION, minimal] {
            let [first, second, third] = overlaps(settings, |_, _| {});
            assert!(is_one(first) && is_one(second), "{first:?}, {second:?}");
            assert_eq!(third, None);
        }
    }

    /// Neither a rotation of the stream nor a shift of all scores matters, and the opposite is the opposite.
    #[test]
    fn only_differences_of_scores_count() {
        let [first, second, _] = overlaps(CONSTRUCTION, |model, params| {
            let v = &model.layout().tensor("layers.0.v").unwrap().range;
            for w in &mut params[v.clone()] {
                *w = 2.0 - 3.0 * *w;
            }
            let w_q = &model.layout().tensor("layers.1.W_Q").unwrap().range;
            params[w_q.clone()].iter_mut().for_each(|w| *w *= -0.5);
        });
        assert!(is_one(first.map(|overlap| -overlap)), "{first:?}");
        assert!(is_one(second.map(|overlap| -overlap)), "{second:?}");
    }

    #[test]
    fn there_is_no_overlap_where_there_are_no_scores() {
        let same = |_: &Model, params: &mut [f32]| params.fill(0.1);
        let minimal = "kind = 'minimal'\nstart = { kind = 'unigram' }";
        assert_eq!(overlaps(minimal, same), [None; 3]);
        let absolute = "kind = 'transformer'\npositions = 'absolute'\nlayer_norm = true";
        assert_eq!(overlaps(absolute, |_, _| {}), [None; 3]);
        let one_layer = overlaps("kind = 'transformer'\nlayers = 1", |_, _| {});
        assert!(one_layer[0].is_some_and(|overlap| overlap.abs() < 1.0));
        assert_eq!(one_layer[1], None);
    }
}
