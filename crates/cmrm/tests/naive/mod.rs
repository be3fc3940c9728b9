//! The formulas written down in the plainest way, to hold the kernel against: no sharing, no care for speed or range.

#![allow(dead_code)] // each test file uses its own part

use cmrm::envelope::{EnvelopeConfig, MarginKind, Normaliser, QuantileKind};
use cmrm::loss::{Loss, Row, RowLoss, WholeRow};

/// The losses, with their parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Plain {
    CrossEntropy,
    Focal(f64),
    Gce(f64),
    /// α, β.
    Sce(f64, f64),
    LabelSmoothing(f64),
    /// a, b.
    Apl(f64, f64),
    /// β, class counts.
    Cores(f64, Vec<f64>),
    BootstrapHard(f64),
    /// The rows of T.
    Forward(Vec<Vec<f64>>),
    /// The rows of T.
    Backward(Vec<Vec<f64>>),
    /// Max margin, scale, class counts.
    Ldam(f64, f64, Vec<f64>),
    Hinge,
    /// The custom loss [`Brier`], with its scale.
    Brier(f64),
}

impl Plain {
    pub fn scale(&self) -> f64 {
        match self {
            Plain::Ldam(_, scale, _) | Plain::Brier(scale) => *scale,
            _ => 1.0,
        }
    }

    /// Loss of a row of logits.
    pub fn loss(&self, logits: &[f64], y: usize) -> f64 {
        let u: Vec<f64> = logits.iter().map(|z| z * self.scale()).collect();
        let s = softmax(&u);
        match self {
            Plain::CrossEntropy => -s[y].ln(),
            Plain::Focal(gamma) => -(1.0 - s[y]).powf(*gamma) * s[y].ln(),
            Plain::Gce(q) => (1.0 - s[y].powf(*q)) / q,
            Plain::Sce(alpha, beta) => -alpha * s[y].ln() + 4.0 * beta * (1.0 - s[y]),
            Plain::LabelSmoothing(epsilon) => {
                let mean = s.iter().map(|p| -p.ln()).sum::<f64>() / s.len() as f64;
                -(1.0 - epsilon) * s[y].ln() + epsilon * mean
            }
            Plain::Apl(a, b) => {
                let all: f64 = s.iter().map(|p| -p.ln()).sum();
                -a * s[y].ln() / all + 4.0 * b * (1.0 - s[y])
            }
            Plain::Cores(beta, counts) => {
                let rows: f64 = counts.iter().sum();
                -s[y].ln() + beta * s.iter().zip(counts).map(|(p, n)| n / rows * p.ln()).sum::<f64>()
            }
            Plain::BootstrapHard(beta) => {
                let most = s.iter().fold(0.0f64, |a, &p| a.max(p));
                -beta * s[y].ln() - (1.0 - beta) * most.ln()
            }
            Plain::Forward(t) => -(0..s.len()).map(|k| t[k][y] * s[k]).sum::<f64>().ln(),
            Plain::Backward(t) => solve(t, &s.iter().map(|p| -p.ln()).collect::<Vec<f64>>())[y],
            Plain::Ldam(max_margin, scale, counts) => {
                let smallest = counts.iter().fold(f64::INFINITY, |a, &n| a.min(n));
                let offset = max_margin * counts[y].powf(-0.25) / smallest.powf(-0.25);
                let mut moved = u.clone();
                moved[y] -= scale * offset;
                -softmax(&moved)[y].ln()
            }
            Plain::Hinge => (1.0 - (u[y] - u[rival(&u, y)])).max(0.0),
            Plain::Brier(_) => (0..s.len()).map(|j| (s[j] - f64::from(u8::from(j == y))).powi(2)).sum(),
        }
    }

    /// Margin of a row of logits.
    pub fn margin(&self, kind: MarginKind, logits: &[f64], y: usize) -> f64 {
        let u: Vec<f64> = logits.iter().map(|z| z * self.scale()).collect();
        let s = softmax(&u);
        let r = rival(&u, y);
        match kind {
            MarginKind::Probability => s[y] - s[r],
            MarginKind::Logit => u[y] - u[r],
            MarginKind::Loss => -self.loss(logits, y),
        }
    }
}

/// The x of `T x = b` by elimination; the diagonal must be large.
pub fn solve(t: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Vec<Vec<f64>> = t.iter().zip(b).map(|(row, b)| [&row[..], &[*b]].concat()).collect();
    for i in 0..n {
        for other in (0..n).filter(|&other| other != i) {
            let factor = rows[other][i] / rows[i][i];
            for j in 0..=n {
                rows[other][j] -= factor * rows[i][j];
            }
        }
    }
    (0..n).map(|i| rows[i][n] / rows[i][i]).collect()
}

