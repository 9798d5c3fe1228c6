//! Attention as arcs over the symbols of a short sequence.

use induct_figure::Arcs;

use super::{Attention, Head};

/// The number of last tokens whose attention in the first of two layers is shown: arcs of all would hide each
/// other.
pub const ATTENDING: usize = 3;

impl Attention {
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
}
