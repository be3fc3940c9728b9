//! The settings of a download.

use std::path::PathBuf;
use std::time::Duration;

/// How patient a download is.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Tries in a row that bring nothing new before an address is given up.
    pub attempts: u32,
    /// Pause before the second try; doubled for each further one.
    pub backoff: Duration,
    /// The longest pause between two tries, also when a server asks for a longer one.
    pub longest_pause: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a server may be silent.
    pub silence_timeout: Duration,
    /// A PEM file of certificates to trust instead of the built-in ones, for a network with its own authority.
    pub certificates: Option<PathBuf>,
}

impl Default for Network {
    fn default() -> Self {
        Network {
            attempts: 5,
            backoff: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(20),
            silence_timeout: Duration::from_secs(60),
            certificates: std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(Into::into),
        }
    }
}
