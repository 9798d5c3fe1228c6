use induct_kernels::lanes::{Lane, Level};
use induct_kernels::model::Matrix;
use induct_kernels::model::ops::scan::{
    Inputs, backward, forward, log_decay_backward, output_backward,
};
use induct_kernels::model::reference::formulas;
use induct_kernels::model::reference::tape::Tape;

/// Numbers between −1 and 1, by lane.
fn lanes(count: usize, first: usize) -> Vec<Lane> {
    let value = |index: usize| ((index * 37 % 101) as f32 - 50.0) / 50.0;
    let lane = |at: usize| {
        Lane(std::array::from_fn(|lane| {
            value(first + 3 * at + 11 * lane)
        }))
    };
    (0..count).map(lane).collect()
}

/// Columns of the numbers of one lane, of rows `width` long.
fn matrix(lanes: &[Lane], width: usize, columns: std::ops::Range<usize>) -> Matrix {
    Matrix::from_fn(lanes.len() / width, columns.len(), |i, c| {
        lanes[i * width + columns.start + c].0[5].into()
    })
}

fn assert_near(what: &str, found: &Matrix, exact: &Matrix) {
    let largest = exact
        .data
        .iter()
        .fold(1.0, |most: f64, x| most.max(x.abs()));
    for (a, b) in found.data.iter().zip(&exact.data) {
        assert!((a - b).abs() < 2e-5 * largest, "{what}: {a}, not {b}");
    }
}

/// Every sum that stands for a recurrence, at odd sizes, for fast and slow decays, in groups of any size.
#[test]
fn scans_match_the_formula_and_its_gradients() {
    for (rows, heads, each, size, slow) in [
        (1, 1, 1, 1, false),
        (5, 1, 3, 4, true),
        (19, 2, 2, 7, false),
        (40, 3, 5, 9, true),
        (130, 1, 2, 5, true),
        (130, 2, 2, 4, false),
    ] {
        let channels = heads * each;
        let (u, b, c) = (
            lanes(rows * channels, 2),
            lanes(rows * size, 7),
            lanes(rows * size, 31),
        );
        let dy = lanes(rows * channels, 55);
        let strength = if slow { 0.01 } else { 1.5 };
        let decays = lanes(rows * heads, 13);
        let decays: Vec<Lane> = (decays.iter())
            .map(|log| log.map(|x| (strength * (x - 1.0)).exp()))
            .collect();
        let inputs = Inputs {
            decays: &decays,
            u: &u,
            b: &b,
            c: &c,
            heads,
            channels,
            size,
        };
        for level in Level::all() {
            let (mut y, mut du) = (u.clone(), u.clone());
            let (mut dc, mut db) = (c.clone(), c.clone());
            let mut log_decay = decays.clone();
            let state = &mut vec![Lane::splat(7.0); channels * size];
            forward(level, inputs, rows, state, &mut y);
            output_backward(level, inputs, rows, &dy, state, &mut dc);
            backward(level, inputs, rows, &dy, state, &mut du, &mut db);
            log_decay_backward(level, inputs, rows, &y, &dy, &du, &mut log_decay);
            let tape = Tape::default();
            let [exact_b, exact_c] = [&b, &c].map(|lanes| tape.leaf(matrix(lanes, size, 0..size)));
            let mut sum = None;
            let mut of_heads = Vec::new();
            for head in 0..heads {
                let own = head * each..(head + 1) * each;
                let log = matrix(&decays, heads, head..head + 1).map(f64::ln);
                let log = tape.leaf(log);
                let u = tape.leaf(matrix(&u, channels, own.clone()));
                let exact = formulas::scan(log, u, exact_b, exact_c);
                assert_near("y", &matrix(&y, channels, own.clone()), &exact.matrix());
                let dy = tape.constant(matrix(&dy, channels, own.clone()));
                let part = exact.each_times(dy).sum();
                sum = Some(sum.map_or(part, |sum| sum + part));
                of_heads.push((own, log, u));
            }
            let gradients = sum.unwrap().gradients();
            let of = |value| gradients.of(value).unwrap();
            assert_near("dB", &matrix(&db, size, 0..size), of(exact_b));
            assert_near("dC", &matrix(&dc, size, 0..size), of(exact_c));
            for (head, (own, log, u)) in of_heads.into_iter().enumerate() {
                assert_near("du", &matrix(&du, channels, own), of(u));
                let found = matrix(&log_decay, heads, head..head + 1);
                assert_near("d ln a", &found, of(log));
            }
        }
    }
}
