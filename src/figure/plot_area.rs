//! The frame of charts with two axes of values: grid, ticks and their labels.

use crate::figure::axis::{self, Scale, TICK, Tick};
use crate::figure::draw::{Bounds, Place, Sides};
use crate::figure::font::Type;
use crate::figure::ink::{AXIS, GRID, MUTED, TEXT};
use crate::figure::scene::{Anchor, Area, Margins, Scene, Text};
use crate::figure::{Axis, Levels};

/// Letters of axis labels.
pub(super) const LABEL: Type = Type::regular(12.5);

/// Both axes over a plot.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) x: &'a Axis,
    pub(super) levels: &'a Levels,
    pub(super) y: &'a Axis,
}

impl Frame<'_> {
    /// Returns the room for ticks and labels.
    pub(super) fn margins(&self, area: &Area, y: (f64, f64), sides: Sides) -> Margins {
        let label = 1.9 * LABEL.size;
        let top = if sides.y_label { label } else { 6.0 };
        let bottom = if sides.x_label { 22.0 + label } else { 22.0 };
        let scale = Scale::new(y, (area.bottom - bottom, area.top + top), self.y.is_log);
        let widths = self.y_ticks(&scale).into_iter().map(|(_, text)| TICK.width(&text));
        Margins { left: widths.fold(0.0, f64::max) + 10.0, top, right: 8.0, bottom }
    }

    fn y_ticks(&self, scale: &Scale) -> Vec<Tick> {
        let height = (scale.from - scale.to).abs();
        axis::ticks(self.y, scale, ((height / 34.0) as usize).clamp(2, 8))
    }

    /// Draws grid, ticks and labels; returns the scales of both axes.
    pub(super) fn draw(&self, scene: &mut Scene, place: &Place) -> (Scale, Scale) {
        let Place { plot, bounds: Bounds { x, y }, .. } = *place;
        let x_scale = Scale::new(x, (plot.left, plot.right), self.x.is_log);
        let y_scale = Scale::new(y, (plot.bottom, plot.top), self.y.is_log);
        for (at, text) in self.y_ticks(&y_scale) {
            scene.line(vec![(plot.left, at), (plot.right, at)], 1.0, GRID);
            let place = (plot.left - 8.0, at + TICK.cap_height() / 2.0);
            scene.text(Text::new(text, place, Anchor::End, TICK), MUTED);
        }
        scene.line(vec![(plot.left, plot.bottom), (plot.right, plot.bottom)], 1.0, AXIS);
        for (at, text) in axis::horizontal_ticks(self.x, self.levels, &x_scale) {
            scene.line(vec![(at, plot.bottom), (at, plot.bottom + 4.0)], 1.0, AXIS);
            let place = (at, plot.bottom + 8.0 + TICK.cap_height());
            scene.text(Text::new(text, place, Anchor::Middle, TICK), MUTED);
        }
        self.labels(scene, place);
        (x_scale, y_scale)
    }

    fn labels(&self, scene: &mut Scene, place: &Place) {
        let Place { area, plot, sides, .. } = place;
        if sides.x_label {
            let place =
                (f64::midpoint(plot.left, plot.right), plot.bottom + 22.0 + 1.5 * LABEL.size);
            let label = Text::new(self.x.label.clone(), place, Anchor::Middle, LABEL);
            scene.fitted(label, plot.width() + 30.0, TEXT);
        }
        if sides.y_label {
            let place = (area.left, plot.top - 0.9 * LABEL.size);
            let label = Text::new(self.y.label.clone(), place, Anchor::Start, LABEL);
            scene.fitted(label, area.width(), TEXT);
        }
    }
}
