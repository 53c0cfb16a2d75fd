//! Goal: whatever the data and names are, texts stay on the page and apart, and SVG stays XML.
//! Method: figures of all kinds with long, many and hostile names, at several sizes.

use crate::figure::{
    Axis, Bar, Bars, Better, Chart, Figure, HUES, Levels, Lines, Panel, Part, Point, Series, Theme,
    Unit,
};

fn figure(charts: Vec<Chart>, size: (u32, u32)) -> Figure {
    let alone = charts.len() == 1;
    let panel = |(at, chart)| Panel { heading: (!alone).then(|| format!("panel {at}")), chart };
    Figure {
        id: "test".to_owned(),
        title: None,
        subtitle: "Mean over 256 replications with its 95 % interval".to_owned(),
        footer: vec!["scenario.toml · prices of 2026-11-30 · seed 1".to_owned()],
        size,
        panels: charts.into_iter().enumerate().map(panel).collect(),
    }
}

/// Names as users may choose them.
const NAMES: [&str; 8] = [
    "fork",
    "fresh on a cheaper model that is described at some length, with its settings",
    "<script>alert(\"&\")</script>",
    "並列で八人",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "",
    "a\nb\u{1b}[31m",
    "5m",
];

fn lines(count: usize, levels: Levels, is_log: bool) -> Chart {
    let series = |number: usize| {
        let at = |level: usize| 1.0 + (number * level) as f64 * 0.7 + number as f64 * 0.01;
        let points = (0..levels.count()).map(|level| Point::around(at(level), 0.2)).collect();
        Series { name: NAMES[number].to_owned(), points }
    };
    let best = vec![(count > 1).then_some(0); levels.count()];
    let label = "Cost of a run with all that its agents do, in US dollars of the day";
    let y = Axis { is_log, ..Axis::plain(label, Unit::Usd) };
    let x = Axis { is_log, ..Axis::plain("Children", Unit::Number) };
    let series = (0..count).map(series).collect();
    Chart::Lines(Lines { x, levels, y, better: Better::CHEAPER, series, best })
}

fn bars(count: usize, parts: usize) -> Chart {
    let bar = |number: usize| Bar {
        name: NAMES[number % NAMES.len()].to_owned(),
        parts: (0..parts).map(|part| (part * number % 5) as f64).collect(),
        half_width: Some(0.3),
    };
    Chart::Bars(Bars {
        x: Axis::plain("Cost", Unit::Usd),
        better: Better::CHEAPER,
        parts: (0..parts).map(|hue| Part { name: NAMES[hue % 8].to_owned(), hue }).collect(),
        bars: (0..count).map(bar).collect(),
        differ: vec![vec![true; count]; count],
    })
}

fn charts() -> Vec<Chart> {
    let values = |count: u32| Levels::Values((1..=count).map(f64::from).collect());
    let names = Levels::Names(NAMES[1..].iter().map(|name| (*name).to_owned()).collect());
    vec![
        lines(1, values(2), false),
        lines(2, values(20), true),
        lines(HUES, values(100), false),
        lines(HUES, names, false),
        lines(2, values(1), false),
        bars(1, 1),
        bars(2, 5),
        bars(8, 8),
        bars(15, 2),
    ]
}

#[test]
fn texts_stay_on_the_page_and_apart() {
    for chart in charts() {
        for size in [(760, 440), (480, 360), (1_200, 700)] {
            let scene = figure(vec![chart.clone()], size).scene();
            let faults = scene.text_faults();
            assert!(faults.is_empty(), "{size:?} {chart:?}: {faults:#?}");
        }
        for count in [2, 3, 4, 6] {
            let scene = figure(vec![chart.clone(); count], (900, 600)).scene();
            let faults = scene.text_faults();
            assert!(faults.is_empty(), "{count} {chart:?}: {faults:#?}");
        }
    }
}

#[test]
fn no_name_breaks_out_of_its_text() {
    for chart in charts() {
        let svg = figure(vec![chart], (760, 440)).scene().svg(Theme::Both);
        assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{svg}");
        let opened = svg.matches("<g>").count();
        assert_eq!(opened, svg.matches("</g>").count());
        assert_eq!(svg.matches("<svg ").count(), 1);
    }
}

#[test]
fn a_theme_changes_colors_and_nothing_else() {
    let scene = figure(vec![bars(2, 3)], (400, 300)).scene();
    let [light, dark, both] =
        [Theme::Light, Theme::Dark, Theme::Both].map(|theme| scene.svg(theme));
    assert!(light.contains("fill=\"#FFFFFF\"") && !dark.contains("fill=\"#FFFFFF\""));
    assert!(dark.contains("fill=\"#0D1117\"") && !light.contains("<style>"));
    assert!(both.contains("#test [fill=\"#FFFFFF\"]{fill:#0D1117}"), "{both}");
    assert_eq!(light.len(), dark.len());
    assert_eq!(scene.svg(Theme::Light), light, "the same bytes again");
}

#[test]
fn a_png_has_two_pixels_to_a_pixel_of_the_page() {
    let scene = figure(vec![bars(2, 3)], (200, 120)).scene();
    let [light, dark] = [Theme::Light, Theme::Dark].map(|theme| scene.png(theme));
    for (bytes, page) in [(&light, 255), (&dark, 0x0D)] {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (400, 240));
        assert_eq!(pixels[0], page);
    }
    assert_eq!(scene.png(Theme::Dark), dark, "the same bytes again");
}
