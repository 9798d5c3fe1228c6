//! Mamba-2 in its smallest form: a linear recurrence whose inputs, outputs and decay depend on the token.
//!
//! ```text
//! z = r W_z;  x, B, C = SiLU(conv(r W_x)), SiLU(conv(r W_B)), SiLU(conv(r W_C));  Δ = softplus(r W_dt + dt_bias)
//! h_t = exp(−Δ_t e^A_log) h_{t−1} + Δ_t x_t B_tᵀ;  out_t = (h_t C_t ⊙ SiLU(z_t)) W_out
//! ```
//!
//! r is what it reads, and h has N numbers for each of the e·d entries of x, which are divided among heads: a head has
//! a Δ and an A of its own. There is no skip from x to the output, and no norm inside.

use std::ops::Range;
use std::sync::Arc;

use super::convolution::ConvolutionSpec;
use super::{
    Allocator, Block, BlockPass, Context, Design, Ports, ReadBack, Simple, SimplePass, Tensors,
};
use crate::lanes::{Lane, leveled};
use crate::model::ops::activation::{self, Function};
use crate::model::ops::attention::EXPONENTIAL;
use crate::model::ops::{linear, scan, short_convolution};
use crate::model::reference::formulas;
use crate::model::reference::{Run, Value};
use crate::{Invalid, require, settings};

settings! {
    /// Mamba-2 in its smallest form: a linear recurrence whose inputs, outputs and decay depend on the token.
    pub struct MambaSpec {
        /// Numbers of its state for each entry of x, N.
        pub state: usize = 16,
        /// Width of x, in units of the stream's.
        pub expand: usize = 2,
        /// Number of heads, each with a decay of its own.
        pub heads: usize = 1,
        /// Length of the short causal convolution of x, B and C; there is none if it is 0 or 1.
        pub convolution: usize = 4,
    }
}

const MAX_STATE: usize = 1024;
const MAX_EXPAND: usize = 64;

/// Where training starts: Δ = softplus(dt_bias) and e^A_log, so that a state is halved in about 70 positions.
const DT_BIAS: f32 = -2.25;
const A_LOG: f32 = -2.3;

impl Design for MambaSpec {
    fn ports(&self) -> Ports {
        Ports::single("mamba")
    }

    fn build(&self, tensors: &mut Tensors) -> Result<Arc<dyn Block>, Invalid> {
        let (size, expand, heads) = (self.state, self.expand, self.heads);
        let allowed = format!("a size from 1 to {MAX_STATE}");
        require((1..=MAX_STATE).contains(&size), "state", size, &allowed)?;
        let allowed = format!("a factor from 1 to {MAX_EXPAND}");
        require(
            (1..=MAX_EXPAND).contains(&expand),
            "expand",
            expand,
            &allowed,
        )?;
        let (d, wide) = (tensors.width, expand * tensors.width);
        let allowed = format!("a number of heads that divides the width of x, {wide}");
        let divides = heads >= 1 && wide.is_multiple_of(heads);
        require(divides, "heads", heads, &allowed)?;
        if self.convolution > 1 {
            ConvolutionSpec::check("convolution", self.convolution)?;
        }
        let mut branch = |letter: &str, size: usize, convolved: bool| {
            let mut add = |name: &str, rows: usize| {
                tensors.add(&format!("mamba.{name}_{letter}"), &[rows, size], true)
            };
            Branch {
                function: Function::Silu,
                size,
                project: add("W", d),
                bias: None,
                kernel: convolved.then(|| add("conv", self.convolution)),
            }
        };
        let [x, b, c] = [("x", wide), ("B", size), ("C", size)]
            .map(|(letter, size)| branch(letter, size, self.convolution > 1));
        let z = branch("z", wide, false);
        let dt = Branch {
            function: Function::Softplus,
            ..branch("dt", heads, false)
        };
        let bias = Some(tensors.add_constant("mamba.dt_bias", &[heads], DT_BIAS));
        Ok(Arc::new(Mamba {
            stream: [tensors.length, d],
            heads,
            branches: [Branch { bias, ..dt }, x, b, c, z],
            a_log: tensors.add_constant("mamba.A_log", &[heads], A_LOG),
            w_out: tensors.add("mamba.W_out", &[wide, d], true),
        }))
    }
}

