//! One training: its state on the device, and an epoch of it.

use std::path::Path;
use std::time::Instant;

use cmrm_train::train::EpochStats;
use tch::{Device, Tensor};

use super::checkpoint::{self, EpochMetrics, Progress};
use super::judge::{Judgement, Seen, judge, see};
use super::records::Records;
use super::running::RunningMargins;
use super::step::{Optimiser, Step};
use crate::cuda::{Cuda, Graph};
use crate::data::{EpochOrder, ImageSet, Resident};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::objective::TensorLoss;
use crate::plan::{Precision, RunSpec};

/// Bytes of prepared images that a training holds at a time.
const SEGMENT_BYTES: usize = 256 << 20;

/// A graph, and whether it holds a step with the envelope.
struct Captured {
    with_envelope: bool,
    graph: Option<Graph>,
}

/// One training on its device.
pub struct Training {
    spec: RunSpec,
    step: Step,
    records: Records,
    images: Resident,
    labels: Tensor,
    wrong: Tensor,
    segment: usize,
    captured: Option<Captured>,
    /// Why steps are launched one kernel at a time although there is a card.
    pub graph_failure: Option<String>,
    /// Epochs done, images, seconds, metrics.
    pub progress: Progress,
}

impl Training {
    /// A training at its first step.
    pub fn new(spec: &RunSpec, set: &ImageSet, images: Resident) -> Result<Self> {
        let device = images.device();
        let [height, width, channels] = images.shape();
        let observed = set.observed(spec.noise.as_ref(), spec.seed)?;
        let mut counts = vec![0.0; set.classes.len()];
        observed.labels.iter().for_each(|&label| counts[label as usize] += 1.0);
        let loss = TensorLoss::new(spec.loss, &counts, device)?;
        let classes = set.classes.len() as i64;
        let network = Network::new(spec.network, channels, height.min(width), classes, spec.is_cosine())?;
        let parameters = network.parameters(spec.seed, device, spec.precision == Precision::Mixed);
        if spec.batch > images.len() {
            let reason = format!("a batch of {} images, but there are only {}", spec.batch, images.len());
            return Err(Error::settings(reason));
        }
        let shape = [height, width, channels];
        let image_bytes = 4 * shape.iter().product::<i64>() as usize;
        let batches = (images.len() / spec.batch).min((SEGMENT_BYTES / image_bytes / spec.batch).max(1));
        let segment = batches * spec.batch;
        let optimiser = Optimiser { momentum: spec.momentum, weight_decay: spec.weight_decay };
        let labels: Vec<i64> = observed.labels.iter().map(|&label| i64::from(label)).collect();
        let mut step = Step::new(network, parameters, loss, optimiser, spec.batch, segment, shape);
        step.running = spec.running.iter().map(|&beta| RunningMargins::new(beta, images.len(), device)).collect();
        Ok(Training {
            step,
            records: Records::new(images.len(), device),
            labels: Tensor::from_slice(&labels).to_device(device),
            wrong: Tensor::from_slice(&observed.mask()).to_device(device),
            spec: spec.clone(),
            images,
            segment,
            captured: None,
            graph_failure: None,
            progress: Progress { format: 0, epoch: 0, images: 0, seconds: 0.0, epochs: Vec::new() },
        })
    }

    /// Writes what it takes to apply the network: parameters, running statistics, normalisation.
    pub fn save_model(&self, path: &Path) -> Result<()> {
        let parameters = &self.step.parameters;
        let mut tensors = vec![("parameters", &parameters.flat), ("running", &parameters.running)];
        tensors.extend(self.images.scaling());
        checkpoint::write(path, &tensors, &self.progress)
    }

    fn state(&self) -> Vec<(&str, &Tensor)> {
        let step = &self.step;
        let mut state = vec![
            ("parameters", &step.parameters.flat),
            ("velocity", &step.velocity),
            ("running", &step.parameters.running),
        ];
        state.extend(self.records.named());
        state.extend(step.running.iter().map(|running| (running.name.as_str(), &running.values)));
        state
    }

    /// Writes a checkpoint.
    pub fn save(&self, path: &Path) -> Result<()> {
        checkpoint::write(path, &self.state(), &self.progress)
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, path: &Path) -> Result<()> {
        let progress = checkpoint::read(path, &self.state())?;
        if progress.epochs.len() != progress.epoch {
            return Err(Error::in_file(path, "a checkpoint of an earlier version; delete it to train from the start"));
        }
        self.progress = progress;
        Ok(())
    }

    /// Goes on from another arm's checkpoint: what that arm took is not this one's.
    pub fn restore_fork(&mut self, path: &Path) -> Result<()> {
        self.restore(path)?;
        self.progress.epochs.iter_mut().for_each(|epoch| epoch.stats.arm = self.spec.arm_in_reports().into());
        self.progress.images = 0;
        self.progress.seconds = 0.0;
        Ok(())
    }

