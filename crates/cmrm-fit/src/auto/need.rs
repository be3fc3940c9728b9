//! What a vote needs in memory.

use cmrm::OwnedRows;
use cmrm_train::kernel::KernelConfig;

use super::kernel::{self, LANDMARKS};
use super::scaling::Scaling;
use super::setting::{Setting, folds};
use super::trees::TREES;
use crate::config::FitConfig;
use crate::kinds::LearnerKind;
use crate::memory::Need;
use crate::prepare::Prepared;

/// Probabilities of all rows beside those of the learners: the mean that grows while they are chosen, the best so far, and
/// those of both arms.
const MEANS: usize = 4;
/// 32-bit numbers of a leaf and of the node above it: children, column and threshold, gain, as they grow and as they predict.
const NUMBERS_OF_A_LEAF: usize = 8;
/// Copies of the parameters of a linear model while L-BFGS moves it: its memory of ten steps, twice, and a few more.
const LBFGS_COPIES: usize = 26;
/// Codes of all rows: row by row, column by column, and those of a fold.
const COPIES_OF_CODES: usize = 3;

/// The large parts: what all learners say of all rows, which is kept until some are chosen; the kernel; codes and leaves of trees;
/// and the rows that folds copy, as many at a time as there are threads.
pub(crate) fn of_vote(config: &FitConfig, prepared: &Prepared) -> Need {
    let data = &prepared.train.data;
    let (rows, width, classes) = (data.len(), data.width(), data.classes.len());
    // The numbers of all rows; sparse ones keep the column of each beside it.
    let numbers = match &data.features {
        OwnedRows::Dense { .. } => rows.saturating_mul(width),
        OwnedRows::Sparse(sparse) => 2 * sparse.kept(),
    };
    let mean_row = numbers.div_ceil(rows.max(1));
    let sparse = matches!(data.features, OwnedRows::Sparse(_));
    let judged = prepared.validation.data.len().max(prepared.test.as_ref().map_or(0, |(test, _)| test.len()));
    let kinds = LearnerKind::on(config, prepared);
    let scalings = [Scaling::Standard, Scaling::AsGiven];
    let settings: Vec<Setting> = kinds.iter().flat_map(|kind| kind.settings(config, data, &scalings)).collect();
    let machines = settings.iter().filter(|setting| setting.kind() == LearnerKind::Kernel).count();
    let kept = settings.len() - machines + kernel::kept(machines, rows);
    let has = |kind: LearnerKind| kinds.contains(&kind);
    let (mut leaves, mut mixed) = (0, 0);
    for setting in &settings {
        if let Setting::Forest { min_leaf } = *setting {
            // About twice the fewest rows in a leaf; leaves of single rows are of one class.
            let own = rows / (2 * min_leaf);
            leaves += own;
            mixed += if min_leaf > 1 { own } else { 0 };
        }
    }
    let copied = has(LearnerKind::Linear) || has(LearnerKind::Network);
    let at_a_time = if copied { folds(rows).min(rayon::current_num_threads()) } else { 0 };
    let machine = KernelConfig { gammas: Vec::new(), ridges: Vec::new(), landmarks: LANDMARKS, seed: config.seed };
    let landmarks = if has(LearnerKind::Kernel) { machine.landmarks_of(rows.max(1)) } else { 0 };
    // Neighbours of one scaling share their rows, and both rounds have their own; every machine has landmarks of its own.
    let neighbours = if settings.iter().any(|setting| setting.kind() == LearnerKind::Neighbours) { rows } else { 0 };
    let remembered = 2 * (scalings.len() * neighbours + kernel::kept(machines, rows) * landmarks);
    let compared = usize::from(has(LearnerKind::Kernel) || has(LearnerKind::Neighbours));
    let codes = if has(LearnerKind::Forest) || has(LearnerKind::Boosting) { COPIES_OF_CODES } else { 0 };
    Need::new(prepared.split.all(), classes)
        .and("what every learner says of every row", &[kept + MEANS, rows, classes])
        .and("the kernel of all rows", &[landmarks, rows])
        .and("the columns in the units of the data", &[if sparse { 0 } else { compared }, numbers])
        .and("the rows that neighbours and kernel machines remember", &[remembered, mean_row])
        .and(
            "the columns as trees read them",
            &[codes, if sparse { numbers } else { numbers.div_ceil(size_of::<f32>()) }],
        )
        .and("the leaves of forests", &[TREES, leaves, NUMBERS_OF_A_LEAF])
        .and("the classes of these leaves", &[TREES, mixed, classes])
        .and("the rows of folds", &[at_a_time, numbers])
        .and("linear models and their optimiser", &[if sparse { at_a_time } else { 0 }, width, classes, LBFGS_COPIES])
        .and("the probabilities of the rows to validate or test on", &[2, judged, classes])
}
