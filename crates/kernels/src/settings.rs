//! Settings that describe themselves: what a recipe takes is declared once, and every front end reads it here.

use serde::Serialize;

/// One key of a recipe's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The key.
    pub key: &'static str,
    /// What it means, in a sentence or two.
    pub meaning: String,
    /// What it takes.
    pub takes: Takes,
    /// Its default, as TOML; none if it has to be set, or something else decides while it is unset.
    pub default: Option<String>,
}

/// What a setting takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Takes {
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// One of a few words.
    Choice(Vec<Choice>),
    /// Anything else, as TOML.
    Toml,
}

/// A word that a setting takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub meaning: String,
}

/// A kind of thing with its settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kind {
    /// Its name in recipes.
    pub kind: &'static str,
    /// What it is.
    pub meaning: String,
    /// Its settings.
    pub settings: Vec<Setting>,
}

/// A table of settings.
pub trait Settings {
    /// What they are settings of.
    fn meaning() -> String;

    /// All of them, in order.
    fn settings() -> Vec<Setting>;

    /// The same under the name that it has as a kind.
    fn kind(kind: &'static str) -> Kind {
        Kind {
            kind,
            meaning: Self::meaning(),
            settings: Self::settings(),
        }
    }
}

/// The value of a setting.
pub trait Value {
    /// What it is written as.
    fn takes() -> Takes {
        Takes::Toml
    }

    /// It as TOML; none if it is unset.
    fn text(&self) -> Option<String> {
        None
    }
}

/// Values that TOML writes as Rust does.
macro_rules! values {
    ($($type:ty = $takes:ident,)*) => { $(
        impl Value for $type {
            fn takes() -> Takes {
                Takes::$takes
            }

            fn text(&self) -> Option<String> {
                Some(format!("{self:?}"))
            }
        }
    )* };
}

values! {
    usize = Count,
    u64 = Count,
    f64 = Number,
    bool = Flag,
}

impl Value for [f64; 2] {
    fn text(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
}

impl<T: Value> Value for Option<T> {
    fn takes() -> Takes {
        T::takes()
    }

    fn text(&self) -> Option<String> {
        self.as_ref()?.text()
    }
}

/// A list; none if it is empty.
impl<T> Value for Vec<T> {}

/// The lines of a doc comment as text.
pub fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ").trim().to_owned()
}

/// Defines a struct whose fields are settings, with their defaults and, in their documentation, their meaning.
///
/// A field without a default has to be set. One under `#[when(f)]` is written to a recipe only if `f` holds of the
/// whole: settings that came later are written only where they matter, so that recipes without them keep their
/// text, and runs their identity.
#[macro_export]
macro_rules! settings {
    (@default $name:ident { $($field:ident = $default:expr,)* }) => {
        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }
    };
    (@default $name:ident { $($some_without:tt)* }) => {};

    (@unset $field:ident = $default:expr) => { $default };
    (@unset $field:ident) => {
        return Err(serde::de::Error::missing_field(stringify!($field)))
    };

    ($(#[doc = $about:literal])+ pub struct $name:ident { $(
        $(#[doc = $meaning:literal])+ $(#[when($when:expr)])? pub $field:ident: $type:ty $(= $default:expr)?,
    )* }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $( $(#[doc = $meaning])+ pub $field: $type, )* }

        $crate::settings!(@default $name { $( $field $(= $default)?, )* });

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Given { $( $field: Option<$type>, )* }
                #[allow(unused_variables, reason = "there may be no field")]
                let given = Given::deserialize(deserializer)?;
                Ok(Self { $( $field: match given.$field {
                    Some(value) => value,
                    None => $crate::settings!(@unset $field $(= $default)?),
                }, )* })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                #[allow(unused_mut, reason = "there may be no field")]
                let mut map = serializer.serialize_map(None)?;
                $( if true $( && { let when: fn(&Self) -> bool = $when; when(self) } )? {
                    map.serialize_entry(stringify!($field), &self.$field)?;
                } )*
                map.end()
            }
        }

        impl $crate::settings::Settings for $name {
            fn meaning() -> String {
                $crate::settings::joined(&[$($about),+])
            }

            fn settings() -> Vec<$crate::settings::Setting> {
                vec![ $( $crate::settings::Setting {
                    key: stringify!($field),
                    meaning: $crate::settings::joined(&[$($meaning),+]),
                    takes: <$type as $crate::settings::Value>::takes(),
                    default: None $( .or({
                        let default: $type = $default;
                        $crate::settings::Value::text(&default)
                    }) )?,
                }, )* ]
            }
        }
    };
}

/// Defines an enum whose variants are words of a recipe. The first one is the default.
#[macro_export]
macro_rules! choices {
    ($(#[doc = $about:literal])+ pub enum $name:ident {
        $(#[doc = $first_meaning:literal])+ $first:ident = $first_word:literal,
        $( $(#[doc = $meaning:literal])+ $variant:ident = $word:literal, )*
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(#[doc = $first_meaning])+
            #[default]
            #[serde(rename = $first_word)]
            $first,
            $( $(#[doc = $meaning])+ #[serde(rename = $word)] $variant, )*
        }

        impl $crate::settings::Value for $name {
            fn takes() -> $crate::settings::Takes {
                let choice = |name, lines: &[&str]| $crate::settings::Choice {
                    name,
                    meaning: $crate::settings::joined(lines),
                };
                $crate::settings::Takes::Choice(vec![
                    choice($first_word, &[$($first_meaning),+]),
                    $( choice($word, &[$($meaning),+]), )*
                ])
            }

            fn text(&self) -> Option<String> {
                let word = match self {
                    Self::$first => $first_word,
                    $( Self::$variant => $word, )*
                };
                Some(format!("\"{word}\""))
            }
        }
    };
}
