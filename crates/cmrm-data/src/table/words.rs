//! Words that say what a column is: those for true and false in its cells, and those for codes and identifiers in its name.

/// Words for true and for false that go together.
type Vocabulary = (&'static [&'static str], &'static [&'static str]);

/// Words that go together, in small letters. No word is true in one place and false in another.
pub(super) const BOOLEANS: [Vocabulary; 16] = [
    (&["true", "yes"], &["false", "no"]),
    (&["y"], &["n"]),
    (&["t"], &["f"]),
    (&["on"], &["off"]),
    (&["ja"], &["nein"]),
    (&["j"], &["n"]),
    (&["ja"], &["nee"]),
    (&["ja"], &["nej"]),
    (&["oui"], &["non"]),
    (&["vrai"], &["faux"]),
    (&["wahr"], &["falsch"]),
    (&["si", "sí"], &["no"]),
    (&["sim"], &["não"]),
    (&["tak"], &["nie"]),
    (&["да"], &["нет"]),
    (&["是"], &["否"]),
];

/// Longest of these words, in bytes.
const LONGEST: usize = 6;

/// Whether a cell is a word for true or for false, in any case. Zero and one are numbers.
pub fn parse_boolean(text: &str) -> Option<bool> {
    let word = small(text)?;
    let word = word.as_str();
    BOOLEANS
        .iter()
        .find_map(|(yes, no)| if yes.contains(&word) { Some(true) } else { no.contains(&word).then_some(false) })
}

/// A word short enough to be one of [`BOOLEANS`], in small letters.
pub(super) fn small(text: &str) -> Option<String> {
    (text.len() <= LONGEST).then(|| text.to_lowercase())
}

/// What programs and people write for nothing, beside what is missing in every column.
const NOTHING: [&str; 12] = ["none", "nil", "null", "(null)", "-", "--", "–", "—", ".", "n.a.", "k.a.", "#nv"];

/// Whether a cell is how a program or a person writes that there is nothing. In a column of names it is a name, as a fence may
/// be of the type `None`; and in one of numbers NaN is a number, which is refused later with its place.
pub(crate) fn is_nothing(cell: &str) -> bool {
    NOTHING.iter().any(|word| cell.eq_ignore_ascii_case(word)) || is_nan(cell)
}

/// Whether a cell is NaN.
pub(crate) fn is_nan(cell: &str) -> bool {
    cell.eq_ignore_ascii_case("nan")
}

/// Words in names of columns whose numbers are names, as in `zip_code` and `Telefon`.
const CODES: [&str; 34] = [
    "zip",
    "zipcode",
    "postcode",
    "postalcode",
    "postal",
    "plz",
    "postleitzahl",
    "codepostal",
    "codigopostal",
    "cep",
    "pincode",
    "phone",
    "telephone",
    "phonenumber",
    "telefon",
    "telefonnummer",
    "telefono",
    "mobile",
    "fax",
    "iban",
    "isbn",
    "issn",
    "ean",
    "gtin",
    "upc",
    "sku",
    "ssn",
    "fips",
    "naics",
    "code",
    "kode",
    "codigo",
    "código",
    "codice",
];

/// Words in names of columns that tell rows or things apart.
const IDENTIFIERS: [&str; 20] = [
    "id",
    "ids",
    "uuid",
    "guid",
    "identifier",
    "identifiant",
    "kennung",
    "key",
    "nr",
    "nummer",
    "matricule",
    "rowid",
    "userid",
    "customerid",
    "clientid",
    "orderid",
    "accountid",
    "productid",
    "recordid",
    "passengerid",
];

/// Words that mean a code and nothing else: a `rate_code` is no rate, while `calls_mobile` are calls.
const CODE: [&str; 5] = ["code", "kode", "codigo", "código", "codice"];

/// Words for what is counted or measured: a column of `phone_calls` holds no phone numbers.
const MEASURES: [&str; 72] = [
    "age", "amount", "amounts", "anzahl", "average", "avg", "balance", "bytes", "call", "calls", "charge", "charges",
    "cost", "costs", "count", "counter", "counts", "dauer", "day", "days", "depth", "distance", "duration", "fee",
    "fees", "freq", "height", "hour", "hours", "income", "kosten", "len", "length", "lines", "länge", "max", "mean",
    "median", "messages", "min", "mins", "minuten", "minutes", "minutos", "month", "months", "percent", "pct", "price",
    "prices", "qty", "quantity", "rate", "ratio", "revenue", "sales", "score", "seconds", "share", "size", "sms",
    "speed", "std", "sum", "summe", "time", "total", "usage", "visits", "volume", "weeks", "years",
];