/// Mamba-2.
#[derive(Clone, Debug)]
pub struct Mamba {
    /// t and d
    stream: [usize; 2],
    heads: usize,
    /// Of Δ, x, B, C and z.
    branches: [Branch; 5],
    /// `[heads]`; prepared, e^A_log
    a_log: Range<usize>,
    /// [e·d, d]
    w_out: Range<usize>,
}

/// f(conv(r W + b))
#[derive(Clone, Debug)]
struct Branch {
    function: Function,
    size: usize,
    /// [d, size]
    project: Range<usize>,
    /// `[size]`, if there is one
    bias: Option<Range<usize>>,
    /// [w, size], if it is convolved
    kernel: Option<Range<usize>>,
}

impl Mamba {
    /// Width of x.
    fn wide(&self) -> usize {
        self.branches[1].size
    }

    /// N
    fn size(&self) -> usize {
        self.branches[2].size
    }

    /// What the recurrence reads.
    fn inputs<'x>(
        &self,
        decays: &'x [Lane],
        u: &'x [Lane],
        [_, _, b, c, _]: &'x [BranchPass; 5],
    ) -> scan::Inputs<'x> {
        scan::Inputs {
            decays,
            u,
            b: &b.value,
            c: &c.value,
            heads: self.heads,
            channels: self.wide(),
            size: self.size(),
        }
    }
}

impl Block for Mamba {
    fn prepare(&self, weights: &mut [f32]) {
        // (Not by f32::exp, which differs from machine to machine.)
        for log in &mut weights[self.a_log.clone()] {
            *log = Lane::splat(*log).exp::<false>().0[0];
        }
    }

    fn pull_back(&self, params: &[f32], grads: &mut [f32]) {
        let logs = &params[self.a_log.clone()];
        for (d, &log) in grads[self.a_log.clone()].iter_mut().zip(logs) {
            *d *= Lane::splat(log).exp::<false>().0[0];
        }
    }

    fn pass(self: Arc<Self>, buffers: &mut Allocator) -> Box<dyn BlockPass> {
        let (stream, wide, heads) = (self.stream, self.wide(), self.heads);
        let state = buffers.lanes([wide, self.size()]);
        let mut rows = |columns| buffers.lanes([stream[0], columns]);
        let pass = MambaPass {
            branches: self.branches.each_ref().map(|branch| BranchPass {
                projected: rows(branch.size),
                slope: rows(branch.size),
                value: rows(branch.size),
            }),
            gradients: self.branches.each_ref().map(|branch| rows(branch.size)),
            decays: rows(heads),
            log_decays: rows(heads),
            u: rows(wide),
            y: rows(wide),
            dy: rows(wide),
            gated: rows(wide),
            state,
            mamba: self,
        };
        Box::new(Simple::new(pass, stream, buffers))
    }

