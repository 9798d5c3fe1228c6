//! Where sequences come from, and what is known about them.
//!
//! | | is |
//! |---|---|
//! | [`Task`] | a way to draw sequences, with the law of every symbol and a ladder of strategies |
//! | [`Sequence`] | a sequence while a task draws it |
//! | [`SourceSpec`] | where a recipe's sequences come from |
//! | [`TaskPrior`] | Markov chains over a prior |
//!
//! Every other built-in kind has its own file here. To add one, write its file (settings, check, draw, ladder, tests)
//! and list it in `tasks!` below.

mod causal_graph;
mod chains;
mod sequence;
mod spec;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use induct_kernels::lanes::{LANES, Lane};
use induct_kernels::settings::{Kind, Settings};
pub use induct_kernels::tokens::TokenBlock;
use induct_kernels::with_kind;

use crate::Invalid;
use crate::chain::{Address, DrawError, Generator, TaskPrior};
use crate::strategy::{self, Scratch, Strategy};

pub use sequence::Sequence;
pub use spec::CustomTask;

/// Where sequences come from, and what is known about them.
///
/// Training, test sets and phases need no more than this. Everything random comes from the generator that
/// [`draw`](Task::draw) is given, so a sequence is a pure function of its address and number.
pub trait Task: Debug + Send + Sync {
    /// Number of symbols, k.
    fn states(&self) -> usize;

    /// Checks that it has sequences for contexts of this length, t: of t + 1 symbols. The error names `length`.
    ///
    /// # Errors
    ///
    /// If it has none.
    fn check_length(&self, length: usize) -> Result<(), Invalid> {
        let _ = length;
        Ok(())
    }

    /// Draws a sequence, symbol by symbol, each from the law that an observer of all that was drawn before
    /// would name: the truth that predictions are compared with.
    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence<'_>);

    /// Strategies from the simplest to the best. Phases are read from them.
    fn ladder(&self) -> Vec<Arc<dyn Strategy>>;

    /// Fills a block with the `sequences` of these numbers, at most one per lane. By default, they are drawn one
    /// by one, as those of a task from another crate always are. A built-in task may draw them side by side.
    ///
    /// # Errors
    ///
    /// If a part from another crate draws no sequence. The contents of the block are then unspecified.
    fn draw_block(
        &self,
        address: Address,
        sequences: Range<u64>,
        scratch: &mut Scratch,
        block: &mut TokenBlock,
    ) -> Result<(), DrawError> {
        draw_one_by_one(self, address, sequences, scratch, block, &mut [])
    }

    /// The prior over Markov chains that it is, if it is one: some strategies, formulas and pictures need that.
    fn chains(&self) -> Option<&TaskPrior> {
        None
    }
}

/// Fills a block with sequences, one after the other, and `laws` with those of all their tokens but the first,
/// [t, k], unless it is empty.
pub(crate) fn draw_one_by_one(
    task: &(impl Task + ?Sized),
    address: Address,
    sequences: Range<u64>,
    scratch: &mut Scratch,
    block: &mut TokenBlock,
    laws: &mut [Lane],
) -> Result<(), DrawError> {
    let (mut own_tokens, mut own_laws) = (vec![0; block.tokens.len()], vec![0.0; laws.len()]);
    block.used = (sequences.end - sequences.start) as usize;
    block.tokens.fill([0; LANES]);
    for (lane, index) in sequences.enumerate() {
        let (rng, wanted) = (&mut address.generator(index), !own_laws.is_empty());
        let wanted = wanted.then_some(&mut own_laws[..]);
        Sequence::draw_from(task, rng, &mut own_tokens, wanted, scratch)?;
        for (row, &symbol) in block.tokens.iter_mut().zip(&own_tokens) {
            row[lane] = symbol;
        }
        for (law, &p) in laws.iter_mut().zip(&own_laws) {
            law.0[lane] = p as f32;
        }
    }
    Ok(())
}

/// What any task can be asked.
impl dyn Task + '_ {
    /// Fills `tokens` with sequence `index` of the batch at `address` and, where they are wanted, `laws` with the
    /// distributions of all tokens but the first: [t, k].
    ///
    /// # Errors
    ///
    /// If a part from another crate draws no sequence.
    pub fn sequence(
        &self,
        address: Address,
        index: u64,
        tokens: &mut [u8],
        laws: Option<&mut [f64]>,
        scratch: &mut Scratch,
    ) -> Result<(), DrawError> {
        Sequence::draw_from(self, &mut address.generator(index), tokens, laws, scratch)
    }

    /// The strategy with this name: one of the ladder, or a built-in one.
    ///
    /// # Errors
    ///
    /// If there is no such strategy, or it is not defined for this task.
    pub fn strategy(&self, name: &str) -> Result<Arc<dyn Strategy>, Invalid> {
        if let Some(prior) = self.chains() {
            return strategy::named(name, prior);
        }
        let own = self.ladder().into_iter().find(|own| own.name() == name);
        own.map_or_else(|| strategy::counting(name, self.states()), Ok)
    }

    /// Checks that there is a strategy with this name, without making it where that may take long.
    pub(crate) fn check_strategy(&self, name: &str) -> Result<(), Invalid> {
        match self.chains() {
            Some(prior) => strategy::check_named(name, prior),
            None => self.strategy(name).map(|_| ()),
        }
    }

    /// The ladder, then every built-in strategy that is defined for this task.
    ///
    /// # Errors
    ///
    /// If one of them cannot be made because a prior from another crate draws no chains.
    pub fn strategies(&self) -> Result<Vec<Arc<dyn Strategy>>, Invalid> {
        self.chains()
            .map_or_else(|| Ok(self.ladder()), strategy::all)
    }
}

/// Defines the enum of all sources, each by its name in Rust, in recipes, and its settings.
macro_rules! tasks {
    ($( $variant:ident = $kind:literal, $module:ident::$settings:ident; )*) => {
        $( pub use $module::$settings; )*

        with_kind! {
            /// Where a recipe's sequences come from.
            #[derive(Clone, Debug, PartialEq)]
            pub enum SourceSpec {
                /// Markov chains over the task's prior.
                Chains {},
                $(
                    #[doc = concat!("`", $kind, "`")]
                    $variant($settings),
                )*
                /// A task from another crate.
                Custom(CustomTask),
            }
        }

        impl SourceSpec {
            /// All built-in kinds with their settings.
            pub fn kinds() -> Vec<Kind> {
                let chains = Kind {
                    kind: "chains",
                    meaning: "Markov chains over the task's prior.".to_owned(),
                    settings: Vec::new(),
                };
                vec![chains, $( $settings::kind($kind), )*]
            }

            /// Its kind, or the name of another program's task.
            pub fn name(&self) -> &str {
                match self {
                    Self::Chains {} => "chains",
                    $( Self::$variant(_) => $kind, )*
                    Self::Custom(custom) => &custom.custom.name,
                }
            }

            /// Its settings, unless it is chains, whose settings are the task's.
            fn settings(&self) -> Option<&dyn spec::TaskSettings> {
                match self {
                    Self::Chains {} => None,
                    $( Self::$variant(settings) => Some(settings), )*
                    Self::Custom(custom) => Some(custom),
                }
            }
        }
    };
}

tasks! {
    CausalGraph = "causal-graph", causal_graph::CausalGraph;
}
