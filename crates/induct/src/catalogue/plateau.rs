//! Settings of the study of the plateau: three transformers and the minimal model, each under interventions.

use super::{Origin, SGD, Setting, further};

/// What is recorded beside the defaults: who copies, and how far each layer is the construction.
const MEASURES: &str = "record.measures=[\"train_loss\", \"kl_truth_se\", \"kl_truth_all\", \"kl_strategy\", \
                        \"kl_strategy_all\", \"test.kl_truth\", \"previous_token\", \"induction\", \
                        \"odd_even\", \"matching_gap\", \"diagonal_dominance\", \"copy_strength\", \
                        \"construction_overlap\"]";

/// The released model without its dropout, which would take seven times as long.
const RELEASED: &str = "model={positions=\"relative-query\", layer_norm=true, output_projection=\"always\", \
                        init_std={default=0.02, W_O=0.01}}";

/// The text's model with two states.
macro_rules! two {
    ($name:literal, $about:literal, [$($entry:expr),*]) => {
        further(
            concat!("plateau-two", $name),
            concat!("two states, ", $about),
            Origin::Recommended,
            &[MEASURES, concat!("intervene=[", $($entry, ", ",)* "]")],
        )
    };
}

/// The text's model with three states.
macro_rules! three {
    ($name:literal, $about:literal, [$($entry:expr),*]) => {
        further(
            concat!("plateau-three", $name),
            concat!("three states, ", $about),
            Origin::Recommended,
            &[
                "task.states=3",
                "train.steps=4000",
                MEASURES,
                concat!("intervene=[", $($entry, ", ",)* "]"),
            ],
        )
    };
}

/// The released model with two states.
macro_rules! released {
    ($name:literal, $about:literal, [$($entry:expr),*]) => {
        further(
            concat!("plateau-released", $name),
            concat!("the released model without dropout, two states, ", $about),
            Origin::Released,
            &[
                "task.start=uniform",
                RELEASED,
                "train.optimizer.lr=5e-4",
                MEASURES,
                concat!("intervene=[", $($entry, ", ",)* "]"),
            ],
        )
    };
}

/// The released model with three states.
macro_rules! released_three {
    ($name:literal, $about:literal, [$($entry:expr),*]) => {
        further(
            concat!("plateau-released-three", $name),
            concat!("the released model without dropout, three states, ", $about),
            Origin::Released,
            &[
                "task.states=3",
                "task.start=uniform",
                RELEASED,
                "train.optimizer.lr=5e-4",
                MEASURES,
                concat!("intervene=[", $($entry, ", ",)* "]"),
            ],
        )
    };
}

macro_rules! freeze {
    ($group:literal, $from:literal, $until:literal) => {
        concat!(
            "{kind=\"freeze\", group=\"",
            $group,
            "\", from=",
            $from,
            ", until=",
            $until,
            "}"
        )
    };
}

macro_rules! clamp {
    () => {
        "{kind=\"clamp\", at=\"layers.0\", pattern=\"previous-token\"}"
    };
}

macro_rules! without_uniform {
    ($layer:literal) => {
        concat!(
            "{kind=\"ablate\", at=\"layers.",
            $layer,
            ".attn_pattern\", part=\"uniform\"}"
        )
    };
}

/// A part of the run's own final weights, put in place at the start.
macro_rules! dose {
    ($fraction:literal) => {
        concat!(
            "{kind=\"transplant\", group=\"layers.1\", source={own=4000}, fraction=",
            $fraction,
            "}"
        )
    };
}

/// A layer's final weights, put in place on the plateau.
macro_rules! swap {
    ($layer:literal) => {
        concat!(
            "{kind=\"transplant\", group=\"layers.",
            $layer,
            "\", source={own=4000}, step={at=\"unigram\", after=200}}"
        )
    };
}

/// What layer 2 looks for, set back.
macro_rules! reset_matching {
    ($event:literal, $after:literal) => {
        concat!(
            "{kind=\"reset\", group=\"layers.1.W_Q\", step={at=\"",
            $event,
            "\", after=",
            $after,
            "}}, {kind=\"reset\", group=\"layers.1.W_K\", step={at=\"",
            $event,
            "\", after=",
            $after,
            "}}"
        )
    };
}

