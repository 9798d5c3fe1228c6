//! Causal attention: out_i = Σ_j p_ij u_j (W_O) by head, with p = softmax(s), and s as [`RelativeTerm`] says.

mod pass;
mod positions;

use std::f32::consts::LOG2_E;
use std::ops::Range;
use std::sync::Arc;

pub use self::positions::Positions;

use self::pass::AttentionPass;
use self::positions::Scheme;
use super::convolution::ConvolutionSpec;
use super::{Allocator, Block, BlockPass, Design, Ports, Tensors};
use crate::model::Matrix;
use crate::model::ops::attention::{EXPONENTIAL, RelativeTerm};
use crate::model::ops::dropout::{Rate, pairs};
use crate::model::reference::formulas;
use crate::model::reference::{Run, Value};
use crate::model::spec::OutputProjection;
use crate::{Invalid, require, settings};

settings! {
    /// Causal attention.
    pub struct AttentionSpec {
        /// Number of heads, H.
        pub heads: usize = 1,
        /// How positions enter; as in the whole model if unset.
        #[when(|own| own.positions.is_some())]
        pub positions: Option<Positions> = None,
        /// Length of a short causal convolution of what queries, keys and values each read; 0 for none.
        #[when(|own| own.convolution != 0)]
        pub convolution: usize = 0,
    }
}

impl AttentionSpec {
    pub(in crate::model) fn attention(&self, tensors: &mut Tensors) -> Result<Attention, Invalid> {
        let (heads, d, t) = (self.heads, tensors.width, tensors.length);
        require(
            heads >= 1 && d.is_multiple_of(heads),
            "heads",
            heads,
            &format!("a number of heads that divides the width, {d}"),
        )?;
        let positions = self.positions.unwrap_or(tensors.spec.positions);
        let scheme = positions.scheme();
        require(
            scheme.angle.is_none() || (d / heads).is_multiple_of(2),
            "heads",
            heads,
            &format!(
                "a number of heads of an even width each, out of {d}: rotary positions turn pairs of numbers"
            ),
        )?;
        let allowed = "of the whole model alone (model.positions): the embedding adds them";
        require(
            self.positions != Some(Positions::Absolute),
            "positions",
            "\"absolute\"",
            allowed,
        )?;
        if self.convolution > 0 {
            ConvolutionSpec::check("convolution", self.convolution)?;
        }
        let has_table = scheme.relative != RelativeTerm::Absent;
        let projects = heads > 1 || tensors.spec.output_projection == OutputProjection::Always;
        let (square, taps) = ([d, d], [self.convolution, d]);
        let convolution = (self.convolution > 0)
            .then(|| ["conv_Q", "conv_K", "conv_V"].map(|name| tensors.add(name, &taps, true)));
        Ok(Attention {
            heads,
            length: t,
            width: d,
            scheme,
            convolution,
            w_q: tensors.add("W_Q", &square, true),
            w_k: tensors.add("W_K", &square, true),
            w_v: tensors.add("W_V", &square, true),
            w_o: projects.then(|| tensors.add("W_O", &square, true)),
            v: has_table.then(|| tensors.add("v", &[t, d], false)),
            dropped: tensors.positions_dropped.filter(|_| has_table).map(|rate| {
                let before = (tensors.layer as u32).wrapping_mul(pairs(t * t, d));
                (rate, before)
            }),
            biases: tensors.spec.biases.then(|| Biases {
                q: tensors.add_constant("b_Q", &[d], 0.0),
                k: tensors.add_constant("b_K", &[d], 0.0),
                v: tensors.add_constant("b_V", &[d], 0.0),
                o: projects.then(|| tensors.add_constant("b_O", &[d], 0.0)),
            }),
        })
    }
}

impl Design for AttentionSpec {
    fn ports(&self) -> Ports {
        Ports {
            norm: "attn_norm".into(),
            readers: vec!["queries", "keys", "values"],
            sources: "heads",
            output: "head_out".into(),
            heads: self.heads,
        }
    }

    fn build(&self, tensors: &mut Tensors) -> Result<Arc<dyn Block>, Invalid> {
        Ok(Arc::new(self.attention(tensors)?))
    }
}

/// Attention. Heads are contiguous blocks of columns.
#[derive(Clone, Debug)]
pub struct Attention {
    pub heads: usize,
    pub length: usize,
    pub width: usize,
    pub scheme: Scheme,
    /// [w, d] each, of what queries, keys and values read
    pub convolution: Option<[Range<usize>; 3]>,
    /// [d, d] each
    pub w_q: Range<usize>,
    pub w_k: Range<usize>,
    pub w_v: Range<usize>,
    /// [d, d], where there is an output projection
    pub w_o: Option<Range<usize>>,
    /// [t, d], for relative positions
    pub v: Option<Range<usize>>,
    /// How often entries of the relative positions are dropped in training, and the number of the first pair of
    /// entries of their masks, [t, t, d].
    pub dropped: Option<(Rate, u32)>,
    pub biases: Option<Biases>,
}

/// Where the biases of queries, keys, values and, with an output projection, of the output are: `[d]` each.
#[derive(Clone, Debug)]
pub struct Biases {
    pub q: Range<usize>,
    pub k: Range<usize>,
    pub v: Range<usize>,
    pub o: Option<Range<usize>>,
}

impl Attention {
    /// Width of a head.
    pub fn size(&self) -> usize {
        self.width / self.heads
    }

