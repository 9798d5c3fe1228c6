//! A block of your own: a gated convolution, h′ = h + conv(norm h) ⊙ (norm h G).
//!
//!     cargo run --release -p induct --example custom_block
//!
//! Norm, dropout and interventions are the stream's business: the block has no line about them. They are checked
//! against its formula at the end.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use induct::block::{
    Allocator, Block, BlockPass, Context, Design, Lane, Ports, ReadBack, Run, Simple, SimplePass,
    Tensors, Value, linear,
};
use induct::model::reference::Expected;
use induct::model::{AttentionSpec, BlockSpec, Dropout, Instead, Intervention, ModelSpec};
use induct::recipe::Recipe;
use induct::train::Loss;
use induct::{Custom, Invalid};

/// The kind of block, with its settings: how many positions it sees.
#[derive(Debug)]
struct GatedConvolution {
    length: usize,
}

impl Design for GatedConvolution {
    fn ports(&self) -> Ports {
        Ports::single("gated")
    }

    fn build(&self, tensors: &mut Tensors) -> Result<Arc<dyn Block>, Invalid> {
        let d = tensors.width;
        Ok(Arc::new(Gated {
            stream: [tensors.length, d],
            kernel: tensors.add("gated.kernel", &[self.length, d], false),
            gate: tensors.add("gated.G", &[d, d], true),
        }))
    }
}

/// The block in a model of [t, d]: where its tensors are.
#[derive(Clone, Debug)]
struct Gated {
    stream: [usize; 2],
    kernel: Range<usize>,
    gate: Range<usize>,
}

impl Block for Gated {
    fn pass(self: Arc<Self>, buffers: &mut Allocator) -> Box<dyn BlockPass> {
        let pass = GatedPass {
            mixed: buffers.lanes(self.stream),
            gates: buffers.lanes(self.stream),
            d_gates: buffers.lanes(self.stream),
            block: self.clone(),
        };
        Box::new(Simple::new(pass, self.stream, buffers))
    }

    fn reference<'t>(&self, run: &mut Run<'t>, read: &[Value<'t>]) -> Vec<Value<'t>> {
        let (x, d, size) = (read[0], self.stream[1], read[0].size());
        let kernel = run.weight(&self.kernel, d);
        let term = |lag: usize| {
            let earlier = x.take(size, move |i, c| Some((i.checked_sub(lag)?, c)));
            earlier.each_times(kernel.take(size, move |_, c| Some((lag, c))))
        };
        let mixed = (1..self.kernel.len() / d).fold(term(0), |sum, lag| sum + term(lag));
        vec![mixed.each_times(x.times(run.weight(&self.gate, d)))]
    }

    fn multiplications(&self) -> usize {
        3 * self.stream[0] * (self.kernel.len() + self.gate.len())
    }
}

/// The block at work on eight sequences, one per lane; buffers are [t, d].
#[derive(Debug)]
struct GatedPass {
    block: Arc<Gated>,
    mixed: Vec<Lane>,
    gates: Vec<Lane>,
    d_gates: Vec<Lane>,
}

impl SimplePass for GatedPass {
    fn forward(&mut self, c: Context, x: &[Lane], out: &mut [Lane]) {
        let (d, kernel) = (self.block.stream[1], c.weight(&self.block.kernel));
        let gates = &mut self.gates[..x.len()];
        linear::set_forward(c.level, x, c.weight(&self.block.gate), d, gates);
        for (place, out) in out.iter_mut().enumerate() {
            let lags = (0..kernel.len() / d).take_while(|lag| lag * d <= place);
            let terms = lags.map(|lag| x[place - lag * d] * kernel[lag * d + place % d]);
            self.mixed[place] = terms.fold(Lane::ZERO, |sum, term| sum + term);
            *out = self.mixed[place] * gates[place];
        }
    }

    fn backward(&mut self, c: Context, d_out: &[Lane], back: &mut ReadBack) {
        let (d, kernel) = (self.block.stream[1], c.weight(&self.block.kernel));
        for (place, &d_out) in d_out.iter().enumerate() {
            self.d_gates[place] = d_out * self.mixed[place];
            let d_mixed = d_out * self.gates[place];
            for lag in (0..kernel.len() / d).take_while(|lag| lag * d <= place) {
                let (w, earlier) = (lag * d + place % d, place - lag * d);
                back.grads[self.block.kernel.start + w] += (d_mixed * back.x[earlier]).sum();
                back.dx[earlier] += d_mixed * kernel[w];
            }
        }
        let d_gates = &self.d_gates[..d_out.len()];
        back.product(c.level, c.weights, &self.block.gate, d, d_gates);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (length, attention) = (4, BlockSpec::Attention(AttentionSpec::default()));
    let gated = Custom::<dyn Design>::new("gated", Arc::new(GatedConvolution { length }));
    let gated = BlockSpec::Custom(gated.with("length", length as f64));
    let mut recipe = Recipe::from_toml("model.layer_norm = true\ntrain.steps = 1500", &[])?;
    if let ModelSpec::Transformer(spec) = &mut recipe.model {
        spec.blocks = vec![attention.clone(), gated, attention];
        spec.dropout = Dropout::Everywhere(0.05);
    }
    let run = induct::run::train(&recipe)?;
    for phase in &run.summary.phases {
        println!(
            "{} from step {} to {}",
            phase.strategy, phase.onset, phase.end
        );
    }

    // The loss and its gradient, with dropout, and with the path from the block to the keys above it cut.
    let model = recipe.model()?;
    let mut parts = model.parts().into_iter();
    let path = parts.find(|part| part.to_string() == "layers.1.gated -> layers.2.keys");
    let (site, instead) = (path.ok_or("no such path")?, Instead::Zero);
    let cut = model.with(&[Intervention { site, instead }])?;
    for model in [&model, &cut] {
        let (sequences, loss) = ([&[0, 1, 1, 0, 1][..], &[1, 1, 0, 0, 1]], Loss::default());
        let expected = Expected::new(model, run.weights(), &sequences, loss)?;
        let deviation = expected.deviation(model);
        assert!(deviation.largest() < 1e-4, "{deviation:?}");
        println!(
            "{:.0e} from the formulas' loss and gradient",
            deviation.largest()
        );
    }
    Ok(())
}
