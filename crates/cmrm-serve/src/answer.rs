//! Probabilities as the answer to a request, in JSON written like its rows.

use std::io::Write;

use bytes::Bytes;
use cmrm::Matrix;

use crate::asked::Form;
use crate::batch::Said;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::served::Served;

/// An answer, and what there is to count.
pub(crate) struct Answer {
    pub body: Bytes,
    pub form: Form,
    pub predicted: Vec<u32>,
    pub labelled: u64,
    pub doubted: u64,
}

/// Writes the answer for rows whose given labels may be known.
pub(crate) fn write(
    served: &Served,
    query: &Query,
    said: Said,
    labels: &[Option<u32>],
    form: Form,
) -> Result<Answer, Refusal> {
    let matrix = Matrix::new(&said.probabilities, served.classes().len())?;
    let sets = match query.coverage {
        Some(coverage) => Some(served.sets(coverage)?.predict(matrix, &[])?),
        None => None,
    };
    let names: Vec<String> =
        served.classes().iter().map(|name| serde_json::Value::from(name.as_str()).to_string()).collect();
    let mut out = Vec::with_capacity(said.predicted.len() * 96);
    let (mut labelled, mut doubted) = (0, 0);
    for (row, (p, &class)) in matrix.iter_rows().zip(&said.predicted).enumerate() {
        if form == Form::Array {
            out.push(if row == 0 { b'[' } else { b',' });
        }
        let name = &names[class as usize];
        let (confidence, margin) = (f64::from(p[class as usize]), said.margins[row]);
        write_to(
            &mut out,
            format_args!("{{\"predicted_label\":{name},\"confidence\":{confidence:?},\"margin\":{margin:?}"),
        );
        if let Some(sets) = &sets {
            let set = sets.row(row);
            let members: Vec<&str> = set.iter().map(|&class| names[class as usize].as_str()).collect();
            write_to(&mut out, format_args!(",\"prediction_set\":[{}],\"set_size\":{}", members.join(","), set.len()));
        }
        if query.probabilities {
            let each = names.iter().zip(p).map(|(name, &p)| format!("{name}:{:?}", f64::from(p)));
            write_to(&mut out, format_args!(",\"probabilities\":{{{}}}", each.collect::<Vec<_>>().join(",")));
        }
        if let (Some(Some(given)), Some(Some(judged))) = (labels.get(row), said.judged.get(row)) {
            let is_doubted = judged.suggested != *given;
            (labelled, doubted) = (labelled + 1, doubted + u64::from(is_doubted));
            let (given, suggested) = (&names[*given as usize], &names[judged.suggested as usize]);
            let (margin, confidence) = (f64::from(judged.margin), f64::from(judged.confidence));
            write_to(&mut out, format_args!(",\"given_label\":{given},\"suggested_label\":{suggested}"));
            write_to(&mut out, format_args!(",\"label_confidence\":{confidence:?},\"label_margin\":{margin:?}"));
            if let Some(wrong) = judged.wrong_probability {
                write_to(&mut out, format_args!(",\"wrong_probability\":{:?}", f64::from(wrong)));
            }
            write_to(&mut out, format_args!(",\"doubted\":{is_doubted}"));
        }
        out.push(b'}');
        if form == Form::Lines {
            out.push(b'\n');
        }
    }
    match form {
        Form::One => out.push(b'\n'),
        Form::Array => out.extend_from_slice(b"]\n"),
        Form::Lines => {}
    }
    Ok(Answer { body: out.into(), form, predicted: said.predicted, labelled, doubted })
}

/// Nothing that is written to memory fails.
fn write_to(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
