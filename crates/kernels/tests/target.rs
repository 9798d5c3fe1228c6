use induct_kernels::model::Target;

#[test]
fn names_are_read_as_they_are_written() {
    for target in [
        Target::Uniform,
        Target::Lag(0),
        Target::PREVIOUS_TOKEN,
        Target::Lag(3),
        Target::SameToken,
        Target::Induction,
    ] {
        assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
    }
    let refused = "lag:x".parse::<Target>().unwrap_err();
    assert!(refused.allowed.contains("lag:N"), "{refused}");
}

#[test]
fn rows_sum_to_one_and_lie_where_the_target_says() {
    let symbols = [0, 1, 1, 0, 2, 1];
    let row = |target: Target, i: usize| target.row(&symbols[..=i]);
    assert_eq!(row(Target::PREVIOUS_TOKEN, 0), [1.0]);
    assert_eq!(row(Target::PREVIOUS_TOKEN, 2), [0.0, 1.0, 0.0]);
    assert_eq!(row(Target::Lag(2), 1), [1.0, 0.0]);
    assert_eq!(row(Target::SameToken, 3), [0.5, 0.0, 0.0, 0.5]);
    assert_eq!(row(Target::Induction, 5), [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]);
    // Symbol 2 has not occurred before: nothing to attend to in particular.
    assert_eq!(row(Target::Induction, 4), [0.2; 5]);
}
