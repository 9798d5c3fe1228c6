use induct_kernels::lanes::{LANES, Lane, Level};
use induct_kernels::model::Target;
use induct_kernels::model::ops::attention::clamped::{Table, backward, fill, forward};

const ROWS: usize = 11;
const SIZE: usize = 3;

fn inputs() -> Vec<[u8; LANES]> {
    let symbol = |i: usize, lane: usize| ((i * i + 3 * lane + i * lane / 2) % 3) as u8;
    let row = |i: usize| std::array::from_fn(|lane| symbol(i, lane));
    (0..ROWS).map(row).collect()
}

fn numbers(seed: usize) -> Vec<Lane> {
    let value = |index: usize| ((index * 37 + seed) % 101) as f32 / 50.0 - 1.0;
    let lane = |index: usize| Lane(std::array::from_fn(|lane| value(index * LANES + lane)));
    (0..ROWS * SIZE).map(lane).collect()
}

#[test]
fn every_target_averages_as_its_rows_say_and_backward_is_the_transpose() {
    let (inputs, values, d_out) = (inputs(), numbers(1), numbers(5));
    for level in Level::all() {
        for target in [
            Target::Uniform,
            Target::Lag(0),
            Target::PREVIOUS_TOKEN,
            Target::Lag(4),
            Target::SameToken,
            Target::Induction,
        ] {
            let mut weights = vec![Lane::ZERO; ROWS * ROWS];
            if target.reads_symbols() {
                fill(level, target, &inputs, ROWS, &mut weights);
            }
            let table = Table::of(target, &weights, ROWS);
            let mut out = vec![Lane::ZERO; ROWS * SIZE];
            let mut d_values = vec![Lane::ZERO; ROWS * SIZE];
            for rows in [0..4, 4..5, 5..ROWS] {
                forward(level, table, rows.clone(), SIZE, &values, &mut out);
                backward(level, table, rows, SIZE, &d_out, &mut d_values);
            }
            for (lane, m) in (0..LANES).flat_map(|l| (0..SIZE).map(move |m| (l, m))) {
                let tokens: Vec<u8> = inputs.iter().map(|row| row[lane]).collect();
                let mut expected = [0.0; ROWS];
                for i in 0..ROWS {
                    let row = target.row(&tokens[..=i]);
                    let value = |j: usize| f64::from(values[j * SIZE + m].0[lane]);
                    let sum: f64 = row.iter().enumerate().map(|(j, p)| p * value(j)).sum();
                    let found = f64::from(out[i * SIZE + m].0[lane]);
                    assert!((found - sum).abs() < 1e-6, "{target} row {i}");
                    let gradient = f64::from(d_out[i * SIZE + m].0[lane]);
                    for (expected, p) in expected.iter_mut().zip(row) {
                        *expected += p * gradient;
                    }
                }
                for (j, expected) in expected.iter().enumerate() {
                    let found = f64::from(d_values[j * SIZE + m].0[lane]);
                    assert!((found - expected).abs() < 1e-5, "{target} value {j}");
                }
            }
        }
    }
}
