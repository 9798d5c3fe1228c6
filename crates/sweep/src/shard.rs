//! Shards of a sweep.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Shard number `index` of `count`.
///
/// Every row of `count` numbers has one run of each shard, in an order that changes from row to row: costs that rise
/// along a key, or repeat with some period, are divided evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0 on.
    pub index: u64,
    /// How many shards there are.
    pub count: u64,
}

impl Shard {
    /// All of it.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// The shard of `count` that has a run.
    pub fn of(number: u64, count: u64) -> u64 {
        (number % count + mixed(number / count) % count) % count
    }

    /// Whether it has a run.
    pub fn has(self, number: u64) -> bool {
        Self::of(number, self.count) == self.index
    }
}

/// SplitMix64's last step: numbers in a row become numbers without an order.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (index, count) = text
            .split_once('/')
            .ok_or("expected I/N, such as 0/4 for the first of four shards")?;
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| format!("{text} is not a whole number"))
        };
        let (index, count) = (number(index)?, number(count)?);
        match index < count {
            true => Ok(Self { index, count }),
            false if count == 0 => Err("there is at least 1 shard".into()),
            false => Err(format!(
                "shards of {count} are numbered from 0 to {}",
                count - 1
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_disjoint_complete_and_even() {
        for (runs, count) in [(1000, 1), (1000, 7), (400, 100), (5, 8)] {
            let mut sizes = vec![0; count as usize];
            for number in 0..runs {
                let owners = (0..count).filter(|&index| Shard { index, count }.has(number));
                let owners: Vec<u64> = owners.collect();
                assert_eq!(owners.len(), 1);
                sizes[owners[0] as usize] += 1;
            }
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 1, "{sizes:?}");
        }
    }

    /// A key with as many values as there are shards must not give each shard a value of its own.
    #[test]
    fn a_period_of_the_grid_is_no_period_of_the_shares() {
        let count = 20;
        let dear = |number: &u64| number % count == 19;
        let of_shard = |index| {
            (0..4000)
                .filter(|&n| Shard { index, count }.has(n))
                .filter(dear)
                .count()
        };
        let most = (0..count).map(of_shard).max().unwrap();
        assert!(most <= 25, "{most} of 200 dear runs in one of 20 shards");
    }

    #[test]
    fn shares_as_text() {
        assert_eq!("3/4".parse(), Ok(Shard { index: 3, count: 4 }));
        for wrong in ["4/4", "0/0", "1", "a/2", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
