//! What a figure is made of, before it becomes text or pixels.

/// A colour by its meaning; the page and the files give it a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Words and axes.
    Text,
    /// Words and lines that matter less.
    Muted,
    /// Grid lines.
    Grid,
    /// The base arm.
    Base,
    /// The envelope's arm.
    Envelope,
    /// Wrong labels, thresholds: what stands out.
    Accent,
    /// The background.
    Paper,
}

impl Ink {
    /// All inks.
    pub const ALL: [Ink; 7] = [Ink::Text, Ink::Muted, Ink::Grid, Ink::Base, Ink::Envelope, Ink::Accent, Ink::Paper];

    /// Name of the CSS variable and class.
    pub fn name(self) -> &'static str {
        match self {
            Ink::Text => "text",
            Ink::Muted => "muted",
            Ink::Grid => "grid",
            Ink::Base => "base",
            Ink::Envelope => "envelope",
            Ink::Accent => "accent",
            Ink::Paper => "paper",
        }
    }

    /// Colour on white paper, dark enough for words. Where two of them meet as areas, one is drawn fainter, and curves
    /// differ in their strokes, so that a grey print tells them apart.
    pub fn on_paper(self) -> [u8; 3] {
        match self {
            Ink::Text => [0x1b, 0x1f, 0x24],
            Ink::Muted => [0x57, 0x60, 0x6a],
            Ink::Grid => [0xe3, 0xe6, 0xea],
            Ink::Base => [0x68, 0x6f, 0x78],
            Ink::Envelope => [0x14, 0x4a, 0x8a],
            Ink::Accent => [0xb4, 0x53, 0x09],
            Ink::Paper => [0xff, 0xff, 0xff],
        }
    }
}

/// Strokes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Long strokes.
    Long,
    /// Dots.
    Dots,
}

impl Dash {
    /// Lengths of strokes and gaps.
    pub fn lengths(self) -> &'static [f32] {
        match self {
            Dash::Solid => &[],
            Dash::Long => &[6.0, 4.0],
            Dash::Dots => &[1.5, 3.0],
        }
    }
}

/// Which part of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// One thing that is drawn. Places are in units of the scene, from the top left.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// Its colour.
        ink: Ink,
        /// Its width.
        width: f64,
        /// Its strokes.
        dash: Dash,
    },
    /// A filled shape.
    Area {
        /// Its corners.
        points: Vec<(f64, f64)>,
        /// Its colour.
        ink: Ink,
        /// From 0, invisible, to 1.
        opacity: f64,
    },
    /// A dot.
    Dot {
        /// Its centre.
        at: (f64, f64),
        /// Its radius.
        radius: f64,
        /// Its colour.
        ink: Ink,
        /// Whether only its rim is drawn.
        hollow: bool,
    },
    /// A line of text.
    Text {
        /// Where its baseline is.
        at: (f64, f64),
        /// The words.
        words: String,
        /// Height of the letters.
        size: f64,
        /// Its colour.
        ink: Ink,
        /// Which part of it stands at its place.
        anchor: Anchor,
        /// Whether it is set bold.
        bold: bool,
        /// Whether it is turned to run upwards.
        upwards: bool,
    },
}

/// A drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels.
    pub height: f64,
    /// What is drawn, in this order.
    pub marks: Vec<Mark>,
}

impl Scene {
    /// An empty drawing.
    pub fn new(width: f64, height: f64) -> Self {
        Scene { width, height, marks: Vec::new() }
    }

    /// Adds a line.
    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dash: Dash) {
        self.marks.push(Mark::Line { points: points.to_vec(), ink, width, dash });
    }

    /// Adds a filled shape.
    pub fn area(&mut self, points: &[(f64, f64)], ink: Ink, opacity: f64) {
        self.marks.push(Mark::Area { points: points.to_vec(), ink, opacity });
    }

    /// Adds a filled rectangle.
    pub fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), ink: Ink, opacity: f64) {
        self.area(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height)], ink, opacity);
    }

    /// Adds a dot.
    pub fn dot(&mut self, at: (f64, f64), radius: f64, ink: Ink, hollow: bool) {
        self.marks.push(Mark::Dot { at, radius, ink, hollow });
    }

    /// Adds a line of text.
    pub fn text(&mut self, at: (f64, f64), words: impl Into<String>, size: f64, ink: Ink, anchor: Anchor) {
        self.marks.push(Mark::Text { at, words: words.into(), size, ink, anchor, bold: false, upwards: false });
    }

    /// Makes the text that was added last bold.
    pub fn bold(&mut self) {
        if let Some(Mark::Text { bold, .. }) = self.marks.last_mut() {
            *bold = true;
        }
    }

    /// Turns the text that was added last.
    pub fn upwards(&mut self) {
        if let Some(Mark::Text { upwards, .. }) = self.marks.last_mut() {
            *upwards = true;
        }
    }
}
