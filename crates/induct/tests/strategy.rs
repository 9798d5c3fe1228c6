//! What every strategy guarantees, and what Bayes' rule gives when worked out another way.

use std::collections::HashMap;
use std::sync::Arc;

use induct::chain::{
    self, Address, Alpha, Purpose, Sampler, Start, TaskPrior, TransitionTable, open_unit,
};
use induct::probe::{Estimate, Moments};
use induct::strategy::{self, Bayes, Ngram, PredictError, Scratch, Strategy};

use crate::chain::prior;

fn address(seed: u64) -> Address {
    chain::address(Purpose::Test, seed, 0)
}

fn dirichlet(alpha: &[f64]) -> String {
    format!("kind = 'dirichlet', alpha = {alpha:?}")
}

fn iid(alpha: &[f64]) -> String {
    format!("kind = 'iid', alpha = {alpha:?}")
}

fn pool(size: usize, seed: u64, of: &str) -> String {
    format!("kind = 'pool', size = {size}, seed = {seed}, of = {{ {of} }}")
}

fn mixture(parts: [(f64, &str); 2]) -> String {
    let part = |(weight, prior)| format!("{{ weight = {weight:?}, prior = {{ {prior} }} }}");
    format!("kind = 'mixture', parts = [{}]", parts.map(part).join(", "))
}

fn fixed(rows: &[[f64; 2]]) -> String {
    format!("kind = 'fixed', table = {rows:?}")
}

const DOUBLY_STOCHASTIC: &str = "kind = 'doubly-stochastic'";

/// A prior whose sequences start from a uniform context.
fn evenly(settings: &str, states: usize, ngram: usize) -> TaskPrior {
    prior(settings, states, ngram).starting(Start::Uniform {})
}

/// Every kind of prior, each at a size it allows.
fn all_priors() -> Vec<TaskPrior> {
    let ones = dirichlet(&[1.0; 3]);
    let uneven = iid(&[0.5, 2.0, 1.0]);
    let mixed = mixture([(1.0, &uneven), (2.0, &ones)]);
    vec![
        prior(&dirichlet(&[1.0, 1.0]), 2, 2),
        prior(&dirichlet(&[0.1, 0.3]), 2, 2),
        prior(&dirichlet(&[0.02, 0.01]), 2, 4),
        prior(&dirichlet(&[0.5, 1.0, 4.0]), 3, 2),
        prior(&ones, 3, 2),
        prior(&ones, 3, 3),
        prior(&uneven, 3, 2),
        prior(DOUBLY_STOCHASTIC, 4, 2),
        prior("kind = 'interpolated', p = 0.5", 2, 2),
        prior("kind = 'symmetric', epsilon = 0.3", 2, 3),
        prior(&fixed(&[[0.25, 0.75], [0.9, 0.1]]), 2, 2),
        prior(&pool(5, 3, &ones), 3, 3),
        prior(&format!("{}, weights = 'random'", pool(5, 3, &ones)), 3, 2),
        prior(&mixed, 3, 2),
        evenly(&dirichlet(&[0.1, 0.3]), 2, 2),
        evenly(&ones, 3, 2),
        evenly(&dirichlet(&[0.5, 1.0, 4.0]), 3, 3),
        evenly(&uneven, 3, 3),
        evenly(&pool(5, 3, &ones), 3, 3),
        evenly(&mixed, 3, 3),
        evenly(DOUBLY_STOCHASTIC, 3, 3),
    ]
}

fn bayes(prior: &TaskPrior) -> Arc<dyn Strategy> {
    strategy::named("bayes", prior).unwrap()
}

/// Distributions at all positions, [tokens, k].
fn everywhere(strategy: &dyn Strategy, tokens: &[u8]) -> Vec<f64> {
    let answers = strategy.distributions(tokens).unwrap();
    answers.rows().flatten().copied().collect()
}

/// The same of the chain itself.
fn truth(table: &TransitionTable, tokens: &[u8]) -> Vec<f64> {
    let k = table.states();
    let mut laws = vec![0.0; tokens.len() * k];
    for (position, law) in laws.chunks_exact_mut(k).enumerate() {
        table.next_distribution(&tokens[..=position], law);
    }
    laws
}

