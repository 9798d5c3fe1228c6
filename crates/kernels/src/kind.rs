//! Enums that a recipe writes as a table with a `kind`.

/// The key that says which variant a table is, and the name by which such an enum asks for one.
pub const KIND: &str = "kind";

/// Defines an enum that a recipe writes as a table: its `kind`, in kebab case, and the settings of that kind.
///
/// Only writing is derived as a tagged enum. Serde reads one of these from a buffer, so that no error would
/// know its position. Reading is derived as a plain enum, and only the reader of recipes, which shows it a table
/// as one, can read it.
#[macro_export]
macro_rules! with_kind {
    ($(#[$meta:meta])* pub enum $name:ident { $($variants:tt)* }) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum $name { $($variants)* }

        const _: () = {
            type Kinds = $name;

            #[allow(dead_code)]
            #[derive(serde::Deserialize)]
            #[serde(remote = "Kinds", rename = "kind", rename_all = "kebab-case", deny_unknown_fields)]
            enum Variants { $($variants)* }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Variants::deserialize(deserializer)
                }
            }
        };
    };
}
