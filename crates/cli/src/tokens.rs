//! The symbols that a user types, or copies from `induct sample`.

use induct::model::Model;

use crate::failure::Failure;

/// Reads symbols that a model is to see all of.
pub fn read(list: &str, model: &Model) -> Result<Vec<u8>, Failure> {
    let tokens = symbols(list, model.states())?;
    let length = model.length();
    match tokens.len() > length {
        true => Err(Failure::usage(format!(
            "--tokens has {} symbols, but this model sees at most {length} (task.length); give fewer",
            tokens.len()
        ))),
        false => Ok(tokens),
    }
}

/// Reads symbols of which the last may be the one to predict. A whole line of `induct sample` has one symbol
/// more than a model sees: it is left out.
pub fn read_line(list: &str, model: &Model) -> Result<Vec<u8>, Failure> {
    let mut tokens = symbols(list, model.states())?;
    if tokens.len() == model.length() + 1 {
        tokens.pop();
        return Ok(tokens);
    }
    read(list, model)
}

fn symbols(list: &str, states: usize) -> Result<Vec<u8>, Failure> {
    let symbol = |text: &str| {
        let text = text.trim();
        let known = text
            .parse()
            .ok()
            .filter(|&symbol: &u8| usize::from(symbol) < states);
        known.ok_or_else(|| {
            Failure::usage(format!(
                "--tokens contains \"{text}\": symbols are whole numbers from 0 to {}, \
                 separated by commas or spaces",
                states - 1
            ))
        })
    };
    let list = list.trim();
    let list = list.strip_prefix('[').unwrap_or(list);
    let list = list.strip_suffix(']').unwrap_or(list).trim();
    let separators = [',', ' ', '\t', '\n'];
    match list.contains(separators) {
        true => list.split(',').flat_map(words).map(symbol).collect(),
        // Without separators, as `sample` prints up to ten states: one digit per symbol.
        false if states <= 10 && !list.is_empty() => {
            let digits = list.char_indices();
            digits
                .map(|(at, c)| symbol(&list[at..at + c.len_utf8()]))
                .collect()
        }
        false => symbol(list).map(|only| vec![only]),
    }
}

/// The words between spaces. A blank text gives one empty word, which is then refused as a symbol.
fn words(text: &str) -> Vec<&str> {
    match text.trim().is_empty() {
        true => vec![""],
        false => text.split_whitespace().collect(),
    }
}

#[cfg(test)]
mod tests {
    use induct::model::ModelSpec;

    use super::*;

    fn model(states: usize) -> Model {
        Model::new(&ModelSpec::default(), states, 4).unwrap()
    }

    #[test]
    fn every_form_that_sample_prints_is_read() {
        for list in [
            "0,1,1,0",
            "0110",
            "0 1 1 0",
            " 0, 1,\n 1, 0 ",
            "[0, 1, 1, 0]",
        ] {
            assert_eq!(read(list, &model(2)).unwrap(), [0, 1, 1, 0], "{list}");
        }
        assert_eq!(read("0 11 3", &model(12)).unwrap(), [0, 11, 3]);
        for list in ["", "0,,1", "0,2", "x", "[]", "0 1 x"] {
            assert!(read(list, &model(2)).is_err(), "{list}");
        }
    }

    #[test]
    fn the_symbol_to_predict_is_left_out_of_a_whole_line() {
        assert_eq!(read_line("01101", &model(2)).unwrap(), [0, 1, 1, 0]);
        assert_eq!(read_line("011", &model(2)).unwrap(), [0, 1, 1]);
        assert!(read_line("011010", &model(2)).is_err());
        assert!(read("01101", &model(2)).is_err());
    }
}