/// The distribution after all of `tokens`.
fn at_end(strategy: &dyn Strategy, tokens: &[u8]) -> Vec<f64> {
    strategy.next_distribution(tokens).unwrap()
}

#[test]
fn predictions_are_distributions_and_depend_on_the_past_only() {
    // One scratch buffer for all: what a strategy leaves in it must not affect the next.
    let mut scratch = Scratch::default();
    for prior in all_priors() {
        let k = prior.states();
        let mut tokens = vec![0; 13];
        Sampler::new(&prior)
            .sequence(&prior, address(1), 0, &mut tokens)
            .unwrap();
        for strategy in strategy::all(&prior).unwrap() {
            let name = strategy.name();
            let full = everywhere(&*strategy, &tokens);
            for row in full.chunks_exact(k) {
                assert!(row.iter().all(|&p| p > 0.0), "{name}: {row:?}");
                assert!(
                    (row.iter().sum::<f64>() - 1.0).abs() < 1e-12,
                    "{name}: {row:?}"
                );
            }
            for range in [0..1, 1..4, 5..13, 12..13] {
                // Equal to the bit, with the future cut off …
                let slice = &full[range.start * k..range.end * k];
                let mut out = vec![0.0; slice.len()];
                strategy.predict(&tokens[..range.end], range.clone(), &mut scratch, &mut out);
                assert_eq!(out, slice, "{name} at {range:?}");
                // … or changed.
                let mut other = tokens.clone();
                for symbol in &mut other[range.end..] {
                    *symbol = (*symbol + 1) % k as u8;
                }
                strategy.predict(&other, range.clone(), &mut scratch, &mut out);
                assert_eq!(out, slice, "{name} at {range:?}");
            }
        }
    }
}

#[test]
fn effective_samples_are_reported_where_something_was_sampled() {
    for prior in all_priors() {
        let tokens = [0, 1, 1, 0, 0, 1];
        let bayes = Bayes::new(&prior).unwrap();
        let mut out = vec![0.0; 6 * prior.states()];
        let mut scratch = Scratch::default();
        let effective = bayes.predict(&tokens, 0..6, &mut scratch, &mut out);
        assert_eq!(effective.is_none(), bayes.is_exact(), "{prior:?}");
        assert!(
            effective.is_none_or(|n| (1.0..4096.5).contains(&n)),
            "{effective:?}"
        );
    }
}

#[test]
fn names_and_reference_strategies_follow_the_task() {
    let prior = prior(&dirichlet(&[1.0, 1.0]), 2, 4);
    let all = strategy::all(&prior).unwrap();
    let names: Vec<String> = all.iter().map(|s| s.name()).collect();
    // The ladder comes first, and then what is defined for the prior.
    let ladder = ["uniform", "unigram", "bigram", "trigram", "4-gram"];
    assert_eq!(names[..5], ladder);
    assert!(names.contains(&"bayes".to_owned()));
    assert!(!names.contains(&"bayes-unigram".to_owned()));
}

#[test]
fn counting_strategies_match_counts_by_hand() {
    let tokens = [0, 1, 1, 2, 1, 1];
    let ngram = |m, alpha: &Alpha| Ngram::new(m, 3, alpha).unwrap();
    let one = Alpha::Scalar(1.0);
    // 0 once, 1 four times, 2 once; six in all.
    assert_eq!(
        at_end(&ngram(1, &one), &tokens),
        [2.0 / 9.0, 5.0 / 9.0, 2.0 / 9.0]
    );
    // After 1: 1 twice, 2 once.
    assert_eq!(
        at_end(&ngram(2, &one), &tokens),
        [1.0 / 6.0, 3.0 / 6.0, 2.0 / 6.0]
    );
    // After (1, 1): 2 once.
    assert_eq!(
        at_end(&ngram(3, &one), &tokens),
        [1.0 / 4.0, 1.0 / 4.0, 2.0 / 4.0]
    );
    let uneven = Alpha::Vector(vec![0.5, 1.0, 2.5]);
    assert_eq!(
        at_end(&ngram(2, &uneven), &tokens),
        [0.5 / 7.0, 3.0 / 7.0, 3.5 / 7.0]
    );
    // With fewer symbols than a context needs, the prior mean, even if 0s have been seen.
    for seen in 1..3 {
        let early = at_end(&ngram(4, &uneven), &[0, 0][..seen]);
        assert_eq!(early, [0.125, 0.25, 0.625]);
    }
}

