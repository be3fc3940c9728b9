//! From a vector for each token to one for the text.

use std::fmt;
use std::str::FromStr;

/// Below this a vector has no direction, as in PyTorch's `normalize`.
const NO_LENGTH: f64 = 1e-12;

/// Which vectors of the tokens make up that of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The first token's, which many encoders train for the purpose.
    Cls,
}

impl Pooling {
    /// The vector of a text with `count` tokens; `tokens` holds `width` numbers for each, padding behind. A text without tokens
    /// is all zeros.
    pub(crate) fn apply(self, tokens: &[f32], count: usize, width: usize) -> Vec<f32> {
        let used = match self {
            Pooling::Mean => count,
            Pooling::Cls => count.min(1),
        };
        let mut sums = vec![0.0; width];
        for token in tokens.chunks_exact(width).take(used) {
            sums.iter_mut().zip(token).for_each(|(sum, &number)| *sum += f64::from(number));
        }
        sums.iter().map(|sum| (sum / used.max(1) as f64) as f32).collect()
    }
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
        })
    }
}

impl FromStr for Pooling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mean" => Ok(Pooling::Mean),
            "cls" => Ok(Pooling::Cls),
            _ => Err(format!("unknown pooling '{text}'; expected mean or cls")),
        }
    }
}

/// Scales a vector to length one.
pub(crate) fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt().max(NO_LENGTH);
    vector.iter_mut().for_each(|number| *number = (f64::from(*number) / length) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_no_part_of_a_text() {
        let tokens = [1.0, 2.0, 3.0, 6.0, f32::NAN, 9.0];
        let pooled = |pooling: Pooling, count| pooling.apply(&tokens, count, 2);
        assert_eq!(pooled(Pooling::Mean, 2), [2.0, 4.0]);
        assert_eq!(pooled(Pooling::Cls, 2), [1.0, 2.0]);
        assert_eq!([pooled(Pooling::Mean, 0), pooled(Pooling::Cls, 0)], [[0.0, 0.0], [0.0, 0.0]]);
    }

    #[test]
    fn a_normalised_vector_has_length_one_unless_it_has_no_direction() {
        // A power of two keeps 3 to 4 exact; its square is more than a 32-bit float holds.
        let large = 2f32.powi(100);
        let mut vectors = [[3.0, -4.0], [0.0, 0.0], [3.0 * large, 4.0 * large]];
        vectors.iter_mut().for_each(|vector| normalise(vector));
        assert_eq!(vectors, [[0.6, -0.8], [0.0, 0.0], [0.6, 0.8]]);
    }
}