    /// The bias of queries, keys or values.
    fn read_bias(&self, reader: usize) -> Option<&Range<usize>> {
        let Biases { q, k, v, .. } = self.biases.as_ref()?;
        Some([q, k, v][reader])
    }

    /// The output's bias. Every head writes an equal share of it.
    fn output_bias(&self) -> Option<&Range<usize>> {
        self.biases.as_ref()?.o.as_ref()
    }

    /// What relative positions add to the scores: Σ_c x_c m_ijc r_{i−j,c}, where x is what they meet. Masks, [t t, m],
    /// are one where nothing is dropped.
    fn positional_term<'t>(&self, masks: Option<&Matrix>, [q, k, r]: [Value<'t>; 3]) -> Value<'t> {
        let ((rows, size), t) = (q.size(), self.length);
        let by_pair = (rows * rows, size);
        let meets_key = self.scheme.relative == RelativeTerm::Key;
        let asking = if meets_key { k } else { q };
        let of_pair = move |pair: usize| (pair / rows, pair % rows);
        let asking = asking.take(by_pair, move |pair, c| {
            let (i, j) = of_pair(pair);
            Some((if meets_key { j } else { i }, c))
        });
        let lags = r.take(by_pair, move |pair, c| {
            let (i, j) = of_pair(pair);
            Some((i.checked_sub(j)?, c))
        });
        let masks = Matrix::from_fn(rows * rows, size, |pair, c| {
            let (i, j) = of_pair(pair);
            masks.map_or(1.0, |masks| masks[(i * t + j, c)])
        });
        let terms = asking.each_times(lags).each_times(q.tape().constant(masks));
        let sums = terms.row_means().scaled(size as f64);
        sums.take((rows, rows), move |i, j| Some((i * rows + j, 0)))
    }

    /// Multiplies what is in units of scores. Scores are computed in units of ln 2 and without the division by
    /// √d_head, because the queries (and the positions beside them) already include both.
    fn scale(&self, values: &mut [f32]) {
        let scale = LOG2_E / (self.size() as f32).sqrt();
        let beside = self
            .v
            .iter()
            .filter(|_| self.scheme.relative == RelativeTerm::Key);
        let bias = self.biases.iter().map(|biases| &biases.q);
        for place in [&self.w_q].into_iter().chain(beside).chain(bias) {
            let place = &mut values[place.clone()];
            place.iter_mut().for_each(|value| *value *= scale);
        }
    }
}

impl Block for Attention {
    fn prepare(&self, weights: &mut [f32]) {
        self.scale(weights);
    }

    fn pull_back(&self, _params: &[f32], grads: &mut [f32]) {
        self.scale(grads);
    }

    fn pass(self: Arc<Self>, buffers: &mut Allocator) -> Box<dyn BlockPass> {
        Box::new(AttentionPass::new(self, buffers))
    }

    fn reference<'t>(&self, run: &mut Run<'t>, read: &[Value<'t>]) -> Vec<Value<'t>> {
        let (rows, d, size) = (run.rows(), self.width, self.size());
        let weights = [&self.w_q, &self.w_k, &self.w_v];
        let [queries, keys, values] = [0, 1, 2].map(|reader| {
            let seen = match &self.convolution {
                None => read[reader],
                Some(kernels) => {
                    formulas::short_convolution(read[reader], run.weight(&kernels[reader], d))
                }
            };
            let product = seen.times(run.weight(weights[reader], d));
            match self.read_bias(reader) {
                None => product,
                Some(bias) => product + run.weight(bias, d).repeated(rows),
            }
        });
        let masks = run.mask_of_pairs(self.dropped, (self.length, d));
        let shares = 1.0 / self.heads as f64;
        let b_o = self.output_bias().map(|b_o| run.weight(b_o, d));
        let b_o = b_o.map(|b_o| b_o.repeated(rows).scaled(shares));
        let positions = self.v.as_ref().map(|v| run.weight(v, d));
        let w_o = self.w_o.as_ref().map(|w_o| run.weight(w_o, d));
        let head = |head: usize| {
            let own = |matrix: Value<'t>| matrix.columns(head * size, size);
            let turned = |x| self.scheme.turned(x, (rows, size));
            let (q, k) = (turned(own(queries)), turned(own(keys)));
            let mut scores = q.times(k.transposed());
            if let Some(r) = positions.map(own) {
                let masks = masks.as_ref().map(|all| all.columns(head * size, size));
                scores = scores + self.positional_term(masks.as_ref(), [q, k, r]);
            }
            let scores = scores.scaled(1.0 / (size as f64).sqrt());
            let output = run.attend(head, scores, own(values));
            let first = head * size;
            let written = match w_o {
                Some(w_o) => output.times(w_o.take((size, d), move |i, c| Some((first + i, c)))),
                None => output,
            };
            match b_o {
                Some(b_o) => written + b_o,
                None => written,
            }
        };
        (0..self.heads).map(head).collect()
    }

    fn multiplications(&self) -> usize {
        let (t, d) = (self.length, self.width);
        let (positional, mixes) = (
            usize::from(self.v.is_some()),
            usize::from(self.w_o.is_some()),
        );
        // Scores twice, average, slope, and shares for query, key and value; for positions, two more.
        let by_pair = (7 + 2 * positional) * d + 2 * EXPONENTIAL * self.heads;
        let taps: usize = self.convolution.iter().flatten().map(Range::len).sum();
        by_pair * t * (t + 1) / 2 + 3 * ((3 + mixes) * d * d + taps) * t
    }
}
