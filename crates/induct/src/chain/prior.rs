//! Priors over transition tables: as written in a recipe ([`PriorSpec`]) and ready to draw ([`Prior`]).

use rand_distr::{Distribution, Exp1, Gamma};
use serde::{Deserialize, Serialize};

use super::birkhoff;
use super::stationary::StationarySolver;
use super::stream::{Address, Generator, Purpose, open_interval, open_unit};
use super::table::TransitionTable;
use crate::invalid::{Invalid, require};

/// Concentration of a Dirichlet: one number for every symbol, or one each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number, or a list with one per state")]
pub enum Alpha {
    /// The same concentration for every symbol.
    Scalar(f64),
    /// One concentration a symbol.
    Vector(Vec<f64>),
}

impl Default for Alpha {
    fn default() -> Self {
        Alpha::Scalar(1.0)
    }
}

impl Alpha {
    /// One concentration a symbol, if they are all positive and `states` in number.
    pub fn resolve(&self, states: usize) -> Result<Vec<f64>, Invalid> {
        let alpha = match self {
            Alpha::Scalar(value) => vec![*value; states],
            Alpha::Vector(values) => values.clone(),
        };
        require(
            alpha.len() == states,
            "alpha",
            format!("{alpha:?}"),
            &format!("one number, or {states} of them, one for each state"),
        )?;
        for &value in &alpha {
            require(
                ALPHA.contains(&value),
                "alpha",
                value,
                "a number above 0 (from 0.0001 to 10000)",
            )?;
        }
        Ok(alpha)
    }
}

/// A prior over chains, as a recipe writes it.
///
/// `doubly-stochastic`, `interpolated` and `symmetric` are priors over Markov chains; in a task with n > 2
/// their tables depend on the last symbol of a context only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PriorSpec {
    /// Every context's row is an independent Dirichlet draw.
    Dirichlet {
        /// Concentration.
        #[serde(default)]
        alpha: Alpha,
    },
    /// One Dirichlet draw, shared by all rows: symbols are independent.
    Iid {
        /// Concentration.
        #[serde(default)]
        alpha: Alpha,
    },
    /// Uniform over tables whose columns sum to one as well.
    DoublyStochastic {},
    /// Two states; between independent symbols (p = 0) and chains without a unigram signal (p = 1).
    Interpolated {
        /// From 0 to 1.
        p: f64,
    },
    /// Two states that stay put with the same probability a ~ U(½−ε, ½+ε).
    Symmetric {
        /// Half the width of the interval, above 0 and at most ½.
        epsilon: f64,
    },
    /// The same chain for every sequence.
    Fixed {
        /// Its rows, one a context.
        table: Vec<Vec<f64>>,
    },
    /// A number of chains drawn once from another prior, then used again and again.
    Pool {
        /// How many chains.
        size: usize,
        /// Seed of the draw: part of the prior, so that training and test sets share the chains.
        #[serde(default)]
        seed: u64,
        /// Where the chains come from.
        of: Box<PriorSpec>,
    },
    /// One of several priors, chosen for every sequence by weight.
    Mixture {
        /// The priors and their weights.
        parts: Vec<MixturePart>,
    },
}

impl Default for PriorSpec {
    fn default() -> Self {
        PriorSpec::Dirichlet {
            alpha: Alpha::default(),
        }
    }
}

/// One component of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixturePart {
    /// Relative weight, above 0; weights need not sum to one.
    pub weight: f64,
    /// The component.
    pub prior: PriorSpec,
}

/// The most symbols: tokens are bytes.
pub const MAX_STATES: usize = 256;

/// The largest number of contexts for which stationary laws are solved (the cost is its cube).
pub const MAX_CONTEXTS: usize = 1024;

/// The largest pool.
pub const MAX_POOL: usize = 1 << 20;

/// Logarithm of the smallest share a Dirichlet row is given (10⁻³⁵ or so, far below what a sequence can show), so
/// that every drawn chain is irreducible and its stationary law can be solved for.
const SMALLEST_LOG_SHARE: f64 = -80.0;

