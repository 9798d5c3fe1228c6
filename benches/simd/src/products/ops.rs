//! The library's own products.

#[path = "../../../../crates/induct/src/model/ops/linear.rs"]
pub mod linear;
