//! The rules that turn deviations into verdicts.
//!
//! The paper makes three kinds of claim: that two expressions are equal, that they are equal up to a term of
//! lower order, and that a statement holds. Each kind has its rule here, and verdicts are made nowhere else.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::evidence::{Evidence, Kind, Line, Point, Verdict};
use super::{Correction, Entry, Formula, Place};

/// An entry that has not been judged yet.
pub(super) struct Claim {
    entry: Entry,
    condition: Option<String>,
    /// The unit of deviations if the truth is zero.
    unit: Option<f64>,
}

/// What `ledger.toml` says about an entry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    id: String,
    section: String,
    at: String,
    statement: String,
    printed: String,
    routes: [String; 2],
    correction: Option<String>,
    #[serde(default)]
    change: String,
    condition: Option<String>,
}

static TEXTS: LazyLock<BTreeMap<String, Vec<Text>>> = LazyLock::new(|| {
    let found = toml::from_str(include_str!("ledger.toml"));
    found.unwrap_or_else(|error| panic!("{error}"))
});

/// Deviations up to this size count as rounding: the printed forms divide by powers of 1 − λ.
const TOLERANCE: f64 = 1e-10;

impl Claim {
    /// The claim called `id`, with what `ledger.toml` says about it.
    ///
    /// # Panics
    ///
    /// If it says nothing.
    pub fn new(id: &str) -> Self {
        let text = TEXTS["entry"].iter().find(|text| text.id == id);
        let text = text.unwrap_or_else(|| panic!("{id} is not in ledger.toml"));
        let correction = text.correction.as_ref().map(|formula| Correction {
            formula: Formula(formula),
            change: &text.change,
        });
        let evidence = Evidence {
            kind: Kind::Equality,
            routes: text.routes.each_ref().map(String::as_str),
            routes_apart: 0.0,
            scale: 0.0,
            tolerance: TOLERANCE,
            printed_off: 0.0,
            corrected_off: None,
            worst: Vec::new(),
            points: Vec::new(),
            lines: Vec::new(),
            numbers: Vec::new(),
        };
        let place = Place {
            section: &text.section,
            at: &text.at,
        };
        Self {
            entry: Entry {
                id: &text.id,
                place,
                statement: &text.statement,
                printed: Formula(&text.printed),
                correction,
                verdict: Verdict::Open,
                evidence,
            },
            condition: text.condition.clone(),
            unit: None,
        }
    }

