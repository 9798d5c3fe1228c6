//! Models as a recipe writes them.

use serde::{Deserialize, Serialize};

use super::block::{AttentionSpec, Design, MlpSpec};
use super::dropout::Dropout;
use super::init_std::InitStd;
use crate::with_kind;
use crate::{Invalid, require};

with_kind! {
    /// A model, as a recipe writes it.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ModelSpec {
        /// A causal transformer; attention-only unless `mlp` is set.
        Transformer(TransformerSpec),
        /// The paper's minimal model.
        Minimal(MinimalSpec),
    }
}

impl Default for ModelSpec {
    fn default() -> Self {
        ModelSpec::Transformer(TransformerSpec::default())
    }
}

/// Settings of a transformer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransformerSpec {
    /// Number of layers, L.
    pub layers: usize,
    /// Heads, H: one number, or one per layer.
    pub heads: Heads,
    /// Width of the residual stream, d.
    pub width: usize,
    /// How positions enter.
    pub positions: Positions,
    /// Which layers have an output projection, W_O.
    #[serde(skip_serializing_if = "is_default")]
    pub output_projection: OutputProjection,
    /// Whether every layer ends with an MLP of hidden width 4d.
    pub mlp: bool,
    /// The MLP's activation function.
    #[serde(skip_serializing_if = "is_default")]
    pub activation: Activation,
    /// Whether attention, MLP and output each read a normalised stream.
    pub layer_norm: bool,
    /// How often entries are set to zero in training.
    #[serde(skip_serializing_if = "is_default")]
    pub dropout: Dropout,
    /// Standard deviation of the initial weights: one number, or one by group of tensors.
    pub init_std: InitStd,
    /// Where training starts.
    pub start: TransformerStart,
}

impl Default for TransformerSpec {
    fn default() -> Self {
        Self {
            layers: 2,
            heads: Heads::Every(1),
            width: 16,
            positions: Positions::RelativeKey,
            output_projection: OutputProjection::default(),
            mlp: false,
            activation: Activation::default(),
            layer_norm: false,
            dropout: Dropout::default(),
            init_std: InitStd::default(),
            start: TransformerStart::Random {},
        }
    }
}

impl TransformerSpec {
    /// Its blocks, in order.
    pub(super) fn block_list(&self) -> Result<Vec<BlockSpec>, Invalid> {
        let mut blocks = Vec::new();
        for heads in self.heads.resolve(self.layers, self.width)? {
            let positions = None;
            blocks.push(BlockSpec::Attention(AttentionSpec { heads, positions }));
            if self.mlp {
                blocks.push(BlockSpec::Mlp(MlpSpec::default()));
            }
        }
        Ok(blocks)
    }
}

with_kind! {
    /// A block of a transformer, as a recipe writes it.
    #[derive(Clone, Debug, PartialEq)]
    pub enum BlockSpec {
        /// Causal attention.
        Attention(AttentionSpec),
        /// An MLP.
        Mlp(MlpSpec),
    }
}

impl BlockSpec {
    /// The kind of block with its settings.
    pub(super) fn design(&self) -> &dyn Design {
        match self {
            BlockSpec::Attention(design) => design,
            BlockSpec::Mlp(design) => design,
        }
    }
}

/// Settings that came later are written only where they differ from the default, so that recipes without them
/// keep their text, and runs their identity.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Heads of a transformer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a number of heads, or a list with one per layer"
)]
pub enum Heads {
    /// The same number in every layer.
    Every(usize),
    /// One number per layer.
    PerLayer(Vec<usize>),
}

/// The largest number of layers.
const MAX_LAYERS: usize = 64;

impl Heads {
    /// One number per layer, each dividing `width`.
    pub(super) fn resolve(&self, layers: usize, width: usize) -> Result<Vec<usize>, Invalid> {
        // Checked first, because the list below has one entry per layer.
        require(
            (1..=MAX_LAYERS).contains(&layers),
            "layers",
            layers,
            &format!("a number of layers from 1 to {MAX_LAYERS}"),
        )?;
        let heads = match self {
            Heads::Every(count) => vec![*count; layers],
            Heads::PerLayer(counts) => counts.clone(),
        };
        require(
            heads.len() == layers,
            "heads",
            format!("{heads:?}"),
            &format!("one number, or one for each of the {layers} layers"),
        )?;
        for &count in &heads {
            require(
                count >= 1 && width.is_multiple_of(count),
                "heads",
                count,
                &format!("a number of heads that divides the width, {width}"),
            )?;
        }
        Ok(heads)
    }
}

/// How positions enter a transformer's attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// A_ij = (q_i + v_{i−j}) · k_j / √d_head: the paper's equation.
    RelativeKey,
    /// A_ij = q_i · (k_j + v_{i−j}) / √d_head: what the paper's released code trains.
    RelativeQuery,
    /// A learned vector per position, added to the embedding.
    Absolute,
    /// None at all: order enters through the causal mask only.
    None,
}

impl Positions {
    /// Whether each layer has a table of relative positions.
    pub fn is_relative(self) -> bool {
        matches!(self, Positions::RelativeKey | Positions::RelativeQuery)
    }
}

/// Which layers of a transformer multiply what their heads found by W_O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputProjection {
    /// Those with several heads. With one head, W_V can do the same.
    #[default]
    SeveralHeads,
    /// All: what the paper's released code trains.
    Always,
}

/// The activation function of an MLP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// x Φ(x), in its tanh form.
    #[default]
    Gelu,
    /// max(x, 0)
    Relu,
}

with_kind! {
    /// Initial weights of a transformer.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TransformerStart {
        /// Normal with standard deviation `init_std`; gains one, biases zero.
        Random {},
        /// The paper's two-layer construction of the bigram strategy.
        Bigram {
            /// How strongly attention prefers its target: scores differ by this much.
            sharpness: f64,
            /// Factor from counted frequencies to logits (a in the paper's footnote).
            #[serde(default = "one")]
            output_scale: f64,
        },
    }
}

fn one() -> f64 {
    1.0
}

/// Settings of the minimal model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MinimalSpec {
    /// How the positional weights enter.
    pub form: MinimalForm,
    /// Where training starts.
    pub start: MinimalStart,
}

impl Default for MinimalSpec {
    fn default() -> Self {
        Self {
            form: MinimalForm::Linear,
            start: MinimalStart::Constant { w: 0.0, v: 0.01 },
        }
    }
}

/// The first layer of the minimal model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinimalForm {
    /// M_ij = v_{i−j}: the paper's equation.
    Linear,
    /// M_ij = softmax over j ≤ i of v_{i−j}: what the paper's released code trains, with its mask fixed.
    Softmax,
}

with_kind! {
    /// Initial weights of the minimal model.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MinimalStart {
        /// Every entry of W_k is `w`, every positional weight is `v`.
        Constant {
            /// Entries of W_k.
            w: f64,
            /// Entries of v.
            v: f64,
        },
        /// W_k all ones, v on the current symbol: counts symbols.
        Unigram {},
        /// W_k the identity, v on the previous symbol: counts transitions.
        Bigram {},
    }
}
