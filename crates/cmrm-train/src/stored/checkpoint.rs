//! A training between two epochs as the bytes of a safetensors file, and back.

use std::collections::BTreeMap;

use cmrm::envelope::{FrozenFilter, RowMemory};
use cmrm::error::{check_labels, check_length};
use cmrm::{Rows, Scalar};
use serde::{Deserialize, Serialize};

use super::tensors::TensorFile;
use crate::error::{Error, Result};
use crate::optim::Snapshot;
use crate::train::{Arm, Best, EpochStats, RowRecord, TrainConfig, Trainer};

/// Version of the checkpoint file; a reader refuses any other.
const FORMAT: u32 = 2;

/// What a checkpoint says besides its tensors. The order of the rows needs no state: it follows from seed and epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    config: TrainConfig,
    arms: Vec<Arm>,
    classes: usize,
    rows: usize,
    columns: usize,
    /// Fingerprint of the observed labels and the first and last features: resuming on other data is refused.
    data: u64,
    epoch: usize,
    history: Vec<EpochStats>,
    optimisers: Vec<Vec<SnapshotHead>>,
    /// How often the full-batch method has switched on the term of each arm.
    rounds: Vec<usize>,
    best: Vec<Option<BestHead>>,
    recorded_epochs: usize,
}

/// What every format says of itself.
#[derive(Debug, Deserialize)]
struct Format {
    format: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotHead {
    kind: String,
    counters: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BestHead {
    epoch: usize,
    accuracy: f64,
    improved: usize,
}

/// A training between two epochs. Resuming from it gives the bits of an uninterrupted run.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    header: Header,
    tensors: TensorFile,
}

impl Checkpoint {
    /// Takes a training's state.
    pub fn of<T: Scalar>(trainer: &Trainer<'_, T>) -> Self {
        let mut tensors = TensorFile::default();
        let mut optimisers = Vec::new();
        let mut rounds = Vec::new();
        for copy in 0..trainer.arms.len() {
            let snapshots = trainer.engine.snapshots(copy);
            for (part, snapshot) in snapshots.iter().enumerate() {
                for (name, buffer) in &snapshot.buffers {
                    tensors.put(format!("arm{copy}.optimiser{part}.{name}"), &[buffer.len()], buffer);
                }
            }
            let heads = snapshots.into_iter().map(|s| SnapshotHead { kind: s.kind, counters: s.counters });
            optimisers.push(heads.collect());
            rounds.push(trainer.engine.rounds_of(copy));
            let parameters = trainer.engine.parameters_of(copy);
            tensors.put(format!("arm{copy}.parameters"), &[parameters.len()], &parameters);
            if let Some(best) = &trainer.best[copy] {
                tensors.put(format!("arm{copy}.best"), &[best.parameters.len()], &best.parameters);
            }
            put_record(&mut tensors, copy, &trainer.records[copy]);
            put_memory(&mut tensors, copy, trainer.states[copy].memory.as_ref());
        }
        let best = trainer.best.iter().map(|best| best.as_ref().map(BestHead::of)).collect();
        let header = Header {
            format: FORMAT,
            config: trainer.config.clone(),
            arms: trainer.arms.clone(),
            classes: trainer.classes,
            rows: trainer.train.rows(),
            columns: trainer.train.x.columns(),
            data: fingerprint(trainer),
            epoch: trainer.epoch,
            history: trainer.history.clone(),
            optimisers,
            rounds,
            best,
            recorded_epochs: trainer.records.first().map_or(0, |record| record.epochs),
        };
        Checkpoint { header, tensors }
    }

    /// Epochs done.
    pub fn epochs_done(&self) -> usize {
        self.header.epoch
    }

    /// The checkpoint's file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.tensors.to_bytes(&self.header)
    }

    /// Reads a checkpoint file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        // The format first: the header of another one has other fields.
        let (Format { format }, _) = TensorFile::from_bytes(bytes)?;
        if format != FORMAT {
            return Err(refuse(format!(
                "it has format {format}, this version reads {FORMAT}; start the run again, or finish it with the version that \
                 began it"
            )));
        }
        let (header, tensors): (Header, _) = TensorFile::from_bytes(bytes)?;
        Ok(Checkpoint { header, tensors })
    }

    /// Continues `trainer`, freshly made with the same settings and data, from here. A refusal changes nothing that
    /// matters: the trainer is then to be thrown away.
    pub fn resume<T: Scalar>(&self, trainer: &mut Trainer<'_, T>) -> Result<()> {
        let header = &self.header;
        if header.config != trainer.config || header.arms != trainer.arms || header.classes != trainer.classes {
            return Err(refuse(
                "its settings differ from those of this run; resume with the same settings, or start a new run",
            ));
        }
        if (header.rows, header.columns) != (trainer.train.rows(), trainer.train.x.columns()) {
            return Err(refuse(format!(
                "it was made on {} rows of {} features, this run has {} of {}",
                header.rows,
                header.columns,
                trainer.train.rows(),
                trainer.train.x.columns()
            )));
        }
        if header.data != fingerprint(trainer) {
            return Err(refuse("it was made on other rows or labels of the same shape"));
        }
        let arms = trainer.arms.len();
        if [header.optimisers.len(), header.rounds.len(), header.best.len()] != [arms; 3] {
            return Err(refuse("it is damaged: its parts disagree about the number of arms"));
        }
        for copy in 0..arms {
            let length = trainer.engine.parameters_of(copy).len();
            let parameters: Vec<T> = self.tensors.take_shaped(&format!("arm{copy}.parameters"), &[length])?;
            let mut snapshots = Vec::new();
            for (part, head) in header.optimisers[copy].iter().enumerate() {
                let prefix = format!("arm{copy}.optimiser{part}.");
                let mut buffers = BTreeMap::new();
                for name in self.tensors.names_under(&prefix) {
                    buffers.insert(name.to_owned(), self.tensors.take::<T>(&format!("{prefix}{name}"))?.0);
                }
                snapshots.push(Snapshot { kind: head.kind.clone(), counters: head.counters.clone(), buffers });
            }
            trainer.engine.restore(copy, &parameters, &snapshots, header.rounds[copy])?;
            trainer.best[copy] = match &header.best[copy] {
                None => None,
                Some(best) => Some(Best {
                    epoch: best.epoch,
                    accuracy: best.accuracy,
                    improved: best.improved,
                    parameters: self.tensors.take_shaped(&format!("arm{copy}.best"), &[length])?,
                }),
            };
            take_record(&self.tensors, copy, header, &mut trainer.records[copy])?;
            take_memory(&self.tensors, copy, header.rows, &mut trainer.states[copy].memory)?;
        }
        trainer.epoch = header.epoch;
        trainer.history = header.history.clone();
        trainer.notice_onsets();
        Ok(())
    }
}

