//! Transposes lanes into rows, and back.

use std::ops::Range;

use super::{GROUP, Sizes};
use crate::lanes::cross_lane::transpose;
use crate::lanes::{LANES, Lane, Level, leveled};

/// What is transposed from lanes into rows and back: `count` columns from `first` on, in rows of lanes that
/// are `stride` apart; and the distances of columns and of vectors of rows in a sequence's own buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    stride: usize,
    first: usize,
    count: usize,
    by_column: usize,
    by_vector: usize,
}

impl Sizes {
    /// Coordinates that are not symbols, [rows, m], to [vectors, columns].
    pub(super) fn turn_rest(self) -> Turn {
        Turn {
            stride: self.coordinates(),
            first: self.states - 1,
            count: self.rest,
            by_column: 1,
            by_vector: self.columns(),
        }
    }

    /// What rows ask, [rows, m], to [m, vectors].
    pub(super) fn turn_queries(self) -> Turn {
        Turn {
            stride: self.coordinates(),
            first: 0,
            count: self.coordinates(),
            by_column: self.vectors,
            by_vector: 1,
        }
    }

    /// Values, [rows, k−1], to [vectors, columns].
    pub(super) fn turn_values(self) -> Turn {
        Turn {
            stride: self.values(),
            first: 0,
            count: self.values(),
            by_column: 1,
            by_vector: self.columns(),
        }
    }

    /// Logits of a group except the first, [rows, k], to [k−1, GROUP].
    pub(super) fn turn_logits(self) -> Turn {
        Turn {
            stride: self.states,
            first: 1,
            count: self.values(),
            by_column: GROUP,
            by_vector: 1,
        }
    }
}

/// Transposes lanes into rows, with one buffer per sequence. Rows that pad the last vector are zero.
pub(super) fn gather(
    level: Level,
    source: &[Lane],
    rows: Range<usize>,
    turn: Turn,
    targets: &mut [&mut [Lane]; LANES],
) {
    gather_at(level, level, source, rows, turn, targets);
}

leveled!(
    fn gather_at<const FUSED: bool>(
        level: Level,
        source: &[Lane],
        rows: Range<usize>,
        turn: Turn,
        targets: &mut [&mut [Lane]; LANES],
    ) {
        for (n, start) in rows.clone().step_by(LANES).enumerate() {
            for column in 0..turn.count {
                let mut tile = [[Lane::ZERO; LANES]];
                for (row, i) in tile[0].iter_mut().zip(start..rows.end) {
                    *row = source[i * turn.stride + turn.first + column];
                }
                transpose(level, &mut tile);
                for lane in 0..LANES {
                    let place = column * turn.by_column + n * turn.by_vector;
                    targets[lane][place] = tile[0][lane];
                }
            }
        }
    }
);

/// The inverse: adds rows to lanes.
pub(super) fn scatter(
    level: Level,
    sources: &[&[Lane]; LANES],
    rows: Range<usize>,
    turn: Turn,
    target: &mut [Lane],
) {
    scatter_at(level, level, sources, rows, turn, target);
}

leveled!(
    fn scatter_at<const FUSED: bool>(
        level: Level,
        sources: &[&[Lane]; LANES],
        rows: Range<usize>,
        turn: Turn,
        target: &mut [Lane],
    ) {
        for (n, start) in rows.clone().step_by(LANES).enumerate() {
            for column in 0..turn.count {
                let mut tile = [[Lane::ZERO; LANES]];
                for lane in 0..LANES {
                    let place = column * turn.by_column + n * turn.by_vector;
                    tile[0][lane] = sources[lane][place];
                }
                transpose(level, &mut tile);
                for (row, i) in tile[0].iter().zip(start..rows.end) {
                    target[i * turn.stride + turn.first + column] += *row;
                }
            }
        }
    }
);
