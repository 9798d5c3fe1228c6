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

/// The outline of one character as path data, with its baseline at 0.
#[cfg(test)]
pub(crate) fn outline(letter: &str, size: f64, bold: bool) -> String {
    use skrifa::outline::{DrawSettings, OutlinePen};
    /// In fonts y grows upwards, on pages downwards.
    struct Path(String);
    impl OutlinePen for Path {
        fn move_to(&mut self, x: f32, y: f32) {
            self.0 += &format!("M{x} {}", -y);
        }
        fn line_to(&mut self, x: f32, y: f32) {
            self.0 += &format!("L{x} {}", -y);
        }
        fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
            self.0 += &format!("Q{cx} {} {x} {}", -cy, -y);
        }
        fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
            self.0 += &format!("C{ax} {} {bx} {} {x} {}", -ay, -by, -y);
        }
        fn close(&mut self) {
            self.0 += "Z";
        }
    }
    let face: &FontRef = if bold { &BOLD_FACE } else { &REGULAR_FACE };
    let letter = letter.chars().next().expect("a letter");
    let glyph = face.charmap().map(letter).expect("the font has it");
    let glyph = face.outline_glyphs().get(glyph).expect("it has an outline");
    let size = Size::new(size as f32);
    let mut path = Path(String::new());
    let settings = DrawSettings::unhinted(size, LocationRef::default());
    glyph
        .draw(settings, &mut path)
        .expect("the bundled font is valid");
    path.0
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

    #[test]
    fn widths_grow_with_text_and_size() {
        assert!(width("iii", 12.0, false) < width("WWW", 12.0, false));
        let once = width("exact", 12.0, false);
        assert!((width("exactexact", 24.0, false) - 4.0 * once).abs() < 0.5);
        assert!(width("exact", 12.0, true) > once);
    }
}
