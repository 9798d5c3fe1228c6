//! From a TOML table to a recipe, with errors that can be told apart.
//!
//! The TOML crate reports a mismatch as a sentence about Rust types. Here it stays data ([`Misfit`]), so that
//! [`recipe_mistake`](super::recipe_mistake) can report it in terms of the recipe.

use std::fmt::{Display, Formatter};

use serde::Deserialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;

use super::recipe::Recipe;

/// Why a table does not match the type of a recipe. The position is not known here: settings with a `kind`
/// are buffered before they are parsed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Misfit {
    /// Another type or value is expected, named as its Rust type names itself.
    Expected(String),
    /// A list has too many or too few entries: how many it has, and what is expected.
    Length(usize, String),
    /// A name that is not among the allowed ones.
    NotOneOf(&'static [&'static str]),
    /// An unknown key, and the keys that exist.
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    /// A required key that is missing.
    MissingKey(&'static str),
    /// The type's own sentence on what it expects.
    Other(String),
}

/// Parses a recipe from a table.
pub(super) fn recipe_of(table: &Value) -> Result<Recipe, Misfit> {
    Recipe::deserialize(Node(table))
}

impl Display for Misfit {
    // Never shown: serde's traits require it.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Misfit {}

impl Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Misfit::Other(message.to_string())
    }

    fn invalid_type(_: Unexpected, expected: &dyn Expected) -> Self {
        Misfit::Expected(expected.to_string())
    }

    fn invalid_value(_: Unexpected, expected: &dyn Expected) -> Self {
        Misfit::Expected(expected.to_string())
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Misfit::Length(length, expected.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Misfit::NotOneOf(expected)
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Misfit::UnknownKey {
            key: key.to_owned(),
            known,
        }
    }

    fn missing_field(key: &'static str) -> Self {
        Misfit::MissingKey(key)
    }
}

/// A value to parse.
#[derive(Clone, Copy)]
struct Node<'a>(&'a Value);

impl Node<'_> {
    fn unexpected(&self) -> Unexpected<'_> {
        match self.0 {
            Value::String(text) => Unexpected::Str(text),
            Value::Integer(number) => Unexpected::Signed(*number),
            Value::Float(number) => Unexpected::Float(*number),
            Value::Boolean(truth) => Unexpected::Bool(*truth),
            Value::Datetime(_) => Unexpected::Other("a date"),
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        }
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            Value::Datetime(_) => Err(Misfit::invalid_type(self.unexpected(), &visitor)),
            Value::Array(items) => {
                let mut entries = SeqDeserializer::new(items.iter().map(Node));
                let value = visitor.visit_seq(&mut entries)?;
                entries.end()?;
                Ok(value)
            }
            Value::Table(table) => {
                let entries = table.iter().map(|(key, value)| (key.as_str(), Node(value)));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        // Serde would accept a list of a struct's fields, in order. In a recipe that is a mistake.
        match self.0 {
            Value::Table(_) => self.deserialize_any(visitor),
            _ => Err(Misfit::invalid_type(self.unexpected(), &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.as_str().into_deserializer()),
            _ => Err(Misfit::invalid_type(self.unexpected(), &visitor)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Misfit> for Node<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
