//! Tables of known columns.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use flate2::read::GzDecoder;

use super::{class_column, input};
use crate::error::{Result, content, io};
use crate::{Entry, Role, TextLayout};
use cmrm_data::table::{Column, ColumnBuilder, Kind};
use cmrm_data::{Array, Features, ImageShape, Input, Table};

/// Reads a text file of the catalogue.
pub(super) fn read(path: &Path, layout: &TextLayout) -> Result<Input> {
    let file = File::open(path).map_err(io(path, "open"))?;
    let raw: Vec<&str> = layout.classes.iter().map(|(raw, _)| *raw).collect();
    let names: Vec<&str> = layout.classes.iter().map(|(_, name)| *name).collect();
    let mut reader = ReaderBuilder::new()
        .has_headers(layout.header)
        .comment(layout.comment)
        .trim(Trim::All)
        .from_reader(BufReader::new(file));
    let kind = |role: Role| if let Role::Feature(kind) = role { kind } else { Kind::Numeric };
    let mut builders: Vec<_> = layout.columns.iter().map(|(_, role)| ColumnBuilder::new(kind(*role))).collect();
    let mut labels = Vec::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| content(path, error.to_string()))? {
        let row = labels.len();
        if record.len() != layout.columns.len() {
            return Err(content(path, format!("row {row}: {} cells, expected {}", record.len(), layout.columns.len())));
        }
        for ((cell, (name, role)), builder) in record.iter().zip(layout.columns).zip(&mut builders) {
            let fits = match role {
                Role::Label => {
                    let cell = cell.strip_suffix(layout.label_suffix).unwrap_or(cell);
                    let class = raw.iter().position(|raw| *raw == cell);
                    labels.extend(class.map(|class| class as u32));
                    class.is_some()
                }
                _ if layout.missing == Some(cell) => {
                    builder.push_missing();
                    true
                }
                _ => builder.push_text(cell),
            };
            if !fits {
                return Err(content(path, format!("row {row}, column '{name}': unexpected '{cell}'")));
            }
        }
    }
    let (mut features, mut ids, mut label) = (Vec::new(), None, "label");
    for ((name, role), builder) in layout.columns.iter().zip(builders) {
        match role {
            Role::Feature(_) => features.push(builder.finish(*name)),
            Role::Id => ids = Some(builder.finish(*name)),
            Role::Label => label = name,
        }
    }
    let labels = class_column(label, labels, &names);
    let input = input(Features::Table(Table::new(features)?), labels, path.display().to_string());
    Ok(Input { ids, ..input })
}

/// Reads an embedded set: numbers, then the label.
pub(super) fn embedded(entry: &Entry, csv_gz: &[u8], image: Option<(usize, usize)>, classes: &[&str]) -> Result<Input> {
    let wrong = |reason: String| content(Path::new(entry.name), reason);
    let mut text = String::new();
    GzDecoder::new(csv_gz).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().map_err(|error| wrong(error.to_string()))?.iter().map(str::to_owned).collect();
    let width = header.len().saturating_sub(1);
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); width];
    let mut labels = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        for (cell, column) in record.iter().zip(&mut columns) {
            column.push(cell.parse().map_err(|_| wrong(format!("row {}: '{cell}' is not a number", labels.len())))?);
        }
        let label = record.get(width).unwrap_or_default();
        let class = classes.iter().position(|class| *class == label);
        labels.push(class.ok_or_else(|| wrong(format!("row {}: unexpected label '{label}'", labels.len())))? as u32);
    }
    let features = match image {
        Some((height, width)) => {
            let values =
                (0..labels.len()).flat_map(|row| columns.iter().map(move |column| column[row] as f32)).collect();
            let shape = ImageShape { channels: 1, height, width, channels_last: false };
            Features::Array(Array::new(values, columns.len())?.with_image(shape)?)
        }
        None => {
            let named = header.iter().zip(columns).map(|(name, values)| Column::numeric(name.as_str(), values));
            Features::Table(Table::new(named.collect())?)
        }
    };
    Ok(input(features, class_column("label", labels, classes), entry.name.to_owned()))
}

/// A column of class indices from a CSV file of them.
pub(super) fn label_column(path: &Path, wanted: &str, classes: &[String]) -> Result<Column> {
    let wrong = |reason: String| content(path, reason);
    let file = File::open(path).map_err(io(path, "open"))?;
    let mut reader = ReaderBuilder::new().from_reader(BufReader::new(file));
    let header = reader.headers().map_err(|error| wrong(error.to_string()))?;
    let index = header.iter().position(|name| name == wanted).ok_or_else(|| wrong(format!("no column '{wanted}'")))?;
    let mut codes = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let cell = record.get(index).unwrap_or_default();
        let code = cell.parse().ok().filter(|&code: &u32| (code as usize) < classes.len());
        let reason = || format!("row {row}, column '{wanted}': '{cell}' is not a class index below {}", classes.len());
        codes.push(code.ok_or_else(|| wrong(reason()))?);
    }
    let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
    Ok(class_column(wanted, codes, &classes))
}

#[cfg(test)]
mod tests {
    use super::*;

    static LAYOUT: TextLayout = TextLayout {
        train: "t",
        test: None,
        header: false,
        comment: Some(b'|'),
        missing: Some("?"),
        columns: &[
            ("id", Role::Id),
            ("size", Role::Feature(Kind::Numeric)),
            ("colour", Role::Feature(Kind::Categorical)),
            ("answer", Role::Label),
        ],
        label_suffix: ".",
        classes: &[("<=50K", "low"), (">50K", "high")],
    };

    fn parse(text: &str) -> Result<Input> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path(), &LAYOUT)
    }

    #[test]
    fn comments_blanks_gaps_and_points_are_understood() {
        let input = parse("|1x3 Cross validator\n1, 2.5, red, <=50K.\n2, ?, ?, >50K\n\n").unwrap();
        let Features::Table(table) = &input.features else { panic!("a table") };
        assert_eq!(table.names(), ["size", "colour"]);
        let cells =
            |name: &str| (0..2).map(|row| table.column(name).unwrap().text(row).map(String::from)).collect::<Vec<_>>();
        assert_eq!(cells("size"), [Some("2.5".to_owned()), None]);
        assert_eq!(cells("colour"), [Some("red".to_owned()), None]);
        let labels = input.labels.unwrap();
        assert_eq!((labels.text(0).as_deref(), labels.text(1).as_deref()), (Some("low"), Some("high")));
        assert_eq!(input.ids.unwrap().len(), 2);
    }

    #[test]
    fn a_wrong_cell_is_named() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert!(message("1,2,red,<=50K\n2,big,red,>50K\n").contains("row 1, column 'size': unexpected 'big'"));
        assert!(message("1,2,red,maybe\n").contains("row 0, column 'answer': unexpected 'maybe'"));
        assert!(message("1,2,<=50K\n").contains("row 0: 3 cells, expected 4"));
    }

    #[test]
    fn a_label_must_be_a_class_index() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "clean,noisy\n1,0\n0,2\n").unwrap();
        let classes = ["a".to_owned(), "b".to_owned()];
        assert_eq!(label_column(file.path(), "clean", &classes).unwrap().text(0).as_deref(), Some("b"));
        let message = label_column(file.path(), "noisy", &classes).unwrap_err().to_string();
        assert!(message.contains("row 1, column 'noisy': '2' is not a class index below 2"), "{message}");
        assert!(label_column(file.path(), "other", &classes).is_err());
    }
}
