//! The built-in strategies by name.

use std::sync::Arc;

use super::{Ngram, REGISTRY, Strategy, Uniform, ngram, uniform};
use crate::chain::{Alpha, PriorSpec, TaskPrior};
use crate::{Invalid, Within};

/// What the truth is called in columns and files: no strategy has such a name.
pub(crate) const TRUTH: [&str; 2] = ["truth", "oracle"];

/// A built-in strategy: what it is, and how it is made from a prior.
#[derive(Debug)]
pub struct Entry {
    /// Its name in recipes, files and figures; for a family, the names of its members.
    pub name: &'static str,
    /// Whether it is a step of the [`ladder`], with which every model is compared.
    pub ladder: bool,
    /// Whether it may take long: where that matters, it is asked at the last position only.
    pub slow: bool,
    /// Whether a name belongs to the family; unset for a strategy with a single name.
    pub(super) family: Option<fn(&str) -> bool>,
    /// Why it is not defined for a prior, if it is not.
    pub(super) check: fn(&str, &TaskPrior) -> Result<(), Invalid>,
    /// The strategy with that name for a checked prior.
    pub(super) make: Make,
    /// Approximate memory for a task with the given k and n, in bytes, including the
    /// scratch buffers of `threads` threads.
    pub(super) bytes: fn(&PriorSpec, task: [usize; 2], threads: usize) -> f64,
}

/// How a strategy with a given name is made from a prior.
pub(super) type Make = fn(&str, &TaskPrior) -> Result<Arc<dyn Strategy>, Invalid>;

impl Entry {
    /// An entry that is defined for every prior and takes a negligible amount of memory.
    pub(super) const fn new(name: &'static str, make: Make) -> Self {
        Self {
            name,
            ladder: false,
            slow: false,
            family: None,
            check: |_, _| Ok(()),
            make,
            bytes: |_, _, _| 0.0,
        }
    }
}

/// The entry for a name.
pub(crate) fn entry(name: &str) -> Result<&'static Entry, Invalid> {
    let found = REGISTRY.iter().find(|entry| match entry.family {
        Some(is_member) => is_member(name),
        None => entry.name == name,
    });
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        let allowed = format!("one of {}", known.join(", "));
        Invalid::new("strategy", format!("\"{name}\""), allowed)
    })
}

/// Whether the built-in strategy with this name may take long. One that is not built in is taken to be quick.
pub fn is_slow(name: &str) -> bool {
    entry(name).is_ok_and(|entry| entry.slow)
}

/// The built-in strategy with this name for a prior.
///
/// ```
/// use induct::chain::{PriorSpec, TaskPrior};
/// use induct::strategy;
///
/// let prior = TaskPrior::new(&PriorSpec::default(), 2, 2)?;
/// let bigram = strategy::named("bigram", &prior)?;
/// // Of the two symbols that followed a 0, one was a 1: (1 + 1) / (2 + 2).
/// assert_eq!(bigram.next_distribution(&[0, 0, 1, 0])?, [0.5, 0.5]);
///
/// let unknown = strategy::named("bigramm", &prior).unwrap_err();
/// assert!(unknown.to_string().contains("unigram-and-current"), "{unknown}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn named(name: &str, prior: &TaskPrior) -> Result<Arc<dyn Strategy>, Invalid> {
    check_named(name, prior)?;
    (entry(name)?.make)(name, prior)
}

/// The built-in strategy with this name for sequences of which no prior is known: `uniform`, or one that counts.
pub fn counting(name: &str, states: usize) -> Result<Arc<dyn Strategy>, Invalid> {
    if entry(name)?.name == uniform::ENTRY.name {
        return Ok(Arc::new(Uniform::new(states)));
    }
    let allowed = "one that needs no prior over Markov chains, which this task has not";
    let unknown = || Invalid::new("strategy", format!("\"{name}\""), allowed);
    let m = ngram::order(name).ok_or_else(unknown)?;
    let counting = Ngram::new(m, states, &Alpha::default()).at("strategy");
    Ok(Arc::new(counting?))
}

/// Checks that a strategy with that name is defined for a prior, without making it.
pub(crate) fn check_named(name: &str, prior: &TaskPrior) -> Result<(), Invalid> {
    (entry(name)?.check)(name, prior)
}

/// Approximate memory of the strategy with that name, in bytes; 0 if it does not exist.
pub(crate) fn bytes(name: &str, prior: &PriorSpec, task: [usize; 2], threads: usize) -> f64 {
    entry(name).map_or(0.0, |entry| (entry.bytes)(prior, task, threads))
}

/// Uniform, unigram, bigram and so on up to the n-gram of the task: the strategies from which phases are
/// read. The counts' α is the prior's if it has one (`dirichlet`, `iid`), else 1.
pub fn ladder(prior: &TaskPrior) -> Vec<Arc<dyn Strategy>> {
    let names = ladder_names(prior.ngram()).into_iter();
    let made = names.map(|name| named(&name, prior).expect("its prior has contexts as long"));
    made.collect()
}

/// The names in the [`ladder`] of a task with n = `ngram`.
pub fn ladder_names(ngram: usize) -> Vec<String> {
    let counting = (1..=ngram).map(ngram::name);
    let uniform = uniform::ENTRY.name.to_owned();
    std::iter::once(uniform).chain(counting).collect()
}

/// The ladder, then every other built-in strategy that is defined for the prior.
pub fn all(prior: &TaskPrior) -> Result<Vec<Arc<dyn Strategy>>, Invalid> {
    let mut all = ladder(prior);
    for entry in REGISTRY.iter().filter(|entry| !entry.ladder) {
        if (entry.check)(entry.name, prior).is_ok() {
            all.push((entry.make)(entry.name, prior)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_makes_what_it_is_called() {
        let prior = TaskPrior::new(&PriorSpec::default(), 2, 2).unwrap();
        for entry in REGISTRY {
            let names = match entry.family {
                None => vec![entry.name],
                Some(_) => vec!["unigram", "bigram", "trigram", "4-gram", "11-gram"],
            };
            for name in names {
                let made = named(name, &prior).unwrap();
                assert_eq!((made.name().as_str(), made.states()), (name, 2));
            }
        }
        let made: Vec<String> = ladder(&prior).iter().map(|s| s.name()).collect();
        assert_eq!(made, ladder_names(2));
        assert!(made.iter().all(|name| entry(name).unwrap().ladder));
    }

    #[test]
    fn unknown_names_are_refused() {
        let prior = TaskPrior::new(&PriorSpec::default(), 3, 2).unwrap();
        for name in [
            "", "bigramm", "0-gram", "1-gram", "3-gram", "04-gram", "-gram",
        ] {
            let refused = named(name, &prior).unwrap_err().to_string();
            assert!(refused.contains("unigram-and-current"), "{refused}");
        }
    }
}
