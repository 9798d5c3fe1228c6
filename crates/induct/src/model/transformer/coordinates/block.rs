//! Forward and backward over one block of lanes, in coordinates.

use std::f32::consts::LN_2;

use super::kernel::{self, Gradients, Inputs, Saved, Way};
use super::one_hot::{self, Averages};
use super::{Coordinates, LayerPlan, Meets, Tables};
use crate::chain::LANES;
use crate::model::lane::Lane;
use crate::model::level::{Level, at_level};
use crate::model::ops::attention::{AttnProbe, AttnRow};

/// Activations of one block and scratch for its backward.
#[derive(Clone, Debug)]
pub struct Work {
    layers: Vec<LayerWork>,
    /// Coordinates after the last layer, [t, last], and their gradient.
    last: Vec<Lane>,
    d_last: Vec<Lane>,
    /// `[t]`
    scores: Vec<Lane>,
}

#[derive(Clone, Debug)]
struct LayerWork {
    /// [t, padded]
    y: Vec<Lane>,
    dy: Vec<Lane>,
    heads: Vec<HeadWork>,
}

#[derive(Clone, Debug)]
struct HeadWork {
    /// [t, padded]
    w: Vec<Lane>,
    c: Vec<Lane>,
    dw: Vec<Lane>,
    dc: Vec<Lane>,
    /// `[t]`
    largest: Vec<Lane>,
    inverse_sum: Vec<Lane>,
    /// In the first layer.
    convolution: Option<one_hot::Work>,
}

impl Coordinates {
    /// Room for a forward and a backward over one block.
    pub fn work(&self) -> Work {
        let lanes = |width: usize| vec![Lane::ZERO; self.length * width];
        let head = |l: usize, padded: usize| HeadWork {
            w: lanes(padded),
            c: lanes(padded),
            dw: lanes(padded),
            dc: lanes(padded),
            largest: lanes(1),
            inverse_sum: lanes(1),
            convolution: (l == 0).then(|| one_hot::Work::new(self.states, self.length)),
        };
        let layer = |(l, plan): (usize, &LayerPlan)| LayerWork {
            y: lanes(plan.padded),
            dy: lanes(plan.padded),
            heads: plan.heads.iter().map(|_| head(l, plan.padded)).collect(),
        };
        Work {
            layers: self.layers.iter().enumerate().map(layer).collect(),
            last: lanes(self.last),
            d_last: lanes(self.last),
            scores: lanes(1),
        }
    }

    /// Writes the logits of every position into `logits` ([rows, k]).
    pub fn forward(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
        probe: Option<AttnProbe>,
    ) {
        self.forward_block(tables, inputs, work, logits);
        self.show(tables, inputs.len(), work, probe);
    }

    fn forward_block(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        let rows = inputs.len();
        let Work {
            layers,
            last,
            scores,
            ..
        } = work;
        self.set_inputs(inputs, &mut layers[0].y);
        for l in 0..self.layers.len() {
            let plan = &self.layers[l];
            let (done, rest) = layers.split_at_mut(l + 1);
            let LayerWork { y, heads, .. } = &mut done[l];
            for (h, (places, head)) in plan.heads.iter().zip(heads.iter_mut()).enumerate() {
                let way = self.way(tables, l, h);
                if let (true, Some(work)) = (way.gentle, &mut head.convolution) {
                    work.set_symbols(y, rows, plan.padded, self.states);
                    let sizes = (rows, plan.padded);
                    one_hot::forward(self.level, &tables.factors[h], work, sizes, &mut head.c);
                    continue;
                }
                let asks = &tables.data[places.asks.clone()];
                let sizes = (rows, plan.padded, plan.m, plan.padded);
                affine(self.level, y, asks, sizes, &mut head.w);
                let inputs = Inputs {
                    y,
                    w: &head.w,
                    positions: &tables.data[places.positions.clone()],
                };
                let (scores, largest) = (&mut scores[..rows], &mut head.largest);
                kernel::forward(
                    way,
                    &inputs,
                    scores,
                    largest,
                    &mut head.inverse_sum,
                    &mut head.c,
                );
            }
            // y′ = [y, c¹ … c^H]
            let (next, stride) = match rest.first_mut() {
                Some(next) => (&mut next.y, self.layers[l + 1].padded),
                None => (&mut *last, self.last),
            };
            for i in 0..rows {
                let row = &mut next[i * stride..][..stride];
                let sources = std::iter::once(&*y).chain(heads.iter().map(|head| &head.c));
                for (part, source) in row.chunks_exact_mut(plan.m).zip(sources) {
                    part.copy_from_slice(&source[i * plan.padded..][..plan.m]);
                }
            }
        }
        let output = &tables.data[self.output.clone()];
        affine(
            self.level,
            last,
            output,
            (rows, self.last, self.last, self.states),
            logits,
        );
    }

