//! `pool`: a fixed number of chains, drawn once from another prior and then reused.

use std::sync::Arc;

use induct_kernels::settings::Value;
use induct_kernels::{settings, with_kind};

use super::super::table::TransitionTable;
use super::spec::PriorSettings;
use super::{Draft, Law, Prior, PriorSpec, TaskPrior};
use crate::chain::{Generator, Purpose, address, open_unit};
use crate::{Invalid, Within, require};

settings! {
    /// A fixed number of chains, drawn once from another prior and then reused.
    pub struct Pool {
        /// Number of chains; it has to be set.
        pub size: usize,
        /// Seed of the draw: part of the prior, so that training and test sets share the chains.
        pub seed: u64 = 0,
        /// How likely each of them is.
        #[when(|own| own.weights != PoolWeights::default())]
        pub weights: PoolWeights = PoolWeights::default(),
        /// The prior that they are drawn from; it has to be set.
        pub of: Box<PriorSpec>,
    }
}

with_kind! {
    /// How likely the chains of a pool are.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum PoolWeights {
        /// All alike.
        Uniform {},
        /// Drawn with the pool, uniformly among all weights that sum to one.
        Random {},
        /// The i-th is drawn in proportion to i^−exponent.
        Zipf {
            /// How steeply they fall.
            #[serde(default = "one")]
            exponent: f64,
        },
    }
}

fn one() -> f64 {
    1.0
}

impl Default for PoolWeights {
    fn default() -> Self {
        PoolWeights::Uniform {}
    }
}

impl Value for PoolWeights {
    fn text(&self) -> Option<String> {
        (*self == Self::default()).then(|| "\"uniform\"".to_owned())
    }
}

impl Value for Box<PriorSpec> {}

impl PoolWeights {
    fn check(self) -> Result<(), Invalid> {
        let PoolWeights::Zipf { exponent } = self else {
            return Ok(());
        };
        let allowed = "a number from 0 to 100";
        require(
            (0.0..=100.0).contains(&exponent),
            "exponent",
            exponent,
            allowed,
        )
    }

    /// The weights of `count` chains, which sum to one; none if they are alike.
    fn weights(self, count: usize, seed: u64) -> Option<Vec<f64>> {
        let mut weights: Vec<f64> = match self {
            PoolWeights::Uniform {} => return None,
            PoolWeights::Random {} => {
                // Gaps between uniform points on a line: exponential numbers over their sum.
                let rng = &mut address(Purpose::Pool, seed, 1).generator(0);
                (0..count).map(|_| -libm::log(open_unit(rng))).collect()
            }
            PoolWeights::Zipf { exponent } => {
                let weight = |rank: usize| libm::pow(rank as f64, -exponent);
                (1..=count).map(weight).collect()
            }
        };
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        Some(weights)
    }
}

/// The largest pool.
pub const MAX_POOL: usize = 1 << 20;

impl PriorSettings for Pool {
    fn check(&self, _: usize, _: usize) -> Result<(), Invalid> {
        require(
            (1..=MAX_POOL).contains(&self.size),
            "size",
            self.size,
            &format!("a number of chains from 1 to {MAX_POOL}"),
        )?;
        self.weights.check().within("weights")
    }

    fn prepare(&self, states: usize, ngram: usize) -> Result<Arc<dyn Prior>, Invalid> {
        let source = TaskPrior::prepare(&self.of, states, ngram).within("of")?;
        let address = address(Purpose::Pool, self.seed, 0);
        let tables = source.draw_many(self.size, address);
        let tables = tables.map_err(Invalid::from).at("of")?;
        let weights = self.weights.weights(self.size, self.seed);
        Ok(Arc::new(TablePool::new(tables, weights)))
    }

    fn pooled(&self) -> f64 {
        self.size.min(MAX_POOL) as f64
    }

    fn parts(&self) -> Vec<(String, &PriorSpec)> {
        vec![("of".to_owned(), &self.of)]
    }

