//! Claims, their parts, and the rules that decide them.
//!
//! A part is a measure with a limit that was fixed in advance, taken on the runs of one variant of a study.
//! It holds if the whole interval is on the right side of the limit, does not hold if the whole interval is
//! on the wrong side, and is undecided otherwise. Only *core* parts, which put a sentence or a caption to the
//! test, decide a claim; *probes* ask further, and are reported beside it.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::results::Results;
use crate::statistics::{FEWEST, Measurement, Statistic};

/// The outcome of a claim or of one of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// Some of its core parts hold, others fail.
    #[serde(rename = "holds in part")]
    HoldsInPart,
    /// All its core parts fail.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// The seeds are inconclusive.
    Undecided,
    /// There are too few seeds for an interval.
    #[serde(rename = "not judged")]
    NotJudged,
    /// Nothing was trained for it in this variant.
    #[serde(rename = "not run")]
    NotRun,
}

impl Verdict {
    /// All of them, best first.
    pub const ALL: [Verdict; 6] = [
        Verdict::Holds,
        Verdict::HoldsInPart,
        Verdict::DoesNotHold,
        Verdict::Undecided,
        Verdict::NotJudged,
        Verdict::NotRun,
    ];

    /// Its name, as in `claims.json`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided => "undecided",
            Verdict::NotJudged => "not judged",
            Verdict::NotRun => "not run",
        }
    }

    /// The verdict on a claim, from those on its core parts.
    pub fn of_core(parts: &[Verdict]) -> Self {
        let any = |verdict: Verdict| parts.contains(&verdict);
        let all = |verdict: Verdict| parts.iter().all(|&part| part == verdict);
        if all(Verdict::NotRun) {
            return Verdict::NotRun;
        }
        if any(Verdict::NotJudged) || any(Verdict::NotRun) {
            return Verdict::NotJudged;
        }
        if all(Verdict::Holds) || all(Verdict::DoesNotHold) {
            return parts[0];
        }
        match any(Verdict::Holds) && any(Verdict::DoesNotHold) {
            true => Verdict::HoldsInPart,
            false => Verdict::Undecided,
        }
    }
}

/// A limit, and the side of it on which a number must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Limit {
    pub fn text(self) -> String {
        match self {
            Limit::AtLeast(x) => format!("at least {x}"),
            Limit::AtMost(x) => format!("at most {x}"),
        }
    }

    /// What a run counts as in which the measured event did not occur.
    fn worst(self) -> f64 {
        match self {
            Limit::AtLeast(_) => f64::NEG_INFINITY,
            Limit::AtMost(_) => f64::INFINITY,
        }
    }

    fn judge(self, measured: &Measurement) -> Verdict {
        let Some([low, high]) = measured.interval else {
            return match measured.seeds {
                0 => Verdict::NotRun,
                1..FEWEST => Verdict::NotJudged,
                _ => Verdict::Undecided,
            };
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

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = [
            ("at least ", Limit::AtLeast as fn(f64) -> Self),
            ("at most ", Limit::AtMost),
        ]
        .iter()
        .find_map(|(words, limit)| Some(limit(text.strip_prefix(words)?.parse().ok()?)));
        found.ok_or_else(|| D::Error::custom(format!("{text}: expected \"at least 0.5\"")))
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// Whether a part decides its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It tests a sentence or a caption, and decides the claim.
    Core,
    /// It asks further, and decides nothing.
    Probe,
}

/// A claim, and how it is checked: a table of a study's `claims.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// C1, C2, …
    pub id: String,
    pub(crate) title: String,
    /// In our own words, in a sentence or two.
    pub(crate) statement: String,
    /// The question that it answers a part of; the page groups claims by it.
    pub question: String,
    pub(crate) figure: u8,
    /// What decides it: sentences and captions, put to the test.
    pub(crate) core: Vec<Part>,
    /// What is asked further, and decides nothing.
    #[serde(default)]
    pub(crate) probes: Vec<Part>,
    /// Variants in which not all of it is trained, and why.
    #[serde(default)]
    pub(crate) not_run: Vec<(String, String)>,
    #[serde(default)]
    remark: String,
    /// The same where it takes its numbers from the runs.
    #[serde(skip)]
    computed_remark: Option<Remark>,
}

/// What the runs say about a claim beyond its parts; empty if they say nothing.
pub(crate) type Remark = fn(&Results) -> String;

/// One measure of a claim, on the runs of one or more variants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// What it is measured on, such as `k = {2,3}`; braces as in a shell.
    pub on: String,
    /// Where the study's source says so, for a core part; why we ask, for a probe.
    pub place: String,
    #[serde(rename = "measure")]
    pub statistic: Statistic,
    /// What that is, in words.
    #[serde(skip)]
    pub measure: String,
    pub limit: Limit,
    pub why: String,
    /// The experiments of each thing that it is measured on, by variant: `printed: minimal; recommended: main`,
    /// with braces as in a shell. Empty for a part that needs no training: it counts in every variant.
    #[serde(default)]
    pub runs: Vec<String>,
}

