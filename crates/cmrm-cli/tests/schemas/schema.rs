//! As much of JSON Schema (draft 2020-12) as docs/schemas needs. A crate for all of it would have every other crate built again for the
//! tests, with other features; a keyword that is not known here is a flaw of the schema, so nothing is passed over in silence.

use serde_json::{Map, Value};

/// Keywords that say nothing of what is allowed.
const WORDS: [&str; 4] = ["$schema", "title", "description", "$defs"];
const RULES: [&str; 19] = [
    "$ref",
    "type",
    "const",
    "enum",
    "minimum",
    "maximum",
    "pattern",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "items",
    "prefixItems",
    "minItems",
    "uniqueItems",
    "anyOf",
    "oneOf",
    "if",
    "then",
];

pub struct Schema(pub Value);

impl Schema {
    /// What is wrong with a value, by place.
    pub fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.0, value, "", &mut errors);
        errors
    }

    fn fits(&self, rule: &Value, value: &Value) -> bool {
        let mut errors = Vec::new();
        self.check(rule, value, "", &mut errors);
        errors.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, errors: &mut Vec<String>) {
        let Value::Object(rules) = schema else {
            if *schema == Value::Bool(false) {
                errors.push(format!("{place}: not allowed"));
            }
            return;
        };
        for (keyword, rule) in rules {
            let holds = match keyword.as_str() {
                "$ref" => {
                    let found = self.0.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                    self.check(found, value, place, errors);
                    true
                }
                "type" => list(rule).iter().any(|kind| is_of(kind.as_str().unwrap(), value)),
                "const" => value == rule,
                "enum" => list(rule).contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
                "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
                "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
                "uniqueItems" => {
                    value.as_array().is_none_or(|items| (1..items.len()).all(|at| !items[..at].contains(&items[at])))
                }
                "required" => value
                    .as_object()
                    .is_none_or(|of| list(rule).iter().all(|name| of.contains_key(name.as_str().unwrap()))),
                "anyOf" => list(rule).iter().any(|one| self.fits(one, value)),
                "oneOf" => list(rule).iter().filter(|one| self.fits(one, value)).count() == 1,
                "if" => {
                    if self.fits(rule, value) {
                        self.check(&rules["then"], value, place, errors);
                    }
                    true
                }
                _ => true,
            };
            if !holds {
                errors.push(format!("{place}: {value} against {keyword} {rule}"));
            }
        }
        match value {
            Value::Object(fields) => self.check_fields(rules, fields, place, errors),
            Value::Array(items) => {
                let first = rules.get("prefixItems").map_or(&[][..], list);
                for (at, item) in items.iter().enumerate() {
                    if let Some(rule) = first.get(at).or(rules.get("items")) {
                        self.check(rule, item, &format!("{place}/{at}"), errors);
                    }
                }
            }
            _ => {}
        }
    }

    fn check_fields(
        &self,
        rules: &Map<String, Value>,
        fields: &Map<String, Value>,
        place: &str,
        errors: &mut Vec<String>,
    ) {
        for (name, field) in fields {
            let named = rules.get("properties").and_then(|of| of.get(name));
            let patterns = rules.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
            let alike = patterns.filter(|(pattern, _)| matches(pattern, name)).map(|(_, rule)| rule);
            let mut known: Vec<&Value> = named.into_iter().chain(alike).collect();
            if known.is_empty() {
                known.extend(rules.get("additionalProperties"));
            }
            known.iter().for_each(|rule| self.check(rule, field, &format!("{place}/{name}"), errors));
        }
    }

    /// Keywords that are not known, objects that are open, and fields without a word on what they are.
    pub fn flaws(&self) -> Vec<String> {
        let mut flaws = Vec::new();
        self.look(&self.0, "", &mut flaws);
        flaws
    }

    fn look(&self, schema: &Value, place: &str, flaws: &mut Vec<String>) {
        let Value::Object(rules) = schema else { return };
        for (keyword, rule) in rules {
            let below = format!("{place}/{keyword}");
            match keyword.as_str() {
                "properties" | "patternProperties" | "$defs" => {
                    for (name, field) in rule.as_object().unwrap() {
                        // Of a condition: it speaks of fields that are described elsewhere.
                        if !place.ends_with("/if") && !self.is_described(field) {
                            flaws.push(format!("{below}/{name}: not described"));
                        }
                        self.look(field, &format!("{below}/{name}"), flaws);
                    }
                }
                "items" | "additionalProperties" | "if" | "then" => self.look(rule, &below, flaws),
                "prefixItems" | "anyOf" | "oneOf" => list(rule).iter().for_each(|one| self.look(one, &below, flaws)),
                known if RULES.contains(&known) || WORDS.contains(&known) => {}
                _ => flaws.push(format!("{below}: a keyword that is not known")),
            }
        }
        let is_object = rules.get("type").is_some_and(|kind| kind == "object");
        if is_object && rules.contains_key("properties") && !rules.contains_key("additionalProperties") {
            flaws.push(format!("{place}: open"));
        }
    }

    /// Whether a word says what a field is, or its own fields or items do.
    fn is_described(&self, field: &Value) -> bool {
        ["description", "properties", "items", "prefixItems", "$ref", "anyOf"]
            .iter()
            .any(|keyword| field.get(keyword).is_some())
    }
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => panic!("no such type: {kind}"),
    }
}

/// The patterns that docs/schemas has.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        "^[0-9a-f]{64}$" => text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
        "^p_" => text.starts_with("p_"),
        _ => panic!("no such pattern: {pattern}"),
    }
}
