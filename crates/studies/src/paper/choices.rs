//! What the variants do where the paper's text, its figures and the released code disagree or say nothing.

use crate::study::Choice;

/// All choices: printed, released, recommended, and why.
pub const CHOICES: &[Choice] = &[
    Choice {
        what: "learning rate",
        does: &[
            "3·10^(−5), for 80,000 steps",
            "5·10^(−4), for 2,000 steps (4,000 with three states)",
            "10^(−3) in the main setting; higher where a setting needs many more steps",
        ],
        why: "the same phases in fewer steps: figure 14 compares rates",
    },
    Choice {
        what: "layer norm, dropout",
        does: &["none", "both", "none"],
        why: "the text's formulas have neither; docs/released in the repository adds the parts of the released \
              model one at a time, and finds which of them lets the head form",
    },
    Choice {
        what: "relative positions",
        does: &["meet the key", "meet the query", "meet the key"],
        why: "as in the text's formula",
    },
    Choice {
        what: "projection after a single head",
        does: &[
            "none",
            "W_O, starting at a standard deviation of 0.01",
            "none",
        ],
        why: "the text's model has none; with layer norm it decides whether the head forms (docs/released)",
    },
    Choice {
        what: "first symbol",
        does: &[
            "from the stationary law",
            "uniform",
            "from the stationary law",
        ],
        why: "as in the text",
    },
    Choice {
        what: "trigrams",
        does: &[
            "a rate of 3·10^(−2), t = 200",
            "no such setting",
            "a rate of 5·10^(−3), t = 200",
        ],
        why: "C12 tells what each rate leads to",
    },
    Choice {
        what: "minimal model",
        does: &[
            "SGD at 2·10^(−3)",
            "not run: it sees the future, since its causal mask is computed and dropped",
            "as printed",
        ],
        why: "the text leaves the start open: v starts at 0.01 and W_k at 0",
    },
    Choice {
        what: "interpolated priors",
        does: &[
            "not run",
            "p = 0.5 and p = 1",
            "p from 0 to 1, eleven values",
        ],
        why: "a caption says that there is no unigram signal at p = 0; by the definition in the appendix, \
              which we use, there is none at p = 1",
    },
    Choice {
        what: "three states",
        does: &[
            "one head",
            "one head",
            "one head; also three in the second layer",
        ],
        why: "a further question of C1 asks whether one head is the obstacle",
    },
    Choice {
        what: "one layer",
        does: &[
            "not run",
            "eight times as many steps as two layers",
            "eight times as many steps as two layers",
        ],
        why: "as in the caption of the paper's figure 13",
    },
];
