//! The data of a fit's report.

use std::borrow::Cow;

use cmrm::Matrix;
use cmrm_data::{Dataset, Input};
use cmrm_report::{Card, Envelope, Report, Sensitivity};
use cmrm_run::summary::FitSummary;
use cmrm_run::{Cards, Confidences, FEW_COLUMNS, PICTURE_BYTES, ReportParts, SUSPECTS, fitting};
use cmrm_train::Stop;
use rayon::prelude::*;

use crate::error::Result;
use crate::kinds::OptimiserKind;
use crate::outcome::{FitOutcome, FittedArm};

impl FitOutcome {
    /// The most suspicious rows, shown as they are in `raw`, from which the rows trained on were made.
    pub fn suspects(&self, raw: Input) -> Result<Vec<Card>> {
        let cards = Cards::new(raw, Cow::Borrowed(&self.rows.train.data), Cow::Borrowed(&self.training_rows))?;
        let suspects: Vec<usize> = cards.suspects().into_iter().take(SUSPECTS).collect();
        Ok(fitting(suspects.into_par_iter().map(|at| cards.card(at, FEW_COLUMNS)).collect(), PICTURE_BYTES))
    }

    /// Every number of the report.
    pub fn report(
        &self,
        summary: &FitSummary,
        suspects: Vec<Card>,
        sensitivity: Option<Sensitivity>,
    ) -> Result<Report> {
        let (config, train) = (&self.config, &self.rows.train);
        let envelope = config.envelope();
        let base = self.base_arm().map(|arm| confidences(arm, &train.data, None)).transpose()?;
        Ok(cmrm_run::report(ReportParts {
            summary,
            rows: &self.training_rows,
            confidences: &confidences(self.envelope_arm()?, &train.data, train.clean.as_deref())?,
            base: base.as_ref(),
            envelope: Envelope {
                lambda: envelope.lambda,
                alpha: envelope.alpha,
                temperature: envelope.temperature,
                ceiling: envelope.ceiling,
            },
            // A vote has no batches, L-BFGS takes all rows at once.
            batch: if config.is_vote() || config.optimiser() == OptimiserKind::Lbfgs { 0 } else { config.batch },
            history: &self.history,
            suspects,
            sensitivity,
            config: config.to_toml()?,
        })?)
    }
}

fn confidences<'a>(arm: &FittedArm, train: &'a Dataset, clean: Option<&'a [u32]>) -> Result<Confidences<'a>> {
    if let Some(out_of_sample) = &arm.out_of_sample {
        return Ok(Confidences::of(Matrix::new(out_of_sample, train.classes.len())?, &train.labels, clean));
    }
    let mut confidences = Confidences::new(&train.labels, clean);
    arm.model.each_probabilities(train.x()?, &Stop::default(), |probabilities| confidences.add(probabilities))?;
    Ok(confidences)
}
