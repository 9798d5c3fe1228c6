//! Optimisers from outside the crate.

use induct::train::{
    Diverged, Optimizer, OptimizerSpec, Recipe, TrainError, Trainer, Update, no_snapshots,
};

/// SGD with momentum, written independently.
#[derive(Debug)]
struct OwnSgd {
    lr: f64,
    momentum: f64,
    weight_decay: f64,
}

impl Optimizer for OwnSgd {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn moments(&self) -> usize {
        1
    }

    fn update(
        &self,
        update: &Update,
        grads: &[f32],
        moments: &mut [&mut [f32]],
        params: &mut [f32],
    ) {
        for i in 0..params.len() {
            let slope = grads[i] + update.weight_decay as f32 * params[i];
            moments[0][i] = self.momentum as f32 * moments[0][i] + slope;
            params[i] -= update.lr as f32 * moments[0][i];
        }
    }
}

fn own_sgd() -> OptimizerSpec {
    let own = OwnSgd {
        lr: 0.05,
        momentum: 0.9,
        weight_decay: 0.01,
    };
    OptimizerSpec::custom("own-sgd", own, &[("momentum", 0.9)])
}

fn recipe() -> Recipe {
    let overrides = [
        "task.length=12",
        "train.steps=40",
        "train.schedule={kind=\"warmup\", steps=10}",
        "train.optimizer={kind=\"sgd\", lr=0.05, momentum=0.9, weight_decay=0.01}",
        "train.groups=[{name=\"layers.0\", lr=0.02}]",
        "intervene=[{kind=\"freeze\", group=\"unembed\", from=3, until=8}]",
    ];
    Recipe::from_toml("", &overrides.map(String::from)).unwrap()
}

#[test]
fn a_copy_of_a_built_in_one_gives_its_bytes_and_resumes() {
    let built_in = recipe();
    let mut own = recipe();
    own.train.optimizer = own_sgd();
    let mut expected = Trainer::new(&built_in).unwrap();
    let mut found = Trainer::new(&own).unwrap();
    for step in 0..40 {
        if step == 20 {
            found = Trainer::resumed(&own, found.state(), &[], &no_snapshots)
                .unwrap()
                .unwrap();
        }
        assert_eq!(found.advance(), expected.advance());
        assert_eq!(found.state(), expected.state(), "step {step}");
    }
}

#[test]
fn memory_is_counted_by_its_moments() {
    let mut own = recipe();
    let built_in = own.memory().unwrap();
    own.train.optimizer = own_sgd();
    assert_eq!(own.memory().unwrap(), built_in);
}

#[test]
fn a_recipe_read_from_text_says_whose_optimiser_is_missing() {
    let mut own = recipe();
    own.train.optimizer = own_sgd();
    let read = Recipe::from_toml(&own.to_toml(), &[]).unwrap();
    assert_eq!(read, own);
    let Err(refused) = Trainer::new(&read) else {
        panic!("an optimiser without its code was accepted")
    };
    assert_eq!(refused.field, "train.optimizer.name");
    assert_eq!(refused.value, "\"own-sgd\"");
    let state = Trainer::new(&own).unwrap().state();
    assert_eq!(
        Trainer::resumed(&read, state, &[], &no_snapshots).err(),
        Some(refused)
    );
}

#[test]
fn settings_tell_runs_apart_and_are_checked() {
    let mut own = recipe();
    own.train.optimizer = own_sgd();
    let text = own.to_toml();
    assert!(text.contains("momentum = 0.9"), "{text}");
    let rate = |lr| OwnSgd {
        lr,
        momentum: 0.9,
        weight_decay: 0.0,
    };
    own.train.optimizer = OptimizerSpec::custom("own-sgd", rate(0.1), &[]);
    assert_ne!(own.to_toml(), text);
    for (spec, field) in [
        (OptimizerSpec::custom("own-sgd", rate(-1.0), &[]), "lr"),
        (OptimizerSpec::custom("", rate(1.0), &[]), "name"),
        (
            OptimizerSpec::custom("own-sgd", rate(1.0), &[("momentum", f64::NAN)]),
            "settings.momentum",
        ),
    ] {
        own.train.optimizer = spec;
        let refused = own.check().unwrap_err();
        assert_eq!(refused.field, format!("train.optimizer.{field}"));
    }
}

/// Destroys the parameters at its third update.
#[derive(Debug)]
struct Breaks;

impl Optimizer for Breaks {
    fn lr(&self) -> f64 {
        0.0
    }

    fn update(&self, update: &Update, _: &[f32], _: &mut [&mut [f32]], params: &mut [f32]) {
        if update.updates == 3 {
            params.fill(f32::NAN);
        }
    }
}

#[test]
fn parameters_that_are_no_numbers_end_the_run() {
    let mut recipe = recipe();
    recipe.intervene.clear();
    recipe.train.optimizer = OptimizerSpec::custom("breaks", Breaks, &[]);
    let mut trainer = Trainer::new(&recipe).unwrap();
    let diverged = (0..40).find_map(|_| trainer.advance().err()).unwrap();
    assert!(
        matches!(diverged, TrainError::Diverged(Diverged { step: 3, .. })),
        "{diverged}"
    );
}