    fn parts_mut(&mut self) -> Vec<&mut PriorSpec> {
        vec![&mut self.of]
    }
}

/// Tables that already exist, at least one.
#[derive(Debug)]
pub(super) struct TablePool {
    tables: Vec<TransitionTable>,
    /// Their weights, if they are not equally likely, and the sums of the weights up to each.
    weights: Option<[Vec<f64>; 2]>,
}

impl TablePool {
    pub fn new(tables: Vec<TransitionTable>, weights: Option<Vec<f64>>) -> Self {
        let with_sums = |weights: Vec<f64>| {
            let mut sum = 0.0;
            let up_to = |weight: &f64| {
                sum += weight;
                sum
            };
            let sums = weights.iter().map(up_to).collect();
            [weights, sums]
        };
        Self {
            tables,
            weights: weights.map(with_sums),
        }
    }
}

impl Prior for TablePool {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let u = open_unit(rng);
        let chosen = match &self.weights {
            None => (u * self.tables.len() as f64) as usize,
            Some([_, sums]) => sums.partition_point(|&sum| sum <= u),
        };
        // Rounding may have left the last sum slightly below one.
        table.copy_from(&self.tables[chosen.min(self.tables.len() - 1)]);
    }

    fn law(&self) -> Law<'_> {
        let weights = self.weights.as_ref().map(|[weights, _]| &**weights);
        Law::Pool(&self.tables, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{draws, prior};
    use super::*;

    #[test]
    fn a_pool_is_drawn_once_and_used_evenly() {
        let prior = prior("'pool', size = 4, seed = 9, of = 'dirichlet'", 2, 2);
        let mut uses: Vec<(TransitionTable, usize)> = Vec::new();
        for table in draws(&prior, 4_000) {
            match uses.iter_mut().find(|(known, _)| *known == table) {
                Some((_, count)) => *count += 1,
                None => uses.push((table, 1)),
            }
        }
        assert_eq!(uses.len(), 4);
        for (_, count) in uses {
            assert!((count as f64 - 1000.0).abs() < 4.0 * 750_f64.sqrt());
        }
    }

    #[test]
    fn weights_say_how_often_a_chain_is_used() {
        for (weights, expected) in [
            ("{ kind = 'zipf', exponent = 2.0 }", vec![36.0, 9.0, 4.0]),
            ("'zipf'", vec![6.0, 3.0, 2.0]),
        ] {
            let text = format!("'pool', size = 3, seed = 9, weights = {weights}, of = 'dirichlet'");
            let weighted = prior(&text, 2, 2);
            let Law::Pool(tables, Some(weights)) = weighted.law() else {
                panic!("{:?}", weighted.law());
            };
            let plain = prior("'pool', size = 3, seed = 9, of = 'dirichlet'", 2, 2);
            assert!(matches!(plain.law(), Law::Pool(same, None) if same == tables));
            let total: f64 = expected.iter().sum();
            for ((table, weight), expected) in tables.iter().zip(weights).zip(&expected) {
                assert!((weight - expected / total).abs() < 1e-12);
                let used = draws(&weighted, 4_000)
                    .iter()
                    .filter(|own| *own == table)
                    .count();
                let spread = (4_000.0 * weight * (1.0 - weight)).sqrt();
                assert!(
                    (used as f64 - 4_000.0 * weight).abs() < 4.0 * spread,
                    "{used}"
                );
            }
        }
    }

    #[test]
    fn random_weights_belong_to_the_seed() {
        let weights = |seed: u64| PoolWeights::Random {}.weights(2_000, seed).unwrap();
        assert_eq!(weights(3), weights(3));
        assert_ne!(weights(3), weights(4));
        let sum: f64 = weights(3).iter().sum();
        assert!((sum - 1.0).abs() < 1e-12);
        // A flat Dirichlet: E Σ w² = 2 / (n + 1).
        let squares: f64 = weights(3).iter().map(|w| w * w).sum();
        assert!((squares * 1000.5 - 1.0).abs() < 0.2, "{squares}");
    }
}
