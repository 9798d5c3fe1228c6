//! What the parts of a model are worth: how much worse it predicts without one.

use super::{Estimate, Moments, TestSet};
use crate::model::{InputError, Instead, Intervention, Model, Site};

/// A model on a test set, to be compared with itself under one more intervention.
///
/// ```
/// use induct::model::Instead;
/// use induct::probe::{Whole, fresh};
/// use induct::recipe::Recipe;
///
/// let recipe = Recipe::default();
/// let model = recipe.model()?;
/// let set = fresh(&recipe, 64)?;
/// let params = model.start(0);
/// let whole = Whole::new(&model, &params, &set)?;
/// for part in model.parts() {
///     let worth = whole.worth(part, Instead::Zero)?.expect("nothing is there already");
///     assert!(worth.mean.abs() < 0.1, "an untrained model has little to lose");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Whole<'a> {
    model: &'a Model,
    params: &'a [f32],
    set: &'a TestSet,
    /// KL(truth ‖ model) at the last position of every sequence.
    kl: Vec<f64>,
}

impl<'a> Whole<'a> {
    /// Measures the model as it is.
    pub fn new(model: &'a Model, params: &'a [f32], set: &'a TestSet) -> Result<Self, InputError> {
        let kl = set.kl_by_sequence(model, params)?;
        Ok(Self {
            model,
            params,
            set,
            kl,
        })
    }

    /// KL(truth ‖ model) of the model as it is.
    pub fn kl(&self) -> Estimate {
        Moments::from_iter(self.kl.iter().copied()).estimate()
    }

    /// How much higher KL(truth ‖ model) is with something else at a site, compared sequence by sequence. `None` if
    /// the model has no such site, or another intervention holds it already.
    pub fn worth(&self, site: Site, instead: Instead) -> Result<Option<Estimate>, InputError> {
        let mut all = self.model.interventions().to_vec();
        all.push(Intervention { site, instead });
        let Ok(without) = self.model.with(&all) else {
            return Ok(None);
        };
        let kl = self.set.kl_by_sequence(&without, self.params)?;
        let worse = kl
            .iter()
            .zip(&self.kl)
            .map(|(without, with)| without - with);
        Ok(Some(Moments::from_iter(worse).estimate()))
    }
}
