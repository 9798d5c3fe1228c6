//! Train a model and plot how its loss falls from plateau to plateau.
//!
//!     cargo run --release -p induct-figure --example train_and_plot -- loss.svg

use std::error::Error;

use induct::catalogue::Setting;
use induct::measure::{KL_TRUTH, STEP};
use induct_figure::{Axis, Colour, Figure, Level, Mark, Panel, Plot, Region, Series};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or("loss.svg".into());
    let setting = Setting::named("main").expect("a setting of the catalogue");
    let recipe = setting.recipe(&["train.steps=2000".into()])?;
    let run = induct::run::train(&recipe)?;

    let column = |measure| run.history.column(measure).expect("every run records it");
    let (steps, losses) = (column(&STEP), column(&KL_TRUTH));
    let strategies = run.summary.strategies.iter();
    let hues = Colour::PALETTE.into_iter().cycle();
    let coloured: Vec<_> = strategies.zip(hues).collect();
    let levels = coloured.iter().filter_map(|((name, strategy), colour)| {
        Some(Level {
            y: strategy.kl_truth?,
            label: name.clone(),
            colour: *colour,
        })
    });
    let colour_of = |name: &str| {
        let found = coloured.iter().find(|((other, _), _)| other == name);
        found.map_or(Colour::Grey, |(_, colour)| *colour)
    };
    let regions = run.summary.phases.iter().map(|phase| Region {
        from: phase.onset as f64,
        to: phase.end as f64,
        label: phase.strategy.clone(),
        colour: colour_of(&phase.strategy),
    });
    let plot = Plot {
        x: Axis::linear("training step"),
        y: Axis::log("KL(truth ‖ model), nats"),
        regions: regions.collect(),
        levels: levels.collect(),
        series: vec![Series::new(
            "model",
            Colour::Ink,
            Mark::Line,
            steps.into_iter().zip(losses),
        )],
        ..Plot::default()
    };
    let figure = Figure {
        description: "The loss of the main setting, with the levels of strategies".into(),
        panels: vec![Panel::Plot(plot)],
        ..Figure::default()
    };
    std::fs::write(&path, figure.svg(720))?;
    for phase in &run.summary.phases {
        println!(
            "{} from step {} to {}",
            phase.strategy, phase.onset, phase.end
        );
    }
    println!("wrote {path}");
    Ok(())
}
