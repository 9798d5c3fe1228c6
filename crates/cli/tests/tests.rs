//! The program as a user runs it: one executable, because linking dozens is what makes a check slow.

/// Calls the program and reads what it says.
mod program;

// Runs and what is done with them.
mod ablate;
mod attention;
mod commands;
mod custom;
mod lab;
mod plot;
mod runs;

// Studies.
mod reproduce;
mod theory;

// What the documentation quotes.
mod docs;

// Many runs.
mod cluster;
mod sweeps;
