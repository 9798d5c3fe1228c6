//! The library as WebAssembly, for `check.mjs`: short runs whose results can be compared to the bit, and
//! training steps for the caller to time.
//!
//! Text stays in the module's memory: a function that produces some leaves it where `text` points.

use std::sync::Mutex;

use induct::catalogue::{SETTINGS, Setting};
use induct::train::Trainer;

#[path = "../../short_runs/lines.rs"]
mod short_runs;

static TEXT: Mutex<String> = Mutex::new(String::new());
static TRAINER: Mutex<Option<Trainer>> = Mutex::new(None);

/// Where the last text is.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.lock().unwrap().as_ptr()
}

/// Length of the last text in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn text_len() -> usize {
    TEXT.lock().unwrap().len()
}

/// Call this first: it makes a panic leave its message as the text, since there is nowhere else to put it.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| *TEXT.lock().unwrap() = panic.to_string()));
}

/// Number of settings.
#[unsafe(no_mangle)]
pub extern "C" fn settings() -> usize {
    SETTINGS.len()
}

/// Makes the description of these results the text.
#[unsafe(no_mangle)]
pub extern "C" fn head() {
    *TEXT.lock().unwrap() = short_runs::head();
}

/// Trains a setting for a few steps and makes its results the text.
#[unsafe(no_mangle)]
pub extern "C" fn run(setting: usize) {
    let lines = short_runs::lines(&SETTINGS[setting]);
    *TEXT.lock().unwrap() = lines;
}

/// Runs steps of the main setting, from where the last call stopped; returns
/// the loss before the last of them.
#[unsafe(no_mangle)]
pub extern "C" fn advance(steps: u32) -> f64 {
    let mut slot = TRAINER.lock().unwrap();
    let trainer = slot.get_or_insert_with(|| {
        let main = Setting::named("main").unwrap();
        Trainer::new(&main.recipe(&[]).unwrap()).unwrap()
    });
    (0..steps).fold(f64::NAN, |_, _| trainer.advance().unwrap())
}
