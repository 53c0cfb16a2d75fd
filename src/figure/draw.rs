//! From data to a scene: title, subtitle and footer around a grid of panels.

use crate::figure::finding;
use crate::figure::font::Type;
use crate::figure::ink::{Hue, MUTED, TEXT};
use crate::figure::scene::{Anchor, Area, Margins, Scene, Text};
use crate::figure::{Chart, Figure, Panel};

const TITLE: Type = Type::semibold(18.0);
const SUBTITLE: Type = Type::regular(13.0);
const HEADING: Type = Type::semibold(13.0);
const LEGEND: Type = Type::semibold(12.5);
const FOOTER: Type = Type::regular(10.5);

/// Room between the page's edge and everything.
const MARGIN: f64 = 20.0;
/// Room between panels.
const GAP: f64 = 24.0;
/// Lines of a title, of a subtitle, of each entry of a footer.
const LINES_MAX: usize = 3;

/// Bounds of what a chart shows; panels share them, so that they can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
}

impl Bounds {
    fn or(self, other: Bounds) -> Bounds {
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        Bounds { x: both(self.x, other.x), y: both(self.y, other.y) }
    }
}

/// What a panel says besides its plot and ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    /// What its vertical axis means.
    pub(super) y_label: bool,
    /// What its horizontal axis means.
    pub(super) x_label: bool,
    /// Names of series beside them; else a legend names them.
    pub(super) names: bool,
}

/// Where a chart is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// All of it.
    pub(super) area: Area,
    /// What is left between the margins.
    pub(super) plot: Area,
    pub(super) bounds: Bounds,
    pub(super) sides: Sides,
}

/// What each kind of chart can do.
pub(super) trait Draw {
    /// Returns the bounds of its data.
    fn bounds(&self) -> Bounds;

    /// Returns the room that texts around its plot need, in an area for all of it.
    fn margins(&self, area: &Area, bounds: &Bounds, sides: Sides) -> Margins;

    /// Draws it.
    fn draw(&self, scene: &mut Scene, place: &Place);

    /// Returns names and hues for a legend.
    fn legend(&self) -> Vec<(String, Hue)>;

    /// Returns whether it can name its series beside them, in an area for all of it.
    fn has_room_for_names(&self, area: &Area, bounds: &Bounds) -> bool;

    /// Says in words what the drawing shows, for those who do not see it.
    fn description(&self) -> String;
}

impl Chart {
    fn draw(&self) -> &dyn Draw {
        match self {
            Chart::Lines(lines) => lines,
            Chart::Bars(bars) => bars,
        }
    }
}

impl Figure {
    /// Returns the title: what is set, or else the finding.
    pub fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| finding::of(&self.panels))
    }

    /// Lays the figure out.
    pub fn scene(&self) -> Scene {
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        let mut scene = Scene::new(&self.id, width, height);
        scene.title = self.title();
        scene.description = self.description();
        let mut area = Area {
            left: MARGIN,
            top: MARGIN,
            right: width - MARGIN,
            bottom: height - MARGIN * 0.8,
        };
        area.top = self.head(&mut scene, &area);
        area.bottom = self.foot(&mut scene, &area);
        if !self.panels.is_empty() {
            self.draw_panels(&mut scene, area);
        }
        scene
    }

    fn head(&self, scene: &mut Scene, area: &Area) -> f64 {
        let mut top = area.top;
        let title = scene.title.clone();
        for line in TITLE.wrapped(&title, area.width(), LINES_MAX) {
            let at = (area.left, top + TITLE.cap_height());
            scene.text(Text::new(line, at, Anchor::Start, TITLE), TEXT);
            top += TITLE.line_height();
        }
        top += 1.0;
        for line in SUBTITLE.wrapped(&self.subtitle, area.width(), LINES_MAX) {
            let at = (area.left, top + SUBTITLE.cap_height());
            scene.text(Text::new(line, at, Anchor::Start, SUBTITLE), MUTED);
            top += SUBTITLE.line_height();
        }
        top + 10.0
    }

    fn foot(&self, scene: &mut Scene, area: &Area) -> f64 {
        let lines = |entry: &String| FOOTER.wrapped(entry, area.width(), LINES_MAX);
        let lines: Vec<String> = self.footer.iter().flat_map(lines).collect();
        let top = area.bottom - lines.len() as f64 * FOOTER.line_height();
        for (at, line) in lines.into_iter().enumerate() {
            let y = top + at as f64 * FOOTER.line_height() + FOOTER.cap_height() + 3.0;
            scene.text(Text::new(line, (area.left, y), Anchor::Start, FOOTER), MUTED);
        }
        top - 8.0
    }

    fn draw_panels(&self, scene: &mut Scene, mut area: Area) {
        let charts: Vec<&dyn Draw> = self.panels.iter().map(|panel| panel.chart.draw()).collect();
        let bounds = charts.iter().map(|chart| chart.bounds()).reduce(Bounds::or);
        let Some(bounds) = bounds else { return };
        if let [chart] = charts[..] {
            let names = chart.has_room_for_names(&area, &bounds);
            if !names {
                area.top = legend(scene, &area, &chart.legend());
            }
            let sides = Sides { y_label: true, x_label: true, names };
            let plot = area.inside(&chart.margins(&area, &bounds, sides));
            return chart.draw(scene, &Place { area, plot, bounds, sides });
        }
        area.top = legend(scene, &area, &charts[0].legend());
        let grid = Grid::new(charts.len(), &area);
        for (at, (panel, chart)) in self.panels.iter().zip(&charts).enumerate() {
            let mut area = grid.cell(at);
            let sides = grid.sides(at);
            let needed = |at: usize| charts[at].margins(&area, &bounds, grid.sides(at));
            let shared = grid.row(at).map(needed).fold(Margins::default(), Margins::or);
            let own = Margins { left: needed(at).left, right: needed(at).right, ..shared };
            heading(scene, &area, own.left, panel);
            area.top += HEADING.line_height() + 4.0;
            chart.draw(scene, &Place { area, plot: area.inside(&own), bounds, sides });
        }
    }

    fn description(&self) -> String {
        let panel = |panel: &Panel| match &panel.heading {
            None => panel.chart.draw().description(),
            Some(heading) => format!("{heading}: {}", panel.chart.draw().description()),
        };
        let panels = self.panels.iter().map(panel);
        let subtitle = Some(self.subtitle.clone()).filter(|subtitle| !subtitle.is_empty());
        let parts = subtitle.into_iter().chain(panels).chain(self.footer.iter().cloned());
        parts.collect::<Vec<_>>().join(" ")
    }
}

