//! The library's modules that its products use.

#[path = "../../../../crates/induct/src/model/matrix.rs"]
pub mod matrix;
#[path = "ops.rs"]
pub mod ops;
