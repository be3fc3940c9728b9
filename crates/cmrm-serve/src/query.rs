//! What a request asks for, by the query of its address.

use percent_encoding::percent_decode_str;

use crate::refusal::Refusal;

/// Everything that may be asked for beside labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Query {
    /// Prediction sets with this coverage.
    pub coverage: Option<f64>,
    /// The probability of every class.
    pub probabilities: bool,
    /// The column of given labels.
    pub label: Option<String>,
    /// Whether the request named it, so that it has to be there.
    pub label_is_asked: bool,
}

impl Query {
    /// Reads it over what the server does anyway.
    pub fn read(text: Option<&str>, usual: &Query) -> Result<Self, Refusal> {
        let mut query = usual.clone();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            match name.as_str() {
                "coverage" => {
                    let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                    query.coverage = Some(share.ok_or_else(|| {
                        Refusal::new(400, format!("coverage={value}: expected a share between 0 and 1, such as 0.9"))
                    })?);
                }
                "probabilities" => {
                    query.probabilities = match value.as_str() {
                        "" | "true" | "1" => true,
                        "false" | "0" => false,
                        _ => return Err(Refusal::new(400, format!("probabilities={value}: expected true or false"))),
                    }
                }
                "label" => (query.label, query.label_is_asked) = (Some(value), true),
                _ => {
                    let words = format!("unknown parameter '{name}'; expected coverage, probabilities or label");
                    return Err(Refusal::new(400, words));
                }
            }
        }
        Ok(query)
    }
}

fn decoded(text: &str) -> Result<String, Refusal> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| Refusal::new(400, "the query is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_and_odd_ones_refused() {
        let read = |text: &str| Query::read(Some(text), &Query::default());
        let query = read("coverage=0.9&probabilities&label=given%20label").unwrap();
        let label = Some("given label".into());
        let expected = Query { coverage: Some(0.9), probabilities: true, label, label_is_asked: true };
        assert_eq!(query, expected);
        assert_eq!(Query::read(None, &expected).unwrap(), expected);
        assert!(!Query::read(Some("probabilities=false"), &expected).unwrap().probabilities);
        for text in ["coverage=90", "coverage=", "coverage=NaN", "probabilities=maybe", "cover=0.9", "label=%ff"] {
            assert_eq!(read(text).unwrap_err().status, 400, "{text}");
        }
    }
}
