//! Heads as heat maps (what they attend to, or their scores), and as arcs over the symbols of a short sequence.

use induct_figure::{Arcs, Axis, Heatmap, plain};

use super::{Attention, Head, Rows};

/// The number of last tokens whose attention in the first of two layers is shown: arcs of all would hide each
/// other.
pub const ATTENDING: usize = 3;

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
                values: pattern.relative_to_largest(),
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

    /// What the last position of a head attends to; `None` in a layer that has no pattern.
    pub fn arcs(&self, head: &Head) -> Option<Arcs> {
        let pattern = head.pattern.as_ref()?;
        Some(Arcs {
            symbols: self.symbols(),
            above_label: format!("{}, from the last position", head.name()),
            above: pattern.up_to_diagonal(),
            // Arcs of several positions would hide each other.
            above_from: self.tokens.len() - 1,
            ..Arcs::default()
        })
    }

    /// How two layers work together, by one head of each: above the symbols what the last [`ATTENDING`]
    /// tokens attend to in the first, below what the last one attends to in the second. `None` if one of the
    /// layers has no pattern.
    pub fn two_layers(&self, [first, second]: [&Head; 2]) -> Option<Arcs> {
        let (above, below) = (first.pattern.as_ref()?, second.pattern.as_ref()?);
        let last = self.tokens.len() - 1;
        Some(Arcs {
            symbols: self.symbols(),
            above_label: format!("layer {}, last {ATTENDING} tokens", first.layer + 1),
            above: above.up_to_diagonal(),
            above_from: self.tokens.len().saturating_sub(ATTENDING),
            below_label: format!("layer {}, last token", second.layer + 1),
            below: below.row(last).iter().map(|&share| share.into()).collect(),
            ..Arcs::default()
        })
    }

    fn symbols(&self) -> Vec<usize> {
        self.tokens.iter().map(|&symbol| symbol.into()).collect()
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
