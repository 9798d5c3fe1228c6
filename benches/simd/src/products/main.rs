//! Our products of lanes with matrices (`ops/linear.rs`, the library's own file) beside crates that multiply dense
//! matrices, at the shapes of an MLP. Prints GFLOP/s on one thread.

#![allow(
    dead_code,
    reason = "files of the library, of which only the products are used"
)]

#[path = "../../../../crates/induct/src/invalid.rs"]
mod invalid;
#[path = "../../../../crates/induct/src/lanes/mod.rs"]
mod lanes;
mod model;

use std::hint::black_box;
use std::time::Instant;

use lanes::{LANES, Lane, Level};
use model::ops::linear;

/// (positions, inner, outer): what a product of the stream is called with.
const SHAPES: [(usize, usize, usize); 4] =
    [(16, 64, 256), (16, 256, 64), (100, 16, 64), (100, 64, 16)];

/// y = x W, dx = dy Wᵀ and dW += xᵀ dy.
const PRODUCTS: [&str; 3] = ["x W", "dy Wᵀ", "xᵀ dy"];

/// One operand or result, in rows of a matrix and in lanes.
struct Operand {
    numbers: Vec<f32>,
    lanes: Vec<Lane>,
}

impl Operand {
    fn new(positions: usize, width: usize, by: usize) -> Self {
        let number = |n: usize| ((n * by % 1009) as f32 - 504.0) / 504.0;
        let numbers: Vec<f32> = (0..LANES * positions * width).map(number).collect();
        let lane = |n: usize| {
            Lane(std::array::from_fn(|l| {
                numbers[(l * positions + n / width) * width + n % width]
            }))
        };
        let lanes = (0..positions * width).map(lane).collect();
        Self { numbers, lanes }
    }
}

/// The shortest of many short batches: GFLOP/s.
fn rate(flops: usize, mut call: impl FnMut()) -> f64 {
    call();
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 0.5 {
        let start = Instant::now();
        for _ in 0..8 {
            call();
        }
        best = best.min(start.elapsed().as_secs_f64() / 8.0);
    }
    flops as f64 / best / 1e9
}

/// c = a b (or c += a b), [m, k] × [k, n], each with its strides (by row, by column).
#[derive(Clone, Copy)]
struct Dense {
    sides: (usize, usize, usize),
    a: (isize, isize),
    b: (isize, isize),
    add: bool,
}

fn with_gemm(dense: Dense, a: &[f32], b: &[f32], c: &mut [f32]) {
    let (m, k, n) = dense.sides;
    // SAFETY: sides and strides describe matrices within the slices.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            dense.add,
            a.as_ptr(),
            dense.a.1,
            dense.a.0,
            b.as_ptr(),
            dense.b.1,
            dense.b.0,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

fn with_matrixmultiply(dense: Dense, a: &[f32], b: &[f32], c: &mut [f32]) {
    let (m, k, n) = dense.sides;
    let beta = if dense.add { 1.0 } else { 0.0 };
    // SAFETY: sides and strides describe matrices within the slices.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.as_ptr(),
            dense.a.0,
            dense.a.1,
            b.as_ptr(),
            dense.b.0,
            dense.b.1,
            beta,
            c.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}

fn largest_difference(found: &[f32], expected: &[f32]) -> f32 {
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f32::max)
}

fn main() {
    println!(
        "{:24}{:>10}{:>10}{:>16}  GFLOP/s",
        "", "ours", "gemm", "matrixmultiply"
    );
    let level = Level::detect();
    for (positions, inner, outer) in SHAPES {
        let (x, dy) = (
            Operand::new(positions, inner, 37),
            Operand::new(positions, outer, 53),
        );
        let w: Vec<f32> = Operand::new(inner, outer, 91).numbers[..inner * outer].to_vec();
        let rows = LANES * positions;
        let flops = 2 * rows * inner * outer;
        let (wide, narrow) = (outer as isize, inner as isize);
        for product in 0..PRODUCTS.len() {
            let (dense, a, b, size) = match product {
                0 => (
                    (rows, inner, outer),
                    (&x.numbers, (narrow, 1)),
                    (&w, (wide, 1)),
                    rows * outer,
                ),
                1 => (
                    (rows, outer, inner),
                    (&dy.numbers, (wide, 1)),
                    (&w, (1, wide)),
                    rows * inner,
                ),
                _ => (
                    (inner, rows, outer),
                    (&x.numbers, (1, narrow)),
                    (&dy.numbers, (wide, 1)),
                    inner * outer,
                ),
            };
            let dense = Dense {
                sides: dense,
                a: a.1,
                b: b.1,
                add: product == 2,
            };
            let mut lanes = vec![Lane::ZERO; positions * inner.max(outer)];
            let mut sums = vec![0.0; inner * outer];
            let mut ours = || match product {
                0 => linear::set_forward(
                    level,
                    &x.lanes,
                    &w,
                    inner,
                    black_box(&mut lanes[..positions * outer]),
                ),
                1 => linear::set_input_backward(
                    level,
                    &w,
                    inner,
                    &dy.lanes,
                    black_box(&mut lanes[..positions * inner]),
                ),
                _ => linear::add_weight_gradient(
                    level,
                    &x.lanes,
                    &dy.lanes,
                    inner,
                    black_box(&mut sums),
                ),
            };
            ours();
            let mut results = [vec![0.0; size], vec![0.0; size]];
            with_gemm(dense, a.0, b.0, &mut results[0]);
            with_matrixmultiply(dense, a.0, b.0, &mut results[1]);
            assert!(
                largest_difference(&results[0], &results[1]) < 1e-2,
                "the crates agree"
            );
            let rates = [
                rate(flops, &mut ours),
                rate(flops, || {
                    with_gemm(dense, a.0, b.0, black_box(&mut results[0]))
                }),
                rate(flops, || {
                    with_matrixmultiply(dense, a.0, b.0, black_box(&mut results[1]))
                }),
            ];
            let name = format!("{} {rows} × {inner} × {outer}", PRODUCTS[product]);
            println!(
                "{name:24}{:>10.0}{:>10.0}{:>16.0}",
                rates[0], rates[1], rates[2]
            );
        }
    }
}
