//! Stacked bars, their parts named above the first one where there is room.

use crate::figure::axis::{Scale, TICK, bounds, ticks};
use crate::figure::draw::{Bounds, Draw, Place, Sides};
use crate::figure::font::Type;
use crate::figure::ink::{AXIS, GRID, Hue, MUTED, PAGE, TEXT, series, text_on};
use crate::figure::plot_area::LABEL;
use crate::figure::scene::{Anchor, Area, Margins, Point, Scene, Text};
use crate::figure::{Bar, Bars, Part};

const VALUE: Type = Type::semibold(12.5);
const PART: Type = Type::semibold(12.5);
const INSIDE: Type = Type::regular(11.5);
/// The largest share of the width for names of bars, and in how many lines of text.
const NAMES_SHARE: f64 = 0.3;
const NAME_LINES: usize = 2;
/// The thickest that a bar gets.
const THICKEST: f64 = 44.0;

impl Bars {
    /// Returns the room of each bar in a plot of some height.
    fn slot(&self, height: f64) -> f64 {
        height / self.bars.len().max(1) as f64
    }

    /// Letters of names; smaller where bars are many.
    fn name_type(slot: f64) -> Type {
        Type::regular((0.85 * slot).min(13.0))
    }

    fn name_lines(bar: &Bar, area: &Area, slot: f64) -> Vec<String> {
        let letters = Bars::name_type(slot);
        let lines = ((slot / letters.line_height()) as usize).clamp(1, NAME_LINES);
        letters.wrapped(&bar.name, NAMES_SHARE * area.width(), lines)
    }

    fn value(&self, bar: &Bar) -> String {
        self.x.unit.value(bar.total())
    }

    /// Returns parts with where each begins and ends in a bar.
    fn stacked<'a>(&'a self, bar: &'a Bar) -> impl Iterator<Item = (&'a Part, f64, f64)> {
        let mut start = 0.0;
        self.parts.iter().zip(&bar.parts).map(move |(part, length)| {
            let from = start;
            start += length;
            (part, from, start)
        })
    }

    /// Returns the names of parts above the first bar, each beginning where its part does or a
    /// little after; `None` where one would begin beyond its part.
    fn part_labels(&self, x: &Scale, right: f64) -> Option<Vec<(usize, f64)>> {
        const APART: f64 = 12.0;
        let (mut labels, mut end) = (Vec::new(), f64::NEG_INFINITY);
        for (number, (part, from, to)) in self.stacked(self.bars.first()?).enumerate() {
            let start = x.at(from).max(end + APART);
            if to <= from || start > x.at(to) - 4.0 {
                return None;
            }
            end = start + PART.width(&part.name);
            labels.push((number, start));
        }
        (end <= right).then_some(labels)
    }

    fn scale(plot: &Area, bounds: &Bounds) -> Scale {
        Scale::new(bounds.x, (plot.left, plot.right), false)
    }

    fn draw_axis(&self, scene: &mut Scene, plot: &Area, x: &Scale, sides: Sides) {
        for (at, text) in ticks(&self.x, x, ((plot.width() / 80.0) as usize).clamp(2, 8)) {
            scene.line(vec![(at, plot.top), (at, plot.bottom)], 1.0, GRID);
            let place = (at, plot.bottom + 6.0 + TICK.cap_height());
            scene.text(Text::new(text, place, Anchor::Middle, TICK), MUTED);
        }
        if sides.x_label {
            let middle = f64::midpoint(plot.left, plot.right);
            let place = (middle, plot.bottom + 20.0 + 1.5 * LABEL.size);
            let label = Text::new(self.x.label.clone(), place, Anchor::Middle, LABEL);
            scene.fitted(label, plot.width(), TEXT);
        }
    }

    fn draw_bar(&self, scene: &mut Scene, bar: &Bar, x: &Scale, (top, bottom): (f64, f64)) {
        let total = bar.total();
        for (part, from, to) in self.stacked(bar) {
            if to <= from {
                continue;
            }
            let area = Area { left: x.at(from), top, right: x.at(to), bottom };
            let (fill, value) = (series(part.hue).fill, self.x.unit.value(to - from));
            let share = 100.0 * (to - from) / total;
            let name = format!("{}, {}: {value} ({share:.0} %)", bar.name, part.name);
            scene.rectangle(area, fill).name = Some(name);
            let is_roomy = INSIDE.width(&value) + 8.0 <= area.width();
            if is_roomy && self.parts.len() > 1 && bottom - top >= 16.0 {
                let y = f64::midpoint(top, bottom) + INSIDE.cap_height() / 2.0;
                let middle = f64::midpoint(area.left, area.right);
                scene.text(Text::new(value, (middle, y), Anchor::Middle, INSIDE), text_on(fill));
            }
            // A hair of the page between parts, so that they are told apart without color.
            scene.line(vec![(area.right, top), (area.right, bottom)], 1.0, PAGE);
        }
        self.draw_value(scene, bar, x, (top, bottom));
    }

    /// Writes the whole at a bar's end, and draws its interval under the bar.
    fn draw_value(&self, scene: &mut Scene, bar: &Bar, x: &Scale, (top, bottom): (f64, f64)) {
        let letters = Type { size: VALUE.size.min(1.25 * (bottom - top)), ..VALUE };
        let baseline = f64::midpoint(top, bottom) + letters.cap_height() / 2.0;
        let place = (x.at(bar.total()) + 7.0, baseline);
        scene.plated(Text::new(self.value(bar), place, Anchor::Start, letters), TEXT);
        let Some(half) = bar.half_width.filter(|half| *half > 0.0) else { return };
        let ends = (bar.total() - half, bar.total() + half);
        let (low, high, y) = (x.at(ends.0), x.at(ends.1), bottom + 4.0);
        if high - low > 4.0 {
            let unit = self.x.unit;
            let name = format!("95 % interval: {} to {}", unit.value(ends.0), unit.value(ends.1));
            scene.line(vec![(low, y), (high, y)], 1.2, MUTED).name = Some(name);
            for end in [low, high] {
                scene.line(vec![(end, y - 2.5), (end, y + 2.5)], 1.2, MUTED);
            }
        }
    }

    fn draw_name(scene: &mut Scene, bar: &Bar, lines: &[String], (place, slot): (Point, f64)) {
        let letters = Bars::name_type(slot);
        let height = (lines.len() as f64 - 1.0) * letters.line_height();
        let first = place.1 - height / 2.0 + letters.cap_height() / 2.0;
        for (row, line) in lines.iter().enumerate() {
            let at = (place.0, first + row as f64 * letters.line_height());
            let is_cut = line.ends_with('…') && !bar.name.ends_with('…');
            let mark = scene.text(Text::new(line.clone(), at, Anchor::End, letters), TEXT);
            mark.name = is_cut.then(|| bar.name.clone());
        }
    }
}