/// A model in which all of these can be made: the interventions of the study that every transformer gets.
macro_rules! of_every_model {
    ($model:ident) => {
        [
            $model!("", "as it is", []),
            $model!(
                "-clamped",
                "layer 1 clamped to the previous token",
                [clamp!()]
            ),
            $model!(
                "-dose-0.5",
                "layer 2 half way to its final weights from the start",
                [dose!("0.5")]
            ),
            $model!(
                "-dose-1.0",
                "layer 2 at its final weights from the start",
                [dose!("1.0")]
            ),
            $model!(
                "-freeze-2-0-100",
                "layer 2 frozen for 100 steps",
                [freeze!("layers.1", 0, 100)]
            ),
            $model!(
                "-freeze-2-0-400",
                "layer 2 frozen for 400 steps",
                [freeze!("layers.1", 0, 400)]
            ),
            $model!(
                "-freeze-2-400-800",
                "layer 2 frozen from 400 to 800",
                [freeze!("layers.1", 400, 800)]
            ),
            $model!(
                "-freeze-1-0-100",
                "layer 1 frozen for 100 steps",
                [freeze!("layers.0", 0, 100)]
            ),
            $model!(
                "-freeze-1-0-400",
                "layer 1 frozen for 400 steps",
                [freeze!("layers.0", 0, 400)]
            ),
            $model!(
                "-freeze-1-400-800",
                "layer 1 frozen from 400 to 800",
                [freeze!("layers.0", 400, 800)]
            ),
            $model!(
                "-without-uniform",
                "without the uniform part of layer 2's attention",
                [without_uniform!(1)]
            ),
            $model!(
                "-matching-reset",
                "what layer 2 looks for set back on the plateau",
                [reset_matching!("unigram", 200)]
            ),
            $model!(
                "-first-final",
                "layer 1's final weights on the plateau",
                [swap!(0)]
            ),
            $model!(
                "-second-final",
                "layer 2's final weights on the plateau",
                [swap!(1)]
            ),
        ]
    };
}

/// What every transformer gets: the text's with two and with three states, and the released one.
static TRANSFORMERS: [[Setting; 14]; 3] = [
    of_every_model!(two),
    of_every_model!(three),
    of_every_model!(released),
];

