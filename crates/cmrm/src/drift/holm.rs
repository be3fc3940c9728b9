//! Several tests at a time.

/// The probabilities of tests, adjusted by Holm's method: of all tests whose adjusted probability is below a level, any is a false alarm
/// with at most that probability, whatever they have to do with each other.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut highest = 0.0f64;
    for (before, &test) in order.iter().enumerate() {
        highest = highest.max(((p.len() - before) as f64 * p[test]).min(1.0));
        adjusted[test] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    // statsmodels 0.15: multipletests([0.01, 0.04, 0.03, 0.005], method="holm")
    #[test]
    fn agrees_with_statsmodels() {
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
        assert_eq!((holm(&[]), holm(&[0.6, 0.9])), (vec![], vec![1.0, 1.0]));
    }
}
