//! The functions that a WebAssembly module exports: plain numbers in and out.
//!
//! A request is text, and may have attachments. Its sender asks for `room` and writes the text there, asks
//! for room with `attach` for every attachment, and calls `answer`. The answer is then where `text` and
//! `attached` point, until the next request. The module imports nothing: it cannot reach a clock, a file or
//! a network.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Answer, Lab};

/// All there is between two calls.
struct State {
    lab: Lab,
    request: Vec<u8>,
    attachments: Vec<Vec<u8>>,
    answer: Answer,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// The message of a panic, which ends the module: nothing else can be asked of it.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(use_it: impl FnOnce(&mut State) -> T) -> T {
    let mut state = locked(&STATE);
    use_it(state.get_or_insert_with(|| State {
        lab: Lab::default(),
        request: Vec::new(),
        attachments: Vec::new(),
        answer: Answer::default(),
    }))
}

/// Exported functions. Their names are part of the page: see `worker.js`.
#[expect(
    unsafe_code,
    reason = "an exported name could clash with another; these are all there are"
)]
mod exported {
    use super::{LAST_WORDS, locked, with};

    /// Call this first: it keeps the message of a panic.
    #[unsafe(no_mangle)]
    pub extern "C" fn start() {
        std::panic::set_hook(Box::new(|panic| *locked(&LAST_WORDS) = panic.to_string()));
    }

    /// Makes room for the text of a request, and returns where it is.
    #[unsafe(no_mangle)]
    pub extern "C" fn room(len: usize) -> *mut u8 {
        with(|state| {
            state.request = vec![0; len];
            state.attachments.clear();
            state.request.as_mut_ptr()
        })
    }

    /// Makes room for one more attachment of the request, and returns where it is.
    #[unsafe(no_mangle)]
    pub extern "C" fn attach(len: usize) -> *mut u8 {
        with(|state| {
            let mut room = vec![0; len];
            let start = room.as_mut_ptr();
            state.attachments.push(room);
            start
        })
    }

    /// Answers the request.
    #[unsafe(no_mangle)]
    pub extern "C" fn answer() {
        with(|state| {
            let request = std::mem::take(&mut state.request);
            let attachments = std::mem::take(&mut state.attachments);
            state.answer = state.lab.answer(&request, attachments);
        });
    }

    /// Where the text of the answer is.
    #[unsafe(no_mangle)]
    pub extern "C" fn text() -> *const u8 {
        with(|state| state.answer.text.as_ptr())
    }

    /// Its length in bytes.
    #[unsafe(no_mangle)]
    pub extern "C" fn text_len() -> usize {
        with(|state| state.answer.text.len())
    }

    /// Number of attachments of the answer.
    #[unsafe(no_mangle)]
    pub extern "C" fn attachments() -> usize {
        with(|state| state.answer.attachments.len())
    }

    /// Where one of them is.
    #[unsafe(no_mangle)]
    pub extern "C" fn attached(index: usize) -> *const u8 {
        with(|state| {
            let attached = state.answer.attachments.get(index);
            attached.map_or(std::ptr::null(), |bytes| bytes.as_ptr())
        })
    }

    /// Its length in bytes.
    #[unsafe(no_mangle)]
    pub extern "C" fn attached_len(index: usize) -> usize {
        with(|state| state.answer.attachments.get(index).map_or(0, Vec::len))
    }

    /// Where the message of a panic is.
    #[unsafe(no_mangle)]
    pub extern "C" fn last_words() -> *const u8 {
        locked(&LAST_WORDS).as_ptr()
    }

    /// Its length in bytes.
    #[unsafe(no_mangle)]
    pub extern "C" fn last_words_len() -> usize {
        locked(&LAST_WORDS).len()
    }
}
