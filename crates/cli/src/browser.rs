//! Opening a file in the browser.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Programs that open a file as a double click does: on Linux, on macOS, and in Windows from its Linux.
pub const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// An opener that fails does so within this time. One that runs longer is the browser itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens a file with the first program that can; false if there is none.
pub fn open(path: &Path) -> bool {
    OPENERS.iter().any(|opener| opens(opener, path))
}

fn opens(opener: &str, path: &Path) -> bool {
    let child = Command::new(opener)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if started.elapsed() < PATIENCE => sleep(Duration::from_millis(10)),
            _ => return true,
        }
    }
}