    /// Adds the gradient of every table, by lane, given that of the logits of the last forward.
    pub fn backward(
        &self,
        tables: &Tables,
        rows: usize,
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let Work {
            layers,
            last,
            d_last,
            ..
        } = work;
        d_last[..rows * self.last].fill(Lane::ZERO);
        affine_backward(
            self.level,
            last,
            &tables.data[self.output.clone()],
            (rows, self.last, self.last, self.states),
            d_logits,
            d_last,
            &mut grads[self.output.clone()],
        );
        for l in (0..self.layers.len()).rev() {
            let plan = &self.layers[l];
            let (done, rest) = layers.split_at_mut(l + 1);
            let LayerWork { y, dy, heads } = &mut done[l];
            let (d_next, stride) = match rest.first() {
                Some(next) => (&next.dy, self.layers[l + 1].padded),
                None => (&*d_last, self.last),
            };
            // y′ = [y, c¹ … c^H]
            dy[..rows * plan.padded].fill(Lane::ZERO);
            for i in 0..rows {
                let row = &d_next[i * stride..][..stride];
                let targets = std::iter::once(&mut *dy).chain(heads.iter_mut().map(|h| &mut h.dc));
                for (part, target) in row.chunks_exact(plan.m).zip(targets) {
                    target[i * plan.padded..][..plan.m].copy_from_slice(part);
                }
            }
            for (h, (places, head)) in plan.heads.iter().zip(heads.iter_mut()).enumerate() {
                head.dw[..rows * plan.padded].fill(Lane::ZERO);
                let way = self.way(tables, l, h);
                let d_positions = &mut grads[places.positions.clone()];
                if let (true, Some(work)) = (way.gentle, &mut head.convolution) {
                    let averages = Averages {
                        c: &head.c,
                        dc: &head.dc,
                    };
                    let (factors, sizes) = (&tables.factors[h], (rows, plan.padded));
                    let dw = &mut head.dw;
                    one_hot::backward(self.level, factors, work, sizes, averages, dw, d_positions);
                } else {
                    let inputs = Inputs {
                        y,
                        w: &head.w,
                        positions: &tables.data[places.positions.clone()],
                    };
                    let saved = Saved {
                        largest: &head.largest[..rows],
                        inverse_sum: &head.inverse_sum,
                        c: &head.c,
                    };
                    let mut own = Gradients {
                        y: dy,
                        w: &mut head.dw,
                        positions: d_positions,
                    };
                    kernel::backward(way, &inputs, &saved, &head.dc, &mut own);
                }
                affine_backward(
                    self.level,
                    y,
                    &tables.data[places.asks.clone()],
                    (rows, plan.padded, plan.m, plan.padded),
                    &head.dw,
                    dy,
                    &mut grads[places.asks.clone()],
                );
            }
        }
    }

    /// How head `h` of layer `l` computes its scores.
    fn way(&self, tables: &Tables, l: usize, h: usize) -> Way {
        Way {
            level: self.level,
            m: self.layers[l].padded,
            gentle: tables.gentle[l][h],
            key: self.meets == Meets::Key,
        }
    }

    /// y_i = onehot(x_i) without its first entry; padding is zero.
    fn set_inputs(&self, inputs: &[[u8; LANES]], y: &mut [Lane]) {
        let padded = self.layers[0].padded;
        for (symbols, row) in inputs.iter().zip(y.chunks_exact_mut(padded)) {
            row.fill(Lane::ZERO);
            for (lane, &symbol) in symbols.iter().enumerate() {
                if symbol > 0 {
                    row[symbol as usize - 1].0[lane] = 1.0;
                }
            }
        }
    }

