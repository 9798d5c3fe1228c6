//! The paper as data: the recipe of every figure, the check of every claim, and the pages that show them.
//!
//! This room makes pages and pictures but writes no file and knows no terminal.

pub mod chapter;
