use induct_kernels::lanes::cross_lane::{sum_lanes, transpose};
use induct_kernels::lanes::{LANES, Lane, Level};

#[test]
fn sums_over_lanes_are_in_their_places() {
    let lanes: Vec<Lane> = (0..19)
        .map(|n| Lane(std::array::from_fn(|lane| (n * n + lane) as f32)))
        .collect();
    let expected: Vec<f32> = lanes.iter().map(|lane| lane.sum()).collect();
    for level in Level::all() {
        let mut sums = [0.0; 19];
        sum_lanes(level, &lanes, &mut sums);
        assert_eq!(sums, expected[..]);
    }
}

#[test]
fn all_levels_sum_in_the_same_order() {
    let eight: [Lane; LANES] =
        std::array::from_fn(|n| Lane(std::array::from_fn(|lane| ((3 * n + lane) as f32).sin())));
    let sums = Level::all().into_iter().map(|level| {
        let mut sums = [0.0; LANES];
        sum_lanes(level, &eight, &mut sums);
        sums
    });
    let sums: Vec<[f32; LANES]> = sums.collect();
    assert!(sums.iter().all(|other| *other == sums[0]));
}

#[test]
fn tiles_are_turned_over() {
    for level in Level::all() {
        let lane = |n: usize| Lane(std::array::from_fn(|lane| (8 * n + lane) as f32));
        let mut tiles = [std::array::from_fn(lane); 2];
        transpose(level, &mut tiles);
        for (n, vector) in tiles.as_flattened().iter().enumerate() {
            let expected = std::array::from_fn(|m| (8 * m + n % LANES) as f32);
            assert_eq!(vector.0, expected);
        }
    }
}
