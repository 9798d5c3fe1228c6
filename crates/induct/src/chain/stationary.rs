//! The stationary law of a chain, by elimination.
//!
//! This is the method of Grassmann, Taksar and Heyman: states are censored one after the other. Because
//! nothing is ever subtracted, every component comes out with small *relative* error, however close to
//! reducible the chain is. See [`StationarySolver::solve`].

use super::table::slide;

/// Why a chain has no stationary law to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum NoLaw {
    /// The chain splits, so the law is not unique.
    #[error("the chain has {closed_classes} closed classes, so its stationary law is not unique")]
    Reducible { closed_classes: usize },
    /// Some probabilities are so small that their products vanish.
    #[error(
        "its probabilities differ by too many orders of magnitude to solve for its stationary law"
    )]
    TooStiff,
}

/// Scratch buffers for solving π P = π, reused from table to table.
#[derive(Clone, Debug, Default)]
pub struct StationarySolver {
    /// Transition probabilities between contexts, [contexts, contexts], overwritten by the elimination.
    matrix: Vec<f64>,
}

impl StationarySolver {
    /// Writes the stationary law over contexts of the table `probs` ([contexts, k]) into `law`.
    ///
    /// A context is followed by the one that drops its oldest symbol and appends the new one. Contexts
    /// that the chain leaves for good get probability zero.
    pub fn solve(&mut self, probs: &[f64], states: usize, law: &mut [f64]) -> Result<(), NoLaw> {
        let contexts = law.len();
        debug_assert_eq!(probs.len(), contexts * states);
        // Two states need no matrix: π₁ / π₀ = P(0→1) / P(1→0), which equals the
        // elimination's result to the bit.
        if let (&[_, leave_0, leave_1, _], [pi_0, pi_1]) = (probs, &mut *law) {
            let total = 1.0 + leave_0 / leave_1;
            if total.is_finite() {
                (*pi_0, *pi_1) = (1.0 / total, leave_0 / leave_1 / total);
                return Ok(());
            }
        }
        self.fill_matrix(probs, states, contexts);
        if eliminate(&mut self.matrix, contexts, law) {
            return Ok(());
        }
        // Some state cannot reach those before it: solve inside the closed class, if there is only one.
        self.fill_matrix(probs, states, contexts);
        let class = closed_class(&self.matrix, contexts)?;
        let mut inside: Vec<f64> = Vec::with_capacity(class.len() * class.len());
        for &from in &class {
            inside.extend(class.iter().map(|&to| self.matrix[from * contexts + to]));
        }
        let mut inside_law = vec![0.0; class.len()];
        if !eliminate(&mut inside, class.len(), &mut inside_law) {
            return Err(NoLaw::TooStiff);
        }
        law.fill(0.0);
        for (&state, &mass) in class.iter().zip(&inside_law) {
            law[state] = mass;
        }
        Ok(())
    }

    fn fill_matrix(&mut self, probs: &[f64], states: usize, contexts: usize) {
        self.matrix.clear();
        self.matrix.resize(contexts * contexts, 0.0);
        for context in 0..contexts {
            for symbol in 0..states {
                let next = slide(context, symbol as u8, states, contexts);
                self.matrix[context * contexts + next] += probs[context * states + symbol];
            }
        }
    }
}

/// Above this, a law that is being accumulated is scaled down before it overflows.
const LARGE: f64 = 1e100;

/// Censors the states from the last to the second, then substitutes back. Returns false if a state cannot
/// reach any state before it (or only with a probability that vanishes), which leaves `law` unspecified.
fn eliminate(matrix: &mut [f64], size: usize, law: &mut [f64]) -> bool {
    for last in (1..size).rev() {
        let leaving: f64 = matrix[last * size..last * size + last].iter().sum();
        if leaving <= 0.0 {
            return false;
        }
        for from in 0..last {
            let through = matrix[from * size + last] / leaving;
            matrix[from * size + last] = through;
            if through > 0.0 {
                for to in 0..last {
                    matrix[from * size + to] += through * matrix[last * size + to];
                }
            }
        }
    }
    law[0] = 1.0;
    let mut total = 1.0;
    for state in 1..size {
        law[state] = (0..state)
            .map(|from| law[from] * matrix[from * size + state])
            .sum();
        total += law[state];
        if total > LARGE {
            law[..=state].iter_mut().for_each(|mass| *mass /= total);
            total = 1.0;
        }
    }
    law.iter_mut().for_each(|mass| *mass /= total);
    total.is_finite()
}

