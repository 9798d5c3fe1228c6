//! Optimisers over the flat vector of parameters: SGD with momentum, and AdamW.

use serde::{Deserialize, Serialize};

use crate::invalid::{Invalid, require};
use crate::model::Layout;

/// An optimiser, as a recipe writes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OptimizerSpec {
    /// m ← μ m + (g + λ w);  w ← w − lr · m
    Sgd {
        /// Learning rate.
        lr: f64,
        /// μ.
        #[serde(default)]
        momentum: f64,
        /// λ, on matrices.
        #[serde(default)]
        weight_decay: f64,
    },
    /// Adam with decoupled weight decay:
    /// m ← β₁ m + (1−β₁) g;  s ← β₂ s + (1−β₂) g²;
    /// w ← w − lr · (λ w + m̂ / (√ŝ + ε)), where m̂ = m / (1−β₁ⁿ), ŝ = s / (1−β₂ⁿ) after n steps
    Adamw {
        /// Learning rate.
        #[serde(default = "default_lr")]
        lr: f64,
        /// β₁, β₂.
        #[serde(default = "default_betas")]
        betas: [f64; 2],
        /// ε.
        #[serde(default = "default_epsilon")]
        epsilon: f64,
        /// λ, on matrices.
        #[serde(default = "default_weight_decay")]
        weight_decay: f64,
    },
}

fn default_lr() -> f64 {
    1e-3
}

fn default_betas() -> [f64; 2] {
    [0.9, 0.95]
}

fn default_epsilon() -> f64 {
    1e-8
}

fn default_weight_decay() -> f64 {
    0.1
}

impl Default for OptimizerSpec {
    fn default() -> Self {
        OptimizerSpec::Adamw {
            lr: default_lr(),
            betas: default_betas(),
            epsilon: default_epsilon(),
            weight_decay: default_weight_decay(),
        }
    }
}

/// Settings of their own for some of the parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// Which: a tensor (`layers.0.v`), a part of the model (`layers.1`, `unembed`) or a kind (`W_K`).
    pub name: String,
    /// Learning rate instead of the optimiser's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr: Option<f64>,
    /// Weight decay instead of the optimiser's, matrix or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f64>,
}

/// Steps during which some of the parameters do not move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreezeSpec {
    /// Which parameters, named as in [`GroupSpec::name`].
    pub group: String,
    /// First frozen step.
    #[serde(default)]
    pub from: u64,
    /// First step that is free again; never, if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

impl FreezeSpec {
    fn covers(&self, step: u64) -> bool {
        self.from <= step && self.until.is_none_or(|until| step < until)
    }
}

/// An optimiser at work: its settings tensor by tensor, and its moments.
#[derive(Clone, Debug)]
pub struct Optimizer {
    spec: OptimizerSpec,
    slots: Vec<Slot>,
    /// First and (AdamW) second moments, as long as the parameters.
    moments: Vec<Vec<f32>>,
}

/// Settings of one tensor.
#[derive(Clone, Debug)]
struct Slot {
    range: std::ops::Range<usize>,
    lr: f64,
    weight_decay: f64,
    freezes: Vec<FreezeSpec>,
    /// Updates so far: frozen steps do not count.
    updates: u64,
}

impl OptimizerSpec {
    /// The base learning rate.
    pub fn lr(&self) -> f64 {
        match *self {
            OptimizerSpec::Sgd { lr, .. } | OptimizerSpec::Adamw { lr, .. } => lr,
        }
    }

