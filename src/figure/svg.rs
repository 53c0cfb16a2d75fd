//! SVG: shapes as plotters writes them, texts with their widths, names on hover, dark colors.
//!
//! Plotters knows whole numbers only, so a figure is drawn ten times as large and shown at a tenth.
//! It knows no names, weights or widths of texts either, so each shape is drawn by itself and put
//! together with them here.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plotters::prelude::{IntoDrawingArea, SVGBackend};

use crate::figure::Theme;
use crate::figure::font::Weight;
use crate::figure::ink::{Ink, Rgb};
use crate::figure::paint;
use crate::figure::scene::{Anchor, Mark, Scene, Shape, Text};

/// Units of the drawing to a pixel of the page.
const SCALE: f64 = 10.0;

/// The typeface, and those that readers have instead.
const FAMILY: &str = "Inter,system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif";

impl Scene {
    /// Returns the figure as an SVG document, which may stand in an HTML page as it is.
    ///
    /// Its texts are texts, each as wide as it was measured, whatever font a reader has. With
    /// [`Theme::Both`] it follows the color scheme that the reader prefers.
    pub fn svg(&self, theme: Theme) -> String {
        let mut colors = Colors { theme, dark: BTreeMap::new() };
        let body: String =
            self.marks.iter().map(|mark| fragment(self, mark, &mut colors)).collect();
        let (id, width, height) = (escaped(&self.id), self.width, self.height);
        let units = |length: f64| (length * SCALE).round() as i64;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{id}\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {} {}\" role=\"img\" \
             font-family=\"{FAMILY}\" \
             stroke-linejoin=\"round\" style=\"max-width:100%;height:auto\">\n",
            units(width),
            units(height)
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<title>{}</title>", escaped(&self.title));
        let _ = writeln!(text, "<desc>{}</desc>", escaped(&self.description));
        text += &colors.style(&id, &body);
        text += &body;
        text + "</svg>\n"
    }
}

/// The colors of a document. In one that follows the reader, each light color stands for one dark
/// color.
struct Colors {
    theme: Theme,
    dark: BTreeMap<Rgb, Rgb>,
}

impl Colors {
    fn of(&mut self, ink: Ink) -> Rgb {
        match self.theme {
            Theme::Light => return ink.light,
            Theme::Dark => return ink.dark,
            Theme::Both => {}
        }
        // A light color that is taken by another dark one makes way, by what no eye can see.
        let mut color = ink.light;
        while *self.dark.entry(color).or_insert(ink.dark) != ink.dark {
            color[2] = if ink.light[2] < 128 { color[2] + 1 } else { color[2] - 1 };
        }
        color
    }

    /// Returns the rules for dark pages, of the colors that a body has.
    fn style(&self, id: &str, body: &str) -> String {
        let mut rules = String::new();
        for (light, dark) in self.dark.iter().filter(|(light, dark)| light != dark) {
            for key in ["fill", "stroke"] {
                let attribute = format!("{key}=\"{}\"", hex(*light));
                if body.contains(&attribute) {
                    let _ = write!(rules, "#{id} [{attribute}]{{{key}:{}}}", hex(*dark));
                }
            }
        }
        if rules.is_empty() {
            return rules;
        }
        format!("<style>@media (prefers-color-scheme:dark){{{rules}}}</style>\n")
    }
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// Returns a mark as elements.
fn fragment(scene: &Scene, mark: &Mark, colors: &mut Colors) -> String {
    let color = colors.of(mark.ink);
    let drawn = match &mark.shape {
        Shape::Text(text) => text_element(text, color),
        Shape::Line { .. } | Shape::Surface { .. } | Shape::Rectangle(_) | Shape::Disk { .. } => {
            shape_element(scene, mark, color)
        }
    };
    match &mark.name {
        None => drawn,
        Some(name) => format!("<g><title>{}</title>{}</g>\n", escaped(name), drawn.trim_end()),
    }
}

fn shape_element(scene: &Scene, mark: &Mark, color: Rgb) -> String {
    let size = [scene.width, scene.height].map(|length| (length * SCALE).round() as u32);
    let mut text = String::new();
    let target = SVGBackend::with_string(&mut text, (size[0], size[1])).into_drawing_area();
    let drawn = paint::draw(&target, mark, color, SCALE)
        .and_then(|()| target.present().map_err(|error| error.to_string()));
    drop(target);
    assert!(drawn == Ok(()), "drawing into memory cannot fail: {drawn:?}");
    // What stands between the tags of the document.
    let inside = text.split_once('\n').and_then(|(_, rest)| rest.rsplit_once("</svg>"));
    let element = inside.map_or("", |(inside, _)| inside);
    let element = element.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    element.replace(" stroke-width=\"1\"/>", "/>").replace(" \"/>", "\"/>")
}

fn text_element(text: &Text, color: Rgb) -> String {
    let units = |length: f64| (length * SCALE).round() as i64;
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = match text.letters.weight {
        Weight::Regular => "",
        Weight::Semibold => " font-weight=\"600\"",
    };
    let (x, y) = text.at;
    format!(
        "<text x=\"{}\" y=\"{}\"{anchor}{weight} font-size=\"{}\" textLength=\"{}\" \
         lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\">{}</text>\n",
        units(x),
        units(y),
        units(text.letters.size),
        units(text.letters.width(&text.words)),
        hex(color),
        escaped(&text.words)
    )
}

/// Returns a text as XML holds it; characters that XML cannot hold are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
