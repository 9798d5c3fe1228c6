//! Models as a recipe writes them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::block::{AttentionSpec, BlockSpec, MlpSpec, Positions};
use super::dropout::Dropout;
use super::init_std::InitStd;
use crate::settings::{Kind, Settings, Value};
use crate::{Invalid, choices, require, settings, with_kind};

with_kind! {
    /// A model, as a recipe writes it.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ModelSpec {
        /// A causal transformer; attention-only unless its settings say otherwise.
        Transformer(TransformerSpec),
        /// The paper's minimal model.
        Minimal(MinimalSpec),
    }
}

impl ModelSpec {
    /// All kinds of model with their settings.
    pub fn kinds() -> [Kind; 2] {
        [
            TransformerSpec::kind("transformer"),
            MinimalSpec::kind("minimal"),
        ]
    }

    /// Checks that it contains no code that only another program has.
    ///
    /// # Errors
    ///
    /// Names the first block whose code is missing.
    pub fn check_code(&self) -> Result<(), Invalid> {
        let ModelSpec::Transformer(spec) = self else {
            return Ok(());
        };
        for (index, block) in spec.blocks.iter().enumerate() {
            block
                .design()
                .map_err(|error| error.within(&format!("blocks[{index}]")))?;
        }
        Ok(())
    }
}

impl Default for ModelSpec {
    fn default() -> Self {
        ModelSpec::Transformer(TransformerSpec::default())
    }
}

settings! {
    /// A causal transformer: a residual stream and a list of blocks.
    pub struct TransformerSpec {
        /// Number of layers, L.
        #[when(TransformerSpec::is_short)]
        pub layers: usize = 2,
        /// Heads, H: one number, or one per layer.
        #[when(TransformerSpec::is_short)]
        pub heads: Heads = Heads::Every(1),
        /// Width of the residual stream, d.
        pub width: usize = 16,
        /// How positions enter.
        pub positions: Positions = Positions::RelativeKey,
        /// Which layers have an output projection, W_O.
        #[when(|own| own.output_projection != OutputProjection::default())]
        pub output_projection: OutputProjection = OutputProjection::default(),
        /// Whether every layer ends with an MLP.
        #[when(TransformerSpec::is_short)]
        pub mlp: bool = false,
        /// Hidden width of these MLPs, in units of the stream's.
        #[when(|own| own.is_short() && own.mlp_ratio != MlpSpec::default().ratio)]
        pub mlp_ratio: usize = MlpSpec::default().ratio,
        /// The MLP's activation function.
        #[when(|own| own.activation != Activation::default())]
        pub activation: Activation = Activation::default(),
        /// Its blocks in order, in place of `layers`, `heads`, `mlp` and `mlp_ratio`.
        #[when(|own| !own.is_short())]
        pub blocks: Vec<BlockSpec> = Vec::new(),
        /// Whether attention (b_Q, b_K, b_V, b_O) and the output add biases.
        #[when(|own| own.biases)]
        pub biases: bool = false,
        /// Whether the output multiplies with the embedding turned over, P = Eᵀ, which is one tensor then.
        #[when(|own| own.tied)]
        pub tied: bool = false,
        /// Whether every block and the output read a normalised stream.
        pub layer_norm: bool = false,
        /// How often entries are set to zero in training.
        #[when(|own| own.dropout != Dropout::default())]
        pub dropout: Dropout = Dropout::default(),
        /// Standard deviation of the initial weights: one number, one by group of tensors, or "lecun-normal".
        pub init_std: InitStd = InitStd::default(),
        /// Where training starts.
        pub start: TransformerStart = TransformerStart::Random {},
    }
}

impl Value for Heads {
    fn text(&self) -> Option<String> {
        match self {
            Heads::Every(count) => count.text(),
            Heads::PerLayer(counts) => Some(format!("{counts:?}")),
        }
    }
}

impl Value for Dropout {
    fn text(&self) -> Option<String> {
        match self {
            Dropout::Everywhere(rate) => rate.text(),
            Dropout::ByPlace(_) => None,
        }
    }
}

