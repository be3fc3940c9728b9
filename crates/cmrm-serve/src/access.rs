//! Who may ask.

use std::net::IpAddr;
use std::path::Path;

use cmrm_data::secret::is_same;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};

use crate::refusal::Refusal;

/// Fewest characters of a token: sixteen random bytes in base64.
const SHORTEST_TOKEN: usize = 22;

/// A secret that requests have to know.
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Checks it; `from` says where it comes from.
    pub fn new(text: &str, from: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST_TOKEN {
            return Err(format!(
                "{from}: the token has {} characters, expected at least {SHORTEST_TOKEN}; make one with `openssl rand -hex 32`",
                text.len()
            ));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("{from}: a token takes letters, digits and signs of ASCII, without spaces"));
        }
        Ok(Token(text.to_owned()))
    }

    /// Reads it from a file that holds nothing else.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Token::new(&text, &path.display().to_string())
    }
}

/// Which requests are let in.
#[derive(Debug)]
pub struct Access {
    token: Option<Token>,
    /// The names that this machine has for those who are on it; nothing if others may ask.
    hosts: Option<Vec<String>>,
}

impl Access {
    /// For a server on that address.
    ///
    /// On the loopback interface the name of the host has to be one of this machine, so that a page in a browser cannot
    /// pass a foreign name off for it.
    pub fn new(host: IpAddr, token: Option<Token>) -> Self {
        let hosts = || ["localhost".into(), "127.0.0.1".into(), "[::1]".into(), bracketed(host)].to_vec();
        Access { token, hosts: host.is_loopback().then(hosts) }
    }

    /// Refuses whoever must not ask.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        // A page of ours there is none, so whatever page asks is a foreign one.
        if headers.contains_key(ORIGIN) {
            return Err(Refusal::new(403, "the request comes from a page in a browser; this service answers programs"));
        }
        if let Some(hosts) = &self.hosts {
            let host = only(headers, &HOST).map(|host| without_port(host).to_ascii_lowercase());
            if !host.is_some_and(|host| hosts.contains(&host)) {
                return Err(Refusal::new(403, "wrong host; ask for the address that `cmrm serve` printed"));
            }
        }
        let Some(Token(token)) = &self.token else { return Ok(()) };
        let sent = only(headers, &AUTHORIZATION).and_then(|value| {
            let (scheme, sent) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(sent.trim())
        });
        match sent {
            Some(sent) if is_same(sent, token) => Ok(()),
            Some(_) => Err(Refusal::new(401, "wrong token")),
            None => Err(Refusal::new(401, "the token is missing; send the header `Authorization: Bearer TOKEN`")),
        }
    }
}

fn bracketed(host: IpAddr) -> String {
    if host.is_ipv6() { format!("[{host}]") } else { host.to_string() }
}

/// A header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn status(access: &Access, headers: &[(&'static str, &'static str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        access.admit(&map).err().map(|refusal| refusal.status)
    }

    #[test]
    fn on_this_machine_only_its_own_names_count() {
        let access = Access::new(Ipv4Addr::LOCALHOST.into(), None);
        for host in ["localhost", "LocalHost:80", "127.0.0.1:8080", "[::1]:8080", "[::1]"] {
            assert_eq!(status(&access, &[("host", host)]), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:80", "", "127.0.0.1:80:80"] {
            assert_eq!(status(&access, &[("host", host)]), Some(403), "{host}");
        }
        assert_eq!(status(&access, &[]), Some(403));
        assert_eq!(status(&access, &[("host", "localhost"), ("host", "localhost")]), Some(403));
        assert_eq!(status(&access, &[("host", "localhost"), ("origin", "http://localhost")]), Some(403));
        let loopback = Access::new(Ipv6Addr::LOCALHOST.into(), None);
        assert_eq!(status(&loopback, &[("host", "[::1]:9")]), None);
    }

    #[test]
    fn a_token_is_asked_for_and_compared() {
        let token = Token::new(&"t".repeat(32), "here").unwrap();
        let access = Access::new(Ipv4Addr::UNSPECIFIED.into(), Some(token));
        assert_eq!(status(&access, &[("authorization", "Bearer tttttttttttttttttttttttttttttttt")]), None);
        assert_eq!(status(&access, &[("authorization", "bearer tttttttttttttttttttttttttttttttt")]), None);
        for sent in ["Bearer t", "Basic tttttttttttttttttttttttttttttttt", "Bearer", ""] {
            assert_eq!(status(&access, &[("authorization", sent)]), Some(401), "{sent}");
        }
        assert_eq!(status(&access, &[("host", "anywhere")]), Some(401));
    }

    #[test]
    fn weak_tokens_are_refused() {
        assert!(Token::new("short", "x").unwrap_err().starts_with("x: the token has 5 characters"));
        assert!(Token::new(&"é".repeat(30), "x").is_err());
        assert!(Token::new(&format!("{} {}", "a".repeat(20), "b".repeat(20)), "x").is_err());
    }
}
