//! Section 2: the transformer's shapes and the two-layer construction.

use induct::model::{
    MinimalSpec, MinimalStart, Model, ModelSpec, TransformerSpec, TransformerStart, reference,
};

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::truth::{Couplings, dirichlet, drawn, one_if};

/// States, and the width 3k of the construction.
const K: usize = 2;
const D: usize = 3 * K;
/// The length of the sequences on which it is tried.
const T: usize = 12;

pub fn entries(_: &Couplings) -> Vec<Entry> {
    vec![
        shapes(),
        order(),
        score(),
        first_position(),
        layer_2(),
        counted_positions(),
        limit(),
        sharpness(),
    ]
}

fn construction(sharpness: f64) -> Model {
    let spec = TransformerSpec {
        width: D,
        start: TransformerStart::Bigram {
            sharpness,
            output_scale: 1.0,
        },
        ..TransformerSpec::default()
    };
    Model::new(&ModelSpec::Transformer(spec), K, T).expect("the construction fits")
}

fn weights(model: &Model) -> Vec<f64> {
    model.start(0).iter().map(|&w| f64::from(w)).collect()
}

/// Sequences drawn from the default prior.
fn sequences() -> Vec<Vec<u8>> {
    let drawn = drawn(&dirichlet(), 0, T, 24).into_iter();
    drawn.map(|(x, _)| x).collect()
}

fn shapes() -> Entry {
    let model = construction(1.0);
    let rows = |name: &str| {
        model
            .layout()
            .tensor(name)
            .expect("the model has this tensor")
            .shape[0] as f64
    };
    // For a product h M with h of width d, M must have d rows.
    let names = [
        "layers.0.W_Q",
        "layers.0.W_K",
        "layers.0.W_V",
        "layers.1.W_Q",
        "unembed.P",
    ];
    let points = (1..).zip(names).map(|(index, name)| {
        let at = [
            ("matrix", f64::from(index)),
            ("k", K as f64),
            ("d", D as f64),
        ];
        Point::new(&at, K as f64, [D as f64, rows(name)]).corrected(D as f64)
    });
    Claim::new("transformer.shapes").equality(points)
}

fn order() -> Entry {
    let spec = TransformerSpec {
        width: 4,
        init_std: 0.7.into(),
        ..TransformerSpec::default()
    };
    let model = Model::new(&ModelSpec::Transformer(spec), K, T).expect("a transformer");
    let params = weights(&model);
    let mut swapped = params.clone();
    for name in ["W_Q", "W_K", "W_V", "v"] {
        let place = |layer: usize| {
            let tensor = model.layout().tensor(&format!("layers.{layer}.{name}"));
            tensor.expect("the model has this tensor").range.clone()
        };
        swapped[place(0)].copy_from_slice(&params[place(1)]);
        swapped[place(1)].copy_from_slice(&params[place(0)]);
    }
    let single: Vec<f32> = params.iter().map(|&w| w as f32).collect();
    let mut points = Vec::new();
    for (index, x) in sequences().iter().take(4).enumerate() {
        let (first_first, last_first) = (
            reference::logits(&model, &params, x),
            reference::logits(&model, &swapped, x),
        );
        let constructed = model.evaluator(&single).expect("its own weights");
        let logits = constructed.logits(x).expect("sequences fit the model");
        for e in [K * (T - 1), K * T - 1] {
            let at = [("sequence", index as f64), ("logit", (e % K) as f64)];
            let truth = [first_first.data[e], f64::from(logits.data()[e])];
            points.push(Point::new(&at, last_first.data[e], truth).corrected(first_first.data[e]));
        }
    }
    Claim::new("transformer.order")
        .tolerance(1e-4)
        .equality(points)
}

/// The construction with weights as printed: sharpness c, without the √d by which scores are divided.
fn as_printed(c: f64) -> Vec<f64> {
    weights(&construction(c / (D as f64).sqrt()))
}

