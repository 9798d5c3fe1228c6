//! The chapter on theory: the ledger as a page with figures.
//!
//! The page reports the computed ledger; nothing in it is known in advance. A sentence of the summary appears
//! only if the entry it is about has the verdict it describes.

mod entries;
mod figures;
mod findings;
mod page;

pub use figures::{ChapterFigure, all as figures};
pub(crate) use figures::{coupling, prior, steps};
pub use page::page;
pub(crate) use page::verdict_counts;