/// The others.
static FURTHER: [Setting; 31] = [
    two!(
        "-dose-0.25",
        "layer 2 a quarter of the way to its final weights from the start",
        [dose!("0.25")]
    ),
    two!(
        "-dose-0.75",
        "layer 2 three quarters of the way to its final weights from the start",
        [dose!("0.75")]
    ),
    two!(
        "-freeze-2-0-25",
        "layer 2 frozen for 25 steps",
        [freeze!("layers.1", 0, 25)]
    ),
    two!(
        "-freeze-2-0-50",
        "layer 2 frozen for 50 steps",
        [freeze!("layers.1", 0, 50)]
    ),
    two!(
        "-freeze-2-0-200",
        "layer 2 frozen for 200 steps",
        [freeze!("layers.1", 0, 200)]
    ),
    two!(
        "-freeze-2-50-150",
        "layer 2 frozen from 50 to 150",
        [freeze!("layers.1", 50, 150)]
    ),
    two!(
        "-freeze-2-100-200",
        "layer 2 frozen from 100 to 200",
        [freeze!("layers.1", 100, 200)]
    ),
    two!(
        "-freeze-2-200-400",
        "layer 2 frozen from 200 to 400",
        [freeze!("layers.1", 200, 400)]
    ),
    two!(
        "-freeze-2-800-1600",
        "layer 2 frozen from 800 to 1600",
        [freeze!("layers.1", 800, 1600)]
    ),
    two!(
        "-freeze-1-0-25",
        "layer 1 frozen for 25 steps",
        [freeze!("layers.0", 0, 25)]
    ),
    two!(
        "-freeze-1-0-50",
        "layer 1 frozen for 50 steps",
        [freeze!("layers.0", 0, 50)]
    ),
    two!(
        "-freeze-1-0-200",
        "layer 1 frozen for 200 steps",
        [freeze!("layers.0", 0, 200)]
    ),
    two!(
        "-freeze-1-50-150",
        "layer 1 frozen from 50 to 150",
        [freeze!("layers.0", 50, 150)]
    ),
    two!(
        "-freeze-1-100-200",
        "layer 1 frozen from 100 to 200",
        [freeze!("layers.0", 100, 200)]
    ),
    two!(
        "-freeze-1-200-400",
        "layer 1 frozen from 200 to 400",
        [freeze!("layers.0", 200, 400)]
    ),
    two!(
        "-freeze-1-800-1600",
        "layer 1 frozen from 800 to 1600",
        [freeze!("layers.0", 800, 1600)]
    ),
    two!(
        "-freeze-both",
        "both layers frozen for 100 steps",
        [freeze!("layers", 0, 100)]
    ),
    two!(
        "-freeze-values",
        "layer 2's values frozen for 100 steps",
        [freeze!("layers.1.W_V", 0, 100)]
    ),
    two!(
        "-freeze-scores",
        "what layer 2 looks for frozen for 100 steps",
        [
            freeze!("layers.1.W_Q", 0, 100),
            freeze!("layers.1.W_K", 0, 100),
            freeze!("layers.1.v", 0, 100)
        ]
    ),
    two!(
        "-rescued-by-reset",
        "layer 2 frozen for 100 steps, then layer 1 set back",
        [
            freeze!("layers.1", 0, 100),
            "{kind=\"reset\", group=\"layers.0\", step=100}"
        ]
    ),
    two!(
        "-rescued-by-block",
        "layer 2 frozen for 100 steps, in which layer 1's output does not reach the logits",
        [
            freeze!("layers.1", 0, 100),
            "{kind=\"ablate\", at=\"layers.0.heads.0\", to=\"logits\", until=100}"
        ]
    ),
    two!(
        "-blocked",
        "layer 1's output never reaches the logits",
        ["{kind=\"ablate\", at=\"layers.0.heads.0\", to=\"logits\"}"]
    ),
    two!(
        "-without-uniform-anywhere",
        "without the uniform part of both layers' attention",
        [without_uniform!(0), without_uniform!(1)]
    ),
    two!(
        "-matching-reset-late",
        "what layer 2 looks for set back after the drop",
        [reset_matching!("bigram", 600)]
    ),
    two!(
        "-first-reset-late",
        "layer 1 set back after the drop",
        ["{kind=\"reset\", group=\"layers.0\", step={at=\"bigram\", after=600}}"]
    ),
    further(
        "plateau-times",
        "two states, until bigrams are the nearest strategy",
        Origin::Recommended,
        &[MEASURES, "train.stop={at=\"bigram\"}"],
    ),
    released_three!("", "as it is", []),
    released_three!(
        "-clamped",
        "layer 1 clamped to the previous token",
        [clamp!()]
    ),
    released_three!(
        "-without-uniform",
        "without the uniform part of layer 2's attention",
        [without_uniform!(1)]
    ),
    further(
        "plateau-minimal-gradient",
        "the minimal model, two states, margin loss: one step of a large batch",
        Origin::Printed,
        &[
            "model.kind=minimal",
            "model.start={kind=\"constant\", w=0.0, v=0.01}",
            "train.loss={kind=\"margin\", delta=1e6}",
            SGD,
            "train.steps=1",
            "train.batch=16384",
            "record.every=1",
        ],
    ),
    further(
        "plateau-minimal-clamped-gradient",
        "the same with M clamped to the previous token",
        Origin::Printed,
        &[
            "model.kind=minimal",
            "model.start={kind=\"constant\", w=0.0, v=0.01}",
            "train.loss={kind=\"margin\", delta=1e6}",
            SGD,
            "train.steps=1",
            "train.batch=16384",
            "record.every=1",
            "intervene=[{kind=\"clamp\", at=\"layers.0\", pattern=\"previous-token\"}]",
        ],
    ),
];

/// The minimal model as the paper trains it, with M clamped.
static MINIMAL: [Setting; 1] = [further(
    "plateau-minimal-clamped",
    "the minimal model, two states, with M clamped to the previous token",
    Origin::Printed,
    &[
        "model.kind=minimal",
        "model.start={kind=\"constant\", w=0.0, v=0.01}",
        SGD,
        "train.steps=3000",
        "intervene=[{kind=\"clamp\", at=\"layers.0\", pattern=\"previous-token\"}]",
    ],
)];

/// All of them.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    TRANSFORMERS
        .iter()
        .flatten()
        .chain(&FURTHER)
        .chain(&MINIMAL)
}
