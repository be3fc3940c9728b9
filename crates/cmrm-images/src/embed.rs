//! The network of a finished run, applied to images: what its last layer sees is a feature for any other model.

use std::path::Path;

use cmrm_run::names::{MODEL, SETTINGS};
use cmrm_run::{RunDir, RunKind};
use tch::{Device, Kind, Tensor};

use crate::data::{Images, Resident, Scaling};
use crate::error::{Error, Result};
use crate::network::{Network, Parameters};
use crate::plan::{Plan, RunSpec};
use crate::train::{numbers, read_tensors, see};

/// A trained network.
#[derive(Debug)]
pub struct TrainedNetwork {
    network: Network,
    parameters: Parameters,
    scaling: Scaling,
    size: Option<usize>,
    device: Device,
}

impl TrainedNetwork {
    /// Opens a finished run.
    pub fn open(run: &Path, device: Device) -> Result<Self> {
        if !RunDir::at(run).is_finished() {
            return Err(Error::in_file(run, "not a finished run of `cmrm-images train`"));
        }
        let (run, info) = RunDir::open(run)?;
        if info.kind != RunKind::Images {
            return Err(Error::in_file(run.path(), "not a run of `cmrm-images train`"));
        }
        let settings = run.file(SETTINGS);
        let plan = Plan::read(&settings)?;
        let spec = plan.runs()?.into_iter().find(|spec| spec.arm == info.chosen);
        let spec = spec.ok_or_else(|| Error::in_file(&settings, format!("no arm '{}'", info.chosen)))?;
        Self::load(&run.file(MODEL), &spec, info.classes.len(), plan.size, device)
    }

    fn load(model: &Path, spec: &RunSpec, classes: usize, size: Option<usize>, device: Device) -> Result<Self> {
        // One channel or three: the file fits only one of the two.
        let mut refused = None;
        for channels in [3, 1] {
            let side = size.map_or(i64::MAX, |size| size as i64);
            let network = Network::new(spec.network, channels, side, classes as i64, spec.is_cosine())?;
            let parameters = network.parameters(spec.seed, device, false);
            let [mean, scale] = [0, 1].map(|_| Tensor::zeros([channels], (Kind::Float, Device::Cpu)));
            let tensors = [
                ("mean", &mean),
                ("scale", &scale),
                ("parameters", &parameters.flat),
                ("running", &parameters.running),
            ];
            match read_tensors(model, &tensors) {
                Ok(_) => {
                    let scaling = Scaling { mean: numbers(&mean)?, scale: numbers(&scale)? };
                    return Ok(TrainedNetwork { network, parameters, scaling, size, device });
                }
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| Error::in_file(model, "no network in this file")))
    }

    /// Pixels of a side that files were scaled to.
    pub fn size(&self) -> Option<usize> {
        self.size
    }

    /// The features of images, row by row, and how many a row has.
    pub fn features(&self, images: &Images) -> Result<(Vec<f32>, usize)> {
        let images = Resident::new(images, &self.scaling, 0, self.device)?;
        let features = see(&self.network, &self.parameters, &images, 1.0).features;
        Ok((numbers(&features)?, features.size()[1] as usize))
    }
}
