//! Models that `cmrm-export` writes, run by tract, give the probabilities of the models themselves.

mod learners;

use std::path::Path;

use cmrm::Matrix;
use cmrm::noise_model::{NoiseModel, Transition};
use cmrm_data::preprocess::{
    CategoryEncoding, DateEncoding, MissingCategory, MissingCells, Preprocess, PreprocessOptions,
};
use cmrm_data::table::{ColumnBuilder, Kind as Cells, Values};
use cmrm_data::{Column, Features, Table};
use cmrm_export::{Export, Kind, LABEL, PROBABILITIES, to_onnx};
use cmrm_onnx::{DatumType, Length, OnnxFile, Tensor};
use cmrm_train::model::{ModelConfig, Network};
use cmrm_train::vote::{Calibration, Member, Vote, Voter};
use cmrm_train::{Model, Predictor, Stop};

const ROWS: usize = 240;
const SOILS: [&str; 7] = ["loam", "sand", "clay", "peat", "chalk", "silt", "gravel"];
/// Sums have another order.
const BOUND: f32 = 5e-6;

/// A table with cells of every kind, some of them missing, and labels that depend on them.
fn table(classes: usize) -> (Table, Vec<u32>) {
    let kinds = [Cells::Numeric, Cells::Boolean, Cells::Date, Cells::Date, Cells::Categorical];
    let mut columns = kinds.map(ColumnBuilder::new);
    let mut labels = Vec::new();
    for row in 0..ROWS {
        let (height, soil, hours) = ((row * 37 % 101) as f64 / 7.0, SOILS[row * 5 % 7], (row * 7919 % 400_000) as i64);
        let [number, truth, date, day, name] = &mut columns;
        let each = |column: &mut ColumnBuilder, nth: usize, push: &dyn Fn(&mut ColumnBuilder)| {
            if row % nth == 3 { column.push_missing() } else { push(column) }
        };
        each(number, 11, &|column| column.push_number(height));
        each(truth, 17, &|column| column.push_boolean(row % 3 == 1));
        each(date, 13, &|column| column.push_date((hours - 60_000) * 3_600_000_000 + row as i64 * 1_234_567));
        each(day, 500, &|column| column.push_date(row as i64 * 86_400_000_000));
        each(name, 7, &|column| column.push_name(soil));
        labels.push(((height / 5.0) as usize + row * 5 % 7 + row / 60) as u32 % classes as u32);
    }
    let names = ["height (m)", "grafted", "seen", "planted", "soil"];
    let columns = columns.into_iter().zip(names).map(|(column, name)| column.finish(name)).collect();
    (Table::new(columns).unwrap(), labels)
}

/// What a model takes of a column.
fn tensor(column: &Column, kind: Kind) -> Tensor {
    let rows = 0..column.len();
    let present = |row: usize| !column.missing.at(row);
    let shape = [column.len(), 1];
    let numbers = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        rows.clone().map(|row| if present(row) { of(row) } else { f64::NAN }).collect()
    };
    let single = |numbers: Vec<f64>| {
        assert_eq!(kind, Kind::Float);
        Tensor::from_shape(&shape, &numbers.iter().map(|&v| v as f32).collect::<Vec<f32>>()).unwrap()
    };
    match &column.values {
        Values::Numeric(values) => single(numbers(&|row| values[row])),
        Values::Boolean(values) => single(numbers(&|row| f64::from(u8::from(values[row])))),
        Values::Date(values) => {
            assert_eq!(kind, Kind::Double);
            Tensor::from_shape(&shape, &numbers(&|row| values[row] as f64 / 86_400e6)).unwrap()
        }
        _ => {
            assert_eq!(kind, Kind::Text);
            let texts: Vec<String> = rows.map(|row| column.text(row).unwrap_or_default().into_owned()).collect();
            tract_onnx::prelude::tensor1(&texts).into_shape(&shape).unwrap()
        }
    }
}

/// Exports, runs the file on the rows of the table, and compares.
fn compare(name: &str, preprocess: &Preprocess, table: &Table, model: &Predictor, from_features: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let classes: Vec<String> = (0..model.classes()).map(|class| format!("class {class}")).collect();
    let export = Export { classes: &classes, preprocess, model, from_features };
    let exported = to_onnx(export, &[]).unwrap();
    std::fs::write(&path, &exported.bytes).unwrap();
    let features = preprocess.transform(&Features::Table(table.clone())).unwrap().rows;
    let all = || Tensor::from_shape(&[table.rows(), features.width()], features.values()).unwrap();
    let column = |name: &str| table.columns().iter().find(|column| column.name == name);
    let inputs = exported.inputs.iter().map(|port| column(&port.name).map_or_else(all, |c| tensor(c, port.kind)));
    let inputs: Vec<Tensor> = inputs.collect();

    let (shape, found) = probabilities(&path, &inputs);
    let wanted = model.probabilities(features.view().unwrap(), &Stop::default()).unwrap();
    assert_eq!(shape, [table.rows(), classes.len()], "{name}");
    let worst = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("{name}: {worst:.1e}");
    assert!(worst <= BOUND, "{name} differs by {worst}");
    for (row, (label, p)) in labels(&path, inputs).iter().zip(wanted.chunks_exact(classes.len())).enumerate() {
        let class: usize = label.strip_prefix("class ").unwrap().parse().unwrap();
        let most = p.iter().copied().fold(0.0, f32::max);
        assert!(p[class] >= most - 2.0 * BOUND, "{name}, row {row}: {label} of {p:?}");
    }
}

