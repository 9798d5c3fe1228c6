//! From a TOML table to a recipe, along the types of a recipe.
//!
//! An error that comes up from below is given its value and, level by level, its path. A table with a `kind`
//! is an enum whose variant is the kind (see [`with_kind!`](crate::kind)).

use induct_kernels::KIND;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::{Table, Value};

use super::misfit::{Misfit, key_text, one_of};
use super::{Recipe, RecipeError};

/// Parses a recipe from a table.
pub(super) fn recipe_of(table: Table) -> Result<Recipe, RecipeError> {
    let mut table = Value::Table(table);
    let read = |table: &Value| Recipe::deserialize(Node(table));
    let misfit = match read(&table) {
        Ok(recipe) => return Ok(recipe),
        Err(misfit) => misfit,
    };
    // What a missing key takes is what the reader says about a value that none of them takes.
    let mut takes = None;
    if let Some((place, key)) = misfit.missing_in(&mut table) {
        place.insert(key.into(), Value::Boolean(true));
        takes = read(&table).err().and_then(Misfit::takes);
    }
    Err(misfit.in_words(takes))
}

/// A value to parse.
struct Node<'a>(&'a Value);

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            Value::Datetime(_) => Err(Misfit::custom("a recipe has no dates")),
            Value::Array(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Table(table) => visitor.visit_map(Entries::new(table.iter())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Array(items) if items.len() != length => {
                Err(Misfit::custom(format!("a list of {length}")))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        // Serde would accept a list of a struct's fields, in order. In a recipe that is a mistake.
        if self.0.is_table() {
            return self.deserialize_any(visitor);
        }
        let takes = format!("a table with the keys {}", keys.join(", "));
        Err(Misfit::custom(takes))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let variant = |kind, settings| visitor.visit_enum(Variant { kind, settings });
        let takes = one_of(variants);
        match self.0 {
            Value::String(kind) => variant(kind, None),
            Value::Table(table) if name == KIND => match table.get(KIND) {
                Some(Value::String(kind)) => variant(kind, Some(table)),
                Some(kind) => Err(Misfit::custom(takes).about(kind).within(KIND)),
                None => Err(Misfit::missing_field(KIND)),
            },
            _ if name == KIND => {
                let takes = format!("{takes}, or a table with one as its kind");
                Err(Misfit::custom(takes))
            }
            _ => Err(Misfit::custom(takes)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple_struct map identifier ignored_any
    }
}

/// The entries of a list.
struct Items<'a>(std::iter::Enumerate<std::slice::Iter<'a, Value>>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some((index, item)) = self.0.next() else {
            return Ok(None);
        };
        let found = seed.deserialize(Node(item)).map(Some);
        found.map_err(|misfit| misfit.about(item).within(&format!("[{index}]")))
    }
}

/// The entries of a table.
struct Entries<'a> {
    rest: std::vec::IntoIter<(&'a String, &'a Value)>,
    next: Option<(&'a String, &'a Value)>,
}

impl<'a> Entries<'a> {
    fn new(entries: impl Iterator<Item = (&'a String, &'a Value)>) -> Self {
        let entries: Vec<_> = entries.collect();
        Self {
            rest: entries.into_iter(),
            next: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        self.next = self.rest.next();
        let key = self.next.map(|(key, _)| key.as_str().into_deserializer());
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let (key, value) = self.next.expect("a key comes before its value");
        let found = seed.deserialize(Node(value));
        found.map_err(|misfit| misfit.about(value).within(&key_text(key)))
    }
}

/// A kind, by its name alone or in the table with its settings.
struct Variant<'a> {
    kind: &'a str,
    settings: Option<&'a Table>,
}

impl<'a> Variant<'a> {
    fn entries(&self) -> Entries<'a> {
        let entries = self.settings.into_iter().flatten();
        Entries::new(entries.filter(|(key, _)| *key != KIND))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Misfit;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Misfit> {
        match (
            seed.deserialize(StrDeserializer::new(self.kind)),
            self.settings,
        ) {
            (Err(misfit), Some(table)) => Err(Misfit::about(misfit, &table[KIND]).within(KIND)),
            (found, _) => Ok((found?, self)),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        let found = seed.deserialize(MapAccessDeserializer::new(self.entries()));
        found.map_err(|misfit| misfit.of_kind(self.kind))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_map(self.entries())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let found = visitor.visit_map(self.entries());
        found.map_err(|misfit| misfit.of_kind(self.kind))
    }
}
