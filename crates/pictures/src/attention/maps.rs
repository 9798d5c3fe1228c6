//! A head as a heat map: what it attends to, or its scores.

use induct_figure::{Axis, Heatmap, plain};

use super::{Attention, Head, Rows};

impl Attention {
    /// What a head attends to, with its scores on this sequence in the title; `None` in a layer that has no
    /// pattern.
    ///
    /// A head that spreads its attention over many positions would be pale beside one that looks at a single
    /// one, so every row has its own scale where rows are shares.
    pub fn pattern_map(&self, head: &Head) -> Option<Heatmap> {
        let pattern = head.pattern.as_ref()?;
        let title = plain(&self.name_and_scores(head));
        Some(match self.patterns_are_shares {
            true => Heatmap {
                range: Some((0.0, 1.0)),
                value_label: "relative to its row's largest".into(),
                values: relative_to_largest(pattern),
                ..map(title, pattern)
            },
            false => Heatmap {
                signed: true,
                value_label: "weight".into(),
                values: pattern.up_to_diagonal(),
                ..map(title, pattern)
            },
        })
    }

    /// A head's scores before the softmax; `None` in a layer that has none.
    pub fn score_map(&self, head: &Head) -> Option<Heatmap> {
        let scores = head.scores.as_ref()?;
        Some(Heatmap {
            signed: true,
            value_label: "score".into(),
            values: scores.up_to_diagonal(),
            ..map(plain(&head.name()), scores)
        })
    }

    fn name_and_scores(&self, head: &Head) -> String {
        let scores = self.scores(head).into_iter();
        let scores = scores.filter_map(|(name, score)| Some(format!("{name} {:.2}", score?)));
        let scores: Vec<String> = scores.collect();
        match scores.is_empty() {
            true => head.name(),
            false => format!("{}: {}", head.name(), scores.join(", ")),
        }
    }
}

/// A map over pairs of positions, still without its numbers.
fn map(title: String, rows: &Rows) -> Heatmap {
    let last = rows.positions().saturating_sub(1) as f64;
    let positions = |label: &str| Axis::linear(label).range(0.0, last);
    Heatmap {
        title,
        x: positions("position attended to"),
        y: positions("attending position"),
        columns: rows.positions(),
        ..Heatmap::default()
    }
}

/// Every number over the largest of its row, [t, t]; NaN above the diagonal.
fn relative_to_largest(rows: &Rows) -> Vec<f64> {
    let row = |row: &[f32]| -> Vec<f64> {
        let largest = row.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let seen = row.iter().map(|&share| f64::from(share / largest));
        let later = std::iter::repeat_n(f64::NAN, rows.positions() - row.len());
        seen.chain(later).collect()
    };
    rows.iter().flat_map(row).collect()
}
