//! The library as its users call it: one executable, because linking dozens is what makes a check slow.

/// A run that is broken off and resumed, beside one that is not.
mod interrupted;

// Chains and strategies.
mod chain;
mod strategy;

// Recipes, training and what it records.
mod events;
mod interventions;
mod probe;
mod recipe;
mod training;
mod watching;

// Parts from outside the crate.
mod custom_measures;
mod custom_optimizers;
mod custom_parts;

// The paper's theory.
mod golden;
mod theory;

// The bits of results.
mod numerics;
