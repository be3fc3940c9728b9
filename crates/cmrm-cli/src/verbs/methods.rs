//! `cmrm methods`: the methods against wrong labels, with what each takes for granted.

use std::fmt::Write;
use std::process::ExitCode;

use cmrm::methods::Method;
use serde::Serialize;

use crate::failure::Result;
use crate::terminal::Terminal;

/// Version of the output's form.
const SCHEMA: &str = "cmrm/methods/1";

#[derive(Serialize)]
struct Listed {
    schema: &'static str,
    methods: &'static [Method],
}

pub fn run(terminal: &Terminal) -> Result<ExitCode> {
    terminal.result(&Listed { schema: SCHEMA, methods: Method::ALL }, &in_words())?;
    Ok(ExitCode::SUCCESS)
}

fn in_words() -> String {
    let mut out = String::from("Methods for --method of fit and tune; each is trained alone and in the envelope.\n");
    for Method { name, aliases, idea, assumption, needs, cost, measured } in Method::ALL {
        let also = if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
        let cost = match cost {
            Some(cost) => format!("{cost:.1} times the training time of cross-entropy"),
            None => "not measured yet".to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\n{name}{also}\n    {idea}\n    assumes   {assumption}\n    needs     {needs}\n    costs     {cost}\n    measured  {}\n",
            measured.unwrap_or("not measured yet")
        );
    }
    out
}