/// Mean and standard error of the prediction of symbol 0 over seeds.
fn over_seeds(make: impl Fn(u64) -> Bayes, tokens: &[u8]) -> (f64, f64) {
    let predictions: Vec<f64> = (0..8).map(|seed| at_end(&make(seed), tokens)[0]).collect();
    mean_and_error(&predictions)
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let Estimate { mean, se } = Moments::from_iter(values.iter().copied()).estimate();
    (mean, se)
}

/// Exact formulas, samples of the posterior, and samples of the prior weighted by likelihood.
#[test]
fn all_ways_to_compute_bayes_agree() {
    let mixed = [0, 2, 1, 0, 2, 1, 1, 0, 2, 0, 2, 1, 0, 1, 2, 0, 2, 1, 0, 0];
    let two_parts = mixture([(1.0, &dirichlet(&[0.5, 1.0])), (2.0, &iid(&[2.0, 0.5]))]);
    let cases: [(String, usize, usize, &[u8]); 9] = [
        (dirichlet(&[1.0, 1.0]), 2, 2, &[0, 1, 1, 1, 0, 1]),
        (dirichlet(&[0.3, 2.0]), 2, 2, &[1, 0, 0, 1]),
        (dirichlet(&[1.0, 1.0]), 2, 3, &[0, 1, 1, 0, 1, 1, 0, 1]),
        (dirichlet(&[0.2, 0.5, 3.0]), 3, 2, &[0, 2, 0]),
        (dirichlet(&[1.0; 3]), 3, 3, &[0]),
        (DOUBLY_STOCHASTIC.to_owned(), 3, 2, &mixed),
        (
            DOUBLY_STOCHASTIC.to_owned(),
            2,
            3,
            &[0, 1, 0, 0, 0, 1, 0, 0, 0],
        ),
        (two_parts.clone(), 2, 2, &[0, 0, 1, 0]),
        (two_parts, 2, 2, &[1, 0, 1, 0, 1, 0, 1]),
    ];
    for (spec, states, ngram, tokens) in cases {
        let prior = prior(&spec, states, ngram);
        let from_prior = over_seeds(
            |seed| Bayes::by_prior_sample(&prior, 4096, seed).unwrap(),
            tokens,
        );
        let mut others = Vec::new();
        if Bayes::by_posterior_sample(&prior, 1, 0).is_ok() {
            others.push(over_seeds(
                |seed| Bayes::by_posterior_sample(&prior, 1024, seed).unwrap(),
                tokens,
            ));
        }
        let bayes = Bayes::new(&prior).unwrap();
        if bayes.is_exact() {
            others.push((at_end(&bayes, tokens)[0], 0.0));
        }
        assert!(!others.is_empty());
        for (mean, error) in others {
            let case = format!("{spec:?}, n = {ngram}: {mean} ± {error}, {from_prior:?}");
            assert!(error.max(from_prior.1) < 4e-3, "{case}");
            let far = (mean - from_prior.0).abs();
            assert!(far < 4.0 * error.hypot(from_prior.1), "{case}");
        }
    }
}

