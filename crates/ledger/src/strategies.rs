//! Section 2: the posterior of a chain, and the strategies that the minimal model can express.

use induct::chain::Alpha;
use induct::internal::{Class, Classes, gauss_legendre};
use induct::model::{MinimalSpec, MinimalStart, Model, ModelSpec, reference};
use induct::strategy::{self, Ngram, Strategy};

use super::Entry;
use super::evidence::Point;
use super::judge::Claim;
use super::truth::{Couplings, dirichlet, first_drive, one_if};

pub fn entries(couplings: &Couplings) -> Vec<Entry> {
    vec![
        mean_general(),
        mean_uniform(),
        beta(),
        start(),
        fact("fact.bigrams", MinimalStart::Bigram {}),
        fact("fact.unigrams", MinimalStart::Unigram {}),
        passing_unigrams(couplings),
    ]
}

/// Sequences to condition on.
fn sequences() -> Vec<Vec<u8>> {
    let of = |text: &str| text.bytes().map(|c| c - b'0').collect();
    ["01101", "00010011", "1110100101101", "01", "0000010000"]
        .map(of)
        .to_vec()
}

/// The number of transitions from the last symbol of `x` to each symbol.
fn followers(x: &[u8]) -> [f64; 2] {
    let last = x[x.len() - 1];
    let mut counts = [0.0; 2];
    for pair in x.windows(2).filter(|pair| pair[0] == last) {
        counts[pair[1] as usize] += 1.0;
    }
    counts
}

/// E[p^power] for the probability p of symbol `j` after the last symbol: prior times likelihood of the
/// observed transitions, integrated by a Gauss rule that is exact for integer `alpha`.
fn by_rule(x: &[u8], alpha: [f64; 2], j: usize, power: i32) -> f64 {
    let counts = followers(x);
    let rule = gauss_legendre(40, 0.0, 1.0);
    let moment = |power: i32| -> f64 {
        let density = |p: f64| {
            p.powi((counts[j] + alpha[j]) as i32 - 1 + power)
                * (1.0 - p).powi((counts[1 - j] + alpha[1 - j]) as i32 - 1)
        };
        rule.iter().map(|&(p, width)| width * density(p)).sum()
    };
    moment(power) / moment(0)
}

/// The probability that the library's counting strategy assigns to symbol `j`.
fn by_strategy(x: &[u8], alpha: [f64; 2], j: usize) -> f64 {
    let alpha = Alpha::Vector(alpha.to_vec());
    let bigram: &dyn Strategy = &Ngram::new(2, 2, &alpha).expect("a proper prior");
    bigram
        .next_distribution(x)
        .expect("a sequence of two states")[j]
}

fn mean_points(
    alphas: &[[f64; 2]],
    form: impl Fn(&[u8], [f64; 2], usize) -> [f64; 2],
) -> Vec<Point> {
    let mut points = Vec::new();
    for &alpha in alphas {
        for (index, x) in sequences().iter().enumerate() {
            for j in 0..2 {
                let [printed, corrected] = form(x, alpha, j);
                let at = [
                    ("sequence", index as f64),
                    ("α_1", alpha[0]),
                    ("α_2", alpha[1]),
                    ("j", j as f64 + 1.0),
                ];
                let truth = [by_rule(x, alpha, j, 1), by_strategy(x, alpha, j)];
                points.push(Point::new(&at, printed, truth).corrected(corrected));
            }
        }
    }
    points
}

fn mean_general() -> Entry {
    let form = |x: &[u8], alpha: [f64; 2], j: usize| {
        let (counts, sum) = (followers(x), alpha[0] + alpha[1]);
        let (all, own) = (x.len() as f64 - 1.0, counts[0] + counts[1]);
        [
            (counts[j] + alpha[j]) / (all + sum),
            (counts[j] + alpha[j]) / (own + sum),
        ]
    };
    Claim::new("posterior.mean").equality(mean_points(&[[1.0, 1.0], [2.0, 3.0]], form))
}

fn mean_uniform() -> Entry {
    let form = |x: &[u8], _: [f64; 2], j: usize| {
        let counts = followers(x);
        [(counts[j] + 1.0) / (counts[0] + counts[1] + 2.0); 2]
    };
    Claim::new("posterior.mean-uniform").equality(mean_points(&[[1.0, 1.0]], form))
}

fn beta() -> Entry {
    let mut points = Vec::new();
    for alpha in [[1.0, 1.0], [2.0, 3.0]] {
        for (index, x) in sequences().iter().enumerate() {
            let counts = followers(x);
            for j in 0..2 {
                let (yes, all) = (
                    counts[j] + alpha[j],
                    counts[0] + counts[1] + alpha[0] + alpha[1],
                );
                let no = all - alpha[j] - counts[j];
                // E p² of Beta(yes, no); for the strategy, the probability of two successive `j` after the
                // same state.
                let printed = yes * (yes + 1.0) / ((yes + no) * (yes + no + 1.0));
                let mut more = alpha;
                more[j] += 1.0;
                let twice = by_strategy(x, alpha, j) * by_strategy(x, more, j);
                let at = [
                    ("sequence", index as f64),
                    ("α_1", alpha[0]),
                    ("j", j as f64 + 1.0),
                ];
                points.push(Point::new(&at, printed, [by_rule(x, alpha, j, 2), twice]));
            }
        }
    }
    Claim::new("posterior.beta").equality(points)
}

