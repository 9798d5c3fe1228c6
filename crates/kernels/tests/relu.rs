use induct_kernels::lanes::{Lane, Level};
use induct_kernels::model::Matrix;
use induct_kernels::model::ops::relu::{forward, naive_backward, naive_forward};

#[test]
fn lanes_match_the_twin_and_the_twin_its_differences() {
    for x in [-30.0, -0.7, -1e-4, 1e-4, 0.3, 2.0, 30.0] {
        let at = |x: f64| Matrix::from_slice(1, 1, &[x]);
        let (value, slope) = (naive_forward(&at(x)), naive_backward(&at(x), &at(1.0)));
        let h = 1e-5;
        let difference =
            (naive_forward(&at(x + h)).data[0] - naive_forward(&at(x - h)).data[0]) / (2.0 * h);
        assert!((slope.data[0] - difference).abs() < 1e-9, "slope at {x}");
        for level in Level::all() {
            let (mut lane, mut y) = ([Lane::splat(x as f32)], [Lane::ZERO]);
            forward(level, &mut lane, &mut y);
            assert_eq!(f64::from(y[0].0[2]), f64::from(value.data[0] as f32));
            assert_eq!(f64::from(lane[0].0[2]), slope.data[0]);
        }
    }
}

#[test]
fn a_number_that_is_none_does_not_vanish() {
    let (mut lane, mut y) = ([Lane::splat(f32::NAN)], [Lane::ZERO]);
    forward(Level::detect(), &mut lane, &mut y);
    assert!(y[0].0.iter().all(|y| y.is_nan()));
}