/// Concentrations that can be told from their limits, and for which Bayes can be computed.
const ALPHA: std::ops::RangeInclusive<f64> = 1e-4..=1e4;

/// A prior that has been checked against its task and can draw tables.
#[derive(Clone, Debug)]
pub struct Prior {
    states: usize,
    ngram: usize,
    law: Law,
}

/// What the draws look like.
#[derive(Clone, Debug)]
pub enum Law {
    /// Independent rows.
    Dirichlet(Rows),
    /// Equal rows.
    Iid(Rows),
    /// Uniform over the Birkhoff polytope.
    DoublyStochastic,
    /// As in the paper's appendix on interpolated distributions.
    Interpolated {
        /// From 0 to 1.
        p: f64,
    },
    /// a = b ~ U(½−ε, ½+ε).
    Symmetric {
        /// Half the width.
        epsilon: f64,
    },
    /// One of these, with equal probability (one only for `fixed`).
    Pool(Vec<TransitionTable>),
    /// Components with cumulative weights, the last of them one.
    Mixture(Vec<(f64, Prior)>),
}

/// A Dirichlet distribution over rows of any length and concentration.
#[derive(Clone, Debug)]
pub struct Rows {
    alpha: Vec<f64>,
    /// Gamma(α + 1) for every symbol; empty when all α are one.
    boosted: Vec<Gamma<f64>>,
}

impl Rows {
    fn new(alpha: Vec<f64>) -> Self {
        let boosted = if alpha.iter().all(|&a| a == 1.0) {
            Vec::new()
        } else {
            let gamma = |&a: &f64| Gamma::new(a + 1.0, 1.0).expect("α + 1 is positive and finite");
            alpha.iter().map(gamma).collect()
        };
        Self { alpha, boosted }
    }

    /// The concentration, one number a symbol.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    fn draw(&self, rng: &mut Generator, row: &mut [f64]) {
        if self.boosted.is_empty() {
            for share in row.iter_mut() {
                *share = Exp1.sample(rng);
            }
        } else {
            // Gamma(α) = Gamma(α + 1) · U^(1/α), in logarithms: small α would underflow otherwise.
            for ((share, gamma), alpha) in row.iter_mut().zip(&self.boosted).zip(&self.alpha) {
                let boosted: f64 = gamma.sample(rng);
                *share = libm::log(boosted) + libm::log(open_unit(rng)) / alpha;
            }
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for share in row.iter_mut() {
                *share = libm::exp((*share - largest).max(SMALLEST_LOG_SHARE));
            }
        }
        let sum: f64 = row.iter().sum();
        for share in row {
            *share /= sum;
        }
    }
}

/// Checks that tables of the n-gram order over so many states can be handled.
pub(crate) fn check_task(states: usize, ngram: usize) -> Result<(), Invalid> {
    require(
        (2..=MAX_STATES).contains(&states),
        "states",
        states,
        &format!("a number of states from 2 to {MAX_STATES}"),
    )?;
    let contexts = TransitionTable::context_count(states, ngram);
    require(
        ngram >= 2 && contexts.is_some_and(|count| count <= MAX_CONTEXTS),
        "ngram",
        ngram,
        &format!("at least 2, with at most {MAX_CONTEXTS} contexts (states^(ngram-1))"),
    )
}

/// The most that the pools of one prior may take, in bytes: 4 GiB.
const MAX_POOL_BYTES: f64 = 4.0 * (1_u64 << 30) as f64;

impl PriorSpec {
    /// What the chains of its pools take, all of them together, in bytes. They are drawn when the prior is made.
    pub fn pool_bytes(&self, states: usize, ngram: usize) -> f64 {
        match self {
            PriorSpec::Pool { size, of, .. } => {
                let chain = TransitionTable::bytes(states, ngram);
                (*size).min(MAX_POOL) as f64 * chain + of.pool_bytes(states, ngram)
            }
            PriorSpec::Mixture { parts } => {
                let bytes = |part: &MixturePart| part.prior.pool_bytes(states, ngram);
                parts.iter().map(bytes).sum()
            }
            _ => 0.0,
        }
    }