#[test]
fn bayes_over_a_pool_is_a_sum_over_its_tables() {
    let starts = [Start::Stationary {}, Start::Uniform {}];
    let settings = starts.into_iter().flat_map(|start| {
        let sizes = [(3, 2), (3, 3), (2, 5)].into_iter();
        sizes.flat_map(move |(k, n)| [(k, n, start, false), (k, n, start, true)])
    });
    for (states, ngram, start, zipf) in settings {
        let (weights, of_rank): (_, fn(usize) -> f64) = match zipf {
            true => (", weights = 'zipf'", |rank| 1.0 / rank as f64),
            false => ("", |_| 1.0),
        };
        let ones = dirichlet(&vec![1.0; states]);
        // The pool's tables, drawn as its definition says.
        let source = prior(&ones, states, ngram).starting(start);
        let weighted = pool(7, 1, &ones) + weights;
        let prior = prior(&weighted, states, ngram).starting(start);
        let pool_address = chain::address(Purpose::Pool, 1, 0);
        let tables = source.draw_many(7, pool_address).unwrap();
        let evidence = |tokens: &[u8]| -> f64 {
            let ranked = (1..).zip(&tables);
            ranked
                .map(|(rank, table)| of_rank(rank) * table.log_likelihood(tokens).exp())
                .sum()
        };
        let mut tokens = vec![0; 30];
        Sampler::new(&prior)
            .sequence(&prior, address(4), 0, &mut tokens)
            .unwrap();
        let rows = everywhere(&*bayes(&prior), &tokens);
        for (position, row) in rows.chunks_exact(states).enumerate() {
            for (symbol, p) in row.iter().enumerate() {
                let longer = [&tokens[..=position], &[symbol as u8]].concat();
                let expected = evidence(&longer) / evidence(&tokens[..=position]);
                assert!(
                    (p - expected).abs() < 1e-12,
                    "n = {ngram}, {position}: {p} {expected}"
                );
            }
        }
    }
}

/// Under a uniform start, the first n−1 symbols say nothing about the chain: every method must leave them out,
/// and agree with chains of the prior, weighted by likelihood.
#[test]
fn bayes_learns_nothing_from_a_uniform_start() {
    let (iid, uneven) = (iid(&[0.5, 2.0, 1.0]), dirichlet(&[0.5, 1.0, 2.0]));
    let mixture = mixture([(1.0, &iid), (1.0, &uneven)]);
    let tokens = [0, 2, 2, 1, 2];
    for spec in [uneven, iid, mixture, DOUBLY_STOCHASTIC.to_owned()] {
        for ngram in [2, 3] {
            let prior = evenly(&spec, 3, ngram);
            let bayes = Bayes::new(&prior).unwrap();
            let rows = everywhere(&bayes, &tokens);
            let sampled = Bayes::by_prior_sample(&prior, 10_000, 1).unwrap();
            let sampled = everywhere(&sampled, &tokens);
            for (index, (p, other)) in rows.iter().zip(&sampled).enumerate() {
                // A probability from 10,000 weighted draws is off by about 0.3/√2,500 at most. The 512
                // draws of the doubly stochastic method are off by more.
                let tolerance = 4.0 * if bayes.is_exact() { 0.006 } else { 0.02 };
                assert!(
                    (p - other).abs() < tolerance,
                    "{spec:?} {ngram} {index}: {p} {other}"
                );
            }
            if ngram == 3 {
                assert_eq!(rows[..3], [1.0 / 3.0; 3], "{spec:?}");
            }
        }
    }
    // Two states: the add-α bigram, to the bit, from the first symbol on.
    let two = evenly(&dirichlet(&[0.3, 2.0]), 2, 2);
    let bigram = Ngram::new(2, 2, &Alpha::Vector(vec![0.3, 2.0])).unwrap();
    let (tokens, exact) = ([1, 0, 0, 1, 1, 0], Bayes::new(&two).unwrap());
    assert!(exact.is_exact());
    assert_eq!(everywhere(&exact, &tokens), everywhere(&bigram, &tokens));
    // Sampling the posterior gives the same: all its weights are equal.
    let sampled = Bayes::by_posterior_sample(&two, 64, 0).unwrap();
    for (p, other) in everywhere(&sampled, &tokens)
        .iter()
        .zip(everywhere(&exact, &tokens))
    {
        assert!((p - other).abs() < 1e-12);
    }
}