/// The states of the only closed class, in order.
fn closed_class(matrix: &[f64], size: usize) -> Result<Vec<usize>, NoLaw> {
    // Warshall's algorithm: what can be reached from each state, itself included.
    let steps = matrix
        .chunks_exact(size)
        .map(|row| row.iter().map(|p| *p > 0.0).collect());
    let mut reach: Vec<Vec<bool>> = steps.collect();
    for via in 0..size {
        reach[via][via] = true;
        let beyond = reach[via].clone();
        for row in reach.iter_mut().filter(|row| row[via]) {
            row.iter_mut().zip(&beyond).for_each(|(to, far)| *to |= far);
        }
    }
    let recurrent = |&state: &usize| (0..size).all(|to| !reach[state][to] || reach[to][state]);
    let mut classes: Vec<&Vec<bool>> = (0..size).filter(recurrent).map(|s| &reach[s]).collect();
    classes.sort_unstable();
    classes.dedup();
    match classes[..] {
        [class] => Ok((0..size).filter(|&state| class[state]).collect()),
        _ => Err(NoLaw::Reducible {
            closed_classes: classes.len(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(probs: &[f64], states: usize, contexts: usize) -> Result<Vec<f64>, NoLaw> {
        let mut law = vec![0.0; contexts];
        StationarySolver::default().solve(probs, states, &mut law)?;
        Ok(law)
    }

    #[test]
    fn two_states_follow_the_formula_even_next_to_reducible() {
        for (leave_0, leave_1) in [(0.3, 0.6), (1e-12, 1e-9), (1e-300, 0.5), (1.0, 1.0)] {
            let law = solve(&[1.0 - leave_0, leave_0, leave_1, 1.0 - leave_1], 2, 2).unwrap();
            // π₀ = P(1→0) / (P(0→1) + P(1→0)).
            let expected = leave_1 / (leave_0 + leave_1);
            assert!((law[0] / expected - 1.0).abs() < 1e-14, "{law:?}");
            let mut eliminated = [0.0; 2];
            let mut matrix = [1.0 - leave_0, leave_0, leave_1, 1.0 - leave_1];
            assert!(eliminate(&mut matrix, 2, &mut eliminated));
            assert_eq!(law, eliminated);
        }
    }

    #[test]
    fn states_left_for_good_get_no_mass() {
        // 0 and 2 lead into the closed pair {1, 3}, which the chain walks 1 → 3 → 1.
        let probs = [
            [0.5, 0.5, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.2, 0.8, 0.0],
            [0.0, 1.0, 0.0, 0.0],
        ];
        let law = solve(probs.as_flattened(), 4, 4).unwrap();
        assert_eq!(law, [0.0, 0.5, 0.0, 0.5]);
    }

    #[test]
    fn masses_of_any_order_of_magnitude_are_found() {
        // n = 3, and 0 almost never: nearly all mass is on the context (1, 1).
        for rare in [1e-30, 1e-100, 1e-150] {
            let law = solve([[rare, 1.0 - rare]; 4].as_flattened(), 2, 4).unwrap();
            for (context, expected) in [rare * rare, rare, rare, 1.0].into_iter().enumerate() {
                assert!(
                    (law[context] / expected - 1.0).abs() < 1e-12,
                    "{rare}: {law:?}"
                );
            }
        }
        // Beyond that there is either an answer or an error, but never a wrong law.
        if let Ok(law) = solve([[1e-300, 1.0]; 4].as_flattened(), 2, 4) {
            assert!((law[3] - 1.0).abs() < 1e-12, "{law:?}");
        }
    }

    #[test]
    fn several_closed_classes_are_an_error() {
        let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(
            solve(identity.as_flattened(), 3, 3),
            Err(NoLaw::Reducible { closed_classes: 3 })
        );
    }
}
