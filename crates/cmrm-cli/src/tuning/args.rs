//! What a search tries, on the command line.

use clap::Args;
use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm_fit::Space;

/// Lists of values to try; every combination is a setting.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Search")]
pub struct SpaceArgs {
    /// Presets [default: all]; only robust is varied, the others are tried unchanged.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    presets: Vec<Preset>,
    /// Weights of the envelope [default: a third, once and three times the preset's].
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    lambdas: Vec<f64>,
    /// Shares of the margins below the threshold [default: 0.3 and the preset's].
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    alphas: Vec<f64>,
    /// Widths of the soft filter [default: half, once and twice the preset's].
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    temperatures: Vec<f64>,
    /// Methods, as `cmrm methods` lists them [default: the configured one; for cross-entropy also gce].
    #[arg(long = "methods", visible_alias = "losses", value_delimiter = ',', value_name = "LIST", value_parser = crate::args::method)]
    losses: Vec<LossConfig>,
    /// Learning rates [default: the configured one].
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    learning_rates: Vec<f64>,
    /// Penalties on the weights [default: the configured one].
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    l2s: Vec<f64>,
    /// Numbers of epochs [default: the configured one and a quarter of it].
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    epoch_counts: Vec<usize>,
}

impl From<SpaceArgs> for Space {
    fn from(args: SpaceArgs) -> Self {
        let SpaceArgs { presets, lambdas, alphas, temperatures, losses, learning_rates, l2s, epoch_counts } = args;
        Space { presets, lambdas, alphas, temperatures, losses, learning_rates, l2s, epoch_counts }
    }
}