fn heading(scene: &mut Scene, cell: &Area, left: f64, panel: &Panel) {
    let Some(heading) = &panel.heading else { return };
    let at = (cell.left + left, cell.top + HEADING.cap_height());
    let text = Text::new(heading.clone(), at, Anchor::Start, HEADING);
    scene.fitted(text, cell.width() - left, TEXT);
}

/// Cells for panels, of the same size but that the first of each row also has what stands on the
/// left of all.
struct Grid {
    area: Area,
    columns: usize,
    rows: usize,
    count: usize,
}

impl Grid {
    fn new(count: usize, area: &Area) -> Grid {
        let columns = match count {
            0..=3 => count,
            4 => 2,
            5..=6 | 9 => 3,
            _ => 4,
        };
        let narrowest = 150.0;
        let columns = columns.min((area.width() / narrowest) as usize).max(1);
        Grid { area: *area, columns, rows: count.div_ceil(columns), count }
    }

    fn cell(&self, at: usize) -> Area {
        let (column, row) = ((at % self.columns) as f64, (at / self.columns) as f64);
        let gaps = |count: usize| GAP * (count - 1) as f64;
        let width = (self.area.width() - gaps(self.columns)) / self.columns as f64;
        let height = (self.area.height() - gaps(self.rows)) / self.rows as f64;
        let left = self.area.left + column * (width + GAP);
        let top = self.area.top + row * (height + GAP);
        Area { left, top, right: left + width, bottom: top + height }
    }

    /// The panels in the row of one.
    fn row(&self, at: usize) -> std::ops::Range<usize> {
        let first = at / self.columns * self.columns;
        first..(first + self.columns).min(self.count)
    }

    fn sides(&self, at: usize) -> Sides {
        let is_lowest = at + self.columns >= self.count;
        Sides { y_label: at.is_multiple_of(self.columns), x_label: is_lowest, names: false }
    }
}

/// Draws a legend where there is more than one thing to name; returns where it ends.
fn legend(scene: &mut Scene, area: &Area, entries: &[(String, Hue)]) -> f64 {
    const BOX: f64 = 10.0;
    if entries.len() < 2 {
        return area.top;
    }
    let (mut x, mut top) = (area.left, area.top);
    for (name, hue) in entries {
        let shown = LEGEND.fitted(name, area.width() - BOX - 6.0);
        let width = BOX + 6.0 + LEGEND.width(&shown);
        if x > area.left && x + width > area.right {
            (x, top) = (area.left, top + LEGEND.line_height() + 2.0);
        }
        let baseline = top + LEGEND.cap_height();
        let square =
            Area { left: x, top: baseline - BOX + 0.5, right: x + BOX, bottom: baseline + 0.5 };
        scene.rectangle(square, hue.fill);
        let text = Text::new(name.clone(), (x + BOX + 6.0, baseline), Anchor::Start, LEGEND);
        scene.fitted(text, area.width() - BOX - 6.0, TEXT);
        x += width + 18.0;
    }
    top + LEGEND.line_height() + 8.0
}
