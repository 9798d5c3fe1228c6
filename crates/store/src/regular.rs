//! Reading files that may be anything: named by a user, or lying in a folder that came from elsewhere.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a regular file of at most `most` bytes. Anything else is refused before it is opened: a pipe may
/// never end, and a device may have no end.
///
/// # Errors
///
/// If it is not a regular file ([`ErrorKind::InvalidInput`]), too large ([`ErrorKind::FileTooLarge`]), or
/// cannot be read.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, about) = open_regular(path)?;
    let mut bytes = Vec::new();
    if about.len() <= most {
        bytes.try_reserve_exact(usize::try_from(about.len()).unwrap_or(usize::MAX))?;
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    match about.len().max(bytes.len() as u64) <= most {
        true => Ok(bytes),
        false => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than the {most} bytes that such a file may have"),
        )),
    }
}

/// Reads at most the first `most` bytes of a regular file.
pub fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.0.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let check = |about: &Metadata| match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file",
        )),
    };
    // Opening a pipe would wait for its writer.
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    // Another file may have taken its place, and this one may grow while it is read.
    let about = file.metadata()?;
    check(&about)?;
    Ok((file, about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_regular(&path, 100).unwrap(), [7; 100]);
        let refused = read_regular(&path, 99).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        // Nothing is allocated for a file that only claims to be large.
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let refused = read_regular(&path, 99).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_start(&path, 3).unwrap(), [7; 3]);
        let missing = read_regular(&folder.path().join("none"), 99).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let not_a_file = read_regular(folder.path(), 99).unwrap_err();
        assert_eq!(not_a_file.kind(), ErrorKind::InvalidInput);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_at_once_behind_links_too() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [&pipe, Path::new("/dev/zero"), &link] {
            let refused = read_regular(path, 99).unwrap_err();
            assert_eq!(
                refused.kind(),
                ErrorKind::InvalidInput,
                "{}",
                path.display()
            );
        }
    }
}
