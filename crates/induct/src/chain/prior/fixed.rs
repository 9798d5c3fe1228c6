//! `fixed`: the same chain for every sequence.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::table::TransitionTable;
use super::Prior;
use super::pool::TablePool;
use super::spec::Settings;
use crate::Invalid;

/// The same chain for every sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Its rows, one per context.
    pub table: Vec<Vec<f64>>,
}

impl Fixed {
    fn table(&self, states: usize, ngram: usize) -> Result<TransitionTable, Invalid> {
        TransitionTable::from_rows(states, ngram, &self.table)
    }
}

impl Settings for Fixed {
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        self.table(states, ngram).map(|_| ())
    }

    fn prepare(&self, states: usize, ngram: usize) -> Result<Arc<dyn Prior>, Invalid> {
        // A pool of one.
        let tables = vec![self.table(states, ngram)?];
        Ok(Arc::new(TablePool { tables }))
    }
}
