//! Parts of dates, from days since 1970-01-01.
//!
//! The days of the Gregorian calendar by whole numbers in double precision, as in `cmrm_data::table::date`: years start in
//! March, and eras of 400 years have 146,097 days. A quotient is taken half a unit further on, so that it is the same where a
//! runtime multiplies by the inverse.

use cmrm_data::preprocess::DatePart;

use crate::graph::{Graph, Value};

/// Microseconds in a day and in an hour.
const DAY: f64 = 86_400e6;
const HOUR: f64 = 3_600e6;
/// Days from the start of an era to 1970-01-01.
const EPOCH: f64 = 719_468.0;
const ERA: f64 = 146_097.0;

/// Columns of the parts, in double precision.
pub fn parts(graph: &mut Graph, days: &Value, wanted: &[DatePart]) -> Vec<Value> {
    let mut on = On { graph };
    let whole = on.floor(days);
    let date = wanted.iter().any(|part| matches!(part, DatePart::Year | DatePart::Month | DatePart::Day));
    let date = date.then(|| on.civil(&whole));
    let part = |part: &DatePart| match (part, &date) {
        (DatePart::Year, Some([year, _, _])) => year.clone(),
        (DatePart::Month, Some([_, month, _])) => month.clone(),
        (DatePart::Day, Some([_, _, day])) => day.clone(),
        // 1970-01-01 was a Thursday.
        (DatePart::Weekday, _) => {
            let shifted = on.plus(&whole, 3.0);
            on.remainder(&shifted, 7.0)
        }
        _ => {
            let of_day = on.op("Sub", days, &whole);
            let microseconds = on.times(&of_day, DAY);
            let microseconds = on.plus(&microseconds, 0.5);
            let microseconds = on.floor(&microseconds);
            let hour = on.constant(HOUR);
            on.op("Div", &microseconds, &hour)
        }
    };
    wanted.iter().map(part).collect()
}

/// Arithmetic in double precision.
struct On<'a> {
    graph: &'a mut Graph,
}

impl On<'_> {
    /// Year, month and day.
    fn civil(&mut self, days: &Value) -> [Value; 3] {
        let days = self.plus(days, EPOCH);
        let era = self.quotient(&days, ERA);
        let of_era = self.remainder(&days, ERA);
        // (e − e/1460 + e/36524 − e/146096) / 365
        let terms = [(1460.0, "Sub"), (36_524.0, "Add"), (146_096.0, "Sub")];
        let mut counted = of_era.clone();
        for (by, operator) in terms {
            let term = self.quotient(&of_era, by);
            counted = self.op(operator, &counted, &term);
        }
        let year = self.quotient(&counted, 365.0);
        // e − (365 y + y/4 − y/100)
        let [by_years, leap, no_leap] =
            [self.times(&year, 365.0), self.quotient(&year, 4.0), self.quotient(&year, 100.0)];
        let before = self.op("Add", &by_years, &leap);
        let before = self.op("Sub", &before, &no_leap);
        let day_of_year = self.op("Sub", &of_era, &before);
        // Months count from March.
        let shifted = self.linear(&day_of_year, 5.0, 2.0);
        let shifted = self.quotient(&shifted, 153.0);
        let first = self.linear(&shifted, 153.0, 2.0);
        let first = self.quotient(&first, 5.0);
        let day = self.op("Sub", &day_of_year, &first);
        let day = self.plus(&day, 1.0);
        // Ten and eleven are January and February of the next year.
        let next = self.quotient(&shifted, 10.0);
        let months = self.times(&next, -12.0);
        let month = self.op("Add", &shifted, &months);
        let month = self.plus(&month, 3.0);
        let eras = self.times(&era, 400.0);
        let year = self.op("Add", &year, &eras);
        let year = self.op("Add", &year, &next);
        [year, month, day]
    }

    fn op(&mut self, operator: &str, a: &Value, b: &Value) -> Value {
        self.graph.op(operator, &[a, b], &[])
    }

    fn constant(&mut self, value: f64) -> Value {
        self.graph.doubles(&[1], &[value])
    }

    fn plus(&mut self, a: &Value, b: f64) -> Value {
        let b = self.constant(b);
        self.op("Add", a, &b)
    }

    fn times(&mut self, a: &Value, b: f64) -> Value {
        let b = self.constant(b);
        self.op("Mul", a, &b)
    }

    fn linear(&mut self, a: &Value, factor: f64, term: f64) -> Value {
        let product = self.times(a, factor);
        self.plus(&product, term)
    }

    fn floor(&mut self, a: &Value) -> Value {
        self.graph.op("Floor", &[a], &[])
    }

    /// Of whole numbers, rounded down.
    fn quotient(&mut self, a: &Value, b: f64) -> Value {
        let a = self.plus(a, 0.5);
        let b = self.constant(b);
        let quotient = self.op("Div", &a, &b);
        self.floor(&quotient)
    }

    fn remainder(&mut self, a: &Value, b: f64) -> Value {
        let quotient = self.quotient(a, b);
        let whole = self.times(&quotient, b);
        self.op("Sub", a, &whole)
    }
}
