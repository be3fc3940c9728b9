//! The HTTP client: time limits, redirects, proxies from the environment, certificates.

use ureq::Agent;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use super::attempt::Failure;
use crate::Network;
use crate::error::{Error, content, io};

const MOST_REDIRECTS: u32 = 8;
const USER_AGENT: &str = concat!("cmrm/", env!("CARGO_PKG_VERSION"));

/// A client for `url`. A redirect from https to plain http is refused: it would undo the protection.
pub(super) fn agent(url: &str, network: &Network) -> Result<Agent, Failure> {
    let mut tls = TlsConfig::builder();
    if let Some(path) = &network.certificates {
        tls = tls.root_certs(certificates(path).map_err(Failure::Fatal)?);
    }
    Ok(Agent::config_builder()
        .tls_config(tls.build())
        .https_only(url.starts_with("https:"))
        // Statuses are told apart by hand: some end a download, some only an attempt.
        .http_status_as_error(false)
        .max_redirects(MOST_REDIRECTS)
        .timeout_resolve(Some(network.connect_timeout))
        .timeout_connect(Some(network.connect_timeout))
        .timeout_recv_response(Some(network.silence_timeout))
        .timeout_per_read(Some(network.silence_timeout))
        .user_agent(USER_AGENT)
        // The checksum is of the stored bytes, so a server must not compress them on the way.
        .accept_encoding("identity")
        .build()
        .new_agent())
}

fn certificates(path: &std::path::Path) -> Result<RootCerts, Error> {
    let text = std::fs::read(path).map_err(io(path, "read the certificates"))?;
    let mut found = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(content(path, format!("not a PEM file of certificates: {error}"))),
        }
    }
    if found.is_empty() {
        return Err(content(path, "holds no certificate; unset SSL_CERT_FILE to use the built-in ones"));
    }
    Ok(RootCerts::new_with_certs(&found))
}
