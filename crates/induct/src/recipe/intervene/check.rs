//! What is wrong with a recipe's interventions, before anything is trained.

use std::sync::Arc;

use induct_kernels::lanes::LANES;

use super::{InterveneSpec, Part, When};
use crate::model::{Intervention, Model, Tensor};
use crate::optimizer::{check_rate, names_something};
use crate::recipe::Recipe;
use crate::{Invalid, Within, require};

/// The largest number of interventions: they are compared with one another.
const MAX_INTERVENTIONS: usize = 1000;

/// More parameters than any model has that fits into memory.
const MOST_PARAMETERS: usize = 1 << 28;

impl Recipe {
    /// The strategies whose onsets interventions wait for, each once.
    pub fn awaited(&self) -> Vec<String> {
        let mut awaited: Vec<String> = Vec::new();
        for spec in &self.intervene {
            let (from, until) = spec.times();
            for when in [Some(from), until].into_iter().flatten() {
                if let When::Event(event) = when
                    && !awaited.contains(&event.at)
                {
                    awaited.push(event.at.clone());
                }
            }
        }
        awaited
    }

    /// An upper bound on the memory of one block's scratch buffers under any one of the interventions.
    pub(in crate::recipe) fn scratch_bytes(&self, model: &Model) -> f64 {
        // Nothing may be allocated for a model that is too large, which is refused for that.
        if model.layout().len() > MOST_PARAMETERS {
            return model.scratch_bytes();
        }
        let under = |spec: &InterveneSpec| {
            let changes = spec.interventions(model, stand_in(spec, model).as_ref());
            model.with(&changes.ok()?).ok()
        };
        let changed = self.intervene.iter().filter_map(under);
        let bytes = changed.map(|model| model.scratch_bytes());
        bytes.fold(model.scratch_bytes(), f64::max)
    }

    /// Checks all interventions, alone and together.
    pub(in crate::recipe) fn check_interventions(&self, model: &Model) -> Result<(), Invalid> {
        require(
            self.intervene.len() <= MAX_INTERVENTIONS,
            "intervene",
            format!("{} interventions", self.intervene.len()),
            &format!("at most {MAX_INTERVENTIONS}"),
        )?;
        let mut all: Vec<Vec<Intervention>> = Vec::new();
        for (index, spec) in self.intervene.iter().enumerate() {
            let place = format!("intervene[{index}]");
            let own = self.check_intervention(spec, model).within(&place)?;
            for (other, theirs) in self.intervene.iter().zip(&all) {
                if may_overlap(spec, other) {
                    check_together(model, (spec, &own), (other, theirs)).within(&place)?;
                }
            }
            all.push(own);
        }
        Ok(())
    }

    /// Checks one intervention, and returns what it changes.
    fn check_intervention(
        &self,
        spec: &InterveneSpec,
        model: &Model,
    ) -> Result<Vec<Intervention>, Invalid> {
        let (from, until) = spec.times();
        match spec.is_once() {
            true => from.check("step", self)?,
            false => {
                from.check("from", self)?;
                if let Some(until) = until {
                    self.check_until(from, until)?;
                }
            }
        }
        if let Some(group) = spec.group() {
            names_something(model.layout(), "group", group)?;
        }
        if let Some((key, weights)) = spec.weights() {
            weights.check(self).within(key)?;
        }
        match spec {
            InterveneSpec::Rate { lr, .. } => check_rate("lr", *lr)?,
            InterveneSpec::Transplant { fraction, .. } => require(
                (0.0..=1.0).contains(fraction),
                "fraction",
                fraction,
                "a number from 0 to 1",
            )?,
            InterveneSpec::Ablate {
                to: Some(to),
                part: Some(Part::Uniform),
                ..
            }
            | InterveneSpec::StopGradient {
                to: Some(to),
                part: Some(Part::Uniform),
                ..
            } => {
                let allowed = "unset: a part of a pattern has no readers of its own";
                return Err(Invalid::new("to", format!("\"{to}\""), allowed));
            }
            _ => {}
        }
        let own = spec.interventions(model, stand_in(spec, model).as_ref())?;
        let changed = model.with(&own)?;
        if changed.needs_batch() {
            let whole = |field: &str, count: usize| {
                let allowed = format!(
                    "a multiple of {LANES} with this intervention, so that every sequence has others beside it"
                );
                require(count.is_multiple_of(LANES), field, count, &allowed)
            };
            whole("train.batch", self.train.batch)?;
            whole("record.test_sequences", self.record.test_sequences)?;
        }
        Ok(own)
    }

    fn check_until(&self, from: &When, until: &When) -> Result<(), Invalid> {
        if let When::Event(event) = until {
            return event.check("until", self);
        }
        if let (Some(from), Some(until)) = (from.known(), until.known()) {
            let allowed = format!("a step after from = {from}");
            require(until > from, "until", until, &allowed)?;
        }
        Ok(())
    }
}

/// Weights of the right number, if an intervention takes any: they will do to see whether there is a place for them.
fn stand_in(spec: &InterveneSpec, model: &Model) -> Option<Arc<[f32]>> {
    let needed = model.layout().len();
    spec.weights().map(|_| vec![0.0; needed].into())
}

/// Whether two interventions may be in force at the same step, as far as it is known beforehand.
fn may_overlap(one: &InterveneSpec, other: &InterveneSpec) -> bool {
    let [(from, until), (other_from, other_until)] = [one.times(), other.times()];
    let known = |when: Option<&When>| when.and_then(When::known);
    if one.is_once() && other.is_once() {
        return match (from.known(), other_from.known()) {
            (Some(one), Some(other)) => one == other,
            _ => from == other_from,
        };
    }
    let ends_before = |until: Option<u64>, from: Option<u64>| matches!((until, from), (Some(until), Some(from)) if until <= from);
    !ends_before(known(until), other_from.known()) && !ends_before(known(other_until), from.known())
}

/// Refuses two interventions on one place.
fn check_together(
    model: &Model,
    (one, changes): (&InterveneSpec, &[Intervention]),
    (other, theirs): (&InterveneSpec, &[Intervention]),
) -> Result<(), Invalid> {
    model.with(&[theirs, changes].concat())?;
    let twice = match (one, other) {
        (InterveneSpec::Rate { .. }, InterveneSpec::Rate { .. }) => "one learning rate",
        _ if one.is_once() && other.is_once() => "one set of weights",
        _ => return Ok(()),
    };
    let (Some(group), Some(others)) = (one.group(), other.group()) else {
        return Ok(());
    };
    let both = |tensor: &&Tensor| tensor.is_in(group) && tensor.is_in(others);
    match model.layout().tensors().iter().find(both) {
        None => Ok(()),
        Some(tensor) => Err(Invalid::new(
            "group",
            format!("\"{group}\""),
            format!(
                "{twice} at a time: {} is also in \"{others}\", above",
                tensor.name
            ),
        )),
    }
}
