//! What a model of tokens wants to be given.

use cmrm_data::Result;
use cmrm_onnx::{DatumType, Input, Length, OnnxModel, Tensor, tensor};

use crate::tokens::Tokens;

/// What an input means, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Ids,
    Mask,
    Types,
    Positions,
}

const ROLES: [(&str, Role); 4] = [
    ("input_ids", Role::Ids),
    ("attention_mask", Role::Mask),
    ("token_type_ids", Role::Types),
    ("position_ids", Role::Positions),
];

/// The inputs of a model, in its order.
#[derive(Debug)]
pub(crate) struct Inputs {
    wanted: Vec<(Role, DatumType)>,
    /// Texts of a batch, if the model was exported for a number.
    batch: Option<usize>,
    /// Tokens of a text, likewise.
    pub(crate) length: Option<usize>,
}

impl Inputs {
    pub(crate) fn of(model: &OnnxModel) -> Result<Self> {
        let mut inputs = Inputs { wanted: Vec::new(), batch: None, length: None };
        for input in model.inputs() {
            let (batch, length) = inputs.add(input).map_err(|why| model.refuse(why))?;
            inputs.batch = inputs.batch.or(batch);
            inputs.length = inputs.length.or(length);
        }
        if !inputs.has(Role::Ids) {
            let found: Vec<String> = model.inputs().iter().map(|input| format!("'{}'", input.name)).collect();
            let found = if found.is_empty() { "none".into() } else { found.join(", ") };
            return Err(model.refuse(format!("the model has no input 'input_ids' for tokens; its inputs: {found}")));
        }
        Ok(inputs)
    }

    /// Takes an input and returns the lengths that it fixes, or says why it cannot be served.
    fn add(&mut self, input: &Input) -> Result<(Option<usize>, Option<usize>), String> {
        let name = &input.name;
        let role = ROLES.iter().find(|(known, _)| known == name).map(|(_, role)| *role).ok_or_else(|| {
            let known = ROLES.map(|(known, _)| known).join(", ");
            format!("the input '{name}' is none that texts have; expected {known}")
        })?;
        let kind = match input.kind {
            Some(kind @ (DatumType::I64 | DatumType::I32)) => kind,
            Some(kind @ (DatumType::F32 | DatumType::Bool)) if role == Role::Mask => kind,
            _ => return Err(format!("the input '{name}' has type {}; expected INT64 or INT32", input.stated_kind)),
        };
        self.wanted.push((role, kind));
        match input.lengths.as_deref() {
            None => Ok((None, None)),
            Some(&[batch, length]) => Ok((batch, length)),
            Some(_) => {
                let shown = input.shown_lengths();
                Err(format!("the input '{name}' is {shown}; a batch of texts has 2 dimensions"))
            }
        }
    }

    fn has(&self, role: Role) -> bool {
        self.wanted.iter().any(|(other, _)| *other == role)
    }

    /// Kinds and shapes for texts of so many tokens, or of any number; what the model fixes is fixed.
    pub(crate) fn shapes(&self, tokens: Option<usize>) -> Vec<(DatumType, Vec<Length>)> {
        let length = self.length.or(tokens).map_or(Length::Open("length"), Length::Fixed);
        let shape = vec![Length::Fixed(self.rows()), length];
        self.wanted.iter().map(|&(_, kind)| (kind, shape.clone())).collect()
    }

    /// A text as the model takes it, padded behind if need be. A model with a batch of its own gets the text so many times.
    pub(crate) fn tensors(&self, text: &Tokens, padding: i64) -> Result<Vec<Tensor>> {
        let shape = [self.rows(), self.length.unwrap_or(text.length())];
        let input = |&(role, kind): &(Role, DatumType)| {
            let mut row = match role {
                Role::Ids => text.ids.clone(),
                Role::Types => text.types.clone(),
                Role::Mask => vec![1; text.ids.len()],
                Role::Positions => (0..shape[1] as i64).collect(),
            };
            row.resize(shape[1], if role == Role::Ids { padding } else { 0 });
            tensor(&shape, &row.repeat(shape[0]), kind)
        };
        self.wanted.iter().map(input).collect()
    }

    fn rows(&self) -> usize {
        self.batch.unwrap_or(1)
    }
}
