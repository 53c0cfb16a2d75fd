//! Lines with bands, named at their ends.

use crate::figure::axis::{Scale, bounds};
use crate::figure::draw::{Bounds, Draw, Place, Sides};
use crate::figure::font::Type;
use crate::figure::ink::{AXIS, Hue, PAGE, TEXT, series};
use crate::figure::labels::{Wish, spread};
use crate::figure::lines_finding::{Crossing, crossings};
use crate::figure::plot_area::Frame;
use crate::figure::scene::{Anchor, Area, Margins, Scene, Shape, Text};
use crate::figure::{Levels, Lines, Point, Series};

const NAME: Type = Type::semibold(12.5);
/// The widest that names beside their lines may be, and in how many lines of text.
const NAME_WIDTH: f64 = 150.0;
const NAME_LINES: usize = 2;
/// Room between a line's end and its name.
const NAME_GAP: f64 = 12.0;
/// More levels than these are not shown as dots.
const DOTS_MAX: usize = 30;

impl Lines {
    fn frame(&self) -> Frame<'_> {
        Frame { x: &self.x, levels: &self.levels, y: &self.y }
    }

    fn name_lines(series: &Series) -> Vec<String> {
        NAME.wrapped(&series.name, NAME_WIDTH, NAME_LINES)
    }

    fn names_width(&self) -> f64 {
        let lines = self.series.iter().flat_map(Lines::name_lines);
        lines.map(|line| NAME.width(&line)).fold(0.0, f64::max)
    }

    fn draw_band(&self, scene: &mut Scene, series: &Series, hue: Hue, (x, y): (&Scale, &Scale)) {
        let place = |level: usize, value: f64| (x.at(self.levels.number(level)), y.at(value));
        if series.points.iter().all(|point| point.high <= point.low) {
            return;
        }
        let upper = series.points.iter().enumerate().map(|(level, point)| place(level, point.high));
        let lower = series.points.iter().enumerate().map(|(level, point)| place(level, point.low));
        let points = upper.chain(lower.rev()).collect();
        scene.add(Shape::Surface { points }, hue.fill).opacity = 0.16;
    }

    fn draw_line(&self, scene: &mut Scene, series: &Series, hue: Hue, (x, y): (&Scale, &Scale)) {
        let place =
            |(level, point): (usize, &Point)| (x.at(self.levels.number(level)), y.at(point.value));
        let points: Vec<_> = series.points.iter().enumerate().map(place).collect();
        scene.line(points.clone(), 2.2, hue.fill);
        let is_shown = points.len() <= DOTS_MAX;
        for (level, (center, point)) in points.into_iter().zip(&series.points).enumerate() {
            let (radius, opacity) = if is_shown { (2.8, 1.0) } else { (6.0, 0.0) };
            let dot = scene.disk(center, radius, hue.fill);
            dot.opacity = opacity;
            dot.name = Some(self.point_name(series, level, point));
        }
    }

    fn point_name(&self, series: &Series, level: usize, point: &Point) -> String {
        let unit = self.y.unit;
        let value = unit.value(point.value);
        let band = if point.high > point.low {
            format!(" ({} to {})", unit.value(point.low), unit.value(point.high))
        } else {
            String::new()
        };
        let name =
            if series.name.is_empty() { String::new() } else { format!("{}, ", series.name) };
        format!("{name}{}: {value}{band}", self.levels.say(&self.x, level))
    }

    fn draw_names(&self, scene: &mut Scene, plot: &Area, y: &Scale) {
        let names: Vec<Vec<String>> = self.series.iter().map(Lines::name_lines).collect();
        let wish = |(series, lines): (&Series, &Vec<String>)| Wish {
            center: series.points.last().map_or(plot.bottom, |point| y.at(point.value)),
            length: lines.len() as f64 * NAME.line_height(),
        };
        let wishes: Vec<Wish> = self.series.iter().zip(&names).map(wish).collect();
        let centers = spread(&wishes, plot.top - 6.0, plot.bottom + 6.0);
        for (number, lines) in names.iter().enumerate() {
            let (wish, center) = (wishes[number], centers[number]);
            if (wish.center - center).abs() > 5.0 {
                let ends =
                    vec![(plot.right + 3.0, wish.center), (plot.right + NAME_GAP - 3.0, center)];
                scene.line(ends, 1.0, AXIS);
            }
            let first =
                center - wish.length / 2.0 + f64::midpoint(NAME.line_height(), NAME.cap_height());
            for (row, line) in lines.iter().enumerate() {
                let at = (plot.right + NAME_GAP, first + row as f64 * NAME.line_height());
                let text = Text::new(line.clone(), at, Anchor::Start, NAME);
                let is_cut = line.ends_with('…') && !self.series[number].name.ends_with('…');
                let mark = scene.text(text, series(number).text);
                mark.name = is_cut.then(|| self.series[number].name.clone());
            }
        }
    }

    /// Marks where the best series changes.
    fn draw_crossings(&self, scene: &mut Scene, plot: &Area, (x, y): (&Scale, &Scale)) {
        for Crossing { at, value, .. } in crossings(self) {
            let center = (x.at(at), y.at(value));
            scene.line(vec![center, (center.0, plot.bottom)], 1.0, AXIS);
            scene.disk(center, 5.0, TEXT);
            let text =
                if self.x.is_whole { self.x.unit.value(at.floor()) } else { self.x.unit.value(at) };
            scene.disk(center, 3.2, PAGE).name = Some(format!("equal at {}", self.x.say(at)));
            let is_right = center.0 + 8.0 + NAME.width(&text) < plot.right;
            let (anchor, shift) = if is_right { (Anchor::Start, 7.0) } else { (Anchor::End, -7.0) };
            let place = (center.0 + shift, plot.bottom - 7.0);
            scene.plated(Text::new(text, place, anchor, NAME), TEXT);
        }
    }
}

