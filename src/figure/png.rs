//! PNG: the same shapes drawn by plotters, texts from the outlines of their letters.
//!
//! Plotters places letters at whole pixels, which tears words apart; so texts are set here. A
//! figure is drawn at twice its size in the file and then reduced, which smooths every edge.

use plotters::prelude::{BitMapBackend, IntoDrawingArea};

use crate::figure::Theme;
use crate::figure::font::Type;
use crate::figure::ink::{Ink, Rgb};
use crate::figure::paint;
use crate::figure::scene::{Anchor, Scene, Shape, Text};

/// Pixels of the file to a pixel of the page, so that it is sharp on dense screens.
const DENSITY: usize = 2;
/// Pixels that are drawn to one of the file.
const SMOOTH: usize = 2;
const SCALE: f64 = (DENSITY * SMOOTH) as f64;

impl Scene {
    /// Returns the figure as a PNG file, two pixels to a pixel of the page.
    pub fn png(&self, theme: Theme) -> Vec<u8> {
        let size = [self.width, self.height].map(|length| length.round() as usize * DENSITY);
        let large = self.pixels(theme, size.map(|length| length * SMOOTH));
        let pixels = reduced(&large, size);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, size[0] as u32, size[1] as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&pixels)?;
            writer.finish()
        });
        assert!(written.is_ok(), "encoding in memory cannot fail: {written:?}");
        bytes
    }

    /// Draws everything, a little at a time so that texts and shapes keep their order.
    fn pixels(&self, theme: Theme, [width, height]: [usize; 2]) -> Vec<u8> {
        let mut pixels = vec![0; width * height * 3];
        for mark in &self.marks {
            let color = color(mark.ink, theme);
            if let Shape::Text(text) = &mark.shape {
                set(&mut pixels, [width, height], text, color);
            } else if mark.opacity > 0.0 {
                let size = (width as u32, height as u32);
                let target = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
                let drawn = paint::draw(&target, mark, color, SCALE);
                assert!(drawn == Ok(()), "drawing into memory cannot fail: {drawn:?}");
            }
        }
        pixels
    }
}

fn color(ink: Ink, theme: Theme) -> Rgb {
    match theme {
        Theme::Light | Theme::Both => ink.light,
        Theme::Dark => ink.dark,
    }
}

/// Sets a text.
fn set(pixels: &mut [u8], [width, height]: [usize; 2], text: &Text, color: Rgb) {
    let (x, y) = (text.at.0 * SCALE, text.at.1 * SCALE);
    let letters = Type { size: text.letters.size * SCALE, ..text.letters };
    let length = letters.width(&text.words);
    let start = match text.anchor {
        Anchor::Start => x,
        Anchor::Middle => x - length / 2.0,
        Anchor::End => x - length,
    };
    letters.rasterize(&text.words, (start, y), &mut |x, y, coverage| {
        if (0..width as i32).contains(&x) && (0..height as i32).contains(&y) {
            let at = (y as usize * width + x as usize) * 3;
            for (under, over) in pixels[at..at + 3].iter_mut().zip(color) {
                let mixed =
                    f32::from(*under) + (f32::from(over) - f32::from(*under)) * coverage.min(1.0);
                *under = mixed.round() as u8;
            }
        }
    });
}

/// Returns an image in which each pixel is the mean of a square of pixels.
fn reduced(large: &[u8], [width, height]: [usize; 2]) -> Vec<u8> {
    let mut small = Vec::with_capacity(width * height * 3);
    let row_length = width * SMOOTH * 3;
    for y in 0..height {
        let rows = &large[y * SMOOTH * row_length..(y + 1) * SMOOTH * row_length];
        for x in 0..width {
            for part in 0..3 {
                let at = |row: usize, column: usize| {
                    u32::from(rows[row * row_length + (x * SMOOTH + column) * 3 + part])
                };
                let square = (0..SMOOTH).flat_map(|row| (0..SMOOTH).map(move |col| (row, col)));
                let sum: u32 = square.map(|(row, column)| at(row, column)).sum();
                let count = (SMOOTH * SMOOTH) as u32;
                small.push(((sum + count / 2) / count) as u8);
            }
        }
    }
    small
}
