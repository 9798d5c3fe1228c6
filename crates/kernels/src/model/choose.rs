//! Which engine computes a model, and with which kernels. This is the only place that decides.
//!
//! [`RULES`] is the table: what can be chosen, and when each choice applies.
//! `induct bench --engines` prints it.

use std::sync::Arc;

use super::Kind;
use super::block::Attention;
use super::intervention::Plan;
use super::ops::attention::RelativeTerm;
use super::transformer::coordinates::{self, growth};
use super::transformer::{Layer, Transformer};

/// Largest number of coordinates per position that a row of attention can keep in registers.
pub const NARROW: usize = 8;

/// Scores are bounded if none is beyond this, in units of ln 2: then a softmax need not know its largest
/// score. Sums of such powers, and what is divided by them, stay far from the limits of f32.
pub const BOUNDED: f32 = 60.0;

/// Largest number of symbols for which the first layer does without an exponential per pair although
/// positions meet the query: it needs k² convolutions then.
const MOST_SYMBOLS_BY_QUERY: usize = 4;

/// What is being chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What computes the model.
    Engine,
    /// A layer's attention, in coordinates.
    Attention,
}

impl Part {
    /// Its description.
    pub fn name(self) -> &'static str {
        match self {
            Part::Engine => "engine",
            Part::Attention => "attention in coordinates",
        }
    }
}

/// An engine or kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Running sums and a convolution.
    Minimal,
    /// A few numbers per position instead of the residual stream.
    Coordinates,
    /// The stream itself: for every architecture. Its first layers may be in coordinates.
    Stream,
    /// Convolutions instead of an exponential per pair.
    OneHot,
    /// Everything that belongs to a row stays in registers.
    Narrow,
    /// Tiles of rows and keys.
    Wide,
}

/// When an engine or kernel is used.
#[derive(Debug)]
pub struct Rule {
    /// What it is a choice for.
    pub part: Part,
    /// What is chosen.
    pub kernel: Kernel,
    /// Its name.
    pub name: &'static str,
    /// Its path in `crates/kernels/src/model`.
    pub module: &'static str,
    /// When it is used, in words.
    pub when: &'static str,
    /// When it is used; an engine, provided that no earlier rule applies.
    applies: fn(&Facts) -> bool,
}

/// What the choice depends on: a model, and one of its layers.
struct Facts<'a> {
    /// None for the minimal model.
    shape: Option<&'a Transformer>,
    /// Whether it is trained with dropout.
    dropping: bool,
    /// Interventions on it.
    plan: &'a Plan,
    /// Number of the layer.
    layer: usize,
    /// Coordinates per position of the layer, m.
    coordinates: usize,
}

/// The table. The first rule for an engine that applies is used. In coordinates, a layer uses one-hot, if that
/// applies, beside narrow or wide.
pub const RULES: &[Rule] = &[
    Rule {
        part: Part::Engine,
        kernel: Kernel::Minimal,
        name: "minimal",
        module: "minimal",
        when: "the minimal model",
        applies: |facts| facts.shape.is_none(),
    },
    Rule {
        part: Part::Engine,
        kernel: Kernel::Stream,
        name: "stream",
        module: "transformer/stream",
        when: "training with dropout: masks on single entries leave the space of coordinates (evaluation is \
               without, and as if there were none)",
        applies: |facts| facts.dropping,
    },
    Rule {
        part: Part::Engine,
        kernel: Kernel::Stream,
        name: "stream",
        module: "transformer/stream",
        when: "interventions that leave the space of coordinates: all but those on patterns and whole heads, \
               and those that set what one reader sees to zero (without layer norm, or at the output)",
        applies: |facts| facts.is(|shape| !coordinates::takes(shape, facts.plan)),
    },
    Rule {
        part: Part::Engine,
        kernel: Kernel::Coordinates,
        name: "coordinates",
        module: "transformer/coordinates",
        when: "attention alone, without absolute or rotary positions, convolutions, biases or a tied output, and heads \
               × coordinates, summed over layers, at most width × layers",
        applies: |facts| {
            facts.is(|shape| {
                let is_attention = shape.slots.len() == shape.layers.len();
                let is_plain = !shape.tied && shape.unembed_bias.is_none();
                is_attention && is_plain && fits_coordinates(shape, shape.layers.len())
            })
        },
    },
    Rule {
        part: Part::Engine,
        kernel: Kernel::Stream,
        name: "stream",
        module: "transformer/stream",
        when: "otherwise; without interventions, the first layers are in coordinates, as many as fit in the same way, \
               up to the first MLP",
        applies: |_| true,
    },
    Rule {
        part: Part::Attention,
        kernel: Kernel::OneHot,
        name: "one-hot",
        module: "transformer/coordinates/one_hot",
        when: "the first layer, with at most 4 symbols where positions meet the query; while the range of \
               scores is bounded (checked at every step)",
        applies: |facts| {
            let meets_query = |own: &Arc<Attention>| own.scheme.relative == RelativeTerm::Query;
            let is_cheap = |shape: &Transformer| {
                let first = shape.layers[0].attention.as_ref();
                shape.states <= MOST_SYMBOLS_BY_QUERY || !first.is_some_and(meets_query)
            };
            facts.layer == 0 && facts.is(is_cheap)
        },
    },
    Rule {
        part: Part::Attention,
        kernel: Kernel::Narrow,
        name: "narrow",
        module: "transformer/coordinates/narrow",
        when: "at most 8 coordinates",
        applies: |facts| facts.coordinates <= NARROW,
    },
    Rule {
        part: Part::Attention,
        kernel: Kernel::Wide,
        name: "wide",
        module: "ops/attention/fast",
        when: "otherwise",
        applies: |facts| facts.coordinates > NARROW,
    },
];

