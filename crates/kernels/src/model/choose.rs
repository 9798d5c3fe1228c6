//! Which engine computes a model, and with which kernels. This is the only place that decides.
//!
//! [`RULES`] is the table: what can be chosen, and when each choice applies.
//! `induct bench --engines` prints it.

use super::Kind;
use super::intervention::Plan;
use super::ops::attention::RelativeTerm;
use super::transformer::coordinates::{self, Size, growth};
use super::transformer::{Layer, Transformer};

/// Largest number of coordinates per position that a row of attention can keep in registers.
pub const NARROW: usize = 8;

/// Scores are bounded if none is beyond this, in units of ln 2: then a softmax need not know its largest
/// score. A weight may be a product of two such powers, and still stays far from the limits of f32.
pub const BOUNDED: f32 = 40.0;

/// Largest number of symbols for which the first layer does without an exponential per pair although
/// positions meet the query: it needs k² convolutions then.
const MOST_SYMBOLS_BY_QUERY: usize = 4;

/// What is being chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What computes the model.
    Engine,
    /// The first layer's attention, in the residual stream.
    FirstLayer,
    /// A layer's attention, in coordinates.
    Attention,
}

impl Part {
    /// Its description.
    pub fn name(self) -> &'static str {
        match self {
            Part::Engine => "engine",
            Part::FirstLayer => "first layer in the residual stream",
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
    /// The stream itself: for every architecture.
    Stream,
    /// The first layer in coordinates, and perhaps further ones above it.
    FirstInCoordinates,
    /// The first layer computed like all others.
    FirstPlain,
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
    /// When it is used, provided that no earlier rule for the same part applies.
    applies: fn(&Facts) -> bool,
}

/// What the choice depends on: a model, and one of its layers.
struct Facts<'a> {
    kind: &'a Kind,
    /// Whether it is trained with dropout.
    dropping: bool,
    /// Interventions on it.
    plan: &'a Plan,
    /// Number of the layer.
    layer: usize,
    /// Coordinates per position of the layer, m.
    coordinates: usize,
}

/// The table. For each part, the first rule that applies is used. In coordinates, a layer may use one-hot
/// beside narrow or wide.
pub const RULES: &[Rule] = &[
    Rule {
        part: Part::Engine,
        kernel: Kernel::Minimal,
        name: "minimal",
        module: "minimal",
        when: "the minimal model",
        applies: |facts| matches!(facts.kind, Kind::Minimal(_)),
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
        applies: |facts| !facts.plan_fits(),
    },
    Rule {
        part: Part::Engine,
        kernel: Kernel::Coordinates,
        name: "coordinates",
        module: "transformer/coordinates",
        when: "attention alone, without absolute or rotary positions, biases or a tied output, and heads × \
               coordinates, summed over layers, at most width × layers",
        applies: |facts| {
            facts.transformer().is_some_and(|shape| {
                let is_attention = shape.slots.len() == shape.layers.len();
                let is_known = is_attention && shape.has_plain_output();
                is_known && fits_coordinates(shape, shape.layers.len())
            })
        },
    },
    Rule {
        part: Part::Engine,
        kernel: Kernel::Stream,
        name: "stream",
        module: "transformer/stream",
        when: "otherwise",
        applies: |_| true,
    },
    Rule {
        part: Part::FirstLayer,
        kernel: Kernel::FirstInCoordinates,
        name: "coordinates",
        module: "transformer/coordinates",
        when: "no absolute or rotary positions, biases, dropout or interventions, and heads × (k − 1) at most the width; together \
               with as many layers above it as fit (as for the engine), up to the first MLP",
        applies: |facts| {
            let is_plain = !facts.dropping && facts.plan.is_empty();
            let fits = |shape| below_stream(shape) > 0;
            is_plain && facts.transformer().is_some_and(fits)
        },
    },
    Rule {
        part: Part::FirstLayer,
        kernel: Kernel::FirstPlain,
        name: "plain",
        module: "ops/attention/fast",
        when: "otherwise: as in every other layer",
        applies: |_| true,
    },
    Rule {
        part: Part::Attention,
        kernel: Kernel::OneHot,
        name: "one-hot",
        module: "transformer/coordinates/one_hot",
        when: "the first layer, with at most 4 symbols where positions meet the query; while scores are \
               bounded (checked at every step)",
        applies: |facts| {
            let few = |shape: &Transformer| shape.states <= MOST_SYMBOLS_BY_QUERY;
            facts.layer == 0 && (facts.meets_key() || facts.transformer().is_some_and(few))
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
        applies: |_| true,
    },
];

impl<'a> Facts<'a> {
    fn transformer(&self) -> Option<&'a Transformer> {
        match self.kind {
            Kind::Transformer(shape) => Some(shape),
            Kind::Minimal(_) => None,
        }
    }

    /// Whether all interventions can be made in coordinates.
    fn plan_fits(&self) -> bool {
        let fits = |shape: &Transformer| coordinates::takes(shape, self.plan);
        self.transformer().is_none_or(fits)
    }

    fn meets_key(&self) -> bool {
        let shape = self.transformer();
        let attention = shape.and_then(|shape| shape.layers[self.layer].attention.as_ref());
        attention.is_none_or(|attention| attention.scheme.relative != RelativeTerm::Query)
    }
}

