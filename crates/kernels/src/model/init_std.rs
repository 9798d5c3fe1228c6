//! The scale of random initial weights: one number, or one by group of tensors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::layout::{Layout, Tensor};
use crate::{Invalid, require};

/// Standard deviation of the initial weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a number, a table of numbers such as { default = 0.02, W_O = 0.01 }, or \"lecun-normal\""
)]
pub enum InitStd {
    /// The same for all.
    Every(f64),
    /// By group, named as in `train.groups`; [`DEFAULT`](Self::DEFAULT) is that of all others. A tensor may
    /// be in one group, or have a number under its own name.
    ByGroup(BTreeMap<String, f64>),
    /// By the shape of each tensor.
    ByShape(ByShape),
}

/// A standard deviation that follows from a tensor's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ByShape {
    /// 1/√n for a matrix that multiplies rows of n numbers; 1/√d for tables of vectors of d numbers, such as the
    /// embedding, so that a vector's length is about one.
    LecunNormal,
}

impl ByShape {
    fn of(self, tensor: &Tensor) -> f64 {
        let columns = tensor.shape.last().copied().unwrap_or(1);
        let terms = match tensor.decays {
            true => tensor.range.len() / columns,
            false => columns,
        };
        1.0 / (terms as f64).sqrt()
    }
}

impl Default for InitStd {
    fn default() -> Self {
        InitStd::Every(Self::UNSET)
    }
}

impl From<f64> for InitStd {
    fn from(std: f64) -> Self {
        InitStd::Every(std)
    }
}

impl InitStd {
    /// The key of the tensors that no group names.
    pub const DEFAULT: &str = "default";

    /// What is used if nothing is set.
    const UNSET: f64 = 0.02;

    /// Checks the numbers, and that every group names tensors that are drawn at random.
    pub(super) fn check(&self, layout: &Layout) -> Result<(), Invalid> {
        let in_range = |field: &str, std: f64| {
            let allowed = "a number from 0 to 1000";
            require((0.0..=1000.0).contains(&std), field, std, allowed)
        };
        let groups = match self {
            InitStd::Every(std) => return in_range("init_std", *std),
            InitStd::ByShape(_) => return Ok(()),
            InitStd::ByGroup(groups) => groups,
        };
        let drawn = || layout.tensors().iter().filter(|tensor| is_drawn(tensor));
        for (group, &std) in groups {
            let field = field(group);
            in_range(&field, std)?;
            if group == Self::DEFAULT || drawn().any(|tensor| tensor.is_in(group)) {
                continue;
            }
            let names: Vec<&str> = drawn().map(|tensor| tensor.name.as_str()).collect();
            let allowed = format!(
                "\"{}\", or a tensor that is drawn at random, the part of the model that holds it or the last \
                 part of its name; these are drawn: {}",
                Self::DEFAULT,
                names.join(", ")
            );
            return Err(Invalid::new(field, std, allowed));
        }
        for tensor in drawn().filter(|tensor| !groups.contains_key(&tensor.name)) {
            let mut naming = groups.keys().filter(|group| tensor.is_in(group));
            if let (Some(one), Some(other)) = (naming.next(), naming.next()) {
                let allowed = format!(
                    "{} is in {one} and in {other}: leave one of them out, or give it a number of its own",
                    tensor.name
                );
                return Err(Invalid::new(field(other), groups[other], allowed));
            }
        }
        Ok(())
    }

    /// The standard deviation of one tensor.
    pub(super) fn of(&self, tensor: &Tensor) -> f64 {
        let groups = match self {
            InitStd::Every(std) => return *std,
            InitStd::ByShape(shape) => return shape.of(tensor),
            InitStd::ByGroup(groups) => groups,
        };
        let group = || groups.iter().find(|(group, _)| tensor.is_in(group));
        let default = || groups.get(Self::DEFAULT).copied();
        (groups.get(&tensor.name).copied())
            .or_else(|| group().map(|(_, &std)| std))
            .or_else(default)
            .unwrap_or(Self::UNSET)
    }
}

/// The path of a group's number; a dotted name is a quoted key.
fn field(group: &str) -> String {
    match group.contains('.') {
        true => format!("init_std.\"{group}\""),
        false => format!("init_std.{group}"),
    }
}

/// Names of tensors that start from the same numbers in every model.
const FIXED: [&str; 8] = ["gain", "bias", "b_in", "b_out", "b_Q", "b_K", "b_V", "b_O"];

/// Whether a tensor starts from random numbers: gains start at one, and biases at zero.
pub(super) fn is_drawn(tensor: &Tensor) -> bool {
    !FIXED.iter().any(|fixed| tensor.is_in(fixed))
}