impl Draw for Bars {
    fn bounds(&self) -> Bounds {
        let ends = self.bars.iter().map(|bar| bar.total() + bar.half_width.unwrap_or(0.0));
        let (_, high) = bounds(ends.chain([0.0]), false);
        Bounds { x: (0.0, high), y: (0.0, 1.0) }
    }

    fn margins(&self, area: &Area, _: &Bounds, sides: Sides) -> Margins {
        let values = self.bars.iter().map(|bar| VALUE.width(&self.value(bar)));
        let top = if sides.names && self.parts.len() > 1 { PART.line_height() } else { 0.0 };
        let bottom = if sides.x_label { 20.0 + 2.0 * LABEL.size } else { 22.0 };
        let slot = self.slot(area.height() - top - bottom);
        let lines = self.bars.iter().flat_map(|bar| Bars::name_lines(bar, area, slot));
        let names = lines.map(|line| Bars::name_type(slot).width(&line)).fold(0.0, f64::max);
        Margins { left: names + 10.0, top, right: values.fold(0.0, f64::max) + 8.0, bottom }
    }

    fn draw(&self, scene: &mut Scene, place: &Place) {
        let Place { area, plot, bounds, sides } = place;
        let x = Bars::scale(plot, bounds);
        self.draw_axis(scene, plot, &x, *sides);
        let slot = self.slot(plot.height());
        let thickness = (0.68 * slot).min(THICKEST);
        for (at, bar) in self.bars.iter().enumerate() {
            let middle = plot.top + (at as f64 + 0.5) * slot;
            let ends = (middle - thickness / 2.0, middle + thickness / 2.0);
            self.draw_bar(scene, bar, &x, ends);
            let lines = Bars::name_lines(bar, area, slot);
            Bars::draw_name(scene, bar, &lines, ((plot.left - 10.0, middle), slot));
        }
        scene.line(vec![(plot.left, plot.top), (plot.left, plot.bottom)], 1.0, AXIS);
        if sides.names
            && let Some(labels) = self.part_labels(&x, scene.width)
        {
            let first = plot.top + 0.5 * slot - thickness / 2.0;
            for (number, start) in labels {
                let part = &self.parts[number];
                let text = Text::new(part.name.clone(), (start, first - 6.0), Anchor::Start, PART);
                scene.text(text, series(part.hue).text);
            }
        }
    }

    fn legend(&self) -> Vec<(String, Hue)> {
        self.parts.iter().map(|part| (part.name.clone(), series(part.hue))).collect()
    }

    fn has_room_for_names(&self, area: &Area, bounds: &Bounds) -> bool {
        let sides = Sides { y_label: true, x_label: true, names: true };
        let plot = area.inside(&self.margins(area, bounds, sides));
        self.part_labels(&Bars::scale(&plot, bounds), area.right).is_some()
    }

    fn description(&self) -> String {
        let part = |(part, from, to): (&Part, f64, f64)| {
            format!("{} {}", part.name, self.x.unit.value(to - from))
        };
        let bar = |bar: &Bar| {
            let parts: Vec<String> = self.stacked(bar).map(part).collect();
            format!("{} {}: {}", bar.name, self.value(bar), parts.join(", "))
        };
        let bars: Vec<String> = self.bars.iter().map(bar).collect();
        format!("Stacked bars of {}. {}.", self.x.label, bars.join("; "))
    }
}
