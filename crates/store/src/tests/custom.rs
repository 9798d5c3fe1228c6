//! Runs with parts that another program added: the files alone are enough to read them.

use induct::measure::{Column, CustomMeasure, Measure, Observation, Of};
use induct::train::{Optimizer, OptimizerSpec, Update};
use tempfile::TempDir;

use super::{complete, recipe, train};
use crate::disk::Disk;
use crate::run_folder::RunFolder;
use crate::writer::How;

/// The largest parameter; no value at the start.
#[derive(Debug)]
struct Largest;

impl Measure for Largest {
    fn name(&self) -> &str {
        "largest"
    }

    fn meaning(&self) -> &str {
        "the largest parameter"
    }

    fn read(&self, seen: &Observation, _: &[Column], values: &mut [f64]) {
        if seen.step > 0 {
            let params = seen.params().iter().map(|&w| f64::from(w));
            values[0] = params.fold(f64::NEG_INFINITY, f64::max);
        }
    }
}

#[derive(Debug)]
struct SignDescent;

impl Optimizer for SignDescent {
    fn lr(&self) -> f64 {
        1e-3
    }

    fn update(&self, update: &Update, grads: &[f32], _: &mut [&mut [f32]], params: &mut [f32]) {
        for (w, g) in params.iter_mut().zip(grads) {
            *w -= update.lr as f32 * g.signum();
        }
    }
}

#[test]
fn what_others_measured_is_read_without_their_code() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run");
    let mut recipe = recipe(&[]);
    recipe.train.optimizer = OptimizerSpec::custom("sign-descent", SignDescent, &[]);
    let largest = CustomMeasure::new(Largest, &[]);
    recipe.record.custom_measures.push(largest);
    // In two sessions: the second resumes from the first one's records.
    train(Disk::default(), &path, &recipe, How::New, Some(5)).unwrap();
    complete(&path, &recipe, How::Resume).unwrap();

    let read = RunFolder::open(&path).unwrap();
    assert_eq!(*read.recipe(), recipe);
    let measure = &read.recipe().record.custom_measures[0];
    assert!(measure.part().is_err() && read.recipe().train.optimizer.part().is_err());
    let recording = read.recording().unwrap().unwrap();
    let column = Column::new(measure, Of::Run);
    let values = recording.history.column(column.clone()).unwrap();
    assert!(values[0].is_nan());
    let (_, params) = recording.snapshots.last().unwrap();
    let largest = params.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    assert_eq!(values.last(), Some(&f64::from(largest)));
    let summary = read.summary().unwrap().unwrap();
    let last = summary
        .last
        .iter()
        .find(|(name, _)| *name == column.to_string());
    assert_eq!(last.unwrap().1, Some(f64::from(largest)));
}