fn score() -> Entry {
    let x = &sequences()[0];
    let mut points = Vec::new();
    for c in [1.0, 8.0, 20.0] {
        let model = construction(1.0);
        let maps = reference::attention(&model, &as_printed(c), x);
        let scores = &maps[0][0][0];
        for i in [1, 5, 11] {
            // v_2 · (e_j W_K) / √d with v_2 = 1 and e_j W_K = c e_j
            let by_formula = c / (D as f64).sqrt();
            let at = [("c", c), ("i", i as f64 + 1.0)];
            points.push(
                Point::new(&at, c, [scores[(i, i - 1)], by_formula])
                    .corrected(c / (D as f64).sqrt()),
            );
        }
    }
    Claim::new("construction.score")
        .tolerance(1e-6)
        .equality(points)
}

fn first_position() -> Entry {
    let c = 20.0;
    let model = construction(c);
    let x = &sequences()[0];
    let maps = reference::attention(&model, &weights(&model), x);
    let pattern = &maps[0][0][1];
    let points = (0..T).map(|i| {
        let mass = if i == 0 { 0.0 } else { pattern[(i, i - 1)] };
        let by_formula = if i == 0 {
            0.0
        } else {
            c.exp() / (c.exp() + i as f64)
        };
        Point::new(&[("i", i as f64 + 1.0)], mass - 0.999, [mass, by_formula]).inside(i >= 1)
    });
    Claim::new("construction.first-position")
        .tolerance(1e-6)
        .statement(points)
}

/// How often each symbol followed the last one of `x`, by loops, up to the last position or the second-last.
fn followers(x: &[u8], last_too: bool) -> [f64; 2] {
    let (m, end) = (x[x.len() - 1], x.len() - usize::from(!last_too));
    let mut counts = [0.0; 2];
    for p in 1..end {
        counts[x[p] as usize] += one_if(x[p - 1] == m);
    }
    counts
}

/// The limit of the construction's frequencies, in which the first position counts as x_1 → x_1.
fn tended(x: &[u8], last_too: bool) -> [f64; 2] {
    let m = x[x.len() - 1];
    let mut counts = followers(x, last_too);
    counts[m as usize] += one_if(x[0] == m);
    let total = counts[0] + counts[1];
    counts.map(|count| count / total)
}

/// The same frequencies from the minimal model's bigram weights.
fn tended_by_model(x: &[u8]) -> [f64; 2] {
    let spec = ModelSpec::Minimal(MinimalSpec {
        start: MinimalStart::Bigram {},
        ..MinimalSpec::default()
    });
    let model = Model::new(&spec, K, T).expect("a minimal model");
    let logits = reference::logits(&model, &weights(&model), x);
    let (m, last) = (x[x.len() - 1] as usize, x.len() - 1);
    let mut counts = [logits[(last, 0)], logits[(last, 1)]];
    counts[m] += one_if(x[0] as usize == m);
    let total = counts[0] + counts[1];
    counts.map(|count| count / total)
}

/// Prefixes of the sequences with several lengths.
fn prefixes() -> Vec<Vec<u8>> {
    let cut = |x: Vec<u8>| [3, 6, 9, T].map(|length| x[..length].to_vec());
    sequences().into_iter().flat_map(cut).collect()
}

/// Prefixes whose last symbol has been followed by something, including the first position's x_1 → x_1.
fn followed() -> Vec<Vec<u8>> {
    let seen = |x: &Vec<u8>| {
        let counts = followers(x, true);
        counts[0] + counts[1] > 0.0 || x[0] == x[x.len() - 1]
    };
    prefixes().into_iter().filter(seen).collect()
}

/// A sharpness at which only rounding errors are left.
const SHARP: f64 = 60.0;

