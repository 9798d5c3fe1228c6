//! Digests: short names for long data, which tell stale data from current.

use sha2::{Digest, Sha256};

/// The first half of SHA-256, as 32 hexadecimal digits.
pub fn hex(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let digest = hasher.finalize();
    digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The digest of a model's weights, in the order of its layout.
pub fn weights(weights: &[f32]) -> String {
    let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
    hex(&[&bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_sha_256() {
        // Python: hashlib.sha256(b"abc").hexdigest()[:32]
        let expected = "ba7816bf8f01cfea414140de5dae2223";
        assert_eq!(hex(&[b"abc"]), expected);
        assert_eq!(hex(&[b"a", b"bc"]), expected);
        // Python: hashlib.sha256(struct.pack("<2f", 1.0, -0.5)).hexdigest()[:32]
        assert_eq!(
            weights(&[1.0, -0.5]),
            hex(&[&[0, 0, 128, 63, 0, 0, 0, 191]])
        );
    }
}
