//! The strength of a number's colour in matrices and heat maps.
//!
//! A colour is laid over the background with the number as its opacity, so it works on white and on dark
//! alike.

use crate::colour::Colour;
use crate::layout::Place;
use crate::legend::{self, SIZE};
use crate::scale::{Scale, short};
use crate::svg::{Anchor, Drawing, Style};
use crate::text;

/// Maps numbers to colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shading {
    range: (f64, f64),
    scale: Scale,
    /// Whether the scale is centred at zero, with a second colour below it.
    signed: bool,
}

/// The opacity of zero: cells that exist are never left white.
const WEAKEST: f64 = 0.06;
/// Above this share, text has the colour of the background.
const DARK: f64 = 0.58;

impl Shading {
    /// The scale for these values, or with a given range.
    pub fn of(values: &[f64], range: Option<(f64, f64)>, scale: Scale, signed: bool) -> Self {
        let known = values.iter().copied().filter(|v| v.is_finite());
        let own = match (signed, scale) {
            (true, _) => {
                let largest = known.fold(0.0, |largest: f64, v| largest.max(v.abs()));
                (-largest, largest)
            }
            (false, Scale::Linear) => known.fold((0.0, 0.0), |(low, high): (f64, f64), v| {
                (low.min(v), high.max(v))
            }),
            (false, Scale::Log) => scale.ends_of(known).unwrap_or((1.0, 10.0)),
        };
        let range = range.unwrap_or(own);
        Self {
            range,
            scale: if signed { Scale::Linear } else { scale },
            signed,
        }
    }

    /// The share of the scale, 0 to 1; negative on the other side of a signed scale.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        let share = match self.signed {
            true => value / f64::max(low.abs(), high.abs()),
            false => self.scale.place(self.range, value).unwrap_or(0.0),
        };
        match share.is_nan() {
            true => 0.0,
            false => share.clamp(if self.signed { -1.0 } else { 0.0 }, 1.0),
        }
    }

    /// The colour of a share and its opacity.
    pub fn colour(share: f64) -> (Colour, f64) {
        let colour = match share < 0.0 {
            true => Colour::Ember,
            false => Colour::Deep,
        };
        (colour, WEAKEST + (1.0 - WEAKEST) * share.abs())
    }

    /// The colour of text on a share.
    pub fn ink(share: f64) -> Colour {
        match share.abs() > DARK {
            true => Colour::Paper,
            false => Colour::Ink,
        }
    }

    /// Draws a colour bar between the numbers at its ends, after its label, or below it if that is long;
    /// returns the height.
    pub fn draw_bar(&self, label: &str, place: Place, out: &mut Drawing) -> f64 {
        let Place { left, top, width } = place;
        let (low, high) = self.range;
        let steps = (0..=24).map(|step| f64::from(step) / 24.0);
        let shares = steps.map(|s| if self.signed { 2.0 * s - 1.0 } else { s });
        let colours: Vec<(Colour, f64)> = shares.map(Self::colour).collect();
        let mut y = top;
        let beside = text::width(label, SIZE, false) < 0.5 * width;
        if !beside {
            let style = Style::new(SIZE, Colour::Muted, Anchor::Start);
            y += out.paragraph(label, (left, y), width, style);
        }
        let first = match beside && !label.is_empty() {
            true => format!("{label}: {}", short(low)),
            false => short(low),
        };
        legend::draw_bar([&first, &short(high)], &colours, left, y, width, out);
        y + legend::BAR - top
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::tests::contrast;

    #[test]
    fn text_is_legible_on_every_shade_in_both_schemes() {
        let mixed = |over: &str, paper: &str, opacity: f64| {
            let channel =
                |hex: &str, at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            let mix = |at: usize| {
                let (over, paper) = (channel(over, at), channel(paper, at));
                (paper + opacity * (over - paper)).round() as u8
            };
            format!("#{:02x}{:02x}{:02x}", mix(1), mix(3), mix(5))
        };
        for step in -20..=20 {
            let share = f64::from(step) / 20.0;
            let ((colour, opacity), ink) = (Shading::colour(share), Shading::ink(share));
            for of in [Colour::light, Colour::dark] {
                let cell = mixed(of(colour), of(Colour::Paper), opacity);
                let found = contrast(of(ink), &cell);
                assert!(found > 3.0, "{share}: {found}");
            }
        }
    }

    #[test]
    fn shares_are_clamped_to_the_range() {
        let values = [0.0, 2.0, f64::NAN];
        let plain = Shading::of(&values, None, Scale::Linear, false);
        assert_eq!(
            [0.0, 1.0, 5.0, -1.0].map(|v| plain.share(v)),
            [0.0, 0.5, 1.0, 0.0]
        );
        let signed = Shading::of(&[-4.0, 1.0], None, Scale::Linear, true);
        assert_eq!([-4.0, 0.0, 2.0].map(|v| signed.share(v)), [-1.0, 0.0, 0.5]);
        let log = Shading::of(&[0.01, 1.0], None, Scale::Log, false);
        assert!((log.share(0.1) - 0.5).abs() < 1e-12);
        assert_eq!(log.share(0.0), 0.0);
    }
}