/// The rows of a transition matrix: every class keeps its label with the first of its numbers, all in (0, 1), and is taken for the others by
/// the rest of them.
pub fn transition(classes: usize, numbers: &[f64]) -> Vec<Vec<f64>> {
    let row = |class: usize| {
        let own = &numbers[class * classes..][..classes];
        let kept = 0.55 + 0.4 * own[0];
        let rest: f64 = own[1..].iter().sum();
        let mut others = own[1..].iter().map(|x| (1.0 - kept) * x / rest);
        (0..classes).map(|j| if j == class { kept } else { others.next().unwrap() }).collect()
    };
    (0..classes).map(row).collect()
}

pub fn softmax(u: &[f64]) -> Vec<f64> {
    let top = u.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    let e: Vec<f64> = u.iter().map(|x| (x - top).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|x| x / sum).collect()
}

/// The strongest class other than `y`, the lowest index on ties.
pub fn rival(u: &[f64], y: usize) -> usize {
    let mut best = if y == 0 { 1 } else { 0 };
    for j in 0..u.len() {
        if j != y && u[j] > u[best] {
            best = j;
        }
    }
    best
}

/// The threshold by sorting.
pub fn tau(margins: &[f64], alpha: f64, kind: QuantileKind) -> f64 {
    let mut sorted = margins.to_vec();
    sorted.sort_by(f64::total_cmp);
    let m = sorted.len();
    match kind {
        QuantileKind::Conformal => {
            let k = (alpha * (m as f64 + 1.0)).ceil() as usize;
            sorted[k.max(1).min(m) - 1]
        }
        QuantileKind::Interpolated => {
            let position = alpha * (m as f64 - 1.0);
            let below = position.floor() as usize;
            let above = (below + 1).min(m - 1);
            sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
        }
    }
}

pub fn weight(margin: f64, tau: f64, temperature: f64) -> f64 {
    1.0 / (1.0 + (-(margin - tau) / temperature).exp())
}

/// The risk at a given threshold; `v` are row weights.
pub fn risk(margins: &[f64], v: &[f64], tau: f64, config: &EnvelopeConfig) -> f64 {
    let (mut above, mut below) = (0.0, 0.0);
    for (&margin, &v) in margins.iter().zip(v) {
        let w = weight(margin, tau, config.temperature);
        above += v * w * margin;
        below += match config.normaliser {
            Normaliser::Mean => v,
            Normaliser::Weights => v * w,
        };
    }
    -above / below
}

/// Mean base loss and risk of a batch at a given threshold.
pub fn base_and_risk(
    loss: &Plain,
    config: &EnvelopeConfig,
    logits: &[f64],
    classes: usize,
    labels: &[u32],
    v: &[f64],
    tau: f64,
) -> (f64, f64) {
    let rows: Vec<(&[f64], usize)> = logits.chunks(classes).zip(labels.iter().map(|&y| y as usize)).collect();
    let sum: f64 = rows.iter().zip(v).map(|((z, y), v)| v * loss.loss(z, *y)).sum();
    let margins: Vec<f64> = rows.iter().map(|(z, y)| loss.margin(config.margin, z, *y)).collect();
    (sum / v.iter().sum::<f64>(), risk(&margins, v, tau, config))
}

/// Derivative of `f` at zero by central differences of fourth order.
pub fn derivative(h: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

/// A loss that the library does not have and whose gradient is dense: `Σ_j (s[j] − 1[j = y])²` of the scaled logits.
#[derive(Debug, Clone, Copy)]
pub struct Brier {
    pub scale: f64,
}

impl Loss<f64> for Brier {
    fn row(&self, row: Row<f64>) -> RowLoss<f64> {
        RowLoss::of_log_probability(&row, 0.0, 0.0)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn dense_value(&self, row: &Row<f64>, WholeRow { probs, .. }: WholeRow<'_, f64>) -> f64 {
        residuals(row.label, probs).map(|r| r * r).sum()
    }

    fn add_dense(&self, row: &Row<f64>, WholeRow { probs, .. }: WholeRow<'_, f64>, factor: f64, grad: &mut [f64]) {
        let mean: f64 = residuals(row.label, probs).zip(probs).map(|(r, s)| r * s).sum();
        for (j, r) in residuals(row.label, probs).enumerate() {
            grad[j] += factor * 2.0 * probs[j] * (r - mean);
        }
    }
}

fn residuals(label: usize, probs: &[f64]) -> impl Iterator<Item = f64> + '_ {
    probs.iter().enumerate().map(move |(j, s)| if j == label { s - 1.0 } else { *s })
}
