use induct_kernels::lanes::{Lane, Level};
use induct_kernels::model::ops::convolution::{Planes, convolve, correlate};
use induct_kernels::scratch::Allocator;

#[test]
fn tiles_match_the_sums_that_they_stand_for() {
    let (length, columns) = (21, 2);
    let value = |index: usize| ((index * 37 % 19) as f32 - 9.0) / 8.0;
    let buffers = &mut Allocator::default();
    let mut e = Planes::new(length, columns, 0.0, buffers);
    let mut z = Planes::new(length, columns, Lane::ZERO, buffers);
    let (mut dn, mut out, mut de) = (z.clone(), z.clone(), z.clone());
    for level in Level::all() {
        for rows in 1..=length {
            for (b, at) in (0..columns).flat_map(|b| (0..length).map(move |at| (b, at))) {
                e.column_mut(b)[at] = value(at + 3 * b);
                z.column_mut(b)[at] = Lane::splat(value(at + 5 * b + 1));
                dn.column_mut(b)[at] = Lane::splat(value(at + 7 * b + 2));
            }
            dn.end_after(rows, Lane::ZERO);
            convolve(level, &e, &z, rows, &mut out);
            correlate(level, &dn, &z, rows, &mut de);
            for (b, at) in (0..columns).flat_map(|b| (0..rows).map(move |at| (b, at))) {
                let (e, z, dn) = (e.column(b), z.column(b), dn.column(b));
                let n: f32 = (0..=at).map(|j| e[at - j] * z[j].0[0]).sum();
                let d: f32 = (at..rows).map(|i| dn[i].0[0] * z[i - at].0[0]).sum();
                assert!((out.column(b)[at].0[3] - n).abs() < 1e-5, "{rows} {at}");
                assert!((de.column(b)[at].0[3] - d).abs() < 1e-5, "{rows} {at}");
            }
        }
    }
}
