use induct_kernels::lanes::{Lane, Level};
use induct_kernels::model::Matrix;
use induct_kernels::model::ops::gelu::{forward, naive_backward, naive_forward};

#[test]
fn lanes_match_the_twin_and_the_twin_its_differences() {
    for x in [-30.0, -4.0, -0.7, -1e-4, 0.0, 0.3, 2.0, 30.0] {
        let at = |x: f64| Matrix::from_slice(1, 1, &[x]);
        let one = at(1.0);
        let (value, slope) = (naive_forward(&at(x)), naive_backward(&at(x), &one));
        let h = 1e-5;
        let difference =
            (naive_forward(&at(x + h)).data[0] - naive_forward(&at(x - h)).data[0]) / (2.0 * h);
        assert!((slope.data[0] - difference).abs() < 1e-9, "slope at {x}");
        let (mut lane, mut y) = ([Lane::splat(x as f32)], [Lane::ZERO]);
        forward(Level::detect(), &mut lane, &mut y);
        assert!((f64::from(y[0].0[2]) - value.data[0]).abs() < 1e-6 * (1.0 + x.abs()));
        assert!((f64::from(lane[0].0[2]) - slope.data[0]).abs() < 1e-6);
    }
}