fn layer_2() -> Entry {
    let model = construction(SHARP);
    let mended = weights(&model);
    // The printed k×3k matrices act on the first block of the stream: W_K of layer 2 then maps block 1 to
    // block 2.
    let mut printed = mended.clone();
    let place = model
        .layout()
        .tensor("layers.1.W_K")
        .expect("the model has this tensor")
        .range
        .clone();
    printed[place.clone()].fill(0.0);
    for c in 0..K {
        printed[place.start + c * D + K + c] = 1.0;
    }
    let mut points = Vec::new();
    for (index, x) in followed().iter().enumerate() {
        let [as_printed, as_mended] = [&printed, &mended]
            .map(|params| reference::logits(&model, params, x)[(x.len() - 1, 0)]);
        let truth = [tended(x, true)[0], tended_by_model(x)[0]];
        points
            .push(Point::new(&[("prefix", index as f64)], as_printed, truth).corrected(as_mended));
    }
    Claim::new("construction.layer-2").equality(points)
}

fn counted_positions() -> Entry {
    let model = construction(SHARP);
    let params = weights(&model);
    let mut points = Vec::new();
    for (index, x) in followed().iter().enumerate() {
        let output = reference::logits(&model, &params, x)[(x.len() - 1, 0)];
        let at = [("prefix", index as f64)];
        let point = Point::new(&at, tended(x, false)[0], [output, tended_by_model(x)[0]]);
        points.push(point.corrected(tended(x, true)[0]));
    }
    Claim::new("construction.positions").equality(points)
}

fn limit() -> Entry {
    let model = construction(SHARP);
    let params = weights(&model);
    let mut points = Vec::new();
    for (index, x) in prefixes().iter().enumerate() {
        let counts = followers(x, true);
        let (m, total) = (x[x.len() - 1] as usize, counts[0] + counts[1]);
        let output = reference::logits(&model, &params, x)[(x.len() - 1, 0)];
        let by_formula = by_softmax(x, SHARP)[0];
        let inside = total > 0.0 && (x[0] as usize != m || counts[m] == total);
        let at = [("prefix", index as f64), ("length", x.len() as f64)];
        points.push(Point::new(&at, counts[0] / total, [output, by_formula]).inside(inside));
    }
    Claim::new("construction.limit")
        .tolerance(1e-9)
        .equality(points)
}

/// The construction's output at the last position of `x`, with both softmaxes written out.
fn by_softmax(x: &[u8], c: f64) -> [f64; 2] {
    let (m, e) = (x[x.len() - 1], c.exp());
    let (mut sums, mut total) = ([0.0; 2], 0.0);
    for j in 0..x.len() {
        // What layer 1 writes at j: the share of symbol m.
        let share = match j {
            0 => one_if(x[0] == m),
            _ => {
                let elsewhere = (0..=j).filter(|&q| q != j - 1 && x[q] == m).count() as f64;
                (e * one_if(x[j - 1] == m) + elsewhere) / (e + j as f64)
            }
        };
        let weight = (c * (share - 1.0)).exp();
        sums[x[j] as usize] += weight;
        total += weight;
    }
    sums.map(|sum| sum / total)
}

fn sharpness() -> Entry {
    let sharpnesses = [4.0, 6.0, 8.0, 10.0, 12.0];
    let errors: Vec<[f64; 2]> = sharpnesses
        .iter()
        .map(|&c| {
            let model = construction(c);
            let params = weights(&model);
            let mut worst = [0.0_f64; 2];
            for x in followed() {
                let outputs = [
                    reference::logits(&model, &params, &x)[(x.len() - 1, 0)],
                    by_softmax(&x, c)[0],
                ];
                let limit = tended(&x, true)[0];
                for (worst, output) in worst.iter_mut().zip(outputs) {
                    *worst = worst.max((output - limit).abs());
                }
            }
            worst
        })
        .collect();
    let points = (1..errors.len()).map(|index| {
        let at = [("c", sharpnesses[index])];
        Point::new(&at, errors[index - 1][0] - errors[index][0], errors[index])
    });
    let rate = (errors[3][0] / errors[4][0]).ln() / 2.0;
    let line = sharpnesses
        .iter()
        .zip(&errors)
        .map(|(&c, error)| (c, error[0]))
        .collect();
    Claim::new("construction.sharpness")
        .tolerance(1e-5)
        .line("largest error", "c", line)
        .number("fall of ln error per unit of c, from 10 to 12", rate)
        .number("error at c = 12", errors[4][0])
        .statement(points)
}
