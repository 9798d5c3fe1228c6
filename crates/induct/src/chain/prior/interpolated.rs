//! `interpolated`: two states, between independent symbols and chains without a unigram signal.

use std::sync::Arc;

use induct_kernels::settings;

use super::spec::{PriorSettings, two_states};
use super::{Draft, Prior};
use crate::chain::{Generator, open_interval, open_unit};
use crate::{Invalid, require};

settings! {
    /// Two states, from nearly independent symbols to no unigram signal, as in the paper's appendix on interpolated
    /// distributions.
    pub struct Interpolated {
        /// How far, from 0 to 1; it has to be set.
        pub p: f64,
    }
}

impl PriorSettings for Interpolated {
    fn check(&self, states: usize, _: usize) -> Result<(), Invalid> {
        two_states("interpolated", states)?;
        require(
            (0.0..=1.0).contains(&self.p),
            "p",
            self.p,
            "a number from 0 to 1",
        )
    }

    fn prepare(&self, _: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        Ok(Arc::new(self.clone()))
    }
}

impl Prior for Interpolated {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let x = open_unit(rng);
        let mean = x + self.p * (1.0 - 2.0 * x);
        let y = open_interval(rng, mean - 0.2, mean + 0.2).clamp(0.0, 1.0);
        let (a, b) = if open_unit(rng) < 0.5 { (x, y) } else { (y, x) };
        table
            .first_rows_mut(2)
            .copy_from_slice(&[a, 1.0 - a, b, 1.0 - b]);
        table.repeat_first_rows(2);
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{assert_mean, draws, prior};

    #[test]
    fn interpolation_runs_from_equal_rows_to_no_unigram_signal() {
        let interpolated = |p: f64| prior(&format!("'interpolated', p = {p:?}"), 2, 2);
        let gap = |p: f64, value: fn(f64, f64) -> f64| {
            draws(&interpolated(p), 2_000)
                .iter()
                .map(|table| value(table.row(0)[0], table.row(1)[0]))
                .fold(0.0, f64::max)
        };
        // P(0|0) = a, P(0|1) = b: p = 0 keeps |a − b| ≤ 0.2, p = 1 keeps |a + b − 1| ≤ 0.2.
        let rows_apart = |a: f64, b: f64| (a - b).abs();
        let off_symmetric = |a: f64, b: f64| (a + b - 1.0).abs();
        assert!(gap(0.0, rows_apart) <= 0.2 && gap(0.0, rows_apart) > 0.19);
        assert!(gap(1.0, off_symmetric) <= 0.2 + 1e-12 && gap(1.0, off_symmetric) > 0.19);
        // The two rows play symmetric roles.
        let tables = draws(&interpolated(0.3), 8_000);
        assert_mean(&tables, 0.0, |table| table.row(0)[0] - table.row(1)[0]);
    }
}
