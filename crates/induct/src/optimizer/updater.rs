//! An optimiser in use, and parameters with their own settings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Decay, MAX_MOMENTS, Optimizer, OptimizerSpec, Update, check_rate};
use crate::model::Tensor;
use crate::{Invalid, Within};
use induct_kernels::model::Layout;

/// Separate settings for some of the parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// Which: a tensor (`layers.0.v`), a part of the model (`layers.1`, `unembed`) or a kind (`W_K`).
    pub name: String,
    /// Learning rate that replaces the optimiser's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr: Option<f64>,
    /// Weight decay that replaces the optimiser's, for matrices and everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f64>,
}

impl GroupSpec {
    pub(super) fn check(&self, layout: &Layout) -> Result<(), Invalid> {
        names_something(layout, "name", &self.name)?;
        check_rate("lr", self.lr.unwrap_or(0.0))?;
        check_rate("weight_decay", self.weight_decay.unwrap_or(0.0))
    }
}

/// Whether `group` names any tensor at all.
pub(crate) fn names_something(layout: &Layout, field: &str, group: &str) -> Result<(), Invalid> {
    if layout.in_group(group).next().is_some() {
        return Ok(());
    }
    let names: Vec<&str> = layout
        .tensors()
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    let allowed = format!(
        "all, or a tensor or a part of its name, out of: {}",
        names.join(", ")
    );
    Err(Invalid::new(field, format!("\"{group}\""), allowed))
}

/// An optimiser in use: its settings by tensor, and its moments.
#[derive(Clone, Debug)]
pub struct Updater {
    optimizer: Arc<dyn Optimizer>,
    slots: Vec<Slot>,
    /// One vector per moment, each as long as the parameters.
    moments: Vec<Vec<f32>>,
}

/// Settings of one tensor.
#[derive(Clone, Debug)]
struct Slot {
    tensor: Tensor,
    /// Its learning rate by the recipe, and the one in force.
    own_lr: f64,
    lr: f64,
    weight_decay: f64,
    /// Whether it stays where it is.
    frozen: bool,
    /// Updates so far: frozen steps do not count.
    updates: u64,
}

impl Updater {
    /// Checks all settings against the parameters. The optimiser itself may be
    /// missing: see [`OptimizerSpec::part`].
    ///
    /// # Errors
    ///
    /// If a rate is impossible, or a group matches no parameters.
    pub fn check(
        spec: &OptimizerSpec,
        groups: &[GroupSpec],
        layout: &Layout,
    ) -> Result<(), Invalid> {
        spec.check().within("optimizer")?;
        for (index, group) in groups.iter().enumerate() {
            group.check(layout).within(&format!("groups[{index}]"))?;
        }
        Ok(())
    }

    /// An optimiser with zero moments for the given parameters.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), or if the optimiser itself is missing.
    pub fn new(
        spec: &OptimizerSpec,
        groups: &[GroupSpec],
        layout: &Layout,
    ) -> Result<Self, Invalid> {
        Self::check(spec, groups, layout)?;
        let optimizer = spec.part().within("optimizer")?;
        let slot = |tensor: &Tensor| {
            let mut slot = Slot {
                tensor: tensor.clone(),
                own_lr: 0.0,
                lr: optimizer.lr(),
                weight_decay: if tensor.decays || optimizer.decay() == Decay::All {
                    optimizer.weight_decay()
                } else {
                    0.0
                },
                frozen: false,
                updates: 0,
            };
            for group in groups.iter().filter(|group| tensor.is_in(&group.name)) {
                slot.lr = group.lr.unwrap_or(slot.lr);
                slot.weight_decay = group.weight_decay.unwrap_or(slot.weight_decay);
            }
            slot.own_lr = slot.lr;
            slot
        };
        Ok(Self {
            slots: layout.tensors().iter().map(slot).collect(),
            moments: vec![vec![0.0; layout.len()]; optimizer.moments()],
            optimizer,
        })
    }

    /// Freezes every tensor that `frozen` names, and gives those that `rate` names a learning rate of their own.
    pub(crate) fn turn(
        &mut self,
        frozen: impl Fn(&Tensor) -> bool,
        rate: impl Fn(&Tensor) -> Option<f64>,
    ) {
        for slot in &mut self.slots {
            slot.frozen = frozen(&slot.tensor);
            slot.lr = rate(&slot.tensor).unwrap_or(slot.own_lr);
        }
    }

    /// Forgets all about a tensor's earlier updates.
    pub(crate) fn start_anew(&mut self, tensor: &Tensor) {
        for slot in self.slots.iter_mut().filter(|slot| slot.tensor == *tensor) {
            slot.updates = 0;
            for moment in &mut self.moments {
                moment[tensor.range.clone()].fill(0.0);
            }
        }
    }

    /// The Euclidean norm of the gradient of all parameters that are not frozen.
    pub(crate) fn norm(&self, grads: &[f32]) -> f64 {
        let moving = self.slots.iter().filter(|slot| !slot.frozen);
        let entries = moving.flat_map(|slot| &grads[slot.tensor.range.clone()]);
        let squares = entries.map(|&g| f64::from(g) * f64::from(g));
        squares.sum::<f64>().sqrt()
    }

