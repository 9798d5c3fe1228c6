//! How alike two sets of weights are.

use crate::measure::cosine;
use crate::model::Layout;

/// The cosine between two vectors of a model's weights, restricted to a group of tensors: `layers.0.W_K`,
/// `layers.1`, `W_K`.
///
/// `None` if no tensor is in the group, if one of the vectors is zero there, or if they are not the weights of
/// a model with this layout.
///
/// ```
/// use induct::probe::overlap;
/// use induct::recipe::Recipe;
///
/// let model = Recipe::default().model()?;
/// let (a, b) = (model.start(0), model.start(1));
/// assert_eq!(overlap(model.layout(), "unembed", &a, &a), Some(1.0));
/// assert!(overlap(model.layout(), "layers.0", &a, &b).unwrap().abs() < 0.2);
/// # Ok::<(), induct::Invalid>(())
/// ```
pub fn overlap(layout: &Layout, group: &str, a: &[f32], b: &[f32]) -> Option<f64> {
    let tensors = layout.in_group(group);
    let places = tensors.flat_map(|tensor| tensor.range.clone());
    let fit = [a, b].iter().all(|weights| weights.len() == layout.len());
    fit.then(|| cosine(places.map(|place| (f64::from(a[place]), f64::from(b[place])))))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    #[test]
    fn overlaps_are_those_of_vectors_by_hand() {
        let recipe = Recipe::from_toml("task.length = 2\nmodel.kind = 'minimal'", &[]).unwrap();
        let model = recipe.model().unwrap();
        let layout = model.layout();
        // W_k [2, 2], then v [2].
        let a = [1.0, 2.0, 3.0, 4.0, 3.0, 4.0];
        let b = [-1.0, -2.0, -3.0, -4.0, 4.0, 3.0];
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}");
        };
        near(overlap(layout, "W_k", &a, &b), -1.0);
        near(overlap(layout, "v", &a, &b), 24.0 / 25.0);
        assert_eq!(overlap(layout, "W_Q", &a, &b), None);
        assert_eq!(overlap(layout, "v", &a, &b[..5]), None);
        assert_eq!(overlap(layout, "v", &[0.0; 6], &b), None);
    }
}
