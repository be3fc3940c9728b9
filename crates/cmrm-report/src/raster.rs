//! A scene as pixels.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Shader, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

use crate::picture::Pixels;
use crate::scene::{Anchor, Ink, Mark, Scene};

/// The letters; see assets/README.md.
const REGULAR: &[u8] = include_bytes!("../assets/Inter-Regular.otf");
const BOLD: &[u8] = include_bytes!("../assets/Inter-SemiBold.otf");

/// Draws a scene on white paper, `scale` pixels a unit. `None` if the picture would have no pixels or too many.
pub fn raster(scene: &Scene, scale: f64) -> Option<Pixels> {
    let (width, height) = ((scene.width * scale).ceil() as u32, (scene.height * scale).ceil() as u32);
    let mut map = Pixmap::new(width, height)?;
    map.fill(Color::WHITE);
    let view = Transform::from_scale(scale as f32, scale as f32);
    let regular = Face::parse(REGULAR, 0).ok()?;
    let bold_face = Face::parse(BOLD, 0).ok()?;
    for mark in &scene.marks {
        match mark {
            Mark::Line { points, ink, width, dash } => {
                let Some(path) = path(points, false) else { continue };
                let stroke = Stroke {
                    width: *width as f32,
                    line_cap: LineCap::Butt,
                    line_join: LineJoin::Round,
                    dash: StrokeDash::new(dash.lengths().to_vec(), 0.0),
                    ..Stroke::default()
                };
                map.stroke_path(&path, &paint(*ink, 1.0), &stroke, view, None);
            }
            Mark::Area { points, ink, opacity } => {
                let Some(path) = path(points, true) else { continue };
                map.fill_path(&path, &paint(*ink, *opacity), FillRule::Winding, view, None);
            }
            Mark::Dot { at: (x, y), radius, ink, hollow } => {
                let Some(circle) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) else { continue };
                let fill = if *hollow { Ink::Paper } else { *ink };
                map.fill_path(&circle, &paint(fill, 1.0), FillRule::Winding, view, None);
                if *hollow {
                    let stroke = Stroke { width: 1.5, ..Stroke::default() };
                    map.stroke_path(&circle, &paint(*ink, 1.0), &stroke, view, None);
                }
            }
            Mark::Text { at, words, size, ink, anchor, bold, upwards } => {
                let face = if *bold { &bold_face } else { &regular };
                let Some(outline) = outline(face, words, *size, *anchor) else { continue };
                let turn = if *upwards { Transform::from_rotate(-90.0) } else { Transform::identity() };
                let place = turn.post_translate(at.0 as f32, at.1 as f32).post_concat(view);
                map.fill_path(&outline, &paint(*ink, 1.0), FillRule::Winding, place, None);
            }
        }
    }
    // The paper is opaque, so nothing is lost with the transparency.
    let bytes = map.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    Some(Pixels { width: width as usize, height: height as usize, channels: 3, bytes })
}

fn paint(ink: Ink, opacity: f64) -> Paint<'static> {
    let [r, g, b] = ink.on_paper();
    let alpha = (opacity * 255.0).round().clamp(0.0, 255.0) as u8;
    Paint { shader: Shader::SolidColor(Color::from_rgba8(r, g, b, alpha)), anti_alias: true, ..Paint::default() }
}

fn path(points: &[(f64, f64)], closed: bool) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        if at == 0 { builder.move_to(x as f32, y as f32) } else { builder.line_to(x as f32, y as f32) }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

/// The outline of a line of text whose anchor is at the origin. Letters the font lacks show as its empty box.
fn outline(face: &Face<'_>, words: &str, size: f64, anchor: Anchor) -> Option<tiny_skia::Path> {
    let scale = size as f32 / f32::from(face.units_per_em());
    let glyphs: Vec<_> = words.chars().map(|letter| face.glyph_index(letter).unwrap_or_default()).collect();
    let advance = |glyph| f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
    let total: f32 = glyphs.iter().map(|&glyph| advance(glyph)).sum();
    let start = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -total / 2.0,
        Anchor::End => -total,
    };
    let mut pen = Pen { builder: PathBuilder::new(), x: start, scale };
    for glyph in glyphs {
        face.outline_glyph(glyph, &mut pen);
        pen.x += advance(glyph);
    }
    pen.builder.finish()
}

/// Turns a glyph, which counts upwards in units of the font, into a path.
struct Pen {
    builder: PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
