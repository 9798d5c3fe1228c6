use induct_kernels::lanes::Lane;

#[test]
fn exponentials_are_accurate_over_their_whole_range() {
    for step in 0..=40_000 {
        let x = (step as f32 - 20_000.0) * 0.004_3;
        let got = f64::from(Lane::splat(x).exp::<true>().0[3]);
        let exact = f64::from(x).exp();
        assert!(
            (got / exact - 1.0).abs() < 4e-7,
            "exp({x}) = {got}, not {exact}"
        );
        let got = f64::from(Lane::splat(x).exp2_in_range::<true>().0[5]);
        let exact = f64::from(x).exp2();
        assert!(
            (got / exact - 1.0).abs() < 3e-7,
            "2^{x} = {got}, not {exact}"
        );
    }
}

#[test]
fn logarithms_are_accurate_over_the_whole_range() {
    for step in 0..=20_000 {
        let x = ((f64::from(step) - 10_000.0) * 0.008_7).exp() as f32;
        let exact = f64::from(x).ln();
        for got in [Lane::splat(x).ln::<false>(), Lane::splat(x).ln::<true>()] {
            let error = (f64::from(got.0[1]) - exact).abs();
            assert!(
                error < 2e-7 * exact.abs().max(1.0),
                "ln({x}): off by {error:e}"
            );
        }
    }
}

#[test]
fn what_is_not_a_number_stays_so() {
    let nan = Lane::splat(f32::NAN);
    for result in [
        nan.exp::<false>(),
        nan.exp2_in_range::<true>(),
        nan.ln::<false>(),
    ] {
        assert!(result.0[0].is_nan());
    }
}

#[test]
fn exp_stays_finite_beyond_its_range() {
    assert!(Lane::splat(-1e30).exp::<false>().0[0] < 1e-37);
    assert!(Lane::splat(1e30).exp::<true>().0[0].is_finite());
    assert!(Lane::splat(1e30).exp2_saturated::<true>().0[0].is_finite());
    assert!(Lane::splat(-1e30).exp2_clamped::<false>().0[0] < 1e-37);
}