    fn weight_decay(&self) -> f64 {
        match *self {
            OptimizerSpec::Sgd { weight_decay, .. } | OptimizerSpec::Adamw { weight_decay, .. } => {
                weight_decay
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_rate("lr", self.lr())?;
        check_rate("weight_decay", self.weight_decay())?;
        let fraction = |field: &str, value: f64| {
            let allowed = "a number of at least 0, below 1";
            require((0.0..1.0).contains(&value), field, value, allowed)
        };
        match *self {
            OptimizerSpec::Sgd { momentum, .. } => fraction("momentum", momentum),
            OptimizerSpec::Adamw { betas, epsilon, .. } => {
                fraction("betas[0]", betas[0])?;
                fraction("betas[1]", betas[1])?;
                require(
                    (1e-30..=1.0).contains(&epsilon),
                    "epsilon",
                    epsilon,
                    "a number above 0 (from 1e-30 to 1)",
                )
            }
        }
    }
}

fn check_rate(field: &str, value: f64) -> Result<(), Invalid> {
    require(
        (0.0..=1e30).contains(&value),
        field,
        value,
        "a number of at least 0 (at most 1e30)",
    )
}

impl Optimizer {
    /// An optimiser with zero moments for the given parameters.
    pub fn new(
        spec: &OptimizerSpec,
        groups: &[GroupSpec],
        freezes: &[FreezeSpec],
        layout: &Layout,
    ) -> Result<Self, Invalid> {
        spec.check()
            .map_err(|invalid| invalid.within("optimizer"))?;
        for (index, group) in groups.iter().enumerate() {
            let within = |invalid: Invalid| invalid.within(&format!("groups[{index}]"));
            names_something(layout, "name", &group.name).map_err(within)?;
            for (field, value) in [("lr", group.lr), ("weight_decay", group.weight_decay)] {
                check_rate(field, value.unwrap_or(0.0)).map_err(within)?;
            }
        }
        for (index, freeze) in freezes.iter().enumerate() {
            let within = |invalid: Invalid| invalid.within(&format!("freeze[{index}]"));
            names_something(layout, "group", &freeze.group).map_err(within)?;
            let until = freeze.until.unwrap_or(u64::MAX);
            let allowed = format!("a step after from = {}", freeze.from);
            require(until > freeze.from, "until", until, &allowed).map_err(within)?;
        }
        let slots = layout
            .tensors()
            .iter()
            .map(|tensor| {
                let mut slot = Slot {
                    range: tensor.range.clone(),
                    lr: spec.lr(),
                    weight_decay: if tensor.decays {
                        spec.weight_decay()
                    } else {
                        0.0
                    },
                    freezes: freezes
                        .iter()
                        .filter(|freeze| tensor.is_in(&freeze.group))
                        .cloned()
                        .collect(),
                    updates: 0,
                };
                for group in groups.iter().filter(|group| tensor.is_in(&group.name)) {
                    slot.lr = group.lr.unwrap_or(slot.lr);
                    slot.weight_decay = group.weight_decay.unwrap_or(slot.weight_decay);
                }
                slot
            })
            .collect();
        let count = match spec {
            OptimizerSpec::Sgd { .. } => 1,
            OptimizerSpec::Adamw { .. } => 2,
        };
        Ok(Self {
            spec: *spec,
            slots,
            moments: vec![vec![0.0; layout.len()]; count],
        })
    }

    /// Moves the parameters by one step: step number `step`, with learning rates times `factor`.
    pub fn update(&mut self, step: u64, factor: f64, grads: &[f32], params: &mut [f32]) {
        for slot in &mut self.slots {
            if slot.freezes.iter().any(|freeze| freeze.covers(step)) {
                continue;
            }
            slot.updates += 1;
            let lr = (slot.lr * factor) as f32;
            let decay = slot.weight_decay as f32;
            let range = slot.range.clone();
            let (w, g) = (&mut params[range.clone()], &grads[range.clone()]);
            match self.spec {
                OptimizerSpec::Sgd { momentum, .. } => {
                    let mu = momentum as f32;
                    let m = &mut self.moments[0][range];
                    for ((w, &g), m) in w.iter_mut().zip(g).zip(m) {
                        *m = mu * *m + (g + decay * *w);
                        *w -= lr * *m;
                    }
                }
                OptimizerSpec::Adamw { betas, epsilon, .. } => {
                    let [beta_1, beta_2] = betas.map(|beta| beta as f32);
                    let correction = betas.map(|beta| 1.0 - libm::pow(beta, slot.updates as f64));
                    let step_size = (slot.lr * factor / correction[0]) as f32;
                    let root = (1.0 / correction[1].sqrt()) as f32;
                    let epsilon = epsilon as f32;
                    let (first, second) = self.moments.split_at_mut(1);
                    let (m, s) = (&mut first[0][range.clone()], &mut second[0][range]);
                    for (((w, &g), m), s) in w.iter_mut().zip(g).zip(m).zip(s) {
                        *m = beta_1 * *m + (1.0 - beta_1) * g;
                        *s = beta_2 * *s + (1.0 - beta_2) * g * g;
                        *w -= lr * decay * *w + step_size * *m / (s.sqrt() * root + epsilon);
                    }
                }
            }
        }
    }

    /// The moments, to be saved.
    pub fn moments(&self) -> &[Vec<f32>] {
        &self.moments
    }

    /// Takes up saved moments after `step` steps. False if they do not fit.
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

/// How many of the first `steps` steps are covered by any of `freezes`.
fn frozen_steps(freezes: &[FreezeSpec], steps: u64) -> u64 {
    let mut stretches: Vec<(u64, u64)> = freezes
        .iter()
        .map(|freeze| (freeze.from, freeze.until.unwrap_or(u64::MAX).min(steps)))
        .collect();
    stretches.sort_unstable();
    let (mut frozen, mut counted_to) = (0, 0);
    for (from, until) in stretches {
        frozen += until.saturating_sub(from.max(counted_to));
        counted_to = counted_to.max(until);
    }
    frozen
}

/// Whether `group` names any tensor at all.
fn names_something(layout: &Layout, field: &str, group: &str) -> Result<(), Invalid> {
    if layout.tensors().iter().any(|tensor| tensor.is_in(group)) {
        return Ok(());
    }
    let names: Vec<&str> = layout
        .tensors()
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    let allowed = format!(
        "a tensor or a part of its name, out of: {}",
        names.join(", ")
    );
    Err(Invalid::new(field, format!("\"{group}\""), allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, ModelSpec};

    #[test]
    fn frozen_steps_are_counted_once() {
        let freeze = |from, until| FreezeSpec {
            group: "embed".into(),
            from,
            until,
        };
        let freezes = [
            freeze(5, Some(8)),
            freeze(0, Some(2)),
            freeze(6, Some(10)),
            freeze(90, None),
        ];
        for steps in [0, 1, 2, 6, 9, 10, 50, 89, 90, 100] {
            let covered = |step: &u64| freezes.iter().any(|freeze| freeze.covers(*step));
            let one_by_one = (0..steps).filter(covered).count() as u64;
            assert_eq!(frozen_steps(&freezes, steps), one_by_one, "{steps}");
        }
        assert_eq!(frozen_steps(&freezes, u64::MAX), 7 + (u64::MAX - 90));
    }

    fn layout() -> Layout {
        Model::new(&ModelSpec::default(), 2, 5)
            .unwrap()
            .layout()
            .clone()
    }

    fn run(
        spec: OptimizerSpec,
        groups: &[GroupSpec],
        freezes: &[FreezeSpec],
        steps: u64,
    ) -> Vec<f32> {
        let layout = layout();
        let mut optimizer = Optimizer::new(&spec, groups, freezes, &layout).unwrap();
        let mut params = vec![0.5; layout.len()];
        for step in 0..steps {
            // The gradient of ½ (w − 2)², so that it changes from step to step.
            let grads: Vec<f32> = params.iter().map(|w| w - 2.0).collect();
            optimizer.update(step, 1.0, &grads, &mut params);
        }
        params
    }

    fn value(params: &[f32], name: &str) -> f32 {
        params[layout().tensor(name).unwrap().range.start]
    }

    #[test]
    fn adamw_follows_pytorch() {
        let spec = OptimizerSpec::Adamw {
            lr: 0.1,
            betas: [0.9, 0.95],
            epsilon: 1e-8,
            weight_decay: 0.1,
        };
        let params = run(spec, &[], &[], 3);
        // From golden/optimizers.py: the same three steps in f64 by PyTorch's documented algorithm.
        assert!((value(&params, "layers.0.W_Q") - ADAMW_DECAYED).abs() < 1e-6);
        assert!((value(&params, "layers.0.v") - ADAMW_PLAIN).abs() < 1e-6);
    }

    #[test]
    fn sgd_follows_pytorch() {
        let spec = OptimizerSpec::Sgd {
            lr: 0.1,
            momentum: 0.9,
            weight_decay: 0.1,
        };
        let params = run(spec, &[], &[], 3);
        assert!((value(&params, "layers.0.W_Q") - SGD_DECAYED).abs() < 1e-6);
        assert!((value(&params, "layers.0.v") - SGD_PLAIN).abs() < 1e-6);
    }

    const ADAMW_DECAYED: f32 = 0.781_626_8;
    const ADAMW_PLAIN: f32 = 0.799_420_8;
    const SGD_DECAYED: f32 = 1.238_644_5;
    const SGD_PLAIN: f32 = 1.271;

    #[test]
    fn groups_have_their_own_rates() {
        let spec = OptimizerSpec::Sgd {
            lr: 0.1,
            momentum: 0.0,
            weight_decay: 0.0,
        };
        let group = GroupSpec {
            name: "layers.0.v".into(),
            lr: Some(0.2),
            weight_decay: Some(1.0),
        };
        let params = run(spec, &[group], &[], 1);
        assert_eq!(value(&params, "layers.1.v"), 0.5 + 0.1 * 1.5);
        assert_eq!(value(&params, "layers.0.v"), 0.5 + 0.2 * (1.5 - 0.5));
    }

    #[test]
    fn frozen_parameters_stay_and_restart_as_new() {
        let spec = OptimizerSpec::default();
        let freeze = FreezeSpec {
            group: "layers.1".into(),
            from: 0,
            until: Some(4),
        };
        assert_eq!(
            value(
                &run(spec, &[], std::slice::from_ref(&freeze), 4),
                "layers.1.v"
            ),
            0.5
        );
        // After the thaw the first update is the first update of a run.
        let thawed = run(spec, &[], &[freeze], 5);
        assert_eq!(
            value(&thawed, "layers.1.v"),
            value(&run(spec, &[], &[], 1), "layers.1.v")
        );
    }

    #[test]
    fn unknown_groups_list_the_known_ones() {
        let group = GroupSpec {
            name: "layer.0".into(),
            lr: None,
            weight_decay: None,
        };
        let error =
            Optimizer::new(&OptimizerSpec::default(), &[group], &[], &layout()).unwrap_err();
        assert_eq!(error.field, "groups[0].name");
        assert!(error.allowed.contains("layers.0.W_Q"));
    }
}
