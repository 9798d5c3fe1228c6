//! The minimal model: f(E) = mask(E W_k (M E)ᵀ) E, with M_ij = v_{i−j} (or its softmax over j ≤ i).
//!
//! In words: y_j = Σ_{s≤j} M_js z_s, with z_s = onehot(x_s), describes what came before position j. Position
//! p sums the symbols x_j of all j ≤ p, each weighted by W_k[x_p] · y_j. With the running sum
//! S_p[c, i] = Σ_{j≤p} y_j[c] z_j[i] this is f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]: no t×t×t work.

use std::ops::Range;
use std::sync::Arc;

use super::engine::{BlockGradient, Engine, InTraining, LogitBuffers, LossRows};
use super::intervention::{Instead, Intervention, Pattern, Plan, Site, Target};
use super::layout::Layout;
use super::ops::attention::AttnProbe;
use super::ops::convolution::{Planes, convolve, correlate, set_symbols};
use super::spec::{MinimalForm, MinimalSpec};
use crate::lanes::{LANES, Lane, Level, leveled};
use crate::scratch::Allocator;
use crate::{Invalid, require};

/// The minimal model's shape and the places of its parameters.
#[derive(Clone, Debug)]
pub struct Minimal {
    pub(super) states: usize,
    pub(super) length: usize,
    pub(super) form: MinimalForm,
    /// [k, k]
    pub(super) w_k: Range<usize>,
    /// `[t]`
    pub(super) v: Range<usize>,
    pub(super) layout: Layout,
}

impl Minimal {
    /// Lays out the parameters for k = `states` and t = `length`.
    pub fn new(spec: &MinimalSpec, states: usize, length: usize) -> Self {
        let mut layout = Layout::default();
        let w_k = layout.push("W_k".into(), &[states, states], true);
        let v = layout.push("v".into(), &[length], false);
        Self {
            states,
            length,
            form: spec.form,
            w_k,
            v,
            layout,
        }
    }

    /// The sites that a name stands for: there is one.
    pub(super) fn sites(name: &str) -> Result<Vec<Site>, Invalid> {
        let (layer, head) = (0, 0);
        match name {
            "layers.0.attn_pattern" | "layers.0.heads.0.attn_pattern" => {
                Ok(vec![Site::Pattern { layer, head }])
            }
            _ => Err(Invalid::new(
                "at",
                format!("\"{name}\""),
                "layers.0.attn_pattern: nothing else of the minimal model has a place of its own",
            )),
        }
    }

    /// Checks interventions. The only place for them is M, the first layer's pattern.
    pub(super) fn plan(&self, all: &[Intervention]) -> Result<Plan, Invalid> {
        let mut plan = Plan::default();
        for (index, Intervention { site, instead }) in all.iter().enumerate() {
            Self::sites(&site.to_string())?;
            let allowed = "one intervention at a time in one place";
            require(index == 0, "at", site, allowed)?;
            let pattern = match instead {
                Instead::Itself => Pattern::Itself,
                Instead::Target(target) if !target.reads_symbols() => Pattern::Target(*target),
                _ => {
                    let allowed = "what M of the minimal model can be: uniform, previous-token or lag:N, or itself \
                                   without a gradient";
                    return Err(Invalid::new("with", instead.name(), allowed));
                }
            };
            plan.patterns.push((0, 0, pattern));
        }
        plan.all = all.to_vec();
        Ok(plan)
    }

    /// The model as an intervention on M leaves it: a lag is a v that is one there, and zero elsewhere (positions
    /// before it attend to nothing, since rows of M need not sum to one); uniform attention is the softmax of
    /// zeros.
    fn with_pattern(&self, plan: &Plan) -> Self {
        let form = match plan.pattern(0, 0) {
            Some(Pattern::Target(Target::Uniform)) => MinimalForm::Softmax,
            Some(Pattern::Target(_)) => MinimalForm::Linear,
            _ => self.form,
        };
        Self {
            form,
            ..self.clone()
        }
    }

    /// Sets v to what an intervention puts in its place, if one does.
    fn clamp(&self, plan: &Plan, params: &mut [f32]) {
        if let Some(Pattern::Target(target)) = plan.pattern(0, 0) {
            let v = &mut params[self.v.clone()];
            v.fill(0.0);
            if let Target::Lag(lag) = target
                && let Some(v) = v.get_mut(lag)
            {
                *v = 1.0;
            }
        }
    }

    /// The k of a loop: K if the compiler knows it, or the value at run time if K is [`ANY`].
    #[inline(always)]
    fn k<const K: usize>(&self) -> usize {
        if K == ANY { self.states } else { K }
    }
}

