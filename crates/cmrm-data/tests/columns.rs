//! Columns as people write them: what each is taken for, and that new rows are read the same way.

mod common;

use cmrm_data::preprocess::{MissingCells, Note, Preprocess, PreprocessOptions, Summary, in_words};
use cmrm_data::read::ReadOptions;
use cmrm_data::table::date::{self, DateOrder};
use cmrm_data::table::number::{self, Decimal};
use cmrm_data::{Array, Features, Kind, Override};
use common::{cells, labelled, read_csv, table};
use proptest::prelude::*;

/// Sixty rows: price with one bad cell, day first, yes or no, an ID, a zip code, a note.
fn messy() -> String {
    let mut text = String::from("customer;price;since;active;zip;note;plan;class\n");
    for row in 0..60 {
        let price = if row == 17 { "ask".into() } else { format!("\"1.{:03},{:02} €\"", row * 7, row) };
        let (day, month) = (row % 28 + 1, row % 12 + 1);
        text += &format!(
            "C-{row:06};{price};{day:02}/{month:02}/2024;{};{:05};he called {row} times about the bill;{};{}\n",
            ["ja", "Nein"][row % 2],
            1000 + 700 * (row % 9),
            ["basic", "pro", "team"][row % 3],
            ["stay", "leave"][row % 2],
        );
    }
    text
}

fn fitted(text: &str) -> (Preprocess, Vec<Note>, Summary) {
    let options = ReadOptions { overrides: [("note".into(), Override::Ignore)].into(), ..labelled("class") };
    let input = read_csv(text, &options).unwrap();
    let rows: Vec<usize> = (0..input.features.rows()).collect();
    let (preprocess, mut notes) = Preprocess::fit(&input.features, &rows, &PreprocessOptions::default()).unwrap();
    let summary = Summary::planned(&input.features, &preprocess, &notes).unwrap();
    notes.extend(preprocess.transform(&input.features).unwrap().notes);
    (preprocess, notes, summary)
}

#[test]
fn a_messy_table_is_understood_and_shown() {
    let input = read_csv(messy(), &labelled("class")).unwrap();
    let kinds: Vec<Kind> = table(&input).columns().iter().map(|column| column.kind()).collect();
    use Kind::{Boolean, Categorical, Date, Numeric, Text};
    assert_eq!(kinds, [Categorical, Numeric, Date, Boolean, Categorical, Text, Categorical]);
    assert_eq!(cells(&input)[2][1..5], ["1014.02", "2024-03-03", "true", "02400"]);
    let (_, notes, summary) = fitted(&messy());
    assert_eq!(
        in_words(&notes),
        [
            "column 'customer' has 60 different values on 60 rows, as IDs do, and was left out; say what it is to use it: \
             --type 'customer=KIND', in Python column_types",
            "1 column is not used by the model: 'note'",
            "column 'price': 1 cell is not a number and treated as missing: row 17 has 'ask'; refuse such cells with --strict",
        ]
    );
    assert_eq!(
        summary.to_string(),
        "column    kind          missing  values                                 used as\n\
         customer  categorical         0  60 names: C-000000, C-000001, C-0000…  left out: tells the rows apart\n\
         price     numeric             1  1000 to 1413.59                        a number, gaps filled in\n\
         since     date                0  2024-01-01 to 2024-12-24               a number of days\n\
         active    boolean             0  30 true                                a number\n\
         zip       categorical         0  9 names: 01000, 01700, 02400, 03100,…  yes or no for each of 9 names\n\
         plan      categorical         0  3 names: basic, pro, team              yes or no for each of 3 names\n\
         note      -                   0                                         left out, as stated\n\
         note: column 'zip': its numbers start with zeros, as codes do: treated as names; if they are numbers, state it with \
         --type 'zip=numeric'\n"
    );
}

