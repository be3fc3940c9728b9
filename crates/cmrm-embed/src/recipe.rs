//! How the encoder's own library uses it: sentence-transformers keeps that in small files beside the tokenizer.

use std::path::{Path, PathBuf};

use cmrm_data::read::Source;
use cmrm_data::{Error, Result};
use serde_json::Value;

use crate::pooling::Pooling;

/// The file with the longest text, in tokens.
const LENGTH: &str = "sentence_bert_config.json";
/// The file with the steps from tokens to a vector.
const MODULES: &str = "modules.json";

/// What the files say; nothing where they are not there.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recipe {
    pub(crate) max_length: Option<usize>,
    pub(crate) normalise: Option<bool>,
    /// Ways of pooling, by name.
    poolings: Vec<String>,
    /// Steps after pooling that a tensor of tokens does not have behind it.
    further: Vec<String>,
    /// The file that names the steps.
    file: PathBuf,
}

impl Recipe {
    /// Reads the files in the tokenizer's folder.
    pub(crate) fn beside(tokenizer: &Path) -> Result<Self> {
        let folder = tokenizer.parent().unwrap_or(Path::new(""));
        let mut recipe = Recipe { file: folder.join(MODULES), ..Recipe::default() };
        if let Some(length) = read(&folder.join(LENGTH))? {
            recipe.max_length = length["max_seq_length"].as_u64().and_then(|length| usize::try_from(length).ok());
        }
        let modules = read(&recipe.file)?;
        for module in modules.iter().flat_map(|modules| modules.as_array().into_iter().flatten()) {
            let kind = module["type"].as_str().unwrap_or_default();
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" => {}
                "Pooling" => {
                    let place = folder.join(module["path"].as_str().unwrap_or_default()).join("config.json");
                    recipe.poolings.extend(read(&place)?.as_ref().map(poolings).unwrap_or_default());
                }
                "Normalize" => recipe.normalise = Some(true),
                other => recipe.further.push(other.to_owned()),
            }
        }
        if modules.is_some() {
            recipe.normalise.get_or_insert(false);
        }
        Ok(recipe)
    }

    /// How tokens are pooled: as the library does if that is known and possible here, else by their mean.
    pub(crate) fn pooling(&self) -> Result<Pooling> {
        let beyond = match (self.further.as_slice(), self.poolings.as_slice()) {
            ([], []) => return Ok(Pooling::Mean),
            ([], [one]) => match one.parse() {
                Ok(pooling) => return Ok(pooling),
                Err(_) => format!("{one} pooling"),
            },
            ([], several) => format!("several poolings ({})", several.join(", ")),
            (further, _) => format!("a step '{}' after pooling", further.join("', '")),
        };
        Err(Error::option(format!("the encoder has {beyond}, which is not supported"))
            .in_file(self.file.display())
            .way_out("export a model that has it and an output sentence_embedding, or go without and name a --pooling"))
    }
}

/// Names of the ways of pooling: one or a list of them, or in older files a switch for each.
fn poolings(config: &Value) -> Vec<String> {
    let modes = &config["pooling_mode"];
    let names = modes.as_array().map_or(std::slice::from_ref(modes), Vec::as_slice).iter().filter_map(Value::as_str);
    let switches = config.as_object().into_iter().flatten().filter(|(_, switch)| **switch == Value::Bool(true));
    let switches = switches.filter_map(|(key, _)| key.strip_prefix("pooling_mode_"));
    let switches = switches.map(|name| name.strip_suffix("_tokens").or(name.strip_suffix("_token")).unwrap_or(name));
    names.chain(switches).map(str::to_owned).collect()
}

/// A JSON file, if it is there.
fn read(path: &Path) -> Result<Option<Value>> {
    if !path.is_file() {
        return Ok(None);
    }
    let parsed = serde_json::from_slice(&Source::file(path).read_all()?);
    parsed.map(Some).map_err(|error| Error::malformed("JSON", error).in_file(path.display()))
}
