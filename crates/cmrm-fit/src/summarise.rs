//! How the arms of a fit did.

use cmrm::Matrix;
use cmrm::conformal::{self, Conformal, ConformalConfig, PredictionSets};
use cmrm::metric::wilson;
use cmrm_data::Dataset;
use cmrm_run::compare::compare;
use cmrm_run::corrected::{Corrected, risk_coverage};
use cmrm_run::judge::{LEVEL, mean_interval, measure};
use cmrm_run::summary::{ArmSummary, DataSummary, FitSummary, Labels, SCHEMA, SetSummary};
use cmrm_run::{CalibratedFor, Calibration, RunInfo, Suspects, TransitionSummary};
use cmrm_train::Stop;

use crate::error::Result;
use crate::outcome::{FitOutcome, FittedArm};
use crate::transition::TransitionSetting;

impl FitOutcome {
    /// Judges the arms and sums the fit up. `run` is where it is kept.
    pub fn summary(&self, run: String, info: &RunInfo) -> Result<FitSummary> {
        self.summary_of(run, info, self.judged())
    }

    /// The same without judging the arms, which takes a while: for a model whose rows are about to go.
    pub fn summary_unjudged(&self, run: String, info: &RunInfo) -> Result<FitSummary> {
        let mut summary = self.summary_of(run, info, (None, Labels::None))?;
        summary.warnings.push("the model was stored without its rows, and its summary without figures of them".into());
        Ok(summary)
    }

    fn summary_of(
        &self,
        run: String,
        info: &RunInfo,
        (test, labels): (Option<&Dataset>, Labels),
    ) -> Result<FitSummary> {
        let (config, rows) = (&self.config, &self.rows);
        let (mut arms, mut judged) = (Vec::new(), Vec::new());
        for arm in &self.arms {
            let Some(test) = test else {
                arms.push(ArmSummary { name: arm.name.clone(), epoch: arm.epoch, ..ArmSummary::default() });
                continue;
            };
            let said = self.said(arm, test, labels)?;
            arms.push(self.judge(arm, test, labels, &said)?);
            judged.push(said.by_labels);
        }
        let difference = match (test, judged.as_slice()) {
            // The weights that second copies learned with come from models that had seen the row they judge: by out-of-sample
            // rows alone, the envelope's arm would look better than it is.
            (Some(_), _) if labels == Labels::ObservedOutOfSample => None,
            // One model, twice.
            _ if self.gave_way.is_some() => None,
            (Some(test), [base, envelope]) => {
                let of_classes = |values| Matrix::new(values, test.classes.len());
                Some(compare(of_classes(base)?, of_classes(envelope)?, &test.labels, config.seed)?)
            }
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
            transition: config.transition_matrix().map(|transition| {
                let estimated = matches!(config.transition, Some(TransitionSetting::Estimated(_)));
                TransitionSummary::new(transition, &train.classes, estimated)
            }),
            suspects: Suspects::find(training_rows),
            warnings: self.warnings()?,
            seed: config.seed,
            threads: rayon::current_num_threads(),
            version: info.version.clone(),
            fingerprint: info.fingerprint.clone(),
        })
    }

    /// What an arm says of the judged rows.
    fn said(&self, arm: &FittedArm, test: &Dataset, labels: Labels) -> Result<Said> {
        let stop = Stop::default();
        let classes = test.classes.len();
        Ok(match (labels, &arm.out_of_sample) {
            (Labels::ObservedOutOfSample, Some(out_of_sample)) => {
                Said { by_labels: out_of_sample.clone(), true_classes: arm.as_of_new_rows(out_of_sample, classes)? }
            }
            (Labels::Observed | Labels::ObservedValidation, _) => Said {
                by_labels: self.observed_probabilities(arm, test.x()?, &stop)?,
                true_classes: arm.model.probabilities(test.x()?, &stop)?,
            },
            _ => {
                let said = arm.model.probabilities(test.x()?, &stop)?;
                Said { by_labels: said.clone(), true_classes: said }
            }
        })
    }

    /// How an arm did on the judged rows.
    fn judge(&self, arm: &FittedArm, test: &Dataset, labels: Labels, said: &Said) -> Result<ArmSummary> {
        let (seed, classes) = (self.config.seed, test.classes.len());
        let by_labels = Matrix::new(&said.by_labels, classes)?;
        let true_classes = Matrix::new(&said.true_classes, classes)?;
        let noise = self.noise.as_ref().filter(|_| labels.may_be_wrong());
        let corrected = noise
            .map(|noise| Corrected::new(true_classes, &test.labels, &noise.estimate.likeliest, seed))
            .transpose()?;
        let mut judged = ArmSummary {
            name: arm.name.clone(),
            epoch: arm.epoch,
            metrics: measure(by_labels, &test.labels, seed)?,
            corrected_metrics: corrected.as_ref().map(Corrected::metrics).transpose()?.unwrap_or_default(),
            risk_coverage: match &corrected {
                Some(corrected) => corrected.risk_coverage()?,
                None => risk_coverage(by_labels, &test.labels, seed)?,
            },
            ..ArmSummary::default()
        };
        // Not for the rows that would calibrate.
        if !matches!(labels, Labels::ObservedValidation | Labels::ObservedOutOfSample)
            && let Some(calibration) = self.calibration(arm, &Stop::default())?
        {
            judged.sets = Some(self.observed_sets(&calibration, true_classes, test)?);
            if self.noise.is_some() && calibration.clean.is_some() {
                let posteriors = noise.map(|noise| noise.posteriors_of(by_labels, &test.labels)).transpose()?;
                judged.corrected_sets = Some(self.corrected_sets(&calibration, true_classes, test, posteriors)?);
            }
        }
        Ok(judged)
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

/// Probabilities of the judged rows, `[rows, classes]`.
struct Said {
    /// Of what the labels are by which they are judged: of observed ones, where those may be wrong.
    by_labels: Vec<f32>,
    /// Of the true classes, as the arm predicts.
    true_classes: Vec<f32>,
}

fn conformal() -> Result<Conformal> {
    Ok(ConformalConfig::default().validate()?)
}