/// The minimal model as an engine.
#[derive(Debug)]
pub(super) struct MinimalEngine {
    shape: Arc<Minimal>,
    level: Level,
    plan: Arc<Plan>,
}

impl MinimalEngine {
    /// The engine for `shape`.
    pub fn new(shape: Arc<Minimal>, level: Level, plan: &Arc<Plan>) -> Self {
        Self {
            shape: Arc::new(shape.with_pattern(plan)),
            level,
            plan: plan.clone(),
        }
    }
}

impl Engine for MinimalEngine {
    /// The parameters, unchanged.
    type Prepared = Vec<f32>;
    type Scratch = Scratch;

    fn level(&self) -> Level {
        self.level
    }

    fn shape(&self) -> [usize; 2] {
        [self.shape.length, self.shape.states]
    }

    fn prepared(&self, buffers: &mut Allocator) -> Vec<f32> {
        buffers.filled(0.0, [self.shape.layout.len()])
    }

    fn prepare(&self, params: &[f32], prepared: &mut Vec<f32>) {
        prepared.copy_from_slice(params);
        self.shape.clamp(&self.plan, prepared);
    }

    fn scratch(&self, buffers: &mut Allocator) -> Scratch {
        let (t, k) = (self.shape.length, self.shape.states);
        Scratch {
            weights: buffers.filled(0.0, [t]),
            kernel: Planes::new(t, k - 1, 0.0, buffers),
            totals: buffers.filled(1.0, [t]),
            others: Planes::new(t, k - 1, Lane::ZERO, buffers),
            sums: Planes::new(t, k - 1, Lane::ZERO, buffers),
            at_hand: buffers.lanes([at_hand(k)]),
            d_first: buffers.lanes([t]),
            d_others: Planes::new(t, k - 1, Lane::ZERO, buffers),
        }
    }

    fn forward(
        &self,
        params: &Vec<f32>,
        inputs: &[[u8; LANES]],
        _first: usize,
        work: &mut Scratch,
        logits: &mut [Lane],
    ) {
        let (shape, level, rows) = (&*self.shape, self.level, inputs.len());
        set_symbols(level, inputs, 1, &mut work.others);
        let v = &params[shape.v.clone()];
        match shape.form {
            MinimalForm::Linear => {
                for r in 0..shape.states - 1 {
                    work.kernel.column_mut(r).copy_from_slice(v);
                }
                convolve(level, &work.kernel, &work.others, rows, &mut work.sums);
            }
            MinimalForm::Softmax => sums_by_softmax(level, shape, v, rows, work),
        }
        match shape.states {
            2 => count::<2>(level, shape, params, rows, work, logits),
            3 => count::<3>(level, shape, params, rows, work, logits),
            _ => count::<ANY>(level, shape, params, rows, work, logits),
        }
    }

    fn gradient(
        &self,
        params: &Vec<f32>,
        (inputs, _): InTraining,
        work: &mut Scratch,
        (logits, d_logits): LogitBuffers,
        loss: LossRows,
        grads: BlockGradient,
    ) {
        let (shape, level, rows) = (&*self.shape, self.level, inputs.len());
        self.forward(params, inputs, 0, work, logits);
        loss(0..rows, logits, d_logits);
        let grads = grads.by_lane;
        match shape.states {
            2 => count_backward::<2>(level, shape, params, rows, work, d_logits, grads),
            3 => count_backward::<3>(level, shape, params, rows, work, d_logits, grads),
            _ => count_backward::<ANY>(level, shape, params, rows, work, d_logits, grads),
        }
        let (v, d_v) = (&params[shape.v.clone()], &mut grads[shape.v.clone()]);
        match shape.form {
            MinimalForm::Linear => {
                work.d_others.end_after(rows, Lane::ZERO);
                correlate(level, &work.d_others, &work.others, rows, &mut work.sums);
                convolution_backward(level, shape, rows, work, d_v);
            }
            MinimalForm::Softmax => softmax_backward(level, shape, v, rows, work, d_v),
        }
    }

    fn gradient_len(&self) -> usize {
        self.shape.layout.len()
    }

    fn pull_back(&self, _: &[f32], _: &mut Vec<f32>, gradient: &[f32], grads: &mut [f32]) {
        grads.copy_from_slice(gradient);
        if self.plan.pattern(0, 0).is_some() {
            grads[self.shape.v.clone()].fill(0.0);
        }
    }

    /// There is no softmax to show.
    fn observe(&self, _: &Vec<f32>, _: usize, _: &Scratch, _: AttnProbe) {}

