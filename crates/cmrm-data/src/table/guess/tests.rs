use super::*;
use crate::table::number::Decimal;

fn guess<S: AsRef<str>>(name: &str, cells: impl IntoIterator<Item = S>) -> Settled {
    let mut guess = Guess::new(name);
    cells.into_iter().for_each(|cell| guess.add(cell.as_ref()));
    guess.settle(None)
}

fn kind(cells: &[&str]) -> Kind {
    guess("c", cells).kind
}

#[test]
fn one_decimal_mark_for_the_whole_column() {
    let decimal = |cells: &[&str]| {
        let settled = guess("price", cells);
        assert_eq!(settled.kind, Kind::Numeric, "{cells:?}");
        (settled.style.decimal, settled.doubt.is_some())
    };
    assert_eq!(decimal(&["1,5", "2,75"]), (Decimal::Comma, false));
    assert_eq!(decimal(&["1,234", "2,75"]), (Decimal::Comma, false));
    assert_eq!(decimal(&["1.234", "2,75"]), (Decimal::Comma, false));
    assert_eq!(decimal(&["1,234", "12.5"]), (Decimal::Point, false));
    assert_eq!(decimal(&["1,234", "5,678,901"]), (Decimal::Point, false));
    assert_eq!(decimal(&["1.234", "5.678"]), (Decimal::Point, false), "what programs write");
    assert_eq!(decimal(&["1,234", "5,678"]), (Decimal::Point, true), "it was close");
    assert_eq!(decimal(&["12 %", "1,5 %"]), (Decimal::Comma, false));
    assert_eq!(decimal(&["12 %", "15"]), (Decimal::Point, true), "signs on some");
    assert_eq!(decimal(&["$ 12", "15 €"]), (Decimal::Point, true), "two currencies");
}

#[test]
fn a_few_bad_cells_do_not_make_names_of_numbers() {
    let with_bad = |good: usize, bad: usize| {
        guess("n", (0..good).map(|n| format!("{n}.5")).chain((0..bad).map(|_| "oops".into())))
    };
    for (good, bad, tolerated) in [(20, 1, true), (19, 1, false), (300, 3, true), (300, 4, false), (40, 2, false)] {
        let settled = with_bad(good, bad);
        let expected = if tolerated { Kind::Numeric } else { Kind::Categorical };
        assert_eq!((settled.kind, settled.tolerant), (expected, tolerated), "{good} {bad}");
        assert_eq!(settled.doubt.is_some(), !tolerated && good + bad >= 20, "{good} {bad}");
    }
    let mut dates: Vec<String> = (1..=28).map(|day| format!("{day}/02/2024")).collect();
    dates.push("soon".into());
    assert_eq!(guess("d", &dates).kind, Kind::Date);
}

#[test]
fn the_column_decides_which_part_of_a_date_is_the_day() {
    let order = |cells: &[&str]| {
        let settled = guess("d", cells);
        (settled.kind, settled.style.dates, settled.doubt.is_some())
    };
    assert_eq!(order(&["05/06/2024", "15/12/2024"]), (Kind::Date, DateOrder::DayFirst, false));
    assert_eq!(order(&["05/06/2024", "12/15/2024"]), (Kind::Date, DateOrder::MonthFirst, false));
    assert_eq!(order(&["05/06/2024", "01/02/2024"]), (Kind::Date, DateOrder::DayFirst, true));
    assert_eq!(order(&["05.06.2024", "01.02.2024"]), (Kind::Date, DateOrder::DayFirst, false));
    assert_eq!(order(&["2024-06-05", "2024-02-01"]), (Kind::Date, DateOrder::Unknown, false));
    assert_eq!(order(&["15 Dec 2024", "Dec 15, 2024"]), (Kind::Date, DateOrder::Unknown, false));
    assert_eq!(order(&["15/12/24", "05/05/24"]), (Kind::Date, DateOrder::DayFirst, false));
    let contradictory: Vec<String> = (13..=25).flat_map(|n| [format!("{n}/01/2024"), format!("01/{n}/2024")]).collect();
    let settled = guess("d", &contradictory);
    assert_eq!(settled.kind, Kind::Categorical);
    assert!(settled.doubt.unwrap().contains("('13/01/2024'), others the month ('01/13/2024')"));
}

