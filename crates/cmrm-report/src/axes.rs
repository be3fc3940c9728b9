//! Axes, and panels with axes to draw curves in.

use crate::scene::{Anchor, Dash, Ink, Scene};

/// Size of most words in a figure.
pub const WORDS: f64 = 12.0;
/// Most ticks on a numeric axis.
const TICKS: f64 = 6.0;

/// How the numbers of an axis are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// As they are.
    Plain,
    /// Shares, in per cent.
    Percent,
}

/// An axis.
#[derive(Debug, Clone)]
pub struct Axis {
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<(f64, String)>,
    pub title: String,
}

impl Axis {
    /// Numbers from `low` to `high`, widened to whole ticks where `widen` says so.
    pub fn numbers(low: f64, high: f64, widen: bool, unit: Unit, title: &str) -> Self {
        let (mut low, mut high) = (low, high);
        if high - low < 1e-9 * low.abs().max(high.abs()).max(1e-3) {
            let half = 0.5 * low.abs().max(0.1);
            (low, high) = (low - half, high + half);
        }
        let step = nice_step((high - low) / TICKS);
        if widen {
            (low, high) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
        }
        let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        let ticks = (first..=last).map(|at| (at as f64 * step, number(at as f64 * step, step, unit))).collect();
        Axis { low, high, ticks, title: title.into() }
    }

    /// Evenly spaced names.
    pub fn names(names: &[String], title: &str) -> Self {
        let ticks = names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect();
        Axis { low: -0.4, high: names.len() as f64 - 0.6, ticks, title: title.into() }
    }
}

/// 1, 2 or 5 times a power of ten, at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|&step| step >= rough * 0.999).unwrap_or(power)
}

/// A number with the digits that its neighbours one step away need.
fn number(value: f64, step: f64, unit: Unit) -> String {
    let (value, step, sign) = match unit {
        Unit::Plain => (value, step, ""),
        Unit::Percent => (100.0 * value, 100.0 * step, " %"),
    };
    let digits = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{}{sign}", minus(format!("{:.digits$}", if value == 0.0 { 0.0 } else { value })))
}

/// With the sign that typesetters use.
pub fn minus(text: String) -> String {
    text.replace('-', "−")
}

