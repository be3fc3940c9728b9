//! From margins to weights: thresholds, the filter, and the fade that withdraws it.

use cmrm::envelope::{CLASS_ROWS, EnvelopeConfig, Fade, Filter, QuantileKind, Scope};
use tch::{Kind, Tensor};

/// The weight of each row; the gradient flows through it where the filter is soft.
pub(super) fn weigh(config: &EnvelopeConfig, margins: &Tensor, labels: &Tensor) -> Tensor {
    if config.filter == Filter::Off {
        return margins.detach().ones_like();
    }
    let fixed = margins.detach();
    let whole = threshold(&fixed, config.alpha, config.quantile);
    let tau = match config.scope {
        Scope::Batch => whole,
        Scope::Class => class_thresholds(&fixed, labels, config.alpha, config.quantile, &whole),
    };
    let tau = config.ceiling.map_or_else(|| tau.shallow_clone(), |ceiling| tau.clamp_max(ceiling));
    match config.filter {
        Filter::Hard => fixed.ge_tensor(&tau).to_kind(Kind::Float),
        _ => ((margins - tau) * (1.0 / config.temperature)).sigmoid(),
    }
}

/// How far the envelope withdraws, `f`: 1 where no row of the batch is in doubt, 0 where `fade.share` of them or more are.
pub(super) fn withdrawn(fade: &Fade, running: &Tensor) -> Tensor {
    let doubtful = running.lt(fade.margin).mean(Kind::Float);
    (doubtful / -fade.share + 1.0).clamp_min(0.0)
}

/// The batch quantile `τ`, as `cmrm::envelope` defines it; without gradient.
fn threshold(margins: &Tensor, alpha: f64, kind: QuantileKind) -> Tensor {
    let rows = margins.size()[0];
    let (sorted, _) = margins.sort(0, false);
    match kind {
        QuantileKind::Conformal => {
            let k = ((alpha * (rows as f64 + 1.0)).ceil() as i64).clamp(1, rows);
            sorted.narrow(0, k - 1, 1)
        }
        QuantileKind::Interpolated => {
            let position = (alpha * (rows - 1) as f64).clamp(0.0, (rows - 1) as f64);
            let below = position.floor() as i64;
            let low = sorted.narrow(0, below, 1);
            let high = sorted.narrow(0, (below + 1).min(rows - 1), 1);
            let share = position - below as f64;
            (low * (1.0 - share) + &high * share).minimum(&high)
        }
    }
}

/// The threshold of each row from the rows of the same label. Every row sorts its own class: the batch is small.
fn class_thresholds(margins: &Tensor, labels: &Tensor, alpha: f64, kind: QuantileKind, whole: &Tensor) -> Tensor {
    let same = labels.unsqueeze(1).eq_tensor(&labels.unsqueeze(0));
    let others = same.logical_not();
    let (sorted, _) = margins.unsqueeze(0).expand_as(&others).masked_fill(&others, f64::INFINITY).sort(1, false);
    let count = same.sum_dim_intlist([1i64].as_slice(), true, Kind::Double);
    let last = &count - 1.0;
    let at = |position: &Tensor| sorted.gather(1, &position.to_kind(Kind::Int64), false);
    let tau = match kind {
        QuantileKind::Conformal => {
            at(&((&count + 1.0) * alpha).ceil().clamp_min(1.0).minimum(&count).g_sub_scalar(1.0))
        }
        QuantileKind::Interpolated => {
            let position = &last * alpha;
            let below = position.floor();
            let share = (&position - &below).to_kind(Kind::Float);
            let (low, high) = (at(&below), at(&(&below + 1.0).minimum(&last)));
            (&low + share * (&high - &low)).minimum(&high)
        }
    };
    tau.where_self(&count.ge(CLASS_ROWS as f64), &whole.unsqueeze(1)).squeeze_dim(1)
}