/// The bigram strategy on a class of sequences.
pub fn bigram(class: &Class) -> [f64; 2] {
    class.transitions[class.last].map(|count| count as f64 + 1.0)
}

fn start() -> Entry {
    let prior = dirichlet();
    let bayes = strategy::named("bayes", &prior).expect("built-in priors draw chains");
    let mut points = Vec::new();
    for t in [8, 16, 32, 64] {
        let classes = Classes::new(&prior, t).expect("a known prior");
        let by_classes = classes.cross_entropy(bigram) - classes.bayes();
        // The library's exact Bayes on one sequence per class.
        let by_bayes = classes.cross_entropy(bigram)
            - classes.cross_entropy(|class| {
                let answer = bayes.next_distribution(&one_of(class));
                let answer = answer.expect("a sequence of two states");
                [answer[0], answer[1]]
            });
        points.push(Point::of_length(t, 0.0, [by_classes, by_bayes]));
    }
    Claim::new("posterior.start")
        .tolerance(1e-6)
        .number("loss(bigrams) − loss(Bayes) at t = 64", points[3].truth[0])
        .leading(-1.0, points)
}

/// One sequence of a class.
fn one_of(class: &Class) -> Vec<u8> {
    let mut left = class.transitions;
    let mut x = vec![class.first as u8];
    let mut at = class.first;
    let length = class.symbols[0] + class.symbols[1];
    while x.len() < length {
        // The first run of each symbol uses up its repetitions; later runs have length one.
        let next = if left[at][at] > 0 { at } else { 1 - at };
        left[at][next] -= 1;
        at = next;
        x.push(at as u8);
    }
    x
}

/// The minimal model's constructed weights count what they should.
fn fact(id: &'static str, kind: MinimalStart) -> Entry {
    let counts_pairs = kind == MinimalStart::Bigram {};
    let spec = ModelSpec::Minimal(MinimalSpec {
        start: kind,
        ..MinimalSpec::default()
    });
    let t = 7;
    let model = Model::new(&spec, 2, t).expect("a minimal model");
    let params: Vec<f64> = model.start(0).iter().map(|&w| f64::from(w)).collect();
    let (w_k, v) = params.split_at(4);
    let mut points = Vec::new();
    for bits in 0..1_usize << t {
        let x: Vec<u8> = (0..t).map(|place| (bits >> place & 1) as u8).collect();
        let logits = reference::logits(&model, &params, &x);
        for (p, i) in [(0, 0), (3, 1), (6, 0), (6, 1)] {
            let hit = |q: usize| {
                let before = !counts_pairs || (q > 0 && x[q - 1] == x[p]);
                one_if(x[q] as usize == i && before)
            };
            let mut by_sum = 0.0;
            for q in (0..=p).filter(|&q| x[q] as usize == i) {
                by_sum += (0..=q)
                    .map(|s| v[q - s] * w_k[2 * x[p] as usize + x[s] as usize])
                    .sum::<f64>();
            }
            let at = [
                ("sequence", bits as f64),
                ("p", p as f64 + 1.0),
                ("i", i as f64 + 1.0),
            ];
            let printed = (0..=p).map(hit).sum();
            points.push(Point::new(&at, printed, [logits[(p, i)], by_sum]));
        }
    }
    Claim::new(id).equality(points)
}

/// What a uniform W_k counts with a v that favours v_1.
fn passing_unigrams(couplings: &Couplings) -> Entry {
    let t = 7;
    let spec = ModelSpec::Minimal(MinimalSpec::default());
    let model = Model::new(&spec, 2, t).expect("a minimal model");
    // v after a first step with η = 1 from c = 1, and v on the current symbol only.
    let stepped: Vec<f64> = first_drive(couplings.dirichlet(t))
        .v
        .iter()
        .map(|drive| 1.0 + drive)
        .collect();
    let alone: Vec<f64> = (0..t).map(|lag| one_if(lag == 0)).collect();
    let mut points = Vec::new();
    for (v, on_current) in [(alone, true), (stepped, false)] {
        let params: Vec<f64> = [1.0; 4].into_iter().chain(v.iter().copied()).collect();
        for bits in [0b0110100, 0b1010011, 0b1111110, 0b0001000] {
            let x: Vec<u8> = (0..t).map(|place| (bits >> place & 1) as u8).collect();
            let count = |weight: &dyn Fn(usize) -> f64| -> f64 {
                (0..t).filter(|&q| x[q] == 1).map(weight).sum()
            };
            let so_far = |q: usize| v[..=q].iter().sum::<f64>();
            let reference = reference::logits(&model, &params, &x)[(t - 1, 1)];
            let at = [("v_2", v[1]), ("sequence", f64::from(bits))];
            let point = Point::new(&at, count(&|_| v[0]), [reference, count(&so_far)]);
            points.push(point.inside(on_current));
        }
    }
    Claim::new("text.passing-unigrams").equality(points)
}
