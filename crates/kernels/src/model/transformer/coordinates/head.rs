//! One head on one group of rows, by whichever kernel its layer uses.

use std::ops::Range;

use super::narrow;
use super::scratch::{HeadRows, HeadScratch};
use super::{Coordinates, Stage, Tables};
use crate::lanes::Lane;
use crate::model::choose::Kernel;
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
        tables: &Tables,
        (l, h): (usize, usize),
        y: &[Lane],
        head: &mut HeadScratch,
        rows: Range<usize>,
    ) {
        let inputs = self.inputs(tables, (l, h), y, &head.w);
        let (level, c) = (self.level, &mut head.c);
        match &mut head.group {
            HeadRows::Narrow(group) => {
                narrow::forward(level, tables.bounded[l][h], &inputs, rows, group, c);
            }
            HeadRows::Wide(group) => fast::forward(level, &inputs, rows, group, c),
        }
    }

    /// Gradients of one group of rows. Call it right after the group's forward.
    #[expect(
        clippy::too_many_arguments,
        reason = "all that one head reads and adds to"
    )]
    pub(super) fn backward_group(
        &self,
        tables: &Tables,
        (l, h): (usize, usize),
        y: &[Lane],
        head: &mut HeadScratch,
        rows: Range<usize>,
        dy: &mut [Lane],
        d_positions: &mut [Lane],
    ) {
        let inputs = self.inputs(tables, (l, h), y, &head.w);
        let (level, averages) = (self.level, (&head.c[..], &head.dc[..]));
        let mut own = fast::Gradients {
            queries: &mut head.dw,
            keys: dy,
            values: None,
            positions: d_positions,
        };
        match &mut head.group {
            HeadRows::Narrow(group) => {
                narrow::backward(level, &inputs, rows, group, averages, &mut own);
            }
            HeadRows::Wide(group) => {
                fast::backward(level, &inputs, rows, group, averages, &mut own);
            }
        }
    }

    /// What a head reads: its m coordinates are both keys and values.
    pub(super) fn inputs<'a>(
        &self,
        tables: &'a Tables,
        (l, h): (usize, usize),
        y: &'a [Lane],
        w: &'a [Lane],
    ) -> fast::Inputs<'a> {
        let (stage, m) = (&self.stages[l], self.stages[l].m);
        let columns = |stride, offset| Columns {
            stride,
            offset,
            size: m,
        };
        fast::Inputs {
            queries: w,
            keys: y,
            values: y,
            asking: Asking::Key,
            data: self.data(l),
            columns: columns(m, 0),
            relative: self.relative,
            positions: &tables.data()[stage.heads[h].positions.clone()],
            lag_columns: columns(1 + m, 1),
            bias: true,
            masked: None,
        }
    }
}
