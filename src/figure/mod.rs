//! Figures: data in, SVG or PNG out.
//!
//! A [`Figure`] is data with a subtitle and a footer. [`Figure::scene`] lays it out: every text is
//! measured before it is placed, so none lies over another or leaves the page. [`Scene::svg`] and
//! [`Scene::png`] draw the same shapes with plotters. A figure without a title is headed by what
//! its data say ([`Chart::finding`]).
//!
//! Nothing is simulated or read here. The same data give the same bytes of SVG on any machine.
//!
//! ```
//! use forkcast::figure::{Axis, Bar, Bars, Better, Chart, Figure, Panel, Part, Theme, Unit};
//!
//! let bar = |name: &str, parts: [f64; 2]| Bar {
//!     name: name.to_owned(),
//!     parts: parts.to_vec(),
//!     half_width: None,
//! };
//! let part = |name: &str, hue| Part { name: name.to_owned(), hue };
//! let bars = Bars {
//!     x: Axis::plain("Cost of a run", Unit::Usd),
//!     better: Better::CHEAPER,
//!     parts: vec![part("cache reads", 0), part("output", 1)],
//!     bars: vec![bar("fresh", [1.0, 2.0]), bar("fork", [2.0, 2.0])],
//!     differ: vec![vec![true; 2]; 2],
//! };
//! let figure = Figure {
//!     id: "bill".to_owned(),
//!     title: None,
//!     subtitle: "Bill by line item".to_owned(),
//!     footer: Vec::new(),
//!     size: (760, 300),
//!     panels: vec![Panel { heading: None, chart: Chart::Bars(bars) }],
//! };
//! let svg = figure.scene().svg(Theme::Both);
//! assert!(svg.contains("Fork costs $1.00 (33 %) more than fresh, cache reads alone +$1.00"));
//! ```
//!
//! Reading order: [`Figure`] and [`Chart`] (what is shown), `finding` (what it says), `draw` (the
//! layout and what each kind of chart can do), one file for each kind, `scene` (shapes and texts at
//! their places), then `paint`, `svg` and `png`. Beside them: `axis`, `unit`, `labels`, `font`,
//! `ink`.

mod axis;
mod bars;
mod bars_finding;
mod chart;
mod draw;
mod finding;
mod font;
mod ink;
mod labels;
mod lines;
mod lines_finding;
mod paint;
mod plot_area;
mod png;
mod scene;
mod svg;
#[cfg(test)]
mod tests;
mod unit;

pub use chart::{
    Axis, Bar, Bars, Better, Chart, Figure, Levels, Lines, Panel, Part, Point, Series,
};
pub use ink::{HUES, Theme};
pub use scene::Scene;
pub use unit::Unit;
