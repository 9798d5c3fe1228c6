//! Induct's vector code beside three crates: the same kernels, checked against each other and timed in turns.

mod kernels;
mod others;
mod ours;

use std::time::Instant;

use fearless_simd::{Level, Simd, f32x8};
use kernels::{Kernel, Work, run};

type Run = dyn Fn(Kernel, &mut Work);

/// A way of writing vectors, compiled for some instructions.
struct Way {
    name: &'static str,
    instructions: &'static str,
    run: Box<Run>,
}

const PORTABLE: &str = "portable";
const AVX2: &str = "AVX2";
const AVX512: &str = "AVX-512";

/// What is timed, and in which column.
const KERNELS: [(Kernel, &str); 4] = [
    (Kernel::Forward, "forward"),
    (Kernel::Backward, "backward"),
    (Kernel::Kept, "backward, keys kept"),
    (Kernel::Sum, "sum"),
];
/// Every way's turn comes once per round, with so many passes of every kernel.
const ROUNDS: usize = 200;
/// Rounds before those that count: a WebAssembly engine compiles again what runs often.
const WARM_UP: usize = 100;
const PASSES: usize = 20;

fn main() {
    let ways = ways();
    let results: Vec<Vec<f32>> = ways.iter().map(results).collect();
    let times = times(&ways);
    println!("Nanoseconds: best, median, median ratio to ours with the same instructions.\n");
    let columns = KERNELS.map(|(_, name)| name).join(" | ");
    println!("| way | instructions | {columns} | results |");
    println!("|---|---|{}---|", "---|".repeat(KERNELS.len()));
    for (n, way) in ways.iter().enumerate() {
        let same = |other: &Way| other.name == "ours" && other.instructions == way.instructions;
        let twin = ways.iter().position(same).expect("ours has all levels");
        print!("| {} | {} |", way.name, way.instructions);
        for (own, twin) in times[n].iter().zip(&times[twin]) {
            let ratios: Vec<f64> = own.iter().zip(twin).map(|(own, twin)| own / twin).collect();
            let best = own.iter().copied().fold(f64::INFINITY, f64::min);
            print!(" {best:.0}, {:.0}, {:.2} |", median(own), median(&ratios));
        }
        println!(" {} |", compare(&results[n], &results[twin]));
    }
}

/// Every way that this machine and this build have.
fn ways() -> Vec<Way> {
    let mut ways = vec![way("ours", PORTABLE, ours::portable)];
    let built_for = match () {
        () if cfg!(target_feature = "avx512vl") => AVX512,
        () if cfg!(target_feature = "fma") => AVX2,
        () => PORTABLE,
    };
    let wide = |kernel, work: &mut Work| run::<wide::f32x8>((), kernel, work);
    ways.push(way("wide", built_for, wide));
    #[cfg(not(target_arch = "x86_64"))]
    fearless_simd::dispatch!(Level::new(), simd => ways.push(fearless(PORTABLE, simd)));
    #[cfg(target_arch = "x86_64")]
    {
        use others::of_pulp::Pulp;
        use pulp::x86::{V3, V4};
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: AVX2 and FMA were detected.
            let avx2 = |kernel, work: &mut Work| unsafe { ours::avx2(kernel, work) };
            ways.push(way("ours", AVX2, avx2));
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                // SAFETY: AVX-512 F and VL were detected besides.
                let avx512 = |kernel, work: &mut Work| unsafe { ours::avx512(kernel, work) };
                ways.push(way("ours", AVX512, avx512));
            }
        }
        ways.extend(V3::try_new().map(|v3| {
            way("pulp", AVX2, move |kernel, work| {
                v3.vectorize(
                    #[inline(always)]
                    || run::<Pulp>(v3, kernel, work),
                )
            })
        }));
        ways.extend(V4::try_new().map(|v4| {
            way("pulp", AVX512, move |kernel, work| {
                v4.vectorize(
                    #[inline(always)]
                    || run::<Pulp>(*v4, kernel, work),
                )
            })
        }));
        let level = Level::new();
        ways.extend(level.as_sse4_2().map(|simd| fearless(PORTABLE, simd)));
        ways.extend(level.as_avx2().map(|simd| fearless(AVX2, simd)));
        ways.extend(level.as_avx512().map(|simd| fearless(AVX512, simd)));
        ways.extend(level.as_avx2().map(|simd| arrays(AVX2, simd)));
        ways.extend(level.as_avx512().map(|simd| arrays(AVX512, simd)));
    }
    ways
}

fn way(
    name: &'static str,
    instructions: &'static str,
    run: impl Fn(Kernel, &mut Work) + 'static,
) -> Way {
    let run = Box::new(run);
    Way {
        name,
        instructions,
        run,
    }
}

/// Vectors and dispatch of `fearless_simd`.
fn fearless<S: Simd>(instructions: &'static str, simd: S) -> Way {
    way("fearless_simd", instructions, move |kernel, work| {
        simd.vectorize(
            #[inline(always)]
            || run::<f32x8<S>>(simd, kernel, work),
        );
    })
}

/// Our arrays with the dispatch of `fearless_simd`. Only for levels with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
fn arrays<S: Simd>(instructions: &'static str, simd: S) -> Way {
    way(
        "our arrays, fearless_simd's dispatch",
        instructions,
        move |kernel, work| {
            simd.vectorize(
                #[inline(always)]
                || run::<ours::Ours<true>>((), kernel, work),
            );
        },
    )
}

/// What one pass computes.
fn results(way: &Way) -> Vec<f32> {
    let mut work = Work::new();
    (way.run)(Kernel::Both, &mut work);
    (way.run)(Kernel::Sum, &mut work);
    work.results()
}

fn compare(own: &[f32], ours: &[f32]) -> String {
    let pairs = || own.iter().zip(ours);
    if pairs().all(|(own, ours)| own.to_bits() == ours.to_bits()) {
        return "same bits".into();
    }
    let largest = pairs()
        .map(|(own, ours)| (own - ours).abs())
        .fold(0.0, f32::max);
    format!("off by at most {largest:.1e}")
}

/// Nanoseconds per pass, by way, kernel and round.
fn times(ways: &[Way]) -> Vec<[Vec<f64>; KERNELS.len()]> {
    let mut work = Work::new();
    let mut times = vec![[const { Vec::new() }; KERNELS.len()]; ways.len()];
    for round in 0..WARM_UP + ROUNDS {
        for n in 0..ways.len() {
            // There and back, so that nobody always comes after the same one.
            let n = if round % 2 == 0 {
                n
            } else {
                ways.len() - 1 - n
            };
            for ((kernel, _), times) in KERNELS.into_iter().zip(&mut times[n]) {
                (ways[n].run)(kernel, &mut work);
                let start = Instant::now();
                for _ in 0..PASSES {
                    (ways[n].run)(kernel, &mut work);
                }
                if round >= WARM_UP {
                    times.push(start.elapsed().as_nanos() as f64 / PASSES as f64);
                }
            }
        }
    }
    times
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
