//! Where each named tensor lives in a model's flat vector of parameters.

use std::ops::Range;

/// A named tensor of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Dotted name, as in snapshot files: `layers.0.W_Q`.
    pub name: String,
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// Place in the flat vector.
    pub range: Range<usize>,
    /// Whether weight decay applies by default: true for matrices that multiply activations, false for
    /// embeddings, positional tables, gains and biases.
    pub decays: bool,
}

impl Tensor {
    /// The part of the model that holds it: `embed`, `layers.0`; `None` if it stands alone.
    fn part(&self) -> Option<&str> {
        let depth = if self.name.starts_with("layers.") {
            2
        } else {
            1
        };
        let dot = self.name.match_indices('.').nth(depth - 1)?.0;
        Some(&self.name[..dot])
    }

    /// Whether `group` names this tensor or a part of the model that contains it: `layers.1`, `layers.1.W_K`
    /// and `W_K` all name `layers.1.W_K`, and `all` names every tensor.
    pub fn is_in(&self, group: &str) -> bool {
        if group == ALL {
            return true;
        }
        let name: Vec<&str> = self.name.split('.').collect();
        let wanted: Vec<&str> = group.split('.').collect();
        name.starts_with(&wanted) || name.ends_with(&wanted)
    }
}

/// The group of all tensors.
const ALL: &str = "all";

/// What the entries of a tensor are before training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Normal, with the standard deviation that the model is set to.
    Normal,
    /// All the same.
    Constant(f32),
}

/// All tensors of a model, in the order of its flat vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    tensors: Vec<Tensor>,
    starts: Vec<Start>,
}

impl Layout {
    /// Appends a tensor that starts at random, and returns its place.
    #[doc(hidden)]
    pub fn push(&mut self, name: String, shape: &[usize], decays: bool) -> Range<usize> {
        self.push_from(name, shape, decays, Start::Normal)
    }

    /// Appends a tensor and returns its place.
    #[doc(hidden)]
    pub fn push_from(
        &mut self,
        name: String,
        shape: &[usize],
        decays: bool,
        from: Start,
    ) -> Range<usize> {
        let start = self.len();
        let range = start..start + shape.iter().product::<usize>();
        self.tensors.push(Tensor {
            name,
            shape: shape.to_vec(),
            range: range.clone(),
            decays,
        });
        self.starts.push(from);
        range
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.tensors.last().map_or(0, |tensor| tensor.range.end)
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The tensors in order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The tensors in order, each with how it starts.
    pub(super) fn starts(&self) -> impl Iterator<Item = (&Tensor, Start)> {
        self.tensors.iter().zip(self.starts.iter().copied())
    }

    /// The tensors that `group` names; see [`Tensor::is_in`].
    pub fn in_group(&self, group: &str) -> impl Iterator<Item = &Tensor> {
        self.tensors
            .iter()
            .filter(move |tensor| tensor.is_in(group))
    }

    /// The names of every part of the model and of every tensor, each part before its tensors.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        let mut last = None;
        for tensor in &self.tensors {
            let part = tensor.part();
            if part != last {
                groups.extend(part);
                last = part;
            }
            groups.push(&tensor.name);
        }
        groups
    }

    /// The tensor called `name`.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}
