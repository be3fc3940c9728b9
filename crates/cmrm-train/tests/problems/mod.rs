//! Objectives with known minima.

use serde::Deserialize;

/// The chained Rosenbrock function; minimum 0 at (1, …, 1).
pub fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
    g.fill(0.0);
    let mut loss = 0.0;
    for i in 0..x.len() - 1 {
        let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
        loss += a * a + 100.0 * b * b;
        g[i] -= 2.0 * a + 400.0 * x[i] * b;
        g[i + 1] += 200.0 * b;
    }
    loss
}

/// Curvatures from 1 to 1e4, minimum 0 at xᵢ = sin i.
pub fn quadratic(x: &[f64], g: &mut [f64]) -> f64 {
    let mut loss = 0.0;
    for i in 0..x.len() {
        let curvature = 10f64.powf(4.0 * i as f64 / x.len() as f64);
        let distance = x[i] - (i as f64).sin();
        loss += 0.5 * curvature * distance * distance;
        g[i] = curvature * distance;
    }
    loss
}

/// Softmax regression on a stored set: mean cross-entropy + |W|² / (2C), bias unregularised.
pub struct Logistic {
    features: Vec<f64>,
    labels: Vec<usize>,
    columns: usize,
    classes: usize,
    c: f64,
    /// Loss at the optimum.
    pub optimum: f64,
    /// Weights, class by class, then biases with mean zero.
    pub solution: Vec<f64>,
}

#[derive(Deserialize)]
struct File {
    small: Small,
}

#[derive(Deserialize)]
struct Small {
    features: Vec<f64>,
    columns: usize,
    classes: usize,
    labels: Vec<usize>,
    optimum: Optimum,
    weights: Vec<f64>,
    bias: Vec<f64>,
}

#[derive(Deserialize)]
struct Optimum {
    c: f64,
    objective: f64,
}

impl Logistic {
    pub fn recorded() -> Self {
        let file: File = serde_json::from_str(include_str!("../reference/logistic_optimum.json")).unwrap();
        let Small { features, columns, classes, labels, optimum, weights, bias } = file.small;
        let solution = [weights, bias].concat();
        Logistic { features, labels, columns, classes, c: optimum.c, optimum: optimum.objective, solution }
    }

    pub fn length(&self) -> usize {
        self.classes * (self.columns + 1)
    }

    pub fn evaluate(&self, x: &[f64], g: &mut [f64]) -> f64 {
        let (weights, bias) = x.split_at(self.classes * self.columns);
        let rows = self.labels.len() as f64;
        g.fill(0.0);
        let mut entropy = 0.0;
        for (row, &label) in self.features.chunks_exact(self.columns).zip(&self.labels) {
            let logits: Vec<f64> = (0..self.classes)
                .map(|k| bias[k] + row.iter().zip(&weights[k * self.columns..]).map(|(x, w)| x * w).sum::<f64>())
                .collect();
            let most = logits.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
            let total: f64 = logits.iter().map(|z| (z - most).exp()).sum();
            entropy += most + total.ln() - logits[label];
            for k in 0..self.classes {
                let slope = ((logits[k] - most).exp() / total - f64::from(u8::from(k == label))) / rows;
                for (g, x) in g[k * self.columns..(k + 1) * self.columns].iter_mut().zip(row) {
                    *g += slope * x;
                }
                g[self.classes * self.columns + k] += slope;
            }
        }
        for (g, w) in g.iter_mut().zip(weights) {
            *g += w / self.c;
        }
        entropy / rows + weights.iter().map(|w| w * w).sum::<f64>() / (2.0 * self.c)
    }
}
