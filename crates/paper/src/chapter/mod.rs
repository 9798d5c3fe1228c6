//! The chapter on theory: the ledger as a page with figures.
//!
//! The page says what came out; nothing in it is known before the ledger is computed. A sentence of the summary stands there only
//! as long as the entry it is about has the verdict it speaks of.

mod entries;
mod figures;
mod findings;
mod page;

pub use figures::{ChapterFigure, all as figures};
pub(crate) use figures::{coupling, prior, steps};
pub use page::page;
