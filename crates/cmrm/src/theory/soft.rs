//! How close the soft filter is to the hard one, and how smooth it is.

/// σ(Δ/T), the soft version of 1[Δ ≥ 0]; does not overflow.
pub fn soft_indicator(difference: f64, temperature: f64) -> f64 {
    let x = difference / temperature;
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// |1[Δ ≥ 0] − σ(Δ/T)|, what softness costs at one row. Computed from the small side, so it does not cancel.
pub fn soft_indicator_gap(difference: f64, temperature: f64) -> f64 {
    soft_indicator(-difference.abs(), temperature)
}

/// The bound exp(−|Δ|/T) on [`soft_indicator_gap`].
pub fn soft_indicator_bound(difference: f64, temperature: f64) -> f64 {
    (-(difference / temperature).abs()).exp()
}

/// The bound 1/(4T) on how fast the risk moves with τ, |∂L/∂τ|, for margins of probabilities.
pub fn threshold_sensitivity_bound(temperature: f64) -> f64 {
    0.25 / temperature
}