/// A part in one variant.
pub(crate) struct Row {
    /// The number of what it is measured on, and what that is.
    case: usize,
    pub on: String,
    /// The variant; empty if it needs no training.
    pub variant: &'static str,
    pub experiments: Vec<String>,
}

/// The words that a pattern stands for, as in a shell: `a{b,c}d` is `abd` and `acd`. None for an empty one.
pub(crate) fn words(pattern: &str) -> Vec<String> {
    fn expanded(pattern: &str) -> Vec<String> {
        let Some((before, (choices, after))) = pattern
            .split_once('{')
            .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        else {
            return vec![pattern.to_owned()];
        };
        let after = expanded(after);
        let each = choices.split(',');
        each.flat_map(|choice| {
            after
                .iter()
                .map(move |after| [before, choice, after].concat())
        })
        .collect()
    }
    let mut words = expanded(pattern);
    words.retain(|word| !word.is_empty());
    words
}

/// A part, judged in one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedPart {
    pub role: Role,
    /// The variant; empty if it needs no training.
    pub variant: &'static str,
    pub on: String,
    pub place: &'static str,
    pub measure: &'static str,
    /// The median over seeds, or the share of seeds; none if most runs lack the measured event.
    pub effect: Option<f64>,
    /// Its interval. An end is missing where it depends on runs without the measured event.
    pub interval: Option<[Option<f64>; 2]>,
    pub seeds: usize,
    /// The number of runs without the measured event; they count as the worst value.
    pub missing: usize,
    pub limit: Limit,
    pub why: &'static str,
    pub verdict: Verdict,
}

/// The verdict on a claim in one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InVariant {
    pub variant: &'static str,
    pub verdict: Verdict,
    /// What was not trained, and why; empty if all was.
    pub why_not: &'static str,
}

/// A claim, decided in every variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// C1, C2, …
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    pub(crate) statement: &'static str,
    pub(crate) question: &'static str,
    pub(crate) figure: u8,
    /// The outcomes.
    pub verdicts: Vec<InVariant>,
    /// All parts in all variants.
    pub parts: Vec<JudgedPart>,
    /// What else the runs say about it; may be empty.
    pub remark: String,
}

impl Part {
    /// It in every variant, for each thing that it is measured on.
    pub(crate) fn rows(&'static self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (case, on) in words(&self.on).into_iter().enumerate() {
            let runs = self.runs.get(case).map_or("", String::as_str);
            rows.extend(runs.split("; ").map(|runs| {
                let (variant, experiments) = runs.split_once(": ").unwrap_or_default();
                Row {
                    case,
                    on: on.clone(),
                    variant,
                    experiments: words(experiments),
                }
            }));
        }
        rows
    }

    /// Judges it in each of its rows. An interval misses the truth with probability `error` at most.
    pub(crate) fn judge(
        &'static self,
        role: Role,
        results: &Results,
        error: f64,
    ) -> Vec<JudgedPart> {
        let judge = |row: Row| {
            let of = row.experiments.iter().map(|id| results.of(id));
            let sample = self.statistic.sample(&of.collect::<Vec<_>>(), row.case);
            let measured = Measurement::of(&sample, self.limit.worst(), error);
            let finite = |x: f64| Some(x).filter(|x| x.is_finite());
            JudgedPart {
                role,
                variant: row.variant,
                on: row.on,
                place: &self.place,
                measure: &self.measure,
                effect: finite(measured.effect),
                interval: measured.interval.map(|ends| ends.map(finite)),
                seeds: measured.seeds,
                missing: measured.missing,
                limit: self.limit,
                why: &self.why,
                verdict: self.limit.judge(&measured),
            }
        };
        self.rows().into_iter().map(judge).collect()
    }
}

