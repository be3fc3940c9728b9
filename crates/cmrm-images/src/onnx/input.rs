//! What a model wants to be shown.

use cmrm_onnx::{DatumType, OnnxModel};

use crate::error::Result;

/// Where a pixel's channels stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One plane a channel: batch, channels, height, width.
    Nchw,
    /// Side by side: batch, height, width, channels.
    Nhwc,
}

/// The input of a model; lengths that it leaves open are `None`.
#[derive(Debug, Clone)]
pub(super) struct InputSpec {
    pub(super) name: String,
    pub(super) kind: DatumType,
    pub(super) layout: Layout,
    pub(super) batch: Option<usize>,
    pub(super) channels: Option<usize>,
    pub(super) height: Option<usize>,
    pub(super) width: Option<usize>,
}

impl InputSpec {
    /// The one input of a model.
    pub(super) fn of(model: &OnnxModel) -> Result<Self> {
        let [input] = model.inputs() else {
            let names: Vec<String> = model.inputs().iter().map(|input| format!("'{}'", input.name)).collect();
            return Err(model
                .refuse(match names.len() {
                    0 => "the chosen tensor does not depend on the model's input".into(),
                    _ => {
                        format!(
                            "the model has {} inputs ({}), but only an image is available",
                            names.len(),
                            names.join(", ")
                        )
                    }
                })
                .into());
        };
        let name = input.name.clone();
        let kind = match input.kind {
            Some(kind @ (DatumType::F32 | DatumType::F16 | DatumType::F64 | DatumType::U8)) => kind,
            _ => {
                let kind = input.stated_kind;
                Err(model.refuse(format!("the input '{name}' has type {kind}; expected floats or bytes (UINT8)")))?
            }
        };
        let lengths = input.lengths.clone().unwrap_or_else(|| vec![None; 4]);
        let [batch, second, third, fourth] = lengths[..] else {
            let (found, shown) = (lengths.len(), input.shown_lengths());
            let why = format!("the input '{name}' has {found} dimensions ({shown}); a batch of images has 4");
            return Err(model.refuse(why).into());
        };
        let is_channels = |length: Option<usize>| matches!(length, Some(1 | 3));
        let (layout, channels, height, width) = if is_channels(second) || (second.is_none() && !is_channels(fourth)) {
            (Layout::Nchw, second, third, fourth)
        } else if is_channels(fourth) {
            (Layout::Nhwc, fourth, second, third)
        } else {
            return Err(model
                .refuse(format!(
                    "the input '{name}' is {}; expected one or three channels in the second or last dimension",
                    input.shown_lengths()
                ))
                .into());
        };
        Ok(InputSpec { name, kind, layout, batch, channels, height, width })
    }

    /// The shape for a batch of images of that height and width.
    pub(super) fn shape(&self, batch: usize, channels: usize, height: usize, width: usize) -> [usize; 4] {
        match self.layout {
            Layout::Nchw => [batch, channels, height, width],
            Layout::Nhwc => [batch, height, width, channels],
        }
    }
}