fn probabilities(path: &Path, inputs: &[Tensor]) -> (Vec<usize>, Vec<f32>) {
    let model = OnnxFile::read(path).unwrap().keep(Some(PROBABILITIES)).unwrap();
    let shape = |tensor: &Tensor| vec![Length::Open("N"), Length::Fixed(tensor.shape()[1])];
    let shapes: Vec<(DatumType, Vec<Length>)> =
        inputs.iter().map(|tensor| (tensor.datum_type(), shape(tensor))).collect();
    model.plan(&shapes).unwrap().run(inputs.to_vec()).unwrap()
}

/// The output of names, which is no tensor of numbers as features are.
fn labels(path: &Path, inputs: Vec<Tensor>) -> Vec<String> {
    use tract_onnx::prelude::*;
    let mut model = tract_onnx::onnx().model_for_path(path).unwrap();
    model.select_outputs_by_name([LABEL]).unwrap();
    for (at, input) in inputs.iter().enumerate() {
        model.set_input_fact(at, InferenceFact::dt_shape(input.datum_type(), input.shape())).unwrap();
    }
    let engine = model.into_optimized().unwrap().into_runnable().unwrap();
    let found = engine.run(inputs.into_iter().map(Into::into).collect()).unwrap().remove(0);
    found.try_as_plain_ram().unwrap().as_slice::<String>().unwrap().to_vec()
}

fn voter(name: &str, share: f64, copies: Vec<Member>, calibration: Calibration, scales: Option<Vec<f32>>) -> Voter {
    Voter { name: name.into(), share, scales, copies, calibration }
}

fn calibration(temperature: f32, floor: f32) -> Calibration {
    serde_json::from_value(serde_json::json!({ "temperature": temperature, "floor": floor })).unwrap()
}

fn fitted(table: &Table, options: &PreprocessOptions) -> Preprocess {
    let every: Vec<usize> = (0..table.rows()).collect();
    Preprocess::fit(&Features::Table(table.clone()), &every, options).unwrap().0
}

fn imputing() -> PreprocessOptions {
    PreprocessOptions { missing: MissingCells::Impute, ..PreprocessOptions::default() }
}

#[test]
fn learners_of_every_kind_alone_and_in_a_vote() {
    for classes in [2, 3] {
        let (table, labels) = table(classes);
        let preprocess = fitted(&table, &imputing());
        let rows = preprocess.transform(&Features::Table(table.clone())).unwrap().rows;
        let members = learners::all(rows.view().unwrap(), &labels, classes, &preprocess);
        for (name, member) in &members {
            let model = match member {
                Member::Network(model) => model.clone().into(),
                member => {
                    let alone = voter(name, 1.0, vec![member.clone()], Calibration::default(), None);
                    Vote::new(vec![alone]).unwrap().into()
                }
            };
            compare(&format!("{name}, {classes} classes"), &preprocess, &table, &model, false);
            compare(&format!("{name} of features, {classes} classes"), &preprocess, &table, &model, true);
        }
        let scales: Vec<f32> = (0..rows.width()).map(|at| 1.0 + at as f32 / 10.0).collect();
        let copies = || members.iter().map(|(_, member)| member.clone());
        let some = voter("some", 0.3, copies().take(3).collect(), calibration(0.7, 0.1), None);
        let others = voter("others", 0.7, copies().skip(2).collect(), calibration(1.0, 0.25), Some(scales));
        let vote = Vote::new(vec![some, others]).unwrap();
        let by_pair: &[f64] = match classes {
            2 => &[0.9, 0.1, 0.3, 0.7],
            _ => &[0.8, 0.15, 0.05, 0.1, 0.9, 0.0, 0.02, 0.08, 0.9],
        };
        let by_pair = Transition::new(Matrix::new(by_pair, classes).unwrap()).unwrap();
        for transition in [Transition::uniform(classes, 0.2).unwrap(), by_pair] {
            let noise = NoiseModel { rate: 0.2, interval: [0.1, 0.3], by_pair: false, transition, sharpness: 1.3 };
            let model = vote.clone().corrected(noise).unwrap().into();
            compare(&format!("corrected vote, {classes} classes"), &preprocess, &table, &model, false);
        }
    }
}

#[test]
fn columns_of_every_kind() {
    let (table, _) = table(3);
    let parts = PreprocessOptions {
        dates: DateEncoding::Parts,
        missing_category: MissingCategory::MostFrequent,
        standardise: false,
        ..imputing()
    };
    let places = PreprocessOptions { categories: CategoryEncoding::Ordinal, max_levels: 4, ..imputing() };
    for (name, options) in [("plain", imputing()), ("parts of dates", parts), ("places of names", places)] {
        let preprocess = fitted(&table, &options);
        let config = ModelConfig::cosine().validate().unwrap();
        let network = Network::new(&config, preprocess.width(), 3, &[1]).unwrap();
        compare(name, &preprocess, &table, &Model::new(network, 1.0).into(), false);
    }
}
