//! How positions enter attention. To add a scheme, name it in the two lists below.

use crate::choices;
use crate::lanes::Lane;
use crate::model::matrix::Matrix;
use crate::model::ops::attention::RelativeTerm;
use crate::model::reference::Value;
use crate::scratch::Allocator;

choices! {
    /// How positions enter a transformer.
    pub enum Positions {
        /// A_ij = (q_i + v_{i−j}) · k_j / √d_head: the paper's equation.
        RelativeKey = "relative-key",
        /// A_ij = q_i · (k_j + v_{i−j}) / √d_head: what the paper's released code trains.
        RelativeQuery = "relative-query",
        /// Queries and keys are turned by angles that grow with the position.
        Rotary = "rotary",
        /// A learned vector per position, added to the embedding.
        Absolute = "absolute",
        /// None at all: order enters through the causal mask only.
        None = "none",
    }
}

impl Positions {
    pub(super) fn scheme(self) -> Scheme {
        match self {
            Positions::RelativeKey => Scheme {
                relative: RelativeTerm::Key,
                ..Scheme::NONE
            },
            Positions::RelativeQuery => Scheme {
                relative: RelativeTerm::Query,
                ..Scheme::NONE
            },
            // Numbers c and c + d_head/2 of a head form a plane, as in GPT-NeoX and Llama.
            Positions::Rotary => Scheme {
                angle: Some(|position, plane, planes| {
                    position as f64 * libm::pow(ROTARY_BASE, -(plane as f64) / planes as f64)
                }),
                ..Scheme::NONE
            },
            Positions::Absolute | Positions::None => Scheme::NONE,
        }
    }
}

/// The base of rotary positions (Su et al., 2021). Angles grow with the position, so that the product of a query and a
/// key depends on the lag alone.
const ROTARY_BASE: f64 = 10_000.0;

/// What a scheme does in attention.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Where a table of vectors by lag enters scores.
    pub relative: RelativeTerm,
    /// The angle by which a plane of each query and key is turned: of the position, and the plane's number out of
    /// how many there are, half the size of a head.
    pub angle: Option<fn(usize, usize, usize) -> f64>,
}

impl Scheme {
    const NONE: Self = Self {
        relative: RelativeTerm::Absent,
        angle: None,
    };

    /// Cosines and sines of all positions and planes; none if nothing is turned.
    pub fn turns(self, [positions, planes]: [usize; 2], buffers: &mut Allocator) -> Turns {
        let Some(angle) = self.angle else {
            return Turns::new();
        };
        let mut turns = buffers.filled([0.0; 2], [positions, planes]);
        for (place, turn) in turns.iter_mut().enumerate() {
            let angle = angle(place / planes, place % planes, planes);
            *turn = [libm::cos(angle) as f32, libm::sin(angle) as f32];
        }
        turns
    }

    /// Turns queries or keys of all positions by their angles, [positions, size].
    pub fn turned<'t>(self, x: Value<'t>, (rows, size): (usize, usize)) -> Value<'t> {
        let Some(angle) = self.angle else { return x };
        let half = size / 2;
        let table = |of: &dyn Fn(f64, bool) -> f64| {
            let entry = |i, c: usize| of(angle(i, c % half, half), c < half);
            x.tape().constant(Matrix::from_fn(rows, size, entry))
        };
        let cos = table(&|angle, _| libm::cos(angle));
        let sin = table(&|angle, is_low| libm::sin(angle) * if is_low { -1.0 } else { 1.0 });
        let other = x.take((rows, size), move |i, c| Some((i, (c + half) % size)));
        x.each_times(cos) + other.each_times(sin)
    }
}

/// Cosine and sine of every plane's angle, [positions, planes].
pub type Turns = Vec<[f32; 2]>;

/// Turns the rows of a head, [rows, size], by the angles from their first position on; back if `sign` is −1.
pub fn turn(turns: &[[f32; 2]], size: usize, sign: f32, rows: &mut [Lane]) {
    for (row, turns) in rows
        .chunks_exact_mut(size)
        .zip(turns.chunks_exact(size / 2))
    {
        let (low, high) = row.split_at_mut(size / 2);
        for ((low, high), [cos, sin]) in low.iter_mut().zip(high).zip(turns) {
            let (x, y) = (*low, *high);
            *low = x * *cos - y * (sin * sign);
            *high = y * *cos + x * (sin * sign);
        }
    }
}