    /// Trains one epoch and adds its line to the metrics.
    pub fn epoch(&mut self) -> Result<()> {
        let epoch = self.progress.epoch;
        self.prepare_graph(epoch)?;
        let started = Instant::now();
        self.step.set_rate(self.spec.rate(epoch));
        if self.spec.clears_momentum(epoch) {
            drop(self.step.velocity.shallow_clone().zero_());
        }
        drop(self.step.sums.shallow_clone().zero_());
        let order = EpochOrder::draw(self.images.len(), self.spec.augment, self.spec.seed, epoch);
        let shown = self.images.len() / self.spec.batch * self.spec.batch;
        for start in (0..shown).step_by(self.segment) {
            self.segment(&order, start..(start + self.segment).min(shown), epoch)?;
        }
        let sums = Vec::<f32>::try_from(&self.step.sums.to_device(Device::Cpu))?;
        let seconds = started.elapsed().as_secs_f64();
        let steps = (shown / self.spec.batch) as f64;
        self.progress.epoch += 1;
        self.progress.images += shown as u64;
        self.progress.seconds += seconds;
        let stats = self.epoch_stats(epoch, [0, 1, 2].map(|at| f64::from(sums[at]) / steps));
        self.progress.epochs.push(EpochMetrics { stats, seconds, test_accuracy: None, mean_set_size: None });
        if sums.iter().any(|sum| !sum.is_finite()) {
            return Err(Error::settings(format!(
                "{}: the loss is not finite after epoch {}; lower the learning rate or lambda",
                self.spec.folder(),
                self.progress.epoch
            )));
        }
        Ok(())
    }

    /// The figures of an epoch that has ended, from the means of base loss, risk and total.
    fn epoch_stats(&self, epoch: usize, [base, risk, total]: [f64; 3]) -> EpochStats {
        let envelope = self.spec.envelope_at(epoch);
        let (filtered, wrong) = if envelope.is_some() { self.filtered() } else { (0, 0) };
        let knows_wrong = self.spec.noise.is_some() && filtered > 0;
        EpochStats {
            arm: self.spec.arm_in_reports().into(),
            epoch,
            envelope_on: envelope.is_some(),
            base,
            risk,
            total,
            tau: None,
            tau_plus: None,
            tau_minus: None,
            filtered: filtered as f64 / self.images.len() as f64,
            wrong_among_filtered: knows_wrong.then(|| wrong as f64 / filtered as f64),
            learning_rate: self.spec.rate(epoch),
            training_accuracy: None,
            validation_accuracy: None,
            validation_loss: None,
        }
    }

    /// Prepares the images of a segment, trains on its batches, and keeps what they showed.
    fn segment(&self, order: &EpochOrder, range: std::ops::Range<usize>, epoch: usize) -> Result<()> {
        self.images.fill(order, range.clone(), &self.step.images);
        let rows = Tensor::from_slice(&order.rows[range.clone()]).to_device(self.step.device());
        let count = rows.size()[0];
        self.step.labels.narrow(0, 0, count).copy_(&self.labels.index_select(0, &rows));
        self.step.identities.narrow(0, 0, count).copy_(&rows);
        self.step.rewind();
        let graph = self.captured.as_ref().and_then(|captured| captured.graph.as_ref());
        for _ in 0..range.len() / self.spec.batch {
            match graph {
                Some(graph) => graph.replay()?,
                None => self.step.run(self.spec.envelope_at(epoch))?,
            }
        }
        let step = &self.step;
        let part = |tensor: &Tensor| tensor.narrow(0, 0, count);
        self.records.add(&rows, &part(&step.margins), &part(&step.weights), &part(&step.rivals));
        Ok(())
    }

    /// Captures the step of an epoch's phase, where there is a card.
    fn prepare_graph(&mut self, epoch: usize) -> Result<()> {
        let envelope = self.spec.envelope_at(epoch);
        let ready = self.captured.as_ref().is_some_and(|captured| captured.with_envelope == envelope.is_some());
        if ready || !self.step.device().is_cuda() {
            return Ok(());
        }
        // The old graph's memory is free before the new one asks for its own.
        self.captured = None;
        let captured = Cuda::load().and_then(|cuda| {
            if self.progress.images == 0 || epoch == 0 {
                // Any images will do to warm up, but not zeros: batch normalisation would divide by nothing.
                let order = EpochOrder::draw(self.images.len(), self.spec.augment, self.spec.seed, epoch);
                self.images.fill(&order, 0..self.spec.batch, &self.step.images);
            }
            self.step.capture(cuda, envelope)
        });
        let graph = match captured {
            Ok(graph) => Some(graph),
            Err(error) => {
                self.graph_failure = Some(error.to_string());
                None
            }
        };
        self.captured = Some(Captured { with_envelope: envelope.is_some(), graph });
        Ok(())
    }

    /// How many rows had a weight below one half when they were last shown, and how many of those have a wrong label.
    pub fn filtered(&self) -> (u64, u64) {
        let low = self.records.last_weight.lt(0.5);
        let both = low.logical_and(&self.wrong);
        let count = |mask: &Tensor| mask.sum(tch::Kind::Int64).int64_value(&[]) as u64;
        (count(&low), count(&both))
    }

    /// Judges by test images and adds it to the epoch's line.
    pub fn judge(&mut self, test: &Resident, labels: &[u32]) -> Result<Judgement> {
        let judgement = judge(&self.see(test).logits, labels)?;
        if let Some(line) = self.progress.epochs.last_mut() {
            line.test_accuracy = Some(judgement.accuracy);
            line.mean_set_size = Some(judgement.mean_set_size);
        }
        Ok(judgement)
    }

    /// What the network says of images.
    pub fn see(&self, images: &Resident) -> Seen {
        see(&self.step.network, &self.step.parameters, images, self.step.loss().scale())
    }

    /// What the network says of the training images as they are.
    pub fn see_training_images(&self) -> Seen {
        self.see(&self.images)
    }

    /// What training saw of every row.
    pub fn records(&self) -> &Records {
        &self.records
    }
}