#[test]
fn bayes_for_a_fixed_chain_is_the_oracle_and_for_independent_symbols_the_unigram() {
    let rows = [0.1, 0.5, 0.7, 0.2].map(|p| [p, 1.0 - p]);
    let fixed = prior(&fixed(&rows), 2, 3);
    let table = TransitionTable::from_rows(2, 3, &rows.map(|row| row.to_vec())).unwrap();
    let tokens = [0, 1, 1, 0, 1, 0, 0, 0, 1];
    let by_bayes = everywhere(&*bayes(&fixed), &tokens);
    for (a, b) in by_bayes.iter().zip(&truth(&table, &tokens)) {
        assert!((a - b).abs() < 1e-15, "{a} {b}");
    }
    let iid = prior(&iid(&[0.5, 3.0]), 2, 2);
    let unigram = Ngram::new(1, 2, &Alpha::Vector(vec![0.5, 3.0])).unwrap();
    assert_eq!(
        everywhere(&*bayes(&iid), &tokens),
        everywhere(&unigram, &tokens)
    );
}

/// Expected log losses of one sequence at every position, the next symbol averaged over its true law.
fn losses(strategy: &dyn Strategy, tokens: &[u8], truth: &[f64]) -> Vec<f64> {
    let k = strategy.states();
    let rows = everywhere(strategy, tokens);
    let loss = |(row, truth): (&[f64], &[f64])| -> f64 {
        row.iter()
            .zip(truth)
            .map(|(p, weight)| -weight * p.ln())
            .sum()
    };
    rows.chunks_exact(k)
        .zip(truth.chunks_exact(k))
        .map(loss)
        .collect()
}

/// At every position, how much more `other` loses than `best`: mean and standard error.
fn excess(best: &[Vec<f64>], other: &[Vec<f64>]) -> Vec<(f64, f64)> {
    (0..best[0].len())
        .map(|position| {
            let differences: Vec<f64> = (best.iter().zip(other))
                .map(|(best, other)| other[position] - best[position])
                .collect();
            mean_and_error(&differences)
        })
        .collect()
}

#[test]
fn bayes_beats_every_strategy_that_does_not_know_the_chain() {
    bayes_beats_every_strategy(&[
        (dirichlet(&[1.0, 1.0]), 2, 2, 1000),
        (dirichlet(&[0.2, 0.5]), 2, 2, 1000),
    ]);
}

#[test]
#[ignore = "slow: samples a thousand posteriors"]
fn sampled_bayes_beats_every_strategy_that_does_not_know_the_chain() {
    bayes_beats_every_strategy(&[
        (dirichlet(&[1.0; 3]), 3, 2, 1000),
        (dirichlet(&[1.0, 1.0]), 2, 3, 1000),
        ("kind = 'interpolated', p = 0.5".to_owned(), 2, 2, 1000),
    ]);
}

/// Draws sequences of each task, and compares the strategies' losses at every position.
fn bayes_beats_every_strategy(tasks: &[(String, usize, usize, u64)]) {
    for (spec, states, ngram, sequences) in tasks {
        let prior = prior(spec, *states, *ngram);
        let mut sampler = Sampler::new(&prior);
        let mut tokens = vec![0; 20];
        let bayes = bayes(&prior);
        let mut others = strategy::ladder(&prior);
        for name in ["bayes-unigram", "unigram-and-current"] {
            others.extend(strategy::named(name, &prior));
        }
        let (mut best, mut rest) = (Vec::new(), vec![Vec::new(); others.len()]);
        for index in 0..*sequences {
            let table = sampler
                .sequence(&prior, address(5), index, &mut tokens)
                .unwrap();
            let truth = truth(table, &tokens);
            best.push(losses(&*bayes, &tokens, &truth));
            for (strategy, losses_of) in others.iter().zip(&mut rest) {
                losses_of.push(losses(&**strategy, &tokens, &truth));
            }
        }
        for (strategy, other) in others.iter().zip(&rest) {
            let excess = excess(&best, other);
            let case = format!("{spec:?}, n = {ngram}, {}: {excess:?}", strategy.name());
            // Some give the same answer at first, but for rounding.
            let holds = excess
                .iter()
                .all(|(mean, error)| *mean > -4.0 * error - 1e-14);
            assert!(holds, "{case}");
            let somewhere = excess.iter().any(|(mean, error)| *mean > 4.0 * error);
            assert!(somewhere, "{case}");
        }
    }
}

