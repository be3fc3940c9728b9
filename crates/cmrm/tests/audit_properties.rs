//! The properties that every audit must have.

use cmrm::audit::*;
use cmrm::rng::Rng;
use cmrm::{Error, Matrix, Result, Scalar};
use proptest::prelude::*;

fn audit<T: Scalar + Into<f64>>(values: &[T], classes: usize, labels: &[u32], config: AuditConfig) -> Result<Audit> {
    rank(Matrix::new(values, classes).unwrap(), labels, &config.validate().unwrap())
}

/// The default filter, by its definition, on data with as many classes as there are vector lanes and one more.
#[test]
fn pruning_is_what_its_definition_says() {
    for classes in [2usize, 5, 16, 17, 33] {
        let (probabilities, labels) = noisy(classes, 900, 3);
        let matrix = Matrix::new(&probabilities, classes).unwrap();
        let found = audit(&probabilities, classes, &labels, AuditConfig::default()).unwrap();
        let joint = &found.noise.as_ref().unwrap().joint;
        let mut expected = vec![false; labels.len()];
        for (given, other, count) in joint.iter().filter(|(given, other, _)| given != other) {
            let lead = |row: usize| matrix.row(row)[given as usize] - matrix.row(row)[other as usize];
            let mut rows: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] == given).collect();
            rows.sort_by(|&a, &b| lead(a).total_cmp(&lead(b)));
            for &row in rows.iter().take(count as usize) {
                expected[row] = found.predicted_label[row] != given;
            }
        }
        // No class here is so small or so wrong that the rule about the rows to leave alone would matter.
        assert!((0..classes as u32).all(|class| joint.get(class, class) >= 1));
        assert_eq!(found.is_label_issue, expected, "{classes} classes");
    }
}

/// Softmax-like rows with a leaning to a true class, and labels of which a third are drawn anew.
fn noisy(classes: usize, rows: usize, seed: u64) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(seed, 0);
    let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let truth = rng.below(classes);
        let mut row: Vec<f64> = (0..classes).map(|_| rng.normal().exp()).collect();
        row[truth] *= 1.0 + classes as f64 / 2.0;
        let sum: f64 = row.iter().sum();
        probabilities.extend(row.iter().map(|p| (p / sum) as f32));
        labels.push(if rng.uniform() < 0.3 { rng.below(classes) } else { truth } as u32);
    }
    (probabilities, labels)
}

/// Rows that come as copies, as from a file; reading one of them fails if `bad_row` says so.
struct Copies<'a, T> {
    rows: Matrix<'a, T>,
    bad_row: Option<usize>,
    short: bool,
}

impl<T: Scalar> RowSource<T> for Copies<'_, T> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn classes(&self) -> usize {
        self.rows.columns()
    }

    fn read<'a>(&'a self, first: usize, count: usize, room: &'a mut Vec<T>) -> Result<&'a [T]> {
        if self.bad_row.is_some_and(|row| (first..first + count).contains(&row)) {
            return Err(Error::Invalid { what: "a file", reason: "it ended".into() });
        }
        room.clear();
        (first..first + count).for_each(|row| room.extend_from_slice(self.rows.row(row)));
        room.truncate(room.len() - usize::from(self.short));
        Ok(room)
    }
}

/// So many classes that a piece is sixteen rows: the rows kept come from several.
#[test]
fn many_pieces_are_audited_as_one_matrix_is() {
    let classes = 9000;
    let (probabilities, labels) = noisy(classes, 75, 4);
    let labels: Vec<u32> =
        labels.iter().enumerate().map(|(row, label)| if row % 3 == 0 { 7 } else { *label }).collect();
    let matrix = Matrix::new(&probabilities, classes).unwrap();
    for filter in [Filter::PruneByNoiseRate, Filter::Both, Filter::ConfidentLearning] {
        let options = AuditConfig { filter, ..AuditConfig::default() }.validate().unwrap();
        let copies = Copies { rows: matrix, bad_row: None, short: false };
        assert_eq!(rank_rows(&copies, &labels, &options).unwrap(), rank(matrix, &labels, &options).unwrap());
    }
    let options = AuditConfig::default().validate().unwrap();
    let bad = Copies { rows: matrix, bad_row: Some(40), short: false };
    assert_eq!(rank_rows(&bad, &labels, &options).unwrap_err().to_string(), "a file: it ended");
    let short = Copies { rows: matrix, bad_row: None, short: true };
    assert!(matches!(
        rank_rows(&short, &labels, &options),
        Err(Error::Shape { expected: 144_000, found: 143_999, .. })
    ));
}

fn any_filter() -> impl Strategy<Value = Filter> {
    prop_oneof![
        Just(Filter::PruneByNoiseRate),
        Just(Filter::PruneByClass),
        Just(Filter::Both),
        Just(Filter::ConfidentLearning),
        Just(Filter::PredictedNeqGiven),
        Just(Filter::LowNormalizedMargin),
        Just(Filter::LowSelfConfidence),
        (-1.0..=1.0).prop_map(Filter::BelowMargin),
        (0.0..=1.0).prop_map(Filter::Fraction),
    ]
}

fn any_score() -> impl Strategy<Value = ScoreMethod> {
    prop_oneof![
        Just(ScoreMethod::SelfConfidence),
        Just(ScoreMethod::NormalizedMargin),
        Just(ScoreMethod::ConfidenceWeightedEntropy)
    ]
}

