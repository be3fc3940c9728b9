//! Which cells are wanted, and in which order they are trained.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use cmrm_datasets::Cache;

use crate::binary::{ArmName, Group, LossRow};
use crate::cell::{Cell, CellConfig, Store};
use crate::data::Table;
use crate::error::Result;
use crate::experiment::{Binary, Experiment};
use crate::figure::{FigureGroup, Source};
use crate::probe::{ProbeGroup, Probed};

/// Part `part` of `of`, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which part.
    pub part: usize,
    /// How many there are.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if part >= 1 && part <= of => Ok(Shard { part, of }),
            _ => Err(format!("'{text}' is not a shard; write 2/5 for the second of five")),
        }
    }
}

/// What of an experiment is wanted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Seeds 0 to one less than this; the experiment's own number if absent.
    pub seeds: Option<u64>,
    /// Only losses (of probes, kinds of labels) whose name is among these; all if empty.
    pub only: Vec<String>,
    /// Only this part of the groups.
    pub shard: Option<Shard>,
    /// Whether a report says how long the cells took; two runs then differ in it.
    pub times: bool,
    /// Words for the top of a report: where and when it was run.
    pub notes: Vec<String>,
}

impl Options {
    /// Whether a loss is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only.eq_ignore_ascii_case(name))
    }

    /// Whether a group, counted from one, is another shard's.
    pub(crate) fn leaves_out(&self, at: usize) -> bool {
        self.shard.is_some_and(|shard| at % shard.of != shard.part % shard.of)
    }

    /// Seeds of a table.
    pub(crate) fn seeds(&self, own: u64) -> u64 {
        self.seeds.unwrap_or(own)
    }
}

/// The cells of a loss and seed: its arms, in order.
pub(crate) fn cells_of(binary: &Binary, row: &LossRow, seed: u64) -> Vec<(ArmName, CellConfig)> {
    let cell = |&arm: &ArmName| (arm, CellConfig::Binary(row.cell(&binary.data, binary.noise, arm, seed)));
    row.arms.iter().filter(|&&arm| binary.has(arm, seed)).map(cell).collect()
}

/// Where data are.
pub(crate) struct Places<'a> {
    /// Named data sets.
    pub cache: &'a Cache,
    /// Files of features; the same folder as a rule.
    pub folder: &'a Path,
}

/// All groups of probes.
pub(crate) fn probes(
    experiments: &[Experiment],
    options: &Options,
    places: &Places<'_>,
    store: &Store,
) -> Result<Vec<ProbeGroup>> {
    let mut groups = Vec::new();
    let mut at = 0;
    for probe in experiments.iter().filter_map(|experiment| experiment.probe.as_ref()) {
        let mut data = None;
        for variant in probe.variants.iter().filter(|variant| options.wants(&variant.name)) {
            for arm in std::iter::once(None).chain(probe.arms.iter().cloned().map(Some)) {
                at += 1;
                if options.leaves_out(at) {
                    continue;
                }
                let data = match &data {
                    Some(data) => Arc::clone(data),
                    None => {
                        let loaded = Arc::new(Probed::load(places.folder, &probe.files, &probe.variants)?);
                        data.insert(loaded).clone()
                    }
                };
                let (probe, variant, store) = (probe.clone(), variant.clone(), store.clone());
                groups.push(ProbeGroup { probe, variant, arm, data, store });
            }
        }
    }
    Ok(groups)
}

/// All sets of figures. Shards count them by themselves.
pub(crate) fn figures(
    experiments: &[Experiment],
    options: &Options,
    places: &Places<'_>,
    store: &Store,
) -> Result<Vec<FigureGroup>> {
    let mut groups = Vec::new();
    for (at, experiment) in experiments.iter().filter(|experiment| experiment.figures.is_some()).enumerate() {
        let Some(figures) = experiment.figures.as_ref().filter(|_| !options.leaves_out(at + 1)) else { continue };
        let (_, cell) = figures.resolve()?;
        let source = Source::load(&cell, places.cache, places.folder)?;
        let config = CellConfig::Figures(cell.clone());
        let named = Cell { name: experiment.name.clone(), config, data: source.checksum().to_owned() };
        groups.push(FigureGroup { cell: named, figures: cell, source, store: store.clone() });
    }
    Ok(groups)
}

/// All groups of binary tables, seed by seed, so that any beginning of them is a table with fewer seeds.
pub(crate) fn groups(
    experiments: &[Experiment],
    options: &Options,
    places: &Places<'_>,
    store: &Store,
) -> Result<Vec<Group>> {
    let tables: Vec<&Binary> = experiments.iter().filter_map(|experiment| experiment.binary.as_ref()).collect();
    let most = tables.iter().map(|table| options.seeds(table.seeds)).max().unwrap_or(0);
    let mut loaded: BTreeMap<String, Arc<Table>> = BTreeMap::new();
    let mut groups = Vec::new();
    let mut at = 0;
    for seed in 0..most {
        for binary in tables.iter().filter(|table| seed < options.seeds(table.seeds)) {
            for row in binary.rows.iter().filter(|row| options.wants(&row.name)) {
                at += 1;
                if options.leaves_out(at) {
                    continue;
                }
                let key = format!("{:?}", binary.data);
                if !loaded.contains_key(&key) {
                    loaded.insert(key.clone(), Arc::new(Table::load(&binary.data, places.cache)?));
                }
                groups.push(group(binary, row, seed, loaded[&key].clone(), store));
            }
        }
    }
    Ok(groups)
}

fn group(binary: &Binary, row: &LossRow, seed: u64, table: Arc<Table>, store: &Store) -> Group {
    let mut cells: Vec<Cell> = Vec::new();
    for (arm, config) in cells_of(binary, row, seed) {
        // Arms that come to the same thing, as where the base arm ends at the fork, are one cell.
        if !cells.iter().any(|cell| cell.config == config) {
            let name = format!("{}.{}.{}.{seed}", binary.data.set, row.name.to_lowercase(), arm.name());
            cells.push(Cell { name, config, data: table.checksum.clone() });
        }
    }
    let label = format!("{}, {}, seed {seed}", binary.data.set, row.name);
    Group { label, row: row.clone(), table, cells, store: store.clone() }
}
