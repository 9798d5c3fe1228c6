//! A basis after layer norm: the rows that z multiplies, where y multiplies those of the stream.

use super::dense::{View, ViewMut, add_product_with_transposed};
use super::{Coordinates, Tables};
use crate::lanes::Level;
use crate::model::ops::layer_norm::EPSILON;
use crate::scratch::Allocator;

/// What attention or the output reads after a norm.
#[derive(Clone, Debug)]
pub struct NormedBasis {
    /// [1 + m, d], with the m of what reads it
    pub basis: Vec<f32>,
    pub d_basis: Vec<f32>,
    /// Rows of the stream's basis, centred; of the first layer's norm, its symbols over their σ.
    centred: Vec<f32>,
    /// 1/σ of every symbol; of the first layer's norm only.
    inverse: Vec<f32>,
}

impl NormedBasis {
    /// Buffers for a stream of `width` numbers, of which `rows` rows are normalised and `read` coordinates
    /// are made.
    fn new(rows: usize, read: usize, width: usize, buffers: &mut Allocator) -> Self {
        Self {
            basis: buffers.filled(0.0, [1 + read, width]),
            d_basis: buffers.filled(0.0, [1 + read, width]),
            centred: buffers.filled(0.0, [rows, width]),
            inverse: buffers.filled(0.0, [rows]),
        }
    }

    /// For one-hot coordinates: the rows of `a` ([k, d]) are the first symbol, and what the others have more.
    /// The same of their norms is what attention reads.
    fn fill_of_symbols(&mut self, a: &[f32], gain: &[f32], bias: &[f32]) {
        let d = gain.len();
        for (c, unit) in self.centred.chunks_exact_mut(d).enumerate() {
            unit.copy_from_slice(&a[..d]);
            if c > 0 {
                add(unit, &a[c * d..][..d]);
            }
            centre(unit);
            let variance = unit.iter().map(|x| x * x).sum::<f32>() / d as f32;
            self.inverse[c] = 1.0 / (variance + EPSILON as f32).sqrt();
            unit.iter_mut().for_each(|x| *x *= self.inverse[c]);
        }
        let units = self.centred.chunks_exact(d);
        for (c, (row, unit)) in self.basis.chunks_exact_mut(d).zip(units).enumerate() {
            let first = &self.centred[..d];
            for x in 0..d {
                row[x] = match c {
                    0 => unit[x] * gain[x] + bias[x],
                    _ => (unit[x] - first[x]) * gain[x],
                };
            }
        }
    }

    /// The backward of [`fill_of_symbols`](Self::fill_of_symbols): adds to `d_a` and to the gradients of gain
    /// and bias. With x̂ = (x − mean) / σ and h = g ∘ dn, dx = (h − mean(h) − x̂ mean(h x̂)) / σ. Computed in
    /// place of the basis' gradient.
    fn pull_back_of_symbols(
        &mut self,
        gain: &[f32],
        d_a: &mut [f32],
        (d_gain, d_bias): (&mut [f32], &mut [f32]),
    ) {
        let d = gain.len();
        add(d_bias, &self.d_basis[..d]);
        for (c, unit) in self.centred.chunks_exact(d).enumerate() {
            let (dn, others) = self.d_basis[c * d..].split_at_mut(d);
            if c == 0 {
                for others in others.chunks_exact(d) {
                    dn.iter_mut().zip(others).for_each(|(x, other)| *x -= other);
                }
            }
            for x in 0..d {
                d_gain[x] += dn[x] * unit[x];
                dn[x] *= gain[x];
            }
            let share = 1.0 / d as f32;
            let along = dn.iter().zip(unit).map(|(h, unit)| h * unit).sum::<f32>() * share;
            centre(dn);
            for x in 0..d {
                dn[x] = (dn[x] - unit[x] * along) * self.inverse[c];
            }
            add(&mut d_a[..d], dn);
            if c > 0 {
                add(&mut d_a[c * d..][..d], dn);
            }
        }
    }

    /// For the coordinates of positions: centres the rows of `a` ([1 + m, d]), and sets the norm's table.
    fn fill_of_positions(
        &mut self,
        level: Level,
        a: &[f32],
        gain: &[f32],
        bias: &[f32],
        form: &mut [f32],
    ) {
        let d = gain.len();
        self.centred.copy_from_slice(a);
        self.centred.chunks_exact_mut(d).for_each(centre);
        let (first, rest) = self.basis.split_at_mut(d);
        first.copy_from_slice(bias);
        let rows = rest.chunks_exact_mut(d).zip(self.centred.chunks_exact(d));
        for (row, centred) in rows {
            for x in 0..d {
                row[x] = centred[x] * gain[x];
            }
        }
        let (rows, mut at) = (a.len() / d, 0);
        for r in 0..rows {
            let row = &mut form[at..][..rows - r];
            row.fill(0.0);
            let from_r = View::new(&self.centred, d).from(r, 0);
            let sizes = (1, d, rows - r);
            let out = ViewMut::new(row, rows - r, 0);
            add_product_with_transposed(level, out, from_r, from_r, sizes, 1.0 / d as f32);
            row[1..].iter_mut().for_each(|c| *c *= 2.0);
            at += rows - r;
        }
    }

