//! One head on one group of rows, by whichever kernel its layer uses.

use std::ops::Range;

use super::narrow::{self, KernelKey};
use super::scratch::{HeadRows, HeadScratch};
use super::{Coordinates, HeadPlan, Stage, Tables};
use crate::lanes::Lane;
use crate::model::choose::Kernel;
use crate::model::ops::attention::RelativeTerm;
use crate::model::ops::attention::fast::{self, Asking, Columns};

impl Stage {
    /// Rows that go forward and backward together.
    pub(super) fn group_size(&self) -> usize {
        match self.uses(Kernel::Narrow) {
            true => narrow::GROUP,
            false => fast::GROUP,
        }
    }
}

impl Coordinates {
    /// Averages and weights of one group of rows.
    pub(super) fn forward_group(
        &self,
        key: KernelKey,
        tables: &Tables,
        places: &HeadPlan,
        y: &[Lane],
        head: &mut HeadScratch,
        rows: Range<usize>,
    ) {
        let positions = &tables.data[places.positions.clone()];
        let inputs = self.wide((key.m, key.data), y, &head.w, positions);
        let c = &mut head.c;
        match &mut head.group {
            HeadRows::Narrow(group) => narrow::forward(key, &inputs, rows, group, c),
            HeadRows::Wide(group) => fast::forward(self.level, &inputs, rows, group, c),
        }
    }

    /// Gradients of one group of rows. Call it right after the group's forward.
    #[expect(
        clippy::too_many_arguments,
        reason = "all that one head reads and adds to"
    )]
    pub(super) fn backward_group(
        &self,
        key: KernelKey,
        tables: &Tables,
        places: &HeadPlan,
        y: &[Lane],
        head: &mut HeadScratch,
        rows: Range<usize>,
        dy: &mut [Lane],
        d_positions: &mut [Lane],
    ) {
        let positions = &tables.data[places.positions.clone()];
        let inputs = self.wide((key.m, key.data), y, &head.w, positions);
        let averages = (&head.c[..], &head.dc[..]);
        let mut own = fast::Gradients {
            queries: &mut head.dw,
            keys: dy,
            values: None,
            positions: d_positions,
        };
        match &mut head.group {
            HeadRows::Narrow(group) => {
                narrow::backward(key, &inputs, rows, group, averages, &mut own);
            }
            HeadRows::Wide(group) => {
                fast::backward(self.level, &inputs, rows, group, averages, &mut own);
            }
        }
    }

    /// A head as attention of any size: its m coordinates, of which the first `data` are data, are both keys
    /// and values.
    pub(super) fn wide<'a>(
        &self,
        (m, data): (usize, usize),
        y: &'a [Lane],
        w: &'a [Lane],
        positions: &'a [f32],
    ) -> fast::Inputs<'a> {
        fast::Inputs {
            queries: w,
            keys: y,
            values: y,
            asking: Asking::Key,
            data,
            columns: Columns {
                stride: m,
                offset: 0,
                size: m,
            },
            relative: self.relative,
            positions,
            lag_columns: Columns {
                stride: 1 + m,
                offset: 1,
                size: m,
            },
            bias: true,
        }
    }

    /// How head `h` of layer `l` computes its scores.
    pub(super) fn key(&self, tables: &Tables, l: usize, h: usize) -> KernelKey {
        KernelKey {
            level: self.level,
            m: self.stages[l].m,
            data: self.data(l),
            bounded: tables.bounded[l][h],
            key: self.relative == RelativeTerm::Key,
        }
    }
}
