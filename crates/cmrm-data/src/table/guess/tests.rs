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
fn money_in_groups_of_three_is_thousands() {
    let read = |cells: &[&str]| {
        let settled = guess("price", cells);
        assert_eq!(settled.kind, Kind::Numeric, "{cells:?}");
        (settled.style.decimal, settled.doubt.unwrap_or_default())
    };
    let (decimal, doubt) = read(&["1.234 €", "950 €", "12.500 €"]);
    assert_eq!(decimal, Decimal::Comma);
    assert_eq!(
        doubt,
        "2 cells can be read in two ways: '1.234 €' is taken as 1234; if the point is a decimal point, state it with --type \
         'price=numeric:point'"
    );
    let (decimal, doubt) = read(&["1,234 $", "950 $"]);
    assert_eq!(decimal, Decimal::Point);
    assert_eq!(
        doubt,
        "1 cell can be read in two ways: '1,234 $' is taken as 1234; if the comma is a decimal comma, state it with --type \
         'price=numeric:comma'"
    );
    let (decimal, doubt) = read(&["1.234", "950", "12.500"]);
    assert_eq!(decimal, Decimal::Point);
    assert!(doubt.starts_with("2 cells can be read in two ways: '1.234' is taken as 1.234; if the point separates"));
    assert!(doubt.ends_with("--type 'price=numeric:comma'"), "{doubt}");
    // No thousands, or the same column on another scale.
    for cells in [
        ["1.234 €", "0.512 €", "1 €"],
        ["1.234 €", "12.5 €", "1 €"],
        ["1.234", "0.512", "12.5"],
        ["1.234", "5.678", "12.500"],
        ["1.234", "950", "12500"],
    ] {
        assert_eq!(read(&cells), (Decimal::Point, String::new()), "{cells:?}");
    }
    assert_eq!(read(&["1.234 €", "1.148,52 €"]), (Decimal::Comma, String::new()));
}