    /// Sets the unit of deviations, for claims whose truth is zero. The default is the largest true value on
    /// the grid.
    pub fn unit(mut self, unit: f64) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Sets a condition that quotes numbers; others are in `ledger.toml`.
    pub fn condition(mut self, condition: String) -> Self {
        self.condition = Some(condition);
        self
    }

    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.entry.evidence.tolerance = tolerance;
        self
    }

    pub fn line(
        mut self,
        name: impl Into<String>,
        x: &'static str,
        points: Vec<(f64, f64)>,
    ) -> Self {
        let name = name.into();
        self.entry.evidence.lines.push(Line { name, x, points });
        self
    }

    pub fn number(mut self, name: impl Into<String>, value: f64) -> Self {
        self.entry.evidence.numbers.push((name.into(), value));
        self
    }

    /// The printed form equals the truth at every point.
    pub fn equality(self, points: impl IntoIterator<Item = Point>) -> Entry {
        let points: Vec<Point> = points.into_iter().collect();
        let (tolerance, scale) = (self.entry.evidence.tolerance, self.scale(&points));
        let off = |point: &Point| point.off(point.printed, scale);
        let corrected_off = |point: &Point| Some(point.off(point.corrected?, scale));
        let holds = |point: &Point| off(point) <= tolerance;
        let mended = |point: &Point| corrected_off(point).is_some_and(|off| off <= tolerance);
        let verdict = self.choose(&points, holds, mended);
        let worst = points.iter().max_by(|p, q| off(p).total_cmp(&off(q)));
        let printed_off = worst.map_or(0.0, off);
        let worst = worst.map_or(Vec::new(), |point| point.at.clone());
        let corrected_off = points.iter().filter_map(corrected_off).reduce(f64::max);
        self.entry(
            Kind::Equality,
            verdict,
            printed_off,
            corrected_off,
            worst,
            points,
        )
    }

    /// The claim holds at every point: `printed` is the margin by which it does, and `truth` is the quantity
    /// from which that was computed, by both routes.
    pub fn statement(self, points: impl IntoIterator<Item = Point>) -> Entry {
        let points: Vec<Point> = points.into_iter().collect();
        let holds = |point: &Point| point.printed > 0.0;
        let mended = |point: &Point| point.corrected.is_some_and(|margin| margin > 0.0);
        let verdict = self.choose(&points, holds, mended);
        let worst = points.iter().min_by(|p, q| p.printed.total_cmp(&q.printed));
        let least = worst.map_or(0.0, |point| point.printed);
        let worst = worst.map_or(Vec::new(), |point| point.at.clone());
        let corrected = points
            .iter()
            .filter_map(|point| point.corrected)
            .reduce(f64::min);
        self.entry(Kind::Statement, verdict, least, corrected, worst, points)
    }

    /// truth = printed + O(x^claimed), where x is the first coordinate, which doubles from point to point.
    pub fn leading(self, claimed: f64, points: impl IntoIterator<Item = Point>) -> Entry {
        let points: Vec<Point> = points.into_iter().collect();
        let truth = |point: &Point| point.truth[0];
        let order = last_order(&points, truth);
        let remainder = last_order(&points, |point| truth(point) - point.printed);
        let mended = last_order(&points, |point| {
            truth(point) - point.corrected.unwrap_or(f64::NAN)
        });
        let relative =
            |value: f64, point: &Point| (value - truth(point)).abs() / truth(point).abs();
        let last = points.last().expect("a grid is not empty");
        let printed_off = relative(last.printed, last);
        let corrected_off = last.corrected.map(|value| relative(value, last));
        // The claimed order, with some slack because x is finite; or at least clearly smaller than the term
        // itself.
        let small =
            |remainder: f64| remainder <= claimed + SLACK || remainder <= order - 2.0 * SLACK;
        let verdict = if self.routes_disagree(&points) {
            Verdict::Open
        } else if small(remainder) {
            Verdict::CorrectToLeadingOrder { remainder }
        } else if let (true, Some(Correction { change, .. })) =
            (small(mended), self.entry.correction)
        {
            Verdict::Misprint { change }
        } else {
            Verdict::DoesNotFollow
        };
        let x = points[0].at[0].0;
        let remainders = points
            .iter()
            .map(|p| (p.at[0].1, truth(p) - p.printed))
            .collect();
        let (worst, with_line) = (last.at.clone(), self.line("truth − printed", x, remainders));
        with_line
            .number("order of the term", order)
            .number("order of the remainder", remainder)
            .number("claimed order of the remainder", claimed)
            .entry(
                Kind::LeadingOrder,
                verdict,
                printed_off,
                corrected_off,
                worst,
                points,
            )
    }

    /// Whether the claim holds everywhere, everywhere once corrected, or exactly where the condition does.
    fn choose(
        &self,
        points: &[Point],
        holds: impl Fn(&Point) -> bool,
        mended: impl Fn(&Point) -> bool,
    ) -> Verdict {
        if self.routes_disagree(points) {
            return Verdict::Open;
        }
        if points.iter().all(&holds) {
            return Verdict::Correct;
        }
        if let (Some(Correction { change, .. }), true) =
            (self.entry.correction, points.iter().all(mended))
        {
            return Verdict::Misprint { change };
        }
        let met = points.iter().any(|point| point.inside);
        match &self.condition {
            Some(condition) if met && points.iter().all(|p| holds(p) == p.inside) => {
                Verdict::CorrectUnderCondition {
                    condition: condition.clone(),
                }
            }
            _ => Verdict::DoesNotFollow,
        }
    }

    fn scale(&self, points: &[Point]) -> f64 {
        let sizes = points.iter().map(|point| point.truth[0].abs());
        self.unit.unwrap_or_else(|| sizes.fold(0.0, f64::max))
    }

    fn routes_apart(&self, points: &[Point]) -> f64 {
        let scale = self.scale(points);
        let apart = points.iter().map(|point| point.off(point.truth[1], scale));
        apart.fold(0.0, f64::max)
    }

    fn routes_disagree(&self, points: &[Point]) -> bool {
        points.is_empty() || self.routes_apart(points) > self.entry.evidence.tolerance
    }

    fn entry(
        mut self,
        kind: Kind,
        verdict: Verdict,
        printed_off: f64,
        corrected_off: Option<f64>,
        worst: Vec<(&'static str, f64)>,
        points: Vec<Point>,
    ) -> Entry {
        self.entry.verdict = verdict;
        self.entry.evidence = Evidence {
            kind,
            routes_apart: self.routes_apart(&points),
            scale: self.scale(&points),
            printed_off,
            corrected_off,
            worst,
            points,
            ..self.entry.evidence
        };
        self.entry
    }
}

