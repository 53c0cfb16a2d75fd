//! What figures show, as data.

use crate::figure::Unit;

/// A figure: one or more panels under a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// A name that is the only one of its kind on a page: it becomes the `id` of the SVG.
    pub id: String,
    /// What the figure says; `None`: the finding, computed from the data.
    pub title: Option<String>,
    /// What is shown, and how.
    pub subtitle: String,
    /// Where it comes from: scenario, prices, seed, the command that draws it again.
    pub footer: Vec<String>,
    /// Width and height in pixels of a page.
    pub size: (u32, u32),
    /// Panels, in reading order; with more than one, each has a heading.
    pub panels: Vec<Panel>,
}

/// A chart, as one of several where it has a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What sets this panel apart.
    pub heading: Option<String>,
    /// What it shows.
    pub chart: Chart,
}

/// What a panel shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Lines with bands.
    Lines(Lines),
    /// Stacked bars.
    Bars(Bars),
}

/// What a number on an axis means.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is counted: `Children of the fan-out`.
    pub label: String,
    /// How it is counted.
    pub unit: Unit,
    /// A value in a sentence, `{}` for the number: `{} children`.
    pub phrase: String,
    /// The same of one: `{} child`.
    pub phrase_of_one: String,
    /// Whether only whole numbers occur.
    pub is_whole: bool,
    /// Whether equal distances are equal factors.
    pub is_log: bool,
}

impl Axis {
    /// Returns a linear axis whose values speak for themselves.
    pub fn plain(label: &str, unit: Unit) -> Axis {
        let (label, phrase) = (label.to_owned(), "{}".to_owned());
        let phrase_of_one = phrase.clone();
        Axis { label, unit, phrase, phrase_of_one, is_whole: false, is_log: false }
    }

    /// Returns a value as a sentence has it: `12.7 requests per task`.
    pub fn say(&self, value: f64) -> String {
        let text = self.unit.value(value);
        let phrase = if text == "1" { &self.phrase_of_one } else { &self.phrase };
        phrase.replacen("{}", &text, 1)
    }
}

/// Places on the horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// Numbers, in ascending order.
    Values(Vec<f64>),
    /// Names, each as far from the next.
    Names(Vec<String>),
}

impl Levels {
    /// Returns how many there are.
    pub fn count(&self) -> usize {
        match self {
            Levels::Values(values) => values.len(),
            Levels::Names(names) => names.len(),
        }
    }

    /// Returns the number at which a level stands.
    pub(super) fn number(&self, level: usize) -> f64 {
        match self {
            Levels::Values(values) => values[level],
            Levels::Names(_) => level as f64,
        }
    }

    /// Returns a level as a sentence has it.
    pub(super) fn say(&self, axis: &Axis, level: usize) -> String {
        match self {
            Levels::Values(values) => axis.say(values[level]),
            Levels::Names(names) => names[level].clone(),
        }
    }
}

/// How a measure is spoken of, and which values of it are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better: `cheaper`, `cheapest`.
    Less {
        /// Of two.
        comparative: &'static str,
        /// Of many.
        superlative: &'static str,
    },
    /// More is better: `higher`, `highest`.
    More,
    /// Neither.
    None,
}

impl Better {
    /// Of money.
    pub const CHEAPER: Better = Better::Less { comparative: "cheaper", superlative: "cheapest" };
    /// Of time.
    pub const FASTER: Better = Better::Less { comparative: "faster", superlative: "fastest" };
    /// Of anything else of which less is better.
    pub const FEWER: Better = Better::Less { comparative: "lower", superlative: "lowest" };

    /// Returns the word for what is better than one other, or than several.
    pub(super) fn word(self, others: usize) -> &'static str {
        match self {
            Better::Less { comparative, .. } if others == 1 => comparative,
            Better::Less { superlative, .. } => superlative,
            Better::More if others == 1 => "higher",
            Better::More => "highest",
            Better::None if others == 1 => "lower",
            Better::None => "lowest",
        }
    }
}

/// Lines over levels of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// The key.
    pub x: Axis,
    /// Its levels.
    pub levels: Levels,
    /// What is measured.
    pub y: Axis,
    /// Which values are good.
    pub better: Better,
    /// At most [`crate::figure::HUES`] of them.
    pub series: Vec<Series>,
    /// By level: the best series, where it is certain which one that is.
    pub best: Vec<Option<usize>>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// By level.
    pub points: Vec<Point>,
}

/// A value, and the band around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// The lower edge of the band; the value itself where there is none.
    pub low: f64,
    /// The upper edge.
    pub high: f64,
}

impl Point {
    /// Returns a value without a band.
    pub fn exact(value: f64) -> Point {
        Point { value, low: value, high: value }
    }

    /// Returns a value with an interval that is as wide on either side.
    pub fn around(value: f64, half_width: f64) -> Point {
        Point { value, low: value - half_width, high: value + half_width }
    }
}

/// Bars of parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What their lengths measure.
    pub x: Axis,
    /// Which lengths are good.
    pub better: Better,
    /// Names of the parts, in the order in which they are stacked.
    pub parts: Vec<Part>,
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// By two numbers of bars: whether it is certain which of them is longer.
    pub differ: Vec<Vec<bool>>,
}

/// What one color of all bars stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Number of its hue; one beyond the last is gray.
    pub hue: usize,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// By part, each 0 or more.
    pub parts: Vec<f64>,
    /// Half the length of the interval of the whole.
    pub half_width: Option<f64>,
}

impl Bar {
    /// Returns its whole length.
    pub fn total(&self) -> f64 {
        self.parts.iter().sum()
    }
}
