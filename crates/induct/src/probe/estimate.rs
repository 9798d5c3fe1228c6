//! Means with their standard errors.

/// A mean over independent sequences, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; NaN for a single value.
    pub se: f64,
}

/// Running sums that give an [`Estimate`]; values may arrive in any number of pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: f64,
    mean: f64,
    /// Sum of squared deviations from the mean.
    spread: f64,
}

impl Moments {
    /// Adds one value (Welford's update, which avoids cancellation).
    pub fn push(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.spread += before * (value - self.mean);
    }

    /// Adds everything that `other` has seen (Chan's formula).
    pub fn merge(&mut self, other: &Moments) {
        let count = self.count + other.count;
        if count == 0.0 {
            return;
        }
        let apart = other.mean - self.mean;
        self.mean += apart * other.count / count;
        self.spread += other.spread + apart * apart * self.count * other.count / count;
        self.count = count;
    }

    /// The mean so far.
    pub fn estimate(&self) -> Estimate {
        let variance = self.spread / (self.count - 1.0);
        Estimate {
            mean: self.mean,
            se: (variance / self.count).sqrt(),
        }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

/// The middle value, or the mean of the two in the middle; NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_standard_error_divides_by_the_root_of_the_count() {
        let estimate = Moments::from_iter([1.0, 2.0, 3.0, 6.0]).estimate();
        // Mean 3, variance (4 + 1 + 0 + 9) / 3, divided by 4.
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.se - (14.0_f64 / 12.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn pieces_add_up() {
        let values = [0.3, -2.0, 5.5, 1.25, 7.0];
        let whole = Moments::from_iter(values).estimate();
        let mut pieces = Moments::default();
        for piece in [&values[..0], &values[..2], &values[2..]] {
            pieces.merge(&Moments::from_iter(piece.iter().copied()));
        }
        assert!((pieces.estimate().mean - whole.mean).abs() < 1e-15);
        assert!((pieces.estimate().se - whole.se).abs() < 1e-15);
    }
}
