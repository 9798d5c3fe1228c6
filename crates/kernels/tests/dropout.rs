use induct_kernels::lanes::{LANES, Lane, Level};
use induct_kernels::model::dropout::DropoutKeys;
use induct_kernels::model::ops::dropout::{Mask, Rate, apply, pairs};
use induct_kernels::model::reference::formulas;

/// The mask of one lane by the fast path, in groups of rows: [rows, columns].
fn mask(level: Level, rate: Rate, keys: [u32; 2], first: u32, columns: usize) -> Vec<f64> {
    let keys = DropoutKeys::new([0; 2], LANES, |lane| {
        keys.map(|key| key ^ (lane as u32 * 7))
    });
    let mask = Mask::new(&keys, rate, first, columns);
    let mut ones = vec![Lane::splat(1.0); 12 * columns];
    let (above, below) = ones.split_at_mut(5 * columns);
    apply(level, &mask, 0..5, above);
    apply(level, &mask, 5..12, below);
    ones.iter().map(|lane| f64::from(lane.0[3])).collect()
}

#[test]
fn lanes_match_the_reference() {
    for (p, keys, first) in [
        (0.1, [1, 2], 0),
        (0.5, [0xdead_beef, 0], 77),
        (0.99999, [5, u32::MAX], u32::MAX - 3),
        (1e-5, [u32::MAX, 9], 12),
    ] {
        let rate = Rate::new(p).unwrap();
        for columns in [1, 2, 7, 16] {
            let of_lane = keys.map(|key| key ^ 21);
            let exact = formulas::mask(rate, of_lane, first, (12, columns));
            for level in Level::all() {
                let found = mask(level, rate, keys, first, columns);
                for (found, exact) in found.iter().zip(&exact.data) {
                    assert!((found - exact).abs() <= 1e-6 * exact, "{found} {exact}");
                }
            }
        }
    }
}

// From golden/dropout.py, which implements the scheme from its description in docs/models.md.
#[rustfmt::skip]
const KEPT: [u8; 28] = [
    0, 1, 1, 1, 1, 1, 1,
    1, 1, 0, 1, 1, 1, 0,
    1, 1, 1, 1, 0, 1, 0,
    0, 0, 1, 1, 0, 1, 1,
];

#[test]
fn masks_keep_their_values() {
    let rate = Rate::new(0.3).unwrap();
    let kept = formulas::mask(rate, [0x1234_5678, 0x9abc_def0], 1000, (4, 7));
    let kept: Vec<u8> = kept.data.iter().map(|&m| u8::from(m > 0.0)).collect();
    assert_eq!(kept, KEPT);
    assert!((rate.scale() - 65536.0 / 45875.0).abs() < 1e-15);
}

#[test]
fn rates_are_rounded_to_the_nearest_multiple() {
    assert_eq!(Rate::new(0.0), None);
    assert_eq!(Rate::new(0.4 / 65536.0), None);
    assert_eq!(Rate::new(0.5).unwrap().threshold, 32768);
    assert_eq!(Rate::new(0.1).unwrap().threshold, 6554);
    assert_eq!(Rate::new(0.99999).unwrap().threshold, 65535);
}

/// Shares of kept entries, and of pairs of entries that are both kept, for entries that could depend on
/// each other: neighbours, one row apart, of the next place and of other sequences.
#[test]
fn masks_have_their_rate_and_are_independent() {
    let (rows, columns) = (200, 100);
    for p in [0.1, 0.5, 0.9] {
        let rate = Rate::new(p).unwrap();
        let keep = 1.0 - p;
        let kept = |keys: [u32; 2], first: u32| -> Vec<f64> {
            let mask = formulas::mask(rate, keys, first, (rows, columns));
            mask.data
                .iter()
                .map(|&m| f64::from(u8::from(m > 0.0)))
                .collect()
        };
        let base = kept([3, 0xfeed], 0);
        let count = base.len() as f64;
        let share = base.iter().sum::<f64>() / count;
        assert!(
            (share - keep).abs() < 4.0 * (p * keep / count).sqrt(),
            "{p}: {share}"
        );
        let size = pairs(rows, columns);
        for (name, other, shift) in [
            ("neighbour", base.clone(), 1),
            ("same half of the next pair", base.clone(), 2),
            ("next row", base.clone(), columns),
            ("next k₀", kept([4, 0xfeed], 0), 0),
            ("other keys", kept([0x243f_6a88, 0x85a3_08d3], 0), 0),
            ("other keys", kept([0x1319_8a2e, 0x0370_7344], 0), 0),
            ("next place", kept([3, 0xfeed], size), 0),
        ] {
            let pairs = base.iter().zip(&other[shift..]);
            let covariance =
                pairs.map(|(a, b)| (a - keep) * (b - keep)).sum::<f64>() / (count - shift as f64);
            let error = p * keep / count.sqrt();
            assert!(
                covariance.abs() < 4.0 * error,
                "{p}, {name}: {covariance} ± {error}"
            );
        }
    }
}
