//! Statistics over seeds: means with 95 % intervals, shares, rank correlations.

use statrs::distribution::{Beta, ContinuousCDF, StudentsT};

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number: a mean over seeds, or a share of them.
    pub effect: f64,
    /// Its ends; `None` for a single seed.
    pub interval: Option<[f64; 2]>,
    /// The number of seeds.
    pub seeds: usize,
}

/// The probability outside the interval, on either side.
const TAIL: f64 = 0.025;

impl Measured {
    /// The mean over seeds, with Student's t interval. It is NaN if any value is.
    pub fn mean(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let spread: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let law = StudentsT::new(0.0, 1.0, count - 1.0).ok();
        let half = law
            .map(|law| law.inverse_cdf(1.0 - TAIL) * (spread / (count - 1.0) / count).sqrt())
            .filter(|half| half.is_finite());
        Self {
            effect: mean,
            interval: half.map(|half| [mean - half, mean + half]),
            seeds: values.len(),
        }
    }

    /// The share of seeds with a property, with the Clopper–Pearson interval.
    pub fn share(holds: &[bool]) -> Self {
        let (count, hits) = (holds.len(), holds.iter().filter(|&&hit| hit).count());
        let (n, h) = (count as f64, hits as f64);
        let quantile = |a: f64, b: f64, at: f64| Beta::new(a, b).map(|law| law.inverse_cdf(at));
        let low = quantile(h, n - h + 1.0, TAIL).unwrap_or(0.0);
        let high = quantile(h + 1.0, n - h, 1.0 - TAIL).unwrap_or(1.0);
        Self {
            effect: h / n,
            interval: (count > 1).then_some([low, high]),
            seeds: count,
        }
    }

    /// Half the width of the interval, for bars and bands; zero if there is none.
    pub fn half_width(&self) -> f64 {
        self.interval.map_or(0.0, |[low, high]| 0.5 * (high - low))
    }
}

/// Ranks, counted from 1; ties share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |x: f64| values.iter().filter(|&&v| v < x).count() as f64;
    let equal = |x: f64| values.iter().filter(|&&v| v == x).count() as f64;
    let rank = |&x: &f64| below(x) + 0.5 * (equal(x) + 1.0);
    values.iter().map(rank).collect()
}

/// Spearman's rank correlation, between −1 and 1; NaN if either list is constant.
pub fn rank_correlation(x: &[f64], y: &[f64]) -> f64 {
    let (x, y) = (ranks(x), ranks(y));
    let middle = 0.5 * (x.len() as f64 + 1.0);
    let product = |a: &[f64], b: &[f64]| -> f64 {
        let terms = a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle));
        terms.sum()
    };
    product(&x, &y) / (product(&x, &x) * product(&y, &y)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_means_are_students() {
        // SciPy 1.17.1: stats.t.interval(0.95, 4, loc=3, scale=stats.sem([1, 2, 3, 4, 5]))
        let Measured {
            effect, interval, ..
        } = Measured::mean(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let [low, high] = interval.unwrap();
        assert_eq!(effect, 3.0);
        assert!((low - 1.0367568385224428).abs() < 1e-9, "{low}");
        assert!((high - 4.963243161477557).abs() < 1e-9, "{high}");
        assert_eq!(Measured::mean(&[2.0]).interval, None);
        assert_eq!(Measured::mean(&[2.0, 2.0]).interval, Some([2.0, 2.0]));
        assert_eq!(Measured::mean(&[2.0, f64::NAN]).interval, None);
    }

    #[test]
    fn intervals_of_shares_are_clopper_and_pearsons() {
        // 20 out of 20: the lower end is the twentieth root of 0.025.
        let [low, high] = Measured::share(&[true; 20]).interval.unwrap();
        assert!((low.powi(20) - 0.025).abs() < 1e-9, "{low}");
        assert_eq!(high, 1.0);
        // SciPy 1.17.1: stats.binomtest(3, 10).proportion_ci(method="exact")
        let mut some = [false; 10];
        some[..3].fill(true);
        let [low, high] = Measured::share(&some).interval.unwrap();
        assert!((low - 0.06673951117773447).abs() < 1e-8, "{low}");
        assert!((high - 0.652452850060008).abs() < 1e-8, "{high}");
    }

    #[test]
    fn ranks_correlate() {
        let x = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(rank_correlation(&x, &[9.0, 7.0, 5.0, -1.0]), -1.0);
        // SciPy 1.17.1: stats.spearmanr([0, 1, 2, 3], [1, 1, 2, 0])
        let with_ties = rank_correlation(&x, &[1.0, 1.0, 2.0, 0.0]);
        assert!(
            (with_ties + 0.3162277660168379).abs() < 1e-12,
            "{with_ties}"
        );
        assert!(rank_correlation(&x, &[1.0; 4]).is_nan());
    }
}