    fn multiplications(&self) -> usize {
        let (t, k) = (self.shape.length, self.shape.states);
        2 * (k - 1) * (t * (t + 1) / 2) + 7 * k * k * t
    }
}

/// Marks a k that the compiler does not know.
const ANY: usize = 0;

/// The largest number of symbols for which the compiler knows k.
const MOST: usize = 3;

/// Working numbers of a pass over the rows: they stay in registers if the compiler knows k.
pub(super) const fn at_hand(k: usize) -> usize {
    3 * k + 2 * k * k
}

/// One number per symbol at position p, `[k]`, given those of all symbols but the first
/// and the total over all symbols.
#[inline(always)]
fn row_of(others: &Planes<Lane>, p: usize, total: f32, row: &mut [Lane]) {
    let mut first = Lane::splat(total);
    for c in 1..row.len() {
        let other = others.column(c - 1)[p];
        first = first - other;
        row[c] = other;
    }
    row[0] = first;
}

/// Writes one row of M, by lag: the softmax of v.
#[inline(always)]
fn softmax(v: &[f32], row: &mut [f32]) {
    let row = &mut row[..v.len()];
    let largest = v.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for (weight, &v) in row.iter_mut().zip(v) {
        *weight = libm::expf(v - largest);
    }
    let sum: f32 = row.iter().sum();
    for weight in row {
        *weight /= sum;
    }
}

leveled!(
    /// Σ_{s≤j} M_js z_s[c], with M_j = softmax(v), for every symbol c but the first.
    fn sums_by_softmax<const FUSED: bool>(
        shape: &Minimal,
        v: &[f32],
        rows: usize,
        work: &mut Scratch,
    ) {
        for j in 0..rows {
            softmax(&v[..=j], &mut work.weights);
            for r in 0..shape.states - 1 {
                let mut sum = Lane::ZERO;
                let weights = work.weights[..=j].iter().rev();
                for (z, &weight) in work.others.column(r).iter().zip(weights) {
                    sum = z.times_plus::<FUSED>(Lane::splat(weight), sum);
                }
                work.sums.column_mut(r)[j] = sum;
            }
        }
    }
);

leveled!(
    /// S_p[c, i] = S_{p−1}[c, i] + y_p[c] z_p[i], then f_p[i] = Σ_c W_k[x_p, c] S_p[c, i].
    fn count<const FUSED: bool, const K: usize>(
        shape: &Minimal,
        params: &[f32],
        rows: usize,
        work: &mut Scratch,
        logits: &mut [Lane],
    ) {
        let k = shape.k::<K>();
        let w_k = &params[shape.w_k.clone()][..k * k];
        let mut registers = [Lane::ZERO; at_hand(MOST)];
        let at_hand = match K {
            ANY => &mut work.at_hand[..],
            _ => &mut registers,
        };
        let (z, rest) = at_hand.split_at_mut(k);
        let (y, rest) = rest.split_at_mut(k);
        let (chosen, counts) = rest.split_at_mut(k);
        let counts = &mut counts[..k * k];
        counts.fill(Lane::ZERO);
        let (mut total, v) = (0.0, &params[shape.v.clone()]);
        for (p, f) in logits.chunks_exact_mut(k).take(rows).enumerate() {
            if shape.form == MinimalForm::Linear {
                total += v[p];
                work.totals[p] = total;
            }
            row_of(&work.others, p, 1.0, z);
            row_of(&work.sums, p, work.totals[p], y);
            for c in 0..k {
                chosen[c] = Lane::ZERO;
                for a in 0..k {
                    chosen[c] = z[a].times_plus::<FUSED>(Lane::splat(w_k[a * k + c]), chosen[c]);
                }
            }
            for i in 0..k {
                let mut sum = Lane::ZERO;
                for c in 0..k {
                    let count = &mut counts[c * k + i];
                    *count = y[c].times_plus::<FUSED>(z[i], *count);
                    sum = chosen[c].times_plus::<FUSED>(*count, sum);
                }
                f[i] = sum;
            }
        }
    }
);

