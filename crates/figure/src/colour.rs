//! The colours, each for light and for dark screens.

/// A colour by its role.
///
/// The hues are those of Okabe and Ito, which stay apart with any colour vision; darkened where a line or a word on white needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Text and what is most important.
    Ink,
    /// Axes and remarks.
    Muted,
    /// Grid lines.
    Faint,
    /// Behind everything.
    Paper,
    /// The uniform strategy.
    Uniform,
    /// The unigram strategy.
    Unigram,
    /// The bigram strategy.
    Bigram,
    /// The trigram strategy.
    Trigram,
    /// Exact Bayes.
    Bayes,
    /// A first thing that is no strategy.
    Blue,
    /// A second one.
    Vermilion,
    /// A third one.
    Green,
    /// Large numbers in matrices and heat maps.
    Deep,
    /// Large numbers below zero there.
    Ember,
    /// One of a family in order, 0 to 10 (what is larger counts as 10): lighter and warmer as it grows.
    Ramp(u8),
}

/// The last colour of the ramp.
pub(crate) const RAMP_END: u8 = 10;

/// For white and for dark paper. Even steps in lightness (OKLCH: 0.27 to 0.675 and 0.55 to 0.93), so that the order is seen with any
/// colour vision, and in hue (278° to 60° and 282° to 95°, by way of magenta), with as much chroma up to 0.19 as screens have.
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

fn of_ramp(place: u8) -> [&'static str; 3] {
    RAMP[usize::from(place.min(RAMP_END))]
}

impl Colour {
    /// All with a role of their own: without the ramp.
    pub const ROLES: [Colour; 14] = [
        Colour::Ink,
        Colour::Muted,
        Colour::Faint,
        Colour::Paper,
        Colour::Uniform,
        Colour::Unigram,
        Colour::Bigram,
        Colour::Trigram,
        Colour::Bayes,
        Colour::Blue,
        Colour::Vermilion,
        Colour::Green,
        Colour::Deep,
        Colour::Ember,
    ];

    fn all() -> impl Iterator<Item = Colour> {
        Self::ROLES
            .into_iter()
            .chain((0..=RAMP_END).map(Colour::Ramp))
    }

    /// The place on the ramp for a share of it, 0 to 1.
    pub fn ramp(share: f64) -> Self {
        Colour::Ramp((share.clamp(0.0, 1.0) * f64::from(RAMP_END)).round() as u8)
    }

    /// The colour that a strategy has in every figure.
    pub fn of_strategy(name: &str) -> Option<Self> {
        match name {
            "uniform" => Some(Colour::Uniform),
            "unigram" | "bayes-unigram" => Some(Colour::Unigram),
            "bigram" => Some(Colour::Bigram),
            "trigram" => Some(Colour::Trigram),
            "bayes" => Some(Colour::Bayes),
            _ => None,
        }
    }

    /// Its name in class attributes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Colour::Ink => "ink",
            Colour::Muted => "muted",
            Colour::Faint => "faint",
            Colour::Paper => "paper",
            Colour::Uniform => "uniform",
            Colour::Unigram => "unigram",
            Colour::Bigram => "bigram",
            Colour::Trigram => "trigram",
            Colour::Bayes => "bayes",
            Colour::Blue => "blue",
            Colour::Vermilion => "vermilion",
            Colour::Green => "green",
            Colour::Deep => "deep",
            Colour::Ember => "ember",
            Colour::Ramp(place) => of_ramp(place)[0],
        }
    }

    /// On white.
    pub fn light(self) -> &'static str {
        match self {
            Colour::Ink => "#1b1f24",
            Colour::Muted => "#5b6470",
            Colour::Faint => "#e3e6ea",
            Colour::Paper => "#ffffff",
            Colour::Uniform => "#7a7f87",
            Colour::Unigram => "#ab6500",
            Colour::Bigram | Colour::Blue => "#0068a8",
            Colour::Trigram | Colour::Green => "#00805c",
            Colour::Bayes => "#a8437f",
            Colour::Vermilion => "#c44f00",
            Colour::Deep => "#0a4a8c",
            Colour::Ember => "#9c3a00",
            Colour::Ramp(place) => of_ramp(place)[1],
        }
    }

    /// On a dark screen.
    pub fn dark(self) -> &'static str {
        match self {
            Colour::Ink => "#e8eaed",
            Colour::Muted => "#a3abb5",
            Colour::Faint => "#333a43",
            Colour::Paper => "#15181c",
            Colour::Uniform => "#9aa0a8",
            Colour::Unigram => "#f0ab2e",
            Colour::Bigram | Colour::Blue => "#5eb8f0",
            Colour::Trigram | Colour::Green => "#2fc79b",
            Colour::Bayes => "#e08fbd",
            Colour::Vermilion => "#ff8a45",
            Colour::Deep => "#8accff",
            Colour::Ember => "#ffb07a",
            Colour::Ramp(place) => of_ramp(place)[2],
        }
    }
}

/// The rules that turn figures dark where the reader's screen is. Presentation attributes give way to them.
pub(crate) fn dark_css() -> String {
    let mut rules = String::new();
    for colour in Colour::all() {
        let (name, hex) = (colour.name(), colour.dark());
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
    fn labels_can_be_read_on_both_papers() {
        for colour in Colour::ROLES {
            if matches!(colour, Colour::Faint | Colour::Paper) {
                continue;
            }
            // Lines need 3 to 1; words in the same colour more.
            let light = contrast(colour.light(), Colour::Paper.light());
            let dark = contrast(colour.dark(), Colour::Paper.dark());
            assert!(light > 4.0 && dark > 4.0, "{colour:?}: {light} {dark}");
        }
    }

    #[test]
    fn the_ramp_is_seen_on_both_papers_and_in_order_without_hues() {
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

    #[test]
    fn every_strategy_has_its_own_colour() {
        let names = ["uniform", "unigram", "bigram", "trigram", "bayes"];
        let colours = names.map(|name| Colour::of_strategy(name).unwrap().light());
        for (index, colour) in colours.iter().enumerate() {
            assert!(!colours[..index].contains(colour));
        }
        assert_eq!(Colour::of_strategy("oracle"), None);
    }
}
