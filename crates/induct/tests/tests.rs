//! The library as its users call it: one executable, because linking dozens is what makes a check slow.

/// A run that is interrupted and resumed, beside one that is not.
mod interrupted;

// The promise that everything else rests on.
mod bytes;

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
mod custom;

// The paper's theory.
mod golden;
mod theory;

// The bits of results.
mod numerics;