#[test]
fn a_slip_does_not_decide_for_the_column() {
    for (cells, decimal, value) in [
        (vec![(100, "1,234"), (1, "12,50")], Decimal::Point, "'1,234' is taken as 1234;"),
        (vec![(100, "1,234"), (3, "12,50")], Decimal::Comma, "'1,234' is taken as 1.234; if the comma separates"),
        (vec![(100, "1,234"), (30, "12,50")], Decimal::Comma, ""),
        (vec![(300, "1.234 €"), (3, "12.5 €")], Decimal::Comma, "'1.234 €' is taken as 1234;"),
        (vec![(100, "1.234"), (1, "12,50")], Decimal::Comma, "'1.234' is taken as 1234; if the point is a decimal"),
        (vec![(100, "1.234"), (1, "12.5")], Decimal::Point, ""),
        (vec![(100, "950"), (2, "1.148,52")], Decimal::Comma, ""),
        (vec![(5000, "950"), (30, "1,234"), (20, "12,50")], Decimal::Comma, ""),
        // With the slip there would be too many bad cells for a column of numbers.
        (vec![(100, "1,234"), (1, "12,50"), (1, "ask")], Decimal::Comma, "'1,234' is taken as 1.234;"),
        (vec![(100, "1,5"), (30, "NaN")], Decimal::Comma, ""),
    ] {
        let settled = guess("n", cells.iter().flat_map(|&(times, cell)| std::iter::repeat_n(cell, times)));
        assert_eq!((settled.kind, settled.tolerant), (Kind::Numeric, true), "{cells:?}");
        assert_eq!(settled.style.decimal, decimal, "{cells:?}");
        let doubt = settled.doubt.unwrap_or_default();
        assert!(doubt.contains(value) && doubt.is_empty() == value.is_empty(), "{cells:?}: {doubt}");
    }
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
fn cells_for_nothing_leave_the_kind_as_it_is() {
    let with = |cells: &[(usize, &str)]| {
        guess("c", cells.iter().flat_map(|&(times, cell)| std::iter::repeat_n(cell, times))).kind
    };
    for (cells, kind) in [
        ([(30, "2024-01-02"), (5, "NaN"), (5, "None")], Kind::Date),
        ([(1500, "2024-01-02"), (100, "nan"), (100, "None")], Kind::Date),
        ([(1500, "None"), (100, "NaN"), (100, "2024-01-02")], Kind::Date),
        ([(99, "NaN"), (1, "2024-01-02"), (0, "")], Kind::Date),
        ([(9, "True"), (9, "False"), (9, "None")], Kind::Boolean),
        ([(9, "yes"), (9, "NaN"), (9, "None")], Kind::Boolean),
        ([(9, "1.5"), (9, "NaN"), (9, "None")], Kind::Numeric),
        ([(2000, "None"), (30, "1,5"), (1, "ask")], Kind::Numeric),
        ([(9, "NaN"), (9, "None"), (0, "")], Kind::Numeric),
        ([(30, "None"), (0, ""), (0, "")], Kind::Categorical),
        ([(90, "None"), (9, "wood"), (9, "1")], Kind::Categorical),
        ([(30, "2024-01-02"), (5, "nothing"), (0, "")], Kind::Categorical),
    ] {
        assert_eq!(with(&cells), kind, "{cells:?}");
    }
}

#[test]
fn columns_that_are_nearly_of_a_kind_are_shown() {
    let doubt = |good: &str, count: usize, bad: usize| {
        guess("c", std::iter::repeat_n(good, count).chain(std::iter::repeat_n("soon", bad))).doubt
    };
    assert_eq!(
        doubt("2024-01-02", 24, 4).unwrap(),
        "4 of 28 cells are no dates, such as 'soon': treated as names; have those cells count as missing with \
         --type 'c=date', or correct those cells"
    );
    assert_eq!(
        doubt("1.5", 19, 1).unwrap(),
        "1 of 20 cells is no number, 'soon': treated as names; have that cell count as missing with --type 'c=numeric', or \
         correct that cell"
    );
    assert_eq!(doubt("2024-01-02", 10, 10), None);
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
    for name in ["nr_of_children", "key_length", "id_count"] {
        assert_eq!(guess(name, &repeated).kind, Kind::Numeric, "{name}");
    }
    for name in ["phone_calls", "mobile_minutes", "lines_of_code"] {
        assert_eq!(guess(name, ["120", "7", "44"]).kind, Kind::Numeric, "{name}");
    }
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
    let education = guess("education", &repeated);
    assert_eq!((education.kind, education.doubt), (Kind::Categorical, None));
    let notes = |different: usize| -> Vec<String> {
        (0..400).map(|n| format!("asked {} times about the bill", n % different)).collect()
    };
    assert_eq!(guess("note", notes(130)).kind, Kind::Text);
    let some = guess("note", notes(30));
    assert_eq!(some.kind, Kind::Categorical);
    assert!(some.doubt.unwrap().contains("--type 'note=text'"));
    let ids: Vec<String> = (0..60).map(|n| format!("C-{n:06}")).collect();
    assert_eq!(guess("customer", &ids).kind, Kind::Categorical);
    let short: Vec<String> = (0..60).map(|n| format!("Street {n} North")).collect();
    assert!(guess("address", &short).doubt.unwrap().contains("3.0 words"));
}

#[test]
fn numbers_that_a_double_cannot_hold_are_names() {
    let accounts: Vec<String> = (0..40u64).map(|row| ((1 << 60) + 7 * (row % 5)).to_string()).collect();
    let found = guess("account", &accounts);
    assert_eq!(found.kind, Kind::Categorical);
    assert!(found.doubt.unwrap().contains("--type 'account=numeric'"));
    let hashes: Vec<String> = (0..40i64).map(|row| ((1 - 2 * (row % 2)) * ((1 << 60) + 7 * row)).to_string()).collect();
    assert_eq!(guess("hash", &hashes).kind, Kind::Categorical);
    let mixed: Vec<String> = accounts.iter().map(|cell| format!("{cell}.5")).chain(accounts.clone()).collect();
    assert_eq!(guess("volume", &mixed).kind, Kind::Numeric);
    let large: Vec<String> = (0..40u64).map(|row| (row << 58).to_string()).collect();
    assert_eq!(guess("volume", &large).kind, Kind::Numeric);
}

#[test]
fn marks_for_nothing_leave_numbers_and_dates_what_they_are() {
    for mark in ["-", "–", "k.A.", "n.a.", "none", "Null", "#NV", "."] {
        let with = |good: fn(usize) -> String| -> Vec<String> {
            (0..60).map(|n| if n % 5 == 0 { mark.to_string() } else { good(n) }).collect()
        };
        assert_eq!(guess("x", with(|n| format!("{n}.5"))).kind, Kind::Numeric, "{mark}");
        assert_eq!(guess("d", with(|n| format!("{:02}.12.2024", 1 + n % 28))).kind, Kind::Date, "{mark}");
        // Among names it is one.
        assert_eq!(guess("fence", with(|_| "wood".into())).kind, Kind::Categorical, "{mark}");
    }
}

#[test]
fn stated_kinds_count_bad_cells_as_missing_if_half_are_good() {
    let with_bad = |every: usize| {
        let mut guess = Guess::new("x");
        (0..60).for_each(|n| guess.add(&if n % every == 0 { "ask".to_string() } else { n.to_string() }));
        guess
    };
    assert!(with_bad(4).settle(Some(Kind::Numeric)).tolerant);
    assert!(!with_bad(1).settle(Some(Kind::Numeric)).tolerant);
    let unstated = with_bad(6).settle(None);
    assert_eq!(unstated.kind, Kind::Categorical);
    assert!(unstated.doubt.unwrap().contains("have those cells count as missing with --type 'x=numeric'"));
}

#[test]
fn dates_and_numbers_with_bad_cells_are_no_text() {
    let with = |good: fn(usize) -> String| -> Vec<String> {
        (0..1000).map(|n| if n % 10 == 0 { format!("ask {} of them again later", n % 700) } else { good(n) }).collect()
    };
    for (good, kind) in [
        ((|n| format!("{} Dec 2024 10:{:02}", 1 + n % 28, n % 60)) as fn(usize) -> String, "dates"),
        (|n| n.to_string(), "numbers"),
    ] {
        let found = guess("when", with(good));
        assert_eq!(found.kind, Kind::Categorical);
        let doubt = found.doubt.unwrap();
        assert!(doubt.contains(&format!("cells are no {kind}, such as 'ask 0 of them again late…'")), "{doubt}");
    }
}

#[test]
fn numbers_in_two_notations_are_said_to_be() {
    let both: Vec<String> = (0..60).map(|n| if n % 2 == 0 { format!("{n}.25") } else { format!("{n},75") }).collect();
    let found = guess("price", &both);
    assert_eq!(found.kind, Kind::Categorical);
    assert!(found.doubt.unwrap().starts_with("its numbers are written with a decimal point and with a decimal comma"));
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