    /// The backward of [`fill_of_positions`](Self::fill_of_positions), given also the gradient of the table:
    /// adds to `d_a` and to the gradients of gain and bias. Computed in place of the basis' gradient.
    fn pull_back_of_positions(
        &mut self,
        gain: &[f32],
        d_form: &[f32],
        d_a: &mut [f32],
        (d_gain, d_bias): (&mut [f32], &mut [f32]),
    ) {
        let d = gain.len();
        let rows = self.centred.len() / d;
        add(d_bias, &self.d_basis[..d]);
        let centred = |r: usize| &self.centred[r * d..][..d];
        let d_centred = &mut self.d_basis[d..];
        for (r, row) in d_centred.chunks_exact_mut(d).enumerate() {
            for x in 0..d {
                d_gain[x] += row[x] * centred(r)[x];
                row[x] *= gain[x];
            }
        }
        // C_rr = Ã_r · Ã_r / d, C_rs = 2 Ã_r · Ã_s / d
        let mut at = 0;
        for r in 0..rows {
            for s in r..rows {
                let slope = d_form[at] * 2.0 / d as f32;
                for x in 0..d {
                    d_centred[r * d + x] += slope * centred(s)[x];
                    d_centred[s * d + x] += if r == s { 0.0 } else { slope * centred(r)[x] };
                }
                at += 1;
            }
        }
        for (row, d_row) in d_centred.chunks_exact_mut(d).zip(d_a.chunks_exact_mut(d)) {
            centre(row);
            add(d_row, row);
        }
    }
}

impl Coordinates {
    /// Buffers for the bases after norms.
    pub(super) fn new_normed(&self, buffers: &mut Allocator) -> Vec<Option<NormedBasis>> {
        let normed = self.stages.iter().map(|stage| {
            // The first layer's are of symbols: as many as rows of the basis.
            let (rows, has_norm) = (1 + stage.stream, stage.norm.is_some());
            has_norm.then(|| NormedBasis::new(rows, stage.m, self.shape.width, buffers))
        });
        normed.collect()
    }

    /// Computes the basis that stage `at` reads after its norm, if it has one.
    pub(super) fn fill_norm(&self, params: &[f32], at: usize, tables: &mut Tables) {
        let (Some(norm), Some(normed)) = (&self.stages[at].norm, &mut tables.normed[at]) else {
            return;
        };
        let (gain, bias) = (&params[norm.gain.clone()], &params[norm.bias.clone()]);
        let a = &tables.bases[at];
        match &self.stages[at].form {
            Some(form) => {
                let form = &mut tables.data[form.clone()];
                normed.fill_of_positions(self.level, a, gain, bias, form);
            }
            None => normed.fill_of_symbols(a, gain, bias),
        }
    }

    /// Adds the gradients of a norm's gain and bias, and of the basis below it.
    pub(super) fn pull_back_norm(
        &self,
        params: &[f32],
        at: usize,
        tables: &mut Tables,
        d_tables: &[f32],
        grads: &mut [f32],
    ) {
        let (Some(norm), Some(normed)) = (&self.stages[at].norm, &mut tables.normed[at]) else {
            return;
        };
        let gain = &params[norm.gain.clone()];
        let d_a = &mut tables.d_bases[at];
        let d_norm = grads[norm.gain.start..norm.bias.end].split_at_mut(gain.len());
        match &self.stages[at].form {
            Some(form) => {
                normed.pull_back_of_positions(gain, &d_tables[form.clone()], d_a, d_norm);
            }
            None => normed.pull_back_of_symbols(gain, d_a, d_norm),
        }
    }
}

/// sum += part
pub(super) fn add(sum: &mut [f32], part: &[f32]) {
    sum.iter_mut()
        .zip(part)
        .for_each(|(sum, part)| *sum += part);
}

/// rest −= part
pub(super) fn subtract(rest: &mut [f32], part: &[f32]) {
    rest.iter_mut()
        .zip(part)
        .for_each(|(rest, part)| *rest -= part);
}

/// Subtracts the mean.
fn centre(row: &mut [f32]) {
    let mean = row.iter().sum::<f32>() / row.len() as f32;
    row.iter_mut().for_each(|x| *x -= mean);
}
