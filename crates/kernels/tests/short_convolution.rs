use induct_kernels::lanes::{Lane, Level};
use induct_kernels::model::Matrix;
use induct_kernels::model::ops::short_convolution::{add_kernel_gradient, forward, input_backward};
use induct_kernels::model::reference::formulas;
use induct_kernels::model::reference::tape::Tape;

#[test]
fn lanes_match_the_formula_and_its_gradients() {
    let value = |index: usize| ((index * 37 % 19) as f32 - 9.0) / 8.0;
    for (rows, columns, length) in [(1, 1, 1), (1, 3, 4), (3, 5, 4), (9, 8, 2), (20, 13, 5)] {
        let size = rows * columns;
        let kernel: Vec<f32> = (0..length * columns).map(value).collect();
        let lanes = |first: usize| -> Vec<Lane> {
            (0..size)
                .map(|at| Lane::splat(value(first + 3 * at)))
                .collect()
        };
        let (x, dy) = (lanes(5), lanes(8));
        let matrix = |lanes: &[Lane]| {
            let entries: Vec<f64> = lanes.iter().map(|lane| lane.0[4].into()).collect();
            Matrix::from_slice(rows, columns, &entries)
        };
        let tape = Tape::default();
        let exact_x = tape.leaf(matrix(&x));
        let taps: Vec<f64> = kernel.iter().map(|&tap| tap.into()).collect();
        let exact_kernel = tape.leaf(Matrix::from_slice(length, columns, &taps));
        let exact = formulas::short_convolution(exact_x, exact_kernel);
        let gradients = exact
            .each_times(tape.constant(matrix(&dy)))
            .sum()
            .gradients();
        let near = |found: &[f64], exact: &Matrix| {
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4;
            assert!(
                found.iter().zip(&exact.data).all(close),
                "{rows} {columns} {length}"
            );
        };
        for level in Level::all() {
            let (mut y, mut dx) = (dy.clone(), x.clone());
            forward(level, &kernel, columns, &x, &mut y);
            near(&matrix(&y).data, &exact.matrix());
            input_backward(level, &kernel, columns, &dy, &mut dx);
            let added = gradients.of(exact_x).unwrap().plus(&matrix(&x));
            near(&matrix(&dx).data, &added);
            let mut d_kernel = vec![0.0; kernel.len()];
            add_kernel_gradient(level, &x, &dy, columns, &mut d_kernel);
            let by_lane: Vec<f64> = d_kernel.iter().map(|&d| f64::from(d) / 8.0).collect();
            near(&by_lane, gradients.of(exact_kernel).unwrap());
        }
    }
}
