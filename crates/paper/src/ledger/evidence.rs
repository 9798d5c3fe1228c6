//! What an entry holds besides its text: the verdict, and the numbers from which it follows.

use serde::Serialize;

/// What is true of a formula or claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds as printed.
    Correct,
    /// It holds up to a term of lower order.
    CorrectToLeadingOrder {
        /// The remainder grows like this power of what grows.
        remainder: f64,
    },
    /// It holds where the condition does, and nowhere else.
    CorrectUnderCondition {
        /// The condition.
        condition: String,
    },
    /// It does not hold as printed, but does with a symbol changed.
    Misprint {
        /// Which symbol changes into which.
        change: &'static str,
    },
    /// It does not hold.
    DoesNotFollow,
    /// The routes to the truth disagree: nothing can be said. An entry like this is a mistake of ours.
    Open,
}

impl Verdict {
    /// All names, from best to worst.
    pub const NAMES: [&'static str; 6] = [
        "correct",
        "correct to leading order",
        "correct under a condition",
        "misprint",
        "does not follow",
        "open",
    ];

    /// Its name in tables and files.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Correct => "correct",
            Verdict::CorrectToLeadingOrder { .. } => "correct to leading order",
            Verdict::CorrectUnderCondition { .. } => "correct under a condition",
            Verdict::Misprint { .. } => "misprint",
            Verdict::DoesNotFollow => "does not follow",
            Verdict::Open => "open",
        }
    }
}

/// Which rule judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two expressions are equal.
    Equality,
    /// One is the other up to a term of lower order.
    LeadingOrder,
    /// Something is positive.
    Statement,
}

/// One point of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where: names and values, such as a, b, t, j.
    pub at: Vec<(&'static str, f64)>,
    /// What the printed form gives; for a statement, by how much it holds (negative: by how much it fails).
    pub printed: f64,
    /// The truth, by two routes.
    pub truth: [f64; 2],
    /// What the corrected form gives.
    pub corrected: Option<f64>,
    /// Whether the condition holds here.
    pub inside: bool,
}

impl Point {
    /// A point with printed form and truth only.
    pub(super) fn new(at: &[(&'static str, f64)], printed: f64, truth: [f64; 2]) -> Self {
        Self {
            at: at.to_vec(),
            printed,
            truth,
            corrected: None,
            inside: true,
        }
    }

    /// The same, with what the corrected form gives.
    pub(super) fn corrected(mut self, value: f64) -> Self {
        self.corrected = Some(value);
        self
    }

    /// The same, marked whether the condition holds.
    pub(super) fn inside(mut self, holds: bool) -> Self {
        self.inside = holds;
        self
    }

    /// How far `value` is from the truth here, in units of `scale`.
    pub(super) fn off(&self, value: f64, scale: f64) -> f64 {
        let off = (value - self.truth[0]).abs() / scale;
        if off.is_nan() { f64::INFINITY } else { off }
    }
}

/// A line that a figure may draw.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// What x is.
    pub x: &'static str,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// From what a verdict follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Which rule judged.
    pub kind: Kind,
    /// The two routes to the truth, in words.
    pub routes: [&'static str; 2],
    /// How far apart they are at most, in units of `scale`.
    pub routes_apart: f64,
    /// The unit of deviations: the largest truth on the grid, or what stands for it where the truth is zero.
    pub scale: f64,
    /// How far they may be, in units of `scale`; an equality's two sides as well.
    pub tolerance: f64,
    /// Largest deviation of the printed form from the truth, in units of `scale`; at the last point, in
    /// units of the term, for a leading order; the least margin for a statement.
    pub printed_off: f64,
    /// The same of the corrected form.
    pub corrected_off: Option<f64>,
    /// Where the printed form is off most.
    pub worst: Vec<(&'static str, f64)>,
    /// The whole grid.
    pub points: Vec<Point>,
    /// Lines for figures.
    pub lines: Vec<Line>,
    /// Numbers worth quoting, with their names.
    pub numbers: Vec<(String, f64)>,
}
