//! What commands find: one type per command, printed as text or as JSON.

use serde::{Serialize, Serializer};

/// What a command found. With `--json` it is printed as it is, which docs/files.md describes.
pub trait Report: Serialize {
    fn text(&self) -> String;
}

/// Serializes pairs as an object, in their order.
pub fn object<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