    /// Shows what the forward just did: scores, with the part that cancels in the softmax, and pattern.
    fn show(&self, tables: &Tables, rows: usize, work: &Work, probe: Option<AttnProbe>) {
        let Some(probe) = probe else { return };
        let mut attn_scores = vec![Lane::ZERO; rows];
        let mut attn_pattern = vec![Lane::ZERO; rows];
        for (l, (plan, layer)) in self.layers.iter().zip(&work.layers).enumerate() {
            let (m, y) = (plan.padded, &layer.y);
            let mut w = vec![Lane::ZERO; rows * m];
            for (h, places) in plan.heads.iter().enumerate() {
                // The first layer's convolutions do not leave it behind.
                let asks = &tables.data[places.asks.clone()];
                affine(self.level, y, asks, (rows, m, plan.m, m), &mut w);
                let positions = &tables.data[places.positions.clone()];
                let constant = &tables.data[places.constant.clone()];
                for i in 0..rows {
                    let (y_i, w_i) = (&y[i * m..][..m], &w[i * m..][..m]);
                    let mut cancels = Lane::splat(constant[0]);
                    y_i.iter()
                        .zip(&constant[1..])
                        .for_each(|(&y, &c)| cancels += y * c);
                    let mut most = Lane::splat(f32::NEG_INFINITY);
                    for j in 0..=i {
                        let y_j = &y[j * m..][..m];
                        let position = &positions[(i - j) * (1 + m)..][..1 + m];
                        let met = if self.meets == Meets::Key { y_j } else { y_i };
                        let mut s = Lane::splat(position[0]);
                        for r in 0..m {
                            s += w_i[r] * y_j[r] + met[r] * position[1 + r];
                        }
                        most = most.max(s);
                        attn_scores[j] = s;
                    }
                    let mut sum = Lane::ZERO;
                    for j in 0..=i {
                        attn_pattern[j] = (attn_scores[j] - most).exp2_clamped::<false>();
                        sum += attn_pattern[j];
                        attn_scores[j] = (attn_scores[j] + cancels) * LN_2;
                    }
                    let inverse = sum.inverse();
                    attn_pattern[..=i]
                        .iter_mut()
                        .for_each(|p| *p = *p * inverse);
                    probe(AttnRow {
                        layer: l,
                        head: h,
                        position: i,
                        attn_scores: &attn_scores[..=i],
                        attn_pattern: &attn_pattern[..=i],
                    });
                }
            }
        }
    }
}

/// Sets out_i = table₀ + Σ_r<m y_ir table_{1+r}. Sizes: (rows, stride of y, m, width of table and out).
fn affine(
    level: Level,
    y: &[Lane],
    table: &[f32],
    sizes: (usize, usize, usize, usize),
    out: &mut [Lane],
) {
    at_level!(
        level,
        affine_avx2(y, table, sizes, out),
        affine_any::<false>(y, table, sizes, out)
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn affine_avx2(y: &[Lane], table: &[f32], sizes: (usize, usize, usize, usize), out: &mut [Lane]) {
    affine_any::<true>(y, table, sizes, out);
}

#[inline(always)]
fn affine_any<const FUSED: bool>(
    y: &[Lane],
    table: &[f32],
    (rows, stride, m, width): (usize, usize, usize, usize),
    out: &mut [Lane],
) {
    for i in 0..rows {
        let (y_i, out_i) = (&y[i * stride..][..m], &mut out[i * width..][..width]);
        for (o, &t) in out_i.iter_mut().zip(&table[..width]) {
            *o = Lane::splat(t);
        }
        for (&y_ir, row) in y_i.iter().zip(table[width..].chunks_exact(width)) {
            for (o, &t) in out_i.iter_mut().zip(row) {
                *o = y_ir.times_plus::<FUSED>(Lane::splat(t), *o);
            }
        }
    }
}

/// out_i = table₀ + Σ_r y_ir table_{1+r}  ⟹  dtable₀ += Σ_i dout_i, dtable_{1+r} += Σ_i y_ir dout_i,
/// dy_ir += dout_i · table_{1+r}
fn affine_backward(
    level: Level,
    y: &[Lane],
    table: &[f32],
    sizes: (usize, usize, usize, usize),
    d_out: &[Lane],
    dy: &mut [Lane],
    d_table: &mut [Lane],
) {
    at_level!(
        level,
        affine_backward_avx2(y, table, sizes, d_out, dy, d_table),
        affine_backward_any::<false>(y, table, sizes, d_out, dy, d_table)
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn affine_backward_avx2(
    y: &[Lane],
    table: &[f32],
    sizes: (usize, usize, usize, usize),
    d_out: &[Lane],
    dy: &mut [Lane],
    d_table: &mut [Lane],
) {
    affine_backward_any::<true>(y, table, sizes, d_out, dy, d_table);
}

#[inline(always)]
fn affine_backward_any<const FUSED: bool>(
    y: &[Lane],
    table: &[f32],
    (rows, stride, m, width): (usize, usize, usize, usize),
    d_out: &[Lane],
    dy: &mut [Lane],
    d_table: &mut [Lane],
) {
    let (d_first, d_rest) = d_table.split_at_mut(width);
    for i in 0..rows {
        let d_out_i = &d_out[i * width..][..width];
        let (y_i, dy_i) = (&y[i * stride..][..m], &mut dy[i * stride..][..m]);
        for (sum, &d) in d_first.iter_mut().zip(d_out_i) {
            *sum += d;
        }
        let tables = table[width..]
            .chunks_exact(width)
            .zip(d_rest.chunks_exact_mut(width));
        for ((&y_ir, dy_ir), (row, d_row)) in y_i.iter().zip(dy_i).zip(tables) {
            for ((&d, &t), sum) in d_out_i.iter().zip(row).zip(d_row) {
                *sum = y_ir.times_plus::<FUSED>(d, *sum);
                *dy_ir = d.times_plus::<FUSED>(Lane::splat(t), *dy_ir);
            }
        }
    }
}