    /// Refuses pools that no laptop could hold.
    fn check_pools(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        let bytes = self.pool_bytes(states, ngram);
        if bytes <= MAX_POOL_BYTES {
            return Ok(());
        }
        let (field, size) = self.largest_pool();
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        let allowed = format!(
            "with this task the prior's pools would take {:.1} GiB, and {} are allowed; make them, task.states or \
             task.ngram smaller",
            gib(bytes),
            gib(MAX_POOL_BYTES)
        );
        Err(Invalid::new(field, size, allowed))
    }

    /// The way to the size of its largest pool, and the size.
    fn largest_pool(&self) -> (String, usize) {
        let within =
            |outer: String, (field, size): (String, usize)| (format!("{outer}.{field}"), size);
        let own = match self {
            PriorSpec::Pool { size, .. } => Some(("size".to_owned(), *size)),
            _ => None,
        };
        let inner = match self {
            PriorSpec::Pool { of, .. } => vec![within("of".into(), of.largest_pool())],
            PriorSpec::Mixture { parts } => parts
                .iter()
                .enumerate()
                .map(|(index, part)| {
                    within(format!("parts[{index}].prior"), part.prior.largest_pool())
                })
                .collect(),
            _ => Vec::new(),
        };
        let pools = own.into_iter().chain(inner);
        // The outermost of equals.
        pools
            .rev()
            .max_by_key(|(_, size)| *size)
            .unwrap_or_default()
    }
}

impl Prior {
    /// Checks `spec` against the task's k and n and prepares it.
    pub fn new(spec: &PriorSpec, states: usize, ngram: usize) -> Result<Self, Invalid> {
        check_task(states, ngram)?;
        // The chains of pools are drawn below, so what they take has to be known before.
        spec.check_pools(states, ngram)
            .map_err(|invalid| invalid.within("prior"))?;
        let law = Self::prepare(spec, states, ngram).map_err(|invalid| invalid.within("prior"))?;
        Ok(Self { states, ngram, law })
    }

