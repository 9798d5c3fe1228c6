//! The transformer: its shape and parameters. Two fast paths compute it: [`residual`] for every architecture,
//! and [`coordinates`] for those (or for the first layer of those) that need only a few numbers per position.
//!
//! ```text
//! h⁰_i = E[x_i] (+ absolute position)
//! h′   = h + Attn(norm h) (W_O)          for every layer
//! h″   = h′ + MLP(norm h′)               if it has one: activation(x W_in + b_in) W_out + b_out
//! logits = norm(h) P
//! ```
//!
//! `norm` is the identity unless `layer_norm` is set. Row vectors multiply matrices from the left; heads are
//! contiguous blocks of columns.

pub mod coordinates;
pub(super) mod residual;

use std::ops::Range;

use super::dropout::Rates;
use super::layout::Layout;
use super::ops::attention::RelativeTerm;
use super::spec::{Activation, OutputProjection, Positions, TransformerSpec};
use crate::{Invalid, require};

/// A transformer's shape and where its parameters are.
#[derive(Clone, Debug)]
pub struct Transformer {
    #[doc(hidden)]
    pub states: usize,
    #[doc(hidden)]
    pub length: usize,
    #[doc(hidden)]
    pub width: usize,
    #[doc(hidden)]
    pub relative: RelativeTerm,
    /// [k, d]
    #[doc(hidden)]
    pub embed: Range<usize>,
    /// [t, d], for absolute positions
    #[doc(hidden)]
    pub embed_positions: Option<Range<usize>>,
    #[doc(hidden)]
    pub layers: Vec<Layer>,
    #[doc(hidden)]
    pub activation: Activation,
    /// What training drops
    #[doc(hidden)]
    pub dropout: Rates,
    #[doc(hidden)]
    pub final_norm: Option<Norm>,
    /// [d, k]
    #[doc(hidden)]
    pub unembed: Range<usize>,
    #[doc(hidden)]
    pub layout: Layout,
}

/// Where one layer's parameters are.
#[derive(Clone, Debug)]
pub struct Layer {
    pub heads: usize,
    pub norm: Option<Norm>,
    /// [d, d] each
    pub w_q: Range<usize>,
    pub w_k: Range<usize>,
    pub w_v: Range<usize>,
    /// [d, d], where there is an output projection
    pub w_o: Option<Range<usize>>,
    /// [t, d], for relative positions
    pub v: Option<Range<usize>>,
    pub mlp: Option<Mlp>,
}

/// Where a normalisation's gain and bias are, `[d]` each.
#[derive(Clone, Debug)]
pub struct Norm {
    pub gain: Range<usize>,
    pub bias: Range<usize>,
}

/// Where an MLP's parameters are.
#[derive(Clone, Debug)]
pub struct Mlp {
    pub norm: Option<Norm>,
    /// [d, 4d]
    pub w_in: Range<usize>,
    /// `[4d]`
    pub b_in: Range<usize>,
    /// [4d, d]
    pub w_out: Range<usize>,
    /// `[d]`
    pub b_out: Range<usize>,
}

/// Hidden width of the MLP, in units of d.
const MLP_FACTOR: usize = 4;

const MAX_WIDTH: usize = 4096;

impl Transformer {
    /// Checks the settings and lays out the parameters for k = `states` and t = `length`.
    pub fn new(spec: &TransformerSpec, states: usize, length: usize) -> Result<Self, Invalid> {
        require(
            (1..=MAX_WIDTH).contains(&spec.width),
            "width",
            spec.width,
            &format!("a width from 1 to {MAX_WIDTH}"),
        )?;
        let width = spec.width;
        let heads = spec.heads.resolve(spec.layers, width)?;
        let mut layout = Layout::default();
        let embed = layout.push("embed.E".into(), &[states, width], false);
        let embed_positions = (spec.positions == Positions::Absolute)
            .then(|| layout.push("embed.positions".into(), &[length, width], false));
        let layers = (0..spec.layers)
            .map(|l| Layer {
                heads: heads[l],
                norm: norm(&mut layout, spec, &format!("layers.{l}.attn_norm")),
                w_q: layout.push(format!("layers.{l}.W_Q"), &[width, width], true),
                w_k: layout.push(format!("layers.{l}.W_K"), &[width, width], true),
                w_v: layout.push(format!("layers.{l}.W_V"), &[width, width], true),
                w_o: (heads[l] > 1 || spec.output_projection == OutputProjection::Always)
                    .then(|| layout.push(format!("layers.{l}.W_O"), &[width, width], true)),
                v: spec
                    .positions
                    .is_relative()
                    .then(|| layout.push(format!("layers.{l}.v"), &[length, width], false)),
                mlp: spec.mlp.then(|| mlp(&mut layout, spec, l)),
            })
            .collect();
        let final_norm = norm(&mut layout, spec, "final_norm");
        let unembed = layout.push("unembed.P".into(), &[width, states], true);
        spec.init_std.check(&layout)?;
        Ok(Self {
            states,
            length,
            width,
            relative: match spec.positions {
                Positions::RelativeKey => RelativeTerm::Key,
                Positions::RelativeQuery => RelativeTerm::Query,
                Positions::Absolute | Positions::None => RelativeTerm::Absent,
            },
            embed,
            embed_positions,
            layers,
            activation: spec.activation,
            dropout: spec.dropout.resolve()?,
            final_norm,
            unembed,
            layout,
        })
    }

    /// Number of layers, L.
    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// Heads of layer `l`.
    pub fn heads(&self, l: usize) -> usize {
        self.layers[l].heads
    }
}

fn norm(layout: &mut Layout, spec: &TransformerSpec, name: &str) -> Option<Norm> {
    spec.layer_norm.then(|| Norm {
        gain: layout.push(format!("{name}.gain"), &[spec.width], false),
        bias: layout.push(format!("{name}.bias"), &[spec.width], false),
    })
}

fn mlp(layout: &mut Layout, spec: &TransformerSpec, l: usize) -> Mlp {
    let (d, wide) = (spec.width, MLP_FACTOR * spec.width);
    Mlp {
        norm: norm(layout, spec, &format!("layers.{l}.mlp_norm")),
        w_in: layout.push(format!("layers.{l}.mlp.W_in"), &[d, wide], true),
        b_in: layout.push(format!("layers.{l}.mlp.b_in"), &[wide], false),
        w_out: layout.push(format!("layers.{l}.mlp.W_out"), &[wide, d], true),
        b_out: layout.push(format!("layers.{l}.mlp.b_out"), &[d], false),
    }
}
