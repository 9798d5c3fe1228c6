//! Where an intervention acts, and how places are named.

use std::fmt::{Display, Formatter};

use crate::Invalid;
use crate::model::block::Slot;
use crate::model::transformer::Transformer;

/// Where an intervention acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// What a source writes to the stream.
    Written {
        /// The source.
        by: Port,
        /// The only reader that sees the change; all readers if there is none.
        to: Option<Port>,
    },
    /// A head's attention pattern.
    Pattern {
        /// The layer, from 0 on.
        layer: usize,
        /// The head within its layer.
        head: usize,
    },
}

/// What writes to the residual stream (a source) or reads from it (a reader), by its name: `embed`,
/// `layers.0.heads.1`, `layers.1.keys`, `logits`. The MLP of a layer is a reader and a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The layer, from 0 on; none for embedding and logits.
    pub layer: Option<usize>,
    /// What its block calls it.
    pub part: &'static str,
    /// Which one, where a layer has several.
    pub index: Option<usize>,
}

impl Port {
    /// The embedding, with absolute positions where there are any.
    pub const EMBED: Self = Self {
        layer: None,
        part: "embed",
        index: None,
    };

    /// The output.
    pub const LOGITS: Self = Self {
        part: "logits",
        ..Self::EMBED
    };

    /// What a block of layer `layer` calls `part`.
    pub fn new(layer: usize, part: &'static str) -> Self {
        Self {
            layer: Some(layer),
            part,
            index: None,
        }
    }

    /// What a head writes.
    pub fn head(layer: usize, head: usize) -> Self {
        Self {
            index: Some(head),
            ..Self::new(layer, "heads")
        }
    }
}

impl Display for Port {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if let Some(layer) = self.layer {
            write!(f, "layers.{layer}.")?;
        }
        f.write_str(self.part)?;
        match self.index {
            Some(index) => write!(f, ".{index}"),
            None => Ok(()),
        }
    }
}

impl Display for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Site::Written { by, to: None } => write!(f, "{by}"),
            Site::Written { by, to: Some(to) } => write!(f, "{by} -> {to}"),
            Site::Pattern { layer, head } => write!(f, "layers.{layer}.heads.{head}.attn_pattern"),
        }
    }
}

/// A place as people name it, which may be several sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// What sources write: `embed`, `layers.0.heads.1`, `layers.0.head_out`, `layers.0.mlp_out`.
    Written,
    /// Patterns: `layers.0.attn_pattern`, `layers.0.heads.1.attn_pattern`; scores, where gradients stop alike.
    Patterns,
    /// The whole stream, as everything from there on reads it: `layers.1.resid_pre`.
    Stream,
}

impl Transformer {
    /// All sources, in the order in which they write.
    #[doc(hidden)]
    pub fn sources(&self) -> Vec<Port> {
        let of_blocks = self.slots.iter().flat_map(|slot| &slot.sources);
        [Port::EMBED].iter().chain(of_blocks).copied().collect()
    }

    /// All readers, in the order in which they read.
    #[doc(hidden)]
    pub fn readers(&self) -> Vec<Port> {
        self.readers_from(0)
    }

    /// The readers that come after a source.
    #[doc(hidden)]
    pub fn readers_of(&self, by: Port) -> Vec<Port> {
        let writes = |slot: &&Slot| slot.sources.contains(&by);
        let before = self.slots.iter().position(|slot| writes(&slot));
        self.readers_from(before.map_or(0, |slot| slot + 1))
    }

    fn readers_from(&self, slot: usize) -> Vec<Port> {
        let of_blocks = self.slots[slot..].iter().flat_map(|slot| &slot.readers);
        of_blocks.chain(&[Port::LOGITS]).copied().collect()
    }

    /// What each source writes, for all its readers and then for each of them; once, if there is only one.
    #[doc(hidden)]
    pub fn parts(&self) -> Vec<Site> {
        let mut parts = Vec::new();
        for by in self.sources() {
            parts.push(Site::Written { by, to: None });
            let readers = self.readers_of(by);
            if readers.len() > 1 {
                let path = |to| Site::Written { by, to: Some(to) };
                parts.extend(readers.into_iter().map(path));
            }
        }
        parts
    }

    /// The reader with that name.
    pub fn reader(&self, name: &str) -> Result<Port, Invalid> {
        let readers = self.readers();
        let found = readers.iter().find(|reader| reader.to_string() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<String> = readers.iter().map(Port::to_string).collect();
            let allowed = format!("what reads the stream: {}", names.join(", "));
            Invalid::new("to", format!("\"{name}\""), allowed)
        })
    }

    /// The sites that a name stands for, and what kind of place it is.
    pub fn sites(&self, name: &str) -> Result<(Place, Vec<Site>), Invalid> {
        let known = self.places();
        let found = known.iter().find(|(other, ..)| other == name);
        let (_, place, sites) = found.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, ..)| name.as_str()).collect();
            let allowed = format!("one of {}", names.join(", "));
            Invalid::new("at", format!("\"{name}\""), allowed)
        })?;
        Ok((*place, sites.clone()))
    }

    /// Every place with a name.
    fn places(&self) -> Vec<(String, Place, Vec<Site>)> {
        let written = |&by: &Port| Site::Written { by, to: None };
        let mut places = vec![("embed".into(), Place::Written, vec![written(&Port::EMBED)])];
        let mut put = |name: String, place, sites: Vec<Site>| places.push((name, place, sites));
        for layer in 0..self.layers.len() {
            let name = |last: &str| format!("layers.{layer}.{last}");
            put(name("resid_pre"), Place::Stream, self.stream_below(layer));
            for slot in &self.slots[self.layers[layer].slots.clone()] {
                let heads = 0..slot.heads();
                let pattern = |head| Site::Pattern { layer, head };
                let scores = ["attn_scores", "attn_pattern"];
                for scores in scores.into_iter().filter(|_| !heads.is_empty()) {
                    let all = heads.clone().map(pattern).collect();
                    put(name(scores), Place::Patterns, all);
                    for head in heads.clone() {
                        let own = format!("heads.{head}.{scores}");
                        put(name(&own), Place::Patterns, vec![pattern(head)]);
                    }
                }
                let all = slot.sources.iter().map(written).collect();
                put(slot.output_name(), Place::Written, all);
                for source in slot.sources.iter().filter(|_| !heads.is_empty()) {
                    put(source.to_string(), Place::Written, vec![written(source)]);
                }
            }
            put(
                name("resid_post"),
                Place::Stream,
                self.stream_below(layer + 1),
            );
        }
        places
    }

    /// What has been written below layer `l`, as everything from there on reads it.
    fn stream_below(&self, l: usize) -> Vec<Site> {
        if l == 0 {
            let by = Port::EMBED;
            return vec![Site::Written { by, to: None }];
        }
        let is_above = |port: &Port| port.layer.is_none_or(|layer| layer >= l);
        let is_below = |port: &Port| port.layer.is_none_or(|layer| layer < l);
        let readers: Vec<Port> = self.readers().into_iter().filter(is_above).collect();
        let sources = self.sources().into_iter().filter(is_below);
        let sites = sources.flat_map(|by| {
            let to = readers.clone().into_iter();
            to.map(move |reader| Site::Written {
                by,
                to: Some(reader),
            })
        });
        sites.collect()
    }
}