leveled!(
    /// f_p[i] = Σ_c W_k[x_p, c] Σ_{j≤p} y_j[c] z_j[i]. The positions from j on that hold symbol a sum to
    /// G_j[a, i] = Σ_{p≥j} z_p[a] g_p[i]. With h_j[a] = G_j[a, x_j],
    /// dW_k[a, c] = Σ_j h_j[a] y_j[c],  dy_j[c] = Σ_a h_j[a] W_k[a, c]
    fn count_backward<const FUSED: bool, const K: usize>(
        shape: &Minimal,
        params: &[f32],
        rows: usize,
        work: &mut Scratch,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let k = shape.k::<K>();
        let w_k = &params[shape.w_k.clone()][..k * k];
        let mut registers = [Lane::ZERO; at_hand(MOST)];
        let at_hand = match K {
            ANY => &mut work.at_hand[..],
            _ => &mut registers,
        };
        let (z, rest) = at_hand.split_at_mut(k);
        let (y, rest) = rest.split_at_mut(k);
        let (h, rest) = rest.split_at_mut(k);
        let (follow, d_w_k) = rest.split_at_mut(k * k);
        let d_w_k = &mut d_w_k[..k * k];
        follow.fill(Lane::ZERO);
        d_w_k.fill(Lane::ZERO);
        for p in (0..rows).rev() {
            let g = &d_logits[p * k..][..k];
            row_of(&work.others, p, 1.0, z);
            row_of(&work.sums, p, work.totals[p], y);
            for a in 0..k {
                h[a] = Lane::ZERO;
                for i in 0..k {
                    let follow = &mut follow[a * k + i];
                    *follow = z[a].times_plus::<FUSED>(g[i], *follow);
                    h[a] = z[i].times_plus::<FUSED>(*follow, h[a]);
                }
            }
            let mut d_first = Lane::ZERO;
            for c in 0..k {
                let mut dy = Lane::ZERO;
                for a in 0..k {
                    dy = h[a].times_plus::<FUSED>(Lane::splat(w_k[a * k + c]), dy);
                    d_w_k[a * k + c] = h[a].times_plus::<FUSED>(y[c], d_w_k[a * k + c]);
                }
                if c == 0 {
                    d_first = dy;
                } else {
                    work.d_others.column_mut(c - 1)[p] = dy - d_first;
                }
            }
            work.d_first[p] = d_first;
        }
        for (total, &d) in grads[shape.w_k.clone()].iter_mut().zip(&*d_w_k) {
            *total += d;
        }
    }
);

leveled!(
    /// y_p[c] = Σ_s v_{p−s} z_s[c]  ⟹  dv_δ = Σ_p dy_p · z_{p−δ}: the correlations of all symbols but the
    /// first, which are in `sums`, plus dy_p[0] wherever there is a symbol at all.
    fn convolution_backward<const FUSED: bool>(
        shape: &Minimal,
        rows: usize,
        work: &mut Scratch,
        d_v: &mut [Lane],
    ) {
        let (d_first, d_v) = (&work.d_first[..rows], &mut d_v[..rows]);
        let mut below = Lane::ZERO;
        for p in (0..rows).rev() {
            below += d_first[p];
            d_v[p] += below;
        }
        for r in 0..shape.states - 1 {
            let sums = &work.sums.column(r)[..rows];
            for p in 0..rows {
                d_v[p] += sums[p];
            }
        }
    }
);

leveled!(
    /// M_p = softmax(v)  ⟹  dv_{p−s} += M_ps (dM_ps − Σ_l M_pl dM_pl), with dM_ps = dy_p · z_s, and
    /// the sum is dy_p · y_p. The entries of z_s sum to one, and so do those of y_p, so only
    /// differences from dy_p[0] count.
    fn softmax_backward<const FUSED: bool>(
        shape: &Minimal,
        v: &[f32],
        rows: usize,
        work: &mut Scratch,
        d_v: &mut [Lane],
    ) {
        for p in 0..rows {
            softmax(&v[..=p], &mut work.weights);
            let lags = d_v[..=p].iter_mut().zip(&work.weights).rev();
            for (s, (d_v, &weight)) in lags.enumerate() {
                let mut d_m = Lane::ZERO;
                for r in 0..shape.states - 1 {
                    let (z, y) = (work.others.column(r)[s], work.sums.column(r)[p]);
                    d_m = (z - y).times_plus::<FUSED>(work.d_others.column(r)[p], d_m);
                }
                *d_v = d_m.times_plus::<FUSED>(Lane::splat(weight), *d_v);
            }
        }
    }
);

/// Activations of one block, kept from the forward for the backward.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    /// One row of M, by lag, `[t]`
    weights: Vec<f32>,
    /// v, once per symbol but the first: k − 1 planes of t
    kernel: Planes<f32>,
    /// Sums of the rows of M, `[t]`
    totals: Vec<f32>,
    /// Indicators of every symbol but the first, and their sums weighted by M: k − 1 planes of t
    others: Planes<Lane>,
    sums: Planes<Lane>,
    /// Working numbers of a pass over the rows, if the compiler does not know k
    at_hand: Vec<Lane>,
    /// dy of the first symbol, `[t]`, and how much the others' exceed it: k − 1 planes of t
    d_first: Vec<Lane>,
    d_others: Planes<Lane>,
}