#[test]
fn bayes_unigram_beats_counting_on_independent_symbols_of_its_law() {
    for alpha in [[1.0, 1.0], [0.2, 0.2], [2.0, 0.5]] {
        let prior = prior(&dirichlet(&alpha), 2, 2);
        let best = strategy::named("bayes-unigram", &prior).unwrap();
        let counting = Ngram::new(1, 2, &Alpha::Vector(alpha.to_vec())).unwrap();
        let (mut of_best, mut of_counting) = (Vec::new(), Vec::new());
        for (index, table) in prior
            .draw_many(3000, address(6))
            .unwrap()
            .iter()
            .enumerate()
        {
            let mut rng = address(7).generator(index as u64);
            let frequency = table.stationary()[0];
            let tokens: Vec<u8> = (0..20)
                .map(|_| u8::from(open_unit(&mut rng) > frequency))
                .collect();
            let truth = table.stationary().repeat(20);
            of_best.push(losses(&*best, &tokens, &truth));
            of_counting.push(losses(&counting, &tokens, &truth));
        }
        let excess = excess(&of_best, &of_counting);
        let holds = excess.iter().all(|(mean, error)| *mean > -4.0 * error);
        assert!(holds, "α = {alpha:?}: {excess:?}");
        assert!(excess[0].0 > 4.0 * excess[0].1, "α = {alpha:?}: {excess:?}");
    }
}

/// All sequences of a length.
fn all_sequences(states: usize, length: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..states.pow(length as u32)).map(move |mut number| {
        let digit = |_| {
            let digit = number % states;
            number /= states;
            digit as u8
        };
        (0..length).map(digit).collect()
    })
}

/// What an average by hand depends on: how often each symbol occurred, and the current one.
fn counts_and_current(tokens: &[u8]) -> ([usize; 3], u8) {
    let counts = [0, 1, 2].map(|symbol| tokens.iter().filter(|&&t| t == symbol).count());
    (counts, tokens[tokens.len() - 1])
}

/// Averages the next symbol's distribution over all sequences of a length with the same counts and current
/// symbol. `joint` gives the probability of a sequence, and that times the next symbol's.
fn by_enumeration(
    states: usize,
    length: usize,
    joint: impl Fn(&[u8]) -> Vec<f64>,
) -> HashMap<([usize; 3], u8), Vec<f64>> {
    let mut sums = HashMap::new();
    for tokens in all_sequences(states, length) {
        let sum = sums
            .entry(counts_and_current(&tokens))
            .or_insert_with(|| vec![0.0; states]);
        for (sum, p) in sum.iter_mut().zip(joint(&tokens)) {
            *sum += p;
        }
    }
    for row in sums.values_mut() {
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= total);
    }
    sums
}

/// The next symbol's distribution times the probability of `tokens` under exact Bayes, where `first` is the
/// law of the first symbol.
fn bayes_joint(bayes: &dyn Strategy, first: &[f64], tokens: &[u8]) -> Vec<f64> {
    let k = bayes.states();
    let rows = everywhere(bayes, tokens);
    let steps = rows.chunks_exact(k).zip(&tokens[1..]);
    let likelihood: f64 = steps.map(|(row, &next)| row[usize::from(next)]).product();
    let probability = first[usize::from(tokens[0])] * likelihood;
    let last = &rows[rows.len() - k..];
    last.iter().map(|p| probability * p).collect()
}

