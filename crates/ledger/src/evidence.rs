//! The verdict of an entry, and the numbers from which it follows.

use serde::Serialize;

/// The verdict on a formula or claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds as printed.
    Correct,
    /// It holds up to a term of lower order.
    CorrectToLeadingOrder {
        /// The power with which the remainder grows.
        remainder: f64,
    },
    /// It holds exactly where the condition does.
    CorrectUnderCondition {
        /// The condition.
        condition: String,
    },
    /// It does not hold as printed, but does after a small change.
    Misprint {
        /// What changes into what.
        change: &'static str,
    },
    /// It does not hold.
    DoesNotFollow,
    /// The two routes disagree, so nothing can be said. Such an entry is a bug in the ledger.
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

/// The kind of a claim, which determines the rule that judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two expressions are equal.
    Equality,
    /// Two expressions are equal up to a term of lower order.
    LeadingOrder,
    /// A quantity is positive.
    Statement,
}

/// One point of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Its coordinates: names and values, such as a, b, t, j.
    pub at: Vec<(&'static str, f64)>,
    /// The value of the printed form; for a statement, the margin by which it holds (negative if it fails).
    pub printed: f64,
    /// The truth, by two routes.
    pub truth: [f64; 2],
    /// The value of the corrected form.
    pub corrected: Option<f64>,
    /// Whether the condition holds here.
    pub inside: bool,
}

impl Point {
    /// A point with only the printed form and the truth.
    pub(super) fn new(at: &[(&'static str, f64)], printed: f64, truth: [f64; 2]) -> Self {
        Self {
            at: at.to_vec(),
            printed,
            truth,
            corrected: None,
            inside: true,
        }
    }

    /// A point that is about sequences of t symbols, whatever else.
    pub(super) fn of_length(t: usize, printed: f64, truth: [f64; 2]) -> Self {
        Self::new(&[("t", t as f64)], printed, truth)
    }

    /// The same point with the value of the corrected form.
    pub(super) fn corrected(mut self, value: f64) -> Self {
        self.corrected = Some(value);
        self
    }

    /// The same point, with whether the condition holds.
    pub(super) fn inside(mut self, holds: bool) -> Self {
        self.inside = holds;
        self
    }

    /// The deviation of `value` from the truth at this point, in units of `scale`.
    pub(super) fn off(&self, value: f64, scale: f64) -> f64 {
        let off = (value - self.truth[0]).abs() / scale;
        if off.is_nan() { f64::INFINITY } else { off }
    }
}

/// A line for figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// What x is.
    pub x: &'static str,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// The numbers from which a verdict follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The kind of claim.
    pub kind: Kind,
    /// Descriptions of the two routes to the truth.
    pub routes: [&'static str; 2],
    /// The largest difference between the routes, in units of `scale`.
    pub routes_apart: f64,
    /// The unit of deviations: the largest true value on the grid, or a given unit if the truth is zero.
    pub scale: f64,
    /// The largest difference allowed between the routes, and between the two sides of an equality, in units
    /// of `scale`.
    pub tolerance: f64,
    /// For an equality, the largest deviation of the printed form from the truth, in units of `scale`. For a
    /// leading order, the deviation at the last point, in units of the term. For a statement, the smallest
    /// margin.
    pub printed_off: f64,
    /// The same for the corrected form.
    pub corrected_off: Option<f64>,
    /// The coordinates at which the printed form deviates most.
    pub worst: Vec<(&'static str, f64)>,
    /// The whole grid.
    pub points: Vec<Point>,
    /// Lines for figures.
    pub lines: Vec<Line>,
    /// Numbers worth quoting, with their names.
    pub numbers: Vec<(String, f64)>,
}
