//! The encoder: tokens in, one vector a text out.

use std::path::Path;

use cmrm_data::{Error, Problem, Result};
use cmrm_onnx::{OnnxFile, OnnxModel, Plan};
use rayon::prelude::*;

use crate::inputs::Inputs;
use crate::network::Network;
use crate::pooling::{Pooling, normalise};
use crate::recipe::Recipe;
use crate::tokens::{TextTokenizer, Tokens};

/// The tensor of models that pool by themselves.
const READY: &str = "sentence_embedding";
/// Tokens of a text where nobody says otherwise.
const MAX_LENGTH: usize = 256;

/// How an encoder is used. What is not stated is as sentence-transformers' own files beside the tokenizer say, else as below.
#[derive(Debug, Clone, Default)]
pub struct EncoderOptions {
    /// Name of the tensor to use; `sentence_embedding` if the model has one, else its first output.
    pub output: Option<String>,
    /// How a tensor of tokens is pooled; the mean.
    pub pooling: Option<Pooling>,
    /// Whether vectors are scaled to length one; they are.
    pub normalise: Option<bool>,
    /// Tokens of a text, the tokenizer's own ones included, after which it is cut off; 256.
    pub max_length: Option<usize>,
}

/// Texts as rows of features.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The features, row by row.
    pub features: Vec<f32>,
    /// Texts that were longer than [`Encoder::max_length`], and cut off there.
    pub cut: usize,
}

/// A model and its tokenizer.
pub struct Encoder {
    tokenizer: TextTokenizer,
    network: Network,
    pooling: Option<Pooling>,
    normalise: bool,
    max_length: usize,
    width: usize,
}

impl Encoder {
    /// Reads a model and its tokenizer, and tries them on a short text.
    pub fn open(model: &Path, tokenizer: &Path, options: &EncoderOptions) -> Result<Self> {
        let file = OnnxFile::read(model)?;
        let ready = file.has_output(READY).then_some(READY);
        let model = file.keep(options.output.as_deref().or(ready))?;
        let inputs = Inputs::of(&model)?;
        let recipe = Recipe::beside(tokenizer)?;
        let max_length = max_length(&model, options.max_length, recipe.max_length, inputs.length)?;
        let tokenizer = TextTokenizer::open(tokenizer, max_length)?;
        let (network, lengths) = Network::new(model, inputs, tokenizer.padding, &tokenizer.encode("a")?)?;
        let (pooling, width) = match *lengths.as_slice() {
            [_, width] if options.pooling.is_none() => (None, width),
            [_, width] => {
                let why = format!("the tensor '{}' has one row a text already, {width} numbers", network.output());
                return Err(network.refuse(why).way_out("leave out --pooling"));
            }
            [_, _, width] => (Some(options.pooling.map_or_else(|| recipe.pooling(), Ok)?), width),
            _ => (None, 0),
        };
        if width == 0 {
            let (name, shown) = (network.output(), lengths.iter().map(usize::to_string).collect::<Vec<_>>().join("×"));
            let why = format!("the tensor '{name}' is {shown}; expected texts × numbers or texts × tokens × numbers");
            return Err(network.refuse(why).way_out("choose another one with --output"));
        }
        let normalise = options.normalise.or(recipe.normalise).unwrap_or(true);
        Ok(Encoder { tokenizer, network, pooling, normalise, max_length, width })
    }

    /// Features of a text.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Tokens after which a text is cut off.
    pub fn max_length(&self) -> usize {
        self.max_length
    }

    /// Where the features come from, in words.
    pub fn describe(&self) -> String {
        let scaled = if self.normalise { ", unit length" } else { "" };
        match self.pooling {
            Some(Pooling::Mean) => format!("mean of '{}'{scaled}", self.network.output()),
            Some(Pooling::Cls) => format!("first token of '{}'{scaled}", self.network.output()),
            None => format!("'{}'{scaled}", self.network.output()),
        }
    }

    /// Encodes texts, the first of which is row `first_row` of its table. Before each text `go_on` is asked, from any thread;
    /// nothing is returned once it says no.
    pub fn encode<S: AsRef<str> + Sync>(
        &self,
        first_row: u64,
        texts: &[S],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Encoded>> {
        let tokens = texts.par_iter().map(|text| self.tokenizer.encode(text.as_ref())).collect::<Result<Vec<_>>>()?;
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        // The longest first: one that is too long for the model is met at once, and no thread is left with it at the end.
        order.sort_by_key(|&text| std::cmp::Reverse(tokens[text].length()));
        let mut features = vec![0.0; texts.len() * self.width];
        for group in order.chunk_by(|&a, &b| self.network.takes_together(&tokens[a], &tokens[b])) {
            let plan = self.network.plan(tokens[group[0]].length())?;
            let vector = |&text: &usize| match go_on() {
                true => {
                    self.vector(&plan, &tokens[text]).map_err(|error| error.at_row(first_row + text as u64)).map(Some)
                }
                false => Ok(None),
            };
            // One text at a time for each thread, however unequal they are.
            let vectors = group.par_iter().with_max_len(1).map(vector).collect::<Result<Option<Vec<_>>>>()?;
            let Some(vectors) = vectors else { return Ok(None) };
            for (&text, vector) in group.iter().zip(vectors) {
                features[text * self.width..][..self.width].copy_from_slice(&vector);
            }
        }
        Ok(Some(Encoded { features, cut: tokens.iter().filter(|text| text.cut).count() }))
    }

    /// The features of one text.
    fn vector(&self, plan: &Plan, text: &Tokens) -> Result<Vec<f32>> {
        let numbers = self.network.run(plan, text)?.1;
        let count = if self.pooling.is_some() { text.length() * self.width } else { self.width };
        // The engine keeps to the shapes of the first text; another would be its fault, or that of a model with loops.
        let numbers = numbers.get(..count).ok_or_else(|| {
            let why =
                format!("the tensor '{}' has too few numbers for {} tokens", self.network.output(), text.length());
            self.network.refuse(why)
        })?;
        let mut vector = match self.pooling {
            Some(pooling) => pooling.apply(numbers, text.ids.len(), self.width),
            None => numbers.to_vec(),
        };
        if let Some(number) = vector.iter().find(|number| !number.is_finite()) {
            let problem = Problem::NonFinite { value: number.to_string() };
            return Err(Error::new(problem).way_out("the model cannot encode this text; leave the row out"));
        }
        if self.normalise {
            normalise(&mut vector);
        }
        Ok(vector)
    }
}

fn max_length(model: &OnnxModel, asked: Option<usize>, usual: Option<usize>, fixed: Option<usize>) -> Result<usize> {
    match (asked, fixed) {
        (Some(asked), Some(fixed)) if asked > fixed => {
            Err(model.refuse(format!("the model takes texts of {fixed} tokens, fewer than --max-length {asked}")))
        }
        (asked, fixed) => Ok(asked.or(usual).unwrap_or(MAX_LENGTH).min(fixed.unwrap_or(usize::MAX))),
    }
}