/// Words that say how many if a name starts with them; a `phone number` is a name.
const HOW_MANY: [&str; 5] = ["n", "nb", "num", "number", "count"];

/// Whether a column of that name holds codes, whatever its cells look like.
pub(crate) fn names_codes(column: &str) -> bool {
    is_called(column, &CODES)
}

/// Whether a column of that name tells rows or things apart.
pub(crate) fn names_identifiers(column: &str) -> bool {
    is_called(column, &IDENTIFIERS)
}

/// Whether a name has one of these words, and no other that says that it counts or measures.
fn is_called(column: &str, words: &[&str]) -> bool {
    let name = words_of(column);
    // `Kundennummer` is one word.
    let is_one = |word: &str| words.contains(&word) || words == IDENTIFIERS && word.ends_with("nummer");
    (0..name.len()).any(|at| is_one(&name[at]) && !counts(&name, at))
}

/// Whether the words beside the one at `at` say that it is only what is counted or measured.
fn counts(name: &[String], at: usize) -> bool {
    let (word, before, after) = (name[at].as_str(), &name[..at], &name[at + 1..]);
    let any = |words: &[String]| words.iter().any(|word| MEASURES.contains(&word.as_str()));
    let is = |word: Option<&String>, known: &[&str]| word.is_some_and(|word| known.contains(&word.as_str()));
    // `lines_of_code` and `nr_of_children`.
    let of = is(before.last(), &["of"]) || word == "nr" && is(after.first(), &["of"]);
    let names = CODE.contains(&word) || IDENTIFIERS.contains(&word);
    of || any(after) || is(before.first(), &HOW_MANY) || any(before) && !names
}

/// `customerId`, `customer_id` and `Customer ID` in words of small letters.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before: Option<char> = None;
    for c in name.chars() {
        let starts = match before {
            Some(last) => !last.is_alphanumeric() || last.is_lowercase() && c.is_uppercase(),
            None => true,
        };
        if c.is_alphanumeric() {
            if starts {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        before = Some(c);
    }
    words
}

/// About how many words a cell has. Writing without spaces, as Chinese, Japanese and Thai have it, counts two letters as one.
pub(crate) fn count_words(text: &str) -> usize {
    let unspaced = text.chars().filter(|&c| is_unspaced(c)).count();
    let spaced = text.split(|c: char| c.is_whitespace() || is_unspaced(c));
    spaced.filter(|word| word.chars().any(char::is_alphanumeric)).count() + unspaced / 2
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_both_true_and_false() {
        for (yes, no) in BOOLEANS {
            assert!(yes.iter().all(|word| parse_boolean(&word.to_uppercase()) == Some(true)), "{yes:?}");
            assert!(no.iter().all(|word| parse_boolean(word) == Some(false)), "{no:?}");
        }
        assert_eq!((parse_boolean("1"), parse_boolean("maybe"), parse_boolean("")), (None, None, None));
    }

    #[test]
    fn names_of_columns() {
        for name in ["zip", "ZIP code", "zip_code", "PLZ", "country-code", "billingZip", "Code postal"] {
            assert!(names_codes(name), "{name}");
        }
        for name in ["id", "customer_id", "customerId", "Kunden-Nr.", "UUID", "PassengerId"] {
            assert!(names_identifiers(name), "{name}");
        }
        for name in ["phone_number", "Mobile", "rate_code", "country_of_origin_code", "mobile phone no"] {
            assert!(names_codes(name), "{name}");
        }
        for name in ["sales_id", "id_of_customer", "total key", "Kundennummer", "Rechnungsnummer (intern)"] {
            assert!(names_identifiers(name), "{name}");
        }
        for name in ["width", "idle", "encoder", "decoded", "price", "", "midi", "barcodes"] {
            assert!(!names_codes(name) && !names_identifiers(name), "{name}");
        }
        for name in ["phone_calls", "mobile_minutes", "lines_of_code", "nr_of_children", "key_length", "callsMobile"] {
            assert!(!names_codes(name) && !names_identifiers(name), "{name}");
        }
        for name in ["num_ids", "number of phone calls", "Total mobile usage", "id_count", "n_id"] {
            assert!(!names_codes(name) && !names_identifiers(name), "{name}");
        }
    }

    #[test]
    fn words_in_any_script() {
        for (text, words) in [("", 0), ("one", 1), ("two words", 2), ("- !", 0), ("这是一个句子", 3), ("ok 这是", 2)]
        {
            assert_eq!(count_words(text), words, "{text}");
        }
    }
}
