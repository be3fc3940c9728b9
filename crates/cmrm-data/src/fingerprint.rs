//! A SHA-256 fingerprint of the data that a model saw, for reports.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::dataset::Dataset;

/// SHA-256 of features, labels and class names, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// The fingerprint of a data set. It depends on every bit of the features, on the order of the rows, and on the
    /// labels' names, but not on the file format the data came from nor on the names of the features.
    pub fn of(data: &Dataset) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"cmrm data 1\0");
        hash.update((data.len() as u64).to_le_bytes());
        hash.update((data.width() as u64).to_le_bytes());
        let mut block = Vec::with_capacity(4 * 4096);
        for values in data.features.chunks(4096) {
            block.clear();
            block.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            hash.update(&block);
        }
        for labels in data.labels.chunks(4096) {
            block.clear();
            block.extend(labels.iter().flat_map(|label| label.to_le_bytes()));
            hash.update(&block);
        }
        for class in &data.classes {
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
