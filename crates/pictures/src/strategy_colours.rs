//! The colours of strategies, shared by all figures.

use induct_figure::Colour;

/// The colour of a strategy that every report and sweep draws, so that readers learn it once.
fn fixed(strategy: &str) -> Option<Colour> {
    match strategy {
        "uniform" => Some(Colour::Grey),
        "unigram" => Some(Colour::Amber),
        "bigram" => Some(Colour::Blue),
        "trigram" => Some(Colour::Green),
        "bayes" => Some(Colour::Pink),
        _ => None,
    }
}

/// A colour for each of the strategies that a figure draws, in their order.
///
/// Any other name gets the next colour of the palette that none of the strategies has yet; once all are taken
/// they are used again. To give a strategy the same colour in several figures, ask with the same list.
pub fn strategy_colours<S: AsRef<str>>(strategies: &[S]) -> Vec<Colour> {
    let fixed: Vec<Option<Colour>> = strategies.iter().map(|s| fixed(s.as_ref())).collect();
    let free = Colour::PALETTE
        .into_iter()
        .filter(|colour| !fixed.contains(&Some(*colour)));
    let mut next = free.chain(Colour::PALETTE.into_iter().cycle());
    let colour = |fixed: &Option<Colour>| {
        fixed.unwrap_or_else(|| next.next().expect("the palette never ends"))
    };
    fixed.iter().map(colour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_that_are_drawn_together_differ_in_colour() {
        let names = ["uniform", "unigram", "bigram", "trigram", "bayes", "my-own"];
        let colours = strategy_colours(&names);
        for (index, colour) in colours.iter().enumerate() {
            assert!(!colours[..index].contains(colour), "{}", names[index]);
        }
        // There are colours for any number of them.
        let names: Vec<String> = (0..20).map(|n| format!("custom {n}")).collect();
        assert_eq!(strategy_colours(&names)[..6], Colour::PALETTE);
        assert_eq!(strategy_colours(&names).len(), 20);
    }

    #[test]
    fn other_strategies_do_not_change_the_colour_of_a_known_one() {
        let alone = strategy_colours(&["bigram"]);
        let last = strategy_colours(&["mine", "yours", "bigram"]);
        assert_eq!(alone[0], last[2]);
        assert!(last[0] != last[1] && !last[..2].contains(&last[2]));
    }
}
