//! The colours, each for light and for dark backgrounds.

/// A colour, by its role or its hue.
///
/// The hues are those of Okabe and Ito, which stay distinct with any colour vision; they are darkened where a
/// line or a word on white needs it. What a hue stands for is the caller's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "hues of the palette have their names")]
pub enum Colour {
    /// Text and what is most important.
    Ink,
    /// Axes and remarks.
    Muted,
    /// Grid lines.
    Faint,
    /// The background.
    Paper,
    Grey,
    Amber,
    Blue,
    Green,
    Pink,
    Vermilion,
    /// Large numbers in matrices and heat maps.
    Deep,
    /// Large negative numbers there.
    Ember,
    /// One of a family in order, 0 to 10 (anything larger counts as 10): lighter and warmer as it grows.
    Ramp(u8),
}

/// The last colour of the ramp.
pub(crate) const RAMP_END: u8 = 10;

/// The ramp on white and on dark. It has even steps in lightness (OKLCH: 0.27 to 0.675 and 0.55 to 0.93), so
/// that the order is visible with any colour vision, and in hue (278° to 60° and 282° to 95°, through
/// magenta), with as much chroma as sRGB allows, up to 0.19.
const RAMP: [[&str; 3]; 11] = [
    ["ramp0", "#1f0074", "#655adb"],
    ["ramp1", "#39017d", "#8f5adb"],
    ["ramp2", "#530182", "#b45bd3"],
    ["ramp3", "#6e0280", "#d55ec3"],
    ["ramp4", "#880378", "#f264ad"],
    ["ramp5", "#a10e6c", "#ff7996"],
    ["ramp6", "#b61c5c", "#fe958c"],
    ["ramp7", "#c92e48", "#feac8a"],
    ["ramp8", "#d8422b", "#ffc08d"],
    ["ramp9", "#dd5e03", "#ffd492"],
    ["ramp10", "#db7b01", "#ffe891"],
];

/// All colours but the ramp: their names in class attributes, on white, and on a dark screen.
const FIXED: [(Colour, [&str; 3]); 12] = [
    (Colour::Ink, ["ink", "#1b1f24", "#e8eaed"]),
    (Colour::Muted, ["muted", "#5b6470", "#a3abb5"]),
    (Colour::Faint, ["faint", "#e3e6ea", "#333a43"]),
    (Colour::Paper, ["paper", "#ffffff", "#15181c"]),
    (Colour::Grey, ["grey", "#7a7f87", "#9aa0a8"]),
    (Colour::Amber, ["amber", "#ab6500", "#f0ab2e"]),
    (Colour::Blue, ["blue", "#0068a8", "#5eb8f0"]),
    (Colour::Green, ["green", "#00805c", "#2fc79b"]),
    (Colour::Pink, ["pink", "#a8437f", "#e08fbd"]),
    (Colour::Vermilion, ["vermilion", "#c44f00", "#ff8a45"]),
    (Colour::Deep, ["deep", "#0a4a8c", "#8accff"]),
    (Colour::Ember, ["ember", "#9c3a00", "#ffb07a"]),
];

impl Colour {
    /// Colours for things that have no order, in the order in which to use them.
    pub const PALETTE: [Colour; 6] = [
        Colour::Blue,
        Colour::Vermilion,
        Colour::Green,
        Colour::Pink,
        Colour::Amber,
        Colour::Grey,
    ];

    /// The colour at a share of the ramp, 0 to 1.
    pub fn ramp(share: f64) -> Self {
        Colour::Ramp((share.clamp(0.0, 1.0) * f64::from(RAMP_END)).round() as u8)
    }

    fn row(self) -> [&'static str; 3] {
        if let Colour::Ramp(place) = self {
            return RAMP[usize::from(place.min(RAMP_END))];
        }
        let found = FIXED.iter().find(|(colour, _)| *colour == self);
        found.expect("the table has every colour").1
    }

    /// Its name in class attributes.
    pub(crate) fn name(self) -> &'static str {
        self.row()[0]
    }

    /// On white.
    pub fn light(self) -> &'static str {
        self.row()[1]
    }

    /// On a dark screen.
    pub fn dark(self) -> &'static str {
        self.row()[2]
    }
}

/// CSS rules that apply the dark colours if the reader prefers a dark scheme. They override presentation
/// attributes.
pub(crate) fn dark_css() -> String {
    let mut rules = String::new();
    for [name, _, hex] in FIXED.iter().map(|(_, row)| row).chain(&RAMP) {
        rules += &format!(
            ".induct-figure .f-{name}{{fill:{hex}}}.induct-figure .s-{name}{{stroke:{hex}}}"
        );
    }
    format!("@media screen and (prefers-color-scheme:dark){{{rules}}}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Relative luminance, as accessibility guidelines define it.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    pub(crate) fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn labels_are_legible_in_both_schemes() {
        for (colour, _) in FIXED {
            if matches!(colour, Colour::Faint | Colour::Paper) {
                continue;
            }
            // Lines need a contrast of 3 to 1; text in the same colour needs more.
            let light = contrast(colour.light(), Colour::Paper.light());
            let dark = contrast(colour.dark(), Colour::Paper.dark());
            assert!(light > 4.0 && dark > 4.0, "{colour:?}: {light} {dark}");
        }
    }

    #[test]
    fn the_ramp_is_visible_in_both_schemes_and_ordered_without_hues() {
        for place in 0..=RAMP_END {
            let colour = Colour::Ramp(place);
            let light = contrast(colour.light(), Colour::Paper.light());
            let dark = contrast(colour.dark(), Colour::Paper.dark());
            assert!(light > 3.0 && dark > 3.0, "{place}: {light} {dark}");
            let next = Colour::Ramp(place + 1);
            if place < RAMP_END {
                assert!(luminance(next.light()) > 1.08 * luminance(colour.light()));
                assert!(luminance(next.dark()) > 1.08 * luminance(colour.dark()));
            }
        }
        assert_eq!(Colour::Ramp(200).light(), Colour::Ramp(10).light());
        assert_eq!(Colour::ramp(0.52), Colour::Ramp(5));
    }
}