#[test]
fn new_rows_are_read_as_the_training_rows_were() {
    let (preprocess, ..) = fitted(&messy());
    let stored = Preprocess::from_json(&preprocess.to_json().unwrap()).unwrap();
    assert_eq!(stored, preprocess);
    // By itself every cell of this row would be read in another way, or in none.
    let header = "customer;price;since;active;zip;plan\n";
    let options = ReadOptions { expected: Some(stored.expected()), ..ReadOptions::default() };
    let new = read_csv(format!("{header}x;\"1,234\";05/06/2024;JA;01700;pro\n"), &options).unwrap();
    let table = table(&new);
    assert_eq!(table.column("price").unwrap().text(0).unwrap(), "1.234");
    assert_eq!(table.column("since").unwrap().text(0).unwrap(), "2024-06-05");
    assert_eq!(table.column("zip").unwrap().text(0).unwrap(), "01700");
    assert!(table.column("customer").is_none(), "the model has no use for it");
    // The model fills prices in, but not dates: no training row had a bad one.
    let bad = read_csv(format!("{header}x;ask;05/06/2024;ja;01700;pro\n"), &options).unwrap();
    let words = in_words(&stored.transform(&bad.features).unwrap().notes);
    assert!(words[0].contains("row 0 has 'ask'"), "{words:?}");
    let strict = ReadOptions { strict: true, ..options.clone() };
    assert!(read_csv(format!("{header}x;ask;05/06/2024;ja;01700;pro\n"), &strict).is_err());
    let error = read_csv(format!("{header}x;\"1,5\";soon;ja;01700;pro\n"), &options).unwrap_err().to_string();
    assert!(error.starts_with("t.csv, row 0 (line 2), column 'since': 'soon' is not a date value"), "{error}");
}

#[test]
fn strict_reading_refuses_the_first_bad_cell() {
    let options = ReadOptions { strict: true, ..labelled("class") };
    let error = read_csv(messy(), &options).unwrap_err().to_string();
    assert!(
        error.starts_with("t.csv, row 17 (line 19), column 'price': 'ask' is not a numeric value; correct the cell"),
        "{error}"
    );
}

#[test]
fn what_a_user_states_is_what_counts() {
    let text = "d,n\n01/02/2024,\"1,234\"\n03/04/2024,\"5,678\"\n";
    let read = |d: &str, n: &str| {
        let overrides = [("d".into(), d.parse().unwrap()), ("n".into(), n.parse().unwrap())].into();
        let input = read_csv(text, &ReadOptions { overrides, ..ReadOptions::default() }).unwrap();
        (cells(&input)[0].clone(), table(&input).columns()[0].doubt.is_some())
    };
    assert_eq!(read("date:dmy", "numeric:point"), (vec!["2024-02-01".into(), "1234".into()], false));
    assert_eq!(read("date:mdy", "numeric:comma"), (vec!["2024-01-02".into(), "1.234".into()], false));
    assert_eq!(read("date", "categorical"), (vec!["2024-02-01".into(), "1,234".into()], true));
    let error = "dat:dmy".parse::<Override>().unwrap_err().to_string();
    assert!(error.starts_with("'dat:dmy' is not a kind of column, did you mean 'date:dmy'"), "{error}");
}

#[test]
fn ids_are_left_out_and_names_that_repeat_are_not() {
    let rows =
        |cell: fn(usize) -> String| -> String { (0..80).map(|row| format!("{},{}\n", cell(row), row % 7)).collect() };
    let features = |name: &str, cell: fn(usize) -> String| {
        let input = read_csv(format!("{name},v\n{}", rows(cell)), &ReadOptions::default()).unwrap();
        let all: Vec<usize> = (0..80).collect();
        Preprocess::fit(&input.features, &all, &PreprocessOptions::default()).unwrap().0.feature_names()
    };
    assert_eq!(features("mail", |row| format!("p{row}@example.org")), ["v"]);
    assert_eq!(features("account_id", |row| (100_000 + row * row * 37).to_string()), ["v"]);
    assert_eq!(features("code name", |row| format!("{:08x}", row / 2 * 2_654_435)), ["v"], "most differ");
    assert_eq!(features("amount", |row| (100_000 + row * row * 37).to_string()), ["amount", "v"]);
    assert_eq!(features("city", |row| format!("city{}", row % 5)).len(), 6);
}

/// Digits in groups of three with a separator between them.
fn grouped(whole: u64, separator: &str) -> String {
    let digits = whole.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text += separator;
        }
        text.push(digit);
    }
    text
}

