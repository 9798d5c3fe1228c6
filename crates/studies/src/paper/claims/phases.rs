//! Phases: which ones there are, their order, and how they begin and end.

use induct::internal::median;
use induct::measure::{KL_TRUTH, PREVIOUS_TOKEN};

use crate::results::{Results, TrainedExperiment};
use crate::run::Run;
use crate::statistics::{Sample, Statistic, experiments, number, share};

pub(super) const STATISTICS: &[Statistic] = &[
    number("plateau off unigrams", |run| {
        let range = run.level("uniform") - run.level("bigram");
        let off = run.fall_from("unigram")?.plateau - run.level("unigram");
        Some(off.abs() / range)
    }),
    number("nearer to unigrams on the plateau", |run| {
        let at = run.record_at(run.fall_from("unigram")?.on_plateau());
        Some(run.distance("unigram")[at] / run.distance("bigram")[at])
    }),
    number("plateau against unigrams", |run| {
        Some((plateau_over_unigram(run)? - 1.0).abs())
    }),
    number("nearest to unigrams", |run| {
        let distances = run.distance("unigram");
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        Some(least / distances.first()?)
    }),
    number(
        "plateau against counts", // Both relative to unigram, each on its own sequences.
        |run| Some(plateau_over_unigram(run)? / counts_over_unigram(run)?),
    ),
    number("plateau over drop", |run| {
        let fall = run.fall_from("unigram")?;
        Some((fall.start - fall.onset) / (fall.end - fall.start))
    }),
    experiments("distance from aligned runs", |of| aligned(of[0])),
    experiments("spread of the transition", |of| {
        let usual = of[0].median(|run| run.onset("bigram"));
        of[0].numbers(|run| Some((run.onset("bigram")? / usual - 1.0).abs()))
    }),
    number("previous token", |run| run.best_head(&PREVIOUS_TOKEN, 0)),
    share("phases in order", |run| {
        run.order() == ["uniform", "unigram", "bigram"]
    }),
    number("steepness", |run| {
        let fall = run.fall_from("unigram")?;
        let drop = 0.8 * (fall.plateau - fall.reached) / (fall.end - fall.start);
        let losses = run.column(&KL_TRUTH);
        let at = |step: f64| losses[run.record_at(step)];
        let middle = fall.on_plateau();
        let plateau = (at(middle) - at(fall.start)) / (fall.start - middle);
        Some(if plateau > 0.0 {
            drop / plateau
        } else {
            f64::INFINITY
        })
    }),
    share("apart in the second drop", |run| {
        let Some(fall) = run.fall_from("unigram") else {
            return false;
        };
        let [from, to] = [fall.start, fall.end].map(|step| run.record_at(step));
        let change = |strategy: &str| {
            let distances = run.distance(strategy);
            distances[to] - distances[from]
        };
        change("unigram") > 0.0 && change("bigram") < 0.0
    }),
    share("plateau, then drop", |run| {
        let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
        let (steps, losses) = (run.steps(), run.column(&KL_TRUTH));
        let Some(&reached) = losses.last() else {
            return false;
        };
        let complete_for_good = |share: f64| {
            let level = unigram - share * (unigram - reached);
            let last_above = losses.iter().rposition(|&loss| loss > level)?;
            steps.get(last_above + 1).copied()
        };
        let near = run.first(&KL_TRUTH, |loss| loss <= unigram + 0.1 * (unigram - bigram));
        let times = (near, complete_for_good(0.1), complete_for_good(0.9));
        let (Some(near), Some(start), Some(end)) = times else {
            return false;
        };
        reached < 0.5 * (unigram + bigram) && start - near >= end - start
    }),
];

/// Why phases are read from the loss where there are many states.
pub(super) fn nearest_with_eight_states(results: &Results) -> String {
    let nearest = |id: &str| {
        let runs: Vec<Vec<String>> = results.of(id).completed().map(Run::order).collect();
        let never = runs
            .iter()
            .filter(|order| !order.contains(&"unigram".into()));
        (never.count(), runs.len())
    };
    let (never, of) = nearest("eight-states");
    match of {
        0 => String::new(),
        _ => format!(
            "With eight states the nearest strategy misleads: in {never} of {of} runs unigrams are \
         never the nearest, since uniform predictions are almost as near. So phases are read \
         from the loss here, and the mechanism from the heads."
        ),
    }
}

/// How far the plateau lies below the unigram strategy.
pub(super) fn depth_of_the_plateau(results: &Results) -> String {
    let main = results.of("main");
    let off = main.median(|run| Some(plateau_over_unigram(run)? - 1.0));
    let fair = main.median(|run| Some(counts_over_unigram(run)? - 1.0));
    match off.is_finite() && fair.is_finite() {
        false => String::new(),
        true => format!(
            "With two states the plateau lies {:.0} % below the unigram strategy's loss. The best \
         predictor from symbol counts and the current symbol, which looks at no pair, lies {:.0} % \
         below it.",
            -100.0 * off,
            -100.0 * fair
        ),
    }
}

/// The loss of the unigram phase over the unigram strategy's.
fn plateau_over_unigram(run: &Run) -> Option<f64> {
    Some(run.fall_from("unigram")?.plateau / run.level("unigram"))
}

/// The loss of the best predictor from symbol counts and the current symbol over the unigram strategy's.
fn counts_over_unigram(run: &Run) -> Option<f64> {
    let exam = run.exam()?;
    Some(exam.level("unigram-and-current")? / exam.level("unigram")?)
}

/// Relative times at which loss curves are compared; the transition is at 1.
const TIMES: [f64; 15] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0,
];

/// The distance of each run's loss from the median over the others, aligned at the transition. A run ends its
/// comparison where its training ends.
fn aligned(trained: &TrainedExperiment) -> Sample {
    let course = |run: &Run| -> Option<Vec<Option<f64>>> {
        let onset = run.onset("bigram")?;
        let (steps, losses) = (run.steps(), run.column(&KL_TRUTH));
        let end = *steps.last()?;
        let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
        // In units of the gap on the run's own test set.
        let at = |time: &f64| {
            let step = time * onset;
            (step <= end).then(|| (losses[run.record_at(step)] - bigram) / (unigram - bigram))
        };
        Some(TIMES.iter().map(at).collect())
    };
    let courses: Vec<Option<Vec<Option<f64>>>> = trained
        .runs
        .iter()
        .map(|run| course(run).filter(|_| run.completed()))
        .collect();
    // From the median over the other runs: a run's own course would pull the median towards it.
    let distance = |own: usize| {
        let course = courses[own].as_ref()?;
        let square = |at: usize| {
            let others = courses
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != own);
            let others = others.filter_map(|(_, course)| course.as_ref()?[at]);
            let others: Vec<f64> = others.collect();
            let distance = course[at]? - median(&others);
            (!others.is_empty()).then(|| distance.powi(2))
        };
        let squares: Vec<f64> = (0..TIMES.len()).filter_map(square).collect();
        (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
    };
    Sample::Numbers((0..courses.len()).map(distance).collect())
}
