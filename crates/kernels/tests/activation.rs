use induct_kernels::lanes::{Lane, Level};
use induct_kernels::model::Matrix;
use induct_kernels::model::ops::{gelu, relu};

#[test]
fn lanes_match_the_twin_and_the_twin_its_differences() {
    let gelu = (
        gelu::naive_forward as fn(&Matrix) -> Matrix,
        gelu::naive_backward as fn(&Matrix, &Matrix) -> Matrix,
        gelu::forward as fn(Level, &mut [Lane], &mut [Lane]),
    );
    let relu = (
        relu::naive_forward as _,
        relu::naive_backward as _,
        relu::forward as _,
    );
    for (naive_forward, naive_backward, forward) in [gelu, relu] {
        for x in [-30.0, -4.0, -0.7, -1e-4, 1e-4, 0.3, 2.0, 30.0] {
            let at = |x: f64| Matrix::from_slice(1, 1, &[x]);
            let (value, gradient) = (naive_forward(&at(x)), naive_backward(&at(x), &at(1.0)));
            let h = 1e-5;
            let rise = naive_forward(&at(x + h)).data[0] - naive_forward(&at(x - h)).data[0];
            let difference = rise / (2.0 * h);
            assert!(
                (gradient.data[0] - difference).abs() < 1e-9,
                "gradient at {x}"
            );
            for level in Level::all() {
                let (mut lane, mut y) = ([Lane::splat(x as f32)], [Lane::ZERO]);
                forward(level, &mut lane, &mut y);
                assert!((f64::from(y[0].0[2]) - value.data[0]).abs() < 1e-6 * (1.0 + x.abs()));
                assert!((f64::from(lane[0].0[2]) - gradient.data[0]).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn a_number_that_is_none_does_not_vanish() {
    let (mut lane, mut y) = ([Lane::splat(f32::NAN)], [Lane::ZERO]);
    relu::forward(Level::detect(), &mut lane, &mut y);
    assert!(y[0].0.iter().all(|y| y.is_nan()));
}