prop_compose! {
    /// Rows of small whole numbers over their sum, so that ties and zeros are common.
    fn any_table()(classes in 2usize..20, rows in 1usize..60)(
        counts in prop::collection::vec(prop::collection::vec(0u32..6, classes), rows),
        labels in prop::collection::vec(0..classes as u32, rows),
    ) -> (usize, Vec<f64>, Vec<u32>) {
        let classes = counts[0].len();
        let mut values = Vec::new();
        for mut row in counts {
            row[0] += u32::from(row.iter().all(|&c| c == 0));
            let sum: u32 = row.iter().sum();
            values.extend(row.iter().map(|&c| f64::from(c) / f64::from(sum)));
        }
        (classes, values, labels)
    }
}

proptest! {
    #[test]
    fn every_audit_is_whole(
        (classes, values, labels) in any_table(), filter in any_filter(), score in any_score(),
        min_examples_per_class in 0u32..5, frac_noise in 0.0..=1.0,
    ) {
        let rows = labels.len();
        let found =
            audit(&values, classes, &labels, AuditConfig { score, filter, min_examples_per_class, frac_noise }).unwrap();
        let copies = Copies { rows: Matrix::new(&values, classes).unwrap(), bad_row: None, short: false };
        let options = AuditConfig { score, filter, min_examples_per_class, frac_noise }.validate().unwrap();
        prop_assert_eq!(&rank_rows(&copies, &labels, &options).unwrap(), &found);
        prop_assert!(found.label_score.iter().all(|s| (0.0..=1.0).contains(s)));
        prop_assert!(found.margin.iter().all(|m| (-1.0..=1.0).contains(m)));
        let mut sorted = found.order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..rows as u32).collect::<Vec<_>>());
        for (place, pair) in found.order.windows(2).enumerate() {
            let (a, b) = (found.label_score[pair[0] as usize], found.label_score[pair[1] as usize]);
            prop_assert!(a <= b);
            prop_assert_eq!(found.rank[pair[0] as usize] as usize, place);
        }
        prop_assert_eq!(found.suggestions.total(), rows as u64);
        prop_assert_eq!(found.suggestions.diagonal(), (rows - found.issue_count()) as u64);
        let noise = found.noise.as_ref().unwrap();
        prop_assert_eq!(noise.joint.total(), rows as u64);
        for class in 0..classes as u32 {
            let given = labels.iter().filter(|&&label| label == class).count() as u32;
            prop_assert_eq!(noise.joint.row(class).iter().map(|cell| cell.1).sum::<u32>(), given);
            prop_assert!(noise.confident_joint.row(class).iter().map(|cell| cell.1).sum::<u32>() <= given);
        }
        prop_assert!((0.0..=1.0).contains(&noise.rate()));
        for row in 0..rows {
            prop_assert_eq!(found.suggested_label[row] == labels[row], !found.is_label_issue[row]);
        }
        let pruned = matches!(filter, Filter::PruneByNoiseRate | Filter::PruneByClass | Filter::Both);
        for class in 0..classes as u32 {
            let issues = (0..rows).filter(|&row| labels[row] == class && found.is_label_issue[row]).count();
            let given = labels.iter().filter(|&&label| label == class).count();
            let left = given.min(min_examples_per_class as usize);
            prop_assert!(!pruned || filter == Filter::PruneByNoiseRate || given - issues >= left);
        }
    }

    /// Another order of the rows gives the same scores, estimates and number of issues; without ties, the same issues.
    #[test]
    fn the_order_of_the_rows_does_not_matter(
        classes in 2usize..20, seed in 0u64..1000, filter in any_filter(), score in any_score(),
    ) {
        let (values, labels) = noisy(classes, 80, seed);
        let order = Rng::new(seed, 1).permutation(labels.len());
        let matrix = Matrix::new(&values, classes).unwrap();
        let shuffled: Vec<f32> = order.iter().flat_map(|&row| matrix.row(row).iter().copied()).collect();
        let shuffled_labels: Vec<u32> = order.iter().map(|&row| labels[row]).collect();
        let config = AuditConfig { score, filter, ..Default::default() };
        let plain = audit(&values, classes, &labels, config).unwrap();
        let other = audit(&shuffled, classes, &shuffled_labels, config).unwrap();
        for (place, &row) in order.iter().enumerate() {
            prop_assert_eq!(other.label_score[place], plain.label_score[row]);
            prop_assert_eq!(other.predicted_label[place], plain.predicted_label[row]);
            prop_assert_eq!(other.is_label_issue[place], plain.is_label_issue[row]);
            prop_assert_eq!(other.suggested_label[place], plain.suggested_label[row]);
        }
        prop_assert_eq!(&other.suggestions, &plain.suggestions);
        prop_assert_eq!(&other.noise.unwrap().joint, &plain.noise.unwrap().joint);
    }

    /// Nothing makes it panic.
    #[test]
    fn any_numbers_are_taken_or_refused(
        values in prop::collection::vec(any::<f32>(), 0..60), classes in 1usize..8,
        labels in prop::collection::vec(0u32..9, 0..20), filter in any_filter(), score in any_score(),
    ) {
        let values = &values[..values.len() / classes * classes];
        let _ = audit(values, classes, &labels, AuditConfig { score, filter, ..Default::default() });
        let _ = rank_margins(values, &labels, &labels, classes, &MarginOptions::default());
    }
}
