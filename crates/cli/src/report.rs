//! Reports as JSON.

use serde::{Serialize, Serializer};

/// Serializes pairs as an object, in their order.
pub fn object<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
