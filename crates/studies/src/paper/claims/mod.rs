//! The paper's claims, each with measures that decide it.
//!
//! A claim has one or more parts. A part is a number with its 95 % interval over seeds and a limit that was
//! fixed in advance: it holds if the whole interval is on the right side of the limit, does not hold if the
//! whole interval is on the wrong side, and is undecided otherwise. A claim holds if all its parts hold,
//! holds in part if some do, does not hold if all fail, and is otherwise undecided.

mod construction;
mod final_loss;
mod heads;
mod order;
mod signal;

use serde::{Serialize, Serializer};

use crate::results::Results;
use crate::statistics::Measured;

/// The outcome of a claim or of one of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// Some of its parts hold.
    #[serde(rename = "holds in part")]
    HoldsInPart,
    /// All its parts fail.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// The seeds are inconclusive.
    Undecided,
}

impl Verdict {
    /// Its name, as in `claims.json`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided => "undecided",
        }
    }

    fn of_parts(parts: &[Part]) -> Self {
        let count = |verdict| parts.iter().filter(|part| part.verdict == verdict).count();
        match (count(Verdict::Holds), count(Verdict::DoesNotHold)) {
            (holding, _) if holding == parts.len() => Verdict::Holds,
            (_, failing) if failing == parts.len() => Verdict::DoesNotHold,
            (0, _) => Verdict::Undecided,
            _ => Verdict::HoldsInPart,
        }
    }
}

/// A limit, and the side of it on which a number must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At the limit or above.
    AtLeast(f64),
    /// At the limit or below.
    AtMost(f64),
}

impl Limit {
    /// In words.
    pub fn text(self) -> String {
        match self {
            Limit::AtLeast(x) => format!("at least {x}"),
            Limit::AtMost(x) => format!("at most {x}"),
        }
    }

    fn judge(self, measured: &Measured) -> Verdict {
        let Some([low, high]) = measured.interval else {
            return Verdict::Undecided;
        };
        let (inside, outside) = match self {
            Limit::AtLeast(x) => (low >= x, high < x),
            Limit::AtMost(x) => (high <= x, low > x),
        };
        match (inside, outside) {
            (true, _) => Verdict::Holds,
            (_, true) => Verdict::DoesNotHold,
            _ => Verdict::Undecided,
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// One measure of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What it is measured on.
    pub what: String,
    /// What is measured, in a sentence.
    pub measure: String,
    /// The number.
    pub effect: Option<f64>,
    /// Its 95 % interval over seeds.
    pub interval: Option<[f64; 2]>,
    /// The number of seeds.
    pub seeds: usize,
    /// The limit.
    pub limit: Limit,
    /// On which side of the limit it is.
    pub verdict: Verdict,
}

impl Part {
    fn new(what: impl Into<String>, measure: &str, measured: Measured, limit: Limit) -> Self {
        Self {
            what: what.into(),
            measure: measure.to_owned(),
            effect: Some(measured.effect).filter(|effect| effect.is_finite()),
            interval: measured.interval,
            seeds: measured.seeds,
            verdict: limit.judge(&measured),
            limit,
        }
    }
}

/// A claim, and how it is checked.
pub struct Claim {
    /// C1, C2, …
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// In our own words, in a sentence or two.
    pub statement: &'static str,
    /// Where the paper makes it.
    pub place: &'static str,
    /// The figure that shows it.
    pub figure: u8,
    /// The experiments it needs.
    pub needs: &'static [&'static str],
    /// A remark, such as what was tried if it fails, or what its measures do not cover. May be empty.
    pub remark: &'static str,
    check: fn(&Results) -> Vec<Part>,
}

/// A claim, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decided {
    /// C1, C2, …
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// In our own words.
    pub statement: &'static str,
    /// Where the paper makes it.
    pub place: &'static str,
    /// The outcome.
    pub verdict: Verdict,
    /// The number of the first part.
    pub effect: Option<f64>,
    /// The interval of the first part.
    pub interval: Option<[f64; 2]>,
    /// The seeds of the first part.
    pub seeds: usize,
    /// What the first part measures, and on what.
    pub measure: String,
    /// The limit of the first part.
    pub limit: Limit,
    /// Number of the figure that shows it.
    pub figure: u8,
    /// All parts, including the first.
    pub parts: Vec<Part>,
    /// A remark; may be empty.
    pub remark: &'static str,
}

impl Claim {
    /// Decides it.
    pub fn decide(&self, results: &Results) -> Decided {
        let parts = (self.check)(results);
        let first = &parts[0];
        Decided {
            id: self.id,
            title: self.title,
            statement: self.statement,
            place: self.place,
            verdict: Verdict::of_parts(&parts),
            effect: first.effect,
            interval: first.interval,
            seeds: first.seeds,
            measure: format!("{} ({})", first.measure, first.what),
            limit: first.limit,
            figure: self.figure,
            parts,
            remark: self.remark,
        }
    }
}

/// All claims, by number.
pub fn claims() -> Vec<&'static Claim> {
    let topics = [
        order::CLAIMS,
        heads::CLAIMS,
        final_loss::CLAIMS,
        signal::CLAIMS,
    ];
    let mut all: Vec<&Claim> = topics.into_iter().flatten().collect();
    all.sort_by_key(|claim| claim.id[1..].parse::<u32>().unwrap_or(u32::MAX));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(effect: f64, interval: [f64; 2], limit: Limit) -> Part {
        let measured = Measured {
            effect,
            interval: Some(interval),
            seeds: 20,
        };
        Part::new("test", "a number", measured, limit)
    }

    #[test]
    fn an_interval_decides_only_if_all_of_it_is_on_one_side() {
        let verdict = |low, high| part(0.5, [low, high], Limit::AtLeast(0.4)).verdict;
        assert_eq!(verdict(0.4, 0.6), Verdict::Holds);
        assert_eq!(verdict(0.3, 0.6), Verdict::Undecided);
        assert_eq!(verdict(0.1, 0.39), Verdict::DoesNotHold);
        let verdict = |low, high| part(0.5, [low, high], Limit::AtMost(0.4)).verdict;
        assert_eq!(verdict(0.1, 0.4), Verdict::Holds);
        assert_eq!(verdict(0.41, 0.5), Verdict::DoesNotHold);
        let single = Measured::mean(&[1.0]);
        assert_eq!(Limit::AtLeast(0.0).judge(&single), Verdict::Undecided);
    }

    #[test]
    fn a_claim_is_what_its_parts_are() {
        let holds = || part(1.0, [1.0, 1.0], Limit::AtLeast(0.0));
        let fails = || part(1.0, [1.0, 1.0], Limit::AtMost(0.0));
        let open = || part(1.0, [-1.0, 1.0], Limit::AtMost(0.0));
        assert_eq!(Verdict::of_parts(&[holds(), holds()]), Verdict::Holds);
        assert_eq!(Verdict::of_parts(&[holds(), fails()]), Verdict::HoldsInPart);
        assert_eq!(Verdict::of_parts(&[holds(), open()]), Verdict::HoldsInPart);
        assert_eq!(Verdict::of_parts(&[open(), fails()]), Verdict::Undecided);
        assert_eq!(Verdict::of_parts(&[fails(), fails()]), Verdict::DoesNotHold);
        assert_eq!(Verdict::of_parts(&[open()]), Verdict::Undecided);
    }

    #[test]
    fn claims_are_numbered_without_gaps() {
        for (index, claim) in claims().iter().enumerate() {
            assert_eq!(claim.id, format!("C{}", index + 1));
        }
        assert_eq!(claims().len(), 16);
    }
}