    fn reference<'t>(&self, run: &mut Run<'t>, read: &[Value<'t>]) -> Vec<Value<'t>> {
        let (rows, r, [_, d], heads) = (run.rows(), read[0], self.stream, self.heads);
        let [steps, x, b, c, gate] = self.branches.each_ref().map(|branch| {
            let mut sums = r.times(run.weight(&branch.project, branch.size));
            if let Some(bias) = &branch.bias {
                sums = sums + run.weight(bias, branch.size).repeated(rows);
            }
            if let Some(kernel) = &branch.kernel {
                sums = formulas::short_convolution(sums, run.weight(kernel, branch.size));
            }
            branch.function.formula(sums)
        });
        let rates = run.weight(&self.a_log, heads).each(f64::exp, f64::exp);
        let log_decays = steps.each_times(rates.repeated(rows)).scaled(-1.0);
        let (w_out, each) = (run.weight(&self.w_out, d), self.wide() / heads);
        let head = |head: usize| {
            let step = steps.take((rows, each), move |i, _| Some((i, head)));
            let u = step.each_times(x.columns(head * each, each));
            let y = formulas::scan(log_decays.columns(head, 1), u, b, c);
            let gated = y.each_times(gate.columns(head * each, each));
            let own = move |p, c| Some((head * each + p, c));
            gated.times(w_out.take((each, d), own))
        };
        vec![(1..heads).fold(head(0), |sum, next| sum + head(next))]
    }

    fn multiplications(&self) -> usize {
        let ([t, d], wide, size) = (self.stream, self.wide(), self.size());
        let kernels = self.branches.iter().flat_map(|branch| &branch.kernel);
        let taps: usize = kernels.map(Range::len).sum();
        let products = d * (3 * wide + 2 * size + self.heads);
        let exponentials = 2 * wide + 2 * size + 3 * self.heads;
        // Of the recurrence: three for h and y, and six for the gradients of a, u, B, C and h.
        (3 * (products + taps) + 9 * wide * size + EXPONENTIAL * exponentials) * t
    }
}

/// Mamba-2 at work.
#[derive(Debug)]
struct MambaPass {
    mamba: Arc<Mamba>,
    /// Δ, x, B, C and SiLU(z), and their gradients: [t, size] each
    branches: [BranchPass; 5],
    gradients: [Vec<Lane>; 5],
    /// a, and the gradient of ln a: [t, heads]
    decays: Vec<Lane>,
    log_decays: Vec<Lane>,
    /// Δ x, h C, its gradient, and h C ⊙ SiLU(z): [t, e·d]
    u: Vec<Lane>,
    y: Vec<Lane>,
    dy: Vec<Lane>,
    gated: Vec<Lane>,
    /// h, or the gradient that is carried back: [e·d, N]
    state: Vec<Lane>,
}

impl SimplePass for MambaPass {
    fn forward(&mut self, c: Context, r: &[Lane], out: &mut [Lane]) {
        let (mamba, level) = (&*self.mamba, c.level);
        let ([_, d], wide) = (mamba.stream, mamba.wide());
        let rows = r.len() / d;
        let (by_entry, by_head) = (..rows * wide, ..rows * mamba.heads);
        for (branch, own) in self.branches.iter_mut().zip(&mamba.branches) {
            branch.forward(c, own, d, r);
        }
        let [steps, x, _, _, gate] = self.branches.each_ref().map(|branch| &branch.value);
        let (steps, x, rates) = (&steps[by_head], &x[by_entry], c.weight(&mamba.a_log));
        let (decays, u) = (&mut self.decays[by_head], &mut self.u[by_entry]);
        discretize(level, rates, steps, x, decays, u);

        let inputs = mamba.inputs(&self.decays, &self.u, &self.branches);
        scan::forward(level, inputs, rows, &mut self.state, &mut self.y);
        let gated = &mut self.gated[by_entry];
        multiply(level, &self.y, gate, gated);
        linear::set_forward(level, gated, c.weight(&mamba.w_out), wide, out);
    }

    fn backward(&mut self, c: Context, d_out: &[Lane], back: &mut ReadBack) {
        let (mamba, level) = (&*self.mamba, c.level);
        let ([_, d], wide) = (mamba.stream, mamba.wide());
        let rows = d_out.len() / d;
        let (by_entry, by_head) = (..rows * wide, ..rows * mamba.heads);
        let (w_out, gated) = (&mamba.w_out, &self.gated[by_entry]);
        let [d_steps, du, db, dc, d_gate] = &mut self.gradients;
        let [steps, x, _, _, gate] = self.branches.each_ref().map(|branch| &branch.value);
        let dy = &mut self.dy[by_entry];
        linear::set_input_backward(level, c.weight(w_out), wide, d_out, dy);
        linear::add_weight_gradient(level, gated, d_out, wide, &mut back.grads[w_out.clone()]);
        multiply(level, &self.y, dy, &mut d_gate[by_entry]);
        scale(level, gate, dy);

        let inputs = mamba.inputs(&self.decays, &self.u, &self.branches);
        let (state, logs) = (&mut self.state, &mut self.log_decays[by_head]);
        scan::output_backward(level, inputs, rows, dy, state, dc);
        scan::backward(level, inputs, rows, dy, state, du, db);
        scan::log_decay_backward(level, inputs, rows, &self.y, dy, du, logs);

        let (rates, dx) = (c.weight(&mamba.a_log), &mut du[by_entry]);
        discretize_backward(level, rates, steps, x, dx, logs, &mut d_steps[by_head]);
        linear::add_bias_gradient(level, logs, &mut back.grads[mamba.a_log.clone()]);

        let branches = self.branches.iter_mut().zip(&mut self.gradients);
        for ((branch, gradient), own) in branches.zip(&mamba.branches) {
            let d_projected = branch.backward(c, own, &mut gradient[..rows * own.size], back.grads);
            back.product(level, c.weights, &own.project, d, d_projected);
        }
    }
}

/// One of Δ, x, B, C and SiLU(z): [t, size]
#[derive(Debug)]
struct BranchPass {
    /// Before the convolution, if there is one; in the backward, the gradient of that.
    projected: Vec<Lane>,
    /// After it; then the slope of the function there.
    slope: Vec<Lane>,
    value: Vec<Lane>,
}

impl BranchPass {
    fn forward(&mut self, c: Context, own: &Branch, width: usize, r: &[Lane]) {
        let used = ..r.len() / width * own.size;
        let (after, w) = (&mut self.slope[used], c.weight(&own.project));
        match &own.kernel {
            None => match &own.bias {
                Some(bias) => linear::forward(c.level, r, w, c.weight(bias), width, after),
                None => linear::set_forward(c.level, r, w, width, after),
            },
            Some(kernel) => {
                let (projected, kernel) = (&mut self.projected[used], c.weight(kernel));
                linear::set_forward(c.level, r, w, width, projected);
                short_convolution::forward(c.level, kernel, own.size, projected, after);
            }
        }
        let value = &mut self.value[used];
        activation::forward(c.level, own.function, after, value);
    }

