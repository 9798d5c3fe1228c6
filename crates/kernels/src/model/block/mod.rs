//! Blocks: what stands between two states of the residual stream.
//!
//! A transformer is a stream and a list of blocks. A block's *readers* read the stream, and its *sources* write to
//! it. Everything that people do to a model happens where they do that, or at a pattern: norms, dropout, recorded
//! activations, interventions. The stream does it, so a block has no line about it, and one from another crate gets
//! it all.
//!
//! A [`Design`] is a kind of block with its settings. Once a model's sizes are known, it becomes a [`Block`], which
//! knows where its tensors are. A [`BlockPass`] computes it on eight sequences side by side, and
//! [`Block::reference`] by its formula.

//! To add a kind, write its file and name it below: in `mod`, `pub use` and `blocks!`.

mod attention;
mod convolution;
mod design;
mod mamba;
mod mlp;
mod simple;

pub use self::attention::{Attention, AttentionSpec, Positions};
pub use self::convolution::{Convolution, ConvolutionSpec};
pub use self::design::*;
pub use self::mamba::{Mamba, MambaSpec};
pub use self::mlp::{Mlp, MlpSpec};
pub use self::simple::{Simple, SimplePass};
pub use super::ops::attention::fast::GROUP;
pub use crate::scratch::Allocator;

use crate::settings::{Kind, Settings};
use crate::{Custom, Invalid, with_kind};

/// Defines the enum of all kinds of blocks, each by its name in Rust, in recipes, and its settings.
macro_rules! blocks {
    ($( $variant:ident = $kind:literal, $spec:ty; )*) => {
        with_kind! {
            /// A block of a transformer, as a recipe writes it.
            #[derive(Clone, Debug, PartialEq)]
            pub enum BlockSpec {
                $(
                    #[doc = concat!("`", $kind, "`")]
                    $variant($spec),
                )*
                /// A block from another crate.
                Custom(Custom<dyn Design>),
            }
        }

        impl BlockSpec {
            /// All built-in kinds with their settings.
            pub fn kinds() -> Vec<Kind> {
                vec![$( <$spec>::kind($kind), )*]
            }

            /// The kind of block with its settings.
            ///
            /// # Errors
            ///
            /// If only another program has its code.
            pub fn design(&self) -> Result<&dyn Design, Invalid> {
                Ok(match self {
                    $( Self::$variant(design) => design, )*
                    Self::Custom(custom) => {
                        custom.check_text("-_")?;
                        &**custom.part()?
                    }
                })
            }
        }
    };
}

blocks! {
    Attention = "attention", AttentionSpec;
    Mlp = "mlp", MlpSpec;
    Convolution = "convolution", ConvolutionSpec;
    Mamba = "mamba", MambaSpec;
}