impl Draw for Lines {
    fn bounds(&self) -> Bounds {
        let points = self.series.iter().flat_map(|series| &series.points);
        let y =
            bounds(points.flat_map(|point| [point.low, point.value, point.high]), self.y.is_log);
        let last = self.levels.count().saturating_sub(1);
        let x = match &self.levels {
            Levels::Names(_) => (-0.5, last as f64 + 0.5),
            Levels::Values(_) => (self.levels.number(0), self.levels.number(last)),
        };
        Bounds { x, y }
    }

    fn margins(&self, area: &Area, bounds: &Bounds, sides: Sides) -> Margins {
        let frame = self.frame().margins(area, bounds.y, sides);
        let names = if sides.names { NAME_GAP + self.names_width() } else { 0.0 };
        Margins { right: frame.right.max(names), ..frame }
    }

    fn draw(&self, scene: &mut Scene, place: &Place) {
        let Place { plot, sides, .. } = place;
        let (x, y) = self.frame().draw(scene, place);
        for (number, one) in self.series.iter().enumerate() {
            self.draw_band(scene, one, series(number), (&x, &y));
        }
        for (number, one) in self.series.iter().enumerate() {
            self.draw_line(scene, one, series(number), (&x, &y));
        }
        self.draw_crossings(scene, plot, (&x, &y));
        if sides.names {
            self.draw_names(scene, plot, &y);
        }
    }

    fn legend(&self) -> Vec<(String, Hue)> {
        let entry = |(number, one): (usize, &Series)| (one.name.clone(), series(number));
        self.series.iter().enumerate().map(entry).collect()
    }

    fn has_room_for_names(&self, area: &Area, bounds: &Bounds) -> bool {
        let sides = Sides { y_label: true, x_label: true, names: true };
        let plot = area.inside(&self.margins(area, bounds, sides));
        let lines: usize = self.series.iter().map(|one| Lines::name_lines(one).len()).sum();
        let is_high = lines as f64 * NAME.line_height() <= plot.height();
        self.series.len() > 1 && is_high && plot.width() >= 0.5 * area.width()
    }

    fn description(&self) -> String {
        let last = self.levels.count().saturating_sub(1);
        let one = |series: &Series| match (series.points.first(), series.points.last()) {
            (Some(first), Some(end)) => format!(
                "{} {} at {}, {} at {}",
                series.name,
                self.y.unit.value(first.value),
                self.levels.say(&self.x, 0),
                self.y.unit.value(end.value),
                self.levels.say(&self.x, last)
            ),
            _ => series.name.clone(),
        };
        let series: Vec<String> =
            self.series.iter().map(|series| one(series).trim().to_owned()).collect();
        format!("Lines of {} over {}: {}.", self.y.label, self.x.label, series.join("; "))
    }
}
