//! `fixed`: the same chain for every sequence.

use std::sync::Arc;

use induct_kernels::settings;

use super::super::table::TransitionTable;
use super::Prior;
use super::pool::TablePool;
use super::spec::PriorSettings;
use crate::Invalid;

settings! {
    /// The same chain for every sequence.
    pub struct Fixed {
        /// Its rows, one per context; they have to be set.
        pub table: Vec<Vec<f64>>,
    }
}

impl Fixed {
    fn table(&self, states: usize, ngram: usize) -> Result<TransitionTable, Invalid> {
        TransitionTable::from_rows(states, ngram, &self.table)
    }
}

impl PriorSettings for Fixed {
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        self.table(states, ngram).map(|_| ())
    }

    fn prepare(&self, states: usize, ngram: usize) -> Result<Arc<dyn Prior>, Invalid> {
        // A pool of one.
        let tables = vec![self.table(states, ngram)?];
        Ok(Arc::new(TablePool::new(tables, None)))
    }
}
