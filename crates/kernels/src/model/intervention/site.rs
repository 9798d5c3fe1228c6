//! Where an intervention acts, and how places are named.

use std::fmt::{Display, Formatter};

use crate::Invalid;
use crate::model::transformer::Transformer;

/// Where an intervention acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// What a source writes to the stream.
    Written {
        /// The source.
        by: Source,
        /// The only reader that sees the change; all readers if there is none.
        to: Option<Reader>,
    },
    /// A head's attention pattern.
    Pattern {
        /// The layer, from 0 on.
        layer: usize,
        /// The head within its layer.
        head: usize,
    },
}

/// What writes to the residual stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The embedding, with absolute positions where there are any.
    Embed,
    /// A head.
    Head {
        /// The layer, from 0 on.
        layer: usize,
        /// The head within its layer.
        head: usize,
    },
    /// The MLP of a layer.
    Mlp {
        /// The layer, from 0 on.
        layer: usize,
    },
}

/// What reads from the residual stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The queries of a layer.
    Queries(usize),
    /// The keys of a layer.
    Keys(usize),
    /// The values of a layer.
    Values(usize),
    /// The MLP of a layer.
    Mlp(usize),
    /// The output.
    Logits,
}

impl Source {
    /// Whether a reader comes after it.
    pub fn is_read_by(self, reader: Reader) -> bool {
        let (written, by_mlp) = match self {
            Source::Embed => return true,
            Source::Head { layer, .. } => (layer, false),
            Source::Mlp { layer } => (layer, true),
        };
        match reader {
            Reader::Queries(l) | Reader::Keys(l) | Reader::Values(l) => l > written,
            Reader::Mlp(l) => l > written || l == written && !by_mlp,
            Reader::Logits => true,
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Embed => f.write_str("embed"),
            Source::Head { layer, head } => write!(f, "layers.{layer}.heads.{head}"),
            Source::Mlp { layer } => write!(f, "layers.{layer}.mlp"),
        }
    }
}

impl Display for Reader {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Reader::Queries(layer) => write!(f, "layers.{layer}.queries"),
            Reader::Keys(layer) => write!(f, "layers.{layer}.keys"),
            Reader::Values(layer) => write!(f, "layers.{layer}.values"),
            Reader::Mlp(layer) => write!(f, "layers.{layer}.mlp"),
            Reader::Logits => f.write_str("logits"),
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
    pub fn sources(&self) -> Vec<Source> {
        let mut sources = vec![Source::Embed];
        for (layer, shape) in self.layers.iter().enumerate() {
            sources.extend((0..shape.heads).map(|head| Source::Head { layer, head }));
            sources.extend(shape.mlp.as_ref().map(|_| Source::Mlp { layer }));
        }
        sources
    }

    /// All readers, in the order in which they read.
    #[doc(hidden)]
    pub fn readers(&self) -> Vec<Reader> {
        let mut readers = Vec::new();
        for (layer, shape) in self.layers.iter().enumerate() {
            readers.extend([Reader::Queries, Reader::Keys, Reader::Values].map(|of| of(layer)));
            readers.extend(shape.mlp.as_ref().map(|_| Reader::Mlp(layer)));
        }
        readers.push(Reader::Logits);
        readers
    }

    /// What each source writes, for all its readers and then for each of them; once, if there is only one.
    #[doc(hidden)]
    pub fn parts(&self) -> Vec<Site> {
        let mut parts = Vec::new();
        for by in self.sources() {
            parts.push(Site::Written { by, to: None });
            let readers = self.readers().into_iter();
            let readers: Vec<Reader> = readers.filter(|&to| by.is_read_by(to)).collect();
            if readers.len() > 1 {
                let path = |to| Site::Written { by, to: Some(to) };
                parts.extend(readers.into_iter().map(path));
            }
        }
        parts
    }

    /// The reader with that name.
    pub fn reader(&self, name: &str) -> Result<Reader, Invalid> {
        let readers = self.readers();
        let found = readers.iter().find(|reader| reader.to_string() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<String> = readers.iter().map(Reader::to_string).collect();
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
        let written = |by: Source| Site::Written { by, to: None };
        let mut places = vec![("embed".into(), Place::Written, vec![written(Source::Embed)])];
        let mut put = |name: String, place, sites: Vec<Site>| places.push((name, place, sites));
        for (layer, shape) in self.layers.iter().enumerate() {
            let head_out = |head| written(Source::Head { layer, head });
            let pattern = |head| Site::Pattern { layer, head };
            let heads = 0..shape.heads;
            let name = |last: &str| format!("layers.{layer}.{last}");
            put(name("resid_pre"), Place::Stream, self.stream_below(layer));
            for scores in ["attn_scores", "attn_pattern"] {
                let all = heads.clone().map(pattern).collect();
                put(name(scores), Place::Patterns, all);
                for head in heads.clone() {
                    let own = format!("heads.{head}.{scores}");
                    put(name(&own), Place::Patterns, vec![pattern(head)]);
                }
            }
            let all = heads.clone().map(head_out).collect();
            put(name("head_out"), Place::Written, all);
            for head in heads.clone() {
                put(
                    name(&format!("heads.{head}")),
                    Place::Written,
                    vec![head_out(head)],
                );
            }
            if shape.mlp.is_some() {
                let mlp = vec![written(Source::Mlp { layer })];
                put(name("mlp_out"), Place::Written, mlp);
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
        let is_above = |reader: &Reader| match *reader {
            Reader::Queries(m) | Reader::Keys(m) | Reader::Values(m) | Reader::Mlp(m) => m >= l,
            Reader::Logits => true,
        };
        let is_below = |source: &Source| match *source {
            Source::Embed => true,
            Source::Head { layer, .. } | Source::Mlp { layer } => layer < l,
        };
        if l == 0 {
            let by = Source::Embed;
            return vec![Site::Written { by, to: None }];
        }
        let readers: Vec<Reader> = self.readers().into_iter().filter(is_above).collect();
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