    /// From the gradient of the value to that of what was projected.
    fn backward<'x>(
        &'x mut self,
        c: Context,
        own: &Branch,
        gradient: &'x mut [Lane],
        grads: &mut [f32],
    ) -> &'x [Lane] {
        scale(c.level, &self.slope, gradient);
        if let Some(bias) = &own.bias {
            linear::add_bias_gradient(c.level, gradient, &mut grads[bias.clone()]);
        }
        let Some(kernel) = &own.kernel else {
            return gradient;
        };
        let projected = &mut self.projected[..gradient.len()];
        let (d_kernel, size) = (&mut grads[kernel.clone()], own.size);
        short_convolution::add_kernel_gradient(c.level, projected, gradient, size, d_kernel);
        projected.fill(Lane::ZERO);
        short_convolution::input_backward(c.level, c.weight(kernel), size, gradient, projected);
        projected
    }
}

leveled!(
    /// a = exp(−Δ e^A_log) and u = Δ x, head by head.
    fn discretize<const FUSED: bool>(
        rates: &[f32],
        steps: &[Lane],
        x: &[Lane],
        decays: &mut [Lane],
        u: &mut [Lane],
    ) {
        let each = x.len() / steps.len();
        let entries = x.chunks_exact(each).zip(u.chunks_exact_mut(each));
        for (index, (x, u)) in entries.enumerate() {
            let step = steps[index];
            decays[index] = (step * -rates[index % rates.len()]).exp::<FUSED>();
            for (u, &x) in u.iter_mut().zip(x) {
                *u = step * x;
            }
        }
    }
);

leveled!(
    /// Its backward: dΔ = x·du − e^A_log d ln a. `dx` is du, and becomes Δ du; `logs` are d ln a, and
    /// become −Δ d ln a, whose sum is the gradient of e^A_log.
    fn discretize_backward<const FUSED: bool>(
        rates: &[f32],
        steps: &[Lane],
        x: &[Lane],
        dx: &mut [Lane],
        logs: &mut [Lane],
        d_steps: &mut [Lane],
    ) {
        let each = dx.len() / logs.len();
        let entries = x.chunks_exact(each).zip(dx.chunks_exact_mut(each));
        for (index, (x, dx)) in entries.enumerate() {
            let step = steps[index];
            let mut sum = logs[index] * -rates[index % rates.len()];
            for (dx, &x) in dx.iter_mut().zip(x) {
                sum = x.times_plus::<FUSED>(*dx, sum);
                *dx = step * *dx;
            }
            logs[index] = step * logs[index] * -1.0;
            d_steps[index] = sum;
        }
    }
);

leveled!(
    /// out = x ⊙ y
    fn multiply<const FUSED: bool>(x: &[Lane], y: &[Lane], out: &mut [Lane]) {
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
            *out = x * y;
        }
    }
);

leveled!(
    /// x = x ⊙ y
    fn scale<const FUSED: bool>(y: &[Lane], x: &mut [Lane]) {
        for (x, &y) in x.iter_mut().zip(y) {
            *x = *x * y;
        }
    }
);
