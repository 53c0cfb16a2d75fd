//! Figure files: from a scenario, a sweep and a kind to a [`crate::figure::Figure`].
//!
//! A [`FigureFile`] names a scenario, what is varied and what is measured. [`Plot::read`] checks
//! it; [`Plot::draw`] simulates every point on common random numbers and puts what came of it into
//! charts. No files are read here; texts are handed in.
//!
//! Reading order: [`FigureFile`], [`Plot`], `simulate`, `draw`, one file for each kind; then
//! `measure` (what can be measured) and `words` (what keys are called).

mod bars;
mod draw;
mod file;
mod lines;
mod measure;
mod read;
mod reference;
mod simulate;
mod words;

pub use bars::bars;
pub use draw::Provenance;
pub use file::{AxisName, Band, By, FigureFile, Kind, ThemeName};
pub use read::Plot;
pub use reference::{json_schema, markdown as reference_markdown};
pub use simulate::{Progress, ReadFile};
