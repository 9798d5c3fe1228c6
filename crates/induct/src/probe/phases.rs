//! Phases of a run: which strategy the model is nearest to, and when it moved from one to the next.

use serde::{Deserialize, Deserializer, Serialize};

use super::estimate::median;

/// A stretch of training during which one strategy is the nearest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The strategy.
    pub strategy: String,
    /// First recorded step at which it is the nearest.
    pub onset: u64,
    /// Last recorded step of the phase.
    pub end: u64,
    /// Median loss over the second half of the phase's records.
    #[serde(deserialize_with = "number_or_nan")]
    pub plateau: f64,
}

/// The drop of the loss from one phase's level to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossDrop {
    /// The strategy before the drop.
    pub from: String,
    /// The strategy after the drop.
    pub to: String,
    /// Step at which half of the drop is done.
    pub midpoint: f64,
    /// Number of steps from 10 % to 90 % of the drop.
    pub width: f64,
}

/// A number, or NaN where a file has null: JSON has no other way to write it.
fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Recorded steps, the loss there, and the distance to each strategy.
pub struct Course<'a> {
    /// Recorded steps, increasing.
    pub steps: &'a [u64],
    /// KL(truth ‖ model) at each step.
    pub loss: &'a [f64],
    /// KL(strategy ‖ model) at each step, by the strategy's name.
    pub distances: &'a [(String, Vec<f64>)],
}

/// A strategy must be the nearest for this many records in a row to count as a phase, because curves that
/// cross flicker. The first phase is exempt: the run starts there, however soon it leaves.
pub(crate) const SHORTEST_PHASE: usize = 3;

/// Index of the nearest strategy at every record.
fn nearest(course: &Course) -> Vec<usize> {
    (0..course.steps.len())
        .map(|row| {
            let distance = |index: usize| course.distances[index].1[row];
            (0..course.distances.len())
                .min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
                .unwrap_or(0)
        })
        .collect()
}

/// The phases of a run, in order; neighbours differ.
pub fn phases(course: &Course) -> Vec<Phase> {
    if course.distances.is_empty() {
        return Vec::new();
    }
    settled_runs(&nearest(course))
        .into_iter()
        .map(|(strategy, first, last)| Phase {
            strategy: course.distances[strategy].0.clone(),
            onset: course.steps[first],
            end: course.steps[last],
            plateau: median(&course.loss[first + (last - first) / 2..=last]),
        })
        .collect()
}

/// Runs of equal values as (value, first, last). Runs shorter than [`SHORTEST_PHASE`], except for the first,
/// are merged into the run before them, the shortest first.
fn settled_runs(values: &[usize]) -> Vec<(usize, usize, usize)> {
    let mut runs: Vec<(usize, usize, usize)> = Vec::new();
    for (row, &value) in values.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.0 == value => run.2 = row,
            _ => runs.push((value, row, row)),
        }
    }
    let length = |run: &(usize, usize, usize)| run.2 - run.1 + 1;
    while let Some(index) = (1..runs.len())
        .min_by_key(|&index| length(&runs[index]))
        .filter(|&index| length(&runs[index]) < SHORTEST_PHASE)
    {
        runs[index - 1].2 = runs.remove(index).2;
        // The two neighbours may now belong to the same strategy.
        if index < runs.len() && runs[index - 1].0 == runs[index].0 {
            runs[index - 1].2 = runs.remove(index).2;
        }
    }
    runs
}

/// The drops between neighbouring phases, where the loss did fall.
pub fn drops(course: &Course, phases: &[Phase]) -> Vec<LossDrop> {
    phases
        .windows(2)
        .filter_map(|pair| {
            let (before, after) = (pair[0].plateau, pair[1].plateau);
            let crossing = |share: f64| {
                let level = before + share * (after - before);
                first_below(course, pair[0].onset, level)
            };
            let (start, midpoint, end) = (crossing(0.1)?, crossing(0.5)?, crossing(0.9)?);
            (after < before).then(|| LossDrop {
                from: pair[0].strategy.clone(),
                to: pair[1].strategy.clone(),
                midpoint,
                width: end - start,
            })
        })
        .collect()
}

/// The first step from `from` on at which the loss is at most `level`, interpolated between records.
fn first_below(course: &Course, from: u64, level: f64) -> Option<f64> {
    let first = course.steps.iter().position(|&step| step >= from)?;
    let row = (first..course.steps.len()).find(|&row| course.loss[row] <= level)?;
    let here = course.steps[row] as f64;
    if row == first {
        return Some(here);
    }
    let before = course.steps[row - 1] as f64;
    let (high, low) = (course.loss[row - 1], course.loss[row]);
    Some(before + (here - before) * (high - level) / (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A synthetic run: uniform until 100, unigram until 500, then bigram, with a flicker at 300.
    fn with_made_up(test: impl Fn(&Course)) {
        let steps: Vec<u64> = (0..=100).map(|row| row * 10).collect();
        let loss = |step: u64| match step {
            0..100 => 0.20,
            100..500 => 0.10,
            // A linear drop from 0.10 to 0.02 over 100 steps.
            500..600 => 0.10 - 0.0008 * (step - 500) as f64,
            _ => 0.02,
        };
        let loss: Vec<f64> = steps.iter().copied().map(loss).collect();
        let distances = [
            ("uniform", 0..100),
            ("unigram", 100..550),
            ("bigram", 550..2000),
        ];
        let distances = distances.map(|(name, inside)| {
            let is_near = |step| inside.contains(&step) != (step == 300 && inside.start == 100);
            let distance = |&step: &u64| if is_near(step) { 0.1 } else { 0.5 };
            (name.to_owned(), steps.iter().map(distance).collect())
        });
        test(&Course {
            steps: &steps,
            loss: &loss,
            distances: &distances,
        });
    }

    #[test]
    fn phases_follow_the_nearest_strategy_and_ignore_flicker() {
        with_made_up(|course| {
            let found = phases(course);
            let onsets = found.iter().map(|p| (p.strategy.as_str(), p.onset));
            assert!(onsets.eq([("uniform", 0), ("unigram", 100), ("bigram", 550)]));
            assert_eq!((found[1].plateau, found[2].plateau), (0.10, 0.02));
        });
    }

    #[test]
    fn drops_have_their_midpoint_and_width() {
        with_made_up(|course| {
            let found = drops(course, &phases(course));
            assert_eq!(found.len(), 2);
            assert!((found[1].midpoint - 550.0).abs() < 1e-9);
            assert!((found[1].width - 80.0).abs() < 1e-9);
            assert!(found[0].width < 10.0);
        });
    }

    #[test]
    fn the_start_counts_however_short() {
        assert_eq!(settled_runs(&[0, 1, 1, 1, 1]), [(0, 0, 0), (1, 1, 4)]);
        assert_eq!(settled_runs(&[0, 1, 2, 2, 2, 1, 2]), [(0, 0, 1), (2, 2, 6)]);
    }

    #[test]
    fn a_run_that_never_moves_has_one_phase_and_no_drop() {
        let steps = [0, 10, 20];
        let distances = [("uniform".to_owned(), vec![0.0; 3])];
        let course = Course {
            steps: &steps,
            loss: &[0.2; 3],
            distances: &distances,
        };
        let found = phases(&course);
        assert_eq!(found.len(), 1);
        assert!(drops(&course, &found).is_empty());
    }
}