#[test]
fn counts_and_current_symbol_predict_as_an_average_over_all_orders() {
    let two = [[1.0, 1.0], [0.3, 0.3], [0.5, 4.0], [30.0, 2.0]];
    let mut priors: Vec<TaskPrior> = Vec::new();
    for alpha in two {
        priors.push(prior(&dirichlet(&alpha), 2, 2));
        priors.push(evenly(&dirichlet(&alpha), 2, 2));
    }
    priors.push(evenly(&dirichlet(&[1.0; 3]), 3, 2));
    for prior in priors {
        let k = prior.states();
        let exact = Bayes::new(&prior).unwrap();
        assert!(exact.is_exact());
        let first = if prior.start().is_stationary() {
            // Symbols 0, 1 and 1, 0 are equally likely under every chain's stationary law.
            let [to_one, to_zero] = [at_end(&exact, &[0])[1], at_end(&exact, &[1])[0]];
            vec![to_zero / (to_one + to_zero), to_one / (to_one + to_zero)]
        } else {
            vec![1.0 / k as f64; k]
        };
        let ours = strategy::named("unigram-and-current", &prior).unwrap();
        let lengths = if k == 2 { 1..=12 } else { 1..=9 };
        for length in lengths {
            let expected = by_enumeration(k, length, |tokens| bayes_joint(&exact, &first, tokens));
            for tokens in all_sequences(k, length) {
                let row = at_end(&*ours, &tokens);
                for (p, expected) in row.iter().zip(&expected[&counts_and_current(&tokens)]) {
                    assert!(
                        (p - expected).abs() < 1e-11,
                        "{prior:?} {tokens:?}: {p} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
#[ignore = "slow: 4,096 sequences of 100 tokens, five times"]
fn counts_and_current_symbol_lie_between_bayes_and_the_unigram() {
    let cases = [
        prior(&dirichlet(&[1.0; 2]), 2, 2),
        evenly(&dirichlet(&[1.0; 2]), 2, 2),
        prior(&dirichlet(&[0.3, 2.0]), 2, 2),
        evenly(&dirichlet(&[1.0; 3]), 3, 2),
        prior(&dirichlet(&[1.0; 3]), 3, 2),
    ];
    for prior in cases {
        let names = ["bigram", "unigram-and-current", "unigram"];
        let strategies = names.map(|name| strategy::named(name, &prior).unwrap());
        let mut sampler = Sampler::new(&prior);
        let mut tokens = vec![0; 100];
        let mut divergences = [const { Vec::new() }; 3];
        for index in 0..4096 {
            let table = sampler.sequence(&prior, address(9), index, &mut tokens);
            let truth = table.unwrap().row(usize::from(tokens[99]));
            for (strategy, divergences) in strategies.iter().zip(&mut divergences) {
                let row = at_end(&**strategy, &tokens);
                let kl = |(p, q): (&f64, &f64)| if *p > 0.0 { p * (p / q).ln() } else { 0.0 };
                divergences.push(truth.iter().zip(&row).map(kl).sum::<f64>());
            }
        }
        for pair in divergences.windows(2) {
            let differences: Vec<f64> = pair[1].iter().zip(&pair[0]).map(|(b, a)| b - a).collect();
            let (mean, error) = mean_and_error(&differences);
            assert!(mean > 4.0 * error, "{prior:?}: {mean} ± {error}");
        }
    }
}

#[test]
fn single_sequences_are_checked_before_they_are_predicted_on() {
    let prior = prior(&dirichlet(&[1.0, 1.0]), 2, 2);
    for strategy in strategy::all(&prior).unwrap() {
        let name = strategy.name();
        let ask = |tokens: &[u8]| strategy.distributions(tokens);
        assert_eq!(ask(&[]).unwrap_err(), PredictError::Empty, "{name}");
        let unknown = ask(&[0, 1, 2]).unwrap_err();
        assert!(
            matches!(
                unknown,
                PredictError::Symbol {
                    position: 2,
                    symbol: 2,
                    ..
                }
            ),
            "{name}: {unknown}"
        );
        assert!(unknown.to_string().contains("0 to 1"), "{unknown}");
        let answers = ask(&[0, 1, 1]).unwrap();
        assert_eq!(answers.positions(), 3);
        let last = strategy.next_distribution(&[0, 1, 1]);
        assert_eq!(answers.row(2), last.unwrap(), "{name}");
        assert_eq!(answers.rows().next_back(), Some(answers.row(2)));
    }
}
