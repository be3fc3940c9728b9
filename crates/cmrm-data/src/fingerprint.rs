//! A SHA-256 fingerprint of the data that a model saw, for reports.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::dataset::Dataset;

/// Bytes hashed at a time.
const BLOCK: usize = 1 << 14;

/// SHA-256 of features, labels and class names, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// The fingerprint of a data set. It depends on every bit of the features, on the order of the rows, and on the
    /// labels' names, but not on the file format the data came from nor on the names of the features.
    pub fn of(data: &Dataset) -> Self {
        let features = data.features.iter().copied();
        Self::of_numbers(features, data.width(), &data.labels, &data.classes)
    }

    /// The same of rows of `width` bytes, as of a data set that holds them as numbers.
    pub fn of_bytes(bytes: &[u8], width: usize, labels: &[u32], classes: &[String]) -> Self {
        Self::of_numbers(bytes.iter().map(|&byte| f32::from(byte)), width, labels, classes)
    }

    fn of_numbers(features: impl Iterator<Item = f32>, width: usize, labels: &[u32], classes: &[String]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"cmrm data 1\0");
        hash.update((labels.len() as u64).to_le_bytes());
        hash.update((width as u64).to_le_bytes());
        let mut block = Vec::with_capacity(BLOCK);
        for value in features {
            block.extend_from_slice(&value.to_le_bytes());
            if block.len() >= BLOCK {
                hash.update(&block);
                block.clear();
            }
        }
        for label in labels {
            block.extend_from_slice(&label.to_le_bytes());
            if block.len() >= BLOCK {
                hash.update(&block);
                block.clear();
            }
        }
        hash.update(&block);
        for class in classes {
            // The length keeps `["ab", "c"]` apart from `["a", "bc"]`.
            hash.update((class.len() as u64).to_le_bytes());
            hash.update(class.as_bytes());
        }
        Fingerprint(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let data = Dataset {
            features: vec![1.0, 2.0],
            feature_names: vec!["a".into()],
            labels: vec![0, 1],
            classes: vec!["ab".into(), "c".into()],
            rows: vec![0, 1],
            image: None,
        };
        // Computed independently with Python's hashlib over the same bytes.
        assert_eq!(
            Fingerprint::of(&data).to_string(),
            "1739d2d94f097dd6ca73c48c4b99a25cd189f0236f1f1749aa18485017b071ef"
        );
        let bytes = Fingerprint::of_bytes(&[1, 2], 1, &data.labels, &data.classes);
        assert_eq!(bytes, Fingerprint::of(&data));
        let change = |edit: fn(&mut Dataset)| {
            let mut other = data.clone();
            edit(&mut other);
            Fingerprint::of(&other)
        };
        for other in [
            change(|data| data.features[0] = -1.0),
            change(|data| data.labels.swap(0, 1)),
            change(|data| data.classes = vec!["a".into(), "bc".into()]),
        ] {
            assert_ne!(other, Fingerprint::of(&data));
        }
        assert_eq!(change(|data| data.feature_names[0] = "z".into()), Fingerprint::of(&data));
    }
}
