use induct_kernels::lanes::{LANES, Lane, Level};
use induct_kernels::model::Matrix;
use induct_kernels::model::ops::linear::{
    add_bias_gradient, add_forward, add_weight_gradient, input_backward,
};

/// Sizes that fill panels and tiles, and leave remainders of every kind.
#[test]
fn summed_gradients_match_the_reference_at_every_level() {
    let number = |n: usize| ((n * 37 % 101) as f32 - 50.0) / 50.0;
    let lanes = |count: usize, by: usize| -> Vec<Lane> {
        let lane = |n: usize| Lane(std::array::from_fn(|l| number((8 * n + l) * by)));
        (0..count).map(lane).collect()
    };
    // [8 rows, width]: sequences one after the other.
    let all = |lanes: &[Lane], width: usize| {
        let rows = lanes.len() / width;
        Matrix::from_fn(LANES * rows, width, |i, j| {
            f64::from(lanes[i % rows * width + j].0[i / rows])
        })
    };
    for (rows, inner, outer) in [(1, 1, 1), (16, 8, 16), (19, 13, 10), (37, 4, 27)] {
        let (x, dy) = (lanes(rows * inner, 3), lanes(rows * outer, 7));
        // y = x W + b  ⟹  dW = xᵀ dy, db = 1ᵀ dy
        let exact = all(&x, inner).transposed().times(&all(&dy, outer));
        let ones = Matrix::from_fn(1, LANES * rows, |_, _| 1.0);
        let exact_bias = ones.times(&all(&dy, outer));
        for level in Level::all() {
            let mut dw = vec![1.0; inner * outer];
            let mut db = vec![1.0; outer];
            add_weight_gradient(level, &x, &dy, inner, &mut dw);
            add_bias_gradient(level, &dy, &mut db);
            let exact = exact.data.iter().chain(&exact_bias.data);
            for (found, exact) in dw.iter().chain(&db).zip(exact) {
                let error = (f64::from(*found) - 1.0 - exact).abs();
                assert!(
                    error < 1e-4,
                    "{} {rows} {inner} {outer}: {error:e}",
                    level.name()
                );
            }
        }
    }
}

#[test]
fn levels_with_fused_instructions_give_the_same_bits() {
    let lanes = |count: usize| -> Vec<Lane> {
        let lane = |n: usize| Lane(std::array::from_fn(|l| ((8 * n + l) as f32).sin()));
        (0..count).map(lane).collect()
    };
    let (rows, inner, outer) = (23, 19, 21);
    let (x, dy) = (lanes(rows * inner), lanes(rows * outer));
    let w: Vec<f32> = (0..inner * outer).map(|n| (n as f32).cos()).collect();
    let levels = Level::all();
    let results = levels[..levels.len() - 1].iter().map(|&level| {
        let (mut y, mut dx) = (lanes(rows * outer), lanes(rows * inner));
        let mut dw = vec![0.5; inner * outer];
        add_forward(level, &x, &w, inner, outer, &mut y);
        input_backward(level, &w, (inner, outer), 0, &dy, &mut dx);
        add_weight_gradient(level, &x, &dy, inner, &mut dw);
        (y, dx, dw)
    });
    let results: Vec<_> = results.collect();
    assert!(results.iter().all(|result| *result == results[0]));
}
