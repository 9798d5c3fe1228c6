use induct_kernels::lanes::{Lane, Level};
use induct_kernels::model::Matrix;
use induct_kernels::model::ops::activation::{Function, forward};
use induct_kernels::model::reference::tape::Tape;

#[test]
fn lanes_match_the_reference_and_the_reference_its_differences() {
    for function in [
        Function::Gelu,
        Function::GeluExact,
        Function::Relu,
        Function::Silu,
        Function::Softplus,
    ] {
        let value = |x: f64| {
            let tape = Tape::default();
            let x = tape.leaf(Matrix::from_slice(1, 1, &[x]));
            function.formula(x).number()
        };
        for x in [-30.0, -4.0, -0.7, -1e-4, 1e-4, 0.3, 2.0, 30.0] {
            let tape = Tape::default();
            let at = tape.leaf(Matrix::from_slice(1, 1, &[x]));
            let gradient = function.formula(at).gradients().of(at).unwrap().data[0];
            let h = 1e-5;
            let difference = (value(x + h) - value(x - h)) / (2.0 * h);
            assert!((gradient - difference).abs() < 1e-9, "gradient at {x}");
            for level in Level::all() {
                let (mut lane, mut y) = ([Lane::splat(x as f32)], [Lane::ZERO]);
                forward(level, function, &mut lane, &mut y);
                assert!((f64::from(y[0].0[2]) - value(x)).abs() < 1e-6 * (1.0 + x.abs()));
                assert!((f64::from(lane[0].0[2]) - gradient).abs() < 1e-6);
            }
        }
    }
}

/// All over its range, relative to its value where it is tiny.
#[test]
fn the_exact_gelu_is_exact() {
    for step in -800..=800 {
        let x = f64::from(step) / 100.0;
        let at_x = f64::from(x as f32);
        let exact = 0.5 * at_x * libm::erfc(-at_x / std::f64::consts::SQRT_2);
        for level in Level::all() {
            let (mut lane, mut y) = ([Lane::splat(x as f32)], [Lane::ZERO]);
            forward(level, Function::GeluExact, &mut lane, &mut y);
            let error = (f64::from(y[0].0[5]) - exact).abs();
            assert!(error <= 4e-7 * at_x.abs().max(1e-3), "{error:e} at {x}");
        }
    }
}

#[test]
fn a_number_that_is_none_does_not_vanish() {
    for function in [Function::Relu, Function::Silu, Function::Softplus] {
        let (mut lane, mut y) = ([Lane::splat(f32::NAN)], [Lane::ZERO]);
        forward(Level::detect(), function, &mut lane, &mut y);
        assert!(y[0].0.iter().all(|y| y.is_nan()));
    }
}

/// Small numbers of softplus, and what is left of its argument in them, are as exact as large ones.
#[test]
fn softplus_keeps_small_numbers() {
    for x in [-80.0, -30.0, -17.0, -12.0, -6.0] {
        for level in Level::all() {
            let (mut lane, mut y) = ([Lane::splat(x as f32)], [Lane::ZERO]);
            forward(level, Function::Softplus, &mut lane, &mut y);
            let exact = f64::exp(x).ln_1p();
            assert!((f64::from(y[0].0[1]) / exact - 1.0).abs() < 2e-6, "{x}");
        }
    }
}
