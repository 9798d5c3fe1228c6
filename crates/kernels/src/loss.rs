//! Losses over the logits of every position, summed; the caller divides.
//!
//! - cross-entropy: l = ln Σ_i e^{f_i} − f_y,  dl/df_i = softmax(f)_i − 1{i = y}
//!   (or with a law p in place of y: l = ln Σ_i e^{f_i} − Σ_i p_i f_i,  dl/df_i = softmax(f)_i − p_i)
//! - margin: l = (1/k) Σ_{i≠y} max(0, Δ + f_i − f_y),  where each active term
//!   gives +1/k to f_i and −1/k to f_y

use crate::lanes::{LANES, Lane, Level, leveled};
use crate::model::Matrix;
use crate::model::reference::formulas::relu;
use crate::model::reference::tape::Value;
use crate::with_kind;
use crate::{Invalid, require};

with_kind! {
    /// A loss, as a recipe writes it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Loss {
        /// Negative log-likelihood of the next symbol, in nats.
        CrossEntropy {},
        /// The multi-class hinge loss of the paper's theory.
        Margin {
            /// The margin Δ, above 0.
            delta: f64,
        },
    }
}

impl Default for Loss {
    fn default() -> Self {
        Loss::CrossEntropy {}
    }
}

impl Loss {
    /// Whether its settings are possible.
    ///
    /// # Errors
    ///
    /// If the margin is not.
    pub fn check(&self) -> Result<(), Invalid> {
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
        level: Level,
        logits: &[Lane],
        targets: &[[u8; LANES]],
        used: usize,
        scale: f32,
        d_logits: &mut [Lane],
    ) -> f64 {
        let (states, labels) = (logits.len() / targets.len(), Labels::Tokens(targets));
        evaluate_block(level, self, states, logits, labels, used, scale, d_logits)
    }

    /// The loss summed over positions, as a formula. Logits are [rows, k].
    pub fn reference<'t>(&self, logits: Value<'t>, targets: &[u8]) -> Value<'t> {
        let (size, targets) = (logits.size(), targets.to_vec());
        let (rows, k) = size;
        match *self {
            Loss::CrossEntropy {} => {
                let is = |i: usize, c: usize| f64::from(u8::from(usize::from(targets[i]) == c));
                cross_entropy_of_laws_reference(logits, &Matrix::from_fn(rows, k, is))
            }
            Loss::Margin { delta } => {
                let above = logits - logits.take(size, move |i, _| Some((i, targets[i].into())));
                // The target's own term is Δ, whatever the logits.
                let own = rows as f64 * delta;
                let terms = relu(above.shifted(delta));
                terms.sum().shifted(-own).scaled(1.0 / k as f64)
            }
        }
    }
}

/// Number of rows whose losses are summed in single precision, and share a logarithm. The sum of a row's
/// exponentials, of which the largest is e⁰, is at most k ≤ 256, so a product of this many is at most 2⁶⁴.
const TOGETHER: usize = 8;

/// Adds by lane. It is a separate function because a vector holds only four numbers in double precision:
/// inlined, it would make the compiler use vectors of four for everything that leads here.
#[inline(never)]
fn add(losses: &Lane, totals: &mut [f64; LANES]) {
    for lane in 0..LANES {
        totals[lane] += f64::from(losses.0[lane]);
    }
}

