//! What a search tries, on the command line.

use clap::Args;
use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm_fit::Space;

/// Lists of values to try; every combination is a setting.
#[derive(Debug, Clone, Args)]
pub struct SpaceArgs {
    /// Presets to try; all if absent. Only robust is varied, the others are tried as they are.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    presets: Vec<Preset>,
    /// Weights of the envelope; a third, once and three times the preset's if absent.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    lambdas: Vec<f64>,
    /// Shares of the margins below the threshold; 0.3 and the preset's if absent.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    alphas: Vec<f64>,
    /// Widths of the soft filter; half, once and twice the preset's if absent.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    temperatures: Vec<f64>,
    /// Base losses; the configured one if absent, and gce beside cross-entropy.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    losses: Vec<LossConfig>,
    /// Learning rates; the configured one if absent.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    learning_rates: Vec<f64>,
    /// Penalties on the weights; the configured one if absent.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    l2s: Vec<f64>,
    /// Lengths of the training; the configured one and a quarter of it if absent.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    epoch_counts: Vec<usize>,
}

impl From<SpaceArgs> for Space {
    fn from(args: SpaceArgs) -> Self {
        let SpaceArgs { presets, lambdas, alphas, temperatures, losses, learning_rates, l2s, epoch_counts } = args;
        Space { presets, lambdas, alphas, temperatures, losses, learning_rates, l2s, epoch_counts }
    }
}
