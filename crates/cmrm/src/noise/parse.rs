//! The text form of [`NoiseConfig`].

use std::fmt;
use std::str::FromStr;

use super::{NoiseConfig, Rate, RateOf};
use crate::error::{Error, Result};

/// Every kind with an example, in the order in which errors list them.
const EXAMPLES: [(&str, &str); 10] = [
    ("symmetric", "symmetric:0.4"),
    ("circular", "circular:0.4"),
    ("superclass", "superclass:0.2"),
    ("blocks-of-five", "blocks-of-five:0.2"),
    ("class-map", "class-map:0.4:3-5,5-3"),
    ("cifar10-pairs", "cifar10-pairs:0.4"),
    ("cifar10-pairs-without-deer", "cifar10-pairs-without-deer:0.4"),
    ("matrix", "matrix:0.9,0.1/0.2,0.8"),
    ("binary-flip", "binary-flip:0.2"),
    ("instance", "instance:0.3"),
];

const ELIGIBLE: &str = "eligible";

impl NoiseConfig {
    /// The kinds' names, as the text form spells them.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        EXAMPLES.iter().map(|(kind, _)| *kind)
    }

    /// This kind's name.
    pub fn kind(&self) -> &'static str {
        match self {
            NoiseConfig::Symmetric { .. } => "symmetric",
            NoiseConfig::Circular { .. } => "circular",
            NoiseConfig::Superclass { .. } => "superclass",
            NoiseConfig::BlocksOfFive { .. } => "blocks-of-five",
            NoiseConfig::ClassMap { .. } => "class-map",
            NoiseConfig::Cifar10Pairs { .. } => "cifar10-pairs",
            NoiseConfig::Cifar10PairsWithoutDeer { .. } => "cifar10-pairs-without-deer",
            NoiseConfig::Matrix { .. } => "matrix",
            NoiseConfig::BinaryFlip { .. } => "binary-flip",
            NoiseConfig::Instance { .. } => "instance",
        }
    }
}

impl FromStr for NoiseConfig {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.trim().split(':');
        let kind = parts.next().unwrap_or_default(); // `split` yields at least one part
        let Some(&(kind, example)) = EXAMPLES.iter().find(|(name, _)| *name == kind) else {
            let kinds: Vec<&str> = NoiseConfig::kinds().collect();
            return Err(refuse(
                text,
                format!("unknown kind '{kind}'; expected one of {}, such as symmetric:0.4", kinds.join(", ")),
            ));
        };
        let mut reader = Reader { text, example, parts };
        let config = match kind {
            "symmetric" => NoiseConfig::Symmetric { rate: reader.rate()? },
            "circular" => NoiseConfig::Circular { rate: reader.rate()? },
            "superclass" => NoiseConfig::Superclass { rate: reader.rate()? },
            "blocks-of-five" => NoiseConfig::BlocksOfFive { rate: reader.rate()? },
            "binary-flip" => NoiseConfig::BinaryFlip { rate: reader.rate()? },
            "instance" => NoiseConfig::Instance { rate: reader.rate()? },
            "cifar10-pairs" => NoiseConfig::Cifar10Pairs { rate: reader.rate()?, of: reader.rate_of()? },
            "cifar10-pairs-without-deer" => {
                NoiseConfig::Cifar10PairsWithoutDeer { rate: reader.rate()?, of: reader.rate_of()? }
            }
            "class-map" => {
                let (rate, transitions) = (reader.rate()?, reader.transitions()?);
                NoiseConfig::ClassMap { rate, of: reader.rate_of()?, transitions }
            }
            _ => NoiseConfig::Matrix { rows: reader.matrix()? },
        };
        reader.end()?;
        config.check().map_err(|error| refuse(text, error.to_string()))?;
        Ok(config)
    }
}

/// The parts of a text that are not yet read, and what errors need to know.
struct Reader<'a> {
    text: &'a str,
    example: &'static str,
    parts: std::str::Split<'a, char>,
}

impl<'a> Reader<'a> {
    fn part(&mut self, what: &str) -> Result<&'a str> {
        match self.parts.next().map(str::trim) {
            Some(part) if !part.is_empty() => Ok(part),
            _ => Err(refuse(self.text, format!("{what} is missing; write {}", self.example))),
        }
    }

    fn number<T: FromStr>(&self, what: &str, number: &str) -> Result<T> {
        number.trim().parse().map_err(|_| {
            refuse(self.text, format!("{what} '{}' is not a number; write {}", number.trim(), self.example))
        })
    }

    fn rate(&mut self) -> Result<Rate> {
        let part = self.part("the rate")?;
        let rate = self.number("the rate", part)?;
        Rate::new(rate).map_err(|error| refuse(self.text, error.to_string()))
    }

    fn rate_of(&mut self) -> Result<RateOf> {
        match self.parts.next().map(str::trim) {
            None => Ok(RateOf::AllRows),
            Some(ELIGIBLE) => Ok(RateOf::EligibleRows),
            Some(other) => Err(refuse(
                self.text,
                format!("unknown suffix '{other}'; remove it or write '{ELIGIBLE}', for a rate of the mapped rows"),
            )),
        }
    }

    fn transitions(&mut self) -> Result<Vec<(u32, u32)>> {
        let part = self.part("the list of transitions")?;
        part.split(',')
            .map(|pair| {
                let (from, to) = pair.split_once('-').ok_or_else(|| {
                    refuse(self.text, format!("the transition '{pair}' has no '-'; write {}", self.example))
                })?;
                Ok((self.number("the class", from)?, self.number("the class", to)?))
            })
            .collect()
    }

    fn matrix(&mut self) -> Result<Vec<Vec<f64>>> {
        let part = self.part("the matrix")?;
        part.split('/').map(|row| row.split(',').map(|n| self.number("the probability", n)).collect()).collect()
    }

    fn end(&mut self) -> Result<()> {
        match self.parts.next() {
            None => Ok(()),
            Some(rest) => Err(refuse(self.text, format!("unexpected '{rest}' at the end; write {}", self.example))),
        }
    }
}

fn refuse(text: &str, reason: String) -> Error {
    Error::Invalid { what: "noise", reason: format!("'{}': {reason}", text.trim()) }
}

impl fmt::Display for NoiseConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        if let Some(rate) = self.rate() {
            write!(f, ":{rate}")?;
        }
        match self {
            NoiseConfig::ClassMap { transitions, .. } => {
                let pairs: Vec<String> = transitions.iter().map(|(from, to)| format!("{from}-{to}")).collect();
                write!(f, ":{}", pairs.join(","))?;
            }
            NoiseConfig::Matrix { rows } => {
                let rows: Vec<String> =
                    rows.iter().map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",")).collect();
                write!(f, ":{}", rows.join("/"))?;
            }
            _ => {}
        }
        match self {
            NoiseConfig::ClassMap { of, .. }
            | NoiseConfig::Cifar10Pairs { of, .. }
            | NoiseConfig::Cifar10PairsWithoutDeer { of, .. }
                if *of == RateOf::EligibleRows =>
            {
                write!(f, ":{ELIGIBLE}")
            }
            _ => Ok(()),
        }
    }
}

impl TryFrom<String> for NoiseConfig {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<NoiseConfig> for String {
    fn from(config: NoiseConfig) -> String {
        config.to_string()
    }
}
