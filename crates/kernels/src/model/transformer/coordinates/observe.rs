//! Attention as the last forward computed it, for observers.

use super::rows::affine;
use super::scratch::Scratch;
use super::{Coordinates, Tables};
use crate::lanes::Lane;
use crate::model::ops::attention::{AttnProbe, clamped, fast};

impl Coordinates {
    /// Shows what the last forward of `rows` rows did: the pattern, and scores including the
    /// part that cancels in the softmax.
    pub fn show(&self, tables: &Tables, rows: usize, work: &Scratch, probe: AttnProbe) {
        for (l, (plan, layer)) in self.layers.iter().zip(&work.layers).enumerate() {
            let (m, y) = (plan.m, layer.read());
            let mut w = vec![Lane::ZERO; rows * m];
            for (h, (places, head)) in plan.heads.iter().zip(&layer.heads).enumerate() {
                if let Some(table) = places.change.table(&head.given, self.length) {
                    clamped::show(self.level, table, rows, (l, h), probe);
                    continue;
                }
                // The first layer's convolutions do not keep it.
                let qk = &tables.data[places.qk.clone()];
                affine(self.level, &y[..rows * m], qk, (m, m), &mut w);
                let constant = &tables.data[places.constant.clone()];
                let cancels = |i: usize| {
                    let mut sum = Lane::splat(constant[0]);
                    for (&y, &c) in y[i * m..][..m].iter().zip(&constant[1..]) {
                        sum += y * c;
                    }
                    sum
                };
                let inputs = self.wide(
                    (m, self.data_read(l)),
                    y,
                    &w,
                    &tables.data[places.positions.clone()],
                );
                let signed = places.change.leaves_uniform_out();
                fast::show(self.level, &inputs, rows, (l, h), cancels, signed, probe);
            }
        }
    }
}
