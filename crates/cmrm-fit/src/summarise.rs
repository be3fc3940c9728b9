//! How the arms of a fit did.

use std::borrow::Cow;

use cmrm::Matrix;
use cmrm::conformal::{self, Conformal, ConformalConfig, PredictionSets};
use cmrm::metric::{predicted_classes, wilson};
use cmrm_data::Dataset;
use cmrm_run::judge::{LEVEL, compare, mean_interval, measure};
use cmrm_run::summary::{ArmSummary, DataSummary, FitSummary, Labels, SCHEMA, SetSummary};
use cmrm_run::{CalibratedFor, Calibration, RunInfo, Suspects};
use cmrm_train::Stop;

use crate::error::Result;
use crate::outcome::FitOutcome;

impl FitOutcome {
    /// Judges the arms and sums the fit up. `run` is where it is kept.
    pub fn summary(&self, run: String, info: &RunInfo) -> Result<FitSummary> {
        let (config, rows) = (&self.config, &self.rows);
        let (test, labels) = self.judged();
        let mut arms = Vec::new();
        let mut predictions = Vec::new();
        for arm in &self.arms {
            let (mut metrics, mut sets, mut corrected_sets) = (Vec::new(), None, None);
            if let Some(test) = test {
                let (x, stop) = (test.x()?, Stop::default());
                // Judged by labels with noise in them, probabilities are to speak of such labels.
                let probabilities = match (labels, &arm.out_of_sample) {
                    (Labels::ObservedOutOfSample, Some(out_of_sample)) => Cow::Borrowed(out_of_sample),
                    (Labels::Observed | Labels::ObservedValidation, _) => {
                        Cow::Owned(arm.model.observed_probabilities(x, &stop)?)
                    }
                    _ => Cow::Owned(arm.model.probabilities(x, &stop)?),
                };
                let probabilities = Matrix::new(&probabilities, test.classes.len())?;
                metrics = measure(probabilities, &test.labels, config.seed)?;
                predictions.push(predicted_classes(probabilities)?);
                // Not for the rows that would calibrate.
                if !matches!(labels, Labels::ObservedValidation | Labels::ObservedOutOfSample)
                    && let Some(calibration) = self.calibration(arm, &stop)?
                {
                    let said = arm.model.probabilities(x, &stop)?;
                    let said = Matrix::new(&said, test.classes.len())?;
                    sets = Some(self.observed_sets(&calibration, said, test)?);
                    if let Some(noise) = self.noise.as_ref().filter(|_| calibration.clean.is_some()) {
                        let of_rows = match labels {
                            Labels::Observed => Some(noise.posteriors_of(probabilities, &test.labels)?),
                            _ => None,
                        };
                        corrected_sets = Some(self.corrected_sets(&calibration, said, test, of_rows)?);
                    }
                }
            }
            arms.push(ArmSummary { name: arm.name.clone(), epoch: arm.epoch, metrics, sets, corrected_sets });
        }
        let difference = match (test, predictions.as_slice()) {
            // The weights that second copies learned with come from models that had seen the row they judge: by out-of-sample
            // rows alone, the envelope's arm would look better than it is.
            (Some(_), _) if labels == Labels::ObservedOutOfSample => None,
            (Some(test), [base, envelope]) => Some(compare(base, envelope, &test.labels, config.seed)?),
            _ => None,
        };
        let train = &rows.train.data;
        let training_rows = &self.training_rows;
        let wrong_share = training_rows
            .wrong
            .as_ref()
            .map(|wrong| wrong.iter().filter(|&&wrong| wrong).count() as f64 / train.len() as f64);
        Ok(FitSummary {
            schema: SCHEMA.into(),
            run,
            data: DataSummary {
                name: rows.name.clone(),
                train_rows: train.len(),
                validation_rows: rows.validation.data.len(),
                judged_rows: test.map_or(0, Dataset::len),
                unlabelled_rows: rows.unlabelled,
                features: train.width(),
                classes: train.classes.len(),
                noise: config.noise.as_ref().map(ToString::to_string),
                wrong_share,
                columns: rows.columns.clone(),
            },
            judged_by: labels,
            arms,
            members: self.members.clone(),
            difference,
            noise: self.noise.as_ref().map(|noise| (&noise.estimate.likeliest).into()),
            suspects: Suspects::find(training_rows),
            warnings: self.warnings()?,
            seed: config.seed,
            threads: rayon::current_num_threads(),
            version: info.version.clone(),
            fingerprint: info.fingerprint.clone(),
        })
    }

    /// Sets for observed labels, judged by the rows' own.
    fn observed_sets(&self, calibration: &Calibration, said: Matrix<'_, f32>, test: &Dataset) -> Result<SetSummary> {
        let sets = calibration.predictor(&conformal()?, CalibratedFor::Observed)?.predict(said, &[])?;
        self.judge_sets(&sets, test)
    }

    /// Sets for true classes, judged by the rows' labels or, where those may be wrong, by how likely each class is the true one.
    fn corrected_sets(
        &self,
        calibration: &Calibration,
        said: Matrix<'_, f32>,
        test: &Dataset,
        posteriors: Option<Vec<f32>>,
    ) -> Result<SetSummary> {
        let sets = calibration.predictor(&conformal()?, CalibratedFor::Corrected)?.predict(said, &[])?;
        let mut judged = self.judge_sets(&sets, test)?;
        if let Some(posteriors) = posteriors {
            let rows = posteriors.chunks_exact(test.classes.len()).zip(sets.iter());
            let held = rows.map(|(row, set)| set.iter().map(|&class| f64::from(row[class as usize])).sum());
            let held: Vec<f64> = held.collect();
            let interval = mean_interval(&held, (0.0, 1.0), self.config.seed)?;
            judged.coverage = held.iter().sum::<f64>() / held.len() as f64;
            judged.coverage_interval = [interval.low, interval.high];
        }
        Ok(judged)
    }

    fn judge_sets(&self, sets: &PredictionSets, test: &Dataset) -> Result<SetSummary> {
        let report = conformal::evaluate(sets, &test.labels)?;
        let covered = (0..test.len()).filter(|&row| sets.contains(row, test.labels[row])).count();
        let coverage = wilson(covered, test.len(), LEVEL)?;
        let sizes: Vec<f64> = sets.sizes().map(|size| size as f64).collect();
        let size = mean_interval(&sizes, (0.0, test.classes.len() as f64), self.config.seed)?;
        Ok(SetSummary {
            wanted: ConformalConfig::default().coverage,
            coverage: report.coverage,
            coverage_interval: [coverage.low, coverage.high],
            mean_size: report.mean_size,
            size_interval: [size.low, size.high],
        })
    }
}

fn conformal() -> Result<Conformal> {
    Ok(ConformalConfig::default().validate()?)
}
