//! The network of a finished run, applied to images: what its last layer sees is a feature for any other model.

use std::path::Path;

use cmrm_run::RunInfo;
use tch::{Device, Kind, Tensor};

use crate::data::{Images, Resident, Scaling};
use crate::error::{Error, Result};
use crate::network::{Network, Parameters};
use crate::plan::{Plan, RunSpec};
use crate::train::{MODEL, numbers, read_tensors, see};

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
        let (settings, info) = (run.join("config.toml"), run.join("run.json"));
        if !info.is_file() || !settings.is_file() {
            return Err(Error::in_file(run, "not a finished run of `cmrm-images train`"));
        }
        let text = std::fs::read_to_string(&info).map_err(|error| Error::in_file(&info, error))?;
        let stated: RunInfo = serde_json::from_str(&text).map_err(|error| Error::in_file(&info, error))?;
        stated.check().map_err(|error| Error::in_file(&info, error))?;
        let plan = Plan::read(&settings)?;
        let spec = plan.runs()?.into_iter().find(|spec| spec.arm == stated.chosen);
        let spec = spec.ok_or_else(|| Error::in_file(&settings, format!("no arm '{}'", stated.chosen)))?;
        Self::load(&run.join(MODEL), &spec, stated.classes.len(), plan.size, device)
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
