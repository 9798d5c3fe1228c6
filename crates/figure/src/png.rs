//! Figures as PNG, drawn from the same SVG that browsers show.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use crate::figure::Figure;
use crate::font;

impl Figure {
    /// A PNG on white, with `scale` pixels per layout pixel.
    pub fn png(&self, width: u32, scale: u32) -> Vec<u8> {
        pixels(&self.svg_inline(width), scale)
    }
}

/// Renders an SVG of this crate as PNG.
pub(crate) fn pixels(svg: &str, scale: u32) -> Vec<u8> {
    let pixels = rendered(svg, scale);
    pixels.encode_png().expect("pixels can be encoded as PNG")
}

/// Renders an SVG of this crate to pixels, with only the bundled font available.
pub(crate) fn rendered(svg: &str, scale: u32) -> tiny_skia::Pixmap {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(font::REGULAR.to_vec());
    fonts.load_font_data(font::BOLD.to_vec());
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).expect("this crate writes valid SVG");
    let size = tree.size().to_int_size();
    let mut pixels = tiny_skia::Pixmap::new(size.width() * scale, size.height() * scale)
        .expect("a figure is not empty");
    let transform = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels
}
