//! A model of tokens that is ready to run.

use cmrm_data::{Error, Result};
use cmrm_onnx::{OnnxModel, Plan};

use crate::inputs::Inputs;
use crate::tokens::Tokens;

/// A model and its plans: one for texts of any length where the engine can make it, else one for each length, made when it is
/// needed. That takes a tenth of a second; plans are not kept, since each may hold a copy of the model's numbers.
pub(crate) struct Network {
    model: OnnxModel,
    inputs: Inputs,
    padding: i64,
    any_length: Option<Plan>,
}

impl Network {
    /// Tries the model on a text, and returns the lengths of what it makes of it.
    pub(crate) fn new(model: OnnxModel, inputs: Inputs, padding: i64, text: &Tokens) -> Result<(Self, Vec<usize>)> {
        let mut network = Network { model, inputs, padding, any_length: None };
        // Shapes with unknowns are hard; that the engine cannot solve them, or fails over them, is no error yet.
        if let Ok(plan) = network.model.plan(&network.inputs.shapes(None))
            && let Ok((lengths, _)) = network.run(&plan, text)
        {
            network.any_length = Some(plan);
            return Ok((network, lengths));
        }
        let (lengths, _) = network.run(&network.plan(text.length())?, text)?;
        Ok((network, lengths))
    }

    /// Whether one plan serves both texts.
    pub(crate) fn takes_together(&self, one: &Tokens, other: &Tokens) -> bool {
        self.any_length.is_some() || one.length() == other.length()
    }

    /// A plan for texts of this length.
    pub(crate) fn plan(&self, length: usize) -> Result<Plan> {
        match &self.any_length {
            Some(plan) => Ok(plan.clone()),
            None => self.model.plan(&self.inputs.shapes(Some(length))),
        }
    }

    /// Runs a text: the lengths of the tensor and its numbers, those of the text first.
    pub(crate) fn run(&self, plan: &Plan, text: &Tokens) -> Result<(Vec<usize>, Vec<f32>)> {
        plan.run(self.inputs.tensors(text, self.padding)?)
    }

    /// The name of the tensor.
    pub(crate) fn output(&self) -> &str {
        self.model.output()
    }

    /// An error that names the model's file.
    pub(crate) fn refuse(&self, why: impl Into<String>) -> Error {
        self.model.refuse(why)
    }
}
