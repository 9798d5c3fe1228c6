//! How much the model's direct paths copy symbols: what a symbol adds to its own logit.

use super::matching::diagonal_means;
use super::{ANY, BuiltIn, Reading};
use crate::model::{Model, circuits};

measures! {
    /// How much a head copies the symbols that it attends to.
    ///
    /// It is the mean of O_cc minus the mean of all other entries of O = E W_V W_O P, the direct path of a symbol
    /// through the head's values to the logits. [`circuits::copying_scores`] says what counts of layer norms.
    COPY_STRENGTH: "copy_strength" in "", ANY,
        "what a symbol that the head attends to adds to its own logit, minus what it adds to another one: \
         mean on minus mean off the diagonal of E W_V W_O P",
        Circuit(|seen, layer, head| Some(*seen.copying().get(layer)?.get(head)?));

    /// How much the stream carries the current symbol to the output, past all layers.
    EMBED_COPY_STRENGTH: "embed.copy_strength" in "", ANY,
        "what the current symbol adds to its own logit past all layers, minus what it adds to another \
         one: mean on minus mean off the diagonal of E P",
        Run(|seen| {
            let direct = circuits::direct_scores(seen.model(), seen.params())?;
            let (on, off) = diagonal_means(&direct);
            Some(on - off)
        });
}

/// The copy strength of every head, by layer; empty for the minimal model.
pub(super) fn copying(model: &Model, params: &[f32]) -> Vec<Vec<f64>> {
    let strength = |scores: &_| {
        let (on, off) = diagonal_means(scores);
        on - off
    };
    let layers = circuits::copying_scores(model, params);
    let layers = layers.iter();
    layers
        .map(|heads| heads.iter().map(strength).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Measure, Observation};
    use crate::model::{ModelSpec, TransformerSpec};

    /// The copy strengths of two heads and of the embedding, in a model of one layer and width 2 whose weights
    /// are zero but for `tensors`.
    fn strengths(layer_norm: bool, tensors: &[(&str, &[f32])]) -> [f64; 3] {
        let settings = format!("layers = 1\nheads = 2\nwidth = 2\nlayer_norm = {layer_norm}");
        let spec: TransformerSpec = toml::from_str(&settings).unwrap();
        let model = Model::new(&ModelSpec::Transformer(spec), 2, 5).unwrap();
        let mut params = vec![0.0; model.layout().len()];
        for (name, values) in tensors {
            let place = model.layout().tensor(name).unwrap().range.clone();
            params[place].copy_from_slice(values);
        }
        let seen = Observation::new(&model, &params, &[]);
        let heads = [0, 1].map(|head| COPY_STRENGTH.of_head(0, head));
        let mut found = [0.0; 3];
        COPY_STRENGTH.read(&seen, &heads, &mut found[..2]);
        EMBED_COPY_STRENGTH.read(&seen, &[(&EMBED_COPY_STRENGTH).into()], &mut found[2..]);
        found
    }

    const ONE: &[f32] = &[1.0, 0.0, 0.0, 1.0];

    #[test]
    fn strengths_are_those_of_matrices_by_hand() {
        let tensors = [
            ("embed.E", ONE),
            ("layers.0.W_V", ONE),
            ("layers.0.W_O", &[1.0, 2.0, 3.0, 5.0]),
            ("unembed.P", ONE),
        ];
        // Head 0 carries symbol 0 to (1, 2) and symbol 1 nowhere; head 1 carries symbol 1 to (3, 5).
        assert_eq!(strengths(false, &tensors), [-0.5, 1.0, 1.0]);
    }

    /// Of the last norm, centring and gain count, and neither its division nor its bias.
    #[test]
    fn the_last_norm_centres_and_stretches() {
        let tensors = [
            ("embed.E", &[4.0, 0.0, 0.0, 4.0][..]),
            ("final_norm.gain", &[1.0, 3.0]),
            ("final_norm.bias", &[7.0, 9.0]),
            ("unembed.P", ONE),
        ];
        // Rows (4, 0) and (0, 4) become (2, −6) and (−2, 6).
        assert_eq!(strengths(true, &tensors), [0.0, 0.0, 8.0]);
    }
}
