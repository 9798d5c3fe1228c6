//! The engine of Induct's page: training, looking and intervening in a browser tab, by messages.
//!
//! A page has two kinds of workers, each with an instance of this module: some train a run each, and one
//! keeps the records and snapshots of all runs and draws pictures of them. Both are a [`Lab`]: a
//! request goes in as JSON, an [`Answer`] comes out. Numbers in bulk travel as attachments,
//! little-endian. `request.rs` lists all requests.
//!
//! ```
//! use induct_lab::Lab;
//!
//! let mut lab = Lab::default();
//! let request = br#"{"do": "recipe", "source": {"base": "main", "sets": ["task.states=1"]}}"#;
//! let answer = lab.answer(request, Vec::new());
//! let answer: serde_json::Value = serde_json::from_str(&answer.text)?;
//! assert_eq!(answer["problem"]["field"], "task.states");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Everything is computed by the library, and everything drawn by the crates of pictures, so the page shows
//! what the command line does: runs and files are the same to the byte at the portable level.

#[cfg(target_family = "wasm")]
mod abi;
mod picture;
mod problem;
mod recipes;
mod request;
mod shelf;
mod take;
mod training;

pub use request::{Answer, Lab};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