#[test]
fn booleans_have_one_vocabulary() {
    for cells in [["yes", "no"], ["Y", "n"], ["T", "F"], ["Ja", "NEIN"], ["oui", "non"], ["sí", "no"], ["on", "off"]] {
        assert_eq!(kind(&cells), Kind::Boolean, "{cells:?}");
    }
    for cells in [["ja", "no"], ["y", "f"], ["n", "n"], ["f", "m"], ["yes", "maybe"]] {
        assert_eq!(kind(&cells), Kind::Categorical, "{cells:?}");
    }
    assert_eq!(kind(&["0", "1"]), Kind::Numeric);
}

#[test]
fn numbers_that_are_names() {
    let zips = ["01234", "99501", "10115"];
    assert_eq!(kind(&zips), Kind::Categorical);
    assert!(guess("c", zips).doubt.unwrap().contains("--type 'c=numeric'"));
    assert_eq!(guess("zip", ["99501", "10115"]).kind, Kind::Categorical);
    assert_eq!(guess("zip area", ["1.5", "2.5"]).kind, Kind::Numeric);
    assert_eq!(kind(&["99501", "10115"]), Kind::Numeric);
    assert_eq!(kind(&["01", "02", "12"]), Kind::Numeric, "months");
    assert_eq!(kind(&["0", "10"]), Kind::Numeric);
    let repeated: Vec<String> = (0..400).map(|row| (row % 7).to_string()).collect();
    assert_eq!(guess("store_id", &repeated).kind, Kind::Categorical);
    assert_eq!(guess("stores", &repeated).kind, Kind::Numeric);
    let unique: Vec<String> = (0..400).map(|row| row.to_string()).collect();
    assert_eq!(guess("store_id", &unique).kind, Kind::Numeric);
    let days: Vec<String> = (1..=28).map(|day| format!("202402{day:02}")).collect();
    assert_eq!(guess("d", &days).kind, Kind::Date);
}

#[test]
fn sentences_are_text_and_repeated_names_are_not() {
    let notes: Vec<String> = (0..60).map(|n| format!("customer called {n} times about the bill")).collect();
    assert_eq!(guess("note", &notes), Settled { kind: Kind::Text, style: Style::PLAIN, tolerant: false, doubt: None });
    let chinese: Vec<String> = (0..60).map(|n| format!("客户第{n}次打电话询问账单")).collect();
    assert_eq!(guess("note", &chinese).kind, Kind::Text);
    let repeated: Vec<String> = (0..60).map(|n| format!("some college but no degree {}", n % 4)).collect();
    assert_eq!(guess("education", &repeated).kind, Kind::Categorical);
    let ids: Vec<String> = (0..60).map(|n| format!("C-{n:06}")).collect();
    assert_eq!(guess("customer", &ids).kind, Kind::Categorical);
    let short: Vec<String> = (0..60).map(|n| format!("Street {n} North")).collect();
    assert!(guess("address", &short).doubt.unwrap().contains("3.0 words"));
}

#[test]
fn what_is_stated_only_needs_its_style() {
    let mut guess = Guess::new("d");
    ["05/06/2024", "15/12/2024", "1,5", "abc"].iter().for_each(|cell| guess.add(cell));
    let date = guess.settle(Some(Kind::Date));
    assert_eq!((date.kind, date.style.dates, date.tolerant), (Kind::Date, DateOrder::DayFirst, false));
    let number = guess.settle(Some(Kind::Numeric));
    assert_eq!((number.kind, number.style.decimal), (Kind::Numeric, Decimal::Comma));
    assert_eq!(guess.settle(Some(Kind::Text)).kind, Kind::Text);
    assert_eq!(Guess::new("d").settle(None).kind, Kind::Numeric);
}
