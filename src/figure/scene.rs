//! What a figure consists of before it is SVG or PNG: shapes and texts at their places.
//!
//! Lengths are in pixels of a page, `y` grows downwards. Later marks lie over earlier ones.

use crate::figure::font::{Type, has};
use crate::figure::ink::{Ink, PAGE};

/// A place.
pub(super) type Point = (f64, f64);

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// What a shape or text is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Line { points: Vec<Point>, width: f64 },
    Surface { points: Vec<Point> },
    Rectangle(Area),
    Disk { center: Point, radius: f64 },
    Text(Text),
}

/// Which part of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) words: String,
    /// On its baseline.
    pub(super) at: Point,
    pub(super) anchor: Anchor,
    pub(super) letters: Type,
}

/// A shape with its color.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) shape: Shape,
    pub(super) ink: Ink,
    /// From 0, which is there to be hovered over only, to 1.
    pub(super) opacity: f64,
    /// What a reader is told who hovers over it.
    pub(super) name: Option<String>,
}

/// A drawn figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) marks: Vec<Mark>,
}

impl Area {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// Returns the area without margins.
    pub(super) fn inside(&self, margins: &Margins) -> Area {
        Area {
            left: self.left + margins.left,
            top: self.top + margins.top,
            right: self.right - margins.right,
            bottom: self.bottom - margins.bottom,
        }
    }

    /// Returns whether two areas have more than an edge in common.
    pub(super) fn overlaps(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Returns whether an area lies within this one.
    pub(super) fn holds(&self, other: &Area) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

/// Room around a plot for its texts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Margins {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Margins {
    /// Returns margins that are enough for both.
    pub(super) fn or(self, other: Margins) -> Margins {
        Margins {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }
}

impl Text {
    pub(super) fn new(words: impl Into<String>, at: Point, anchor: Anchor, letters: Type) -> Text {
        Text { words: words.into(), at, anchor, letters }
    }

    /// Returns the room it takes, from its lowest descender to its capitals.
    pub(super) fn area(&self) -> Area {
        let width = self.letters.width(&self.words);
        let left = match self.anchor {
            Anchor::Start => self.at.0,
            Anchor::Middle => self.at.0 - width / 2.0,
            Anchor::End => self.at.0 - width,
        };
        Area {
            left,
            top: self.at.1 - self.letters.cap_height(),
            right: left + width,
            bottom: self.at.1 + 0.2 * self.letters.size,
        }
    }
}

impl Scene {
    pub(super) fn new(id: &str, width: f64, height: f64) -> Scene {
        let page = Area { left: 0.0, top: 0.0, right: width, bottom: height };
        let mut scene = Scene {
            id: id.to_owned(),
            title: String::new(),
            description: String::new(),
            width,
            height,
            marks: Vec::new(),
        };
        scene.rectangle(page, PAGE);
        scene
    }

    pub(super) fn add(&mut self, shape: Shape, ink: Ink) -> &mut Mark {
        let at = self.marks.len();
        self.marks.push(Mark { shape, ink, opacity: 1.0, name: None });
        &mut self.marks[at]
    }

    pub(super) fn line(&mut self, points: Vec<Point>, width: f64, ink: Ink) -> &mut Mark {
        self.add(Shape::Line { points, width }, ink)
    }

    pub(super) fn rectangle(&mut self, area: Area, ink: Ink) -> &mut Mark {
        self.add(Shape::Rectangle(area), ink)
    }

    pub(super) fn disk(&mut self, center: Point, radius: f64, ink: Ink) -> &mut Mark {
        self.add(Shape::Disk { center, radius }, ink)
    }

    pub(super) fn text(&mut self, text: Text, ink: Ink) -> &mut Mark {
        self.add(Shape::Text(text), ink)
    }

    /// Adds a text cut to a width; the whole of it is its name then.
    pub(super) fn fitted(&mut self, text: Text, width: f64, ink: Ink) {
        let Text { words, at, anchor, letters } = text;
        let shown = letters.fitted(&words, width);
        let whole = (shown != words).then_some(words);
        self.text(Text::new(shown, at, anchor, letters), ink).name = whole;
    }

    /// Adds a text on a plate of the page's color, which keeps it apart from lines under it.
    pub(super) fn plated(&mut self, text: Text, ink: Ink) {
        let area = text.area();
        let plate = area.inside(&Margins { left: -3.0, top: -2.5, right: -3.0, bottom: -1.5 });
        self.rectangle(plate, PAGE).opacity = 0.85;
        self.text(text, ink);
    }

    /// Returns the areas of all texts.
    pub(super) fn text_areas(&self) -> impl Iterator<Item = (&Text, Area)> {
        self.marks.iter().filter_map(|mark| match &mark.shape {
            Shape::Text(text) => Some((text, text.area())),
            Shape::Line { .. }
            | Shape::Surface { .. }
            | Shape::Rectangle(_)
            | Shape::Disk { .. } => None,
        })
    }

    /// Returns the characters that the typeface lacks, each once, in order: a PNG shows boxes for
    /// them, an SVG what the reader's fonts have.
    pub fn missing_characters(&self) -> Vec<char> {
        let texts = self.text_areas().flat_map(|(text, _)| text.words.chars());
        let mut missing: Vec<char> = texts.filter(|c| !has(*c)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Returns what is wrong with the places of texts: outside of the page, or over each other.
    ///
    /// The figures of this program have no such faults; this is for tests of data of all kinds.
    pub fn text_faults(&self) -> Vec<String> {
        let page = Area { left: 0.0, top: 0.0, right: self.width, bottom: self.height };
        let texts: Vec<(&Text, Area)> = self.text_areas().collect();
        let mut faults = Vec::new();
        for (at, (text, area)) in texts.iter().enumerate() {
            if !page.holds(area) {
                faults.push(format!("`{}` leaves the page", text.words));
            }
            for (other, other_area) in &texts[..at] {
                if area.overlaps(other_area) {
                    faults.push(format!("`{}` lies over `{}`", text.words, other.words));
                }
            }
        }
        faults
    }
}
