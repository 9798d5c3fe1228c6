//! `doubly-stochastic`: uniform over tables whose columns sum to one as well. How
//! they are drawn is in `birkhoff`.

use std::sync::Arc;

use induct_kernels::settings;

use super::birkhoff;
use super::spec::PriorSettings;
use super::{Draft, Law, Prior};
use crate::Invalid;
use crate::chain::Generator;

settings! {
    /// Uniform over tables whose columns sum to one as well.
    pub struct DoublyStochastic {}
}

impl PriorSettings for DoublyStochastic {
    fn prepare(&self, _: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        Ok(Arc::new(self.clone()))
    }
}

impl Prior for DoublyStochastic {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let states = table.states();
        birkhoff::draw(rng, states, table.first_rows_mut(states));
        table.repeat_first_rows(states);
    }

    fn law(&self) -> Law<'_> {
        Law::DoublyStochastic
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::table::context_index;
    use super::super::checks::{draws, prior};

    #[test]
    fn doubly_stochastic_columns_sum_to_one() {
        for states in 2..=9 {
            for table in draws(&prior("'doubly-stochastic'", states, 2), 20) {
                for symbol in 0..states {
                    let column: f64 = table.rows().map(|row| row[symbol]).sum();
                    assert!((column - 1.0).abs() < 1e-12);
                }
                for mass in table.stationary() {
                    assert!((mass - 1.0 / states as f64).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn lower_order_priors_depend_on_the_last_symbol_only() {
        for table in draws(&prior("'doubly-stochastic'", 3, 3), 5) {
            for last in 0..3 {
                let rows: Vec<&[f64]> = (0..3_u8)
                    .map(|oldest| table.row(context_index(&[oldest, last], 3)))
                    .collect();
                assert!(rows.iter().all(|row| *row == rows[0]));
            }
        }
    }
}