    fn prepare(spec: &PriorSpec, states: usize, ngram: usize) -> Result<Law, Invalid> {
        let two_states = |kind: &str| {
            require(
                states == 2,
                "kind",
                format!("\"{kind}\" with {states} states"),
                &format!("\"{kind}\" is defined for 2 states; set task.states = 2 or another kind"),
            )
        };
        Ok(match spec {
            PriorSpec::Dirichlet { alpha } => Law::Dirichlet(Rows::new(alpha.resolve(states)?)),
            PriorSpec::Iid { alpha } => Law::Iid(Rows::new(alpha.resolve(states)?)),
            PriorSpec::DoublyStochastic {} => Law::DoublyStochastic,
            PriorSpec::Interpolated { p } => {
                two_states("interpolated")?;
                require((0.0..=1.0).contains(p), "p", p, "a number from 0 to 1")?;
                Law::Interpolated { p: *p }
            }
            PriorSpec::Symmetric { epsilon } => {
                two_states("symmetric")?;
                require(
                    *epsilon > 0.0 && *epsilon <= 0.5,
                    "epsilon",
                    epsilon,
                    "a number above 0, at most 0.5",
                )?;
                Law::Symmetric { epsilon: *epsilon }
            }
            PriorSpec::Fixed { table } => {
                Law::Pool(vec![TransitionTable::from_rows(states, ngram, table)?])
            }
            PriorSpec::Pool { size, seed, of } => {
                require(
                    (1..=MAX_POOL).contains(size),
                    "size",
                    size,
                    &format!("a number of chains from 1 to {MAX_POOL}"),
                )?;
                let source = Self {
                    states,
                    ngram,
                    law: Self::prepare(of, states, ngram)
                        .map_err(|invalid| invalid.within("of"))?,
                };
                let address = Address {
                    purpose: Purpose::Pool,
                    seed: *seed,
                    step: 0,
                };
                Law::Pool(source.draw_many(*size, address))
            }
            PriorSpec::Mixture { parts } => {
                require(!parts.is_empty(), "parts", "[]", "at least one part")?;
                let total: f64 = parts.iter().map(|part| part.weight).sum();
                let mut cumulative = 0.0;
                let mut components = Vec::with_capacity(parts.len());
                for (index, part) in parts.iter().enumerate() {
                    let name = format!("parts[{index}]");
                    require(
                        part.weight > 0.0 && part.weight <= 1e100,
                        &format!("{name}.weight"),
                        part.weight,
                        "a number above 0 (at most 1e100)",
                    )?;
                    let law = Self::prepare(&part.prior, states, ngram)
                        .map_err(|invalid| invalid.within("prior").within(&name))?;
                    cumulative += part.weight / total;
                    components.push((cumulative, Self { states, ngram, law }));
                }
                components.last_mut().expect("not empty").0 = 1.0;
                Law::Mixture(components)
            }
        })
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Order of the process, n.
    pub fn ngram(&self) -> usize {
        self.ngram
    }

    /// What the draws look like.
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// Draws a table in place.
    pub fn draw(
        &self,
        rng: &mut Generator,
        solver: &mut StationarySolver,
        table: &mut TransitionTable,
    ) {
        match &self.law {
            Law::Pool(tables) => {
                let chosen = (open_unit(rng) * tables.len() as f64) as usize;
                table.clone_from(&tables[chosen.min(tables.len() - 1)]);
            }
            Law::Mixture(parts) => {
                let u = open_unit(rng);
                let (_, prior) = parts
                    .iter()
                    .find(|(cumulative, _)| u < *cumulative)
                    .expect("the last cumulative weight is one");
                prior.draw(rng, solver, table);
            }
            // A chain without a unique stationary law has probability zero; should rounding
            // produce one, draw again.
            _ => loop {
                self.draw_rows(rng, table);
                if table.settle(solver).is_ok() {
                    return;
                }
            },
        }
    }

    /// Fills the rows for the laws that are drawn afresh every time.
    fn draw_rows(&self, rng: &mut Generator, table: &mut TransitionTable) {
        let states = self.states;
        match &self.law {
            Law::Dirichlet(rows) => {
                for context in 0..table.contexts() {
                    rows.draw(rng, table.row_mut(context));
                }
                return;
            }
            Law::Iid(rows) => {
                rows.draw(rng, table.row_mut(0));
                table.repeat_first_rows(1);
                return;
            }
            Law::DoublyStochastic => birkhoff::draw(rng, states, table.first_rows_mut(states)),
            Law::Interpolated { p } => {
                let x = open_unit(rng);
                let mean = x + p * (1.0 - 2.0 * x);
                let y = open_interval(rng, mean - 0.2, mean + 0.2).clamp(0.0, 1.0);
                let (a, b) = if open_unit(rng) < 0.5 { (x, y) } else { (y, x) };
                table
                    .first_rows_mut(2)
                    .copy_from_slice(&[a, 1.0 - a, b, 1.0 - b]);
            }
            Law::Symmetric { epsilon } => {
                let a = open_interval(rng, 0.5 - epsilon, 0.5 + epsilon);
                table
                    .first_rows_mut(2)
                    .copy_from_slice(&[a, 1.0 - a, 1.0 - a, a]);
            }
            Law::Pool(_) | Law::Mixture(_) => unreachable!("drawn from finished tables"),
        }
        table.repeat_first_rows(states);
    }

    /// `count` tables, the one numbered `i` from stream `i` of `address`.
    pub fn draw_many(&self, count: usize, address: Address) -> Vec<TransitionTable> {
        let mut solver = StationarySolver::default();
        (0..count)
            .map(|index| {
                let mut table = TransitionTable::unset(self.states, self.ngram);
                self.draw(
                    &mut address.generator(index as u64),
                    &mut solver,
                    &mut table,
                );
                table
            })
            .collect()
    }
}
