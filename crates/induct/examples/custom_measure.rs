//! Two measures of one's own, recorded while a model learns Markov chains.
//!
//!     cargo run --release -p induct --example custom_measure

use induct::measure::{
    AttentionOn, Column, Context, CustomMeasure, KL_TRUTH, Measure, Observation, Of,
};
use induct::recipe::Recipe;

/// How much the second layer writes, relative to what it writes on.
#[derive(Debug)]
struct Written;

impl Measure for Written {
    fn name(&self) -> &str {
        "written"
    }

    fn meaning(&self) -> &str {
        "norm of what the second layer adds, relative to what it adds to, over 16 test sequences"
    }

    fn read(&self, seen: &Observation, _: &[Column], values: &mut [f64]) {
        let model = seen.model();
        let squares = |data: &[f32]| data.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        let (mut added, mut before) = (0.0, 0.0);
        for sequence in seen.test_sequences().take(16) {
            // Whatever a model computes has a name. One layer has no second one: no value.
            let Ok(run) = model.run(seen.params(), &sequence[..model.length()]) else {
                return;
            };
            let Ok(head_out) = run.get("layers.1.head_out") else {
                return;
            };
            let Ok(resid_pre) = run.get("layers.1.resid_pre") else {
                return;
            };
            added += squares(head_out.data());
            before += squares(resid_pre.data());
        }
        values[0] = (added / before).sqrt();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = ["task.length=50", "train.steps=1500", "record.every=125"];
    let mut recipe = Recipe::from_toml("", &settings.map(String::from))?;
    // A score of attention heads is a name and a target pattern: where is a position expected to look?
    let two_back = AttentionOn {
        name: "two_back".into(),
        meaning: "mean attention two positions back".into(),
        pattern: |context: &Context, j: usize| j + 2 == context.position(),
    };
    let two_back_of_first = Column::new(&two_back, Of::Head { layer: 0, head: 0 });
    recipe.record.custom_measures = vec![
        CustomMeasure::new(Written, &[]),
        CustomMeasure::new(two_back, &[]),
    ];

    let run = induct::run::train(&recipe)?;
    let column = |column: Column| run.history.column(column).expect("it was asked for");
    let (kl, written) = (
        column((&KL_TRUTH).into()),
        column(Column::new(&Written, Of::Run)),
    );
    let two_back = column(two_back_of_first);
    println!("step   kl_truth   written   layers.0.heads.0.two_back");
    for (row, step) in run.history.steps().iter().enumerate() {
        println!(
            "{step:4}   {:8.4}   {:7.3}   {:.3}",
            kl[row], written[row], two_back[row]
        );
    }
    Ok(())
}
