//! What the Python package `cmrm` computes with: thin doors to the library, one file a subject.
//!
//! Python's side (`python/cmrm`) turns what users pass into C-contiguous arrays of the right type and words its results;
//! here arrays are borrowed, the interpreter's lock is released, and errors become exceptions.

mod arrays;
mod audit;
mod chunk;
mod columns;
mod conformal;
mod envelope;
mod errors;
mod features;
mod fit;
mod fitted;
mod noise;
mod noise_model;
mod report;
mod row_views;
mod saved;
mod search;
mod sparse;
mod strings;
mod threads;
mod watch;
mod weigh;

/// Private: use the package `cmrm`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::audit::rank_labels;
    #[pymodule_export]
    use super::chunk::fit_chunk;
    #[pymodule_export]
    use super::conformal::{SetPredictor, calibrate_sets};
    #[pymodule_export]
    use super::envelope::EnvelopeKernel;
    #[pymodule_export]
    use super::errors::provoke_panic;
    #[pymodule_export]
    use super::fit::fit_rows;
    #[pymodule_export]
    use super::fitted::Fitted;
    #[pymodule_export]
    use super::noise::make_noise;
    #[pymodule_export]
    use super::noise_model::estimate_noise;
    #[pymodule_export]
    use super::saved::open_run;
    #[pymodule_export]
    use super::search::search_settings;
    #[pymodule_export]
    use super::weigh::weigh_rows;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    const CLASS_ROWS: usize = cmrm::envelope::CLASS_ROWS;
}