/// What computes a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// [`Kernel::Minimal`], [`Kernel::Coordinates`] or [`Kernel::Stream`].
    pub engine: Kernel,
    /// How the first layer's attention is computed in the residual stream.
    pub first: Kernel,
    /// Kernels of every layer that is computed in coordinates.
    pub layers: Vec<Vec<Kernel>>,
}

impl Choice {
    /// The residual stream without any special kernel: it computes every transformer.
    #[doc(hidden)]
    pub fn plain() -> Self {
        Self {
            engine: Kernel::Stream,
            first: Kernel::FirstPlain,
            layers: Vec::new(),
        }
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
    let Decision {
        engine,
        first,
        layers,
    } = decide(kind, purpose, plan);
    let of_layer = |rules: &Vec<&Rule>| rules.iter().map(|rule| rule.kernel).collect();
    Choice {
        engine: engine.kernel,
        first: first.map_or(Kernel::FirstPlain, |rule| rule.kernel),
        layers: layers.iter().map(of_layer).collect(),
    }
}

/// The rules by which the engine and kernels that train a model were chosen, each once.
pub fn reasons(kind: &Kind, plan: &Plan) -> Vec<&'static Rule> {
    let decision = decide(kind, Purpose::Training, plan);
    let all = [decision.engine].into_iter().chain(decision.first);
    let mut rules: Vec<&'static Rule> = Vec::new();
    for rule in all.chain(decision.layers.into_iter().flatten()) {
        if !rules.iter().any(|other| std::ptr::eq(*other, rule)) {
            rules.push(rule);
        }
    }
    rules
}

/// The rules that decide about a model.
struct Decision {
    engine: &'static Rule,
    /// Of the residual stream.
    first: Option<&'static Rule>,
    /// Of every layer that is computed in coordinates.
    layers: Vec<Vec<&'static Rule>>,
}

fn decide(kind: &Kind, purpose: Purpose, plan: &Plan) -> Decision {
    let has_dropout = matches!(kind, Kind::Transformer(shape) if shape.dropout.any());
    let dropping = has_dropout && purpose == Purpose::Training;
    let of_model = Facts {
        kind,
        dropping,
        plan,
        layer: 0,
        coordinates: 0,
    };
    let engine = of_part(Part::Engine, &of_model);
    let is_stream = engine.kernel == Kernel::Stream;
    let first = is_stream.then(|| of_part(Part::FirstLayer, &of_model));
    let first_kernel = first.map(|rule| rule.kernel);
    let sizes = match (kind, engine.kernel, first_kernel) {
        (Kind::Transformer(shape), Kernel::Coordinates, _) => growth(shape, shape.layers.len()).0,
        (Kind::Transformer(shape), _, Some(Kernel::FirstInCoordinates)) => {
            growth(shape, below_stream(shape)).0
        }
        _ => Vec::new(),
    };
    let layer_rules = |(layer, size): (usize, &Size)| {
        of_attention(&Facts {
            kind,
            dropping,
            plan,
            layer,
            coordinates: size.read,
        })
    };
    Decision {
        engine,
        first,
        layers: sizes.iter().enumerate().map(layer_rules).collect(),
    }
}

/// The first rule for a part that applies.
fn of_part(part: Part, facts: &Facts) -> &'static Rule {
    let mut rules = RULES.iter().filter(|rule| rule.part == part);
    let rule = rules.find(|rule| (rule.applies)(facts));
    rule.expect("the last rule of every part always applies")
}

/// The rules for a layer's attention: special ones that apply, and the general one beside them.
fn of_attention(facts: &Facts) -> Vec<&'static Rule> {
    let rules = RULES.iter().filter(|rule| rule.part == Part::Attention);
    let applying: Vec<&'static Rule> = rules.filter(|rule| (rule.applies)(facts)).collect();
    let is_general = |rule: &&Rule| matches!(rule.kernel, Kernel::Narrow | Kernel::Wide);
    let general = applying.iter().position(is_general).expect("wide applies");
    applying[..=general].to_vec()
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
        let scheme = attention.scheme;
        let is_known = scheme.angle.is_none() && attention.biases.is_none();
        is_known.then_some(scheme.relative)
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
    let pair_work = pair_work.map(|(l, size)| shape.heads(l) * size.read);
    pair_work.fold(0, usize::saturating_add) <= shape.width * layers
}
