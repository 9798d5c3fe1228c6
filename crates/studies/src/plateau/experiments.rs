//! What is trained: each transformer as it is, and under interventions.

use crate::experiment::Plan;

/// Seeds of a full study.
const SEEDS: u64 = 20;

/// Runs of the study of transition times.
const TIMES: u64 = 1000;

/// An intervention whose time matters to a record.
const fn close(setting: &'static str, quick: u64) -> Plan {
    Plan::new(setting, quick, SEEDS, 25).all_seeds()
}

/// One of which only the outcome matters.
const fn wide(setting: &'static str, quick: u64) -> Plan {
    Plan::new(setting, quick, SEEDS, 50).all_seeds()
}

/// All experiments.
pub const EXPERIMENTS: &[Plan] = &[
    close("plateau-two{,-clamped}", 3),
    close("plateau-two-dose-{0.25,0.5,0.75,1.0}", 1),
    wide("plateau-two-freeze-2-{0-25,0-50}", 1),
    wide("plateau-two-freeze-2-0-100", 2),
    wide(
        "plateau-two-freeze-2-{0-200,0-400,50-150,100-200,200-400,400-800,800-1600}",
        1,
    ),
    wide(
        "plateau-two-freeze-1-{0-25,0-50,0-100,0-200,0-400,50-150,100-200,200-400,400-800,800-1600}",
        1,
    ),
    wide("plateau-two-freeze-{both,values,scores}", 1),
    wide("plateau-two-{rescued-by-reset,rescued-by-block,blocked}", 1),
    close("plateau-two-without-uniform", 2),
    wide("plateau-two-without-uniform-anywhere", 1),
    close("plateau-two-{matching-reset,first-final,second-final}", 1),
    close("plateau-two-{matching-reset,first-reset}-late", 1),
    close("plateau-three{,-clamped}", 1),
    close("plateau-three-dose-0.5", 0),
    close("plateau-three-dose-1.0", 1),
    wide("plateau-three-freeze-2-0-100", 1),
    wide("plateau-three-freeze-2-{0-400,400-800}", 0),
    wide("plateau-three-freeze-1-0-100", 0),
    wide("plateau-three-freeze-1-0-400", 1),
    wide("plateau-three-freeze-1-400-800", 0),
    close("plateau-three-without-uniform", 1),
    close("plateau-three-{matching-reset,first-final,second-final}", 0),
    close("plateau-released{,-clamped}", 1),
    close("plateau-released-dose-0.5", 0),
    close("plateau-released-dose-1.0", 1),
    wide("plateau-released-freeze-2-0-100", 1),
    wide("plateau-released-freeze-2-{0-400,400-800}", 0),
    wide("plateau-released-freeze-1-0-100", 0),
    wide("plateau-released-freeze-1-0-400", 1),
    wide("plateau-released-freeze-1-400-800", 0),
    close("plateau-released-without-uniform", 1),
    close(
        "plateau-released-{matching-reset,first-final,second-final}",
        0,
    ),
    close("plateau-released-three{,-clamped,-without-uniform}", 0),
    close("{minimal,plateau-minimal-clamped}", 2),
    Plan::new("plateau-minimal{,-clamped}-gradient", 6, SEEDS, 1)
        .all_seeds()
        .snapshots(2, 2),
    Plan::new("plateau-times", 40, TIMES, 20).all_seeds(),
];
