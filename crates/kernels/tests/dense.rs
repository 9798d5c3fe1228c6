use induct_kernels::lanes::Level;
use induct_kernels::model::transformer::coordinates::dense::{Place, add_product};

#[test]
fn products_are_the_same_to_the_bit_at_all_levels() {
    let value = |index: usize| ((index * 37 % 101) as f32).sin();
    for (n, inner, m) in [(9, 5, 19), (4, 32, 8), (3, 130, 17), (6, 1, 7), (1, 3, 1)] {
        // Columns 2.. of wider matrices, as they are or turned over.
        let wide = |rows: usize, columns: usize| {
            let data: Vec<f32> = (0..rows * (columns + 2)).map(value).collect();
            let place = Place::new(0, 0..data.len(), columns + 2);
            (data, place.columns(2..columns + 2))
        };
        for (a_turned, b_turned) in [(false, false), (false, true), (true, false)] {
            let sides = |rows, columns, turned| match turned {
                true => {
                    let (data, place) = wide(columns, rows);
                    (data, place.transposed())
                }
                false => wide(rows, columns),
            };
            let ((a, of_a), (b, of_b)) = (sides(n, inner, a_turned), sides(inner, m, b_turned));
            let entry = |data: &[f32], of: Place, turned: bool, i: usize, j: usize| match turned {
                true => of.transposed().row(data, j)[i],
                false => of.row(data, i)[j],
            };
            let exact = |i: usize, j: usize| {
                let products = (0..inner).map(|x| {
                    let (a, b) = (
                        entry(&a, of_a, a_turned, i, x),
                        entry(&b, of_b, b_turned, x, j),
                    );
                    f64::from(a) * f64::from(b)
                });
                0.5 + 0.3 * products.sum::<f64>()
            };
            let results = Level::all().into_iter().map(|level| {
                let mut out = vec![0.5; n * m];
                let to = Place::new(0, 0..n * m, m);
                add_product(level, &mut out, to, &a, of_a, &b, of_b, 0.3);
                out
            });
            let results: Vec<Vec<f32>> = results.collect();
            for (index, &x) in results[0].iter().enumerate() {
                let exact = exact(index / m, index % m);
                assert!(
                    (f64::from(x) - exact).abs() < 1e-4,
                    "{n} x {inner} x {m}: {x} {exact}"
                );
            }
            assert!(results.iter().all(|other| *other == results[0]));
        }
    }
}
