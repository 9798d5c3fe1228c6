//! Claims about what the layers do.

use induct::measure::{
    DIAGONAL_DOMINANCE, INDUCTION, MATCHING_GAP, ODD_EVEN, POSITIONAL_PROFILE, PREVIOUS_TOKEN,
    positional_profile,
};

use super::{Claim, Limit, Part, construction};
use crate::results::Results;
use crate::run::Run;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C5",
        title: "Layer 1 looks back by one, layer 2 at what followed",
        statement: "At the end of training the first layer attends to the previous token, and the second to \
                    the tokens that followed the current symbol.",
        place: "figure 2; section 3.1",
        figure: 2,
        needs: &["main", "three-states"],
        remark: "With two states, the first layer only needs to know whether one particular symbol came \
                 before, and that is what it learns (figure 2 gives its attention by symbol), so its mass on \
                 the previous token stays near one half. With three states, individual runs differ.",
        check: final_attention,
    },
    Claim {
        id: "C10",
        title: "Odd lags outweigh even ones before the second drop",
        statement: "On the way to the solution, the first layer prefers to look back by an odd number of \
                    tokens, in the minimal model and in the transformer.",
        place: "introduction; section 3.2; figures 3, 4b and 12",
        figure: 4,
        needs: &["main", "three-states", "minimal", "minimal-three-states"],
        remark: "In the transformer, the score is small and changes sign late in training.",
        check: odd_over_even,
    },
    Claim {
        id: "C11",
        title: "The second layer is learned first",
        statement: "The second layer learns to match equal symbols before the first layer learns to attend \
                    to the previous token.",
        place: "section 3.2; lemma",
        figure: 4,
        needs: &["main", "minimal-start"],
        remark: "For the minimal model, both are read from the weights after each of the first steps. In the \
                 transformer, the two layers have no common scale: the measure compares when each is \
                 half-way to its own final value, and individual runs differ widely.",
        check: second_layer_first,
    },
    Claim {
        id: "C15",
        title: "The hand-made transformer counts bigrams",
        statement: "Two layers with weights set by hand compute bigram frequencies; with the footnote's \
                    output map, their loss is close to that of exact Bayes.",
        place: "section 2.3, proposition and footnote",
        figure: 11,
        needs: &[],
        remark: "The output map was chosen on a separate set of sequences. The averages equal the \
                 frequencies up to rounding, except that the first symbol is counted one extra time if it is \
                 also the last one.",
        check: |_| construction::parts(),
    },
];

fn final_attention(results: &Results) -> Vec<Part> {
    let mut parts = Vec::new();
    for (id, what) in [("main", "k = 2"), ("three-states", "k = 3")] {
        let trained = results.of(id);
        parts.push(Part::new(
            format!("{what}, layer 1"),
            "mean attention to the previous token, at the end",
            trained.mean(|run| run.best_head(&PREVIOUS_TOKEN, 0)),
            Limit::AtLeast(0.8),
        ));
        parts.push(Part::new(
            format!("{what}, layer 2"),
            "mean attention to tokens that followed the current symbol, at the end",
            trained.mean(|run| run.best_head(&INDUCTION, 1)),
            Limit::AtLeast(0.8),
        ));
        parts.push(Part::new(
            format!("{what}, layer 1"),
            "share of runs in which position alone gives the previous token more weight than any other \
             token, at the end",
            trained.share(|run| {
                let profile = run.params().and_then(|params| positional_profile(&trained.model, params));
                profile.is_some_and(|profile| leads(&profile, 1))
            }),
            Limit::AtLeast(0.8),
        ));
    }
    parts
}

/// Whether a lag has more weight than every other lag.
fn leads(profile: &[f64], lag: usize) -> bool {
    let others = profile
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != lag);
    let Some(&own) = profile.get(lag) else {
        return false;
    };
    others.into_iter().all(|(_, &weight)| weight < own)
}

fn odd_over_even(results: &Results) -> Vec<Part> {
    let settings = [
        ("main", "transformer, k = 2"),
        ("three-states", "transformer, k = 3"),
        ("minimal", "minimal model, k = 2"),
        ("minimal-three-states", "minimal model, k = 3"),
    ];
    let part = |(id, what): (&str, &str)| {
        let score = |run: &Run| {
            let fall = run.fall_from("unigram")?;
            run.column(&ODD_EVEN)
                .get(run.record_at(fall.start))
                .copied()
        };
        Part::new(
            what,
            "weight of lags 3, 5, 7 and 9 above the mean of their even neighbours, relative to the mean \
             weight of lags 2 to 10, when a tenth of the second drop is complete",
            results.of(id).mean(score),
            Limit::AtLeast(0.0),
        )
    };
    settings.map(part).into()
}

fn second_layer_first(results: &Results) -> Vec<Part> {
    let minimal = |run: &Run| {
        let diagonal = run.first(&DIAGONAL_DOMINANCE, |d| d >= 0.5)?;
        let leading = profiles(run).iter().position(|profile| leads(profile, 1))?;
        Some(run.steps()[leading] - diagonal)
    };
    let transformer = |run: &Run| {
        let previous = half_way(run, &run.over_heads(&PREVIOUS_TOKEN, 0))?;
        Some(previous - half_way(run, &run.column(&MATCHING_GAP))?)
    };
    vec![
        Part::new(
            "minimal model",
            "steps from when W_k is diagonal (three times as large on the diagonal as off it) to when v_2 is \
             the largest weight",
            results.of("minimal-start").mean(minimal),
            Limit::AtLeast(1.0),
        ),
        Part::new(
            "transformer",
            "steps from when the second layer's preference for equal symbols is at half its final value to \
             when the first layer's attention to the previous token is at half its own",
            results.of("main").mean(transformer),
            Limit::AtLeast(25.0),
        ),
    ]
}

/// The step at which values have covered half the distance from the first to the last of them.
fn half_way(run: &Run, values: &[f64]) -> Option<f64> {
    let (first, last) = (values.first()?, values.last()?);
    let middle = 0.5 * (first + last);
    let at = values
        .iter()
        .position(|value| (value - first) * (last - first) >= (middle - first) * (last - first))?;
    Some(run.steps()[at])
}

/// The positional profile at every record, `[t]` each.
fn profiles(run: &Run) -> Vec<Vec<f64>> {
    let recording = run.recording();
    let columns = recording.history.columns().iter();
    let lags: Vec<usize> = columns
        .enumerate()
        .filter(|(_, column)| column.is_of(&POSITIONAL_PROFILE))
        .map(|(index, _)| index)
        .collect();
    let profile = |row: &[f64]| lags.iter().map(|&index| row[index]).collect();
    recording.history.rows().map(profile).collect()
}
