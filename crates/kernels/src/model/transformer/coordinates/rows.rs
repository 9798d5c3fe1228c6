//! Rows of coordinates: in parts, and through an affine map.

use crate::lanes::{Lane, Level, leveled};
use crate::model::ops::linear;

leveled!(
    /// Copies rows of m numbers into rows that are `stride` apart: column by column, because most have few, and a
    /// copy of a few numbers would be a call.
    pub(super) fn copy_part<const FUSED: bool>(
        source: &[Lane],
        m: usize,
        stride: usize,
        out: &mut [Lane],
    ) {
        let rows = source.len() / m;
        for r in 0..m {
            for i in 0..rows {
                out[i * stride + r] = source[i * m + r];
            }
        }
    }
);

leveled!(
    /// Adds columns of wider rows, `stride` apart, to rows of m.
    pub(super) fn add_part<const FUSED: bool>(
        source: &[Lane],
        m: usize,
        stride: usize,
        out: &mut [Lane],
    ) {
        for i in 0..out.len() / m {
            let (source, out) = (&source[i * stride..][..m], &mut out[i * m..][..m]);
            for r in 0..m {
                out[r] += source[r];
            }
        }
    }
);

/// Sets out_i = table₀ + Σ_r y_ir table_{1+r}. Shapes: y [rows, m], table [1 + m, width], out [rows, width].
pub(super) fn affine(
    level: Level,
    y: &[Lane],
    table: &[f32],
    (m, width): (usize, usize),
    out: &mut [Lane],
) {
    let (first, rest) = table.split_at(width);
    linear::set_rows(first, out);
    linear::add_forward(level, y, rest, m, width, out);
}

/// out_i = table₀ + Σ_r y_ir table_{1+r}  ⟹  dtable₀ += Σ_i dout_i, dtable_{1+r} += Σ_i y_ir dout_i,
/// dy_ir += dout_i · table_{1+r}, except for the first `data` coordinates.
#[expect(clippy::too_many_arguments, reason = "each is a buffer of its own")]
pub(super) fn affine_backward(
    level: Level,
    y: &[Lane],
    table: &[f32],
    (m, width): (usize, usize),
    data: usize,
    d_out: &[Lane],
    dy: &mut [Lane],
    d_table: &mut [Lane],
) {
    let (d_first, d_rest) = d_table.split_at_mut(width);
    linear::bias_backward(level, d_out, d_first);
    linear::weight_backward(level, y, m, width, d_out, d_rest);
    linear::input_backward(level, &table[width..], (m, width), data, d_out, dy);
}
