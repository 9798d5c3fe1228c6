use induct_kernels::model::Matrix;
use induct_kernels::model::reference::formulas::{
    gelu, layer_norm, relu, scan, short_convolution, silu, softplus,
};
use induct_kernels::model::reference::tape::{Tape, Value};
use induct_kernels::random::{Address, Purpose, open_unit};

type Operation = for<'t> fn(Value<'t>, Value<'t>) -> Value<'t>;

/// Operations on two 3 × 3 matrices.
const OPERATIONS: [(&str, Operation); 22] = [
    ("sum of two", |x, y| x + y),
    ("difference", |x, y| x - y),
    ("product", |x, y| x.times(y)),
    ("product with itself", |x, _| x.times(x)),
    ("entrywise product", |x, y| x.each_times(y)),
    ("function", |x, _| x.each(f64::exp, f64::exp)),
    ("scaled", |x, _| x.scaled(-0.3)),
    ("shifted", |x, y| x.shifted(2.0).each_times(y)),
    ("transposed", |x, y| x.transposed().times(y)),
    ("columns", |x, _| x.columns(1, 2)),
    ("repeated", |x, _| x.repeated(5)),
    ("take", |x, _| {
        x.take((4, 2), |i, j| {
            (i != 2).then_some((i / 2, i.abs_diff(j) % 3))
        })
    }),
    ("row means", |x, _| x.row_means()),
    ("sum", |x, _| x.sum()),
    ("causal softmax", |x, _| x.causal_softmax()),
    ("GELU", |x, _| gelu(x)),
    ("ReLU", |x, _| relu(x)),
    ("SiLU", |x, _| silu(x)),
    ("softplus", |x, _| softplus(x)),
    ("short convolution", |x, y| {
        short_convolution(x, y.columns(0, 3))
    }),
    ("scan", |x, y| {
        let decays = softplus(x.columns(1, 1)).scaled(-1.0);
        scan(decays, y.columns(0, 2), x, y.times(x))
    }),
    ("layer norm", |x, y| {
        let row = |i| y.take((1, 3), move |_, j| Some((i, j)));
        layer_norm(x, row(0), row(2))
    }),
];

fn random(rows: usize, cols: usize, index: u64) -> Matrix {
    let address = Address {
        purpose: Purpose::Init,
        seed: 1,
        step: 0,
    };
    let mut rng = address.generator(index);
    let entries: Vec<f64> = (0..rows * cols)
        .map(|_| 2.0 * open_unit(&mut rng) - 1.0)
        .collect();
    Matrix::from_slice(rows, cols, &entries)
}

/// Some function of all entries.
fn weighted(value: Value) -> Value {
    let (rows, cols) = value.size();
    let weights = value.tape().constant(random(rows, cols, 2));
    value.each_times(weights).sum()
}

#[test]
fn gradients_of_every_operation_match_differences() {
    let inputs = [random(3, 3, 0), random(3, 3, 1)];
    for (name, operation) in OPERATIONS {
        let tape = Tape::default();
        let leaves = inputs.clone().map(|input| tape.leaf(input));
        let gradients = weighted(operation(leaves[0], leaves[1])).gradients();
        for (which, leaf) in leaves.iter().enumerate() {
            for entry in 0..9 {
                let at = |step: f64| {
                    let mut moved = inputs.clone();
                    moved[which].data[entry] += step;
                    let tape = Tape::default();
                    let [x, y] = moved.map(|input| tape.constant(input));
                    weighted(operation(x, y)).number()
                };
                let measured = (at(1e-5) - at(-1e-5)) / 2e-5;
                let found = gradients.of(*leaf).map_or(0.0, |d| d.data[entry]);
                let error = (found - measured).abs();
                assert!(error < 1e-9, "{name}: {found}, measured {measured}");
            }
        }
    }
}

#[test]
fn no_gradient_flows_into_constants() {
    let tape = Tape::default();
    let leaf = tape.leaf(random(2, 2, 0));
    let constant = tape.constant(leaf.matrix());
    let gradients = (leaf.each_times(constant) + constant.each_times(constant))
        .sum()
        .gradients();
    assert!(gradients.of(constant).is_none());
    assert_eq!(gradients.of(leaf), Some(&leaf.matrix()));
}