/// Slack for orders measured at finite x.
const SLACK: f64 = 0.2;

/// The power of x with which `f` grows from the second-last point to the last.
fn last_order(points: &[Point], f: impl Fn(&Point) -> f64) -> f64 {
    let [.., before, last] = points else {
        return f64::NAN;
    };
    let growth = (f(last) / f(before)).abs().ln();
    growth / (last.at[0].1 / before.at[0].1).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim::new("loss.total-expectation")
    }

    fn at(x: f64, printed: f64, truth: f64) -> Point {
        Point::new(&[("x", x)], printed, [truth, truth])
    }

    #[test]
    fn equalities_are_judged_by_their_deviations() {
        let good = at(1.0, 2.0, 2.0);
        let bad = at(2.0, 3.0, 2.0);
        let verdict = |claim: Claim, points: &[&Point]| {
            claim.equality(points.iter().copied().cloned()).verdict
        };
        assert_eq!(verdict(claim(), &[&good]), Verdict::Correct);
        assert_eq!(verdict(claim(), &[&good, &bad]), Verdict::DoesNotFollow);
        let mend = || {
            let (formula, change) = (Formula("y"), "x → y");
            let mut claim = claim();
            claim.entry.correction = Some(Correction { formula, change });
            claim
        };
        let (good_mended, mended) = (good.clone().corrected(2.0), bad.clone().corrected(2.0));
        assert_eq!(
            verdict(mend(), &[&good_mended, &mended]),
            Verdict::Misprint { change: "x → y" }
        );
        // A correction must hold everywhere.
        let wrong = good.clone().corrected(1.0);
        assert_eq!(verdict(mend(), &[&wrong, &mended]), Verdict::DoesNotFollow);
        let outside = bad.clone().inside(false);
        let condition = || claim().condition("x = 1".into());
        assert_eq!(
            verdict(condition(), &[&good, &outside]),
            Verdict::CorrectUnderCondition {
                condition: "x = 1".into()
            }
        );
        // A condition that excludes points at which the claim holds is not the condition.
        let shut_out = good.clone().inside(false);
        assert_eq!(
            verdict(condition(), &[&good, &shut_out, &outside]),
            Verdict::DoesNotFollow
        );
        let torn = Point::new(&[("x", 1.0)], 2.0, [2.0, 2.1]);
        assert_eq!(verdict(claim(), &[&torn]), Verdict::Open);
        let lost = at(1.0, f64::NAN, 2.0);
        assert_eq!(verdict(claim(), &[&lost]), Verdict::DoesNotFollow);
    }

    #[test]
    fn leading_orders_are_measured() {
        let grid = |printed: fn(f64) -> f64| {
            [64.0, 128.0, 256.0]
                .map(|x: f64| at(x, printed(x), x * x + 3.0 * x))
                .to_vec()
        };
        let entry = claim().leading(1.0, grid(|x| x * x));
        let Verdict::CorrectToLeadingOrder { remainder } = entry.verdict else {
            panic!("{:?}", entry.verdict)
        };
        assert!((remainder - 1.0).abs() < 1e-9);
        let wrong = claim().leading(1.0, grid(|x| 2.0 * x * x));
        assert_eq!(wrong.verdict, Verdict::DoesNotFollow);
    }
}