/// A rectangle with axes.
#[derive(Debug)]
pub struct Panel<'a> {
    pub scene: &'a mut Scene,
    pub x: Axis,
    pub y: Axis,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl<'a> Panel<'a> {
    /// Draws the axes: grid lines across for the numbers going up, ticks for those going right.
    pub fn new(scene: &'a mut Scene, place: [f64; 4], x: Axis, y: Axis) -> Self {
        let [left, top, width, height] = place;
        let mut panel = Panel { scene, x, y, left, top, width, height };
        panel.frame();
        panel
    }

    fn frame(&mut self) {
        let (left, right) = (self.left, self.left + self.width);
        let bottom = self.top + self.height;
        for (value, name) in self.y.ticks.clone() {
            let at = self.at_y(value);
            self.scene.line(&[(left, at), (right, at)], Ink::Grid, 1.0, Dash::Solid);
            self.scene.text((left - 8.0, at + 4.0), name, WORDS, Ink::Muted, Anchor::End);
        }
        self.scene.line(&[(left, bottom), (right, bottom)], Ink::Muted, 1.0, Dash::Solid);
        for (value, name) in self.x.ticks.clone() {
            let at = self.at_x(value);
            self.scene.line(&[(at, bottom), (at, bottom + 4.0)], Ink::Muted, 1.0, Dash::Solid);
            self.scene.text((at, bottom + 18.0), name, WORDS, Ink::Muted, Anchor::Middle);
        }
        let middle = left + self.width / 2.0;
        self.scene.text((middle, bottom + 37.0), self.x.title.clone(), WORDS, Ink::Text, Anchor::Middle);
        // Above the axis and not beside it: it reads without turning the head.
        self.scene.text((left - 8.0, self.top - 10.0), self.y.title.clone(), WORDS, Ink::Text, Anchor::Start);
    }

    /// Where a number of the x axis stands.
    pub fn at_x(&self, value: f64) -> f64 {
        self.left + self.width * (value - self.x.low) / (self.x.high - self.x.low)
    }

    /// Where a number of the y axis stands.
    pub fn at_y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - (value - self.y.low) / (self.y.high - self.y.low))
    }

    /// Where a point stands.
    pub fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.at_x(x), self.at_y(y))
    }

    /// A curve.
    pub fn curve(&mut self, points: &[(f64, f64)], ink: Ink, dash: Dash) {
        let points: Vec<(f64, f64)> = points.iter().map(|&point| self.at(point)).collect();
        if let [point] = points.as_slice() {
            self.scene.dot(*point, 3.0, ink, false);
        } else {
            self.scene.line(&points, ink, 2.0, dash);
        }
    }

    /// The area between a curve and the axis below.
    pub fn under(&mut self, points: &[(f64, f64)], ink: Ink, opacity: f64) {
        let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return };
        let floor = self.y.low.max(0.0);
        let closed = [&[(first.0, floor)], points, &[(last.0, floor)]].concat();
        let closed: Vec<(f64, f64)> = closed.iter().map(|&point| self.at(point)).collect();
        self.scene.area(&closed, ink, opacity);
    }

    /// Bars that stand on `below`, side by side from the left end of the x axis to the right.
    pub fn bars(&mut self, heights: &[f64], below: Option<&[f64]>, ink: Ink, opacity: f64) {
        let step = (self.x.high - self.x.low) / heights.len().max(1) as f64;
        for (at, &height) in heights.iter().enumerate() {
            let floor = below.map_or(0.0, |below| below[at]);
            if height <= 0.0 {
                continue;
            }
            let (left, right) = (self.x.low + step * at as f64, self.x.low + step * (at + 1) as f64);
            let (x, y) = self.at((left, floor + height));
            // A hair of paper between bars.
            let width = self.at_x(right) - x - 0.6;
            let tall = self.at_y(floor) - y;
            self.scene.rectangle((x + 0.3, y), (width, tall), ink, opacity);
        }
    }

    /// The outline of bars.
    pub fn steps(&mut self, heights: &[f64], ink: Ink, dash: Dash) {
        let step = (self.x.high - self.x.low) / heights.len().max(1) as f64;
        let mut points = Vec::with_capacity(2 * heights.len());
        for (at, &height) in heights.iter().enumerate() {
            points.push((self.x.low + step * at as f64, height));
            points.push((self.x.low + step * (at + 1) as f64, height));
        }
        let points: Vec<(f64, f64)> = points.iter().map(|&point| self.at(point)).collect();
        self.scene.line(&points, ink, 1.5, dash);
    }

    /// A line from top to bottom with words at its head, on the side that has room.
    pub fn upright(&mut self, value: f64, words: &str, ink: Ink) {
        let at = self.at_x(value);
        let (top, bottom) = (self.top, self.top + self.height);
        self.scene.line(&[(at, top), (at, bottom)], ink, 1.5, Dash::Long);
        let right = value < 0.5 * (self.x.low + self.x.high);
        let (place, anchor) = if right { (at + 6.0, Anchor::Start) } else { (at - 6.0, Anchor::End) };
        self.scene.text((place, top + 10.0), words, WORDS, ink, anchor);
        self.scene.bold();
    }

    /// A band from top to bottom.
    pub fn band(&mut self, low: f64, high: f64, ink: Ink, opacity: f64) {
        let (low, high) = (self.at_x(low.max(self.x.low)), self.at_x(high.min(self.x.high)));
        self.scene.rectangle((low, self.top), ((high - low).max(1.0), self.height), ink, opacity);
    }

    /// Names at the right ends of curves, moved apart where they would overlap.
    pub fn end_labels(&mut self, labels: &[(f64, String, Ink)]) {
        const APART: f64 = 15.0;
        let mut placed: Vec<(f64, &String, Ink)> =
            labels.iter().map(|(y, name, ink)| (self.at_y(*y), name, *ink)).collect();
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        for at in 1..placed.len() {
            placed[at].0 = placed[at].0.max(placed[at - 1].0 + APART);
        }
        // What was pushed out at the bottom pushes back.
        let mut limit = self.top + self.height + 4.0;
        for label in placed.iter_mut().rev() {
            label.0 = label.0.min(limit);
            limit = label.0 - APART;
        }
        let x = self.left + self.width + 8.0;
        for (y, name, ink) in placed {
            self.scene.text((x, y + 4.0), name.clone(), WORDS, ink, Anchor::Start);
            self.scene.bold();
        }
    }
}
