//! The library as WebAssembly, for `check.mjs`: short runs whose results can be compared to the bit, and
//! training steps to be timed by whoever has a clock.
//!
//! Text leaves the module in its memory: a function that makes some leaves it where `text` points.

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

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn text_len() -> usize {
    TEXT.lock().unwrap().len()
}

/// To be called first: lets a panic leave its message as the text, as there is nowhere else to put it.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| *TEXT.lock().unwrap() = panic.to_string()));
}

/// How many settings there are.
#[unsafe(no_mangle)]
pub extern "C" fn settings() -> usize {
    SETTINGS.len()
}

/// Leaves which results these are as the text.
#[unsafe(no_mangle)]
pub extern "C" fn head() {
    *TEXT.lock().unwrap() = short_runs::head();
}

/// Trains a setting for a few steps and leaves what it gave as the text.
#[unsafe(no_mangle)]
pub extern "C" fn run(setting: usize) {
    let lines = short_runs::lines(&SETTINGS[setting]);
    *TEXT.lock().unwrap() = lines;
}

/// Does steps of the main setting, from where the last call stopped; returns the loss before the last of
/// them.
#[unsafe(no_mangle)]
pub extern "C" fn advance(steps: u32) -> f64 {
    let mut slot = TRAINER.lock().unwrap();
    let trainer = slot.get_or_insert_with(|| {
        let main = Setting::named("main").unwrap();
        Trainer::new(&main.recipe(&[]).unwrap()).unwrap()
    });
    (0..steps).fold(f64::NAN, |_, _| trainer.advance().unwrap())
}