/// What comes next.
#[derive(Clone, Copy)]
enum Labels<'a> {
    /// `[rows]`
    Tokens(&'a [[u8; LANES]]),
    /// [rows, k]
    Laws(&'a [Lane]),
}

leveled!(
    fn evaluate_block<const FUSED: bool>(
        loss: &Loss,
        states: usize,
        logits: &[Lane],
        labels: Labels,
        used: usize,
        scale: f32,
        d_logits: &mut [Lane],
    ) -> f64 {
        let in_use = Lane(std::array::from_fn(
            |lane| if lane < used { scale } else { 0.0 },
        ));
        let mut totals = [0.0; LANES];
        let groups = logits.chunks(TOGETHER * states);
        let groups = groups.zip(d_logits.chunks_mut(TOGETHER * states));
        for (n, (f, df)) in groups.enumerate() {
            let losses = match (labels, *loss) {
                (Labels::Tokens(all), Loss::CrossEntropy {}) => {
                    let y = all[n * TOGETHER..].iter();
                    cross_entropy::<FUSED, _>(f, y, Lane::is, states, in_use, df)
                }
                (Labels::Tokens(all), Loss::Margin { delta }) => {
                    let y = &all[n * TOGETHER..][..f.len() / states];
                    margin(f, y, delta as f32, in_use, df)
                }
                (Labels::Laws(all), _) => {
                    let laws = all[n * TOGETHER * states..].chunks_exact(states);
                    let share = |law: &[Lane], symbol: usize| law[symbol];
                    cross_entropy::<FUSED, _>(f, laws, share, states, in_use, df)
                }
            };
            add(&losses, &mut totals);
        }
        totals[..used].iter().sum()
    }
);

/// The cross-entropy of predictions and laws, [rows, k] each, as [`Loss::evaluate`] gives that of tokens.
pub fn cross_entropy_of_laws(
    level: Level,
    states: usize,
    logits: &[Lane],
    laws: &[Lane],
    used: usize,
    scale: f32,
    d_logits: &mut [Lane],
) -> f64 {
    let (loss, laws) = (&Loss::CrossEntropy {}, Labels::Laws(laws));
    evaluate_block(level, loss, states, logits, laws, used, scale, d_logits)
}

/// The formula of [`cross_entropy_of_laws`]: Σ over rows of ln Σ_i e^{f_i − Σ_c p_c f_c}, with the largest term in
/// front: no exponential may overflow.
pub fn cross_entropy_of_laws_reference<'t>(logits: Value<'t>, laws: &Matrix) -> Value<'t> {
    let (rows, k) = logits.size();
    let laws = logits.tape().constant(laws.clone());
    let expected = logits.each_times(laws).row_means().scaled(k as f64);
    let above = logits - expected;
    let terms = above.matrix();
    let largest = |i| terms.row(i).iter().copied().fold(0.0, f64::max);
    let largest = Matrix::from_fn(rows, k, |i, _| largest(i));
    let largest = logits.tape().constant(largest);
    let means = (above - largest).each(f64::exp, f64::exp).row_means();
    let by_row = means.scaled(k as f64).each(f64::ln, f64::recip) + largest;
    by_row.columns(0, 1).sum()
}

/// Some positions: returns the sum of their losses by lane, and writes their
/// gradient, times `scale`, into `df`. `share` is a symbol's probability in a row's label.
#[inline(always)]
fn cross_entropy<const FUSED: bool, Y: Copy>(
    f: &[Lane],
    labels: impl Iterator<Item = Y>,
    share: impl Fn(Y, usize) -> Lane,
    states: usize,
    scale: Lane,
    df: &mut [Lane],
) -> Lane {
    let (mut losses, mut product) = (Lane::ZERO, Lane::splat(1.0));
    let rows = f.chunks_exact(states).zip(labels);
    for ((f, y), df) in rows.zip(df.chunks_exact_mut(states)) {
        let mut largest = f[0];
        for &value in &f[1..] {
            largest = largest.max(value);
        }
        let mut sum = Lane::ZERO;
        for (d, &value) in df.iter_mut().zip(f) {
            *d = (value - largest).exp::<FUSED>();
            sum += *d;
        }
        let inverse = sum.inverse();
        let mut loss = largest;
        for (symbol, (d, &value)) in df.iter_mut().zip(f).enumerate() {
            let hit = share(y, symbol);
            *d = (*d * inverse - hit) * scale;
            loss = loss - hit * value;
        }
        losses += loss;
        product = product * sum;
    }
    losses + product.ln::<FUSED>()
}

/// Some positions: returns the sum of their losses by lane, and writes their
/// gradient, times `scale`, into `df`.
#[inline(always)]
fn margin(f: &[Lane], y: &[[u8; LANES]], delta: f32, scale: Lane, df: &mut [Lane]) -> Lane {
    let states = f.len() / y.len();
    let share = 1.0 / states as f32;
    let mut losses = Lane::ZERO;
    let rows = f.chunks_exact(states).zip(y);
    for ((f, y), df) in rows.zip(df.chunks_exact_mut(states)) {
        let mut of_target = f[0];
        for (symbol, &value) in f.iter().enumerate() {
            of_target = value.where_one(Lane::is(y, symbol), of_target);
        }
        let (mut loss, mut d_target) = (Lane::ZERO, Lane::ZERO);
        for (symbol, (d, &value)) in df.iter_mut().zip(f).enumerate() {
            let violation = Lane::splat(delta) + value - of_target;
            let active = violation.is_not_below() * (Lane::splat(1.0) - Lane::is(y, symbol));
            loss = (loss + violation * share).where_one(active, loss);
            *d = active * share;
            d_target = d_target - *d;
        }
        losses += loss;
        for (symbol, d) in df.iter_mut().enumerate() {
            let hit = Lane::is(y, symbol);
            *d = d_target.where_one(hit, *d) * scale;
        }
    }
    losses
}
