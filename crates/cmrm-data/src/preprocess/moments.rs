//! Mean, variance and range in one pass.

/// Running mean and sum of squared deviations (Welford's recurrence), which does not lose digits when the mean is
/// large. Adding values one by one in order gives the same bits however the rows are cut into chunks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub count: u64,
    pub mean: f64,
    pub squares: f64,
    pub min: f64,
    pub max: f64,
}

impl Moments {
    pub const EMPTY: Moments =
        Moments { count: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Whether all values are the same, or there are none.
    pub fn constant(&self) -> bool {
        self.min >= self.max
    }

    /// Standard deviation of the values themselves, not of a population they are drawn from.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_offset_costs_no_digits() {
        let mut moments = Moments::EMPTY;
        for value in [4.0, 7.0, 13.0, 16.0] {
            moments.add(1e9 + value);
        }
        assert_eq!(moments.mean, 1e9 + 10.0);
        assert_eq!(moments.deviation(), 22.5f64.sqrt());
        assert!(!moments.constant());
    }
}