impl Value for InitStd {
    fn text(&self) -> Option<String> {
        match self {
            InitStd::Every(std) => std.text(),
            InitStd::ByGroup(_) | InitStd::ByShape(_) => None,
        }
    }
}

impl Value for TransformerStart {
    fn text(&self) -> Option<String> {
        let is_random = matches!(self, TransformerStart::Random {});
        is_random.then(|| "\"random\"".to_owned())
    }
}

impl Value for MinimalStart {
    fn text(&self) -> Option<String> {
        match self {
            MinimalStart::Constant { w, v } => {
                Some(format!("{{ kind = \"constant\", w = {w:?}, v = {v:?} }}"))
            }
            _ => None,
        }
    }
}

impl TransformerSpec {
    /// Whether it says how many layers there are, and not which blocks.
    fn is_short(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Its blocks, in order, whether it lists them or not.
    ///
    /// # Errors
    ///
    /// If it says both how many layers there are and which blocks, or too many of either.
    pub fn block_list(&self) -> Result<Cow<'_, [BlockSpec]>, Invalid> {
        if self.is_short() {
            let mut blocks = Vec::new();
            for heads in self.heads.resolve(self.layers)? {
                blocks.push(BlockSpec::Attention(AttentionSpec {
                    heads,
                    ..AttentionSpec::default()
                }));
                if self.mlp {
                    let ratio = self.mlp_ratio;
                    MlpSpec::check_ratio("mlp_ratio", ratio)?;
                    blocks.push(BlockSpec::Mlp(MlpSpec {
                        ratio,
                        ..MlpSpec::default()
                    }));
                }
            }
            return Ok(blocks.into());
        }
        let count = self.blocks.len();
        let allowed = format!("at most {MAX_BLOCKS} blocks");
        require(
            count <= MAX_BLOCKS,
            "blocks",
            format!("{count} blocks"),
            &allowed,
        )?;
        let unset = Self::default();
        for (field, value, by_default) in [
            ("layers", self.layers.text(), unset.layers.text()),
            ("heads", self.heads.text(), unset.heads.text()),
            ("mlp", self.mlp.text(), unset.mlp.text()),
            ("mlp_ratio", self.mlp_ratio.text(), unset.mlp_ratio.text()),
        ] {
            let allowed = "leave it unset beside blocks, which list every layer";
            let is_unset = value == by_default;
            require(is_unset, field, value.unwrap_or_default(), allowed)?;
        }
        Ok((&self.blocks).into())
    }
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

/// The largest number of layers, and of blocks.
const MAX_LAYERS: usize = 64;
const MAX_BLOCKS: usize = 128;

impl Heads {
    /// One number per layer.
    fn resolve(&self, layers: usize) -> Result<Vec<usize>, Invalid> {
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
        Ok(heads)
    }
}

choices! {
    /// Which layers of a transformer multiply what their heads found by W_O.
    pub enum OutputProjection {
        /// Those with several heads. With one head, W_V can do the same.
        SeveralHeads = "several-heads",
        /// All: what the paper's released code trains.
        Always = "always",
    }
}

choices! {
    /// The activation function of an MLP.
    pub enum Activation {
        /// x Φ(x), in its tanh form.
        Gelu = "gelu",
        /// max(x, 0)
        Relu = "relu",
        /// x Φ(x), with the normal distribution's Φ itself.
        GeluExact = "gelu-exact",
    }
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

settings! {
    /// The paper's minimal model.
    pub struct MinimalSpec {
        /// How the positional weights enter.
        pub form: MinimalForm = MinimalForm::Linear,
        /// Where training starts.
        pub start: MinimalStart = MinimalStart::Constant { w: 0.0, v: 0.01 },
    }
}

choices! {
    /// The first layer of the minimal model.
    pub enum MinimalForm {
        /// M_ij = v_{i−j}: the paper's equation.
        Linear = "linear",
        /// M_ij = softmax over j ≤ i of v_{i−j}: what the paper's released code trains, with its mask fixed.
        Softmax = "softmax",
    }
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
