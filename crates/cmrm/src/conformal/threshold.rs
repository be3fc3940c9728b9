//! The conformal quantile, and thresholds that all classes share or that each class has for itself.

use serde::{Deserialize, Serialize};

/// ⌈n · share⌉, forgiving the rounding of the product: 100 · 0.07 is 7.000000000000001 in floating point and means 7.
pub(crate) fn ceil_product(n: usize, share: f64) -> usize {
    let product = n as f64 * share;
    let nearest = product.round();
    if (product - nearest).abs() <= 1e-12 * product { nearest as usize } else { product.ceil() as usize }
}

/// The ⌈(n+1)·coverage⌉-th smallest of n calibration scores, or +∞ if there is no such score (split conformal
/// prediction, as in the paper's evaluation).
/// Found by selection; reorders `scores`.
pub fn conformal_threshold(scores: &mut [f64], coverage: f64) -> f64 {
    let rank = ceil_product(scores.len() + 1, coverage);
    if rank > scores.len() {
        return f64::INFINITY;
    }
    *scores.select_nth_unstable_by(rank.max(1) - 1, f64::total_cmp).1
}

/// Thresholds of a calibrated predictor. An infinite threshold admits the class to every set; it is stored as the
/// text `inf`, because JSON has no infinity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thresholds {
    /// The same for all classes.
    Marginal(#[serde(with = "stored_one")] f64),
    /// One per class, by class index.
    PerClass(#[serde(with = "stored_many")] Vec<f64>),
}

impl Thresholds {
    /// The threshold of `class`; a class that was never calibrated has none to exceed.
    pub fn of(&self, class: u32) -> f64 {
        match self {
            Thresholds::Marginal(limit) => *limit,
            Thresholds::PerClass(limits) => limits.get(class as usize).copied().unwrap_or(f64::INFINITY),
        }
    }

    /// The largest threshold.
    pub fn highest(&self) -> f64 {
        match self {
            Thresholds::Marginal(limit) => *limit,
            Thresholds::PerClass(limits) => limits.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// Thresholds of the given calibration scores; `scores` and `labels` are paired.
    pub(super) fn per_class(scores: &[f64], labels: &[u32], classes: usize, coverage: f64) -> Self {
        let mut by_class = vec![Vec::new(); classes];
        for (&score, &label) in scores.iter().zip(labels) {
            by_class[label as usize].push(score);
        }
        Thresholds::PerClass(by_class.iter_mut().map(|scores| conformal_threshold(scores, coverage)).collect())
    }
}

/// A number or the text `inf`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Number(f64),
    Text(String),
}

impl Stored {
    fn new(value: f64) -> Self {
        if value.is_finite() { Stored::Number(value) } else { Stored::Text(value.to_string()) }
    }

    fn read<E: serde::de::Error>(self) -> Result<f64, E> {
        let value = match self {
            Stored::Number(value) => value,
            Stored::Text(text) => match text.as_str() {
                "inf" => f64::INFINITY,
                _ => return Err(E::custom(format!("threshold \"{text}\" is neither a number nor \"inf\""))),
            },
        };
        if value.is_nan() { Err(E::custom("threshold is NaN; expected a number or \"inf\"")) } else { Ok(value) }
    }
}

mod stored_one {
    use super::Stored;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Stored::new(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Stored::deserialize(deserializer)?.read()
    }
}

mod stored_many {
    use super::Stored;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|&value| Stored::new(value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        Vec::<Stored>::deserialize(deserializer)?.into_iter().map(Stored::read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_that_are_whole_do_not_round_up() {
        for percent in 1..100usize {
            for n in 1..=2000usize {
                let exact = (n * percent).div_ceil(100);
                assert_eq!(ceil_product(n, percent as f64 / 100.0), exact, "{n} * {percent} %");
                assert_eq!(ceil_product(n, 1.0 - (100 - percent) as f64 / 100.0), exact, "{n} * (1 - ..) {percent} %");
            }
        }
    }

    #[test]
    fn the_rank_is_counted_from_one() {
        let mut scores = [0.4, 0.1, 0.3, 0.2, 0.9, 0.8, 0.7, 0.6, 0.5];
        assert_eq!(conformal_threshold(&mut scores, 0.9), 0.9);
        assert_eq!(conformal_threshold(&mut scores, 0.8), 0.8);
        assert_eq!(conformal_threshold(&mut scores, 0.801), 0.9);
        assert_eq!(conformal_threshold(&mut scores, 0.001), 0.1);
        assert_eq!(conformal_threshold(&mut scores, 0.901), f64::INFINITY);
        assert_eq!(conformal_threshold(&mut [], 0.5), f64::INFINITY);
    }
}
