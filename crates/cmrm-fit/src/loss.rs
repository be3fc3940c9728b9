//! Base losses by name.

use cmrm::loss::{Focal, Gce, Ldam, LossConfig};

/// `name` or `name:parameter`: `gce`, `focal:2`.
pub fn parse_loss(text: &str) -> Result<LossConfig, String> {
    let (name, parameter) = text.split_once(':').map_or((text, None), |(name, parameter)| (name, Some(parameter)));
    let number = |default: f64| match parameter {
        None => Ok(default),
        Some(text) => text.parse::<f64>().map_err(|_| format!("'{text}' is not a number")),
    };
    let loss = match name {
        "cross-entropy" | "ce" => LossConfig::CrossEntropy,
        "focal" => LossConfig::Focal { gamma: number(Focal::DEFAULT_GAMMA)? },
        "gce" => LossConfig::Gce { q: number(Gce::DEFAULT_Q)? },
        "ldam" => LossConfig::Ldam { max_margin: number(Ldam::DEFAULT_MAX_MARGIN)?, scale: Ldam::DEFAULT_SCALE },
        "hinge" => LossConfig::Hinge,
        "logistic" => LossConfig::Logistic,
        _ => return Err(format!("unknown loss '{name}': expected cross-entropy, focal, gce, ldam, hinge or logistic")),
    };
    if parameter.is_some() && matches!(loss, LossConfig::CrossEntropy | LossConfig::Hinge | LossConfig::Logistic) {
        return Err(format!("the loss {name} takes no parameter"));
    }
    Ok(loss)
}