impl BestHead {
    fn of<T>(best: &Best<T>) -> Self {
        BestHead { epoch: best.epoch, accuracy: best.accuracy, improved: best.improved }
    }
}

fn refuse(reason: impl Into<String>) -> Error {
    Error::Stored { what: "checkpoint".into(), reason: reason.into() }
}

fn put_record(tensors: &mut TensorFile, copy: usize, record: &RowRecord) {
    let rows = record.last_margin.len();
    for (name, values) in [
        ("mean_margin", &record.mean_margin),
        ("last_margin", &record.last_margin),
        ("mean_weight", &record.mean_weight),
        ("last_weight", &record.last_weight),
    ] {
        tensors.put(format!("arm{copy}.record.{name}"), &[rows], values);
    }
    tensors.put(format!("arm{copy}.record.history"), &[record.history.len()], &record.history);
    tensors.put_integers(format!("arm{copy}.record.rival"), &record.rival);
}

fn take_record(tensors: &TensorFile, copy: usize, header: &Header, record: &mut RowRecord) -> Result<()> {
    let take = |name: &str| tensors.take_shaped::<f32>(&format!("arm{copy}.record.{name}"), &[header.rows]);
    record.mean_margin = take("mean_margin")?;
    record.last_margin = take("last_margin")?;
    record.mean_weight = take("mean_weight")?;
    record.last_weight = take("last_weight")?;
    record.rival = tensors.take_integers(&format!("arm{copy}.record.rival"))?;
    check_length("rivals against rows", header.rows, record.rival.len())?;
    check_labels(&record.rival, header.classes)?;
    record.history = tensors.take::<f32>(&format!("arm{copy}.record.history"))?.0;
    record.epochs = header.recorded_epochs;
    Ok(())
}

fn put_memory<T: Scalar>(tensors: &mut TensorFile, copy: usize, memory: Option<&RowMemory<T>>) {
    let Some(memory) = memory else { return };
    if let Some(running) = &memory.running {
        tensors.put(format!("arm{copy}.running_margins"), &[running.margins().len()], running.margins());
    }
    if let Some(running) = &memory.targets {
        tensors.put(format!("arm{copy}.running_targets"), &[running.targets().len()], running.targets());
    }
    if let Some(FrozenFilter { weights, lambda }) = &memory.frozen {
        tensors.put(format!("arm{copy}.filter.weights"), &[weights.len()], weights);
        tensors.put(format!("arm{copy}.filter.lambda"), &[1], &[*lambda]);
    }
}

fn take_memory<T: Scalar>(
    tensors: &TensorFile,
    copy: usize,
    rows: usize,
    memory: &mut Option<RowMemory<T>>,
) -> Result<()> {
    if tensors.names_under(&format!("arm{copy}.filter.")).next().is_some() {
        let weights = tensors.take_shaped(&format!("arm{copy}.filter.weights"), &[rows])?;
        let lambda: Vec<T> = tensors.take_shaped(&format!("arm{copy}.filter.lambda"), &[1])?;
        let frozen = Some(FrozenFilter { weights, lambda: lambda[0] });
        *memory = Some(RowMemory { frozen, ..RowMemory::default() });
        return Ok(());
    }
    let take = |name: &str, values: &mut [T]| -> Result<()> {
        let stored: Vec<T> = tensors.take_shaped(&format!("arm{copy}.{name}"), &[values.len()])?;
        values.copy_from_slice(&stored);
        Ok(())
    };
    let Some(memory) = memory else { return Ok(()) };
    if let Some(running) = &mut memory.running {
        take("running_margins", running.margins_mut())?;
    }
    if let Some(running) = &mut memory.targets {
        take("running_targets", running.targets_mut())?;
    }
    Ok(())
}

/// FNV-1a over the labels and every number of the first and last rows.
fn fingerprint<T: Scalar>(trainer: &Trainer<'_, T>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut mix = |value: u64| {
        for byte in value.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for &label in trainer.train.labels {
        mix(u64::from(label));
    }
    let x = trainer.train.x;
    for row in [0, x.rows() - 1] {
        match x {
            Rows::Dense(matrix) => matrix.row(row).iter().for_each(|value| mix(value.to_f64().to_bits())),
            Rows::Sparse(matrix) => {
                for (column, value) in matrix.row(row).iter() {
                    mix(column as u64);
                    mix(value.to_f64().to_bits());
                }
            }
        }
    }
    hash
}
