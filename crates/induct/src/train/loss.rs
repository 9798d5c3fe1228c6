//! Losses over the logits of every position, summed; whoever calls divides.
//!
//! - cross-entropy: l = ln Σ_i e^{f_i} − f_y,  dl/df_i = softmax(f)_i − 1{i = y}
//! - margin: l = (1/k) Σ_{i≠y} max(0, Δ + f_i − f_y),  each active term giving +1/k to f_i and −1/k to f_y

use serde::{Deserialize, Serialize};

use crate::chain::LANES;
use crate::invalid::{Invalid, require};
use crate::model::level::{Level, leveled};
use crate::model::{Lane, Matrix};

/// A loss, as a recipe writes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Negative log-likelihood of the next symbol, in nats.
    CrossEntropy {},
    /// The multi-class hinge loss of the paper's theory.
    Margin {
        /// The margin Δ, above 0.
        delta: f64,
    },
}

impl Default for Loss {
    fn default() -> Self {
        Loss::CrossEntropy {}
    }
}

impl Loss {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        match self {
            Loss::CrossEntropy {} => Ok(()),
            Loss::Margin { delta } => require(
                *delta > 0.0 && *delta <= 1e6,
                "delta",
                delta,
                "a number above 0 (at most 1000000)",
            ),
        }
    }

    /// The loss summed over positions and the first `used` lanes; writes its gradient, times `scale`, into
    /// `d_logits`. Shapes: logits, d_logits [rows, k]; targets `[rows]`.
    pub fn evaluate(
        &self,
        logits: &[Lane],
        targets: &[[u8; LANES]],
        used: usize,
        scale: f32,
        d_logits: &mut [Lane],
    ) -> f64 {
        evaluate_block(
            Level::detect(),
            self,
            logits,
            targets,
            used,
            scale,
            d_logits,
        )
    }

    #[inline(always)]
    fn evaluate_any<const FUSED: bool>(
        &self,
        logits: &[Lane],
        targets: &[[u8; LANES]],
        used: usize,
        scale: f32,
        d_logits: &mut [Lane],
    ) -> f64 {
        let states = logits.len() / targets.len();
        let in_use = Lane(std::array::from_fn(
            |lane| if lane < used { scale } else { 0.0 },
        ));
        let mut total = 0.0;
        let groups = logits
            .chunks(TOGETHER * states)
            .zip(targets.chunks(TOGETHER))
            .zip(d_logits.chunks_mut(TOGETHER * states));
        for ((f, y), df) in groups {
            let mut sums = Lane::ZERO;
            let rows = f.chunks_exact(states).zip(y);
            for ((f, y), df) in rows.zip(df.chunks_exact_mut(states)) {
                sums += match (*self, f, &mut *df) {
                    (Loss::CrossEntropy {}, &[f0, f1], [df0, df1]) => {
                        let (values, slope) = cross_entropy_of_two::<FUSED>(f1 - f0, y);
                        (*df0, *df1) = (Lane::ZERO - slope, slope);
                        values
                    }
                    (Loss::CrossEntropy {}, ..) => cross_entropy::<FUSED>(f, y, df),
                    (Loss::Margin { delta }, ..) => margin(f, y, delta as f32, df),
                };
                for slope in df.iter_mut() {
                    *slope = *slope * in_use;
                }
            }
            total += sums.0[..used]
                .iter()
                .map(|&sum| f64::from(sum))
                .sum::<f64>();
        }
        total
    }

    /// The loss summed over positions, and its gradient, in f64 and one sequence at a time.
    pub fn naive(&self, logits: &Matrix, targets: &[u8]) -> (f64, Matrix) {
        let mut slope = Matrix::zeros(logits.rows, logits.cols);
        let mut total = 0.0;
        for (p, &y) in targets.iter().enumerate() {
            let (f, y) = (logits.row(p), y as usize);
            match *self {
                Loss::CrossEntropy {} => {
                    let largest = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = f.iter().map(|v| (v - largest).exp()).sum();
                    total += sum.ln() + largest - f[y];
                    for (i, v) in f.iter().enumerate() {
                        slope[(p, i)] += (v - largest).exp() / sum;
                    }
                    slope[(p, y)] -= 1.0;
                }
                Loss::Margin { delta } => {
                    let share = 1.0 / f.len() as f64;
                    for i in (0..f.len()).filter(|&i| i != y) {
                        let violation = delta + f[i] - f[y];
                        if violation > 0.0 {
                            total += share * violation;
                            slope[(p, i)] += share;
                            slope[(p, y)] -= share;
                        }
                    }
                }
            }
        }
        (total, slope)
    }
}

/// Rows whose losses are summed in single precision.
const TOGETHER: usize = 16;

leveled!(
    fn evaluate_block(
        loss: &Loss,
        logits: &[Lane],
        targets: &[[u8; LANES]],
        used: usize,
        scale: f32,
        d_logits: &mut [Lane],
    ) -> f64 = Loss::evaluate_any
);

/// One position with two symbols, x = f₁ − f₀: the loss by lane, and its slope in f₁, which is that in f₀ but for the sign.
///
/// l = ln(1 + e^−|x|) + |x| where the target is the less likely symbol: one exponential for both.
#[inline(always)]
fn cross_entropy_of_two<const FUSED: bool>(x: Lane, y: &[u8; LANES]) -> (Lane, Lane) {
    let (one, ahead, first) = (Lane::splat(1.0), x.abs(), x.is_positive());
    let e = (Lane::ZERO - ahead).exp::<FUSED>();
    let sum = one + e;
    // Of the likelier symbol, of the other, and of symbol 1.
    let more = sum.inverse();
    let less = e * more;
    let p = first.times_plus::<FUSED>(more - less, less);
    let hit = Lane::is(y, 1);
    // One where the target is the less likely: where just one of both is.
    let behind = (first - hit).abs();
    let loss = behind.times_plus::<FUSED>(ahead, sum.ln::<FUSED>());
    (loss, p - hit)
}

/// One position: the loss by lane; the gradient into `df`.
#[inline(always)]
fn cross_entropy<const FUSED: bool>(f: &[Lane], y: &[u8; LANES], df: &mut [Lane]) -> Lane {
    let largest = f[1..].iter().fold(f[0], |most, &value| most.max(value));
    let mut sum = Lane::ZERO;
    for (slope, &value) in df.iter_mut().zip(f) {
        *slope = (value - largest).exp::<FUSED>();
        sum += *slope;
    }
    let inverse = sum.inverse();
    let mut loss = sum.ln::<FUSED>() + largest;
    for (symbol, (slope, &value)) in df.iter_mut().zip(f).enumerate() {
        let hit = Lane::is(y, symbol);
        *slope = *slope * inverse - hit;
        loss = loss - hit * value;
    }
    loss
}

/// One position: the loss by lane; the gradient into `df`.
#[inline(always)]
fn margin(f: &[Lane], y: &[u8; LANES], delta: f32, df: &mut [Lane]) -> Lane {
    let share = 1.0 / f.len() as f32;
    df.fill(Lane::ZERO);
    Lane(std::array::from_fn(|lane| {
        let target = y[lane] as usize;
        let mut loss = 0.0;
        for i in (0..f.len()).filter(|&i| i != target) {
            let violation = delta + f[i].0[lane] - f[target].0[lane];
            // Written so that NaN counts as a violation and shows in the loss.
            if violation <= 0.0 {
                continue;
            }
            loss += share * violation;
            df[i].0[lane] += share;
            df[target].0[lane] -= share;
        }
        loss
    }))
}