impl Claim {
    /// All claims in a text like `claims.toml`, which is part of the program, with remarks by the name of
    /// their claim.
    ///
    /// # Panics
    ///
    /// If it is not such a text.
    pub(crate) fn all_in(text: &str, remarks: &[(&str, Remark)]) -> Vec<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Claims {
            texts: BTreeMap<String, String>,
            /// What statistics are, by their names.
            measures: BTreeMap<String, String>,
            claim: Vec<Claim>,
        }
        let found: Claims = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
        let Claims {
            texts,
            measures,
            mut claim,
        } = found;
        let insert = |text: &mut String| {
            let name = text
                .strip_prefix('{')
                .and_then(|text| text.strip_suffix('}'));
            if let Some(found) = name.and_then(|name| texts.get(name)) {
                text.clone_from(found);
            }
        };
        for claim in &mut claim {
            claim.not_run.iter_mut().for_each(|(_, why)| insert(why));
            for part in claim.core.iter_mut().chain(&mut claim.probes) {
                part.measure.clone_from(&measures[part.statistic.0]);
                insert(&mut part.measure);
                insert(&mut part.place);
                insert(&mut part.why);
                part.runs.iter_mut().for_each(insert);
            }
            let own = remarks.iter().find(|(id, _)| *id == claim.id);
            claim.computed_remark = own.map(|(_, remark)| *remark);
        }
        claim
    }

    /// Its parts, core parts first.
    pub(crate) fn parts(&'static self) -> impl Iterator<Item = (Role, &'static Part)> {
        let core = self.core.iter().map(|part| (Role::Core, part));
        core.chain(self.probes.iter().map(|part| (Role::Probe, part)))
    }

    /// The experiments it needs.
    pub fn needs(&'static self) -> impl Iterator<Item = String> {
        let rows = self.parts().flat_map(|(_, part)| part.rows());
        rows.flat_map(|row| row.experiments)
    }

    /// Decides it in every variant of its study. An interval misses the truth with probability `error` at
    /// most.
    pub fn decide(
        &'static self,
        variants: &[&'static str],
        results: &Results,
        error: f64,
    ) -> Decision {
        let judged = self.parts();
        let judged = judged.flat_map(|(role, part)| part.judge(role, results, error));
        let parts: Vec<JudgedPart> = judged.collect();
        let in_variant = |&variant: &&'static str| {
            let why_not = self.not_run.iter().find(|(name, _)| *name == variant);
            let core = parts.iter().filter(|part| part.role == Role::Core);
            let core = core.filter(|part| part.variant.is_empty() || part.variant == variant);
            let core: Vec<Verdict> = core.map(|part| part.verdict).collect();
            InVariant {
                variant,
                verdict: Verdict::of_core(&core),
                why_not: why_not.map_or("", |(_, why)| why.as_str()),
            }
        };
        Decision {
            id: &self.id,
            title: &self.title,
            statement: &self.statement,
            question: &self.question,
            figure: self.figure,
            verdicts: variants.iter().map(in_variant).collect(),
            remark: self
                .computed_remark
                .map_or_else(|| self.remark.clone(), |of| of(results)),
            parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(low: f64, high: f64, limit: Limit) -> Verdict {
        limit.judge(&Measurement {
            effect: 0.5 * (low + high),
            interval: Some([low, high]),
            seeds: 20,
            missing: 0,
        })
    }

    #[test]
    fn an_interval_decides_only_if_all_of_it_is_on_one_side() {
        let at_least = Limit::AtLeast(0.4);
        assert_eq!(verdict(0.4, 0.6, at_least), Verdict::Holds);
        assert_eq!(verdict(0.3, 0.6, at_least), Verdict::Undecided);
        assert_eq!(verdict(0.1, 0.39, at_least), Verdict::DoesNotHold);
        let at_most = Limit::AtMost(0.4);
        assert_eq!(verdict(0.1, 0.4, at_most), Verdict::Holds);
        assert_eq!(verdict(0.41, 0.5, at_most), Verdict::DoesNotHold);
        assert_eq!(verdict(0.1, f64::INFINITY, at_most), Verdict::Undecided);
        let few = Measurement::median(&[1.0; 5], 0.05);
        assert_eq!(at_least.judge(&few), Verdict::NotJudged);
    }

    #[test]
    fn patterns_are_expanded_as_in_a_shell() {
        assert_eq!(words("a{,-b}-{1,2}"), ["a-1", "a-2", "a-b-1", "a-b-2"]);
        assert_eq!(words("main"), ["main"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn a_claim_is_what_its_core_parts_are() {
        use Verdict::{DoesNotHold, Holds, HoldsInPart, NotJudged, NotRun, Undecided};
        let of = |parts: &[Verdict]| Verdict::of_core(parts);
        assert_eq!(of(&[Holds, Holds]), Holds);
        assert_eq!(of(&[Holds, DoesNotHold]), HoldsInPart);
        assert_eq!(of(&[Holds, DoesNotHold, Undecided]), HoldsInPart);
        assert_eq!(of(&[Holds, Undecided]), Undecided);
        assert_eq!(of(&[Undecided, DoesNotHold]), Undecided);
        assert_eq!(of(&[DoesNotHold, DoesNotHold]), DoesNotHold);
        assert_eq!(of(&[Holds, NotJudged]), NotJudged);
        assert_eq!(of(&[Holds, NotRun]), NotJudged);
        assert_eq!(of(&[]), NotRun);
    }
}
