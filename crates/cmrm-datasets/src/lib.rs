//! Named data sets: what they are, where they come from, and how they get here.
//!
//! [`find`] an [`Entry`] by name, [`Fetch`] its files into a [`Cache`] from the network or from a folder, and [`load`] it.
//! [`list()`] and [`verify`] say what the cache holds and whether it is still intact.
//!
//! ```
//! use cmrm_datasets::{Cache, load};
//!
//! // Digits are built in; what has to be fetched lies in the cache.
//! let digits = load("digits", &Cache::at("cache"))?;
//! assert_eq!((digits.train.features.rows(), digits.classes.len()), (1797, 10));
//! # Ok::<(), cmrm_datasets::Error>(())
//! ```
//!
//! Nothing is placed in the cache before it was compared with a checksum. Where the makers' container says nothing
//! about its content (a spreadsheet, a pickle, a gzip file), the content is what is compared. The few files that have
//! no checksum of their own (CIFAR-10 unpacked by other means) are recorded at first use with a warning.

mod cache;
mod digest;
mod embedded;
mod entry;
mod error;
mod fetch;
mod form;
mod layout;
mod load;
mod network;
mod pickle;
mod progress;
mod record;
mod registry;
mod status;
#[cfg(feature = "fetch")]
mod transfer;
mod unpack;

pub use cache::{CACHE_VARIABLE, Cache};
pub use entry::{Download, Entry, File, Form, Packing, Trust};
pub use error::{Error, Result};
pub use fetch::{Fetch, Placed, Source};
pub use layout::{LabelSet, Layout, Role, TextLayout};
pub use load::{Named, load};
pub use network::Network;
pub use progress::Progress;
pub use registry::{ENTRIES, find};
pub use status::{Listing, Outcome, State, Verified, list, state, verify};

/// The reader of pickles, which runs before anything was compared with a checksum, for the fuzz target alone.
#[cfg(fuzzing)]
pub fn read_pickle(bytes: &[u8], names: &[&str]) -> std::result::Result<Vec<Vec<i64>>, String> {
    pickle::named_arrays(bytes, names)
}
