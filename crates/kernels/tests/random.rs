use rand_core::Rng;

use induct_kernels::random::{Address, Purpose, open_unit};

#[test]
fn streams_keep_their_values() {
    let mut rng = Address {
        purpose: Purpose::Train,
        seed: 7,
        step: 3,
    }
    .generator(5);
    let drawn: Vec<u32> = (0..4).map(|_| rng.next_u32()).collect();
    // From golden/chacha8.py, which implements ChaCha8 from its definition.
    assert_eq!(drawn, [1925745711, 3651043933, 226793535, 2451975103]);
}

#[test]
fn every_part_of_an_address_matters() {
    let base = Address {
        purpose: Purpose::Train,
        seed: 0,
        step: 0,
    };
    let first = |address: Address, index| address.generator(index).next_u64();
    let reference = first(base, 0);
    for (other, index) in [
        (base, 1),
        (Address { seed: 1, ..base }, 0),
        (Address { step: 1, ..base }, 0),
        (
            Address {
                purpose: Purpose::Test,
                ..base
            },
            0,
        ),
    ] {
        assert_ne!(reference, first(other, index));
    }
}

#[test]
fn open_unit_never_touches_its_ends() {
    let mut rng = Address {
        purpose: Purpose::Init,
        seed: 0,
        step: 0,
    }
    .generator(0);
    let mean = (0..10_000)
        .map(|_| open_unit(&mut rng))
        .inspect(|u| assert!(0.0 < *u && *u < 1.0))
        .sum::<f64>()
        / 1e4;
    assert!((mean - 0.5).abs() < 4.0 * (1.0_f64 / 12.0 / 1e4).sqrt());
}
