//! Attention patterns with a name, to which a head can be clamped.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Invalid;

/// An attention pattern with a name: which positions j ≤ i a position i attends to, all of them equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// All positions.
    Uniform,
    /// j = i − lag. Positions before the first such pair attend to the first position.
    Lag(usize),
    /// Positions with the current symbol, the current one included: x_j = x_i.
    SameToken,
    /// Positions that followed an earlier occurrence of the current symbol: x_{j−1} = x_i. All positions, if
    /// there is no such one.
    Induction,
}

impl Target {
    /// j = i − 1.
    pub const PREVIOUS_TOKEN: Self = Self::Lag(1);

    /// How it is written; `lag:N` stands for any lag.
    pub const NAMES: [&'static str; 5] = [
        "uniform",
        "previous-token",
        "same-token",
        "induction",
        "lag:N",
    ];

    /// Whether the last of `symbols` attends to position `j`, where the definition says so.
    pub fn attends(self, symbols: &[u8], j: usize) -> bool {
        let i = symbols.len() - 1;
        match self {
            Target::Uniform => true,
            Target::Lag(lag) => j == i.saturating_sub(lag),
            Target::SameToken => symbols[j] == symbols[i],
            Target::Induction => j >= 1 && symbols[j - 1] == symbols[i],
        }
    }

    /// Whether it depends on the sequence.
    pub fn reads_symbols(self) -> bool {
        matches!(self, Target::SameToken | Target::Induction)
    }

    /// The last symbol's attention on every position, `[i + 1]`.
    pub fn row(self, symbols: &[u8]) -> Vec<f64> {
        let places = 0..symbols.len();
        let attended: Vec<bool> = places.map(|j| self.attends(symbols, j)).collect();
        let count = attended.iter().filter(|&&attended| attended).count();
        if count == 0 {
            return vec![1.0 / symbols.len() as f64; symbols.len()];
        }
        let weight = |attended: bool| if attended { 1.0 / count as f64 } else { 0.0 };
        attended.into_iter().map(weight).collect()
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Uniform => f.write_str("uniform"),
            Target::Lag(1) => f.write_str("previous-token"),
            Target::Lag(lag) => write!(f, "lag:{lag}"),
            Target::SameToken => f.write_str("same-token"),
            Target::Induction => f.write_str("induction"),
        }
    }
}

impl FromStr for Target {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Ok(match text {
            "uniform" => Target::Uniform,
            "previous-token" => Target::PREVIOUS_TOKEN,
            "same-token" => Target::SameToken,
            "induction" => Target::Induction,
            _ => {
                let lag = text.strip_prefix("lag:").and_then(|lag| lag.parse().ok());
                let allowed = format!("one of {}", Self::NAMES.join(", "));
                let lag =
                    lag.ok_or_else(|| Invalid::new("pattern", format!("\"{text}\""), allowed));
                Target::Lag(lag?)
            }
        })
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|invalid: Invalid| serde::de::Error::custom(invalid.allowed))
    }
}