proptest! {
    #[test]
    fn numbers_come_back_from_every_way_to_write_them(
        whole in 0u64..1_000_000_000_000,
        cents in 0u64..100,
        negative: bool,
        comma: bool,
        separator in prop::sample::select(vec!["", ",", ".", " ", "'", "\u{a0}", "\u{202f}", "’"]),
        wrap in prop::sample::select(vec![("", ""), ("$", ""), ("€ ", ""), ("", " €"), ("USD ", ""), ("", " %"), ("", " kr.")]),
        sign in prop::sample::select(vec![("-", ""), ("(", ")"), ("", "-"), ("−", "")]),
    ) {
        let (decimal, mark) = if comma { (Decimal::Comma, ",") } else { (Decimal::Point, ".") };
        prop_assume!(separator != mark);
        let body = format!("{}{}{mark}{cents:02}{}", wrap.0, grouped(whole, separator), wrap.1);
        let text = if negative { format!("{}{body}{}", sign.0, sign.1) } else { body };
        let value: f64 = format!("{whole}.{cents:02}").parse().unwrap();
        prop_assert_eq!(number::parse(&text, decimal), Some(if negative { -value } else { value }), "{}", text);
    }

    #[test]
    fn days_come_back_from_every_way_to_write_them(
        days in -25_000i64..40_000,
        minutes in 0i64..1440,
        timed: bool,
        form in 0usize..9,
        separator in prop::sample::select(vec!["/", "-", "."]),
    ) {
        let day = days * date::DAY;
        let date::Parts { year, month, day: of_month, .. } = date::Parts::of(day);
        const MONTHS: [&str; 12] = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
            "October", "November", "December"];
        let name = MONTHS[month as usize - 1];
        let (text, order) = match form {
            0 => (format!("{year:04}-{month:02}-{of_month:02}"), DateOrder::Unknown),
            1 => (format!("{of_month:02}{separator}{month:02}{separator}{year:04}"), DateOrder::DayFirst),
            2 => (format!("{month}{separator}{of_month}{separator}{year:04}"), DateOrder::MonthFirst),
            3 => (format!("{of_month} {name} {year:04}"), DateOrder::Unknown),
            4 => (format!("{name} {of_month}, {year:04}"), DateOrder::MonthFirst),
            5 => (format!("{of_month:02}-{}-{year:04}", &name[..3]), DateOrder::Unknown),
            6 => (format!("{} {of_month}, {year:04}", name[..3].to_uppercase()), DateOrder::DayFirst),
            7 => (format!("{of_month}. {}. {year:04}", name[..3].to_lowercase()), DateOrder::Unknown),
            _ => (format!("{year:04}/{month}/{of_month}"), DateOrder::MonthFirst),
        };
        prop_assert_eq!(date::parse_in(&text, order), Some(day), "{}", text);
        let (hour, minute) = (minutes / 60, minutes % 60);
        let half = if hour < 12 { "am" } else { "PM" };
        let clock = if timed { format!("{hour:02}:{minute:02}") } else { format!("{}:{minute:02} {half}", (hour + 11) % 12 + 1) };
        let timed = format!("{text} {clock}");
        prop_assert_eq!(date::parse_in(&timed, order), Some(day + minutes * 60_000_000), "{}", timed);
    }

    #[test]
    fn no_text_is_too_odd(text in "\\PC{0,24}", digits in "[-+0-9.,/' €$%()eE:apmTZ]{0,24}") {
        for text in [text, digits] {
            for order in [DateOrder::Unknown, DateOrder::DayFirst, DateOrder::MonthFirst] {
                let _ = date::parse_in(&text, order);
            }
            let _ = (number::parse(&text, Decimal::Point), number::parse(&text, Decimal::Comma), number::unit(&text));
        }
    }
}

/// A column of an array that counts is a number like any other, whether gaps are filled in or not.
#[test]
fn a_counter_in_an_array_is_kept() {
    let values: Vec<f32> = (0..100).flat_map(|row| [row as f32, (row * 7 % 13) as f32]).collect();
    let features = Features::Array(Array::new(values, 2).unwrap());
    let rows: Vec<usize> = (0..100).collect();
    for (missing, nan_is_missing) in [(MissingCells::Refuse, false), (MissingCells::Impute, true)] {
        let options = PreprocessOptions { missing, nan_is_missing, ..Default::default() };
        assert_eq!(Preprocess::fit(&features, &rows, &options).unwrap().0.width(), 2);
    }
}
