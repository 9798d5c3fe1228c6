//! Maps numbers to positions, and chooses the tick labels of an axis.

/// How numbers map to positions along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linearly.
    #[default]
    Linear,
    /// By their logarithm; zero and negative numbers have no position.
    Log,
}

impl Scale {
    /// The position of a number between the ends of `range`, 0 to 1; `None` if it has none.
    pub(crate) fn place(self, (low, high): (f64, f64), value: f64) -> Option<f64> {
        let share = match self {
            Scale::Linear => (value - low) / (high - low),
            Scale::Log => (value / low).ln() / (high / low).ln(),
        };
        share.is_finite().then_some(share)
    }

    /// A range that contains all `values` with some margin; it ends at zero where that is the natural end.
    pub(crate) fn range_of(self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let Some((low, high)) = self.extremes(values) else {
            return (1.0, 10.0);
        };
        match self {
            Scale::Log if low == high => (low / 2.0, high * 2.0),
            Scale::Log => {
                let air = (high / low).powf(0.05);
                (low / air, high * air)
            }
            Scale::Linear if low == high => {
                let air = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
                (low - air, high + air)
            }
            Scale::Linear => {
                let air = 0.06 * (high - low);
                let end = |value: f64, out: f64| if value == 0.0 { 0.0 } else { out };
                (end(low, low - air), end(high, high + air))
            }
        }
    }

    /// The smallest and largest of `values`, if they differ.
    pub(crate) fn ends_of(self, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        self.extremes(values).filter(|(low, high)| low < high)
    }

    /// The smallest and largest of those that have a position.
    fn extremes(self, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let usable = values.filter(|v| v.is_finite() && (self == Scale::Linear || *v > 0.0));
        usable.fold(None, |ends, v| match ends {
            None => Some((v, v)),
            Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
        })
    }

    /// At most about `count` round numbers between the ends.
    pub(crate) fn ticks(self, (low, high): (f64, f64), count: usize) -> Vec<f64> {
        let count = count.max(2);
        let apart = low < high && (high - low).is_finite();
        match self {
            _ if !apart || (self == Scale::Log && low <= 0.0) => Vec::new(),
            Scale::Linear => linear_ticks(low, high, count),
            Scale::Log => {
                let decades = (high / low).log10();
                if decades < 1.0 {
                    return linear_ticks(low, high, count);
                }
                let every = (decades / count as f64).ceil().max(1.0) as i32;
                let steps: &[f64] = match decades {
                    d if d * 3.0 <= count as f64 => &[1.0, 2.0, 5.0],
                    d if d * 2.0 <= count as f64 => &[1.0, 3.0],
                    _ => &[1.0],
                };
                let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
                let all = powers
                    .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
                let near = 1e-9;
                all.filter(|v| *v >= low * (1.0 - near) && *v <= high * (1.0 + near))
                    .collect()
            }
        }
    }
}

fn linear_ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|step| step * power)
        .into_iter()
        .find(|step| *step >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// A tick label, with as many decimals as its neighbours need.
pub(crate) fn tick_label(value: f64, ticks: &[f64]) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let power = value.abs().log10();
    let whole = (power - power.round()).abs() < 1e-9;
    // On a log axis each number has its own decimals, and powers of ten are written as powers.
    let by_factors = match ticks {
        [first, .., last] => {
            let far = ticks.windows(2).all(|pair| pair[1] > 1.9 * pair[0]);
            far && *first > 0.0 && *last > 9.0 * first
        }
        _ => true,
    };
    let plain = match whole && by_factors {
        true => 1e-3..1e5,
        false => 1e-4..1e7,
    };
    if !plain.contains(&value.abs()) {
        let exponent = power.floor() as i32;
        let factor = value / 10_f64.powi(exponent);
        let tail = format!("10^{{{}}}", minus(&exponent.to_string()));
        return match whole && value > 0.0 {
            true => tail,
            false => format!("{}·{tail}", minus(&shortest(factor, 2))),
        };
    }
    let decimals = (0..8)
        .find(|&decimals| {
            let unit = 10_f64.powi(decimals);
            let exact =
                |v: &f64| ((v * unit).round() - v * unit).abs() < 1e-6 * (v * unit).abs().max(1e-3);
            match by_factors {
                true => exact(&value),
                false => ticks.iter().all(exact),
            }
        })
        .unwrap_or(8) as usize;
    let text = format!("{value:.decimals$}");
    match ticks.iter().any(|tick| tick.abs() >= 1e4) {
        true => minus(&grouped(&text)),
        false => minus(&text),
    }
}

