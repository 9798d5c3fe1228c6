//! Two measures of one's own, recorded while a model learns Markov chains.
//!
//!     cargo run --release --example custom_measure

use std::sync::Arc;

use induct::measure::{
    AttentionOn, Column, Context, CustomMeasure, KL_TRUTH, Measure, Observation, Of,
};
use induct::probe::Instruments;
use induct::run::Recorder;
use induct::train::Recipe;

/// How far the parameters are from where training started.
#[derive(Debug)]
struct Distance {
    start: Vec<f32>,
}

impl Measure for Distance {
    fn name(&self) -> &str {
        "distance"
    }

    fn meaning(&self) -> &str {
        "Euclidean distance of the parameters from their start"
    }

    fn read(&self, seen: &Observation, _: &[Column], values: &mut [f64]) {
        let moved = seen.params().iter().zip(&self.start);
        let squares = moved.map(|(now, start)| f64::from(now - start).powi(2));
        values[0] = squares.sum::<f64>().sqrt();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = [
        "task.states=3",
        "task.length=50",
        "train.steps=1200",
        "record.every=100",
    ];
    let mut recipe = Recipe::from_toml("", &settings.map(String::from))?;
    let distance = Distance {
        start: recipe.model()?.start(recipe.seeds.init),
    };
    // A score of attention heads is a name and a target pattern: where is position i expected to look?
    let two_back = AttentionOn {
        name: "two_back".into(),
        meaning: "mean attention two positions back".into(),
        pattern: |context: &Context, j: usize| j + 2 == context.position(),
    };
    recipe.record.custom_measures = vec![
        CustomMeasure::new(distance, &[]),
        CustomMeasure::new(two_back, &[]),
    ];

    let instruments = Arc::new(Instruments::new(&recipe)?);
    let run = Recorder::record(&recipe, instruments)?;
    let [distance, two_back] = &recipe.record.custom_measures[..] else {
        unreachable!("they are two")
    };
    let head = Of::Head { layer: 0, head: 0 };
    let column = |column: Column| run.history.column(column).expect("it was asked for");
    let (kl, distance) = (
        column((&KL_TRUTH).into()),
        column(Column::new(distance, Of::Run)),
    );
    let two_back = column(Column::new(two_back, head));
    println!("step   kl_truth   distance   layers.0.heads.0.two_back");
    for (row, step) in run.history.steps().iter().enumerate() {
        println!(
            "{step:4}   {:8.4}   {:8.3}   {:.3}",
            kl[row], distance[row], two_back[row]
        );
    }
    Ok(())
}
