//! The bundled font: Inter, reduced to the characters that figures use (its licence is next to it).

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use skrifa::prelude::{FontRef, LocationRef, Size};
use skrifa::{GlyphId, MetadataProvider};

/// The CSS font stack: the bundled font, then fonts of about the same width.
pub(crate) const FAMILY: &str = "Inter, 'Helvetica Neue', Arial, sans-serif";

pub(crate) const REGULAR: &[u8] = include_bytes!("../fonts/Inter-Regular.otf");
pub(crate) const BOLD: &[u8] = include_bytes!("../fonts/Inter-SemiBold.otf");
const REGULAR_WEB: &[u8] = include_bytes!("../fonts/Inter-Regular.woff2");
const BOLD_WEB: &[u8] = include_bytes!("../fonts/Inter-SemiBold.woff2");

static REGULAR_FACE: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::new(REGULAR).expect("the bundled font is valid"));
static BOLD_FACE: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::new(BOLD).expect("the bundled font is valid"));

/// The width of a text in pixels, without kerning, which would make it slightly narrower.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let face: &FontRef = if bold { &BOLD_FACE } else { &REGULAR_FACE };
    let (glyphs, metrics) = (
        face.charmap(),
        face.glyph_metrics(Size::new(size as f32), LocationRef::default()),
    );
    let advance = |c: char| {
        let glyph = glyphs.map(c).unwrap_or(GlyphId::NOTDEF);
        f64::from(metrics.advance_width(glyph).unwrap_or(size as f32))
    };
    text.chars().map(advance).sum()
}

/// Whether the font contains a character.
#[cfg(test)]
pub(crate) fn has(c: char) -> bool {
    REGULAR_FACE.charmap().map(c).is_some() && BOLD_FACE.charmap().map(c).is_some()
}

/// `@font-face` rules with the font embedded, for an SVG file or a page.
pub fn font_face_css() -> String {
    let face = |weight: u32, bytes: &[u8]| {
        format!(
            "@font-face{{font-family:Inter;font-weight:{weight};src:url(data:font/woff2;base64,{}) \
             format('woff2')}}",
            BASE64_STANDARD.encode(bytes)
        )
    };
    face(400, REGULAR_WEB) + &face(600, BOLD_WEB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_characters_of_the_field_are_there() {
        for c in "ηελπδΔΣ∞≈≥≤−×·±→′₁₂³⁻½“”…".chars() {
            assert!(has(c), "{c}");
        }
    }
}
