use induct_kernels::lanes::Level;
use induct_kernels::model::transformer::coordinates::dense::{
    View, ViewMut, add_product_with_transposed,
};

#[test]
fn products_with_a_transposed_matrix_are_the_same_to_the_bit() {
    let value = |index: usize| ((index * 37 % 101) as f32).sin();
    for (n, inner, m) in [(9, 5, 19), (4, 32, 8), (3, 130, 17), (6, 1, 7)] {
        let (a, b): (Vec<f32>, Vec<f32>) = (
            (0..n * inner).map(value).collect(),
            (0..m * inner).map(|index| value(index + 7)).collect(),
        );
        let mut expected = vec![0.5; n * m];
        for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i, j))) {
            let (a, b) = (&a[i * inner..][..inner], &b[j * inner..][..inner]);
            let sum: f32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
            expected[i * m + j] += 0.3 * sum;
        }
        for level in Level::all() {
            let mut out = vec![0.5; n * m];
            let (a, b) = (View::new(&a, inner), View::new(&b, inner));
            let into = ViewMut::new(&mut out, m, 0);
            add_product_with_transposed(level, into, a, b, (n, inner, m), 0.3);
            assert_eq!(out, expected, "{n} x {inner} x {m}");
        }
    }
}
