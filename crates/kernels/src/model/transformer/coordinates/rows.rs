//! Rows of coordinates: in parts, and through an affine map.

use crate::lanes::{Lane, Level, leveled};
use crate::model::ops::linear;

leveled!(
    /// Copies m numbers of every row: `from` and `to` are the distances of rows. Where these are very few, column by
    /// column, because a copy of a few numbers would be a call.
    pub(super) fn copy_part<const FUSED: bool>(
        source: &[Lane],
        from: usize,
        m: usize,
        out: &mut [Lane],
        to: usize,
    ) {
        if m > 2 {
            for (row, out) in source.chunks(from).zip(out.chunks_mut(to)) {
                out[..m].copy_from_slice(&row[..m]);
            }
            return;
        }
        for r in 0..m {
            let column = source[r..].iter().step_by(from);
            for (x, &own) in out[r..].iter_mut().step_by(to).zip(column) {
                *x = own;
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
    linear::forward(level, y, rest, first, m, out);
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
