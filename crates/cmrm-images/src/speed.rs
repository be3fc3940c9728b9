//! How many images a second: training steps on made-up images, several runs at once.

use std::sync::Barrier;
use std::time::Instant;

use cmrm::envelope::{Envelope, Preset};
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use serde::Serialize;
use tch::{Device, Tensor};

use crate::cuda::{Cuda, Graph};
use crate::error::{Error, Result};
use crate::network::{Architecture, Network};
use crate::objective::TensorLoss;
use crate::plan::Precision;
use crate::train::{Optimiser, RunningMargins, Step};

/// Classes of the made-up images.
const CLASSES: i64 = 100;
/// Steps before the clock starts.
const WARM_UP_STEPS: usize = 5;

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct SpeedTest {
    /// Where.
    pub device: Device,
    /// How numbers are held.
    pub precision: Precision,
    /// Runs at once.
    pub runs: usize,
    /// Images a step.
    pub batch: usize,
    /// Steps that are timed, in each run.
    pub steps: usize,
    /// Whether steps are captured into graphs.
    pub graphs: bool,
    /// Whether the envelope is on (`robust`).
    pub envelope: bool,
    /// Whether libtorch times several kernels and keeps the fastest; said here, set by the caller for the whole process.
    pub kernels_chosen: bool,
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Speed {
    /// Runs at once.
    pub runs: usize,
    /// How numbers were held.
    pub precision: Precision,
    /// Whether steps were captured into graphs.
    pub graphs: bool,
    /// Whether the envelope was on.
    pub envelope: bool,
    /// Whether several kernels were timed and the fastest kept.
    pub kernels_chosen: bool,
    /// Images a second, all runs together.
    pub images_per_second: f64,
    /// Seconds from the first run's start to the last one's end.
    pub seconds: f64,
    /// Seconds before that, to warm up and capture.
    pub prepared_in: f64,
    /// Why there was no graph, if one was asked for.
    pub graph_failure: Option<String>,
}

impl SpeedTest {
    /// Measures ResNet-20 on 32×32 pixels with a hundred classes.
    pub fn measure(&self) -> Result<Speed> {
        if self.device.is_cuda() {
            Cuda::load()?.allow_tf32(self.precision != Precision::F32)?;
        }
        let started = Instant::now();
        let barrier = Barrier::new(self.runs + 1);
        let (failures, prepared_in, seconds) = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.runs)
                .map(|run| {
                    scope.spawn({
                        let barrier = &barrier;
                        move || self.work(run as u64, barrier)
                    })
                })
                .collect();
            barrier.wait();
            let prepared_in = started.elapsed().as_secs_f64();
            let begun = Instant::now();
            barrier.wait();
            let seconds = begun.elapsed().as_secs_f64();
            let outcomes: Vec<Result<Option<String>>> = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| Err(Error::Internal("a worker panicked".into()))))
                .collect();
            (outcomes, prepared_in, seconds)
        });
        let failures: Vec<Option<String>> = failures.into_iter().collect::<Result<_>>()?;
        let images = (self.runs * self.steps * self.batch) as f64;
        Ok(Speed {
            runs: self.runs,
            precision: self.precision,
            graphs: self.graphs,
            envelope: self.envelope,
            kernels_chosen: self.kernels_chosen,
            images_per_second: images / seconds,
            seconds,
            prepared_in,
            graph_failure: failures.into_iter().flatten().next(),
        })
    }

    /// Prepares, waits for the others, works, waits for the others. Returns why there was no graph.
    fn work(&self, seed: u64, barrier: &Barrier) -> Result<Option<String>> {
        let prepared = self.prepare(seed);
        // Whatever happened, the others are not left waiting.
        barrier.wait();
        let outcome = prepared.and_then(|prepared| {
            for _ in 0..self.steps {
                prepared.step()?;
            }
            self.wait()?;
            Ok(prepared.failure)
        });
        barrier.wait();
        outcome
    }

    fn wait(&self) -> Result<()> {
        if self.device.is_cuda() { Cuda::load()?.synchronise() } else { Ok(()) }
    }

    fn prepare(&self, seed: u64) -> Result<Prepared> {
        if self.device.is_cuda() {
            Cuda::load()?.enter_stream(false)?;
        }
        let loss = LossConfig::CrossEntropy;
        let envelope = if self.envelope { Some(Preset::Robust.config(&loss).validate()?) } else { None };
        let network = Network::new(Architecture::Resnet20, 3, 32, CLASSES, false)?;
        let parameters = network.parameters(seed, self.device, self.precision == Precision::Mixed);
        let loss = TensorLoss::new(loss, &[1.0; CLASSES as usize], self.device)?;
        let optimiser = Optimiser { momentum: 0.9, weight_decay: 2e-4 };
        let mut step = Step::new(network, parameters, loss, optimiser, self.batch, self.batch, [32, 32, 3]);
        if let Some(beta) = envelope.and_then(|envelope| envelope.config().running) {
            step.running.push(RunningMargins::new(beta, self.batch, self.device));
        }
        let mut rng = Rng::new(seed, 0);
        let pixels: Vec<f32> = (0..self.batch * 3072).map(|_| rng.uniform() as f32).collect();
        let labels: Vec<i64> = (0..self.batch).map(|_| rng.below(CLASSES as usize) as i64).collect();
        step.images.shallow_clone().copy_(&Tensor::from_slice(&pixels).view(step.images.size().as_slice()));
        step.labels.shallow_clone().copy_(&Tensor::from_slice(&labels));
        step.set_rate(0.01);
        let mut prepared = Prepared { step, envelope, graph: None, failure: None };
        if self.graphs && self.device.is_cuda() {
            match prepared.step.capture(Cuda::load()?, prepared.envelope.as_ref()) {
                Ok(graph) => prepared.graph = Some(graph),
                Err(error) => prepared.failure = Some(error.to_string()),
            }
        }
        for _ in 0..WARM_UP_STEPS {
            prepared.step()?;
        }
        self.wait()?;
        Ok(prepared)
    }
}

/// A run ready to go.
struct Prepared {
    step: Step,
    envelope: Option<Envelope>,
    graph: Option<Graph>,
    failure: Option<String>,
}

impl Prepared {
    fn step(&self) -> Result<()> {
        self.step.rewind();
        match &self.graph {
            Some(graph) => graph.replay(),
            None => self.step.run(self.envelope.as_ref()),
        }
    }
}
