//! The paper's figures 6 and 7: two steps, exact and by Monte Carlo.

use induct::chain::TaskPrior;
use induct::probe::Estimate;
use induct::theory::{Coupling, Step, Weights, descend, margin_needed, sample};
use induct_figure::{Axis, Colour, Mark, Matrix, Panel, Plot, Series, Value};

use super::ChapterFigure;

/// The paper's setting: length, constant start, learning rate, sequences.
pub const LENGTH: usize = 100;
const START: f64 = 0.02;
pub const ETA: f64 = 0.03;
const DRAWS: usize = 10_000;

/// One step, exact and by Monte Carlo.
struct SampledStep {
    exact: Weights,
    /// W_k and v after the sampled step, with standard errors.
    w_k: Vec<Estimate>,
    v: Vec<Estimate>,
}

fn step(prior: &TaskPrior, coupling: &Coupling, from: &Weights, seed: u64) -> SampledStep {
    let path = descend(from, &[Step::new(coupling, ETA)]);
    let exact = path
        .expect("the paper's weights and learning rate")
        .remove(0);
    let margin = 1.0 + margin_needed(from).sufficient;
    let gradient = sample(prior, from, margin, DRAWS, seed).expect(VALID);
    SampledStep {
        w_k: stepped(&from.w_k, &gradient.w_k),
        v: stepped(&from.v, &gradient.v),
        exact,
    }
}

/// A step against a sampled gradient.
fn stepped(from: &[f64], gradient: &[Estimate]) -> Vec<Estimate> {
    let one = |(from, gradient): (&f64, &Estimate)| Estimate {
        mean: from - ETA * gradient.mean,
        se: ETA * gradient.se,
    };
    from.iter().zip(gradient).map(one).collect()
}

impl SampledStep {
    fn matrix(&self, title: &str) -> Panel {
        let cells = self.exact.w_k.iter().zip(&self.w_k).map(|(exact, drawn)| {
            vec![
                format!("{exact:.4}"),
                format!("{:.4}", drawn.mean),
                format!("± {:.4}", drawn.se),
            ]
        });
        Panel::Matrix(Matrix {
            title: title.into(),
            row_label: "current symbol".into(),
            column_label: "matched symbol; bold: exact, below: sampled ± standard error".into(),
            rows: vec!["0".into(), "1".into()],
            columns: vec!["0".into(), "1".into()],
            values: self.exact.w_k.clone(),
            cells: cells.collect(),
            ..Matrix::default()
        })
    }

    fn plot(&self, title: &str) -> Panel {
        exact_and_sampled(title, "weight v_j", &self.exact.v, &self.v)
    }
}

fn exact_and_sampled(title: &str, y: &str, exact: &[f64], drawn: &[Estimate]) -> Panel {
    let lags = || (1..).map(f64::from);
    // Every lag in the range of the pattern, then every fourth, so that error bars do not overlap.
    let shown = |lag: &f64| *lag <= 12.0 || lag % 4.0 == 0.0;
    let sampled = lags().zip(drawn).filter(|(lag, _)| shown(lag));
    let sampled = sampled.map(|(x, drawn)| Value::give_or_take(x, drawn.mean, 2.0 * drawn.se));
    let sampled = Series::new(
        "10,000 sequences, ± 2 standard errors",
        Colour::Vermilion,
        Mark::Points,
        sampled,
    );
    let exact = Series::new(
        "exact",
        Colour::Blue,
        Mark::Line,
        lags().zip(exact.iter().copied()),
    );
    Panel::Plot(Plot {
        title: title.into(),
        x: Axis::linear("j").range(0.0, exact.values.len() as f64),
        y: Axis::linear(y),
        series: vec![exact, sampled],
        aspect: 0.62,
        ..Plot::default()
    })
}

/// Why sampling cannot fail.
const VALID: &str = "exact weights with a sufficient margin";

const SETTING: &str = "Start 0.02, η = 0.03, t = 100.";

pub fn first_step(prior: &TaskPrior, coupling: &Coupling) -> ChapterFigure {
    let start = Weights::constant(2, LENGTH, START, START);
    let sampled = step(prior, coupling, &start, 6);
    ChapterFigure::new(
        "first-step",
        "first-step",
        format!(
            "The paper's figure 6: W<sub>k</sub> and v after one step. {SETTING} Exact averages over chains, \
             compared with the model's own forward pass, loss and backward pass on {DRAWS} sequences, each \
             from its own chain; bars are two standard errors in each direction. All v<sub>j</sub> come from \
             the same sequences, so their errors are correlated."
        ),
        "W_k and v after the first gradient step, exact and sampled.",
        vec![
            sampled.matrix("W_k after one step"),
            sampled.plot("v after one step"),
        ],
    )
}

pub fn second_step(prior: &TaskPrior, coupling: &Coupling) -> ChapterFigure {
    let start = Weights::constant(2, LENGTH, START, START);
    let first = step(prior, coupling, &start, 6).exact;
    let sampled = step(prior, coupling, &first, 7);
    // As in the paper's figure: what the part of W_k above its constant adds to v.
    let above = first.w_k[0] - first.w_k[1];
    let diagonal = Weights {
        w_k: vec![above, 0.0, 0.0, above],
        v: first.v.clone(),
    };
    let exact: Vec<f64> = coupling
        .gradient(&diagonal)
        .v
        .iter()
        .map(|g| -ETA * g)
        .collect();
    let margin = 1.0 + margin_needed(&diagonal).sufficient;
    let drawn = sample(prior, &diagonal, margin, DRAWS, 8).expect(VALID).v;
    let drawn = stepped(&[0.0; LENGTH], &drawn);
    let lead = [&sampled.exact.v[1], &sampled.exact.v[0]].map(|v| format!("{v:.5}"));
    ChapterFigure::new(
        "second-step",
        "second-step",
        format!(
            "The paper's figure 7, with the complete second step: W<sub>k</sub> and v after it, and (below) \
             what the diagonal of W<sub>k</sub> adds to v. {SETTING} Here v<sub>2</sub> = {} and \
             v<sub>1</sub> = {}. Samples start from the exact weights after the first step; otherwise as in \
             the figure for the first step.",
            lead[0], lead[1]
        ),
        "W_k and v after the second gradient step, and what the diagonal of W_k adds to v; exact and \
         sampled.",
        vec![
            sampled.matrix("W_k after two steps"),
            sampled.plot("v after two steps"),
            exact_and_sampled(
                "What the diagonal of W_k added to v in the second step",
                "part of the change of v_j",
                &exact,
                &drawn,
            ),
        ],
    )
}
