//! Shapes drawn by plotters, the same way on any of its backends.

use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, DrawingBackend};
use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::figure::ink::Rgb;
use crate::figure::scene::{Area, Mark, Point, Shape};

/// Draws a shape, `scale` pixels of the backend to a pixel of the page; texts are passed by.
pub(super) fn draw<B: DrawingBackend>(
    target: &DrawingArea<B, Shift>,
    mark: &Mark,
    color: Rgb,
    scale: f64,
) -> Result<(), String> {
    let pixel = |length: f64| (length * scale).round() as i32;
    let place = |(x, y): &Point| (pixel(*x), pixel(*y));
    let [red, green, blue] = color;
    // Plotters leaves out what cannot be seen, but it can be hovered over.
    let color = RGBColor(red, green, blue).mix(mark.opacity.max(0.001));
    let drawn = match &mark.shape {
        Shape::Line { points, width } => {
            let style = ShapeStyle::from(color).stroke_width(pixel(*width).max(1) as u32);
            target.draw(&PathElement::new(points.iter().map(place).collect::<Vec<_>>(), style))
        }
        Shape::Surface { points } => {
            target.draw(&Polygon::new(points.iter().map(place).collect::<Vec<_>>(), color))
        }
        Shape::Rectangle(Area { left, top, right, bottom }) => {
            let corners = [(pixel(*left), pixel(*top)), (pixel(*right), pixel(*bottom))];
            target.draw(&Rectangle::new(corners, color.filled()))
        }
        Shape::Disk { center, radius } => {
            target.draw(&Circle::new(place(center), pixel(*radius).max(1), color.filled()))
        }
        Shape::Text(_) => return Ok(()),
    };
    drawn.map_err(|error| error.to_string())
}