impl Facts<'_> {
    /// Whether it is such a transformer.
    fn is(&self, such: impl FnOnce(&Transformer) -> bool) -> bool {
        self.shape.is_some_and(such)
    }
}

/// What computes a model: the rules that decided.
#[derive(Clone, Debug)]
pub struct Choice {
    /// For the engine.
    pub engine: &'static Rule,
    /// For every layer that is computed in coordinates.
    pub layers: Vec<Vec<&'static Rule>>,
}

impl Choice {
    /// The residual stream without any special kernel: it computes every transformer.
    #[doc(hidden)]
    pub fn plain() -> Self {
        let mut engines = RULES.iter().filter(|rule| rule.part == Part::Engine);
        Self {
            engine: engines.next_back().expect("the stream is the last engine"),
            layers: Vec::new(),
        }
    }

    /// All of its rules, each once.
    pub fn rules(&self) -> Vec<&'static Rule> {
        let mut rules = vec![self.engine];
        for &rule in self.layers.iter().flatten() {
            if !rules.iter().any(|other| std::ptr::eq(*other, rule)) {
                rules.push(rule);
            }
        }
        rules
    }
}

/// What a model is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Gradients, with dropout where the model has it.
    Training,
    /// Everything else.
    Evaluation,
}

/// Chooses the engine and kernels for a model.
pub fn choose(kind: &Kind, purpose: Purpose, plan: &Plan) -> Choice {
    let shape = match kind {
        Kind::Transformer(shape) => Some(&**shape),
        Kind::Minimal(_) => None,
    };
    let has_dropout = shape.is_some_and(|shape| shape.dropout.any());
    let dropping = has_dropout && purpose == Purpose::Training;
    let facts = |layer, coordinates| Facts {
        shape,
        dropping,
        plan,
        layer,
        coordinates,
    };
    let engine = applying(Part::Engine, &facts(0, 0))[0];
    let depth = shape.map_or(0, |shape| match engine.kernel {
        Kernel::Coordinates => shape.layers.len(),
        Kernel::Stream if !dropping && plan.is_empty() => below_stream(shape),
        _ => 0,
    });
    let sizes = shape.map_or(Vec::new(), |shape| growth(shape, depth).0);
    let layers = sizes.into_iter().enumerate();
    Choice {
        engine,
        layers: layers
            .map(|(layer, m)| applying(Part::Attention, &facts(layer, m)))
            .collect(),
    }
}

/// The rules for a part that apply: one at least.
fn applying(part: Part, facts: &Facts) -> Vec<&'static Rule> {
    let rules = RULES.iter().filter(|rule| rule.part == part);
    rules.filter(|rule| (rule.applies)(facts)).collect()
}

/// How many layers are computed in coordinates, where the stream begins above them: as many as fit, up to the
/// first MLP. (At least one remains that is not, or has an MLP.)
fn below_stream(shape: &Transformer) -> usize {
    let count = shape.layers.len();
    let fitting = (1..=count).take_while(|&layers| fits_coordinates(shape, layers));
    let fitting = fitting.count();
    match shape.layers[..fitting]
        .iter()
        .position(|layer| layer.slots.len() > 1)
    {
        Some(first_that_goes_on) => first_that_goes_on + 1,
        None => fitting.min(count - 1),
    }
}

/// Whether the first `layers` layers can be computed in coordinates, and take no more work there than in the
/// stream itself.
fn fits_coordinates(shape: &Transformer, layers: usize) -> bool {
    let relative = |layer: &Layer| {
        let attention = layer.attention.as_ref()?;
        let fits = attention.scheme.angle.is_none()
            && attention.convolution.is_none()
            && attention.biases.is_none();
        fits.then_some(attention.scheme.relative)
    };
    let first = relative(&shape.layers[0]);
    let alike = shape.layers[..layers]
        .iter()
        .all(|layer| relative(layer) == first);
    if first.is_none() || !alike || shape.embed_positions.is_some() {
        return false;
    }
    let sizes = growth(shape, layers).0;
    let pair_work = sizes.iter().enumerate();
    let pair_work = pair_work.map(|(l, read)| shape.heads(l) * read);
    pair_work.fold(0, usize::saturating_add) <= shape.width * layers
}