/// A number with the given number of decimals; zero has no sign.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.trim_start_matches('-').trim_matches(['0', '.']) {
        "" => minus(text.trim_start_matches('-')),
        _ => minus(&text),
    }
}

/// A single number with three significant digits.
pub(crate) fn short(value: f64) -> String {
    let power = value.abs().log10();
    match value {
        v if !v.is_finite() => String::new(),
        0.0 => "0".to_owned(),
        v if (-4.0..6.0).contains(&power) => {
            let decimals = (2.0 - power.floor()).max(0.0) as usize;
            minus(&shortest(v, decimals))
        }
        v => tick_label(v, &[v]),
    }
}

fn shortest(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Adds commas between thousands.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-').len();
    let mut out = String::new();
    for (index, c) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if left % 3 == 0 && left < digits {
            out.push(',');
        }
        out.push(c);
    }
    out + rest
}

/// Replaces the hyphen by a minus sign.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        let ticks = Scale::Linear.ticks((0.0, 100.0), 5);
        assert_eq!(ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let ticks = Scale::Linear.ticks((0.0197, 0.0239), 5);
        assert!(ticks.iter().all(|t| (0.0197..=0.0239).contains(t)));
        let labels: Vec<String> = ticks.iter().map(|&t| tick_label(t, &ticks)).collect();
        assert_eq!(labels, ["0.020", "0.021", "0.022", "0.023"]);
        let ticks = [-5_000.0, 0.0, 5_000.0, 10_000.0];
        let labels = ticks.map(|t| tick_label(t, &ticks));
        assert_eq!(labels, ["−5,000", "0", "5,000", "10,000"]);
        let ticks = [-0.5, 0.0, 0.5];
        let labels = ticks.map(|t| tick_label(t, &ticks));
        assert_eq!(labels, ["−0.5", "0", "0.5"]);
    }

    #[test]
    fn log_ticks_are_powers_or_their_twos_and_fives() {
        assert_eq!(
            Scale::Log.ticks((3.0, 1200.0), 9),
            [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
        assert_eq!(
            Scale::Log.ticks((0.5, 2000.0), 5),
            [1.0, 10.0, 100.0, 1000.0]
        );
        let ticks = Scale::Log.ticks((1e-9, 1.0), 5);
        assert_eq!(ticks.len(), 5);
        assert_eq!(tick_label(1e-5, &ticks), "10^{−5}");
        assert_eq!(tick_label(0.01, &[0.001, 0.01]), "0.01");
    }

    #[test]
    fn numbers_off_the_axis_have_no_position() {
        assert!(Scale::Linear.ticks((1.0, 1.0), 5).is_empty());
        assert!(Scale::Linear.ticks((0.0, f64::INFINITY), 5).is_empty());
        assert!(Scale::Log.ticks((0.0, 1.0), 5).is_empty());
        assert_eq!(Scale::Log.place((1.0, 10.0), -1.0), None);
        assert_eq!(Scale::Log.place((1.0, 10.0), 0.0), None);
        assert_eq!(Scale::Linear.place((0.0, 10.0), f64::NAN), None);
        assert_eq!(Scale::Linear.place((0.0, 10.0), 5.0), Some(0.5));
        let half = Scale::Log.place((1.0, 100.0), 10.0).unwrap();
        assert!((half - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_single_number_is_short() {
        let shown = [0.0, 1.0, 0.25, -0.012_34, 1234.5, 100.0, 2e-7].map(short);
        assert_eq!(
            shown,
            ["0", "1", "0.25", "−0.0123", "1234", "100", "2·10^{−7}"]
        );
    }

    #[test]
    fn a_range_contains_its_values_even_if_there_are_none() {
        let (low, high) = Scale::Linear.range_of([0.0, 4.0].into_iter());
        assert!(low == 0.0 && high > 4.0);
        let (low, high) = Scale::Log.range_of([-1.0, 2.0, 8.0].into_iter());
        assert!(low > 0.0 && low < 2.0 && high > 8.0);
        let (low, high) = Scale::Log.range_of(std::iter::empty());
        assert!(low < high);
        let (low, high) = Scale::Linear.range_of([3.0].into_iter());
        assert!(low < 3.0 && 3.0 < high);
    }
}
