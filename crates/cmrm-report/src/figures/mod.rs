//! The figures, one a file. Each says in words what it shows, for those who do not see it.

mod confidence;
mod confusion;
mod density;
mod difference;
mod filtered;
mod losses;
mod margins;
mod risk_coverage;
mod self_check;
mod sensitivity;
mod sets;
mod threshold;
mod validation;

use crate::data::Report;
use crate::scene::Scene;

/// A figure: a drawing with a name, a title, words for those who do not see it, and a note.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its file and of its place in the page.
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// What can be seen in it.
    pub alt: String,
    /// What to know when reading it: rows and labels used.
    pub note: String,
    /// The drawing.
    pub scene: Scene,
}

/// Every figure that the report has numbers for, in the order of the page.
pub fn figures(report: &Report) -> Vec<Figure> {
    let makers: [fn(&Report) -> Option<Figure>; 13] = [
        difference::figure,
        risk_coverage::figure,
        sets::figure,
        confusion::figure,
        self_check::figure,
        margins::figure,
        density::figure,
        losses::figure,
        validation::figure,
        filtered::figure,
        threshold::figure,
        confidence::figure,
        sensitivity::figure,
    ];
    makers.iter().filter_map(|make| make(report)).collect()
}

/// Width of a figure.
const WIDTH: f64 = 680.0;
/// How strongly bars of right and of wrong labels are drawn: far enough apart to tell them in grey.
const RIGHT: f64 = 0.92;
const WRONG: f64 = 0.55;

/// A title that stands in the drawing, so that it goes along into a file.
fn titled(height: f64, title: &str) -> Scene {
    let mut scene = Scene::new(WIDTH, height);
    scene.text((12.0, 22.0), title, 14.0, crate::scene::Ink::Text, crate::scene::Anchor::Start);
    scene.bold();
    scene
}

/// Counts as numbers to draw.
fn heights(counts: &[u32]) -> Vec<f64> {
    counts.iter().map(|&count| f64::from(count)).collect()
}

/// A share in per cent.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