    /// Updates the parameters, with learning rates times `factor`.
    pub fn update(&mut self, factor: f64, grads: &[f32], params: &mut [f32]) {
        for slot in &mut self.slots {
            if slot.frozen {
                continue;
            }
            slot.updates += 1;
            let update = Update {
                tensor: &slot.tensor,
                lr: slot.lr * factor,
                weight_decay: slot.weight_decay,
                updates: slot.updates,
            };
            let range = &slot.tensor.range;
            let count = self.moments.len();
            // On the stack, because a step must not allocate.
            let mut moments: [&mut [f32]; MAX_MOMENTS] = Default::default();
            for (own, all) in moments.iter_mut().zip(&mut self.moments) {
                *own = &mut all[range.clone()];
            }
            let (grads, params) = (&grads[range.clone()], &mut params[range.clone()]);
            self.optimizer
                .update(&update, grads, &mut moments[..count], params);
        }
    }

    /// The moments, for saving.
    pub fn moments(&self) -> &[Vec<f32>] {
        &self.moments
    }

    /// Restores saved moments, after as many updates of each tensor as `updates` says. Returns false if they do
    /// not fit.
    pub fn restore(&mut self, moments: Vec<Vec<f32>>, updates: impl Fn(&Tensor) -> u64) -> bool {
        let lengths = |moments: &[Vec<f32>]| moments.iter().map(Vec::len).collect::<Vec<_>>();
        if lengths(&moments) != lengths(&self.moments) {
            return false;
        }
        self.moments = moments;
        for slot in &mut self.slots {
            slot.updates = updates(&slot.tensor);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sgd;
    use super::*;
    use crate::model::{Model, ModelSpec};

    fn layout() -> Layout {
        Model::new(&ModelSpec::default(), 2, 5)
            .unwrap()
            .layout()
            .clone()
    }

    fn run(spec: &OptimizerSpec, groups: &[GroupSpec], frozen: u64, steps: u64) -> Vec<f32> {
        let layout = layout();
        let mut updater = Updater::new(spec, groups, &layout).unwrap();
        let mut params = vec![0.5; layout.len()];
        for step in 0..steps {
            updater.turn(|tensor| tensor.is_in("layers.1") && step < frozen, |_| None);
            // The gradient of ½ (w − 2)², so that it changes from step to step.
            let grads: Vec<f32> = params.iter().map(|w| w - 2.0).collect();
            updater.update(1.0, &grads, &mut params);
        }
        params
    }

    fn value(params: &[f32], name: &str) -> f32 {
        params[layout().tensor(name).unwrap().range.start]
    }

    fn sgd(weight_decay: f64) -> OptimizerSpec {
        OptimizerSpec::Sgd(Sgd {
            lr: 0.1,
            momentum: 0.0,
            weight_decay,
            decay: Decay::Matrices,
        })
    }

    #[test]
    fn groups_have_their_own_rates() {
        let group = GroupSpec {
            name: "layers.0.v".into(),
            lr: Some(0.2),
            weight_decay: Some(1.0),
        };
        let params = run(&sgd(0.0), &[group], 0, 1);
        assert_eq!(value(&params, "layers.1.v"), 0.5 + 0.1 * 1.5);
        assert_eq!(value(&params, "layers.0.v"), 0.5 + 0.2 * (1.5 - 0.5));
    }

    #[test]
    fn only_matrices_decay() {
        let params = run(&sgd(1.0), &[], 0, 1);
        assert_eq!(value(&params, "layers.0.v"), 0.5 + 0.1 * 1.5);
        assert_eq!(value(&params, "layers.0.W_Q"), 0.5 + 0.1 * (1.5 - 0.5));
    }

    #[test]
    fn everything_decays_if_it_is_to() {
        let OptimizerSpec::Sgd(sgd) = sgd(1.0) else {
            unreachable!()
        };
        let decay = Decay::All;
        let group = GroupSpec {
            name: "layers.1.v".into(),
            lr: None,
            weight_decay: Some(0.0),
        };
        let params = run(&OptimizerSpec::Sgd(Sgd { decay, ..sgd }), &[group], 0, 1);
        assert_eq!(value(&params, "layers.0.v"), 0.5 + 0.1 * (1.5 - 0.5));
        assert_eq!(value(&params, "embed.E"), 0.5 + 0.1 * (1.5 - 0.5));
        assert_eq!(value(&params, "layers.1.v"), 0.5 + 0.1 * 1.5);
    }

    #[test]
    fn frozen_parameters_stay_and_restart_as_new() {
        let spec = OptimizerSpec::default();
        let frozen = run(&spec, &[], 4, 4);
        assert_eq!(value(&frozen, "layers.1.v"), 0.5);
        // After the thaw, the first update equals the first update of a run.
        let thawed = run(&spec, &[], 4, 5);
        assert_eq!(
            value(&thawed, "layers.1.v"),
            value(&run(&spec, &[], 0, 1), "layers.1.v")
        );
    }

    #[test]
    fn rates_come_and_go() {
        let layout = layout();
        let mut updater = Updater::new(&sgd(0.0), &[], &layout).unwrap();
        let mut params = vec![0.5; layout.len()];
        let grads = vec![-1.0; layout.len()];
        let own = |tensor: &Tensor| tensor.is_in("layers.0.v").then_some(0.3);
        updater.turn(|_| false, own);
        updater.update(1.0, &grads, &mut params);
        assert_eq!(
            (value(&params, "layers.0.v"), value(&params, "layers.1.v")),
            (0.8, 0.6)
        );
        updater.turn(|_| false, |_| None);
        updater.update(1.0, &grads, &mut params);
        assert_eq!(value(&params, "layers.0.v"), 0.8 + 0.1);
    }
}
