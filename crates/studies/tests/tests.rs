//! Studies: their ledger of formulas, and what their claims and figures need.

mod ledger;
mod needs;
