//! An optimiser in use.

use std::sync::Arc;

use super::groups::frozen_steps;
use super::{FreezeSpec, GroupSpec, MAX_MOMENTS, Optimizer, OptimizerSpec, Update};
use crate::invalid::Invalid;
use crate::model::{Layout, Tensor};

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
    lr: f64,
    weight_decay: f64,
    freezes: Vec<FreezeSpec>,
    /// Updates so far: frozen steps do not count.
    updates: u64,
}

impl Updater {
    /// Checks all settings against the parameters. The optimiser itself may be
    /// missing: see [`OptimizerSpec::part`].
    ///
    /// # Errors
    ///
    /// If a rate is impossible, or a group or freeze matches no parameters.
    pub fn check(
        spec: &OptimizerSpec,
        groups: &[GroupSpec],
        freezes: &[FreezeSpec],
        layout: &Layout,
    ) -> Result<(), Invalid> {
        spec.check()
            .map_err(|invalid| invalid.within("optimizer"))?;
        for (index, group) in groups.iter().enumerate() {
            let within = |invalid: Invalid| invalid.within(&format!("groups[{index}]"));
            group.check(layout).map_err(within)?;
        }
        for (index, freeze) in freezes.iter().enumerate() {
            let within = |invalid: Invalid| invalid.within(&format!("freeze[{index}]"));
            freeze.check(layout).map_err(within)?;
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
        freezes: &[FreezeSpec],
        layout: &Layout,
    ) -> Result<Self, Invalid> {
        Self::check(spec, groups, freezes, layout)?;
        let optimizer = spec.part().map_err(|invalid| invalid.within("optimizer"))?;
        let slot = |tensor: &Tensor| {
            let own = freezes.iter().filter(|freeze| tensor.is_in(&freeze.group));
            let mut slot = Slot {
                tensor: tensor.clone(),
                lr: optimizer.lr(),
                weight_decay: if tensor.decays {
                    optimizer.weight_decay()
                } else {
                    0.0
                },
                freezes: own.cloned().collect(),
                updates: 0,
            };
            for group in groups.iter().filter(|group| tensor.is_in(&group.name)) {
                slot.lr = group.lr.unwrap_or(slot.lr);
                slot.weight_decay = group.weight_decay.unwrap_or(slot.weight_decay);
            }
            slot
        };
        Ok(Self {
            slots: layout.tensors().iter().map(slot).collect(),
            moments: vec![vec![0.0; layout.len()]; optimizer.moments()],
            optimizer,
        })
    }

    /// Updates the parameters for step number `step`, with learning rates times `factor`.
    pub fn update(&mut self, step: u64, factor: f64, grads: &[f32], params: &mut [f32]) {
        for slot in &mut self.slots {
            if slot.freezes.iter().any(|freeze| freeze.covers(step)) {
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

    /// Restores saved moments after `step` steps. Returns false if they do not fit.
    pub fn restore(&mut self, step: u64, moments: Vec<Vec<f32>>) -> bool {
        let lengths = |moments: &[Vec<f32>]| moments.iter().map(Vec::len).collect::<Vec<_>>();
        if lengths(&moments) != lengths(&self.moments) {
            return false;
        }
        self.moments = moments;
        for slot in &mut self.slots {
            slot.updates = step - frozen_steps(&slot.freezes, step);
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

    fn run(
        spec: &OptimizerSpec,
        groups: &[GroupSpec],
        freezes: &[FreezeSpec],
        steps: u64,
    ) -> Vec<f32> {
        let layout = layout();
        let mut updater = Updater::new(spec, groups, freezes, &layout).unwrap();
        let mut params = vec![0.5; layout.len()];
        for step in 0..steps {
            // The gradient of ½ (w − 2)², so that it changes from step to step.
            let grads: Vec<f32> = params.iter().map(|w| w - 2.0).collect();
            updater.update(step, 1.0, &grads, &mut params);
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
        })
    }

    #[test]
    fn groups_have_their_own_rates() {
        let group = GroupSpec {
            name: "layers.0.v".into(),
            lr: Some(0.2),
            weight_decay: Some(1.0),
        };
        let params = run(&sgd(0.0), &[group], &[], 1);
        assert_eq!(value(&params, "layers.1.v"), 0.5 + 0.1 * 1.5);
        assert_eq!(value(&params, "layers.0.v"), 0.5 + 0.2 * (1.5 - 0.5));
    }

    #[test]
    fn only_matrices_decay() {
        let params = run(&sgd(1.0), &[], &[], 1);
        assert_eq!(value(&params, "layers.0.v"), 0.5 + 0.1 * 1.5);
        assert_eq!(value(&params, "layers.0.W_Q"), 0.5 + 0.1 * (1.5 - 0.5));
    }

    #[test]
    fn frozen_parameters_stay_and_restart_as_new() {
        let spec = OptimizerSpec::default();
        let freeze = FreezeSpec {
            group: "layers.1".into(),
            from: 0,
            until: Some(4),
        };
        let frozen = run(&spec, &[], std::slice::from_ref(&freeze), 4);
        assert_eq!(value(&frozen, "layers.1.v"), 0.5);
        // After the thaw, the first update equals the first update of a run.
        let thawed = run(&spec, &[], &[freeze], 5);
        assert_eq!(
            value(&thawed, "layers.1.v"),
            value(&run(&spec, &[], &[], 1), "layers.1.v")
        );
    }

    #[test]
    fn unknown_groups_list_the_known_ones() {
        let group = GroupSpec {
            name: "layer.0".into(),
            lr: None,
            weight_decay: None,
        };
        let error = Updater::new(&OptimizerSpec::default(), &[group], &[], &layout()).unwrap_err();
        assert_eq!(error.field, "groups[0].name");
        assert!(error.allowed.contains("layers.0.W_Q"));
    }
}
