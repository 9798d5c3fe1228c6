//! Checksums stored inside the files they protect.
//!
//! A sealed file has `sha256:` and 32 hexadecimal digits near its beginning: the digest of the whole file
//! with zeros in their place. So a comment, a JSON string and the metadata of tensors can all carry it.

use induct::internal::digest;

const MARK: &str = "sha256:";
const DIGITS: usize = 32;

/// The placeholder for a file's checksum.
pub fn blank() -> String {
    format!("{MARK}{}", "0".repeat(DIGITS))
}

fn place(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let mark = MARK.as_bytes();
    let found = bytes.windows(mark.len()).position(|part| part == mark)?;
    let start = found + mark.len();
    (start + DIGITS <= bytes.len()).then_some(start..start + DIGITS)
}

fn checksum(bytes: &[u8], place: &std::ops::Range<usize>) -> String {
    let zeros = [b'0'; DIGITS];
    digest::hex(&[&bytes[..place.start], &zeros, &bytes[place.end..]])
}

/// Fills in the checksum.
///
/// # Panics
///
/// If the file has no [`blank`] placeholder.
pub fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let place = place(&bytes).expect("a place for the checksum");
    let checksum = checksum(&bytes, &place);
    bytes[place].copy_from_slice(checksum.as_bytes());
    bytes
}

/// Whether a file is what was sealed; if not, what is wrong with it.
pub fn verify(bytes: &[u8]) -> Result<(), &'static str> {
    let Some(place) = place(bytes) else {
        return Err(match bytes.is_empty() {
            true => "it is empty",
            false => "it has no checksum: it was truncated, or not written by Induct",
        });
    };
    match bytes[place.clone()] == *checksum(bytes, &place).as_bytes() {
        true => Ok(()),
        false => Err("its checksum does not match its contents"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_and_any_lost_byte_breaks_the_seal() {
        let sealed = seal(format!("# {}\nsteps = 100\n", blank()).into_bytes());
        assert_eq!(verify(&sealed), Ok(()));
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut damaged = sealed.clone();
                damaged[at] ^= 1 << bit;
                assert!(verify(&damaged).is_err(), "byte {at}, bit {bit}");
            }
            assert!(verify(&sealed[..at]).is_err(), "cut at {at}");
        }
    }
}
